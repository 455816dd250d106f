/**
 * The directory of a team: all members it ever had, with their statuses (spec team 1.9, R-9).
 *
 * Owns: ids, the machine of statuses, copies. Does not own: why a member joins or leaves (../staff, ../schedule). Pure but for being written to.
 */
import { copy } from '@reeve/core'
import type { TeamEntry } from '@reeve/agent'

/** The status of a team member. */
export type TeamMemberStatus = TeamEntry['status']

const after: Readonly<Record<TeamMemberStatus, readonly TeamMemberStatus[]>> = {
  pending: ['running', 'cancelled', 'skipped', 'retired', 'failed'],
  running: ['paused', 'completed', 'failed', 'retired', 'cancelled', 'pending', 'skipped'],
  paused: ['running', 'cancelled', 'retired', 'failed', 'completed'],
  completed: [],
  failed: [],
  retired: [],
  cancelled: [],
  skipped: [],
}

/** A role as part of an id: in small letters; what is no letter, digit, "-" or "_" becomes "_". */
function slug(role: string): string {
  const plain = role
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_-]+/gu, '_')
    .replace(/^_+/, '')
  return [...plain].slice(0, 48).join('').replace(/_+$/, '') || 'member'
}

/** Roles are the same without white space around them and without regard to case. */
export const isSameRole = (one: string, other: string): boolean =>
  one.trim().toLowerCase() === other.trim().toLowerCase()

type Member = { -readonly [K in keyof TeamEntry]: TeamEntry[K] }

const isThere = ({ status }: TeamEntry): boolean => after[status].length > 0

export class Directory {
  readonly #entries = new Map<string, Member>()
  readonly #numbers = new Map<string, number>()
  readonly #before = new Map<string, number>()
  /** Who leaves with the end of its task. */
  readonly #leaving = new Set<string>()
  readonly #now: (() => number) | undefined

  /** `now`: milliseconds since 1970, for the start and end of members. Default: no times. */
  constructor(now?: () => number) {
    this.#now = now
  }

  /**
   * A new id for a member of this role, `analyst_1`; for a recruit `dynamic_analyst_1`. No id is used twice, nor one
   * that `isTaken`.
   */
  newId(role: string, recruited: boolean, isTaken: (id: string) => boolean = () => false): string {
    const stem = `${recruited ? 'dynamic_' : ''}${slug(role)}`
    for (;;) {
      const number = (this.#numbers.get(stem) ?? 0) + 1
      this.#numbers.set(stem, number)
      const id = `${stem}_${number}`
      if (!this.#entries.has(id) && !isTaken(id)) return id
    }
  }

  /** Whether a member may yet join under this name: it is one that `newId` makes, and it is free. */
  mayJoin(name: string): boolean {
    return !this.#entries.has(name) && /_[1-9]\d*$/.test(name)
  }

  /** `before`: how often others have tried its task. */
  join(entry: Omit<TeamEntry, 'status' | 'attempts'>, before = 0): void {
    this.#before.set(entry.member, before)
    this.#entries.set(entry.member, { ...entry, status: 'pending', attempts: 0 })
  }

  /**
   * Changes a member's status. An invalid step changes nothing: no member comes back from an end. A member due to leave
   * after its task has retired then, however that ended.
   */
  move(member: string, status: TeamMemberStatus): void {
    const entry = this.#entries.get(member)
    if (entry === undefined) return
    const to = after[status].length === 0 && this.#leaving.has(member) ? 'retired' : status
    if (!after[entry.status].includes(to)) return
    entry.status = to
    const at = this.#now?.()
    if (at === undefined) return
    if (to === 'running') entry.startedAt ??= at
    else if (!isThere(entry)) entry.endedAt = at
  }

  /**
   * A member redoes its ended task, and is there as before. False: it has retired, and does not come back.
   */
  back(member: string): boolean {
    const entry = this.#entries.get(member)
    if (entry === undefined || entry.status === 'retired') return false
    entry.status = 'pending'
    delete entry.endedAt
    return true
  }

  /** Marks a member to leave as soon as its task has ended. */
  leaveAfterTask(member: string): void {
    this.#leaving.add(member)
  }

  /** Whether a member leaves as soon as its task has ended. */
  isLeaving(member: string): boolean {
    return this.#leaving.has(member) && this.isThere(member)
  }

  /** How often a member's task was attempted, and how the last attempt failed. */
  tried(member: string, attempts: number, lastError: string | undefined): void {
    const entry = this.#entries.get(member)
    if (entry === undefined) return
    entry.attempts = attempts - (this.#before.get(member) ?? 0)
    if (lastError !== undefined) entry.lastError = lastError
  }

  get(member: string): TeamEntry | undefined {
    const entry = this.#entries.get(member)
    return entry === undefined ? undefined : copy(entry)
  }

  /** In the order in which they joined. */
  list(role?: string): readonly TeamEntry[] {
    return copy([...this.#entries.values()].filter((each) => role === undefined || isSameRole(each.role, role)))
  }

  /** How many were ever on it; or who have not left. */
  size(counts: 'ever' | 'active'): number {
    return counts === 'ever' ? this.#entries.size : [...this.#entries.values()].filter(isThere).length
  }

  /** Whether a member is still there. */
  isThere(member: string): boolean {
    const entry = this.#entries.get(member)
    return entry !== undefined && isThere(entry)
  }

  /** The ids of those who are still there, in the order in which they joined. */
  here(role?: string): readonly string[] {
    const all = [...this.#entries.values()]
    return all
      .filter((each) => isThere(each) && (role === undefined || isSameRole(each.role, role)))
      .map(({ member }) => member)
  }
}
