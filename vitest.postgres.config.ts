/**
 * Everything that needs PostgreSQL: `npm run test:postgres`. Not part of `npm test`, which stays short and needs no
 * server.
 *
 * Owns: packages/postgres/test, the two contracts on PostgreSQL, packages/pgvector/test where that server offers the
 * extension, and the suites of test/scenario and packages/runtime/test once more with PostgreSQL as the engine.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import { filesOn } from './packages/postgres/test/suites.ts'
import common, { onPostgres, sequence } from './vitest.config.ts'

const shared = { ...common.test, exclude: configDefaults.exclude, testTimeout: 30_000, hookTimeout: 30_000 }

export default defineConfig({
  test: {
    sequence,
    projects: [
      { resolve: common.resolve ?? {}, test: { ...shared, name: 'postgres', include: onPostgres } },
      {
        resolve: common.resolve ?? {},
        test: {
          ...shared,
          name: 'pgvector',
          include: ['packages/pgvector/test/**/*.test.ts'],
          env: { REEVE_TEST_ENGINE: 'postgres' },
        },
      },
      {
        resolve: common.resolve ?? {},
        test: {
          ...shared,
          name: 'suites',
          include: [...filesOn],
          setupFiles: ['test/suites-setup.ts'],
          env: { REEVE_TEST_ENGINE: 'postgres' },
        },
      },
    ],
  },
})
