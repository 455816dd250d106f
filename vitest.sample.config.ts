/** A sample for a first look and for every save: `npm test`. The rest is `npm run test:thorough`. */
import { defineConfig } from 'vitest/config'
import common, { thorough } from './vitest.config.ts'

export default defineConfig({ ...common, test: { ...common.test, exclude: [...common.test!.exclude!, ...thorough] } })
