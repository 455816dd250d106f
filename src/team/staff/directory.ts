/**
 * The directory of a team: everybody who was ever on it, and where they are (spec team 1.9, R-9).
 *
 * Owns: ids, the machine of statuses, copies. Does not own: why anybody joins or leaves (recruiting.ts, retiring.ts, ../work). Pure but for being written to.
 */
import { copy } from '../../core/index.ts'
import type { TeamEntry } from '../../agent/index.ts'

/** Where somebody on the team is. */
export type MemberStatus = TeamEntry['status']

const after: Readonly<Record<MemberStatus, readonly MemberStatus[]>> = {
  pending: ['running', 'cancelled', 'skipped', 'retired', 'failed'],
  running: ['paused', 'completed', 'failed', 'retired', 'cancelled', 'pending'],
  paused: ['running', 'cancelled', 'retired', 'failed', 'completed'],
  completed: [],
  failed: [],
  retired: [],
  cancelled: [],
  skipped: [],
}

/** A role as part of an id. */
const slug = (role: string): string =>
  role
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '') || 'member'

export class Directory {
  readonly #entries = new Map<string, { -readonly [K in keyof TeamEntry]: TeamEntry[K] }>()
  readonly #numbers = new Map<string, number>()

  /** A new id for somebody of this role, `analyst_1`; for a recruit `dynamic_analyst_1`. No id is used twice. */
  newId(role: string, recruited: boolean): string {
    const stem = `${recruited ? 'dynamic_' : ''}${slug(role)}`
    for (;;) {
      const number = (this.#numbers.get(stem) ?? 0) + 1
      this.#numbers.set(stem, number)
      const id = `${stem}_${number}`
      if (!this.#entries.has(id)) return id
    }
  }

  join(entry: Omit<TeamEntry, 'status'>): void {
    this.#entries.set(entry.member, { ...entry, status: 'pending' })
  }

  /** Moves somebody on. A step that there is not changes nothing: nobody comes back from an end. */
  move(member: string, status: MemberStatus): void {
    const entry = this.#entries.get(member)
    if (entry !== undefined && after[entry.status].includes(status)) entry.status = status
  }

  get(member: string): TeamEntry | undefined {
    const entry = this.#entries.get(member)
    return entry === undefined ? undefined : copy(entry)
  }

  /** In the order in which they joined. A role is compared without white space around it and without regard to case. */
  list(role?: string): readonly TeamEntry[] {
    const wanted = role?.trim().toLowerCase()
    const all = [...this.#entries.values()].filter((each) => wanted === undefined || each.role.trim().toLowerCase() === wanted)
    return copy(all)
  }

  /** How many were ever on it; or who have not left. */
  size(counts: 'ever' | 'active'): number {
    return counts === 'ever' ? this.#entries.size : [...this.#entries.values()].filter(({ status }) => after[status].length > 0).length
  }

  /** Whether somebody is still there. */
  isThere(member: string): boolean {
    const entry = this.#entries.get(member)
    return entry !== undefined && after[entry.status].length > 0
  }
}
