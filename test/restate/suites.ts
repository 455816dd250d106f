/**
 * The suites of test/scenario and test/runtime on Restate: which titles cannot run there, and why. Everything that is not named here runs.
 *
 * `npm run test:restate` runs them with `REEVE_TEST_ENGINE`; suites.test.ts checks that what is named here exists.
 */
import { suiteFiles, type Exception } from '../suites.ts'

const tables = 'it looks into the tables of the embedded store'
const child = 'its child process opens the embedded store'

export const exceptions: readonly Exception[] = [
  {
    file: 'runtime/fork.test.ts',
    title: 'dies at ',
    why: 'it is about the crash points of the embedded engine, which it opens itself',
    instead: 'restate/fork.test.ts',
  },
  { file: 'runtime/parts.test.ts', why: 'it has no engine: a queue of parts alone' },
  {
    file: 'runtime/live.test.ts',
    title: 'a reader hears everything, and the writer is not slowed down',
    why: 'it holds a stopwatch against one process; with a server and a store beside it, the machine decides',
  },
  { file: 'runtime/session.test.ts', title: 'what a session stores grows with every run by one turn', why: tables },
  {
    file: 'runtime/versions.test.ts',
    title: 'K4: a run that is stuck without its version goes on in the first process that has it',
    why: 'two processes with different code at one address: on Restate each build has an address and workflows of its own',
    instead: 'restate/versions.test.ts',
  },
  {
    file: 'scenario/attempts.test.ts',
    title: 'K6: is in doubt after a crash',
    why: 'a manual clock, and a crash point of the embedded engine: Restate’s timers know real time only',
    instead: 'restate/contract.test.ts',
  },
  { file: 'scenario/collaboration.test.ts', title: 'collaboration 101: a journal that cannot be read', why: tables, instead: 'eventstore' },
  {
    file: 'scenario/collaboration.test.ts',
    title: 'collaboration 91: ours: while the store fails',
    why: 'the embedded engine rejects what waits for a busy file; on Restate it waits until the store is back',
    instead: 'restate/outage.test.ts',
  },
  {
    file: 'scenario/delegation-approval.test.ts',
    title: 'team C81: 1 ms later it is timed out, and the decision is refused: not driven',
    why: 'a manual clock that is moved while nobody drives: Restate’s timers know real time only',
    instead: 'restate/processes.test.ts',
  },
  {
    file: 'scenario/pausing.test.ts',
    title: 'team C70: a pause and the end of a task in one tick',
    why: 'a tick of one process orders nothing on Restate: a pause travels through the store',
  },
  {
    file: 'scenario/wires.test.ts',
    title: 'a process that dies after every few commits',
    why: 'it counts commits of one process: on Restate every activation that is taken over commits for itself, so two of them are no progress',
    instead: 'restate/chaos.ts',
  },
  { file: 'scenario/wires.test.ts', title: 'killed with SIGKILL while a human is asked', why: child, instead: 'restate/processes.test.ts' },
  { file: 'scenario/wires.test.ts', title: 'killed with SIGKILL while a model answers', why: child, instead: 'restate/processes.test.ts' },
]

/** What is told again on PostgreSQL: the stores differ in how things are kept and who waits for whom, not in what agents do. */
const durable = [
  'runtime/fork',
  'runtime/runtime',
  'runtime/session',
  'scenario/collaboration',
  'scenario/delegation-approval',
  'scenario/delegation-durable',
  'scenario/pausing',
]
export const filesOn = (engine: string): readonly string[] =>
  engine === 'restate-postgres' ? suiteFiles.filter((file) => durable.some((each) => file === `${each}.test.ts`)) : suiteFiles
