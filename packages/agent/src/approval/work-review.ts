/**
 * Work review: an approver reviews the work of one activation before it begins, and its result (spec team R-14, R-15,
 * R-16).
 *
 * Owns: when a beginning and a result are reviewed, what follows from each decision. Every form of teamwork uses it,
 * because all activations begin here. Does not own: calls of tools (tool-gate.ts), the triggers and the question
 * (../../oversight), tasks of a planned team before they begin (../../team).
 * Holds: K3, K4: the scopes `begin` and `result` are persistent. Without oversight nothing more is recorded.
 */
import {
  failed,
  parentOf,
  present,
  handoffOf,
  unanswered,
  withAnswer,
  withoutHandoff,
  withHandoff,
  type HistoryEntry,
  type Json,
  type Outcome,
  type HandoffRecord,
} from '@reeve/core'
import {
  briefText,
  briefValue,
  defaultApprovalTimeoutMs,
  encodeEdge,
  entriesOf,
  leavesHandoff,
  type Brief,
  type Edge,
  type Layer,
  type ActivationWork,
} from '@reeve/edge'
import { Locals, type Context } from '@reeve/engine'
import {
  escalate,
  escalateToBegin,
  evaluateEscalation,
  refusalFailure,
  refusalOf,
  reviewNote,
  shownComment,
  type Proposal,
  type RefusedVerdict,
  type Subject,
} from '@reeve/oversight'
import type { Assess, Assessment } from '../assessment.ts'
import type { Agent } from '../definition.ts'
import { finalBrief, fitOfBrief } from '../final-arguments.ts'
import { checkOutput } from '../output.ts'
import { EdgeOverride, WorkCost } from '../edge-override.ts'
import { assessResult, unknownToolIn } from './report-tool.ts'

/** The default limit of how often an approver may send work back. */
const defaultRounds = 3

/** Reviews the work of an agent, as its edge requires. */
export const reviewLayer =
  (agent: Agent): Layer =>
  (next) =>
  (ctx, edge) =>
    edge.oversight === undefined && agent.assess === undefined ? next(ctx, edge) : reviewWork(agent, ctx, edge, next)

async function reviewWork(agent: Agent, given: Context, recorded: Edge, work: ActivationWork): Promise<Outcome> {
  const notes: string[] = []
  const begun = await admitWork(agent, given, recorded, notes)
  if ('status' in begun) return begun
  const looks = reviewsResult(agent, begun)
  // the review needs the handoff record, and repeated work continues from it
  let edge: Edge = looks && !leavesHandoff(begun) ? { ...begun, leader: { ...begun.leader, report: true } } : begun
  const before: HistoryEntry[] = []
  const spent = new WorkCost()
  let here = given
  for (let round = 0; ; round++) {
    const locals = new Locals()
    const input = encodeEdge(edge)
    const ctx = new EdgeOverride(here, input, spent, locals)
    const begunAt = given.now().getTime()
    const outcome = await work(ctx, edge)
    if (!looks || outcome.status !== 'completed' || handoffOf(outcome).action?.type === 'transfer')
      return endOfReview(given, begun, noted(outcome, notes), before)
    const tookMs = given.now().getTime() - begunAt
    const verdict = await reviewResult(
      agent,
      new EdgeOverride(given.scope('result'), input, spent, locals),
      edge,
      outcome,
      { tookMs, costUsd: spent.usd },
      round,
      notes,
    )
    if (verdict === undefined) return endOfReview(given, begun, noted(outcome, notes), before)
    if ('status' in verdict) return endOfReview(given, begun, noted(verdict, notes), before)
    const { said } = handoffOf(outcome)
    before.push(...unanswered(said))
    edge = withFeedback(edge, said, verdict.feedback)
    here = await given.again({ repeat: verdict.repeat ?? [] })
  }
}

/** Whether its result may need a review. What the lead of a router says is only a result once the router has ended. */
function reviewsResult({ assess }: Agent, { oversight, flow }: Edge): boolean {
  if (flow?.lead === true) return false
  return assess !== undefined || typeof oversight?.policy.escalate?.decisionMs === 'number'
}

/**
 * Whether an approver is asked before the work begins. Not for a root, which the caller started; not for a task, which
 * the leader of its plan reviewed; not for the lead of a router, which is the router itself.
 */
function asksToBegin(ctx: Context, { oversight, flow, team }: Edge): boolean {
  return (
    oversight !== undefined &&
    oversight.admitted !== true &&
    flow?.lead !== true &&
    parentOf(ctx.place.activation) !== undefined &&
    !isTask(ctx, team)
  )
}

