/**
 * Everything that needs a Restate server: `npm run test:restate`. Not part of `npm test`, which stays short and needs no server.
 *
 * Owns: test/restate, and the suites of test/scenario and test/runtime once more with Restate as the engine.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import type { Reporter } from 'vitest/node'
import { filesOn } from './test/restate/suites.ts'
import common from './vitest.config.ts'

const shared = { ...common.test, exclude: configDefaults.exclude, testTimeout: 60_000, hookTimeout: 60_000, teardownTimeout: 10_000 }
const suites = (engine: string) => ({
  resolve: common.resolve ?? {},
  test: {
    ...shared,
    name: engine,
    include: filesOn(engine).map((file) => `test/${file}`),
    setupFiles: ['test/restate/suites-setup.ts'],
    env: { REEVE_TEST_ENGINE: engine },
  },
})

/** The last line says how many passed: .ci/run counts them. */
const count: Reporter = {
  onTestRunEnd(modules) {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
    const broken = modules.filter((module) => module.errors().length > 0).length
    const of = (state: string): number => states.filter((each) => each === state).length
    process.stdout.write(`${of('passed')} passed, ${of('failed') + broken} failed\n`)
  },
}

export default defineConfig({
  test: {
    reporters: ['default', count],
    projects: [
      { resolve: common.resolve ?? {}, test: { ...shared, name: 'restate', include: ['test/restate/**/*.test.ts'] } },
      suites('restate-sqlite'),
      suites('restate-postgres'),
    ],
  },
})
