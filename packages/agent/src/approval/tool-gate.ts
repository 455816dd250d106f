/**
 * Tool gate: stands between a model's call and a tool's work. It validates the arguments, asks an approver where the
 * tool or the edge requires it, then starts the work.
 *
 * Owns: how a call of a user's tool runs. Does not own: whether an approver is asked (approval-policy.ts), how an
 * approval is asked for (oversight), unknown and forbidden tools (turn.ts). A call that waits for a human blocks no
 * other: it is a pending promise in its own scope.
 */
import {
  canonical,
  describeOutcome,
  digestJson,
  failed,
  failure,
  plainCopy,
  present,
  recordedResult,
  ruleOfMode,
  toolAgent,
  type Failure,
  type Json,
  type Message,
  type OpId,
} from '@reeve/core'
import {
  briefValue,
  encodeEdge,
  labelled,
  resultLimit,
  toolEdge,
  formatAgentToolResult,
  formatToolResult,
  type Checked,
  type Edge,
  type Schema,
} from '@reeve/edge'
import { isLeaving, type Contents, type Context, type StepIO, type StepOptions } from '@reeve/engine'
import type { Caller } from '@reeve/journal'
import type { ToolCall, ToolSpec } from '@reeve/model'
import {
  approvalQuestion,
  approvedBefore,
  capabilityFor,
  CapabilityHolder,
  grantFor,
  grantsKey,
  holdsFor,
  keepGrant,
  lapseIn,
  mayApproveUnseen,
  readGrants,
  refusalFailure,
  refusalOf,
  review,
  reviewNote,
  reviewRequest,
  failureCounterOf,
  workerEnd,
  type Capability,
  type DecidedOn,
  type CapabilityUse,
  type Fits,
  type GatedCall,
  type RefusedVerdict,
  type UsedCapability,
  type Verdict,
} from '@reeve/oversight'
import { type Binding } from '../tool/binding.ts'
import { invalidInput, refuse } from '../tool/refusal.ts'
import type { CallResult } from '../conversation/call-result.ts'
import type { CallMiddleware, ConversationState } from '../conversation/conversation-state.ts'
import { withActions } from '../tool/tool-actions.ts'
import { crossingArguments, finalArguments, fitOfTool, runArguments } from '../final-arguments.ts'
import { middlewareFailure } from '../extensions/middleware-chain.ts'
import { knownCall, knownOfTool, toldRefusal, type KnownWork } from '../known-work.ts'
import { approvalNeedOf, noteCallHits, type ApprovalNeed, type Gated } from './approval-policy.ts'
import { withModelOutput } from '../tool/model-output.ts'
import { withinBound, type ResultBound } from '../tool/result-bound.ts'
import { runOnClient } from './client-run.ts'
import type { AgentWork, EffectWork, Tool, ToolEffect, ToolIO } from '../tool/tool.ts'
import { startWorker } from '../code/agent-context.ts'
import { unansweredOf } from '../code/unanswered-work.ts'

/** Asks for approval of one call with its final input. `fits` checks arguments that the approver edited. */
export async function passGate(
  ctx: Context,
  gated: Gated,
  call: ToolCall,
  asking: ApprovalNeed,
  fits: Fits,
): Promise<Verdict> {
  const { name, version, approval } = gated
  const { always, decision, rules, isLast = false, sentBack, follows, known } = asking
  const reason = known === undefined ? asking.reason : `${asking.reason}; ${known.reason}`
  const { sensitive = gated.sensitive, risk = approval?.risk, hits = [] } = decision ?? {}
  const action = {
    tool: name,
    toolVersion: version,
    input: call.input,
    sensitive,
    ...present({ risk }),
  }
  // a mode that asks about all shows the approver every call
  const grantable = decision === undefined || ruleOfMode(decision.mode)?.asks !== 'all'
  const about = { ...action, grantable, ...present({ rules }) }
  // only a human who sees what was done before may have it done again
  const isRepeat = known?.decides !== undefined
  // a deadline of the edge's rules must not approve a call that always asks
  const onTimeout = isRepeat
    ? 'reject'
    : (approval?.onTimeout ?? (always && rules?.onTimeout === 'approve' ? 'reject' : undefined))
  const requester = { agent: ctx.place.agent, tool: name, toolVersion: version, user: ctx.place.caller.user }
  const granted =
    grantable && mayApproveUnseen(action) ? await grantOf(ctx, { ...about, ...requester }, call, isRepeat) : undefined
  if (decision !== undefined) noteCallHits(ctx, call, decision, granted === undefined)
  if (granted !== undefined) return granted
  const request = {
    ...about,
    callId: call.id,
    reason,
    ...present({ follows }),
    ...(isLast ? { options: ['approve', 'reject', 'edit'] as const } : undefined),
    ...(hits.length === 0 ? undefined : { hits }),
    ...(approval?.timeoutMs === undefined ? undefined : { timeoutMs: approval.timeoutMs }),
    ...present({ onTimeout }),
    ...(approval?.validForMs === undefined ? undefined : { validForMs: approval.validForMs }),
  }
  const verdict = await reviewRequest(ctx, request, { fits, contextOf: (input) => previewOf(ctx, gated, input) })
  if (!verdict.approved && verdict.how === 'retry') sentBack?.()
  if (verdict.approved && verdict.grant !== undefined && mayApproveUnseen(action))
    await keepGrant(ctx, requester, verdict.grant, verdict.approver)
  return verdict
}

