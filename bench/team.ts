/**
 * The team that the benches measure: a leader and a worker with functions for models, so that what takes time is Reeve.
 */
import { agent, createRuntime, supervisor, type Runtime, type RuntimeOptions, type Supervisor } from 'reeve'
import { sleep } from './measure.ts'

const delegation = { name: 'delegate', input: { worker: 'writer', instructions: 'Write the next part, please.' } }

/** A leader that delegates `count` times, `atOnce` in a turn; every model call takes `ms`. */
export function team(count: number, { atOnce = 1, ms = 0 } = {}): Supervisor {
  const writer = agent({
    name: 'writer',
    description: 'writes',
    model: async () => (ms > 0 && (await sleep(ms)), 'The next part.'),
  })
  return supervisor({
    name: 'lead',
    workers: [writer],
    limits: { turns: 2 * count + 2 },
    model: async ({ messages }) => {
      if (ms > 0 && atOnce === 1) await sleep(ms)
      const done = messages.filter((message) => message.role === 'tool').length
      return done >= count ? 'That is all.' : { calls: Array.from({ length: atOnce }, () => delegation) }
    },
  })
}

/** A leader whose turns cost the same however long its conversation is. */
export function longTeam(count: number): Supervisor {
  const writer = agent({ name: 'writer', description: 'writes', model: () => 'The next part.' })
  return supervisor({
    name: 'lead',
    workers: [writer],
    limits: { turns: 2 * count + 2 },
    model: ({ messages }) => ((messages.length - 2) / 2 >= count ? 'That is all.' : { calls: [delegation] }),
  })
}

/** Runs it once in a store of its own; the milliseconds of the run, not of opening. */
export async function runOnce(leader: Supervisor, options: RuntimeOptions = {}): Promise<number> {
  await using runtime = await createRuntime({ agents: [leader], ...options })
  return await timedRun(runtime, leader)
}

/** Runs it once; throws if it does not complete. */
export async function timedRun(runtime: Runtime, leader: Supervisor): Promise<number> {
  const begun = performance.now()
  const outcome = await runtime.run(leader, 'Write a book.')
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return performance.now() - begun
}
