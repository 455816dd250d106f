/** The contract of the Engine port, on Restate: the same cases as on the embedded engine, over a store in a file. */
import { afterAll } from 'vitest'
import { bindContract } from '../../contract/test/bind.ts'
import { restateServer } from './harness.ts'
import { onRestate } from './restate-bench.ts'

afterAll(async () => (await restateServer()).dispose())

bindContract('Restate engine', onRestate('sqlite'))
