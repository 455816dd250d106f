/**
 * Leader tools: the verbs of a supervisor's model that do not delegate (forward_message, stop_delegation, recruit), and
 * the team as all verbs see it.
 *
 * Owns: their schemas (what models see), their checks and replies. Does not own: the verbs that delegate
 * (delegate-tools.ts). Unknown arguments are ignored: nothing that a model writes can resume, approve or widen
 * anything.
 */
import {
  asText,
  completed,
  copy,
  deepFreeze,
  failure,
  isObject,
  type Failure,
  type FilePart,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { invalidInput, outputAs, type Binding, type CallResult } from '@reeve/agent'
import type { Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall, ToolSpec } from '@reeve/model'
import type { VerbNames } from './delegation/options.ts'
import type { Disposition } from './delegation/dispatch.ts'
import {
  refuseVerb,
  type DelegationRequest,
  type DelegationEntry,
  type Delegations,
  type LeaderState,
  type DelegationPosition,
  type SharedDelegation,
} from './delegation/delegations.ts'

/**
 * The specs of a team's verbs: the same objects in every run, as long as the team stays the same. What models are shown
 * is part of content keys, which is made once of each object.
 */
export class VerbSpecs {
  #team: readonly unknown[] = []
  readonly #specs = new Map<string, ToolSpec>()
  #offered: readonly ToolSpec[] | undefined

  /** The specs for this team: anew, if it is another one than the last time. `team`: all that they depend on. */
  of(team: readonly unknown[]): this {
    if (team.length === this.#team.length && team.every((each, i) => each === this.#team[i])) return this
    this.#team = team
    this.#specs.clear()
    this.#offered = undefined
    return this
  }

  /** The spec of a verb. */
  once(name: string, rest: () => Omit<ToolSpec, 'name'>): ToolSpec {
    let spec = this.#specs.get(name)
    if (spec !== undefined) return spec
    // every run is shown the same ones, and rules may try to change them
    spec = deepFreeze(copy({ name, ...rest() }))
    this.#specs.set(name, spec)
    return spec
  }

  /** The list that the model is offered. */
  offered(make: () => readonly ToolSpec[]): readonly ToolSpec[] {
    return (this.#offered ??= make())
  }
}

/** The team of one activation, as its verbs see it. */
export interface TeamAccess {
  readonly delegations: Delegations
  readonly verbSpecs: VerbSpecs
  readonly verbs: VerbNames
  /** The files of the conversation, by their handles. */
  readonly files: ReadonlyMap<string, FilePart>
  /** Whether the verbs that delegate take files. */
  readonly givesFiles: boolean
  /** Workers that take a typed input. */
  readonly typed: readonly string[]
  delegate(
    ctx: Context,
    call: ToolCall,
    state: LeaderState,
    asked: DelegationRequest,
    place: DelegationPosition,
  ): Promise<CallResult>
  several(
    names: readonly string[],
    shared: Omit<SharedDelegation, 'workers'>,
    place: DelegationPosition,
  ): Promise<CallResult>
  /** The disposition of a call to this worker for which the model asks for none. Undefined: the leader always waits. */
  disposition(worker: string): Disposition | undefined
  /** Adds a specialist from the next turn on. A failure says why not. */
  recruit(name: string): Failure | undefined
  describe(name: string): string
}

const textSchema = (description: string): JsonObject => ({ type: 'string', description })
export const objectSchema = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
})

/**
 * `forward_message`: the leader answers with a worker's unchanged output and ends. Runs after the delegations of its
 * turn.
 */
export class ForwardBinding implements Binding {
  readonly verb = true
  readonly last = true
  readonly spec: ToolSpec
  readonly #team: TeamAccess
  readonly #output: Schema | undefined

  constructor(team: TeamAccess, output: Schema | undefined) {
    this.#team = team
    this.#output = output
    this.spec = team.verbSpecs.once(team.verbs.forward, () => ({
      description: "Makes a worker's last output your answer; or d1's, your first delegation's.",
      // the names of workers stand in the tools that delegate
      parameters: { type: 'object', properties: { worker: { type: 'string' } } },
    }))
  }

  run(ctx: Context, call: ToolCall): Promise<CallResult> {
    return Promise.resolve(this.#forward(ctx, call))
  }

  #forward(ctx: Context, call: ToolCall): CallResult {
    const { worker, delegation } = isObject(call.input) ? call.input : {}
    const { list, over } = this.#team.delegations
    if (over !== undefined) return refuseVerb(ctx, call, over)
    const named = typeof delegation === 'string' && delegation !== '' ? delegation : undefined
    const wanted = named ?? worker
    if (typeof wanted !== 'string') return invalidInput(ctx, call, 'name a worker or a delegation')
    const entry =
      (named === undefined ? list.findLast((each) => each.worker === worker && isForwardable(each)) : undefined) ??
      this.#team.delegations.find(wanted)
    if (entry === undefined || !isForwardable(entry))
      return refuseVerb(ctx, call, failure('work.rejected', nothingToForward(wanted, list), 'validation'))
    const given = this.#output === undefined ? asText(entry.output) : entry.output
    const fits = outputAs(given, this.#output)
    if (!fits.ok) {
      return refuseVerb(
        ctx,
        call,
        failure(
          'output.invalid',
          `the output of "${entry.worker}" cannot be your answer: ${fits.problem}. Answer yourself in the required form.`,
          'validation',
        ),
      )
    }
    return {
      content: `[the output of "${entry.worker}" is your answer]`,
      finish: {
        outcome: completed(fits.value),
        answers: {
          counts: () => ctx.emit({ type: 'output.forwarded', worker: entry.worker, delegation: entry.id }),
          otherwise: `[the output of "${entry.worker}" is not accepted as your answer]`,
        },
      },
    }
  }
}

type WithOutput = DelegationEntry & {
  readonly id: NonNullable<DelegationEntry['id']>
  readonly output: Json
}

export const isForwardable = (each: DelegationEntry): each is WithOutput =>
  each.id !== undefined && each.output !== undefined

export function nothingToForward(what: string, list: readonly DelegationEntry[]): string {
  const ready = list.flatMap((each) => (isForwardable(each) ? [`${each.label} (${each.worker})`] : []))
  // stop_delegation knows a call to several by one name; an answer is one of them
  const isGroup = list.some(({ group }) => group === what)
  const several = isGroup ? ' It went to several workers, and no answer counts for all of them: name one.' : ''
  return `there is no output of "${what}" to forward.${several} ${ready.length === 0 ? 'No worker has answered yet.' : `There are: ${ready.join(', ')}.`}`
}

/** `recruit`: a specialist joins the team for the rest of this run. */
export class RecruitBinding implements Binding {
  readonly verb = true
  readonly spec: ToolSpec
  readonly #team: TeamAccess

  constructor(team: TeamAccess, names: readonly string[]) {
    this.#team = team
    this.spec = team.verbSpecs.once(team.verbs.recruit, () => ({
      description: 'Adds a specialist to your team. You can delegate to it from your next turn on.',
      parameters: objectSchema({ worker: { type: 'string', enum: names }, reason: textSchema('Why it is needed.') }, [
        'worker',
        'reason',
      ]),
    }))
  }

  run(ctx: Context, call: ToolCall): Promise<CallResult> {
    const { worker, reason } = isObject(call.input) ? call.input : {}
    if (typeof worker !== 'string')
      return Promise.resolve(invalidInput(ctx, call, '"worker" must be the name of a specialist'))
    if (typeof reason !== 'string' || reason.trim() === '')
      return Promise.resolve(invalidInput(ctx, call, '"reason" is missing: say why it is needed'))
    const refused = this.#team.recruit(worker)
    if (refused !== undefined) return Promise.resolve(refuseVerb(ctx, call, refused))
    ctx.emit({ type: 'worker.recruited', worker, reason })
    return Promise.resolve({ content: `"${worker}" has joined the team: ${this.#team.describe(worker)}` })
  }
}

/** `stop_delegation`: ends one delegation; the leader continues. */
export class StopBinding implements Binding {
  readonly verb = true
  readonly spec: ToolSpec
  readonly #team: TeamAccess

  constructor(team: TeamAccess) {
    this.#team = team
    this.spec = team.verbSpecs.once(team.verbs.stop, () => ({
      description: 'Stops a delegation that works in the background. What it has not answered by then is lost.',
      parameters: objectSchema({ delegation: textSchema('d1, d2, …: which one.'), reason: textSchema('Why.') }, [
        'delegation',
      ]),
    }))
  }

  async run(ctx: Context, call: ToolCall): Promise<CallResult> {
    const { delegation, reason } = isObject(call.input) ? call.input : {}
    if (typeof delegation !== 'string' || delegation === '')
      return invalidInput(ctx, call, '"delegation" must be the name of a delegation: d1, d2, …')
    const { background, list } = this.#team.delegations
    const why =
      typeof reason === 'string' && reason.trim() !== '' ? `stopped by its leader: ${reason}` : 'stopped by its leader'
    const stopped = await this.#team.delegations.stop(delegation, why)
    if (stopped.length > 0)
      return { content: `[stopped: ${stopped.map(({ label, worker }) => `${label} ("${worker}")`).join(', ')}]` }
    const known = list.some(
      ({ label, id, callId }) => label === delegation || id === delegation || callId === delegation,
    )
    const under = background.lines()
    const what = failure(
      known ? 'delegation.ended' : 'delegation.unknown',
      `${known ? `"${delegation}" has ended already` : `there is no delegation "${delegation}"`}. ${under.length === 0 ? 'None is under way.' : `Under way: ${under.join('; ')}.`}`,
      'validation',
    )
    return refuseVerb(ctx, call, what)
  }
}
