/** The contract of the Engine port, on the embedded engine. */
import { bindContract } from './bind.ts'
import { embedded } from './embedded-bench.ts'

bindContract('embedded engine', embedded('a file, inline writer', { writer: 'inline' }))
bindContract('embedded engine', embedded('a file, writer thread', { writer: 'thread' }))
bindContract('embedded engine', embedded('memory', { memory: true }))
