/**
 * Everything that needs a browser: `npm run test:studio`. Not part of `npm test`. The page is built once before; the
 * browser is Debian's Chromium, or the one that `REEVE_CHROMIUM` names.
 *
 * Owns: packages/studio/test.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import common from './vitest.config.ts'

export default defineConfig({
  resolve: common.resolve ?? {},
  test: {
    ...common.test,
    include: ['packages/studio/test/**/*.test.ts'],
    exclude: configDefaults.exclude,
    globalSetup: ['packages/studio/test/setup.ts'],
    // each file has a server and a browser of its own
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
})
