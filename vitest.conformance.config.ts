/**
 * Official clients, checkers and suites of the protocols that Reeve speaks, and workers of other frameworks:
 * `npm run conformance`, which installs them into conformance/node_modules. Not part of `npm test`, which stays small.
 */
import { defineConfig } from 'vitest/config'
import common from './vitest.config.ts'

export default defineConfig({
  resolve: common.resolve ?? {},
  test: {
    ...common.test,
    include: ['conformance/**/*.test.{ts,tsx}'],
    exclude: ['**/node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
