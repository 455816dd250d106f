/**
 * Verbs of a supervisor's model: delegate, delegate_<name>, forward_message, recruit.
 *
 * Owns: their names and schemas (what models see), what is checked, what they answer. Does not own: how a worker is started (delegation.ts).
 * Arguments that a model invents besides are ignored: nothing that it writes can resume, approve or widen anything.
 */
import { asText, completed, failure, isObject, type Failure, type Json, type JsonObject } from '../core/index.ts'
import { fitting, invalidInput, type Agent, type Binding, type CallResult, type Desk } from '../agent/index.ts'
import type { Brief, Schema } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { ToolCall, ToolSpec } from '../model/index.ts'
import { labelOf, refuseDelegation, refuseVerb, typedVerb, verbNames, type Delegated, type Delegations, type Place } from './delegation.ts'
import { describe } from './roster.ts'

/** The team of one activation, as its verbs see it. */
export interface Team {
  readonly delegations: Delegations
  /** Workers that take a typed input. */
  readonly typed: readonly string[]
  delegate(ctx: Context, call: ToolCall, desk: Desk, worker: string, brief: Brief, place: Place): Promise<CallResult>
  /** Takes a specialist in, from the next turn on; a failure says why not. */
  recruit(name: string): Failure | undefined
  describe(name: string): string
}

const text = (description: string): JsonObject => ({ type: 'string', description })
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/** What gives work to a worker: its place in the order of delegations is taken when the call is seen, not when it runs. */
abstract class Delegating implements Binding {
  readonly verb = true
  abstract readonly spec: ToolSpec
  protected readonly team: Team

  constructor(team: Team) {
    this.team = team
  }

  run(ctx: Context, call: ToolCall, desk: Desk): Promise<CallResult> {
    return this.placed(call).run(ctx, call, desk)
  }

  placed(call: ToolCall): Pick<Binding, 'run'> {
    const place = this.team.delegations.place(call)
    return { run: (ctx, given, desk) => this.give(ctx, given, desk, place) }
  }

  protected abstract give(ctx: Context, call: ToolCall, desk: Desk, place: Place): Promise<CallResult>
}

/** `delegate`: gives work to a worker that takes text. */
export class DelegateBinding extends Delegating {
  readonly spec: ToolSpec
  readonly #names: readonly string[]

  constructor(team: Team, names: readonly string[]) {
    super(team)
    this.#names = names
    this.spec = {
      name: verbNames.delegate,
      description:
        'Gives one worker a task and returns its answer. The worker sees only these instructions, so say everything it needs. Several delegations in one turn run at the same time.',
      parameters: object(
        {
          worker: { type: 'string', enum: names, description: 'Who is to do it.' },
          instructions: text('What is to be done, complete in itself.'),
        },
        ['worker', 'instructions'],
      ),
    }
  }

  protected give(ctx: Context, call: ToolCall, desk: Desk, place: Place): Promise<CallResult> {
    const { worker, instructions } = isObject(call.input) ? call.input : {}
    const problem = briefProblem(worker, instructions)
    if (problem !== undefined) return Promise.resolve(invalidInput(ctx, call, problem))
    if (!this.#names.includes(worker as string)) return Promise.resolve(unknownWorker(ctx, call, worker as string, this.#names, this.team))
    return this.team.delegate(ctx, call, desk, worker as string, { instructions: instructions as string }, place)
  }
}

function briefProblem(worker: Json | undefined, instructions: Json | undefined): string | undefined {
  if (typeof worker !== 'string') return worker === undefined ? '"worker" is missing' : '"worker" must be a string, the name of a worker'
  if (typeof instructions !== 'string') return instructions === undefined ? '"instructions" is missing' : '"instructions" must be a string'
  return instructions.trim() === '' ? '"instructions" is empty: say what is to be done' : undefined
}

function unknownWorker(ctx: Context, call: ToolCall, worker: string, names: readonly string[], team: Team): CallResult {
  const typed = team.typed.includes(worker) ? ` "${worker}" takes a typed input: call ${typedVerb(worker)}.` : ''
  const what = failure(
    'delegation.unknown-worker',
    `there is no worker "${worker}" here. Workers are: ${names.join(', ')}.${typed}`,
    'validation',
  )
  return refuseDelegation(ctx, call, worker, what)
}

/** `delegate_<name>`: gives work to the one worker that takes this input. */
export class TypedDelegateBinding extends Delegating {
  readonly spec: ToolSpec
  readonly #worker: string
  readonly #schema: Schema | undefined

  constructor(team: Team, worker: string, agent: Agent | undefined) {
    super(team)
    this.#worker = worker
    this.#schema = agent?.inputSchema
    const json = this.#schema?.json ?? { type: 'object' }
    // models send objects only; another input travels inside one
    this.spec = {
      name: typedVerb(worker),
      description: `Gives ${worker} a task and returns its answer. ${worker}: ${describe(worker, agent)}`,
      parameters: wrapped(json) ? object({ input: json }, ['input']) : json,
    }
  }

