/**
 * What the cases of oversight are told with: a run whose questions somebody answers as they come, and what they were.
 */
import type { Agent } from '@reeve/agent'
import type { Json, Outcome } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import type { ApprovalRequested, EscalationRaised, JournalEvent } from '@reeve/journal'
import type { Run, RunOutcome, RuntimeOptions } from '@reeve/runtime'
import { eventsOf, runtimeOf } from './team.ts'

/** A decision, without the id. */
export type Word = {
  readonly decision: 'approve' | 'reject' | 'retry' | 'edit'
  readonly comment?: string
  readonly input?: Json
}

/** Says this to the first question, that to the second, …; past the end the last again. */
export const inOrder =
  (...words: readonly Word[]) =>
  (_asked: ApprovalRequested, n: number): Word =>
    words[Math.min(n, words.length - 1)]!
/** Yes to everything. */
export const yes = (): Word => ({ decision: 'approve' })
/** No to what this is called, yes to the rest. */
export const noTo =
  (name: string, comment?: string) =>
  ({ tool }: ApprovalRequested): Word =>
    tool === name ? { decision: 'reject', ...(comment === undefined ? {} : { comment }) } : yes()

/** An ended run, with what was asked in it, in the order in which it was asked. */
export interface Overseen {
  readonly run: Run<unknown>
  readonly outcome: Outcome
  readonly asked: readonly ApprovalRequested[]
  /** Each question in short: what it is about, and who asks. */
  readonly lines: readonly string[]
  readonly raised: readonly EscalationRaised[]
  readonly events: readonly JournalEvent[]
}

/** Runs to the end under this oversight; `decide` answers every question. */
export async function overseen(
  root: Agent,
  oversight: Oversight | undefined,
  decide: (asked: ApprovalRequested, n: number) => Word = yes,
  options: Omit<RuntimeOptions, 'agents'> & { readonly input?: Json } = {},
): Promise<Overseen> {
  const { input = 'go', ...more } = options
  const run = await (await runtimeOf([root], more)).start(root, input, oversight === undefined ? {} : { oversight })
  const decided = new Set<string>()
  for (;;) {
    const state = (await run.until('waiting')) as { readonly waiting?: readonly ApprovalRequested[] } | RunOutcome
    if (!('waiting' in state) || state.waiting === undefined) break
    const [next] = state.waiting.filter(({ id }) => !decided.has(id))
    if (next === undefined) continue
    decided.add(next.id)
    await run.decide({ approvalId: next.id, approver: 'ann', ...decide(next, decided.size - 1) } as never)
  }
  const outcome = (await run.outcome()) as Outcome
  const events = await eventsOf(run)
  const asked = events.filter((event) => event.type === 'approval.requested')
  const raised = events.filter((event) => event.type === 'escalation.raised')
  return {
    run,
    outcome,
    asked,
    lines: asked.map(({ kind = 'call', tool, path }) => `${kind} ${tool} by ${path.join('/')}`),
    raised,
    events,
  }
}
