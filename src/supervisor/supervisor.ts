/**
 * supervisor(): a mind that leads others. The same turn loop as every mind's, with verbs to delegate, forward and recruit.
 *
 * Owns: the public constructor, its options and their types, its checks, the text that introduces the team to the model.
 * Does not own: the verbs (verbs.ts), one delegation (delegation.ts), the loop (../agent).
 */
import { described, hasNames, mustBeOptions, unknownNames, type NamesOf } from '../core/index.ts'
import {
  dataOf,
  factNames,
  factProblems,
  MindAgent,
  mindNames,
  mindOf,
  mindProblems,
  mustHaveBrain,
  refuseTeam,
  schemaOf,
  ToolBinding,
  toolProblems,
  versionOf,
  type Agent,
  type AgentFacts,
  type MindFacts,
  type NameOf,
} from '../agent/index.ts'
import { limitProblems, permissionProblems, type Infer, type SchemaLike } from '../edge/index.ts'
import { typedVerb, verbNames, type Delegation, type WorkerDelegation } from './delegation.ts'
import { emptyRefusal, Roster } from './roster.ts'
import { TeamDesk, type TeamPolicy } from './team-desk.ts'

/** A leader of workers. */
export interface Supervisor<Name extends string = string, I = unknown, O = unknown, Workers extends string = string> extends Agent<
  Name,
  I,
  O
> {
  /** The names of its workers as they are now. */
  team(): readonly Workers[]
  /** Adds a worker for runs that begin later. Throws `team.invalid`. */
  add(worker: Agent): void
  /** Removes a worker for runs that begin later; returns it, or undefined if there is none. Removing the last one makes later runs fail with `team.empty`. */
  remove(name: string): Agent | undefined
}

/** How a supervisor is defined. */
export interface SupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends AgentFacts<Name, In, Out>, MindFacts {
  /** Who works for it. A function is asked when a run begins, and may name agents that are defined later. */
  readonly workers: Workers | (() => Workers)
  /** What crosses to the workers. Default: the brief only, with the leader's own permissions and limits. */
  readonly delegation?: Delegation<NameOf<Workers[number]>>
  /** Who may be recruited while a run goes on. Default: nobody. */
  readonly specialists?: readonly Agent[]
  /** The most workers there may be, recruits included. A team that begins larger is not cut. Default 10. */
  readonly maxTeamSize?: number
  /** How many workers may work at once. Default: all. */
  readonly concurrency?: number
  /** The text between the instructions and the list of workers. Taken as it is: braces mean nothing. Default: two sentences on delegating. */
  readonly guidance?: string
}

const defaultGuidance =
  'You lead a team. Delegate what a worker does best, and answer yourself when you have what you need. A worker knows only what you tell it. Your workers:'

/**
 * Defines a supervisor. Throws `team.empty` without workers, and `team.invalid` with everything else that is wrong with its team: names, two workers of one name, missing
 * descriptions, tools that are called like Reeve's own verbs. With `workers: () => …` the team is checked when a runtime is made.
 */
export function supervisor<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(options: SupervisorOptions<Name, Workers, In, Out>): Supervisor<Name, Infer<In>, Infer<Out>, NameOf<Workers[number]>> {
  mustBeOptions(options, 'supervisor', 'team.invalid')
  mustHaveBrain(options, `supervisor "${options.name}"`, optionNames)
  type Made = Supervisor<Name, Infer<In>, Infer<Out>, NameOf<Workers[number]>>
  return new SupervisorAgent(options) as unknown as Made
}

type AnyOptions = SupervisorOptions<string, readonly Agent[], SchemaLike | undefined, SchemaLike | undefined>

const optionNames: NamesOf<AnyOptions> = {
  ...factNames,
  ...mindNames,
  workers: true,
  delegation: true,
  specialists: true,
  maxTeamSize: true,
  concurrency: true,
  guidance: true,
}
const workerDelegationNames: NamesOf<WorkerDelegation> = { context: true, permissions: true, limits: true }
const delegationNames: NamesOf<Delegation> = { ...workerDelegationNames, workers: true }

class SupervisorAgent extends MindAgent {
  readonly #roster: Roster

