/**
 * Tenants: which agents belong to which tenant.
 *
 * Owns: the option `tenants`, whose an agent is. Pure. Does not own: the tenant of a run (start.ts), who may act for a
 * tenant (../server).
 * Holds: an agent that tenants name is theirs alone, with the workers that only their agents reach; every other agent is
 * everybody's. An agent that reaches one of another tenant is not usable: it would lend that tenant's keys.
 */
import { reachableAgents, type Agent } from '@reeve/agent'
import { expects, listOf, meantInstead, object, recordOf, required, type Check } from '@reeve/core'

/** What belongs to one tenant. */
export interface TenantOptions {
  /** The names of its agents. Several tenants may name one agent. */
  readonly agents: readonly string[]
}

/** Tenants by their names. */
export type Tenants = { readonly [tenant: string]: TenantOptions }

const tenantForm = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

/** A tenant is part of the names of streams: the same letters as a session. */
export const tenantCheck = expects(
  (given) => typeof given === 'string' && tenantForm.test(given),
  'a tenant: 1 to 128 letters, digits, ".", "_", ":", "@" or "-", beginning with a letter or digit',
)

const agentName = expects((given) => typeof given === 'string' && given !== '', 'the name of an agent')

/** The check of the option. The names of its agents: `strangeAgents`. */
export const tenantsCheck: Check = recordOf(
  object<TenantOptions>({ agents: required(listOf(agentName, 'names of agents')) }),
  'what belongs to each tenant',
  (tenant, where) => tenantCheck(tenant, where)[0],
)

/** Agents that tenants name and that are not registered: they would be everybody's in silence. */
export const strangeAgents = (tenants: Tenants, registered: readonly string[]): readonly string[] =>
  Object.entries(tenants).flatMap(([tenant, { agents }]) =>
    agents.flatMap((name) =>
      registered.includes(name)
        ? []
        : [
            `createRuntime: tenants.${tenant}.agents: unknown agent "${name}"${meantInstead(name, registered, 'known:')}`,
          ],
    ),
  )

/** The tenants that may use an agent; undefined: all of them. */
export type OwnersOf = (agent: Agent) => readonly string[] | undefined

/**
 * Whose each agent is. What only agents of tenants reach is as the rosters of teams were when the first was asked for;
 * whom an agent reaches is as it is now. `given`: the agents that the runtime was given; `named`: a
 * registered agent.
 */
export function agentOwners(
  tenants: Tenants | undefined,
  given: readonly Agent[],
  named: (name: string) => Agent | undefined,
): OwnersOf {
  if (tenants === undefined) return () => undefined
  const naming = new Map<string, string[]>()
  for (const [tenant, { agents }] of Object.entries(tenants))
    for (const name of new Set(agents)) naming.set(name, [...(naming.get(name) ?? []), tenant])
  /** What these agents reach without passing through one that is named for others. */
  const reach = (roots: readonly Agent[], passes: (agent: Agent) => boolean): readonly Agent[] =>
    reachableAgents(roots.filter(passes), passes).filter(passes)
  let unnamed: { readonly open: ReadonlySet<string>; readonly owned: ReadonlyMap<string, string[]> } | undefined
  const ofUnnamed = (): NonNullable<typeof unnamed> => {
    const open = new Set(reach(given, ({ name }) => !naming.has(name)).map(({ name }) => name))
    const owned = new Map<string, string[]>()
    for (const [tenant, { agents }] of Object.entries(tenants)) {
      const isPassed = ({ name }: Agent): boolean => naming.get(name)?.includes(tenant) ?? !open.has(name)
      const roots = agents.flatMap((name) => named(name) ?? [])
      for (const { name } of reach(roots, isPassed)) owned.set(name, [...(owned.get(name) ?? []), tenant])
    }
    return { open, owned }
  }
  return (agent) => {
    let owners: readonly string[] | undefined
    for (const { name } of reachableAgents([agent])) {
      let these: readonly string[] | undefined = naming.get(name)
      if (these === undefined) {
        const { open, owned } = (unnamed ??= ofUnnamed())
        these = open.has(name) ? undefined : owned.get(name)
      }
      if (these !== undefined) owners = owners?.filter((each) => these.includes(each)) ?? these
    }
    return owners
  }
}

/** Whether an agent with these owners may be used in a run of this tenant. A run without a tenant is the application's. */
export const isUsableBy = (owners: readonly string[] | undefined, tenant: string | undefined): boolean =>
  owners === undefined || tenant === undefined || owners.includes(tenant)
