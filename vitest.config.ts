import { configDefaults, defineConfig } from 'vitest/config'

const source = (path: string): string => new URL(path, import.meta.url).pathname

export default defineConfig({
  resolve: {
    // tests may write what a user writes; they get the source, not the last build
    alias: {
      'reeve/testing': source('./src/testing/index.ts'),
      'reeve/restate': source('./src/adapters/restate/index.ts'),
      'reeve/notify': source('./src/adapters/notify/index.ts'),
      reeve: source('./src/index.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    // needs a Restate server and minutes: npm run test:restate
    exclude: [...configDefaults.exclude, 'test/restate/**'],
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
