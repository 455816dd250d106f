/**
 * Delegate tools: the verbs by which a supervisor's model delegates: delegate, delegate_<name>, delegate_to_several.
 *
 * Owns: their schemas (what models see), the checks before a worker starts. Does not own: how a worker is started
 * (delegation/), the other verbs (leader-tools.ts). Unknown arguments are ignored: nothing that a model writes can
 * resume, approve or widen anything.
 */
import { failure, filesNamed, isObject, present, type FilePart, type Json, type JsonObject } from '@reeve/core'
import { invalidInput, type Agent, type Binding, type CallResult, type ConversationState } from '@reeve/agent'
import type { Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall, ToolSpec } from '@reeve/model'
import {
  refuseDelegation,
  type DelegationRequest,
  type LeaderState,
  type DelegationPosition,
} from './delegation/delegations.ts'
import type { Disposition } from './delegation/dispatch.ts'
import { typedVerb } from './delegation/options.ts'
import { referencesIn, refsParameter, type Reference } from './delegation/references.ts'
import { keepProblem, type Keep } from './worker/race.ts'
import { describeWorker } from './roster.ts'
import { objectSchema, type TeamAccess } from './leader-tools.ts'

/** A verb that delegates. Its position among the delegations is taken when the call arrives, not when it runs. */
abstract class DelegationBinding implements Binding {
  readonly verb = true
  abstract readonly spec: ToolSpec
  protected readonly team: TeamAccess

  constructor(team: TeamAccess) {
    this.team = team
  }

  run(ctx: Context, call: ToolCall, state: ConversationState): Promise<CallResult> {
    return this.give(ctx, call, state, this.team.delegations.place(call))
  }

  placed(call: ToolCall): Pick<Binding, 'run'> {
    const place = this.team.delegations.place(call)
    return { run: (ctx, given, state) => this.give(ctx, given, state, place) }
  }

  protected abstract give(
    ctx: Context,
    call: ToolCall,
    state: LeaderState,
    place: DelegationPosition,
  ): Promise<CallResult>
}

/** `delegate`: delegates to a worker that takes text. */
export class DelegateBinding extends DelegationBinding {
  readonly spec: ToolSpec
  readonly #names: readonly string[]

  constructor(team: TeamAccess, names: readonly string[]) {
    super(team)
    this.#names = names
    this.spec = team.verbSpecs.once(team.verbs.delegate, () => ({
      description: 'Gives a worker a task; it sees nothing else. Calls run in parallel.',
      parameters: objectSchema(
        {
          worker: { type: 'string', enum: names },
          instructions: { type: 'string' },
          // `turns` is read, and not offered: models that fill in all they are offered would end their workers early
          ...(team.delegations.shown === undefined ? undefined : { refs: refsParameter }),
          ...filesParameter(team),
          ...backgroundParameter(team, names),
        },
        ['worker', 'instructions'],
      ),
    }))
  }

