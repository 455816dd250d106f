/**
 * The contract of the Engine port, on Temporal over both stores. At every change a sample of it (`REEVE_TEST_SAMPLE`):
 * what differs from the engines without Temporal is who moves, and when.
 */
import { describe } from 'vitest'
import { bindContract } from '../../../contract/test/bind.ts'
import { whyNoTemporal } from '../../../../test/servers/temporal.ts'
import { onTemporal } from './temporal-bench.ts'

const every = process.env['REEVE_TEST_SAMPLE'] === undefined ? 1 : 12

describe.skipIf(whyNoTemporal() !== undefined)('on a Temporal server', () => {
  bindContract('engine on Temporal', onTemporal('sqlite'), every)
  bindContract('engine on Temporal', onTemporal('postgres'), every)
})
