import { configDefaults, defineConfig } from 'vitest/config'

const source = (path: string): string => new URL(path, import.meta.url).pathname

/** Needs PostgreSQL and minutes: `npm run test:postgres`. */
export const onPostgres = ['test/postgres/**/*.test.ts', 'test/{store,contract}/postgres*.test.ts']

export default defineConfig({
  resolve: {
    // tests may write what a user writes; they get the source, not the last build
    alias: {
      'reeve/testing': source('./src/testing/index.ts'),
      'reeve/postgres': source('./src/engine/postgres/postgres.ts'),
      'reeve/restate': source('./src/adapters/restate/index.ts'),
      'reeve/notify': source('./src/adapters/notify/index.ts'),
      reeve: source('./src/index.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    // test/restate needs a Restate server and minutes: npm run test:restate
    exclude: [...configDefaults.exclude, 'test/restate/**', ...onPostgres],
    environment: 'node',
    pool: 'forks',
    testTimeout: 10_000,
    hookTimeout: 10_000,
    teardownTimeout: 5_000,
    // vitest's own patience is one second: on a machine that is busy with other tests that says nothing
    expect: { poll: { timeout: 9_000, interval: 5 } },
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
})