const previewStep = 'approval.preview'
const previewMs = 60_000
/** The maximum of a preview as JSON, in characters: it is recorded, and sent over channels. */
const previewMost = 256 * 1024

/**
 * What the call would change, in the words of its tool. A request that was recorded without one is not shown another
 * way; one that was recorded with a preview keeps it when the option has gone.
 */
function previewOf(ctx: Context, { name, approval }: Gated, input: Json): Promise<Json> | undefined {
  const preview = approval?.preview
  const isRecorded = ctx.wasAsked(previewStep)
  if (!isRecorded && (preview === undefined || ctx.wasAsked(approvalQuestion))) return undefined
  const step = ctx.begin(previewStep, async (io) => bounded(await preview?.(input, io)), {
    effect: 'read',
    timeoutMs: previewMs,
  })
  return ctx.next(step).then(({ outcome }) => ({
    preview:
      outcome.status === 'completed'
        ? outcome.output
        : `the preview of "${name}" is missing: it ${describeOutcome(outcome)}`,
  }))
}

function bounded(preview: Json | undefined): Json {
  const size = JSON.stringify(preview ?? null).length
  return size <= previewMost ? (preview ?? null) : `the preview is left out: ${size} characters, at most ${previewMost}`
}

/**
 * An earlier grant by an approver who may approve this call now. If grants cannot be read, an approver is asked. They
 * are also read for a call that no grant approves: a fork knows what its origin, which read them, did not.
 */
async function grantOf(
  ctx: Context,
  action: GatedCall & Parameters<typeof holdsFor>[0],
  call: ToolCall,
  isRepeat: boolean,
): Promise<Verdict | undefined> {
  const grants = await ctx.values.get(grantsKey).catch((thrown: unknown) => {
    if (isLeaving(thrown)) throw thrown
    return null
  })
  // it was read all the same: in the origin of a fork, nothing was known of a repeat yet
  if (isRepeat) return undefined
  const holding = readGrants(grants).filter(({ approver }) => holdsFor(action, approver))
  const grant = grantFor(holding, action, ctx.now().getTime())
  if (grant === undefined) return undefined
  const by = grant.approver === undefined ? undefined : { approver: grant.approver }
  const { tool, toolVersion } = action
  const inputHash = digestJson(action.input)
  const approvers = grant.approver === undefined ? [] : [grant.approver]
  const { until } = grant
  const capability = capabilityFor(ctx, {
    tool,
    toolVersion,
    inputHash,
    by: 'grant',
    approvers,
    approvals: [grant.id],
    until,
  })
  ctx.emit({
    type: 'approval.granted',
    id: grant.id,
    tool,
    callId: call.id,
    inputHash,
    capability: capability.id,
    ...by,
  })
  return { approved: true, input: action.input, edited: false, by: 'grant', capability, ...by }
}

/** The result of a call that was not approved. */
export function approvalRefusal(ctx: Context, call: ToolCall, verdict: RefusedVerdict, known?: KnownWork): CallResult {
  known?.release?.()
  const message = `[${toldRefusal(refusalOf({ kind: 'call', name: call.name }, verdict), known)}]`
  return refuse(ctx, call, refusalFailure(message, verdict), message)
}

/** The result of a call, and the arguments it ran with. */
interface WorkedCall {
  readonly result: CallResult
  readonly by: Checked<unknown>
}

