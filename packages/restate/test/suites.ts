/**
 * Suites of test/scenario and packages/runtime/test on Restate: a sample, because the host and the stores under it are those of
 * `npm run test:postgres`. What differs is who takes a run up.
 *
 * `npm run test:restate` runs them with `REEVE_TEST_ENGINE`; suites.test.ts checks that what is named here exists.
 */
import { exceptions as onPostgres } from '../../postgres/test/suites.ts'
import type { Exception } from '../../../test/suites.ts'

/** Restate's store is PostgreSQL here. */
export const exceptions: readonly Exception[] = [
  ...onPostgres,
  {
    file: 'test/scenario/wires.test.ts',
    title: 'a process that dies after every few commits',
    why: 'it dies after two commits, and begins its run again in every life: with a mover that is one of the two, so that no life gets anywhere',
    instead: 'test/chaos/main.ts',
  },
]

/**
 * Starting, whose a session is, waiting for people, workers below a run, pausing, taking over, crashes: what a run that
 * is taken up by another process can tell.
 */
const sample = [
  'packages/runtime/test/runtime',
  'packages/runtime/test/fork',
  'packages/runtime/test/session-owners',
  'test/scenario/delegation-approval',
  'test/scenario/delegation-durable',
  'test/scenario/pausing',
  'test/scenario/takeover',
  'test/scenario/wires',
]
export const filesOn: readonly string[] = sample.map((each) => `${each}.test.ts`)
