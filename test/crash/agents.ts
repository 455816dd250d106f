/** Small agents, for tests and for the processes that they start. */
import { completed, type Json, type Outcome } from '@reeve/core'
import type { Context, Registry, StepIO, StepOptions } from '@reeve/engine'

export type Agent = (ctx: Context, input: Json) => Promise<Json>

export function registry(agents: Record<string, Agent>): Registry {
  return {
    find: (name, version) => {
      const run = agents[name]
      return run === undefined || (version !== undefined && version !== '1')
        ? undefined
        : { name, version: '1', run: async (ctx, input): Promise<Outcome> => completed(await run(ctx, input)) }
    },
    onMissingVersion: 'move',
  }
}

export async function step(
  ctx: Context,
  name: string,
  effect: (io: StepIO) => Json | Promise<Json>,
  options: StepOptions = {},
): Promise<Json> {
  const { outcome } = await ctx.next(ctx.begin(name, effect, options))
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return outcome.output
}
