/**
 * supervisor(): whoever leads others. A model agent in the same turn loop as every other, with verbs to delegate, forward and
 * recruit; or code, with its team in its hand.
 *
 * Owns: the public constructor, its options and their types, its checks, the text that introduces the team to the
 * model.
 * Does not own: the verbs (leader-tools.ts), one delegation (delegation/), how code leads (code-supervisor.ts), what is taken over
 * from a base (supervisor-base.ts), the loop (../agent).
 */
import {
  described,
  isObject,
  mustBeOptions,
  unknownNames,
  present,
  type Json,
  type JsonObject,
  type NamesOf,
} from '../core/index.ts'
import {
  dataIn,
  dataOf,
  factNames,
  factProblems,
  ModelAgent,
  modelAgentChecks,
  modelSetup,
  modelAgentProblems,
  mustHaveModelOrCode,
  checkTree,
  renamable,
  schemaOf,
  ToolBinding,
  toolProblems,
  versionOf,
  type Agent,
  type AgentContext,
  type AgentFacts,
  type InputOf,
  type ModelAgentFacts,
  type NameOf,
  type OutputOf,
  type Talk,
  type UsdCap,
} from '../agent/index.ts'
import type { Infer, SchemaLike } from '../edge/index.ts'
import { basedOn, throwBaseProblem } from './supervisor-base.ts'
import { codeDispatchProblems } from './delegation/dispatch.ts'
import {
  delegationCaps,
  delegationProblems,
  verbProblems,
  verbsOf,
  verbsTaken,
  type Delegation,
  type VerbNames,
} from './delegation/options.ts'
import { CodeSupervisor, type LeaderFunction, type OwnTeam } from './code-supervisor.ts'
import { Reflection } from './reflect.ts'
import { emptyRefusal, Roster } from './roster.ts'
import { TeamToolbox, type LeaderPolicy } from './team-toolbox.ts'

/** A leader of workers. */
export interface Supervisor<
  Name extends string = string,
  I = unknown,
  O = unknown,
  Workers extends string = string,
> extends Agent<Name, I, O> {
  /** The names of its workers as they are now. */
  team(): readonly Workers[]
  /**
   * Adds a worker for runs that begin later. One that takes the place of a removed one of its name is the one that
   * works then, whatever differs. Throws `team.invalid`.
   */
  add(worker: Agent): void
  /**
   * Removes a worker for runs that begin later; returns it, or undefined if there is none. Removing the last one makes
   * later runs fail with `team.empty`.
   */
  remove(name: string): Agent | undefined
}

/** What every supervisor is told of its team. */
export interface TeamFacts<Workers extends readonly Agent[], Specialists extends readonly Agent[]> {
  /** Who works for it. A function is asked when a run begins, and may name agents that are defined later. */
  readonly workers: Workers | (() => Workers)
  /** What crosses to the workers. Default: the brief only, with the leader's own permissions and limits. */
  readonly delegation?: Delegation<NameOf<Workers[number]>>
  /** Who may be recruited while a run goes on. Default: nobody. */
  readonly specialists?: Specialists
  /** The most workers there may be, recruits included. A team that begins larger is not cut. Default 10. */
  readonly maxTeamSize?: number
  /** How many workers may work at once. Default: all. */
  readonly concurrency?: number
}

/** How the team is put to a model that leads it. */
interface LeadFacts {
  /**
   * The text after the instructions that introduces the team. The list of workers, by their descriptions, stands where
   * it says `{workers}`, and at its end if it does not; all other braces are only text. Default: two sentences on
   * delegating.
   */
  readonly guidance?: string
  /**
   * What its verbs are called, in place of `delegate` (and with it `delegate_<worker>`), `forward_message`, `recruit`
   * and the others. Its own tools may not take whatever names hold.
   */
  readonly verbs?: Partial<VerbNames>
}

/** How a supervisor is defined that thinks with a model. */
export interface SupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends AgentFacts<Name, In, Out>, ModelAgentFacts, TeamFacts<Workers, readonly Agent[]>, LeadFacts {
  readonly base?: never
  readonly run?: never
}

