/** What the engines are measured with, and the figures that one process takes of its engine: rule agents, so that what takes time is the engine. */
import { agent, delegate, step, type Agent, type Runtime } from '../src/index.ts'
import { timed } from './measure.ts'

/** A figure to be taken. */
export type Order =
  | { readonly do: 'crowd'; readonly runs: number; readonly atOnce: number; readonly steps: number }
  | { readonly do: 'one by one'; readonly runs: number }
  | { readonly do: 'delegate'; readonly times: number }
  | { readonly do: 'fan out'; readonly workers: number }

const walker = agent({
  name: 'walker',
  run: async (ctx, brief) => {
    for (let i = 0; i < Number(brief); i++) await step(ctx, 'walk', () => 1)
    return null
  },
})
const writer = agent({ name: 'writer', description: 'writes', run: (ctx) => step(ctx, 'write', () => 'The next part.') })
const leader = agent({
  name: 'leader',
  workers: [writer],
  run: async (ctx, brief) => {
    for (let i = 0; i < Number(brief); i++) await delegate(ctx, writer, 'Write the next part, please.')
    return null
  },
})
const crier = agent({
  name: 'crier',
  workers: [writer],
  run: async (ctx, brief) => {
    await Promise.all(Array.from({ length: Number(brief) }, () => delegate(ctx, writer, 'Write the next part, please.')))
    return null
  },
})

export const team: readonly Agent[] = [walker, leader, crier]

async function whole(runtime: Runtime, root: Agent, brief: number): Promise<void> {
  const outcome = await runtime.run(root, String(brief))
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
}

async function crowd(runtime: Runtime, { runs, atOnce, steps }: Extract<Order, { do: 'crowd' }>): Promise<void> {
  let left = runs
  const next = async (): Promise<void> => {
    while (left-- > 0) await whole(runtime, walker, steps)
  }
  await Promise.all(Array.from({ length: atOnce }, next))
}

/** Milliseconds: of all of it, or of each one. */
export async function carryOut(runtime: Runtime, order: Order): Promise<number[]> {
  switch (order.do) {
    case 'crowd':
      return [await timed(() => crowd(runtime, order))]
    case 'one by one': {
      const each: number[] = []
      for (let i = 0; i < order.runs; i++) each.push(await timed(() => whole(runtime, walker, 1)))
      return each
    }
    case 'delegate':
      return [await timed(() => whole(runtime, leader, order.times))]
    case 'fan out':
      return [await timed(() => whole(runtime, crier, order.workers))]
  }
}