  protected give(ctx: Context, call: ToolCall, state: LeaderState, place: DelegationPosition): Promise<CallResult> {
    const { worker, instructions, turns, refs, files, background } = isObject(call.input) ? call.input : {}
    const given = givenFiles(files, this.team)
    const most = turnsOf(turns)
    const results = this.team.delegations.shown === undefined ? [] : referencesIn(refs)
    const problem =
      briefProblem(worker, instructions) ??
      (most === 'invalid' ? '"turns" must be a whole number of at least 1' : undefined) ??
      (typeof results === 'string' ? results : undefined) ??
      (typeof given === 'string' ? given : undefined)
    if (problem !== undefined) return Promise.resolve(invalidInput(ctx, call, problem))
    if (!this.#names.includes(worker as string))
      return Promise.resolve(unknownWorker(ctx, call, worker as string, this.#names, this.team, place))
    const name = worker as string
    const deferred = isDeferred(this.team.disposition(name), background)
    const brief = { instructions: instructions as string }
    const request: DelegationRequest = {
      worker: name,
      brief,
      refs: results as readonly Reference[],
      deferred,
      ...someFiles(given),
    }
    return this.team.delegate(ctx, call, state, typeof most === 'number' ? { ...request, turns: most } : request, place)
  }
}

/** Models sometimes write numbers as text. */
const unquoted = (given: Json): Json =>
  typeof given === 'string' && /^\d+$/.test(given.trim()) ? Number(given) : given

/** The limit of turns as models give it. Absent or null: that of the worker. */
function turnsOf(given: Json | undefined): number | undefined | 'invalid' {
  if (given === undefined || given === null) return undefined
  const turns = unquoted(given)
  return typeof turns === 'number' && Number.isInteger(turns) && turns >= 1 ? turns : 'invalid'
}

function briefProblem(worker: Json | undefined, instructions: Json | undefined): string | undefined {
  if (typeof worker !== 'string')
    return worker === undefined ? '"worker" is missing' : '"worker" must be a string, the name of a worker'
  if (typeof instructions !== 'string')
    return instructions === undefined ? '"instructions" is missing' : '"instructions" must be a string'
  return instructions.trim() === '' ? '"instructions" is empty: say what is to be done' : undefined
}

function unknownWorker(
  ctx: Context,
  call: ToolCall,
  worker: string,
  names: readonly string[],
  team: TeamAccess,
  { label }: DelegationPosition,
): CallResult {
  const typed = team.typed.includes(worker)
    ? ` "${worker}" takes a typed input: call ${typedVerb(worker, team.verbs)}.`
    : ''
  const what = failure(
    'delegation.unknown-worker',
    `unknown worker "${worker}". Workers are: ${names.join(', ')}.${typed}`,
    'validation',
  )
  return refuseDelegation(ctx, call, worker, what, label)
}

/** `delegate_<name>`: delegates to the one worker that takes this input. */
export class TypedDelegateBinding extends DelegationBinding {
  readonly spec: ToolSpec
  readonly #worker: string
  readonly #schema: Schema | undefined

  constructor(team: TeamAccess, worker: string, agent: Agent | undefined) {
    super(team)
    this.#worker = worker
    this.#schema = agent?.inputSchema
    const json = this.#schema?.json ?? { type: 'object' }
    // models send only objects, so another input is wrapped in one
    this.spec = team.verbSpecs.once(typedVerb(worker, team.verbs), () => ({
      description: `Gives ${worker} a task and returns its answer. It sees only this input. ${worker}: ${describeWorker(worker, agent)}`,
      parameters: needsWrapping(json)
        ? objectSchema({ input: json, ...filesParameter(team), ...backgroundParameter(team, [worker]) }, ['input'])
        : withParameters(json, { ...filesParameter(team), ...backgroundParameter(team, [worker]) }),
    }))
  }

  protected give(ctx: Context, call: ToolCall, state: LeaderState, place: DelegationPosition): Promise<CallResult> {
    const json = this.#schema?.json
    const isWrapped = json !== undefined && needsWrapping(json)
    const { input: inner = null, background, ...others } = isObject(call.input) ? call.input : {}
    const isVerbs = this.team.givesFiles && !takesFiles(json)
    const { files, ...withoutFiles } = others
    const rest = isVerbs ? withoutFiles : others
    const usual = this.team.disposition(this.#worker)
    const keepsBackground = takesBackground(json, usual !== undefined)
    const whole = !isObject(call.input)
      ? (call.input ?? {})
      : keepsBackground && !isVerbs
        ? call.input
        : withInput({ ...rest, ...(keepsBackground && present({ background })) }, call.input)
    const input = isWrapped && isObject(call.input) ? inner : whole
    const given = givenFiles(isVerbs ? files : undefined, this.team)
    const checked = this.#schema?.check(input)
    if (checked?.ok === false) return Promise.resolve(invalidInput(ctx, call, checked.problem))
    if (typeof given === 'string') return Promise.resolve(invalidInput(ctx, call, given))
    return this.team.delegate(
      ctx,
      call,
      state,
      { worker: this.#worker, brief: { input }, deferred: isDeferred(usual, background), ...someFiles(given) },
      place,
    )
  }
}

/** The parameter `files`, once the conversation has any. */
const filesParameter = ({ givesFiles }: TeamAccess): JsonObject =>
  givesFiles
    ? {
        files: {
          type: ['array', 'null'],
          items: { type: 'string' },
          description:
            'Files of this conversation that the worker is to see: their handles (file-…, as in the labels before them) or their names. It sees no others.',
        },
      }
    : {}

/** The files of its conversation that a model names. */
const givenFiles = (given: Json | undefined, { files }: TeamAccess): readonly FilePart[] | string =>
  filesNamed(given, files, 'this conversation')

const someFiles = (given: readonly FilePart[] | string): Pick<DelegationRequest, 'files'> =>
  typeof given === 'string' || given.length === 0 ? {} : { files: given }

/** The parameter `background`, if any of these workers may work in the background. */
function backgroundParameter(team: TeamAccess, names: readonly string[]): JsonObject {
  const may = names.filter((name) => team.disposition(name) !== undefined)
  if (may.length === 0) return {}
  const usual = may.filter((name) => team.disposition(name) === 'deferred')
  const default_ =
    usual.length === may.length
      ? 'Default: true.'
      : usual.length === 0
        ? 'Default: false.'
        : `Default: true for ${usual.join(', ')}, else false.`
  const who = may.length === names.length ? '' : ` Only for ${may.join(', ')}.`
  return {
    background: {
      type: ['boolean', 'null'],
      description: `true: you go on at once, and are told when it has ended. false: you wait for the result.${who} ${default_}`,
    },
  }
}

/** Whether the leader continues at once. The model's wish counts only if there is a choice. */
const isDeferred = (usual: Disposition | undefined, choice: Json | undefined): boolean =>
  usual !== undefined && (typeof choice === 'boolean' ? choice : usual === 'deferred')

/** The schema with parameters of the verb that the worker has not itself. */
const withParameters = (json: JsonObject, more: JsonObject): JsonObject => {
  const properties = isObject(json['properties']) ? json['properties'] : {}
  const added = Object.entries(more).filter(([name]) => !(name in properties))
  return added.length === 0 ? json : { ...json, properties: { ...properties, ...Object.fromEntries(added) } }
}

/** Whether `background` is a parameter of the worker itself. */
const takesBackground = (json: JsonObject | undefined, mayDefer: boolean): boolean => {
  const properties = json?.['properties']
  return isObject(properties) ? 'background' in properties : !mayDefer
}

/** Whether `files` is a parameter of the worker itself. */
const takesFiles = (json: JsonObject | undefined): boolean => {
  const properties = json?.['properties']
  return isObject(properties) && Object.hasOwn(properties, 'files')
}

/** The input without the parameters of the verb. A worker may have a member named `input`. */
const withInput = (rest: JsonObject, { input }: JsonObject): JsonObject =>
  input === undefined ? rest : { input, ...rest }

const needsWrapping = (json: JsonObject): boolean => json['type'] !== undefined && json['type'] !== 'object'

/**
 * `delegate_to_several`: gives one brief to several workers at once, and keeps the first answers or that of the
 * majority.
 */
export class SeveralBinding extends DelegationBinding {
  readonly spec: ToolSpec
  readonly #names: readonly string[]

  constructor(team: TeamAccess, names: readonly string[]) {
    super(team)
    this.#names = names
    this.spec = team.verbSpecs.once(team.verbs.several, () => ({
      description:
        'Gives several workers the same task at once, and returns the answers that are kept; the others are stopped. A worker may be named twice. Each sees only these instructions.',
      parameters: objectSchema(
        {
          workers: { type: 'array', items: { type: 'string', enum: names }, minItems: 2 },
          instructions: { type: 'string' },
          ...filesParameter(team),
          keep: {
            type: ['string', 'integer', 'null'],
            description:
              '"first" (the default): the first answer. A number: so many answers, the first. "majority": the answer that more than half of them give, word for word; good for short answers.',
          },
        },
        ['workers', 'instructions'],
      ),
    }))
  }

  protected give(ctx: Context, call: ToolCall, state: LeaderState, place: DelegationPosition): Promise<CallResult> {
    const { workers, instructions, keep, files } = isObject(call.input) ? call.input : {}
    const given = givenFiles(files, this.team)
    const names = Array.isArray(workers) ? (workers as readonly Json[]) : []
    const wanted = keepOf(keep)
    const problem =
      (names.length === 0 ? '"workers" must be a list of names of workers' : undefined) ??
      names.map((name) => briefProblem(name, instructions)).find((each) => each !== undefined) ??
      keepProblem(wanted, names.length) ??
      (typeof given === 'string' ? given : undefined)
    if (problem !== undefined) return Promise.resolve(invalidInput(ctx, call, problem))
    const unknown = names.find((name) => !this.#names.includes(name as string))
    if (unknown !== undefined)
      return Promise.resolve(unknownWorker(ctx, call, unknown as string, this.#names, this.team, place))
    const shared = {
      ctx,
      call,
      state,
      brief: { instructions: instructions as string },
      keep: wanted,
      ...someFiles(given),
    }
    return this.team.several(names as readonly string[], shared, place)
  }
}

/** How many answers a model wants. */
const keepOf = (given: Json | undefined): Keep =>
  given === undefined || given === null ? 'first' : (unquoted(given) as Keep)
