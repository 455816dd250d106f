/**
 * supervisor(): defines a leader of workers: a model agent with verbs to delegate, forward and recruit, or code that
 * receives its team as an object.
 *
 * Owns: the public constructor, the leader with a model, the text that introduces the team to the model. Does not own:
 * the options (options.ts), what all leaders have in common (leader.ts), the verbs (delegate-tools.ts, leader-tools.ts),
 * one delegation (delegation/), leaders that are code (code-supervisor.ts), what is taken over from a base
 * (supervisor-base.ts), the loop (../agent).
 */
import { failed, mustBeOptions, present, unknownNames, type Inferred } from '@reeve/core'
import {
  checkTree,
  dataOf,
  defineAgent,
  modelAgentKind,
  modelParts,
  modelSetup,
  offeredCount,
  mustHaveModelOrCode,
  renamable,
  schemasOf,
  ToolBinding,
  toolProblems,
  type Agent,
  type AgentKind,
  type DescribedWorkers,
  type InputOf,
  type ModelAgentFacts,
  type ModelAgentMembers,
  type ModelAgentParts,
  type NameOf,
  type OutputOf,
  type ReturnedBy,
} from '@reeve/agent'
import type { Infer, SchemaLike } from '@reeve/edge'
import { codeLeader, codeLeaderParts } from './code-supervisor.ts'
import { verbProblems, verbsTaken } from './delegation/options.ts'
import { leaderMembers, leaderPolicy, teamParts, type LeaderMembers, type LeaderPolicy } from './leader.ts'
import {
  leaderProblems,
  modelSupervisorChecks,
  supervisorOptionNames,
  versionedOptions,
  type AnySupervisorOptions,
  type BasedSupervisorOptions,
  type CodeSupervisorOptions,
  type SupervisorOptions,
} from './options.ts'
import { reflectAround, reflectedBy } from './reflect.ts'
import { emptyRefusal } from './roster.ts'
import { basedOn, throwBaseProblem } from './supervisor-base.ts'
import { TeamToolbox } from './team-toolbox.ts'

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

/** The input of a leader: that of its schema, else that of the agent it builds on, else a text. */
type LeadInput<In, Base> = [In] extends [undefined] ? ([Base] extends [never] ? string : InputOf<Base>) : Infer<In>
/** The output of a leader: that of its schema, else of the agent it builds on, else what its code returns, else a text. */
type LeadOutput<Out, Base, O> = [Out] extends [undefined]
  ? [Base] extends [never]
    ? [O] extends [never]
      ? string
      : Awaited<O>
    : OutputOf<Base>
  : Infer<Out>

/**
 * Defines a supervisor. Throws `team.empty` without workers, and `team.invalid` for all other problems of its team:
 * invalid names, two workers of one name, missing descriptions, tools named like Reeve's verbs. With `workers: () => …`
 * the team is checked when a runtime is made.
 */
export function supervisor<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
  O extends ReturnedBy<Out> = never,
  const Specialists extends readonly Agent[] = readonly [],
  Base extends Agent = never,
>(
  options: (
    | CodeSupervisorOptions<Name, Workers, In, Out, O, Specialists>
    | BasedSupervisorOptions<Name, Workers, In, Out, Base>
    | SupervisorOptions<Name, Workers, In, Out>
  ) &
    DescribedWorkers<Workers>,
): Supervisor<Name, Inferred<LeadInput<In, Base>>, Inferred<LeadOutput<Out, Base, O>>, NameOf<Workers[number]>>
export function supervisor(given: object): Supervisor {
  mustBeOptions(given, 'supervisor', 'team.invalid')
  return renamable(makeLeader(given as AnySupervisorOptions), (name) =>
    supervisor({
      ...(given as CodeSupervisorOptions<string, readonly Agent[], undefined, undefined, unknown, readonly Agent[]>),
      name,
    }),
  )
}

function makeLeader(options: AnySupervisorOptions): Supervisor {
  const where = `supervisor "${options.name}"`
  mustHaveModelOrCode(options, where, supervisorOptionNames)
  const { base } = options
  const reflected = reflectedBy(base)
  if (reflected !== undefined) return makeReflectingLeader(base!, reflected, options)
  const whole = basedOn(options)
  if (whole === undefined) throwBaseProblem(where, base, unknownNames(options, supervisorOptionNames, where))
  mustHaveModelOrCode(whole, where, supervisorOptionNames)
  const { run } = whole
  const made =
    typeof run === 'function'
      ? defineAgent(
          codeLeader,
          codeLeaderParts(whole, () => run),
        )
      : defineAgent(modelLeader, modelLeaderParts(whole as ModelSupervisorOptions))
  if (typeof whole.workers !== 'function') checkTree(made)
  return made as unknown as Supervisor
}