/** What is known of a wrapped call beside its result: the arguments that it last ran with, and what a person said. */
interface WrappedRun {
  checked?: Checked<unknown>
  review?: CallReview
}

/** What a person said of a call, for its result. */
type CallReview = Pick<CallResult, 'note' | 'isNoteOwn'>

/**
 * Records what a person has changed of a call, or said of it, before it runs. `before`: what was recorded of an approval
 * that did not hold.
 */
export function noteReview(
  ctx: Context,
  { id, input }: ToolCall,
  verdict: Parameters<typeof reviewNote>[1],
  before: CallReview = {},
): CallReview {
  const note = reviewNote({ what: 'this call', ran: input }, verdict)
  recordNote(ctx, id, note, before)
  return note === undefined ? {} : verdict.edited ? { note } : { note, isNoteOwn: true }
}

function recordNote(ctx: Context, callId: string, note: string | undefined, before: CallReview): void {
  if (note === before.note) return
  ctx.emit({ type: 'fact.noted', name: 'call.reviewed', data: { callId, note: note ?? null } })
}

/** What a middleware has made of a result. One that left a bounded content as it was has still changed the result. */
function withoutHead({ isHead: _isHead, ...given }: CallResult, made: CallResult | undefined): CallResult {
  const isBounded = made?.isHead === true && made.content === given.content
  return isBounded ? { ...given, bounded: given.content } : given
}

/** A user's tool, bound to its agent. */
export class ToolBinding implements Binding {
  readonly spec: ToolSpec
  readonly filesSpec: ToolSpec | undefined
  readonly resultTokens: number | undefined
  readonly #tool: Tool
  /** The tool of a conversation with files, where it takes them. */
  readonly #withFiles: Tool
  /** The name under which an orchestration tool is registered as an agent. */
  readonly #agent: string
  /** The schema of the agent's answer, for results that become the answer. */
  readonly #answer: Schema | undefined

  constructor(tool: Tool, agent: string, answer: Schema | undefined) {
    this.#tool = tool
    this.#agent = toolAgent(agent, tool.name)
    this.#answer = answer
    this.spec = tool.spec
    this.resultTokens = tool.resultTokens
    const input = tool.work.kind === 'agent' ? tool.work.withFiles : undefined
    this.#withFiles = input === undefined ? tool : { ...tool, input }
    this.filesSpec = input === undefined ? undefined : { ...tool.spec, parameters: input.json }
  }

