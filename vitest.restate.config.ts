/**
 * Everything that needs a Restate server: `npm run test:restate`. Not part of `npm test`, which stays short and needs no server.
 *
 * Owns: test/restate, and the suites of test/scenario and test/runtime once more with Restate as the engine.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import { filesOn } from './test/restate/suites.ts'
import common from './vitest.config.ts'

const shared = { ...common.test, exclude: configDefaults.exclude, testTimeout: 60_000, hookTimeout: 60_000, teardownTimeout: 10_000 }
const suites = (engine: string) => ({
  resolve: common.resolve ?? {},
  test: {
    ...shared,
    name: engine,
    include: filesOn(engine).map((file) => `test/${file}`),
    setupFiles: ['test/suites-setup.ts'],
    env: { REEVE_TEST_ENGINE: engine },
  },
})

export default defineConfig({
  test: {
    projects: [
      { resolve: common.resolve ?? {}, test: { ...shared, name: 'restate', include: ['test/restate/**/*.test.ts'] } },
      suites('restate-sqlite'),
      suites('restate-postgres'),
    ],
  },
})
