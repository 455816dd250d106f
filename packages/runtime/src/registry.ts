/**
 * The registry: the agents of a runtime, by name and version.
 *
 * Owns: finding an agent, wrapping it as code for the engine. Does not own: reachable agents and their checks
 * (agent/agent-checks.ts), the version of a run (the engine).
 * Holds: code is not durable: the journal has names and versions, which the registry turns back into code.
 */
import { checkAgents, isAgent, reachableAgents, type Agent } from '@reeve/agent'
import { described, nearest, ReeveError, type Now } from '@reeve/core'
import { readEdge, trustsOf, type Oversight } from '@reeve/edge'
import type { Orchestration, Registry } from '@reeve/engine'
import { channelOf, channelWork, missingChannel, unregistered, waitingMessage, type Channel } from '@reeve/oversight'
import { workOf, type LayerParts } from './layers.ts'
import { agentOwners, isUsableBy, type OwnersOf, type Tenants } from './tenants.ts'

/** The agents of a runtime. */
export interface Agents extends Registry {
  load(): Now<void>
  /**
   * The registered agent, with members that joined its team since; throws `agent.not-registered`. An agent object must
   * be the registered one, or have the same name and version. `tenant`: to one, the agents of others are not there.
   */
  require(agent: Agent | string, tenant?: string): Agent
  /** Throws as for an agent that is not there, if this registered one is not the tenant's. */
  mustBeOf(agent: string, tenant: string | undefined): void
  /** Whose each agent is. */
  owners(): OwnersOf
  /** All agents. */
  readonly names: readonly string[]
  /** The trust names of their oversight. */
  readonly trusts: readonly string[]
  /**
   * Throws `config.invalid` if an agent names a channel that is not registered, or `input.invalid` if the oversight of
   * a start does; all of them in one error.
   */
  mustHaveChannels(started?: Oversight): void
  /**
   * The agent in this version: an exact one, or the newest that declares it; without a version, the newest. Undefined
   * if unknown.
   */
  named(name: string, version?: string): Agent | undefined
}

/**
 * Registers the agents and all agents that they reach; `earlier`: former versions for runs that began with them. Throws
 * (`team.invalid` and others) with every problem of every agent in one message. `parts`: for the layers of every agent.
 * `channels`: absent if this process drives no run. `tenants`: whose agents are. `builtIn`: code of Reeve's own, which
 * is driven here, and which no caller starts or sees as an agent.
 */
