/** The contract of the Engine port, on PostgreSQL. */
import { bindContract } from './bind.ts'
import { postgres } from './postgres-bench.ts'

bindContract('engine on PostgreSQL', postgres('a schema of its own'))
