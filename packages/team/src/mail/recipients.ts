/**
 * Recipients of mail: a member, all members of a role, or all others. Pure.
 *
 * Owns: reading `to`. Does not own: who is on the team (../state/directory.ts), mail without a recipient (mailbox.ts).
 */
import type { Directory } from '../state/directory.ts'
import { waitsAsRole, type Addressees } from './mailbox.ts'

/**
 * Recipients of mail. `everybody`: all members but the sender. Ended members receive nothing.
 */
export type Address =
  | { readonly type: 'everybody' }
  | { readonly type: 'role'; readonly role: string }
  | { readonly type: 'member'; readonly member: string }

/** Reads `to`; undefined if it is no valid address. */
export function addressOf(to: string): Address | undefined {
  const name = to.trim()
  if (name === '*') return { type: 'everybody' }
  const role = /^role:(.*)$/is.exec(name)?.[1]?.trim()
  if (role !== undefined) return role === '' ? undefined : { type: 'role', role }
  return name === '' ? undefined : { type: 'member', member: name }
}

/**
 * Who that is now. `sender`: the member who writes; undefined if it is none. Mail to members gone for good is dropped.
 */
export function addresseesOf(
  address: Address,
  sender: string | undefined,
  team: Pick<Directory, 'here' | 'isThere' | 'get'>,
): Addressees {
  switch (address.type) {
    case 'everybody':
      return { recipients: team.here().filter((member) => member !== sender) }
    case 'role':
      return { recipients: team.here(address.role), waitsAs: waitsAsRole(address.role) }
    case 'member': {
      const { member } = address
      if (team.isThere(member)) return { recipients: [member] }
      return team.get(member) === undefined ? { recipients: [], waitsAs: member } : { recipients: [] }
    }
  }
}
