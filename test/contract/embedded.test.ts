/** The contract of the Engine port, on the embedded engine. */
import { describe, test } from 'vitest'
import { engineContract } from '../../src/testing/contract/engine-contract.ts'
import { embedded } from './embedded-bench.ts'

for (const subject of [
  embedded('a file, inline writer', { writer: 'inline' }),
  embedded('a file, writer thread', { writer: 'thread' }),
  embedded('memory', { memory: true }),
]) {
  describe(`embedded engine, ${subject.name}`, () => {
    for (const { invariant, name, skip, run } of engineContract(subject)) {
      if (skip === undefined) test(`${invariant}: ${name}`, run)
      else test.skip(`${invariant}: ${name} (${skip})`, () => {})
    }
  })
}