/** How a supervisor is defined that thinks as another agent does. */
export interface BasedSupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  Base extends Agent,
>
  extends AgentFacts<Name, In, Out>, Partial<ModelAgentFacts>, TeamFacts<Workers, readonly Agent[]>, LeadFacts {
  /**
   * The agent that leads: one with a model, another supervisor, or a `reflect()` of one. Everything that its
   * definition says holds, but for its name, and for what is said here. The workers of a supervisor stay, with those
   * given here after them; of its `delegation`, `verbs` and `limits` whatever is not said here. A `reflect()` goes on
   * reflecting: whom it wraps leads the team, under the name `<name>_lead`. Throws `team.invalid` for agents that have
   * no model agent: flows, routers, and code, which leads by `run`.
   */
  readonly base: Base
  readonly run?: never
}

/** How a supervisor is defined that is code. */
export interface CodeSupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  O,
  Specialists extends readonly Agent[],
>
  extends AgentFacts<Name, In, Out>, TeamFacts<Workers, Specialists> {
  /**
   * The work: orchestration, as that of a code agent (`agent({ run })`), with a team to delegate to. Returns the
   * output.
   */
  readonly run: (
    ctx: AgentContext,
    brief: Infer<In>,
    team: OwnTeam<Workers[number] | Specialists[number]>,
    talk: Talk,
  ) => O | Promise<O>
  readonly model?: never
  readonly base?: never
}

const defaultGuidance =
  'You lead a team. Delegate what a worker does best, and answer yourself when you have what you need. A worker knows only what you tell it. Your workers:'

/**
 * Defines a supervisor. Throws `team.empty` without workers, and `team.invalid` with everything else that is wrong with
 * its team: names, two workers of one name, missing descriptions, tools that are called like Reeve's own verbs. With
 * `workers: () => …` the team is checked when a runtime is made.
 */
export function supervisor<
  const Name extends string,
  const Workers extends readonly Agent[],
  Base extends Agent,
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(
  options: BasedSupervisorOptions<Name, Workers, In, Out, Base>,
): Supervisor<
  Name,
  [In] extends [undefined] ? InputOf<Base> : Infer<In>,
  [Out] extends [undefined] ? OutputOf<Base> : Infer<Out>,
  NameOf<Workers[number]>
>
export function supervisor<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
  O = unknown,
  const Specialists extends readonly Agent[] = readonly [],
>(
  options: CodeSupervisorOptions<Name, Workers, In, Out, O, Specialists>,
): Supervisor<Name, Infer<In>, [Out] extends [undefined] ? Awaited<O> : Infer<Out>, NameOf<Workers[number]>>
export function supervisor<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(options: SupervisorOptions<Name, Workers, In, Out>): Supervisor<Name, Infer<In>, Infer<Out>, NameOf<Workers[number]>>
export function supervisor(given: object): Supervisor {
  mustBeOptions(given, 'supervisor', 'team.invalid')
  return renamable(makeLeader(given as AnySupervisorOptions), (name) =>
    supervisor({
      ...(given as CodeSupervisorOptions<string, readonly Agent[], undefined, undefined, unknown, readonly Agent[]>),
      name,
    }),
  )
}

/** Everything that may be said of a supervisor, whether a model or code leads it. */
type AnySupervisorOptions = AgentFacts<string, SchemaLike | undefined, SchemaLike | undefined> &
  Partial<ModelAgentFacts> &
  TeamFacts<readonly Agent[], readonly Agent[]> &
  LeadFacts & { readonly base?: Agent; readonly run?: LeaderFunction }

const teamNames: NamesOf<TeamFacts<readonly Agent[], readonly Agent[]>> = {
  workers: true,
  delegation: true,
  specialists: true,
  maxTeamSize: true,
  concurrency: true,
}
const leadNames: NamesOf<LeadFacts> = { guidance: true, verbs: true }
const modelSupervisorOptions = { ...factNames, ...modelAgentChecks, ...teamNames, ...leadNames }
const codeOptions = { ...factNames, ...teamNames, run: true } as const
const anyOptions = { ...modelSupervisorOptions, base: true, run: true } as const

