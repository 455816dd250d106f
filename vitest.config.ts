import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string): string => new URL(path, import.meta.url).pathname

// Workers and the processes that tests start read the code compiled, and types stripped, once.
process.env['NODE_COMPILE_CACHE'] ??= source('./node_modules/.cache/compiled')

/** Needs PostgreSQL and minutes: `npm run test:postgres`. */
export const onPostgres = ['packages/postgres/test/**/*.test.ts', 'test/{store,contract}/postgres*.test.ts']

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
    alias: {
      'reeve/team': source('./packages/public/src/team.ts'),
      'reeve/oversight': source('./packages/public/src/oversight.ts'),
      'reeve/views': source('./packages/public/src/views.ts'),
      'reeve/engine': source('./packages/public/src/engine.ts'),
      'reeve/client': source('./packages/client/src/index.ts'),
      'reeve/testing/contract': source('./packages/contract/src/index.ts'),
      'reeve/testing': source('./packages/testing/src/index.ts'),
      'reeve/postgres': source('./packages/postgres/src/postgres.ts'),
      'reeve/restate': source('./packages/restate/src/index.ts'),
      'reeve/temporal': source('./packages/temporal/src/index.ts'),
      // the longer path first: an alias is the beginning of what it replaces
      'reeve/ai-sdk/agent': source('./packages/protocols/src/ai-sdk/agent.ts'),
      'reeve/a2a/worker': source('./packages/protocols/src/a2a/worker.ts'),
      'reeve/ag-ui': source('./packages/protocols/src/ag-ui/index.ts'),
      'reeve/a2a': source('./packages/protocols/src/a2a/index.ts'),
      'reeve/mcp': source('./packages/mcp/src/index.ts'),
      'reeve/notify': source('./packages/notify/src/index.ts'),
      'reeve/otel': source('./packages/otel/src/index.ts'),
      'reeve/langgraph': source('./packages/workers/src/langgraph/index.ts'),
      'reeve/openai-agents': source('./packages/workers/src/openai-agents/index.ts'),
      'reeve/mastra': source('./packages/workers/src/mastra/index.ts'),
      'reeve/acp': source('./packages/workers/src/acp/index.ts'),
      'reeve/server': source('./packages/server/src/index.ts'),
      'reeve/ai-sdk': source('./packages/protocols/src/ai-sdk/index.ts'),
      'reeve/openai': source('./packages/protocols/src/openai/index.ts'),
      reeve: source('./packages/public/src/index.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    // they need servers, or a browser, and minutes: npm run test:restate, npm run test:temporal, npm run test:studio
    exclude: [...configDefaults.exclude, 'packages/restate/test/**', 'packages/temporal/test/server/**', 'packages/studio/test/**', ...onPostgres],
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