  constructor(options: AnyOptions) {
    const { name, description = '', limits, outputKey, delegation = {}, workers, specialists = [], maxTeamSize = 10, concurrency } = options
    const roster = new Roster(name, workers, specialists)
    const inputSchema = schemaOf(options.input, `supervisor "${name}": input`)
    const output = schemaOf(options.output, `supervisor "${name}": output`)
    const mind = mindOf(name, options, output, limits)
    const { tools, model } = mind
    const policy: TeamPolicy = {
      leader: name,
      roster,
      delegation,
      concurrency,
      maxTeamSize,
      output,
      tools: tools.map((tool) => new ToolBinding(tool, name, output)),
    }
    const guidance = options.guidance ?? defaultGuidance
    const guided = (instructions = ''): string => (instructions === '' ? guidance : `${instructions}\n\n${guidance}`)
    const namesNow = (): string[] => roster.workers().map((worker) => worker.name)
    super({
      description,
      version: () =>
        versionOf(
          options.version,
          dataOf({
            instructions: guided(mind.instructions),
            model: model.id,
            tools,
            input: inputSchema,
            output,
            limits,
            outputKey,
            workers: namesNow(),
            options,
          }),
        ),
      mind: {
        ...mind,
        open: (desk, instructions) => {
          const team = new TeamDesk(policy, desk.edge.team ?? namesNow())
          const before = guided(instructions)
          return { system: team.names.length === 0 ? before : `${before}\n${team.lines()}`, toolbox: team }
        },
      },
      inputSchema,
      limits,
      outputKey,
      workers: () => roster.everybody(),
      team: namesNow,
      refusal: (edge) => ((edge.team ?? namesNow()).length === 0 && roster.specialists.length === 0 ? emptyRefusal(name) : undefined),
      problems: () => problemsOf(options, roster, tools),
    })
    this.#roster = roster
    if (typeof workers !== 'function') refuseTeam(this.problems())
  }

  add(worker: Agent): void {
    this.#roster.add(worker)
  }

  remove(name: string): Agent | undefined {
    return this.#roster.remove(name)
  }
}

function problemsOf(options: AnyOptions, roster: Roster, tools: Parameters<typeof toolProblems>[1]): readonly string[] {
  const { name, maxTeamSize, concurrency } = options
  const delegation: Delegation = hasNames(options.delegation) ? options.delegation : {}
  const exceptions: NonNullable<Delegation['workers']> = hasNames(delegation.workers) ? delegation.workers : {}
  const where = `supervisor "${name}"`
  const team = [...roster.workers(), ...roster.specialists]
  const taken = new Set<string>([...Object.values(verbNames), ...team.map((worker) => typedVerb(worker.name))])
  const known = new Set(roster.everybody().map((worker) => worker.name))
  return [
    ...unknownNames(options, optionNames, where),
    ...factProblems(options),
    ...mindProblems(options, where),
    ...roster.problems(),
    ...toolProblems(name, tools, taken),
    ...(options.delegation === undefined ? [] : unknownNames(options.delegation, delegationNames, `${where}: delegation`)),
    ...delegationProblems(delegation, where),
    ...(hasNames(delegation.workers ?? {})
      ? []
      : [`${where}: delegation.workers is ${described(delegation.workers)}, expected exceptions by name`]),
    ...Object.entries(exceptions).flatMap(([worker, own]) => [
      ...(known.has(worker)
        ? []
        : [`${where}: delegation.workers names "${worker}", who does not work here; who does: ${[...known].join(', ')}`]),
      ...(own === undefined ? [] : unknownNames(own, workerDelegationNames, `${where}: delegation.workers.${worker}`)),
      ...(hasNames(own) ? delegationProblems(own, `${where}: delegation.workers.${worker}`) : []),
    ]),
    ...(maxTeamSize === undefined || (Number.isInteger(maxTeamSize) && maxTeamSize > 0)
      ? []
      : [`${where}: maxTeamSize is ${maxTeamSize}, expected a whole number of at least 1`]),
    ...(concurrency === undefined || (Number.isInteger(concurrency) && concurrency > 0)
      ? []
      : [`${where}: concurrency is ${concurrency}, expected a whole number of at least 1`]),
  ]
}

const policies: ReadonlySet<unknown> = new Set([undefined, 'brief', 'answers', 'conversation'])

function delegationProblems({ context, permissions, limits }: WorkerDelegation, where: string): string[] {
  return [
    ...(policies.has(context) || typeof context === 'function'
      ? []
      : [`${where}: context is ${JSON.stringify(context)}, expected "brief", "answers", "conversation" or a function`]),
    ...(permissions === undefined ? [] : permissionProblems(permissions, where)),
    ...(limits === undefined ? [] : limitProblems(limits, where)),
  ]
}
