/**
 * Gate: between a model's wish and a tool's work. Arguments are checked, a human is asked where the tool or the edge says so, then the work is begun.
 *
 * Owns: how a call of a user's tool runs. Does not own: how an approval is asked for (oversight), unknown and forbidden tools (turn.ts).
 * A call that waits for a human holds up nobody: it is a pending promise in its own scope.
 */
import { digestJson, failed, failure, type Json } from '../core/index.ts'
import { labelled, needsApproval, toolEdge, toolTold, type Checked, type Edge, type Schema } from '../edge/index.ts'
import { isLeaving, type Context, type StepIO } from '../engine/index.ts'
import type { Caller } from '../journal/index.ts'
import type { ToolCall, ToolSpec } from '../model/index.ts'
import {
  approve,
  grantFor,
  grantsKey,
  keepGrant,
  mayApproveUnseen,
  readGrants,
  workerEnd,
  type GatedCall,
  type Verdict,
} from '../oversight/index.ts'
import { refuse, type Binding, type CallResult } from './binding.ts'
import type { Desk } from './desk.ts'
import { acted } from './acting.ts'
import { failureOf, type Hooks } from './around/hooks.ts'
import type { AgentWork, EffectWork, Tool, ToolIO } from './tool.ts'
import { startWorker } from './verbs.ts'

/** How often a human's edited arguments may fail to fit before the call counts as rejected. */
const editRounds = 3

/** What is to be approved, apart from the arguments. */
export interface Gated {
  readonly name: string
  readonly version: string
  readonly sensitive: boolean
  readonly approval: Tool['approval']
}

/** Why this call needs an approval; undefined if it needs none. Pure as long as the tool's own rule is. */
export function approvalReason(gated: Gated, input: unknown, edge: Edge): string | undefined {
  const { name, sensitive, approval } = gated
  if (sensitive) return approval?.reason ?? `"${name}" is a sensitive tool`
  if (approval !== undefined && applies(approval.when, input)) return approval.reason ?? `"${name}" asks for approval`
  return needsApproval(edge.permissions, name) ? `whoever gave this work wants to approve every call of "${name}"` : undefined
}

function applies(when: ((input: unknown) => boolean) | undefined, input: unknown): boolean {
  try {
    return when === undefined || when(input)
  } catch {
    return true // a rule that fails must not open the gate
  }
}

/** Asks for approval of one call. `fits` checks arguments that a human edited; what does not fit is asked again. */
export async function passGate(
  ctx: Context,
  gated: Gated,
  call: ToolCall,
  reason: string,
  fits: (input: Json) => string | undefined,
): Promise<Verdict> {
  const { name, version, sensitive, approval } = gated
  const asked = {
    tool: name,
    toolVersion: version,
    input: call.input,
    sensitive,
    ...(approval?.risk === undefined ? undefined : { risk: approval.risk }),
  }
  const granted = mayApproveUnseen(asked) ? await grantOf(ctx, asked, call) : undefined
  if (granted !== undefined) return granted
  let why = reason
  for (let round = 0; ; round++) {
    const verdict = await approve(ctx, {
      ...asked,
      callId: call.id,
      reason: why,
      grantable: true,
      ...(approval?.timeoutMs === undefined ? undefined : { timeoutMs: approval.timeoutMs }),
      ...(approval?.onTimeout === undefined ? undefined : { onTimeout: approval.onTimeout }),
    })
    const problem = verdict.approved && verdict.edited ? fits(verdict.input) : undefined
    if (problem === undefined) {
      if (verdict.approved && verdict.grant !== undefined && mayApproveUnseen(asked))
        await keepGrant(ctx, asked, verdict.grant, verdict.approver)
      return verdict
    }
    if (round + 1 >= editRounds) return { approved: false, how: 'rejected', comment: `the edited arguments do not fit: ${problem}` }
    why = `${reason} (the edited arguments do not fit: ${problem})`
  }
}

