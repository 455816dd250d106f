/**
 * Large texts beside the journal: a step keeps a log of 19 megabytes, records its reference, and later steps read
 * what they need of it. People read it too, and a fork keeps it when its origin is removed.
 *
 * `node examples/63-large-texts.ts`
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, type StepIO } from 'reeve'

/** A server's log, as a tool of yours would fetch it. */
const fetchLog = (): string =>
  Array.from(
    { length: 400_000 },
    (_, i) => `${i} ${i === 399_123 ? 'ERROR disk full' : 'ok'} ${'.'.repeat(38)}\n`,
  ).join('')

// #region keep
const inspector = agent({
  name: 'inspector',
  run: async (ctx) => {
    const log = await ctx.step('fetch', (io) => io.contents.keep(fetchLog(), 'text'))
    const look = async ({ contents }: StepIO): Promise<string> => {
      let rest = ''
      for await (const piece of contents.pieces(log.$content)) {
        const lines = (rest + piece).split('\n')
        rest = lines.pop()! // a line may go on in the next piece
        const found = lines.find((line) => line.includes('ERROR'))
        if (found !== undefined) return found
      }
      return rest.includes('ERROR') ? rest : 'none'
    }
    const error = await ctx.step('look', look, { effect: 'read' })
    return { log, error }
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [inspector] })
const run = await runtime.start(inspector, 'Look for errors.')
const outcome = await run.outcome()
assert.equal(outcome.status, 'completed')
const { log, error } = outcome.output
console.log(log, error)
assert.match(error, /^399123 ERROR disk full/)

// what is recorded is a reference: the journal stays small
const journal = JSON.stringify(await run.journal())
assert.ok(journal.length < 10_000 && log.size > 19_000_000)

// #region read
const { text } = await run.content(log.$content, { from: 0, to: 200 }) // a part
let lines = 0
for await (const piece of run.contentPieces(log.$content)) lines += piece.split('\n').length - 1 // all of it
// #endregion
assert.ok(text.startsWith('0 ok'))
assert.equal(lines, 400_000)

// another run does not have it; a fork does, whatever becomes of its origin
const other = await runtime.start(inspector, 'Again.')
await other.outcome()
await assert.rejects(other.content(`result-${'0'.repeat(32)}`), { code: 'content.unknown' })
const kept = (await run.journal()).find(({ event }) => event.type === 'step.settled')
const fork = await runtime.fork({ run: run.id, at: kept!.position })
await fork.outcome()
await runtime.remove(run.id)
assert.equal((await fork.content(log.$content)).size, log.size)
