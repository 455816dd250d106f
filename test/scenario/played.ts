/**
 * What the cases of history and of fixed orders are told with: agents that say, break and fail, a run that is played to
 * its end, prompts in short.
 */
import { agent, tool, type Agent, type exit } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Message } from '@reeve/model'
import { said, ways, worker } from './control.ts'
import { calls, fatal, runtimeOf, scripted } from './team.ts'

/** Asks the nearest loop to end; the model goes on. */
export const breaks = tool({ name: 'stop', effect: 'read', execute: () => 'stopping', action: 'break' })
export const echo = tool({ name: 'echo', effect: 'read', execute: () => 'echoed' })
/** Code that says something, each time the next; past the end the last again. */
export const says = (name: string, ...ends: readonly (Json | ReturnType<typeof exit>)[]): Agent => {
  return agent({
    name,
    description: `Says things as ${name}.`,
    run: (_ctx, _brief, { history }) => {
      const before = history.filter((entry) => entry.agent === name).length
      return ends[Math.min(before, ends.length - 1)] ?? `${name} result`
    },
  })
}
export const fails = (name: string) => worker(name, scripted(fatal(`${name} is broken`)))
/** Runs to the end; who worked, in the order in which they began. */
export async function played(flow: Agent, input = 'task') {
  const run = await (await runtimeOf([flow])).start(flow, input)
  const outcome = await run.outcome()
  const view = await run.view()
  return {
    run,
    outcome,
    worked: view.activations.map((each) => each.agent),
    paths: ways(view),
    messages: await said(run),
  }
}
/** Exits and breaks: who, and what. */
export const actions = ({ messages }: Awaited<ReturnType<typeof played>>): [string, unknown][] =>
  messages.flatMap((each) => (each.type === 'action' ? [[each.agent, each.action]] : []))

/** What a model is shown: of a user, or of another agent. */
export const user = (content: string) => ({ role: 'user', content })
export const context = (text: string) => user(`For context: ${text}`)
export const contents = (prompt: readonly Message[] | undefined): unknown[] =>
  (prompt ?? []).map(({ content }) => content)
/** Thinks aloud and uses a tool before it answers. */
export const busy = (
  name: string,
  model = scripted({ text: 'thinking', ...calls(['echo', {}, `${name}-echo`]) }, `${name} result`),
) => agent({ name, description: 'Uses a tool.', model, tools: [echo] })
