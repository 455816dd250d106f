/**
 * The options of a runtime.
 *
 * Owns: what may be given to `createRuntime`, and what is wrong with what was given as such. Does not own: what becomes
 * of it (runtime.ts), what is wrong with the agents (registry.ts).
 */
import { hostChecks } from '@reeve/engine/host'
import type { Agent } from '@reeve/agent'
import {
  choice,
  choiceOr,
  expects,
  functionCheck,
  optionProblems,
  ReeveError,
  refuseProblems,
  unchecked,
  type Checks,
  listOf,
} from '@reeve/core'
import { limitsCheck, type Limits } from '@reeve/edge'
import { pricesCheck, type Prices } from '@reeve/model'
import type { Engine } from '@reeve/engine'
import type { EmbeddedOptions } from '@reeve/sqlite'
import { archiveAfterCheck, durabilityCheck, forFiles } from '@reeve/stores/store-name'
import { channelsCheck, type Channel, type TrustPresets } from '@reeve/oversight'
import type { MayDecide } from './operator/decisions.ts'
import { registeredCheck, type Hooks } from './hooks.ts'
import { loggerCheck, type Logger } from './run-log.ts'
import type { SessionMemory } from './session.ts'
import { strangeAgents, tenantsCheck, type Tenants } from './tenants.ts'
import { strangeRules, trustPresetsCheck } from './operator/trust.ts'
import { choicesCheck, statusCheck, type RevisionStatus, type VersionChoices } from './versions.ts'

/** How a runtime is made. */
export interface RuntimeOptions extends Omit<EmbeddedOptions, 'file'> {
  /**
   * Where runs are kept: the path of an SQLite file, or the address of a PostgreSQL database
   * (`postgres://user:password@host/database`, or `postgresql://…`), which several hosts may share; it needs the
   * package `pg`. Its tables are in the schema `reeve`, or in that of `?schema=name`; more is said with `engine:
   * postgres({ … })` of `reeve/postgres`. Default `:memory:`: lost with the process, and of more than 1,000 ended runs
   * the oldest are removed, unless `retentionMs` says how long they stay.
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
  /**
   * False: read, decide and control, without running anything. `batches`: works on batches alone, and on no run of an
   * agent. Default true.
   */
  readonly drive?: boolean | 'batches'
  /**
   * What becomes of a run whose agent's version is not registered any more: go on with the newest, or park. Default
   * `move`.
   */
  readonly onMissingVersion?: 'move' | 'park'
  /**
   * Where this process logs what it does: runs that begin, wait and end at `info` and `error`, attempts that failed and
   * warnings at `warn`, all else at `debug`. The console or a logger such as pino. What is logged is redacted. Default:
   * nothing is logged, and warnings go to `process.emitWarning`.
   */
  readonly logger?: Logger
  /** Where people are told that something waits for them: oversight names them. Default: nowhere. */
  readonly channels?: readonly Channel[]
  /**
   * Whether an approver may make this decision on an approval: asked in this process by `decide`, after the approval's
   * own rules. Default: its rules alone.
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
  /**
   * Models, by id, that a trial may use besides those of the agents and of versions that are kept. Default: none.
   */
  readonly trialModels?: readonly string[]
  /**
   * What models cost, by model id (`provider/model`), in US dollars for a million tokens. They come before the built-in
   * list. Limits in US dollars, and the costs of views, count with them. Default: the built-in list.
   */
  readonly prices?: Prices
  /**
   * What belongs to each tenant. An agent that tenants name is theirs alone, with the workers that only their agents
   * reach: to another tenant it is not there. One that none names is everybody's. A run without a tenant is the
   * application's, and uses all of them. Default: all agents are everybody's.
   */
  readonly tenants?: Tenants
  /** By which rules trust rises, by name. Default `standard`. */
  readonly trust?: TrustPresets
  /**
   * What becomes of a start that asks for a version that is not there: it begins with the code as it is and says so in
   * its journal, or it throws `version.unknown`. Default `warn`; in strict mode `refuse`.
   */
  readonly onUnknownVersion?: 'warn' | 'refuse'
}

const agentList = expects(Array.isArray, 'a list of agents')

/** The checks of all options of a runtime. */
export const runtimeChecks: Checks<RuntimeOptions> = {
  ...hostChecks,
  store: unchecked,
  engine: unchecked,
  agents: agentList,
  earlier: agentList,
  drive: choiceOr((given) => typeof given === 'boolean', 'true or false', 'batches'),
  onMissingVersion: unchecked,
  logger: loggerCheck,
  channels: channelsCheck,
  mayDecide: functionCheck,
  memory: expects((given) => typeof (given as SessionMemory | null)?.recall === 'function', 'an object with recall'),
  hooks: registeredCheck,
  versions: unchecked, // by mustBeChoices, which knows the agents
  defaultStatus: statusCheck,
  prices: pricesCheck,
  trialModels: listOf(
    expects((given) => typeof given === 'string' && given !== '', 'the id of a model'),
    'ids of models',
  ),
  tenants: tenantsCheck,
  trust: trustPresetsCheck,
  onUnknownVersion: choice('warn', 'refuse'),
  limits: limitsCheck,
  durability: durabilityCheck,
  leaseMs: unchecked,
  busyMs: unchecked,
  archiveAfterMs: archiveAfterCheck,
}

/** Throws what is wrong with the options as such. */
export const mustBeValid = (options: RuntimeOptions): void =>
  refuseProblems(
    'config.invalid',
    optionProblems(runtimeChecks, options, 'createRuntime', ({ limits }, where) => [
      // own turns are those of one agent: no default of all runs
      (limits as Limits | null | undefined)?.ownTurns !== undefined &&
        `${where}: limits.ownTurns is for one agent: state it in its definition`,
    ]),
    'Nothing was opened, and nothing was started.',
  )

/** A choice for an agent that is not here would be passed over in silence. */
export const mustBeChoices = (versions: VersionChoices | undefined, registered: readonly string[]): void =>
  refuseProblems(
    'config.invalid',
    versions === undefined ? [] : choicesCheck(registered)(versions, 'createRuntime: versions'),
    'Nothing was started.',
  )

/** Rules for a trust that no agent has would be passed over in silence. */
export const mustNameAgents = (trust: TrustPresets | undefined, named: readonly string[]): void =>
  refuseProblems('config.invalid', strangeRules(trust, named), 'Nothing was started.')

/** An agent that is not here would be everybody's in silence once it is. */
export const mustBeTenants = (tenants: Tenants | undefined, registered: readonly string[]): void =>
  refuseProblems('config.invalid', strangeAgents(tenants ?? {}, registered), 'Nothing was started.')

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