/** What a human has granted before. A grant that cannot be read lets nothing pass: then somebody is asked. */
async function grantOf(ctx: Context, asked: GatedCall, call: ToolCall): Promise<Verdict | undefined> {
  const grants = await ctx.values.get(grantsKey).catch((thrown: unknown) => {
    if (isLeaving(thrown)) throw thrown
    return null
  })
  const grant = grantFor(readGrants(grants), asked, ctx.now().getTime())
  if (grant === undefined) return undefined
  const by = grant.approver === undefined ? undefined : { approver: grant.approver }
  ctx.emit({ type: 'approval.granted', id: grant.id, tool: asked.tool, callId: call.id, inputHash: digestJson(asked.input), ...by })
  return { approved: true, input: asked.input, edited: false, by: 'grant', ...by }
}

/** What the model is told about a call that was not approved. */
export function notApproved(ctx: Context, call: ToolCall, verdict: Extract<Verdict, { approved: false }>): CallResult {
  const said = verdict.comment === undefined || verdict.comment === '' ? '' : `: ${verdict.comment}`
  const told = {
    rejected: `[not done: a human rejected this call of "${call.name}"${said}]`,
    retry: `[not done: a human asks you to change this call of "${call.name}" and try again${said}]`,
    'timed-out': `[not done: nobody approved this call of "${call.name}" in time]`,
    cancelled: `[not done: the approval of this call of "${call.name}" was withdrawn]`,
    unreadable: `[not done: the decision on this call of "${call.name}" could not be read]`,
  }[verdict.how]
  return refuse(ctx, call, failure('work.rejected', told, 'rejected'), told)
}

/** What a wrapped call was last done with. */
interface Ran {
  checked?: Checked<unknown>
}

/** A user's tool, bound to the agent that has it. */
export class ToolBinding implements Binding {
  readonly spec: ToolSpec
  readonly #tool: Tool
  /** The name under which an orchestration tool is registered as an agent. */
  readonly #agent: string
  /** What a result must fit that becomes the agent's answer. */
  readonly #answer: Schema | undefined

  constructor(tool: Tool, agent: string, answer: Schema | undefined) {
    this.#tool = tool
    this.#agent = `${agent}.${tool.name}`
    this.#answer = answer
    this.spec = tool.spec
  }

  run(ctx: Context, asked: ToolCall, desk: Desk): Promise<CallResult> {
    const { hooks } = desk
    return hooks?.wrapsTools === true ? this.#wrapped(ctx, asked, desk, hooks) : this.#run(ctx, asked, desk)
  }

