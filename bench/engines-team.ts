/** What engines are measured with, and what one process does for it: rule agents, so that what takes time is the engine. */
import { agent, approve, delegate, step, type Agent, type Runtime } from '../src/index.ts'
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

const gate = { tool: 'publish', toolVersion: '1', input: 'a book', reason: 'it is for the public', timeoutMs: 7 * 24 * 3_600_000 }
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
    for (let i = 0; i < Number(brief); i++) await step(ctx, 'stroll', () => new Promise((resolve) => setTimeout(resolve, pausedMs, 1)))
    return null
  },
})
const pilgrim = agent({ name: 'pilgrim', run: async (ctx) => (await approve(ctx, gate)).approved })
const writer = agent({ name: 'writer', description: 'writes', run: (ctx) => step(ctx, 'write', () => 'The next part.') })
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
  const run = runtime.handle(id)
  const [approval] = await runtime.approvals({ run: run.id })
  return timed(async () => {
    await run.decide({ approvalId: approval!.id, decision: 'approve' })
    const outcome = await run.outcome()
    if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  })
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
      const begin = async (nth: number): Promise<void> => {
        const run = await runtime.start(pilgrim, 'go', { runId: `${order.name}-${nth}` })
        await run.until('waiting')
      }
      return [await timed(() => often(order.runs, 1_000, begin))]
    }
    case 'decide': {
      const each: number[] = []
      for (let nth = 0; nth < order.runs; nth++) each.push(await decided(runtime, `${order.name}-${(nth * 7_919) % order.of}`))
      return each
    }
  }
}
