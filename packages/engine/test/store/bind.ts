/** Binds the store contract to vitest. */
import { describe, expect, test } from 'vitest'
import { storeContract, type StoreSubject } from '../../../contract/src/index.ts'

export function bindStoreContract(subject: StoreSubject): void {
  describe(`the store contract, ${subject.name}`, () => {
    for (const one of storeContract(subject)) {
      const why = one.skip === undefined ? '' : ` (${one.skip})`
      test.skipIf(one.skip !== undefined)(`${one.invariant}: ${one.name}${why}`, async () => {
        await expect(one.run()).resolves.toBeUndefined()
      })
    }
  })
}
