/**
 * supervisor(): defines a leader of workers: a model agent with verbs to delegate, forward and recruit, or code that
 * receives its team as an object.
 *
 * Owns: the public constructor, its options, their types and checks, the text that introduces the team to the model.
 * Does not own: the verbs (delegate-tools.ts, leader-tools.ts), one delegation (delegation/), leaders that are code
 * (code-supervisor.ts), what is taken over from a base (supervisor-base.ts), the loop (../agent).
 */
import {
  isObject,
  mustBeOptions,
  optionProblems,
  present,
  string,
  unchecked,
  unknownNames,
  wholeNumber,
  type Checks,
  type Json,
  type JsonObject,
  type Rule,
} from '@reeve/core'
import {
  dataIn,
  dataOf,
  factChecks,
  factRule,
  meantByAgentOptions,
  ModelAgent,
  modelAgentChecks,
  modelSetup,
  mustHaveModelOrCode,
  checkTree,
  renamable,
  schemaOf,
  ToolBinding,
  toolProblems,
  versionOf,
  type Agent,
  type AgentProblem,
  type AgentContext,
  type AgentFacts,
  type InputOf,
  type ModelAgentFacts,
  type NameOf,
  type OutputOf,
  type HandoffContext,
  type UsdCap,
} from '@reeve/agent'
import type { Infer, SchemaLike } from '@reeve/edge'
import { basedOn, throwBaseProblem } from './supervisor-base.ts'
import { codeDispatchProblems } from './delegation/dispatch.ts'
import {
  delegationCaps,
  delegationCheck,
  verbProblems,
  verbsOf,
  verbsTaken,
  type Delegation,
  type VerbNames,
} from './delegation/options.ts'
import { CodeSupervisor, type LeaderFunction, type OwnTeam } from './code-supervisor.ts'
import { VerbSpecs } from './leader-tools.ts'
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
  /** The names of its current workers. */
  team(): readonly Workers[]
  /**
   * Adds a worker for later runs. A worker that replaces a removed one of the same name works in its place. Throws
   * `team.invalid`.
   */
  add(worker: Agent): void
  /**
   * Removes a worker for later runs; returns it, or undefined if there is none. After the last one is removed, later
   * runs fail with `team.empty`.
   */
  remove(name: string): Agent | undefined
}

/** The options of every supervisor about its team. */
export interface TeamFacts<Workers extends readonly Agent[], Specialists extends readonly Agent[]> {
  /** Its workers. A function is called when a run begins, so it may name agents that are defined later. */
  readonly workers: Workers | (() => Workers)
  /** What crosses to the workers. Default: only the brief, with the leader's own permissions and limits. */
  readonly delegation?: Delegation<NameOf<Workers[number]>>
  /** Agents that may be recruited during a run. Default: none. */
  readonly specialists?: Specialists
  /** The largest number of workers, recruits included. A team that starts larger is not cut. Default 10. */
  readonly maxTeamSize?: number
  /** How many workers may work at once. Default: all. */
  readonly concurrency?: number
}

/** How the team is introduced to a model that leads it. */
interface LeadFacts {
  /**
   * The text that introduces the team, after the instructions. `{workers}` is replaced by the list of workers with
   * their descriptions; without it the list follows the text. All other braces are plain text. Default: two sentences
   * on delegating.
   */
  readonly guidance?: string
  /**
   * Other names for its verbs `delegate` (and with it `delegate_<worker>`), `forward_message`, `recruit` and so on. Its
   * own tools may not use these names.
   */
  readonly verbs?: Partial<VerbNames>
}

/** The options of a supervisor with a model. */
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

/** The options of a supervisor that builds on another agent. */
export interface BasedSupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  Base extends Agent,
>
  extends AgentFacts<Name, In, Out>, Partial<ModelAgentFacts>, TeamFacts<Workers, readonly Agent[]>, LeadFacts {
  /**
   * The agent to build on: one with a model, another supervisor, or a `reflect()` of one. Its definition holds except
   * for its name and the options given here. The workers of a supervisor are kept, followed by those given here; its
   * `delegation`, `verbs` and `limits` are merged with those given here. A `reflect()` keeps reflecting, and its
   * wrapped agent leads the team as `<name>_lead`. Throws `team.invalid` for agents without a model: flows, routers and
   * code (code leads by `run`).
   */
  readonly base: Base
  readonly run?: never
}

/** The options of a supervisor that is code. */
export interface CodeSupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  O,
  Specialists extends readonly Agent[],
>
  extends AgentFacts<Name, In, Out>, TeamFacts<Workers, Specialists> {
  /** The work. It is orchestration, as in `agent({ run })`, with a team to delegate to. Returns the output. */
  readonly run: (
    ctx: AgentContext,
    brief: Infer<In>,
    team: OwnTeam<Workers[number] | Specialists[number]>,
    handoffContext: HandoffContext,
  ) => O | Promise<O>
  readonly model?: never
  readonly base?: never
}

const defaultGuidance =
  'You lead a team. Delegate what a worker does best, and answer yourself when you have what you need. A worker knows only what you tell it. Your workers:'