/** A reflection stays as it is, and its wrapped agent gets the team. Options of the whole hold for the whole. */
function makeReflectingLeader(base: Agent, reflected: Agent, options: AnySupervisorOptions): Supervisor {
  const { name, description, outputKey, limits, oversight, version, ...own } = options
  const inner = makeLeader({ ...own, name: `${name}_lead`, base: reflected })
  const outer = reflectAround(base, inner, { name, description, outputKey, limits, oversight, version })
  return Object.assign(outer, {
    team: () => inner.team(),
    add: (worker: Agent) => inner.add(worker),
    remove: (worker: string) => inner.remove(worker),
  })
}

const defaultGuidance = 'You lead a team. Delegate what a worker does best. Workers:'

/** What a version is made of where no guidance is given: the words of 0.2.0. Other words alone are no other version. */
const versionedGuidance =
  'You lead a team. Delegate what a worker does best, and answer yourself when you have what you need. A worker knows only what you tell it. Your workers:'

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

type ModelSupervisorOptions = AnySupervisorOptions & ModelAgentFacts

interface ModelLeaderParts extends ModelAgentParts<ModelSupervisorOptions> {
  readonly policy: LeaderPolicy
}

function modelLeaderParts(options: ModelSupervisorOptions): ModelLeaderParts {
  const { name, limits, guidance = defaultGuidance } = options
  const { inputSchema, outputSchema } = schemasOf(options, `supervisor "${name}"`)
  const setup = modelSetup(name, options, outputSchema, limits)
  const policy = leaderPolicy(options, outputSchema, {
    access: setup,
    tools: setup.tools.map((tool) => new ToolBinding(tool, name, outputSchema)),
  })
  return modelParts({
    options,
    policy,
    inputSchema,
    ...teamParts(policy),
    hooked: ['turns', 'delegation'],
    setup: {
      ...setup,
      open: (state, instructions = '') => {
        const team = new TeamToolbox(policy, state.edge.team.roster ?? policy.roster.names(), true, state.files)
        const { background } = team
        return {
          system: systemText(instructions, guidance, team.lines()),
          toolbox: team,
          labelsFiles: true,
          ...present({ background }),
        }
      },
    },
  })
}

const modelLeader: AgentKind<ModelLeaderParts, ModelAgentMembers & LeaderMembers> = {
  data: ({ options, policy, setup: { instructions = '', model, tools } }, agent) => {
    const { guidance = versionedGuidance } = options
    return {
      ...dataOf(agent, {
        instructions: instructions === '' ? guidance : `${instructions}\n\n${guidance}`,
        model: model.id,
        tools,
        workers: policy.roster.names(),
        options,
      }),
      ...versionedOptions(options),
    }
  },
  orchestrate: (parts, ctx, edge, agent) => {
    const { roster } = parts.policy
    const isEmpty = (edge.team.roster ?? roster.names()).length === 0 && roster.specialists.length === 0
    return isEmpty
      ? Promise.resolve(failed(emptyRefusal(agent.name)))
      : modelAgentKind.orchestrate(parts, ctx, edge, agent)
  },
  related: (parts) => [...parts.policy.roster.everyWorker(), ...modelAgentKind.related(parts)],
  problems: (parts, agent) => {
    const { options, policy, setup } = parts
    const { roster, verbs } = policy
    const team = [...roster.workers(), ...roster.specialists]
    const typed = team.flatMap((worker) => (worker.inputSchema === undefined ? [] : [worker.name]))
    return [
      ...leaderProblems(options, roster, modelSupervisorChecks(roster)),
      ...verbProblems(options.verbs, typed, `supervisor "${options.name}"`),
      ...toolProblems(options.name, setup.tools, verbsTaken(verbs, team), options.assess),
      ...modelAgentKind.problems(parts, agent),
    ]
  },
  more: (parts) => {
    const { policy } = parts
    const [ofModel, ofLeader] = [modelAgentKind.more(parts), leaderMembers(policy)]
    return {
      ...ofModel,
      ...ofLeader,
      definition: () => ofLeader.definition() as ModelSupervisorOptions,
      usdCaps: () => [...ofModel.usdCaps(), ...ofLeader.usdCaps()],
      toolCount: () =>
        offeredCount(new TeamToolbox(policy, policy.roster.names(), true).specs.length, parts.setup.tools),
    }
  },
}