export function registerAgents(
  given: readonly Agent[],
  earlier: readonly Agent[],
  onMissingVersion: 'move' | 'park',
  parts: LayerParts = { endOf: () => Promise.resolve(undefined) },
  channels?: readonly Channel[],
  tenants?: Tenants,
  builtIn: readonly Orchestration[] = [],
): Agents {
  const byName = new Map<string, RegisteredVersions>()
  const unloaded = new Set<Agent>()
  /** Known until agents are registered. */
  let owners: OwnersOf | undefined
  const register = (agents: readonly Agent[]): void => {
    checkAgents(agents, parts.models?.().prices)
    owners = undefined
    for (const agent of reachableAgents(agents)) {
      const before = byName.get(agent.name)?.versions ?? new Map<string, Agent>()
      before.delete(agent.version)
      byName.set(agent.name, { newest: agent, versions: before.set(agent.version, agent) })
      if (agent.load !== undefined) unloaded.add(agent)
    }
  }
  for (const agent of earlier) register([agent])
  register(given)
  const made = new WeakMap<Agent, Orchestration>()
  const telling = new Map((channels ?? []).map((channel) => [channel.name, channelWork(channel)]))
  const everybody = (): readonly Agent[] => [...byName.values()].flatMap(({ versions }) => [...versions.values()])
  const lookUp = (name: string, version?: string): Agent | undefined => {
    const known = byName.get(name)
    return version === undefined ? known?.newest : known?.versions.get(version)
  }
  const ownersNow = (): OwnersOf => (owners ??= agentOwners(tenants, given, (name) => lookUp(name)))
  /** The registered names that a tenant may hear of. */
  const namesFor = (tenant: string | undefined): readonly string[] => {
    const of = ownersNow()
    return [...byName].flatMap(([name, { newest }]) => (isUsableBy(of(newest), tenant) ? [name] : []))
  }
  const isOf = (agent: Agent, tenant: string | undefined): boolean =>
    tenants === undefined || tenant === undefined || isUsableBy(ownersNow()(agent), tenant)
  return {
    onMissingVersion,
    owners: ownersNow,
    mayBegin(name, tenant) {
      const agent = lookUp(name)
      return agent === undefined || isOf(agent, tenant)
    },
    mustBeOf(name, tenant) {
      const agent = lookUp(name)
      if (agent !== undefined && !isOf(agent, tenant)) throw notRegistered(name, namesFor(tenant))
    },
    get names() {
      return [...byName.keys()]
    },
    get trusts() {
      return trustsIn(everybody())
    },
    mustHaveChannels(started) {
      // a process that drives no run sends no notices
      if (channels === undefined) return
      const known = [...telling.keys()]
      const problems =
        started === undefined ? unregisteredOf(everybody(), known) : unregistered(started, known, 'start')
      if (problems.length > 0)
        throw new ReeveError(started === undefined ? 'config.invalid' : 'input.invalid', problems.join('\n'), {
          hint: 'Give the channels to createRuntime({ channels: [...] }). Nothing was started.',
        })
    },
    find(name, version) {
      const agent = lookUp(name, version)
      if (agent === undefined) {
        const channel = channelOf(name)
        if (channel === undefined) return builtIn.find((each) => each.name === name)
        return telling.get(channel) ?? missingChannel(channel)
      }
      let known = made.get(agent)
      if (known === undefined) made.set(agent, (known = orchestrationOf(agent, parts)))
      return known
    },
    workerVersion(leader, version, worker) {
      // one version of it: there is no choice
      if ((byName.get(worker)?.versions.size ?? 0) < 2) return undefined
      const definition = lookUp(leader, version)
      return definition && reachableAgents([definition]).find(({ name }) => name === worker)?.version
    },
    load() {
      if (unloaded.size === 0) return
      const loading = [...unloaded]
      return Promise.all(loading.map(async (agent) => agent.load?.())).then(() => {
        for (const agent of loading) unloaded.delete(agent)
      })
    },
    named(name, version) {
      const declares = (agent: Agent): boolean => agent.version.split('+')[0] === version
      return lookUp(name, version) ?? [...(byName.get(name)?.versions.values() ?? [])].findLast(declares)
    },
    require(agent, tenant) {
      if (typeof agent !== 'string' && !isAgent(agent))
        throw new ReeveError('agent.not-registered', `expected an agent or its name, not ${described(agent)}`, {
          hint: 'Pass the agent itself, or its name.',
        })
      const found = typeof agent === 'string' ? lookUp(agent) : lookUp(agent.name, agent.version)
      if (found !== undefined) {
        // Rosters may have changed since they were registered, also to a worker that differs only in its functions. One
        // name means one worker in all teams, so all are looked at.
        if (reachableAgents([found]).some((each) => byName.get(each.name)?.versions.get(each.version) !== each))
          register([...new Set([...given, found])])
        if (!isOf(found, tenant)) throw notRegistered(found.name, namesFor(tenant))
        return found
      }
      const name = typeof agent === 'string' ? agent : agent.name
      const others = byName.get(name)?.versions
      if (others !== undefined && typeof agent !== 'string')
        throw new ReeveError(
          'agent.not-registered',
          `the agent "${name}" is registered in another version: this one is ${agent.version}, registered is ${[...others.keys()].join(', ')}`,
          { hint: 'Pass this one to createRuntime({ agents: [...] }), or start the registered one by its name.' },
        )
      throw notRegistered(name, namesFor(tenant))
    },
  }
}

/** The versions of one agent in the order in which they were registered, and the last of them. */
interface RegisteredVersions {
  readonly newest: Agent
  readonly versions: Map<string, Agent>
}

/** The trust names of the oversight of these agents, each once. */
const trustsIn = (agents: readonly Agent[]): readonly string[] => [
  ...new Set(agents.flatMap(({ oversight }) => (oversight === undefined ? [] : trustsOf(oversight)))),
]

/** The unregistered channels that agents name, one sentence each. */
function unregisteredOf(agents: readonly Agent[], channels: readonly string[]): readonly string[] {
  const problems = agents.flatMap(({ name, oversight, channels: own = [] }) => {
    const where = `createRuntime: the agent "${name}"`
    return [
      ...unregistered(oversight, channels, where),
      ...unregistered({ approval: { notify: own } }, channels, where, 'channel'),
    ]
  })
  return [...new Set(problems)]
}

/** `registered`: the names that the caller may hear of. */
export function notRegistered(name: string, registered: readonly string[]): ReeveError {
  const give = 'Give it to createRuntime({ agents: [...] }).'
  const hint = registered.length === 0 ? give : `Registered: ${registered.join(', ')}. ${give}`
  const meant = nearest(name, registered)
  const slip = meant === undefined ? '' : `: did you mean "${meant}"?`
  return new ReeveError('agent.not-registered', `the agent "${name}" is not registered with this runtime${slip}`, {
    hint,
  })
}

function orchestrationOf(agent: Agent, parts: LayerParts): Orchestration {
  const work = workOf(agent, parts)
  return {
    name: agent.name,
    version: agent.version,
    waiting: waitingMessage,
    run: (ctx, input) => work(ctx, readEdge(input)),
  }
}
