/**
 * Binds the worker contract to the adapters of other frameworks, and prints the table of what each of them honours.
 *
 * Owns: the binding and the table. Does not own: how a worker of a framework plays its part (workers/).
 */
import { afterAll, describe, expect, test } from 'vitest'
import { workerContract, workerTable, type MakeWorker, type WorkerHonours, type WorkerResult } from 'reeve/testing'

/** Everything is honoured; each subject says what is not. */
export const everything: WorkerHonours = {
  brief: true,
  result: true,
  failure: true,
  cancel: true,
  timeout: true,
  approval: true,
  edits: true,
  reasons: true,
  question: true,
  usage: true,
  streaming: true,
  crash: true,
  finished: true,
}

/** Runs all cases for these workers, and prints the table. */
export function report(subjects: { readonly [name: string]: MakeWorker }): void {
  const results: WorkerResult[] = []
  describe.each(Object.entries(subjects))('%s', (name, make) => {
    for (const each of workerContract(make, { name, patienceMs: 20_000 }))
      test(`${each.claim}: ${each.name}`, async () => {
        const result = await each.run()
        results.push(result)
        expect(result).toMatchObject({ worker: name, claim: each.claim })
      })
  })
  afterAll(() => console.log(`\n${workerTable(results)}\n`))
}
