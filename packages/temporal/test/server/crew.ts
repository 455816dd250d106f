/**
 * Agents of the tests on Temporal, in this process and in others. Each effect is noted in a file: what was done twice
 * shows there.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { agent, approve, delegate, step, type Agent } from '@reeve/public'

/** An effect that has happened. */
export interface Deed {
  /** The same for all attempts of a step, and for no other step. */
  readonly key: string
  readonly pid: number
}

/** `notes`: a file. */
export function crew(notes: string): {
  readonly walker: Agent
  readonly asker: Agent
  readonly leader: Agent
  readonly all: readonly Agent[]
} {
  const note = (deed: Deed): void => appendFileSync(notes, `${JSON.stringify(deed)}\n`)
  /** The brief: how many steps, how many milliseconds each takes. */
  const walker = agent({
    name: 'walker',
    description: 'walks',
    run: async (ctx, brief) => {
      const [steps = 1, ms = 0] = String(brief).split(' ').map(Number)
      const done: { readonly step: number; readonly pid: number }[] = []
      for (let i = 0; i < steps; i++) {
        const at = await step(ctx, 'walk', async (io) => {
          if (ms > 0) await sleep(ms, undefined, { signal: io.signal })
          note({ key: io.key, pid: process.pid })
          return { step: i, pid: process.pid }
        })
        done.push(at)
      }
      return done
    },
  })
  const gate = {
    tool: 'publish',
    toolVersion: '1',
    input: 'a book',
    reason: 'it is for the public',
    timeoutMs: 3_600_000,
  }
  const asker = agent({ name: 'asker', run: async (ctx) => (await approve(ctx, gate)).approved })
  const leader = agent({
    name: 'leader',
    workers: [walker],
    run: async (ctx, brief) => {
      for (let i = 0; i < Number(brief); i++) await delegate(ctx, walker, '1')
      return null
    },
  })
  return { walker, asker, leader, all: [walker, asker, leader] }
}

export const deedsIn = (notes: string): readonly Deed[] =>
  readFileSync(notes, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Deed)
