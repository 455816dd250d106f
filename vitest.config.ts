import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { aliases } from './scripts/packages.ts'

const source = (path: string): string => new URL(path, import.meta.url).pathname

// Workers and the processes that tests start read the code compiled, and types stripped, once.
process.env['NODE_COMPILE_CACHE'] ??= source('./node_modules/.cache/compiled')

/** Needs PostgreSQL and minutes: `npm run test:postgres`. */
export const onPostgres = [
  'packages/postgres/test/**/*.test.ts',
  'packages/{engine/test/store,contract/test}/postgres*.test.ts',
]

/**
 * What `npm test` leaves out, because it takes minutes: what proves the laws of the whole product, crash by crash,
 * contract by contract; what starts the command line over and over; and each file of more than some six seconds on two
 * cores. `npm run test:thorough` is this, `npm run test:all` everything.
 */
export const thorough = [
  'test/{build,chaos,crash,fuzz,property,redteam,replay,store,types}/**/*.test.ts',
  'packages/{cli,contract,demo}/test/**/*.test.ts',
  'packages/agent/test/deaf-functions.test.ts',
  'packages/engine/test/store/{adversarial,archive,contract}.test.ts',
  'packages/mcp/test/mcp-client.test.ts',
  'packages/model/test/{chains,wire-form}.test.ts',
  'packages/otel/test/otel-live.test.ts',
  'packages/pgvector/test/crashes.test.ts',
  'packages/protocols/test/ai-sdk.test.ts',
  'packages/runtime/test/{closing,retry-bad-answers,worker-versions}.test.ts',
  'packages/server/test/{access-http,bounds,entrance,feed,who-said-it}.test.ts',
  'packages/team/test/random-mail.test.ts',
  'packages/workers/test/{acp,told}.test.ts',
  'test/docs/{deploy-files,ends,tutorial}.test.ts',
  'test/skill/skill.test.ts',
  'test/scenario/{answer-ends-crashes,apart,background-tools,flow-interrupts,flow-pausing,handed-words}.test.ts',
  'test/scenario/{middleware-ends,router-nested,simulated-team,wire-faults,wires,workflows}.test.ts',
]

/** Little text and much work: whole contracts on one engine, random trees. */
const long = /\/(contract|fuzz|redteam)\/[^/]+$|contract[^/]*$/

/** On a fresh clone files are sorted by their size: these would begin last, and each keep one processor alone. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return [true, false].flatMap((first) => sorted.filter(({ moduleId }) => long.test(moduleId) === first))
  }
}

export const sequence = { sequencer: LongFirst }

export default defineConfig({
  resolve: {
    // tests may write what a user writes; they get the source, not the last build
    alias: aliases,
  },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    // they need servers, or a browser, and minutes: npm run test:restate, npm run test:temporal, npm run test:studio
    exclude: [
      ...configDefaults.exclude,
      'packages/{restate,studio}/test/**',
      'packages/temporal/test/server/**',
      ...onPostgres,
    ],
    environment: 'node',
    pool: 'forks',
    // vitest's default leaves a processor idle: on two that is half of the machine
    maxWorkers: '100%',
    // Threads of ours that are written in TypeScript have it stripped by WebAssembly in Node. Where two threads make
    // the same wrapper for it faster at once, V8 13.6 frees what it has not noted, and aborts ("Check failed:
    // jit_page.has_value()"; nodejs/node#64500). No wrapper is made faster here; built code has no WebAssembly in its
    // threads.
    execArgv: ['--wasm-wrapper-tiering-budget=2147483647'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 5_000,
    // vitest's own patience is one second: on a machine that is busy with other tests that says nothing
    expect: { poll: { timeout: 25_000, interval: 5 } },
    sequence,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
})
