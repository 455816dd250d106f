/**
 * What engines are measured with, and what one process does for it: rule agents, so that what takes time is the engine.
 */
import { agent, approve, delegate, step, type Agent, type Runtime } from '@reeve/public'
import { timed } from './measure.ts'

/** What a process is to do. */
export type Order =
  /** So many runs of so many steps, `atOnce` of them at any time. */
  | { readonly do: 'crowd'; readonly runs: number; readonly atOnce: number; readonly steps: number }
  /** The same, of runs that delegate so often. */
  | { readonly do: 'lead'; readonly runs: number; readonly atOnce: number; readonly times: number }
  /** Runs of some steps that take a while each; how long every run took from its start to its end. */
  | { readonly do: 'watch'; readonly runs: number; readonly atOnce: number; readonly steps: number }
  /** Runs that wait for somebody. */
  | { readonly do: 'park'; readonly runs: number; readonly name: string }
  /** Decides so many of them, one after the other; how long each took from the decision to the end. */
  | { readonly do: 'decide'; readonly runs: number; readonly of: number; readonly name: string }
  /** Begins so many runs of one step, many at a time, and waits for none. */
  | { readonly do: 'begin'; readonly from: number; readonly runs: number; readonly name: string }
  /** Decides `runs` of those that wait, the first of which is `from`, many at a time, and waits for none. */
  | { readonly do: 'decide all'; readonly from: number; readonly runs: number; readonly name: string }
  /** Waits for the end of as many. */
  | { readonly do: 'await all'; readonly from: number; readonly runs: number; readonly name: string }

const gate = {
  tool: 'publish',
  toolVersion: '1',
  input: 'a book',
  reason: 'it is for the public',
  timeoutMs: 7 * 24 * 3_600_000,
}
/** How long a step of a run that is watched takes. */
const pausedMs = 20

const walker = agent({
  name: 'walker',
  run: async (ctx, brief) => {
    for (let i = 0; i < Number(brief); i++) await step(ctx, 'walk', () => 1)
    return null
  },
})
const stroller = agent({
  name: 'stroller',
  run: async (ctx, brief) => {
    for (let i = 0; i < Number(brief); i++)
      await step(ctx, 'stroll', () => new Promise((resolve) => setTimeout(resolve, pausedMs, 1)))
    return null
  },
})
const pilgrim = agent({ name: 'pilgrim', run: async (ctx) => (await approve(ctx, gate)).approved })
const writer = agent({
  name: 'writer',
  description: 'writes',
  run: (ctx) => step(ctx, 'write', () => 'The next part.'),
})
const leader = agent({
  name: 'leader',
  workers: [writer],
  run: async (ctx, brief) => {
    for (let i = 0; i < Number(brief); i++) await delegate(ctx, writer, 'Write the next part, please.')
    return null
  },
})

export const team: readonly Agent[] = [walker, stroller, pilgrim, leader]

async function whole(runtime: Runtime, root: Agent, brief: number): Promise<void> {
  const outcome = await runtime.run(root, String(brief))
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
}

/** Does it so many times, `atOnce` at any time. */
async function often(times: number, atOnce: number, work: (nth: number) => Promise<void>): Promise<void> {
  let done = 0
  const next = async (): Promise<void> => {
    while (done < times) await work(done++)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, times) }, next))
}

async function decided(runtime: Runtime, id: string): Promise<number> {
  const decide = await decision(runtime, id)
  return timed(async () => {
    await decide()
    await ended(runtime, id)
  })
}

/** Decides when it is called: what is asked has been looked up before. */
async function decision(runtime: Runtime, id: string): Promise<() => Promise<unknown>> {
  const run = runtime.handle(id)
  const [approval] = await runtime.approvals({ run: run.id })
  return () => run.decide({ approvalId: approval!.id, decision: 'approve' })
}

async function ended(runtime: Runtime, id: string): Promise<void> {
  const outcome = await runtime.handle(id).outcome()
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
}

/** Milliseconds: of all of it, or of each one. */
export async function carryOut(runtime: Runtime, order: Order): Promise<number[]> {
  switch (order.do) {
    case 'crowd':
      return [await timed(() => often(order.runs, order.atOnce, () => whole(runtime, walker, order.steps)))]
    case 'lead':
      return [await timed(() => often(order.runs, order.atOnce, () => whole(runtime, leader, order.times)))]
    case 'watch': {
      const each: number[] = []
      await often(order.runs, order.atOnce, async () => {
        each.push(await timed(() => whole(runtime, stroller, order.steps)))
      })
      return each
    }
    case 'park': {
      const id = (nth: number): string => `${order.name}-${nth}`
      const begin = async (nth: number): Promise<void> => void (await runtime.start(pilgrim, 'go', { runId: id(nth) }))
      // Whoever waits for a run reads it with each of its news: of a thousand that begin, this process would see little
      // else.
      const waiting = async (nth: number): Promise<void> => void (await runtime.handle(id(nth)).until('waiting'))
      return [await timed(() => often(order.runs, 1_000, begin).then(() => often(order.runs, 20, waiting)))]
    }
    case 'decide': {
      const each: number[] = []
      for (let nth = 0; nth < order.runs; nth++)
        each.push(await decided(runtime, `${order.name}-${(nth * 7_919) % order.of}`))
      return each
    }
    case 'begin': {
      const begin = async (nth: number): Promise<void> =>
        void (await runtime.start(walker, '1', { runId: `${order.name}-${order.from + nth}` }))
      return [await timed(() => often(order.runs, 200, begin))]
    }
    case 'decide all': {
      const decide = async (nth: number): Promise<void> => {
        await (
          await decision(runtime, `${order.name}-${order.from + nth}`)
        )()
      }
      return [await timed(() => often(order.runs, 200, decide))]
    }
    case 'await all':
      return [
        await timed(() =>
          Promise.all(
            Array.from({ length: order.runs }, (_, nth) => ended(runtime, `${order.name}-${order.from + nth}`)),
          ),
        ),
      ]
  }
}
