/**
 * Principals: who makes a request, and what their roles allow.
 *
 * Owns: the check of a principal, the table of what a role includes, what a tenant's principal may reach. Pure. Does
 * not own: how a principal is found out (authentication.ts), which role a route asks for (routes/).
 * Holds: a principal is read by its own members, and one with an unknown member is refused: a misspelt `tenant` would
 * see every tenant's runs. A name that would change in `personName` is refused: nobody is taken for another.
 */
import {
  expects,
  hasNames,
  listOf,
  optionProblems,
  personName,
  ReeveError,
  required,
  visible,
  choiceIn,
  type Check,
  type Checks,
} from '@reeve/core'
import type { Principal, Role } from '../wire.ts'

/** What each role may do: the roles that it includes. */
const included: Readonly<Record<Role, readonly Role[]>> = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator'],
  approver: ['viewer', 'approver'],
  admin: ['viewer', 'operator', 'approver', 'admin'],
}

/** Whether a principal may do what asks for this role. */
export const allows = ({ roles }: Pick<Principal, 'roles'>, needed: Role): boolean =>
  roles.some((role) => included[role].includes(needed))

/** Whether a principal is an admin of all that their tenant has: one of some agents has no say about people. */
export const administers = (principal: Principal): boolean =>
  allows(principal, 'admin') && principal.agents === undefined

/** How long a name may be, in characters. */
const longestName = 256
const tenant = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/u

const lengthCheck = expects(
  (given) => typeof given === 'string' && given.length <= longestName && personName(given) !== '',
  `a name of 1 to ${longestName} characters`,
)
/** What is drawn as nothing, or as whatever a font likes, and is no format character. */
const unseen = /[\u2800\p{Cn}\p{Co}\p{Cs}]/u

/**
 * A name is taken as it is or not at all: brought into another form, two people of the identity provider could become
 * one here.
 */
const nameCheck: Check = (given, where) => {
  const problems = lengthCheck(given, where)
  if (problems.length > 0 || typeof given !== 'string') return problems
  if (personName(given) === given && !unseen.test(given)) return []
  return [
    `${where} "${visible(given)}" has characters that are invisible or have another form: without them it is "${visible(personName(given))}", who may be somebody else`,
  ]
}

const principalChecks: Checks<Principal> = {
  name: required(nameCheck),
  roles: required(listOf(choiceIn(included), 'roles')),
  tenant: expects(
    (given) => typeof given === 'string' && tenant.test(given),
    'a tenant: 1 to 128 letters, digits, ".", "_", ":", "@" or "-", beginning with a letter or digit',
  ),
  agents: listOf(
    expects((given) => typeof given === 'string' && given !== '', 'the name of an agent'),
    'names of agents',
  ),
}

/** What is wrong with a principal, one sentence each. */
export const principalProblems = (given: unknown, where: string): readonly string[] =>
  optionProblems(principalChecks, ownMembers(given), where)

/** The principal as it is recorded: its own members alone. For one without problems. */
export function asPrincipal(given: unknown): Principal {
  const { name, roles, tenant: of, agents } = ownMembers(given) as Principal
  return {
    name,
    roles: [...new Set(roles)],
    ...(of === undefined ? undefined : { tenant: of }),
    ...(agents === undefined ? undefined : { agents: [...new Set(agents)] }),
  }
}

const ownMembers = (given: unknown): unknown =>
  hasNames(given) ? Object.assign(Object.create(null) as object, given) : given

/** Throws `request.forbidden` for a principal whose roles do not allow this. */
export function mustAllow(principal: Principal, needed: Role): void {
  if (allows(principal, needed)) return
  throw new ReeveError('request.forbidden', `${JSON.stringify(principal.name)} needs the role "${needed}"`, {
    hint: `Their roles: ${principal.roles.length === 0 ? 'none' : principal.roles.join(', ')}. Nothing was done.`,
  })
}

/** Throws `request.forbidden` for a principal of a tenant, or of some agents, where all share what is asked for. */
export function mustReachAll({ tenant, agents }: Principal): void {
  if (tenant === undefined && agents === undefined) return
  const whose = tenant === undefined ? 'some agents' : 'one tenant'
  throw new ReeveError('request.forbidden', `all tenants share this: a principal of ${whose} may not use it`, {
    hint: 'Use a principal without a tenant, and for all agents. Nothing was done.',
  })
}