  #toolIn({ files }: ConversationState): Tool {
    return files.size === 0 ? this.#tool : this.#withFiles
  }

  onceKey({ input: asked }: ToolCall): string | undefined {
    const { repeatable, input } = this.#tool
    if (repeatable) return undefined
    const given = asked ?? {}
    const plain = input.check(given)
    const checked = plain.ok ? plain : this.#withFiles.input.check(given)
    // each of those that do not fit is told so
    return checked.ok ? canonical(runArguments(this.#tool, checked.value, given)) : undefined
  }

  run(ctx: Context, call: ToolCall, state: ConversationState): Promise<CallResult> {
    if (this.#tool.work.kind === 'provider') {
      const message = `"${call.name}" is run by the provider of the model: use it without calling it as a function`
      return Promise.resolve(refuse(ctx, call, failure('tool.unknown', message, 'validation'), `[${message}]`))
    }
    const { hooks, background } = state
    const isWrapped = hooks?.wrapsTools === true
    const work = (): Promise<CallResult> =>
      isWrapped ? this.#runWrapped(ctx, call, state, hooks) : this.#run(ctx, call, state)
    // invalid arguments are reported at once
    const defers =
      this.#tool.background === true && background !== undefined && this.#toolIn(state).input.check(call.input ?? {}).ok
    return defers
      ? Promise.resolve(background.deferCall(ctx, call, work(), { state, isWrapped, own: this.resultTokens }))
      : work()
  }

  /** The middlewares around a call decide its result, and so the action that follows from it. */
  async #runWrapped(
    ctx: Context,
    asked: ToolCall,
    state: ConversationState,
    hooks: CallMiddleware,
  ): Promise<CallResult> {
    const { action, input } = this.#toolIn(state)
    const ran: WrappedRun = {}
    try {
      let made: CallResult | undefined
      const given: CallResult = await hooks.around(
        ctx,
        asked,
        async (call) => (made = await this.#run(ctx, call, state, ran)),
      )
      const wrapped = given === made ? given : withoutHead(given, made)
      // whatever they make of the result, what a person said of the call stands
      const reviewed = { ...wrapped, ...ran.review }
      if (action === undefined || reviewed.isError === true || 'isWithheld' in reviewed) return reviewed
      const by = ran.checked ?? input.check(asked.input)
      return by.ok
        ? withActions(action, reviewed, by.value, { ctx, call: asked, state, answer: this.#answer })
        : reviewed
    } catch (thrown) {
      const what = middlewareFailure(thrown)
      return { content: `[${what.message}]`, isError: true, finish: { outcome: failed(what) } }
    }
  }

  async #run(ctx: Context, original: ToolCall, state: ConversationState, ran?: WrappedRun): Promise<CallResult> {
    const tool = this.#toolIn(state)
    const call = original.input === null ? { ...original, input: {} } : original
    const checked = tool.input.check(call.input)
    const wasAsked = ctx.wasAsked(approvalQuestion)
    if (!checked.ok && !wasAsked) return invalidInput(ctx, call, checked.problem)
    const pending = checked.ok ? approvalNeedOf(ctx, tool, call, checked.value, state.edge) : undefined
    const required = pending instanceof Promise ? await pending : pending
    const asked =
      required ??
      (wasAsked ? earlierQuestion(state.edge, `"${tool.name}" has changed since this was asked`) : undefined)
    const isOfClient = tool.work.kind === 'client'
    const known =
      (asked === undefined && !isOfClient) || !checked.ok ? undefined : this.#known(ctx, call, checked.value)
    // a client cannot be told that it may have done this before: an approver is
    const need =
      asked ??
      (known === undefined || known === 'made'
        ? undefined
        : earlierQuestion(state.edge, `"${tool.name}" may have been run before`))
    // what has completed is not asked about
    const isMade = known === 'made' && !wasAsked
    if (isMade && need?.decision !== undefined) noteCallHits(ctx, call, need.decision, false)
    const worked =
      need === undefined || isMade
        ? undefined
        : await this.#runApproved(
            ctx,
            call,
            checked,
            known === 'made' ? need : { ...need, ...present({ known }) },
            state,
          )
    if (worked !== undefined && !('result' in worked)) return worked
    const unasked = { edited: false, from: call.input, isMade }
    const { result, by } = worked ?? {
      result: await this.#work(ctx, call, valueOf(checked), state, unasked),
      by: checked,
    }
    if ('lapsed' in result) return refuse(ctx, call, result.lapsed, `[${result.lapsed.message}]`)
    if (ran !== undefined) ran.checked = by
    const { note, isNoteOwn } = result
    if (ran !== undefined && note !== undefined) ran.review = { note, ...present({ isNoteOwn }) }
    return tool.action === undefined || result.isError === true || ran !== undefined
      ? result
      : withActions(tool.action, result, valueOf(by), { ctx, call, state, answer: this.#answer })
  }

  #known(ctx: Context, call: ToolCall, value: unknown): ReturnType<typeof knownCall> {
    return knownCall(ctx, this.#tool, this.#agent, runArguments(this.#tool, value, call.input))
  }

  /**
   * Asks about the final arguments and runs with what was approved. They are validated once: what the approver saw is
   * not validated again. An approval of another version, or an expired one, starts nothing and is asked for again.
   */
  async #runApproved(
    ctx: Context,
    asked: ToolCall,
    given: Checked<unknown>,
    asking: ApprovalNeed,
    state: ConversationState,
  ): Promise<CallResult | WorkedCall> {
    const tool = this.#toolIn(state)
    let [call, shown] = [asked, asked]
    /** The arguments validated last, and the result of that. */
    let last = { from: asked.input, checked: given }
    let follows: string | undefined
    let worked: CallResult | WorkedCall | undefined
    let reviewed: CallReview = {}
    const fits: Fits = (input, on) => {
      const checked = tool.input.check(input)
      // edited arguments for another version stop at the check of the capability
      const isOther = on !== undefined && on.toolVersion !== tool.version
      if (checked.ok || isOther) last = { from: input, checked }
      return isOther ? undefined : fitOfTool(tool, checked, input)
    }
    const verdict = await review({
      input: asked.input,
      ask: ({ again }) => {
        shown = last.checked.ok ? { ...call, input: runArguments(tool, last.checked.value, call.input) } : call
        const now =
          again === undefined
            ? asking
            : { ...asking, reason: `${asking.reason} (${again})`, always: true, ...present({ follows }) }
        return passGate(ctx, tool, shown, now, fits)
      },
      begin: async (approval) => {
        const { edited, input, capability, on, approver } = approval
        if (edited) call = { ...call, input }
        // what was approved runs: this version may make other arguments of the call than the one that asked
        else if (on?.inputHash !== digestJson(call.input)) call = shown
        const { from, checked } = last
        // arguments for another version stop at the capability, unless it was used with this version before
        const isUnused = !checked.ok && capability?.toolVersion === tool.version
        if (!isUnused) {
          const runs = edited && checked.ok ? { ...call, input: runArguments(tool, checked.value, call.input) } : call
          reviewed = noteReview(ctx, runs, approval, reviewed)
        }
        const result = isUnused
          ? undefined
          : await this.#work(ctx, call, valueOf(checked), state, {
              edited,
              from,
              capability,
              on,
              again: decidesRepeat(asking.known, edited) ? capability?.approvals.at(-1) : undefined,
            })
        if (result !== undefined && !('lapsed' in result))
          return void (worked = { result: { ...result, ...reviewed }, by: checked })
        if (result === undefined || !checked.ok)
          return void (worked = changedInputResult(ctx, call, approver, misfit(checked)))
        follows = capability?.approvals.at(-1)
        return `asked again: ${approver === undefined ? 'it was approved' : `${approver} approved it`}; ${result.lapsed.message}`
      },
    })
    if (verdict.approved) return worked!
    recordNote(ctx, call.id, undefined, reviewed)
    return approvalRefusal(ctx, call, verdict, asking.known)
  }

  async #work(
    ctx: Context,
    call: ToolCall,
    input: unknown,
    state: ConversationState,
    approved: ApprovedCall,
  ): Promise<CallResult | LapsedApproval> {
    const { name, version, work } = this.#tool
    if (work.kind === 'effect')
      return runEffect(ctx, { name, version }, work, input, call, approved, {
        messages: () => state.beforeCall(call.id),
        bound: this.#bound(state),
      })
    const { capability, on } = approved
    // a grant just given holds, and a call without an approval begins at once
    const refused =
      capability === undefined || on === undefined
        ? undefined
        : await capabilityRefusal(ctx, { name, version }, call, capability)
    if (refused !== undefined) return refused
    if (work.kind === 'client')
      return runOnClient(ctx, {
        tool: name,
        work,
        call,
        input,
        isMade: approved.isMade === true,
        bound: this.#bound(state),
        recorded: recordedCall(ctx, { name, version }, call, input, approved, work.effect),
      })
    const crossed = { ...call, input: crossingArguments(this.#tool, call.input, approved.from, input) }
    return work.kind === 'agent'
      ? runAgentTool(ctx, name, work, crossed, state, capability !== undefined)
      : this.#orchestrate(ctx, crossed, state)
  }

  #bound({ edge }: ConversationState): ResultBound {
    const { name, action } = this.#tool
    const { limits } = edge.bounds
    const limit = resultLimit(limits, this.resultTokens)
    return { tool: name, limit, ofAgent: limits?.resultTokens, isWhole: action !== undefined }
  }

  async #orchestrate(ctx: Context, call: ToolCall, state: ConversationState): Promise<CallResult> {
    const edge = toolEdge(state.edge, call.input, this.resultTokens)
    const unanswered = unansweredOf(ctx)
    const follows = unanswered.follows(this.#agent, call.input)
    const started = ctx.start(this.#agent, encodeEdge(edge), {
      callId: call.id,
      name: this.#tool.name,
      equalBy: call.input,
      ...present({ follows }),
    })
    const { outcome } = await workerEnd(ctx, started)
    unanswered.ended(this.#agent, { activation: started, brief: call.input }, outcome.status === 'completed')
    return formatToolResult(this.#tool.name, outcome)
  }
}

/** Runs an agent as a tool: a worker that answers a call. Its transfers stay inside. */
async function runAgentTool(
  ctx: Context,
  name: string,
  work: AgentWork,
  call: ToolCall,
  state: ConversationState,
  isApproved: boolean,
): Promise<CallResult> {
  const crossing = work.crossing(call.input, call, state)
  if (typeof crossing === 'string') return invalidInput(ctx, call, crossing)
  const { brief, ...grant } = crossing
  const unanswered = unansweredOf(ctx)
  const follows = unanswered.follows(work.agent.name, briefValue(brief))
  const given = { ...grant, ...present({ follows, admitted: isApproved ? (true as const) : undefined }) }
  const started = startWorker(ctx, state.edge, work.agent, brief, given, call.id)
  if (typeof started !== 'string') return refuse(ctx, call, started, `[not done: ${started.message}]`)
  const outcome = labelled((await workerEnd(ctx, started)).outcome, work.agent.name, [
    ...ctx.place.path,
    work.agent.name,
  ])
  failureCounterOf(ctx).note(outcome)
  unanswered.ended(work.agent.name, { activation: started, brief: briefValue(brief) }, outcome.status === 'completed')
  const result = formatAgentToolResult(name, work.agent.name, outcome)
  return outcome.status === 'completed' || work.onFailure === 'tell' ? result : { ...result, finish: { outcome } }
}

/** Approved work that did not run because the approval no longer holds. */
interface LapsedApproval {
  readonly lapsed: Failure
}

/** A question that this version of the code would not ask, and an earlier one did. The approver's decision still counts. */
export const earlierQuestion = ({ oversight }: Edge, reason: string): ApprovalNeed => ({
  reason,
  always: true,
  ...(oversight === undefined ? undefined : { rules: oversight.policy.approval ?? {} }),
})

const valueOf = (checked: Checked<unknown>): unknown => (checked.ok ? checked.value : undefined)
const misfit = (checked: Checked<unknown>): string => (checked.ok ? '' : checked.problem)

/**
 * The result for approved arguments that no longer fit their tool. The model may correct them and call again, which is
 * asked about again.
 */
function changedInputResult(ctx: Context, call: ToolCall, approver: string | undefined, problem: string): CallResult {
  const why = `${approvedBefore(approver)}, and "${call.name}" has changed since: its arguments do not fit any more: ${problem}`
  const message = toldRefusal(why, knownOfTool(ctx, call))
  return refuse(
    ctx,
    call,
    failure('tool.invalid-input', message, 'validation'),
    `[${message}. Correct them and call again: it is asked again.]`,
  )
}

/** The effect of an approval on a call. */
interface ApprovedCall {
  readonly edited: boolean
  /** The arguments that were validated. The arguments of the call are made of them. */
  readonly from: Json
  readonly capability?: Capability | undefined
  /** The document that the approver saw. */
  readonly on?: DecidedOn | undefined
  /** An earlier attempt at the same work has made it, and its result stands. */
  readonly isMade?: boolean
  /** The id of the approval that decided that it is done although it may have been done before. */
  readonly again?: string | undefined
}

/** Whether a yes is about what was done before, too. */
const decidesRepeat = (known: KnownWork | undefined, edited: boolean): boolean =>
  known?.decides === 'any' || (known?.decides === 'exact' && !edited)

/** The use of a capability that is about to happen. */
const useOf = (ctx: Context, { name, version }: NamedTool, call: ToolCall, key: string, now: number): CapabilityUse => {
  const { run, path, activation } = ctx.place
  return { run, path, activation, key, tool: name, toolVersion: version, input: call.input, now }
}

type NamedTool = Pick<Tool, 'name' | 'version'>

/**
 * Work that starts a worker uses its capability in a step before, so that the result is recorded. A worker that has
 * started continues in another process with another version of its tool; one that has not started does not start there.
 * Undefined: it may start.
 */
async function capabilityRefusal(
  ctx: Context,
  tool: NamedTool,
  call: ToolCall,
  capability: Capability,
): Promise<CallResult | LapsedApproval | undefined> {
  const holder = new CapabilityHolder(capability)
  const used = ctx.begin('capability', (io) => holder.use(useOf(ctx, tool, call, io.key, io.now)).id, {
    effect: 'read',
    holds: 'kept',
  })
  const { outcome } = await ctx.next(used)
  if (outcome.status === 'completed') return undefined
  const lapsed = lapseIn(outcome)
  if (lapsed !== undefined) return { lapsed }
  const what =
    outcome.status === 'failed' ? outcome.failure : failure('capability.refused', describeOutcome(outcome), 'rejected')
  return refuse(ctx, call, what, `[${what.message}]`)
}

/** Runs one step. If it needed an approval, each attempt checks the capability first. */
async function runEffect(
  ctx: Context,
  tool: NamedTool,
  work: EffectWork,
  input: unknown,
  call: ToolCall,
  approved: ApprovedCall,
  { messages, bound }: { readonly messages: () => readonly Message[]; readonly bound: ResultBound },
): Promise<CallResult | LapsedApproval> {
  const { name } = tool
  const { capability } = approved
  const holder = capability === undefined ? undefined : new CapabilityHolder(capability)
  const execute = (io: StepIO): Json | Promise<Json> =>
    // an attempt may change what it is given
    work.execute(
      plainCopy(input) ?? input,
      new CallIO(
        io,
        call.id,
        ctx,
        holder?.use({ ...useOf(ctx, tool, call, io.key, io.now), at: `${ctx.place.activation}:${id}` }),
        messages,
      ),
    )
  const { toModelOutput } = work
  const effect = (io: StepIO): Json | Promise<Json> => {
    const made = execute(io)
    const recorded = (result: Json): Json | Promise<Json> => withinBound(io, bound, result)
    if (toModelOutput !== undefined)
      return Promise.resolve(made)
        .then((output) =>
          withModelOutput(name, toModelOutput, { toolCallId: call.id, input: plainCopy(input) ?? input, output }),
        )
        .then(recorded)
    return made instanceof Promise ? made.then(recordedResult).then(recorded) : recorded(recordedResult(made))
  }
  const id: OpId = ctx.begin(name, effect, {
    effect: work.effect,
    ...recordedCall(ctx, tool, call, input, approved, work.effect),
    ...present({ retry: work.retry, timeoutMs: work.timeoutMs }),
  })
  const { outcome } = await ctx.next(id)
  const lapsed = lapseIn(outcome)
  return lapsed === undefined ? formatToolResult(name, outcome) : { lapsed }
}

/** How a call of a tool is recorded as an effect. */
function recordedCall(
  ctx: Context,
  tool: NamedTool,
  call: ToolCall,
  input: unknown,
  { edited, capability, again }: ApprovedCall,
  effect: ToolEffect,
): Pick<StepOptions, 'as' | 'content' | 'equalBy' | 'isApproved'> {
  const runs = finalArguments(input, call.input)
  return {
    as: {
      type: 'tool.called',
      tool: tool.name,
      callId: call.id,
      ...(edited ? { input: call.input } : undefined),
      ...(capability === undefined ? undefined : { capability: capability.id }),
      ...present({ again }),
    },
    content: () => toolCallContent(ctx, tool, runs),
    ...(effect === 'read' ? undefined : { equalBy: runs }),
    ...((capability?.approvers.length ?? 0) > 0 ? { isApproved: true } : undefined),
  }
}

/**
 * The content of a call for its content key. Of the caller it includes what a tool may depend on, but not the session,
 * which only says where.
 */
function toolCallContent({ place }: Context, { name, version }: NamedTool, input: Json): string {
  const { user, tenant, metadata } = place.caller
  let text = `tool ${canonical(name)} ${canonical(version)} ${canonical(input)}`
  if (user !== undefined) text += ` user ${canonical(user)}`
  if (tenant !== undefined) text += ` tenant ${canonical(tenant)}`
  if (metadata !== undefined) text += ` metadata ${canonical(metadata)}`
  return text
}

/** `StepIO` with the id and the caller of the call. The signal stays lazy. */
class CallIO implements ToolIO {
  readonly callId: string
  readonly capability: UsedCapability | undefined
  readonly #io: StepIO
  readonly #ctx: Context

  readonly #messages: () => readonly Message[]

  constructor(
    io: StepIO,
    callId: string,
    ctx: Context,
    capability: UsedCapability | undefined,
    messages: () => readonly Message[],
  ) {
    this.#messages = messages
    this.#io = io
    this.#ctx = ctx
    this.callId = callId
    this.capability = capability
  }

  get key(): string {
    return this.#io.key
  }

  get epoch(): number {
    return this.#io.epoch
  }

  get attempt(): number {
    return this.#io.attempt
  }

  get now(): number {
    return this.#io.now
  }

  get traceparent(): string {
    return this.#io.traceparent
  }

  get signal(): AbortSignal {
    return this.#io.signal
  }

  get contents(): Contents {
    return this.#io.contents
  }

  get caller(): Caller {
    return this.#ctx.place.caller
  }

  get messages(): readonly Message[] {
    return this.#messages()
  }

  readonly emit = (part: Json): void => this.#io.emit(part)
}
