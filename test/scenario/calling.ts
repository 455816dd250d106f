/** An agent that calls another as a tool, and what came of it: what the scenarios of section G share. */
import { tool, type Agent } from '@reeve/agent'
import { asTool, type AsToolOptions } from '@reeve/flow'
import { modelAgent } from './asking.ts'
import { calls, eventsOf, runtimeOf, scripted } from './team.ts'

export const asks = (name: string, request = 'x') => calls([name, { request }])
export const echo = tool({ name: 'echo', execute: () => 'echoed' })

/** An outer agent that calls `inner` once and then answers. */
export function outerOf(
  inner: Agent,
  options: AsToolOptions = {},
  model = scripted(asks(options.name ?? inner.name), 'final'),
) {
  return {
    model,
    outer: modelAgent('outer', model, { instructions: 'A secret of outer.', tools: [asTool(inner, options), echo] }),
  }
}

export async function played(root: Agent, input = 'the question') {
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, input)
  const outcome = await run.outcome()
  return {
    outcome,
    run,
    events: await eventsOf(run),
    paths: (await run.view()).activations.map(({ path }) => path.join('/')),
  }
}
