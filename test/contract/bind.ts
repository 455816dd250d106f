/** Binds the contract suite to vitest. */
import { describe, expect, test } from 'vitest'
import { engineContract, type EngineSubject } from '../../src/testing/index.ts'

export function bindContract(engine: string, subject: EngineSubject & { readonly durable?: boolean }): void {
  describe(`${engine}, ${subject.name}`, () => {
    for (const one of engineContract(subject)) {
      const why = one.skip === undefined ? '' : ` (${one.skip})`
      test.skipIf(one.skip !== undefined)(`${one.invariant}: ${one.name}${why}`, async () => {
        await expect(one.run()).resolves.toBeUndefined()
      })
    }
  })
}
