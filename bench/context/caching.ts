/** Ten delegations on the wire of a strict provider, with a prompt cache behind it: what they use, with and without. */
import { totalUsage, type Usage } from '@reeve/core'
import type { ModelSettings } from '@reeve/model'
import { agent, createRuntime, supervisor, tool } from '@reeve/public'
import {
  strictProvider,
  type ProviderAnswer,
  type ProviderName,
  type ProviderRequest,
} from '../../packages/testing/src/providers/index.ts'
import { PromptCache } from './prompt-cache.ts'
import { delegations } from './script.ts'

/** How many results of a tool the conversation of a request has, on whatever wire. */
export const resultsIn = ({ text }: ProviderRequest): number =>
  text.split(/"role":"tool"|"type":"tool_result"|"type":"function_call_output"|"functionResponse":/).length - 1

/** The request is a worker's: it has a tool that the leader has not. */
export const isWorkers = ({ text }: ProviderRequest): boolean => text.includes('look_up')

/** A leader that delegates ten times; its worker looks something up before it answers. */
function answerOf(request: ProviderRequest): ProviderAnswer {
  const results = resultsIn(request)
  if (isWorkers(request))
    return results > 0 ? { text: 'found '.repeat(60) } : { calls: [{ name: 'look_up', input: { what: 'it' } }] }
  if (results === delegations) return { text: 'done' }
  const instructions = `piece ${results} `.repeat(20)
  return { calls: [{ name: 'delegate', input: { worker: 'left', instructions } }] }
}

/** What the ten delegations used, and all that was sent. */
export interface CachedPlay {
  readonly usage: Omit<Usage[number], 'agent' | 'model'>
  readonly requests: readonly ProviderRequest[]
}

/** `model`: without the name of the provider. Default: that of the preset. Throws if something was refused. */
export async function tenDelegations(
  preset: ProviderName,
  settings: ModelSettings | undefined,
  model?: string,
): Promise<CachedPlay> {
  const cache = new PromptCache()
  await using provider = await strictProvider({
    preset,
    answer: (request) => ({ ...answerOf(request), usage: cache.use(request) }),
  })
  const common = { model: provider.resolve(model), ...(settings === undefined ? {} : { settings }) }
  const look = tool({
    name: 'look_up',
    description: 'Looks it up.',
    effect: 'read',
    execute: () => 'found '.repeat(100),
  })
  const instructions = 'Work as well as you can. '.repeat(240)
  const left = agent({ ...common, name: 'left', description: 'Works.', instructions, tools: [look] })
  const boss = supervisor({ ...common, name: 'boss', instructions, workers: [left], limits: { turns: 100 } })
  await using runtime = await createRuntime({ agents: [boss] })
  const outcome = await runtime.run(boss, 'go')
  const refused = provider.refused.map(({ why }) => why)
  if (outcome.status !== 'completed' || refused.length > 0) throw new Error(JSON.stringify({ outcome, refused }))
  return { usage: totalUsage(outcome.usage), requests: provider.requests }
}
