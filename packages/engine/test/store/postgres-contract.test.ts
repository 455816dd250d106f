/** The store contract, on PostgreSQL. */
import { bindStoreContract } from './bind.ts'
import { postgres } from './postgres-place.ts'

bindStoreContract(postgres('PostgreSQL'))