/**
 * Defines a supervisor. Throws `team.empty` without workers, and `team.invalid` for all other problems of its team:
 * invalid names, two workers of one name, missing descriptions, tools named like Reeve's verbs. With `workers: () => …`
 * the team is checked when a runtime is made.
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

/** All options of a supervisor, whether a model or code leads it. */
type AnySupervisorOptions = AgentFacts<string, SchemaLike | undefined, SchemaLike | undefined> &
  Partial<ModelAgentFacts> &
  TeamFacts<readonly Agent[], readonly Agent[]> &
  LeadFacts & { readonly base?: Agent; readonly run?: LeaderFunction }

/** The checks of everybody who leads. `roster`: who may work for them; those who are known now. */
export function teamChecks(roster?: Roster): Checks<TeamFacts<readonly Agent[], readonly Agent[]>> {
  const everybody = roster?.everyWorker() ?? []
  return {
    workers: unchecked, // by the roster
    delegation: delegationCheck(
      new Set(everybody.map(({ name }) => name)),
      new Set(everybody.flatMap(({ name, background }) => (background === true ? [name] : []))),
    ),
    specialists: unchecked,
    maxTeamSize: wholeNumber(1),
    concurrency: wholeNumber(1),
  }
}
const leadChecks: Checks<LeadFacts> = { guidance: string, verbs: unchecked } // by verbProblems
const modelSupervisorChecks = (roster?: Roster): Checks<Omit<AnySupervisorOptions, 'base' | 'run'>> => ({
  ...factChecks,
  ...modelAgentChecks,
  ...teamChecks(roster),
  ...leadChecks,
})
const codeSupervisorChecks = (roster: Roster): Checks<object> => ({
  ...factChecks,
  ...teamChecks(roster),
  run: unchecked,
})
const anyOptions = { ...modelSupervisorChecks(), base: unchecked, run: unchecked }

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

/** A reflection stays as it is, and its wrapped agent gets the team. Options of the whole hold for the whole. */
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
    verbSpecs: new VerbSpecs(),
  }
}

/**
 * The data of its version, besides that of every agent. Options that are not given add nothing, so that such
 * definitions keep their version.
 */
const versionData = (data: Json, { verbs, delegation }: AnySupervisorOptions): Json => ({
  ...(data as JsonObject),
  ...(isObject(verbs) ? { verbs } : undefined),
  ...present({ delegation: dataIn(delegation) }),
})

/** The whole definition with the current workers, for a leader with this one as its base. */
const definitionOf = (options: AnySupervisorOptions, roster: Roster): AnySupervisorOptions => ({
  ...options,
  workers: typeof options.workers === 'function' ? () => roster.workers() : roster.workers(),
})

const workersMarker = '{workers}'

/** The system text: instructions, guidance and workers. Plain concatenation: braces and dollars are plain text. */
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
      workers: () => roster.everyWorker(),
      reaches: options.workers,
      team: namesNow,
      refusal: (edge) =>
        (edge.team.roster ?? namesNow()).length === 0 && roster.specialists.length === 0
          ? emptyRefusal(name)
          : undefined,
      problems: () => {
        const where = `supervisor "${name}"`
        const team = [...roster.workers(), ...roster.specialists]
        const typed = team.flatMap((worker) => (worker.inputSchema === undefined ? [] : [worker.name]))
        return [
          ...problemsOf(options, modelSupervisorChecks(roster), roster, where),
          ...verbProblems(options.verbs, typed, where),
          ...toolProblems(name, tools, verbsTaken(policy.verbs, team), options.assess),
        ]
      },
      toolCount: () => new TeamToolbox(policy, namesNow(), true).specs.length,
    })
    this.#roster = roster
    this.#options = options
  }

  override get definition(): ModelSupervisorOptions {
    return definitionOf(this.#options, this.#roster) as ModelSupervisorOptions
  }

  override usdCaps(): readonly UsdCap[] {
    return [...super.usdCaps(), ...delegationCaps(this.#options.delegation ?? {}, this.#roster.everyWorker())]
  }

  add(worker: Agent): void {
    this.#roster.add(worker)
  }

  remove(name: string): Agent | undefined {
    return this.#roster.remove(name)
  }
}

/** What a particular kind of code leader adds. */
export interface LeaderKind {
  /** The beginning of sentences about it. */
  readonly where: string
  readonly checks: (roster: Roster) => Checks<object>
  /** What must hold between its options. */
  readonly rule: Rule<object>
  /** Its data for the version. */
  readonly data: JsonObject
}

/** Makes a leader that is code. `lead`: makes its function from the roster. */
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
    problems: () =>
      problemsOf(
        options,
        (kind?.checks ?? codeSupervisorChecks)(roster),
        roster,
        kind?.where ?? `supervisor "${name}"`,
        kind?.rule ?? factRule,
      ),
  })
}

/** The problems of a supervisor, whether a model or code leads it. */
const problemsOf = (
  options: AnySupervisorOptions,
  checks: Checks<object>,
  roster: Roster,
  where: string,
  rule: Rule<object> = factRule,
): readonly AgentProblem[] => [
  ...optionProblems(checks, options, where, { rule, meant: meantByAgentOptions(checks) }),
  ...roster.problems(),
  ...(options.run === undefined ? [] : codeDispatchProblems(options.delegation, where)),
]
