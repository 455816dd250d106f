/**
 * Runs in a store of your own: a JSON file, written with what `reeve/engine` exports (stores/json-store.ts). The process
 * that began a run closes; the next one opens the file and ends the run, with the answer of a person. Then the store is
 * put to the contract of stores, case by case.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, interrupt, step, type Runtime } from 'reeve'
import { createEngine } from 'reeve/engine'
import { storeContract, type StoreSubject } from 'reeve/testing/contract'
import { JsonStore } from './stores/json-store.ts'

let drafts = 0
const author = agent({
  name: 'author',
  description: 'Writes a line, and asks under which title it is printed.',
  run: async (ctx) => {
    const text = await step(ctx, 'write', () => `Draft ${++drafts}.`)
    return { title: await interrupt(ctx, 'Under which title?'), text }
  },
})

const file = join(mkdtempSync(join(tmpdir(), 'reeve-example-')), 'runs.json')

// #region engine
const open = (): Promise<Runtime> => createRuntime({ engine: createEngine(new JsonStore(file)), agents: [author] }) // instead of store: 'reeve.db'
// #endregion

const first = await open()
const { id } = await first.start(author, 'Write.')
await first.handle(id).until('waiting')
await first.close()

const second = await open()
const [question] = await second.questions()
await second.handle(id).answer({ interruptId: question!.id, value: 'Ravens' })
const outcome = await second.handle(id).outcome()
console.log(outcome)
assert.equal(outcome.status, 'completed')
assert.deepEqual(outcome.output, { title: 'Ravens', text: 'Draft 1.' }) // what was written is not written again

// #region contract
const subject: StoreSubject = {
  name: 'a JSON file',
  isPrivate: true, // one process at a time: cases with several are skipped
  create: ({ clock }) => ({
    open: (options) => new JsonStore(file, options),
    kill: () => assert.fail('there is no other process to find that it is dead'),
    stall: () => clock.advance(6_000),
    dispose: () => rmSync(file, { force: true }),
  }),
}

await second.close()
rmSync(file)
for (const { name, skip, run } of storeContract(subject)) {
  console.log(`${skip ?? 'holds'}: ${name}`)
  if (skip === undefined) await run()
}
// #endregion
