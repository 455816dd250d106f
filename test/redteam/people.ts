/**
 * Who is there: principals of every role, without a tenant and of two tenants.
 *
 * Owns: their names, roles, tenants and tokens.
 */
import type { Principal } from '@reeve/server'

const names = {
  // the installation's
  ada: { roles: ['admin'] },
  oscar: { roles: ['operator'] },
  paula: { roles: ['approver'] },
  otto: { roles: ['operator', 'approver'] },
  vic: { roles: ['viewer'] },
  cfo: { roles: ['approver'] },
  // of acme
  agnes: { roles: ['admin'], tenant: 'acme' },
  alice: { roles: ['operator'], tenant: 'acme' },
  bob: { roles: ['operator'], tenant: 'acme' },
  amy: { roles: ['approver'], tenant: 'acme' },
  anton: { roles: ['operator', 'approver'], tenant: 'acme' },
  avery: { roles: ['viewer'], tenant: 'acme' },
  // of globex
  gustav: { roles: ['admin'], tenant: 'globex' },
  gina: { roles: ['operator'], tenant: 'globex' },
  gary: { roles: ['approver'], tenant: 'globex' },
  greta: { roles: ['operator', 'approver'], tenant: 'globex' },
  grace: { roles: ['viewer'], tenant: 'globex' },
} as const satisfies Readonly<Record<string, Omit<Principal, 'name'>>>

export type Person = keyof typeof names

export const people = Object.keys(names) as readonly Person[]

export const principalOf = (person: Person): Principal => ({ name: person, ...names[person] })

/** The bearer token of a person. */
export const tokenOf = (person: string): string => `token-of-${person}`.padEnd(32, '-')

/** The `auth` of a server that knows all of them. */
export const everyone: { readonly tokens: Readonly<Record<string, Principal>> } = {
  tokens: Object.fromEntries(people.map((person) => [tokenOf(person), principalOf(person)])),
}
