/**
 * Side query: a question to a model outside the turns of an agent: which member speaks next, what to answer a worker,
 * how far the work is.
 *
 * Owns: how the question is asked. Does not own: what the answer is used for (../supervisor), the loop that asks and
 * corrects: it is the same (loop/turn-loop.ts).
 * Holds: K4 (each caller gives it its own scope), K11 (it counts like every model call).
 */
import { present, type HistoryEntry, type Outcome } from '@reeve/core'
import { toolEdge, type Edge, type Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { fixedToolbox } from './tool/binding.ts'
import { runModelAgent } from './loop/model-activation.ts'
import { outputRepairs, type ModelSetup } from './loop/turn-loop.ts'
import { modelSetup } from './model-agent.ts'

/** The model to ask, and the agent in whose name it answers. */
export type ModelAccess = Pick<ModelSetup, 'agent' | 'model' | 'settings' | 'retry' | 'silenceMs'>

/** A question to a model. */
export interface SideQuery {
  readonly system?: string | undefined
  /** The conversation so far. */
  readonly said: readonly HistoryEntry[]
  readonly question: string
  /** The schema of the answer. An invalid answer is corrected up to twice. Default: text. */
  readonly output?: Schema | undefined
  /** `choice`: the answer only decides something and is not part of the conversation. Default: it is. */
  readonly purpose?: 'choice' | undefined
}

/** One call by the model is tolerated although it has no tools. */
const strayCalls = 1

/**
 * Asks without tools, and without the middlewares of the agent. Resolves to the answer, or to the reason why there is
 * none.
 */
export function askSideQuery(
  { agent, model, settings, retry, silenceMs }: ModelAccess,
  ctx: Context,
  edge: Edge,
  { system, said, question, output, purpose }: SideQuery,
): Promise<Outcome> {
  const facts = {
    model,
    ...present({ settings, retry, silenceMs }),
  }
  const setup = modelSetup(agent, facts, output, { turns: 1 + outputRepairs + strayCalls })
  const { questionsTo: _questionsTo, ...leader } = edge.leader
  const below = toolEdge({ ...edge, leader, team: {} }, null)
  const entries: readonly HistoryEntry[] = [...said, { message: { role: 'user', content: question } }]
  const open: ModelSetup['open'] = (_state, instructions) => ({ system: instructions, toolbox: fixedToolbox([]) })
  return runModelAgent({ ...setup, instructions: system, open, ...present({ purpose }) }, ctx, {
    ...below,
    work: { brief: { instructions: question }, entries },
  })
}
