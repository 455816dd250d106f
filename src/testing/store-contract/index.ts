/** The contract of a store. */
export { storeContract } from './store-contract.ts'
export type { StoreSubject } from './stage.ts'