function makeLeader(options: AnySupervisorOptions): Supervisor {
  const where = `supervisor "${options.name}"`
  mustHaveModelOrCode(options, where, anyOptions)
  const { base } = options
  if (base instanceof Reflection) return makeReflectingLeader(base, options)
  const whole = basedOn(options)
  if (whole === undefined) throwBaseProblem(where, base, unknownNames(options, anyOptions, where))
  mustHaveModelOrCode(whole, where, anyOptions)
  const made = typeof whole.run === 'function' ? codeSupervisor(whole, () => whole.run!) : new SupervisorAgent(whole)
  if (typeof whole.workers !== 'function') checkTree(made)
  return made as unknown as Supervisor
}

/** A reflection goes on as it is; whom it wraps has the team. What is said of the whole holds for the whole. */
function makeReflectingLeader(base: Reflection, options: AnySupervisorOptions): Supervisor {
  const { name, description, outputKey, limits, oversight, version, ...own } = options
  const inner = makeLeader({ ...own, name: `${name}_lead`, base: base.agent })
  const outer = base.around(inner, { name, description, outputKey, limits, oversight, version })
  return Object.assign(outer, {
    team: () => inner.team(),
    add: (worker: Agent) => inner.add(worker),
    remove: (worker: string) => inner.remove(worker),
  })
}

type ModelSupervisorOptions = AnySupervisorOptions & ModelAgentFacts

function policyOf(options: AnySupervisorOptions): LeaderPolicy {
  const { name, delegation = {}, workers, specialists = [], maxTeamSize = 10, concurrency } = options
  return {
    leader: name,
    roster: new Roster(name, workers, specialists),
    delegation,
    verbs: verbsOf(options.verbs),
    concurrency,
    maxTeamSize,
    output: schemaOf(options.output, `supervisor "${name}": output`),
    tools: [],
  }
}

/**
 * What is data in it besides what is in every agent. Nothing where nothing is said, so that what was before has the
 * version that it had.
 */
const versionData = (data: Json, { verbs, delegation }: AnySupervisorOptions): Json => ({
  ...(data as JsonObject),
  ...(isObject(verbs) ? { verbs } : undefined),
  ...present({ delegation: dataIn(delegation) }),
})

/** The whole definition, with the workers as they are now, for a leader whose base it is. */
const definitionOf = (options: AnySupervisorOptions, roster: Roster): AnySupervisorOptions => ({
  ...options,
  workers: typeof options.workers === 'function' ? () => roster.workers() : roster.workers(),
})

const workersMarker = '{workers}'

/**
 * The system text: instructions, guidance, and the workers where it wants them. Plain concatenation: braces and dollars
 * are only text.
 */
function systemText(instructions: string, guidance: string, workers: string): string {
  const at = guidance.indexOf(workersMarker)
  const introduced =
    at !== -1
      ? `${guidance.slice(0, at)}${workers}${guidance.slice(at + workersMarker.length)}`
      : [guidance, workers].filter((part) => part !== '').join('\n')
  return instructions === '' ? introduced : `${instructions}\n\n${introduced}`
}

class SupervisorAgent extends ModelAgent {
  readonly #roster: Roster
  readonly #options: ModelSupervisorOptions

  constructor(given: AnySupervisorOptions) {
    const options = given as ModelSupervisorOptions
    const { name, description = '', limits, oversight, assess, outputKey, guidance = defaultGuidance } = options
    const inputSchema = schemaOf(options.input, `supervisor "${name}": input`)
    const open = policyOf(options)
    const { roster, output } = open
    const setup = modelSetup(name, options, output, limits)
    const { tools, model, instructions = '' } = setup
    const policy: LeaderPolicy = {
      ...open,
      access: setup,
      tools: tools.map((tool) => new ToolBinding(tool, name, output)),
    }
    const namesNow = (): string[] => roster.workers().map((worker) => worker.name)
    super({
      definition: options,
      description,
      version: () => {
        const said = {
          instructions: instructions === '' ? guidance : `${instructions}\n\n${guidance}`,
          model: model.id,
          tools,
        }
        const data = dataOf({
          ...said,
          input: inputSchema,
          output,
          limits,
          oversight,
          outputKey,
          workers: namesNow(),
          options,
        })
        return versionOf(options.version, versionData(data, options))
      },
      setup: {
        ...setup,
        open: (state, own = '') => {
          const team = new TeamToolbox(policy, state.edge.team.roster ?? namesNow(), true)
          const { background } = team
          return {
            system: systemText(own, guidance, team.lines()),
            toolbox: team,
            ...(background === undefined ? undefined : { background }),
          }
        },
      },
      inputSchema,
      limits,
      oversight,
      assess,
      outputKey,
      workers: () => roster.everybody(),
      reaches: options.workers,
      team: namesNow,
      refusal: (edge) =>
        (edge.team.roster ?? namesNow()).length === 0 && roster.specialists.length === 0
          ? emptyRefusal(name)
          : undefined,
      problems: () => {
        const where = `supervisor "${name}"`
        const problems = problemsOf(options, modelSupervisorOptions, roster)
        const team = [...roster.workers(), ...roster.specialists]
        const typed = team.flatMap((worker) => (worker.inputSchema === undefined ? [] : [worker.name]))
        return [
          ...problems,
          ...modelAgentProblems(options, where),
          ...(typeof guidance === 'string' ? [] : [`${where}: guidance is ${described(guidance)}, expected a text`]),
          ...verbProblems(options.verbs, typed, where),
          ...toolProblems(name, tools, verbsTaken(policy.verbs, team), options.assess),
        ]
      },
    })
    this.#roster = roster
    this.#options = options
  }

