/**
 * What the tortured processes run: a leader with four workers in parallel, parallel tool calls, mail between workers, a
 * timer, an approval from outside, `once` tools, a shared value; and a variant that is cancelled from outside and
 * undoes its work.
 *
 * Every effect goes through `reach`, the outside world. Everything else is deterministic, so the outcome of a crashed
 * run is that of an uncrashed one.
 */
import { completed, type ActivationId, type Json, type JsonObject } from '@reeve/core'
import type { Context, Orchestration, Registry, StepIO, StepOptions } from '@reeve/engine'

/** Does something outside under the step's key and epoch, and answers what the outside answers. */
export type Reach = (io: StepIO, kind: 'model' | 'tool' | 'once', what: string) => Promise<Json>

/** A step from its begin to its end; what is not completed is thrown. */
export async function step(
  ctx: Context,
  reach: Reach,
  name: string,
  kind: 'model' | 'tool' | 'once',
  what = name,
): Promise<Json> {
  const options: StepOptions<Json> = {
    effect: kind === 'tool' ? 'idempotent' : kind,
    retry: { attempts: 3, backoffMs: 5 },
  }
  const { outcome } = await ctx.next(ctx.begin(name, (io) => reach(io, kind, what), options))
  if (outcome.status !== 'completed') throw new Error(`${name}: ${JSON.stringify(outcome)}`)
  return outcome.output
}

/** Asks the outside for a yes. */
async function approve(ctx: Context, name: string): Promise<Json> {
  const { activation, path } = ctx.place
  const id = ctx.id('apr')
  const as = {
    type: 'approval.requested',
    id,
    path,
    tool: name,
    toolVersion: '1',
    input: activation,
    inputHash: 'h',
    reason: 'to be sure',
    risk: 'low',
    onTimeout: 'reject',
  } as const
  const { outcome } = await ctx.next(ctx.ask(name, { as }))
  return outcome as unknown as Json
}

/** Tools at the same time, each in a branch of its own. */
export const parallel = (ctx: Context, reach: Reach, names: readonly string[]): Promise<Json[]> => {
  const begun = names.map((name, k) =>
    ctx.scope(`call${k}`).begin(name, (io) => reach(io, 'tool', name), { retry: { backoffMs: 5 } }),
  )
  return Promise.all(begun.map(async (id) => (await ctx.next(id)).outcome as unknown as Json))
}

async function researcher(ctx: Context, reach: Reach): Promise<Json> {
  const turn = ctx.scope('turn')
  const first = await step(turn, reach, 'model', 'model')
  const looked = await parallel(turn, reach, ['look', 'look', 'read'])
  const again = ctx.scope('turn')
  const count = await again.values.update('finished', (n) => ((n as number | null) ?? 0) + 1)
  return [first, looked, await step(again, reach, 'model', 'model'), typeof count]
}

async function listener(ctx: Context, reach: Reach): Promise<Json> {
  const before = await step(ctx, reach, 'prepare', 'tool')
  const timer = ctx.ask('nap', { until: new Date(ctx.now().getTime() + 40) })
  const mail = await ctx.next((arrival) => arrival.type === 'message')
  const rang = (await ctx.next(timer)).outcome.status
  await ctx.values.update('finished', (n) => ((n as number | null) ?? 0) + 1)
  return [before, mail.type === 'message' ? mail.body : null, rang, await step(ctx, reach, 'use', 'tool')]
}

async function writer(ctx: Context, reach: Reach, input: Json): Promise<Json> {
  const thought = await step(ctx, reach, 'think', 'model')
  ctx.send((input as JsonObject)['listener'] as ActivationId, { note: thought })
  const word = await approve(ctx, 'publish')
  await ctx.values.update('finished', (n) => ((n as number | null) ?? 0) + 1)
  return [word, await parallel(ctx.scope('after'), reach, ['write', 'index'])]
}

async function cashier(ctx: Context, reach: Reach): Promise<Json> {
  const quote = await step(ctx, reach, 'quote', 'tool')
  return [quote, await step(ctx, reach, 'pay', 'once'), await step(ctx, reach, 'receipt', 'once')]
}

async function leader(ctx: Context, reach: Reach): Promise<Json> {
  const turn = ctx.scope('turn')
  const plan = await step(turn, reach, 'model', 'model')
  const hears = turn.scope('call0').start('listener', null)
  const workers = [
    hears,
    turn.scope('call1').start('researcher', null),
    turn.scope('call2').start('writer', { listener: hears }),
    turn.scope('call3').start('cashier', null),
  ]
  const results: Json[] = []
  const waiting = new Set<string>(workers)
  while (waiting.size > 0) {
    const arrival = await turn.next((a) => waiting.has(a.id))
    if (arrival.type !== 'worker.settled') continue
    waiting.delete(arrival.id)
    results[workers.indexOf(arrival.id)] = arrival.outcome as unknown as Json
  }
  const finished = await ctx.values.get('finished')
  return { plan, results, finished, published: await step(ctx.scope('turn'), reach, 'announce', 'once') }
}

/** Books two things, starts a worker that books a third, and is cancelled from outside while it waits. */
async function traveller(ctx: Context, reach: Reach): Promise<Json> {
  await step(ctx, reach, 'book-train', 'once')
  ctx.onCancel('train', async (undo) => void (await step(undo, reach, 'return-train', 'once')))
  await step(ctx, reach, 'book-room', 'tool')
  ctx.onCancel('room', async (undo) => void (await step(undo, reach, 'return-room', 'tool')))
  const guide = ctx.start('guide', null)
  return (await ctx.next(guide)).outcome as unknown as Json
}

async function guide(ctx: Context, reach: Reach): Promise<Json> {
  await step(ctx, reach, 'book-tour', 'tool')
  ctx.onCancel('tour', async (undo) => void (await step(undo, reach, 'return-tour', 'once')))
  return approve(ctx, 'cancel-me')
}

const agents = { leader, researcher, listener, writer, cashier, traveller, guide }

/** A rule of orchestration: what an agent does. */
export type Rule = (ctx: Context, reach: Reach, input: Json) => Promise<Json>

/** All agents, and more of them, reaching the outside by `reach`. */
export function scenario(reach: Reach, more: Readonly<Record<string, Rule>> = {}): Registry {
  const rules: Readonly<Record<string, Rule>> = { ...agents, ...more }
  const list = Object.entries(rules).map(([name, run]): Orchestration => ({
    name,
    version: '1',
    run: async (ctx, input) => completed(await run(ctx, reach, input)),
  }))
  const byName = new Map(list.map((one) => [one.name, one]))
  return {
    find: (name, version) => (version === undefined || version === '1' ? byName.get(name) : undefined),
    onMissingVersion: 'move',
  }
}