/** Whether the work is a task or a recruit of a planned team. */
function isTask({ place }: Context, { assignment }: Edge['team']): boolean {
  return assignment !== undefined && assignment.leader === parentOf(place.activation)?.parent
}

/** The edge with the approved brief; an outcome says why the work may not begin. */
async function admitWork(agent: Agent, ctx: Context, edge: Edge, notes: string[]): Promise<Edge | Outcome> {
  if (!asksToBegin(ctx, edge)) return edge
  const { name, version, description } = agent
  const { policy, failures } = edge.oversight ?? {}
  const begin = ctx.scope('begin')
  // the agent validates its brief: an edited brief crosses as shown if validation does not change it, else as the
  // approver gave it
  let from: Json = null
  const verdict = await escalateToBegin(begin, policy, { subject: 'work', name }, present({ failures }), {
    tool: name,
    toolVersion: version,
    input: finalBrief(agent, briefValue(edge.work.brief)),
    kind: 'work',
    doneSoFar: async () => (begin.knownBefore().length === 0 ? [] : begin.doneBy()),
    ...(description === '' ? undefined : { description }),
    fits: (input) => {
      const fit = fitOfBrief(agent, input)
      if (typeof fit !== 'string') from = input
      return fit
    },
  })
  if (verdict === undefined) return edge
  if (!verdict.approved) return refusedOutcome({ kind: 'work', name }, verdict)
  const brief = fitOfBrief(agent, verdict.input) === undefined ? verdict.input : from
  const note = reviewNote({ what: 'this work', ran: brief }, verdict)
  const admitted = verdict.edited ? withBrief(edge, brief) : edge
  if (note === undefined) return admitted
  notes.push(note)
  // the worker has the brief as it was changed, and reads of the person's words
  const said =
    verdict.comment === undefined ? undefined : reviewNote({ what: 'this work' }, { ...verdict, edited: false })
  if (said === undefined) return admitted
  const { added } = admitted.work
  return { ...admitted, work: { ...admitted.work, added: added === undefined ? `[${said}]` : `${added}\n\n[${said}]` } }
}

/** The outcome with what people said of the work, for the model of its leader. */
const noted = (outcome: Outcome, notes: readonly string[]): Outcome =>
  notes.length === 0 || outcome.status !== 'completed' ? outcome : { ...outcome, reviewed: notes.join('; ') }

/** The edge with another brief, also inside its conversation. */
function withBrief(edge: Edge, input: Json): Edge {
  const { work, flow } = edge
  const brief: Brief = 'input' in work.brief || typeof input !== 'string' ? { input } : { instructions: input }
  const { entries } = work
  const [before, now] = [briefText(work.brief), briefText(brief)]
  if (entries === undefined) return { ...edge, work: { ...work, brief } }
  const at = entries.findLastIndex(
    ({ agent, message }) => agent === undefined && message.role === 'user' && message.content === before,
  )
  const entry: HistoryEntry = { message: { role: 'user', content: now } }
  return {
    ...edge,
    work: { ...work, brief, entries: at === -1 ? [...entries, entry] : entries.with(at, entry) },
    ...(flow?.task === undefined ? undefined : { flow: { ...flow, task: now } }),
  }
}

/** The outcome of refused work, for its leader. */
const refusedOutcome = (proposal: Proposal, verdict: RefusedVerdict): Outcome =>
  failed(refusalFailure(refusalOf(proposal, verdict), verdict))

/** What the work used. */
interface WorkUse {
  readonly tookMs: number
  readonly costUsd: number | undefined
}

/** The approver has sent the work back. */
interface SentBackWork {
  readonly feedback: string | undefined
  readonly repeat: readonly string[] | undefined
}

