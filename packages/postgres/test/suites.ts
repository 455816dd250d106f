/**
 * The suites of test/scenario and packages/runtime/test on PostgreSQL: which titles cannot run there, and why. `npm run
 * test:postgres` runs them; test/suites.test.ts checks that what is named here exists.
 */
import { suiteFiles, type Exception } from '../../../test/suites.ts'

const tables = 'it looks into the tables of the store in a file'

export const exceptions: readonly Exception[] = [
  { file: 'packages/runtime/test/parts.test.ts', why: 'it has no engine: a queue of parts alone' },
  {
    file: 'test/scenario/collaboration.test.ts',
    title: 'collaboration 101: a journal that cannot be read',
    why: tables,
    instead: 'packages/postgres/test/outage.test.ts',
  },
  {
    file: 'test/scenario/collaboration.test.ts',
    title: 'collaboration 91: ours: while the store fails',
    why: 'it locks the file of the store against all other processes',
    instead: 'packages/postgres/test/outage.test.ts',
  },
  {
    file: 'packages/runtime/test/session.test.ts',
    title: 'what a session stores grows with every run by one turn',
    why: tables,
  },
]

/**
 * What is told again at every change (`REEVE_TEST_SAMPLE`): the stores differ in how things are kept and who waits for
 * whom, not in what agents do.
 */
const durable = [
  'collaboration',
  'delegation-approval',
  'delegation-durable',
  'notices',
  'pausing',
  'redacted-store',
  'takeover',
  'wires',
]
export const filesOn: readonly string[] =
  process.env['REEVE_TEST_SAMPLE'] === undefined
    ? suiteFiles
    : suiteFiles.filter(
        (file) =>
          file.startsWith('packages/runtime/test/') || durable.some((each) => file === `test/scenario/${each}.test.ts`),
      )
