/**
 * Everything that needs a Temporal server: `npm run test:temporal`. Not part of `npm test`, which stays short and needs
 * no server; what the mover does without one, and the replay of its histories, is there
 * (packages/temporal/test/*.test.ts).
 *
 * Owns: packages/temporal/test/server. The server is Temporal's own dev server, found or built by test/servers/temporal.ts. Where there
 * is none and no Go to build it, everything here is skipped, and that is said.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import common from './vitest.config.ts'

export default defineConfig({
  resolve: common.resolve ?? {},
  test: {
    ...common.test,
    include: ['packages/temporal/test/server/**/*.test.ts'],
    exclude: configDefaults.exclude,
    globalSetup: ['packages/temporal/test/server/setup.ts'],
    // each file has a server of its own
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
})
