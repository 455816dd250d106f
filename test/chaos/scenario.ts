/**
 * What cluster torture runs besides the agents of test/crash/kill: trees three deep, a fan-out that answers by mail,
 * questions with deadlines, an agent that goes on in segments with its worker and its mail. Deterministic but for which
 * questions are answered in time, and that is asked for in the audit.
 */
import type { ActivationId, Json, JsonObject } from '@reeve/core'
import type { Context, Registry } from '@reeve/engine'
import { parallel, step, type Reach, type Rule } from '../crash/kill/scenario.ts'
import { everything } from '../crash/kill/team.ts'

const bees = 5
/** How many questions a clerk asks. */
const asks = 3

/** Waits for these workers, whatever else comes in between; their outcomes in the order in which they were started. */
async function all(ctx: Context, workers: readonly ActivationId[]): Promise<Json[]> {
  const outcomes: Json[] = []
  const open = new Set<string>(workers)
  while (open.size > 0) {
    const arrival = await ctx.next((a) => a.type === 'worker.settled' && open.has(a.id))
    if (arrival.type !== 'worker.settled') continue
    open.delete(arrival.id)
    outcomes[workers.indexOf(arrival.id)] = arrival.outcome as unknown as Json
  }
  return outcomes
}

/** Three deep: the leader's workers are its grandchildren. */
const chief: Rule = async (ctx, reach) => {
  const turn = ctx.scope('turn')
  const plan = await step(turn, reach, 'model', 'model')
  const workers = ['leader', 'swarm', 'diarist'].map((name, k) => turn.scope(`call${k}`).start(name, null))
  const ends = await all(turn, workers)
  return { plan, ends, signed: await step(ctx.scope('turn'), reach, 'sign', 'once') }
}

/** A fan-out: every worker writes home before it ends. */
const swarm: Rule = async (ctx, reach) => {
  const home = ctx.place.activation
  const workers = Array.from({ length: bees }, (_, k) => ctx.scope(`bee${k}`).start('bee', { home, k }))
  const letters: number[] = []
  for (let k = 0; k < bees; k++) {
    const mail = await ctx.next((a) => a.type === 'message')
    if (mail.type === 'message') letters.push((mail.body as { k: number }).k)
  }
  const ends = await all(ctx, workers)
  return {
    letters: letters.sort((a, b) => a - b),
    ends,
    honey: await ctx.values.get(`honey of ${home}`),
    jar: await step(ctx, reach, 'jar', 'tool'),
  }
}

const bee: Rule = async (ctx, reach, input) => {
  const { home, k } = input as { home: ActivationId; k: number }
  const found = await parallel(ctx.scope('out'), reach, ['fly', 'smell'])
  await ctx.values.update(`honey of ${home}`, (n) => ((n as number | null) ?? 0) + 1)
  ctx.send(home, { k })
  const timer = ctx.ask('rest', { until: new Date(ctx.now().getTime() + 30 * (k + 1)) })
  return [found, (await ctx.next(timer)).outcome.status]
}

/** Questions that are answered in time or are not. */
const clerk: Rule = async (ctx, reach, input) => {
  const { withinMs } = input as { withinMs: number }
  const { path } = ctx.place
  const said: Json[] = []
  for (let k = 0; k < asks; k++) {
    const as = { type: 'interrupt.raised', id: ctx.id('int'), question: `question ${k}`, path } as const
    const { outcome } = await ctx.next(ctx.ask(`ask${k}`, { until: new Date(ctx.now().getTime() + withinMs), as }))
    said.push(outcome as unknown as Json, await step(ctx, reach, `file${k}`, 'tool'))
  }
  return said
}

/**
 * Every page is a segment of the log. A worker of the first page is still out on the last one, and what it wrote is
 * read there.
 */
const diarist: Rule = async (ctx, reach) => {
  const carried = ctx.carried as { page: number; pages: Json[]; worker: ActivationId } | undefined
  const page = carried?.page ?? 0
  const worker = carried?.worker ?? ctx.start('bee', { home: ctx.place.activation, k: 0 })
  const pages = [...(carried?.pages ?? []), await step(ctx, reach, 'write', 'tool', `page${page}`)]
  if (page < 3) ctx.restart({ page: page + 1, pages, worker } satisfies JsonObject)
  const mail = await ctx.next((a) => a.type === 'message')
  const ends = await all(ctx, [worker])
  return {
    pages,
    mail: mail.type === 'message' ? mail.body : null,
    ends,
    bound: await step(ctx, reach, 'bind', 'once'),
  }
}

/** Everything that tortured workers can run. */
export const chaosRegistry = (reach: Reach): Registry => everything(reach, { chief, swarm, bee, clerk, diarist })