  override get definition(): ModelSupervisorOptions {
    return definitionOf(this.#options, this.#roster) as ModelSupervisorOptions
  }

  override usdCaps(): readonly UsdCap[] {
    return [...super.usdCaps(), ...delegationCaps(this.#options.delegation ?? {}, this.#roster.everybody())]
  }

  add(worker: Agent): void {
    this.#roster.add(worker)
  }

  remove(name: string): Agent | undefined {
    return this.#roster.remove(name)
  }
}

/** What a leader is told that is code, besides what all are told. */
export interface LeaderKind {
  /** How sentences about it begin. */
  readonly where: string
  readonly names: Readonly<Record<string, unknown>>
  readonly problems: () => readonly string[]
  /** What of it is data. */
  readonly data: JsonObject
}

/** A leader that is code. `lead`: its work, with everybody on the team in hand. */
export function codeSupervisor(
  options: AnySupervisorOptions,
  lead: (roster: Roster) => LeaderFunction,
  kind?: LeaderKind,
): CodeSupervisor {
  const { name, description = '', limits, oversight, assess, outputKey } = options
  const policy = policyOf(options)
  const { roster, output } = policy
  const inputSchema = schemaOf(options.input, `supervisor "${name}": input`)
  const workers = (): string[] => roster.workers().map((worker) => worker.name)
  return new CodeSupervisor({
    name,
    description,
    run: lead(roster),
    policy,
    inputSchema,
    limits,
    oversight,
    assess,
    outputKey,
    definition: () => definitionOf(options, roster),
    version: () => {
      const data = dataOf({ input: inputSchema, output, limits, oversight, outputKey, workers: workers() })
      const own = { ...(data as JsonObject), ...present({ delegation: dataIn(options.delegation) }) }
      return versionOf(options.version, kind === undefined ? own : { ...own, ...kind.data })
    },
    problems: () => [
      ...problemsOf(options, kind?.names ?? codeOptions, roster, kind?.where),
      ...(kind?.problems() ?? []),
    ],
  })
}

/** What is wrong with a supervisor, whether a model or code leads it. */
function problemsOf(
  options: AnySupervisorOptions,
  known: Readonly<Record<string, unknown>>,
  roster: Roster,
  where = `supervisor "${options.name}"`,
): readonly string[] {
  const { maxTeamSize, concurrency } = options
  const names = new Set(roster.everybody().map((worker) => worker.name))
  const inherits = new Set(roster.everybody().flatMap((worker) => (worker.background === true ? [worker.name] : [])))
  return [
    ...unknownNames(options, known, where),
    ...factProblems(options),
    ...roster.problems(),
    ...delegationProblems(options.delegation, names, where, inherits),
    ...(options.run === undefined ? [] : codeDispatchProblems(options.delegation, where)),
    ...(maxTeamSize === undefined || (Number.isInteger(maxTeamSize) && maxTeamSize > 0)
      ? []
      : [`${where}: maxTeamSize is ${maxTeamSize}, expected a whole number of at least 1`]),
    ...(concurrency === undefined || (Number.isInteger(concurrency) && concurrency > 0)
      ? []
      : [`${where}: concurrency is ${concurrency}, expected a whole number of at least 1`]),
  ]
}
