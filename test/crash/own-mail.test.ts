/**
 * Parts of a run that write to each other: what is on its way between them keeps the run in memory, so it is not read
 * again for every message (K2).
 */
import { expect, test } from 'vitest'
import { rootActivation, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { Arrival, Context } from '@reeve/engine'
import { answer, ask, begin, behind, inFolder, open, outcome, registry, until, type Agent } from './hand.ts'

const times = 50
const root = rootActivation('r' as RunId)
const epochOf = (file: string): number =>
  behind(file, (db) => (db.prepare("SELECT epoch FROM run WHERE id = 'r'").get() as { epoch: number }).epoch)
const message = async (ctx: Context): Promise<Json> => {
  const arrival = await ctx.next((each) => each.type === 'message')
  return (arrival as Extract<Arrival, { readonly type: 'message' }>).body
}
const echo: Agent = async (ctx) => {
  for (let i = 0; i < times; i++) ctx.send(root, await message(ctx))
  return 'echo'
}
async function exchanges(ctx: Context): Promise<number> {
  const worker: ActivationId = ctx.start('echo', null)
  let heard = 0
  for (let i = 0; i < times; i++) {
    ctx.send(worker, i)
    if ((await message(ctx)) === i) heard++
  }
  await ctx.next(worker)
  return heard
}

test('K2: members who write while a human is asked keep the run in memory until only the human is awaited', async () => {
  const file = inFolder()
  const engine = open(file, { pollMs: 2 })
  engine.drive(
    registry({
      echo,
      lead: async (ctx) => {
        const answered = ask(ctx)
        return [await exchanges(ctx), await answered]
      },
    }),
  )
  await begin(engine, 'r', 'lead')
  await until('it waits for the human only', () => engine.driver.runs.size === 0)
  expect(epochOf(file)).toBe(1) // nobody has taken it up again
  await answer(engine, 'r', 'yes')
  expect(await outcome(engine, 'r')).toMatchObject({ status: 'completed', output: [times, { output: 'yes' }] })
  expect(epochOf(file)).toBe(2)
})

test('K2: members who write to each other are not quiet, however long they go on', async () => {
  const file = inFolder()
  const engine = open(file, { pollMs: 2, parkAfterMs: 0 })
  engine.drive(registry({ echo, lead: exchanges }))
  await begin(engine, 'r', 'lead')
  expect(await outcome(engine, 'r')).toMatchObject({ status: 'completed', output: times })
  expect(epochOf(file)).toBe(1)
})
