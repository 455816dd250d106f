/** The contract of the Engine port, on the embedded engine. */
import { bindContract } from './bind.ts'
import { embedded } from './embedded-bench.ts'

bindContract('embedded engine', embedded('a file'))
bindContract('embedded engine', embedded('a file, strict', { durability: 'strict' }))
bindContract('embedded engine', embedded('memory', { memory: true }))
