/** An operator's commands: pause and resume, cancel with what undoes the work. They reach the whole tree. */
import assert from 'node:assert/strict'
import { agent, createRuntime, step } from 'reeve'

const world: string[] = []

// #region compensation
const traveller = agent({
  name: 'traveller',
  run: async (ctx) => {
    for (const what of ['flight', 'hotel']) {
      await step(ctx.scope(what), 'book', () => void world.push(`${what} booked`))
      ctx.onCancel(what, (undo) =>
        step(undo, 'unbook', () => void world.push(`${what} given back`), { effect: 'idempotent' }),
      )
    }
    await step(
      ctx,
      'travel',
      ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    )
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [traveller] })
const run = await runtime.start(traveller, 'Go.')
for await (const { event } of run.events()) if (event.type === 'step.begun' && event.address === 'travel') break

// #region control
await run.control.pause({ at: 'now', reason: 'lunch', by: 'ann' }) // effects in flight are stopped, and repeated after the pause
await run.until('waiting')
console.log((await run.view()).status) // paused
await run.control.resume('ann')
await run.control.cancel('no travel today', 'ann') // final
const outcome = await run.outcome()
// #endregion
console.log(outcome, world)
assert.equal(outcome.status === 'cancelled' && outcome.reason, 'no travel today')
assert.deepEqual(world, ['flight booked', 'hotel booked', 'hotel given back', 'flight given back'])
