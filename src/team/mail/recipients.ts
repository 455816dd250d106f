/**
 * Recipients: for whom mail is: a member, everybody of a role, everybody else. Pure.
 *
 * Owns: reading `to`. Does not own: who is on the team (../staff/directory.ts), what becomes of mail for nobody
 * (mailbox.ts).
 */
import type { Directory } from '../staff/directory.ts'
import { waitsAsRole, type Addressees } from './mailbox.ts'

/**
 * For whom mail is. `type`: `everybody` is everybody but the sender; whoever has ended is nobody's recipient any more.
 */
export type Address =
  | { readonly type: 'everybody' }
  | { readonly type: 'role'; readonly role: string }
  | { readonly type: 'member'; readonly member: string }

/** Reads `to`; undefined if nobody could be meant by it. */
export function addressOf(to: string): Address | undefined {
  const name = to.trim()
  if (name === '*') return { type: 'everybody' }
  const role = /^role:(.*)$/is.exec(name)?.[1]?.trim()
  if (role !== undefined) return role === '' ? undefined : { type: 'role', role }
  return name === '' ? undefined : { type: 'member', member: name }
}

/**
 * Who that is now. `sender`: the member who writes; undefined if it is none. Mail to those who have gone for good waits
 * for nobody.
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
