/** What `npm test` leaves out: `npm run test:thorough`. */
import { defineConfig } from 'vitest/config'
import common, { thorough } from './vitest.config.ts'

export default defineConfig({ ...common, test: { ...common.test, include: thorough } })
