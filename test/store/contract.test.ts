/** The store contract, on SQLite. */
import { bindStoreContract } from './bind.ts'
import { sqlite } from './sqlite-place.ts'

bindStoreContract(sqlite('SQLite, a file, inline writer', { writer: 'inline' }))
bindStoreContract(sqlite('SQLite, a file, writer thread', { writer: 'thread' }))
bindStoreContract(sqlite('SQLite in memory', { memory: true }))