  protected give(ctx: Context, call: ToolCall, desk: Desk, place: Place): Promise<CallResult> {
    const json = this.#schema?.json
    const input = json !== undefined && wrapped(json) && isObject(call.input) ? (call.input['input'] ?? null) : (call.input ?? {})
    const checked = this.#schema?.check(input)
    if (checked?.ok === false) return Promise.resolve(invalidInput(ctx, call, checked.problem))
    return this.team.delegate(ctx, call, desk, this.#worker, { input }, place)
  }
}

const wrapped = (json: JsonObject): boolean => json['type'] !== undefined && json['type'] !== 'object'

/** `forward_message`: the leader answers with a worker's output, verbatim, and is done. Runs after the delegations of its turn. */
export class ForwardBinding implements Binding {
  readonly verb = true
  readonly last = true
  readonly spec: ToolSpec
  readonly #team: Team
  readonly #output: Schema | undefined

  constructor(team: Team, names: readonly string[], output: Schema | undefined) {
    this.#team = team
    this.#output = output
    this.spec = {
      name: verbNames.forward,
      description:
        "Answers with a worker's last output, word for word, and ends your work. Name the worker; or, if it worked several times, the delegation: d1 for the first delegation of this conversation, d2 for the second, and so on.",
      parameters: object(
        { worker: { type: 'string', enum: names }, delegation: text('d1, d2, …: which delegation; instead of worker.') },
        [],
      ),
    }
  }

  run(ctx: Context, call: ToolCall): Promise<CallResult> {
    return Promise.resolve(this.#forward(ctx, call))
  }

  #forward(ctx: Context, call: ToolCall): CallResult {
    const { worker, delegation } = isObject(call.input) ? call.input : {}
    const list = this.#team.delegations.list
    const named = typeof delegation === 'string' && delegation !== ''
    if (!named && typeof worker !== 'string') return invalidInput(ctx, call, 'name a worker or a delegation')
    const found = named
      ? list.find((each, i) => labelOf(i) === delegation || each.callId === delegation || each.id === delegation)
      : list.findLast((each) => each.worker === worker && hasOutput(each))
    if (found === undefined || !hasOutput(found))
      return refuseVerb(ctx, call, failure('work.rejected', nothingToForward(named ? delegation : (worker as string), list), 'validation'))
    const given = this.#output === undefined ? asText(found.outcome.output) : found.outcome.output
    const fits = fitting(given, this.#output)
    if (!fits.ok) {
      return refuseVerb(
        ctx,
        call,
        failure(
          'output.invalid',
          `the output of "${found.worker}" cannot be your answer: ${fits.problem}. Answer yourself in the required form.`,
          'validation',
        ),
      )
    }
    ctx.emit({ type: 'output.forwarded', worker: found.worker, delegation: found.id })
    return { content: `[the output of "${found.worker}" is your answer]`, finish: { outcome: completed(fits.value) } }
  }
}

type WithOutput = Delegated & {
  readonly id: NonNullable<Delegated['id']>
  readonly outcome: { readonly status: 'completed'; readonly output: Json }
}

const hasOutput = (each: Delegated): each is WithOutput => each.id !== undefined && each.outcome?.status === 'completed'

function nothingToForward(what: string, list: readonly Delegated[]): string {
  const ready = list.flatMap((each, i) => (hasOutput(each) ? [`${labelOf(i)} (${each.worker})`] : []))
  return `there is no output of "${what}" to forward. ${ready.length === 0 ? 'No worker has answered yet.' : `There are: ${ready.join(', ')}.`}`
}

/** `recruit`: a specialist joins the team for the rest of this run. */
export class RecruitBinding implements Binding {
  readonly verb = true
  readonly spec: ToolSpec
  readonly #team: Team

  constructor(team: Team, names: readonly string[]) {
    this.#team = team
    this.spec = {
      name: verbNames.recruit,
      description: 'Takes a specialist into your team. From your next turn on you can delegate to it.',
      parameters: object({ worker: { type: 'string', enum: names }, reason: text('Why it is needed.') }, ['worker', 'reason']),
    }
  }

  run(ctx: Context, call: ToolCall): Promise<CallResult> {
    const { worker, reason } = isObject(call.input) ? call.input : {}
    if (typeof worker !== 'string') return Promise.resolve(invalidInput(ctx, call, '"worker" must be the name of a specialist'))
    if (typeof reason !== 'string' || reason.trim() === '')
      return Promise.resolve(invalidInput(ctx, call, '"reason" is missing: say why it is needed'))
    const refused = this.#team.recruit(worker)
    if (refused !== undefined) return Promise.resolve(refuseVerb(ctx, call, refused))
    ctx.emit({ type: 'worker.recruited', worker, reason })
    return Promise.resolve({ content: `"${worker}" has joined the team: ${this.#team.describe(worker)}` })
  }
}
