/** The store contract, on SQLite and in memory. */
import { bindStoreContract } from './bind.ts'
import { MemoryStore } from '../../src/memory/store.ts'
import { sqlite } from './sqlite-place.ts'

bindStoreContract(sqlite('SQLite, a file', { durability: 'full' }))
bindStoreContract(sqlite('SQLite, a file, strict', { durability: 'strict' }))
bindStoreContract({
  name: 'in memory',
  isPrivate: true,
  keepsContents: true,
  create: ({ clock }) => ({
    open: (given) => new MemoryStore({ ...given, leaseMs: 3_000 }),
    kill: () => {
      throw new Error('it is gone with its process')
    },
    stall: () => clock.advance(6_000),
    dispose: () => {},
  }),
})
