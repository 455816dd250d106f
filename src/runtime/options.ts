/**
 * The options of a runtime.
 *
 * Owns: what may be given to `createRuntime`, and what is wrong with what was given as such. Does not own: what becomes
 * of it (runtime.ts), what is wrong with the agents (registry.ts).
 */
import type { Agent } from '../agent/index.ts'
import {
  expects,
  functionCheck,
  knownProblems,
  redactionProblems,
  ReeveError,
  unchecked,
  unknownNames,
  type Checks,
  type NamesOf,
} from '../core/index.ts'
import { limitProblems, type Limits } from '../edge/index.ts'
import type { Engine } from '../engine/index.ts'
import type { EmbeddedOptions } from '../engine/embedded/index.ts'
import { hostOptionNames } from '../engine/host/index.ts'
import { forFiles } from '../engine/store-name.ts'
import { channelProblems, type Channel, type TrustPresets } from '../oversight/index.ts'
import type { MayDecide } from './operator/decisions.ts'
import { registeredProblems, type Hooks } from './hooks.ts'
import type { SessionMemory } from './session.ts'
import { strangeRules, trustPresetProblems } from './operator/trust.ts'
import { choiceProblems, statusProblems, type RevisionStatus, type VersionChoices } from './versions.ts'

/** How a runtime is made. */
export interface RuntimeOptions extends Omit<EmbeddedOptions, 'file'> {
  /**
   * Where runs are kept: the path of an SQLite file, or the address of a PostgreSQL database
   * (`postgres://user:password@host/database`, or `postgresql://…`), which several hosts may share; it needs the
   * package `pg`. Its tables are in the schema `reeve`, or in that of `?schema=name`; more is said with `engine:
   * postgres({ … })` of `reeve/postgres`. Default `:memory:`.
   */
  readonly store?: string
  /**
   * Another engine instead, such as `postgres({ … })` or `restate({ … })`: then neither `store` nor options of the
   * store or of moving runs are given here, but to that engine. The runtime closes it.
   */
  readonly engine?: Engine
  /** Agents to register; everything they can reach is registered with them. */
  readonly agents?: readonly Agent[]
  /**
   * Earlier versions of agents, for runs that began with them and are to end with them. Oldest first. Default: none.
   */
  readonly earlier?: readonly Agent[]
  /** False: read, decide and control, without running anything. Default true. */
  readonly drive?: boolean
  /**
   * What becomes of a run whose agent's version is not registered any more: go on with the newest, or park. Default
   * `move`.
   */
  readonly onMissingVersion?: 'move' | 'park'
  /** Where people are told that something waits for them: oversight names them. Default: nowhere. */
  readonly channels?: readonly Channel[]
  /**
   * Whether somebody may make a decision on an approval: asked in this process by `decide`, after the approval's own
   * rules. Default: its rules alone.
   */
  readonly mayDecide?: MayDecide
  /**
   * Functions that starts may name: `runtime.start(…, { delegation: { onStart: 'name' } })`. Every process that drives
   * runs needs the same ones. Default: none.
   */
  readonly hooks?: Hooks
  /** What runs of a session are shown of it. Default: its last 100 turns. */
  readonly memory?: SessionMemory
  /**
   * Versions of agents that hold in every run that is started here. A run may choose others. Default: the code as it
   * is.
   */
  readonly versions?: VersionChoices
  /**
   * The revisions that hold for all agents that nothing is chosen for: reads what is published at each start. Default:
   * none.
   */
  readonly defaultStatus?: RevisionStatus
  /**
   * Limits of runs whose start and whose root agent say nothing about them. Those that are not said here: 10,000
   * `turns` of the whole tree, 256 `calls` of one answer, 2,000 `tasks` of a planned team. Recorded with each run when
   * it starts: a change holds for those that start later.
   */
  readonly limits?: Omit<Limits, 'ownTurns'>
  /** By which rules trust rises, by name. Default `standard`. */
  readonly trust?: TrustPresets
  /**
   * What becomes of a start that asks for a version that is not there: it begins with the code as it is and says so in
   * its journal, or it throws `version.unknown`. Default `warn`; in strict mode `refuse`.
   */
  readonly onUnknownVersion?: 'warn' | 'refuse'
}