/** Reviews a result. Undefined: it stands. An outcome: it replaces the result. Feedback: the work is repeated. */
async function reviewResult(
  agent: Agent,
  ctx: Context,
  edge: Edge,
  outcome: Extract<Outcome, { status: 'completed' }>,
  used: WorkUse,
  round: number,
  notes: string[],
): Promise<Outcome | SentBackWork | undefined> {
  const { name, version, assess, outputSchema } = agent
  const oversight = edge.oversight?.policy
  const { output } = outcome
  const { said } = handoffOf(outcome)
  const { assessment: found, problem } =
    assess === undefined
      ? {}
      : await assessResult(ctx, assess, { agent: name, output, brief: briefValue(edge.work.brief), said })
  if (oversight === undefined) return undefined
  const unusable = problem === undefined ? undefined : `its assessment could not be used: ${problem}`
  const subject: Subject = {
    ...(assess === undefined ? { tookMs: used.tookMs } : subjectOf(found, assess, used, unknownToolIn(said, name))),
    ...present({ unusable }),
  }
  const { all } = evaluateEscalation(subject, oversight.escalate)
  if (found === undefined && unusable === undefined && all.length === 0) return undefined
  const rounds = oversight.approval?.rounds ?? defaultRounds
  const verdict = await escalate(ctx, oversight, { subject: 'result', name }, subject, {
    tool: name,
    toolVersion: version,
    input: output,
    kind: 'result',
    ...present({ reason: unusable }),
    ...(found === undefined ? undefined : { context: found as unknown as Json }),
    ...(isTask(ctx, edge.team) ? { defaultTimeoutMs: defaultApprovalTimeoutMs } : undefined),
    ...(round < rounds ? undefined : { options: ['approve', 'reject', 'edit'] }),
    doneSoFar: () => ctx.doneBy(),
    fits: (input) => {
      const checked = checkOutput(input, outputSchema)
      return checked.ok ? undefined : checked.problem
    },
  })
  if (verdict === undefined) return undefined
  const note = verdict.approved ? reviewNote({ what: 'this result' }, verdict) : undefined
  if (note !== undefined) notes.push(note)
  if (verdict.approved && !verdict.edited) return undefined
  if (verdict.approved) return withAnswer(name, { ...outcome, output: verdict.input }, handoffOf(outcome))
  if (verdict.how === 'retry' && round < rounds) return { feedback: verdict.comment, repeat: verdict.repeat }
  const why = [...all.map(({ detail }) => detail), ...(unusable === undefined ? [] : [unusable])].join('; ')
  const how = verdict.how === 'retry' ? 'rejected' : verdict.how
  return withAnswer(name, refusedOutcome({ kind: 'result', name, why }, { ...verdict, how }), handoffOf(outcome))
}

/**
 * What the triggers evaluate of a result. A function knows the cost of its result; a model cannot report less than the
 * work cost.
 */
function subjectOf(
  { confidence, costUsd, proposedAction, cannotDo }: Assessment = {},
  assess: Assess,
  used: WorkUse,
  unknownTool?: string,
): Subject {
  const spent = assess === 'report' ? [costUsd, used.costUsd] : [costUsd ?? used.costUsd]
  const costs = [...spent, proposedAction?.costUsd].filter((each) => each !== undefined)
  const outOfScope = cannotDo ?? (unknownTool === undefined ? undefined : `it called the unknown tool "${unknownTool}"`)
  return {
    tookMs: used.tookMs,
    ...(proposedAction === undefined ? undefined : { action: proposedAction.name }),
    ...(costs.length === 0 ? undefined : { costUsd: Math.max(...costs) }),
    ...present({ confidence, outOfScope }),
  }
}

/** The edge to repeat the work from its present state, with the approver's comment. */
function withFeedback(edge: Edge, said: readonly HistoryEntry[], comment: string | undefined): Edge {
  const feedback = `A human reviewed that result and asks for changes${comment === undefined || comment === '' ? '.' : `: ${shownComment(comment)}`}`
  const { task, ...flow } = edge.flow ?? { hops: 0 }
  const note = (content: string): HistoryEntry => ({ message: { role: 'user', content } })
  const { history: _history, messages: _messages, context: _context, brief, ...kept } = edge.work
  return {
    ...edge,
    work: {
      ...kept,
      // agents that read the conversation find the feedback there
      brief: 'instructions' in brief ? { instructions: `${brief.instructions}\n\n${feedback}` } : brief,
      entries: [
        ...entriesOf(edge),
        ...(task === undefined ? [] : [note(task)]),
        ...said.map(({ answer: _answer, ...entry }) => entry),
        note(feedback),
      ],
    },
    ...(edge.flow === undefined ? undefined : { flow }),
  }
}

/** The final outcome, with everything that was said in all rounds, if its leader or session keeps that. */
function endOfReview(ctx: Context, edge: Edge, outcome: Outcome, before: readonly HistoryEntry[]): Outcome {
  const isRemembered = edge.bounds.depth === 0 && ctx.place.caller.session !== undefined
  if (!leavesHandoff(edge) && !isRemembered) return withoutHandoff(outcome)
  if (before.length === 0) return outcome
  const handoff: HandoffRecord = handoffOf(outcome)
  return withHandoff(outcome, { ...handoff, said: [...before, ...handoff.said] })
}
