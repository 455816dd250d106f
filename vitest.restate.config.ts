/**
 * Everything that needs a Restate server: `npm run test:restate`. Not part of `npm test`, which stays short and needs
 * no server.
 *
 * Owns: packages/restate/test, and a sample of the suites of test/scenario and packages/runtime/test with Restate as the engine.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import { filesOn } from './packages/restate/test/suites.ts'
import common, { sequence } from './vitest.config.ts'

const shared = {
  ...common.test,
  exclude: configDefaults.exclude,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  teardownTimeout: 10_000,
}

export default defineConfig({
  test: {
    sequence,
    projects: [
      {
        resolve: common.resolve ?? {},
        test: { ...shared, name: 'restate', include: ['packages/restate/test/**/*.test.ts'] },
      },
      {
        resolve: common.resolve ?? {},
        test: {
          ...shared,
          name: 'suites',
          include: [...filesOn],
          setupFiles: ['test/suites-setup.ts'],
          env: { REEVE_TEST_ENGINE: 'restate' },
        },
      },
    ],
  },
})