  /** Whoever stands around a call has the last word on its result, and so on what follows from it. */
  async #wrapped(ctx: Context, asked: ToolCall, desk: Desk, hooks: Hooks): Promise<CallResult> {
    const { action, input } = this.#tool
    const ran: Ran = {}
    try {
      const told: CallResult = await hooks.around(ctx, asked, (call) => this.#run(ctx, call, desk, ran))
      if (action === undefined || told.isError === true) return told
      const given = ran.checked ?? input.check(asked.input)
      return given.ok ? acted(action, told, given.value, { ctx, call: asked, desk, answer: this.#answer }) : told
    } catch (thrown) {
      const what = failureOf(thrown)
      return { content: `[${what.message}]`, isError: true, finish: { outcome: failed(what) } }
    }
  }

  async #run(ctx: Context, asked: ToolCall, desk: Desk, ran?: Ran): Promise<CallResult> {
    const tool = this.#tool
    let call = asked.input === null ? { ...asked, input: {} } : asked
    let checked = tool.input.check(call.input)
    if (!checked.ok) return invalidInput(ctx, call, checked.problem)
    const reason = approvalReason(tool, checked.value, desk.edge)
    let edited = false
    if (reason !== undefined) {
      const verdict = await passGate(ctx, tool, call, reason, (input) => problemOf(tool, input))
      if (!verdict.approved) return notApproved(ctx, call, verdict)
      if (verdict.edited) {
        edited = true
        call = { ...call, input: verdict.input }
        checked = tool.input.check(verdict.input)
        if (!checked.ok) return invalidInput(ctx, call, checked.problem)
      }
    }
    const told = await this.#work(ctx, call, checked.value, edited, desk)
    if (ran !== undefined) ran.checked = checked
    return tool.action === undefined || told.isError === true || ran !== undefined
      ? told
      : acted(tool.action, told, checked.value, { ctx, call, desk, answer: this.#answer })
  }

  async #work(ctx: Context, call: ToolCall, input: unknown, edited: boolean, desk: Desk): Promise<CallResult> {
    const { name, work } = this.#tool
    if (work.kind === 'effect') return effectOf(ctx, name, work, input, call, edited)
    return work.kind === 'agent' ? agentOf(ctx, name, work, call, desk) : this.#orchestrate(ctx, call, desk)
  }

  async #orchestrate(ctx: Context, call: ToolCall, desk: Desk): Promise<CallResult> {
    const edge = toolEdge(desk.edge, call.input)
    const started = ctx.start(this.#agent, edge as unknown as Json, { callId: call.id, name: this.#tool.name })
    const { outcome } = await workerEnd(ctx, started)
    return toolTold(this.#tool.name, outcome)
  }
}

/** An agent as a tool: a worker that answers to a call. What it does with control stays inside. */
async function agentOf(ctx: Context, name: string, work: AgentWork, call: ToolCall, desk: Desk): Promise<CallResult> {
  const { brief, ...grant } = work.crossing(call.input, call, desk)
  const started = startWorker(ctx, desk.edge, work.agent, brief, grant, call.id)
  if (typeof started !== 'string') return refuse(ctx, call, started, `[not done: ${started.message}]`)
  const outcome = labelled((await workerEnd(ctx, started)).outcome, work.agent.name, [...ctx.place.path, work.agent.name])
  if (outcome.status === 'completed' && outcome.output === null) return { content: `[${name}: no event returned]`, isError: true }
  const told = toolTold(name, outcome)
  return outcome.status === 'completed' || work.onFailure === 'tell' ? told : { ...told, finish: { outcome } }
}

function problemOf(tool: Tool, input: Json): string | undefined {
  const checked = tool.input.check(input)
  return checked.ok ? undefined : checked.problem
}

async function effectOf(
  ctx: Context,
  name: string,
  work: EffectWork,
  input: unknown,
  call: ToolCall,
  edited: boolean,
): Promise<CallResult> {
  const id = ctx.begin(name, (io) => work.execute(input, new CallIO(io, call.id, ctx)), {
    effect: work.effect,
    as: edited
      ? { type: 'tool.called', tool: name, callId: call.id, input: call.input }
      : { type: 'tool.called', tool: name, callId: call.id },
    ...(work.retry === undefined ? undefined : { retry: work.retry }),
    ...(work.timeoutMs === undefined ? undefined : { timeoutMs: work.timeoutMs }),
  })
  const { outcome } = await ctx.next(id)
  return toolTold(name, outcome)
}

/** Arguments that do not fit: the model is told what is wrong with them. */
export function invalidInput(ctx: Context, call: ToolCall, problem: string): CallResult {
  const what = failure('tool.invalid-input', `the arguments of "${call.name}" do not fit: ${problem}`, 'validation')
  return refuse(ctx, call, what, `[${what.message}. Correct them and call again.]`)
}

/** `StepIO` with the place of the call; the signal stays lazy. */
class CallIO implements ToolIO {
  readonly callId: string
  readonly #io: StepIO
  readonly #ctx: Context

  constructor(io: StepIO, callId: string, ctx: Context) {
    this.#io = io
    this.#ctx = ctx
    this.callId = callId
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

  get signal(): AbortSignal {
    return this.#io.signal
  }

  get caller(): Caller {
    return this.#ctx.place.caller
  }

  readonly emit = (part: Json): void => this.#io.emit(part)
}
