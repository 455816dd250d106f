/** Binds the contract suite to vitest. */
import { describe, expect, test } from 'vitest'
import { engineContract, type EngineSubject } from '../src/index.ts'

/** `every`: only each so manieth case, as a sample. */
export function bindContract(engine: string, subject: EngineSubject & { readonly durable?: boolean }, every = 1): void {
  describe(`${engine}, ${subject.name}`, () => {
    for (const one of engineContract(subject).filter((_, ordinal) => ordinal % every === 0)) {
      const why = one.skip === undefined ? '' : ` (${one.skip})`
      test.skipIf(one.skip !== undefined)(`${one.invariant}: ${one.name}${why}`, async () => {
        await expect(one.run()).resolves.toBeUndefined()
      })
    }
  })
}