const agentList = expects(Array.isArray, 'a list of agents')
const ownChecks: Checks<Omit<RuntimeOptions, keyof typeof hostOptionNames>> = {
  store: unchecked,
  engine: unchecked,
  agents: agentList,
  earlier: agentList,
  drive: unchecked,
  onMissingVersion: unchecked,
  channels: (given) => channelProblems(given, 'createRuntime'),
  mayDecide: functionCheck,
  memory: expects((given) => typeof (given as SessionMemory | null)?.recall === 'function', 'an object with recall'),
  hooks: registeredProblems,
  versions: unchecked, // by mustBeChoices, which knows the agents
  defaultStatus: (given) => statusProblems(given, 'createRuntime'),
  trust: trustPresetProblems,
  onUnknownVersion: expects((given) => given === 'warn' || given === 'refuse', '"warn" or "refuse"'),
  limits: (given) => runLimitProblems(given as Limits),
  durability: unchecked,
  leaseMs: unchecked,
  busyMs: unchecked,
  writer: unchecked,
}

/** The names of all options of a runtime. */
export const optionNames: NamesOf<RuntimeOptions> = { ...hostOptionNames, ...ownChecks }

/** Throws what is wrong with the options as such. */
export function mustBeFine(options: RuntimeOptions): void {
  const problems = [
    ...unknownNames(options, optionNames, 'createRuntime'),
    ...redactionProblems(options.redact, 'createRuntime: redact'),
    ...knownProblems(ownChecks, options, 'createRuntime'),
  ]
  if (problems.length > 0)
    throw new ReeveError('config.invalid', problems.join('\n'), {
      hint: 'Nothing was opened, and nothing was started.',
    })
}

/** Own turns are those of one agent: no default of all runs. */
function runLimitProblems(limits: Limits): readonly string[] {
  const problems = limitProblems(limits, 'createRuntime')
  return limits?.ownTurns === undefined
    ? problems
    : [...problems, 'createRuntime: limits.ownTurns is for one agent: state it in its definition']
}

/** A choice for somebody who is not here would be passed over in silence. */
export function mustBeChoices(versions: VersionChoices | undefined, registered: readonly string[]): void {
  const problems = choiceProblems(versions, 'createRuntime', registered)
  if (problems.length > 0) throw new ReeveError('config.invalid', problems.join('\n'), { hint: 'Nothing was started.' })
}

/** Rules for a trust that nobody has would be passed over in silence. */
export function mustBeForSomebody(trust: TrustPresets | undefined, named: readonly string[]): void {
  const problems = strangeRules(trust, named)
  if (problems.length > 0) throw new ReeveError('config.invalid', problems.join('\n'), { hint: 'Nothing was started.' })
}

/** An option that the chosen engine does not know would be passed over in silence, `redact` among them. */
export function mustMeanSomething(
  engine: 'file' | 'postgres' | 'engine',
  { clock: _clock, ...others }: Omit<EmbeddedOptions, 'file'> & { readonly store: string | undefined },
): void {
  const given = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const names =
    engine === 'engine'
      ? given
      : engine === 'postgres'
        ? given.filter((name) => (forFiles as readonly string[]).includes(name))
        : []
  if (names.length === 0) return
  throw engine === 'engine'
    ? new ReeveError(
        'config.invalid',
        `createRuntime: ${names.join(', ')} is for the engine of \`store\` and would have no effect on the engine that is given`,
        { hint: 'Give it to that engine instead, for example postgres({ redact: … }) or restate({ redact: … }).' },
      )
    : new ReeveError(
        'config.invalid',
        `createRuntime: ${names.join(', ')} is for a store in a file and would have no effect on PostgreSQL`,
        {
          hint: 'Leave it out. How durable a commit is, is set on the server (synchronous_commit).',
        },
      )
}
