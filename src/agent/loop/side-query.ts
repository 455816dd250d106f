/**
 * Side query: a question to a model that is nobody's turn at the work: who speaks next, what a worker wants to know,
 * how far things are.
 *
 * Owns: how such a question is put. Does not own: who asks and what becomes of the answer (../supervisor), the loop
 * that asks and corrects (turn-loop.ts): it is the same one.
 * Holds: K4 (whoever asks gives it a scope of its own), K11 (it counts like every call of a model).
 */
import type { HistoryEntry, Outcome } from '../../core/index.ts'
import { toolEdge, type Edge, type Schema } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { fixedToolbox } from '../tool/binding.ts'
import { runModelAgent } from './model-activation.ts'
import { outputRepairs, type ModelSetup } from './turn-loop.ts'
import { modelSetup } from '../model-agent.ts'

/** Who is asked: as whom the words of the conversation are its own, and what it thinks with. */
export type ModelAccess = Pick<ModelSetup, 'agent' | 'model' | 'settings' | 'retry'>

/** What is asked. */
export interface SideQuery {
  readonly system?: string | undefined
  /** What was said so far. */
  readonly said: readonly HistoryEntry[]
  readonly question: string
  /** What the answer must look like; one that does not is corrected twice. Default: text. */
  readonly output?: Schema | undefined
  /** `choice`: the answer decides something, and is not said to anybody. Default: it is said like every other. */
  readonly purpose?: 'choice' | undefined
}

/** One call that a model made though there are no tools is forgiven. */
const strayCalls = 1

/**
 * Asks without tools, and without what stands around the asked one's own work. Resolves to its answer, or to why there
 * is none.
 */
export function askSideQuery(
  { agent, model, settings, retry }: ModelAccess,
  ctx: Context,
  edge: Edge,
  { system, said, question, output, purpose }: SideQuery,
): Promise<Outcome> {
  const facts = {
    model,
    ...(settings === undefined ? undefined : { settings }),
    ...(retry === undefined ? undefined : { retry }),
  }
  const setup = modelSetup(agent, facts, output, { turns: 1 + outputRepairs + strayCalls })
  const { questionsTo: _questionsTo, ...leader } = edge.leader
  const below = toolEdge({ ...edge, leader, team: {} }, null)
  const entries: readonly HistoryEntry[] = [...said, { message: { role: 'user', content: question } }]
  const open: ModelSetup['open'] = (_desk, instructions) => ({ system: instructions, toolbox: fixedToolbox([]) })
  return runModelAgent(
    { ...setup, instructions: system, open, ...(purpose === undefined ? undefined : { purpose }) },
    ctx,
    { ...below, work: { brief: { instructions: question }, entries } },
  )
}
