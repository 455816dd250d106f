/**
 * The table of sessions: which sessions of browsers hold, in the store that all processes share.
 *
 * Owns: one value for each principal with the sessions of it, the list of those principals. Does not own: cookies, and
 * what they hold (session.ts).
 * Holds: no credential is kept, and nothing by which a cookie could be made. A session that has ended is in no list and
 * holds in no process. Where the store takes nothing (read-only, redacted by another process), the table is that of this
 * process alone.
 */
import { digest, hasNames, present, ReeveError, type Json } from '@reeve/core'
import type { Principal } from '../wire.ts'

/** Where values are kept, as those of a stream. */
export interface Values {
  get(key: string): Promise<Json>
  update(key: string, change: (value: Json) => Json): Promise<Json>
}

/** Times are milliseconds since 1970. */
interface KeptRow {
  readonly id: string
  readonly begun: number
  /** The last request that was noted. */
  readonly seen: number
  /** The end, whatever happens. */
  readonly until: number
  readonly address?: string
  readonly userAgent?: string
}

/** A session that holds, with whose it is. */
export interface KeptSession extends KeptRow {
  readonly name: string
  readonly tenant?: string
}

interface Owned {
  readonly name: string
  readonly tenant?: string
  readonly sessions: readonly KeptRow[]
}

/** How many sessions one principal has at once: with one more, that which was used least recently ends. */
const mostOfOne = 50
/** How many principals are listed. */
const mostOwners = 10_000
/** The key under which the keys of all principals stand. A digest is no such word. */
const ownersKey = 'owners'

/** Sessions by principal. */
export class SessionTable {
  readonly #values: Values
  readonly #idleMs: number
  /** Those whose last request is being noted. */
  readonly #noting = new Set<string>()

  constructor(idleMs: number, values: Values | undefined) {
    this.#idleMs = idleMs
    this.#values = values === undefined ? valuesInMemory() : orInMemory(values)
  }

  /** The key of a principal. */
  ownerOf({ name, tenant }: Pick<Principal, 'name' | 'tenant'>): string {
    return digest(JSON.stringify([tenant ?? null, name]))
  }

  async add(principal: Principal, row: KeptRow): Promise<void> {
    const { name, tenant } = principal
    const owner = this.ownerOf(principal)
    await this.#values.update(owner, (value) => {
      const open = [...this.#open(value, row.begun), row].toSorted((a, b) => b.seen - a.seen)
      return { name, ...present({ tenant }), sessions: open.slice(0, mostOfOne) } as unknown as Json
    })
    if (keysIn(await this.#values.get(ownersKey)).includes(owner)) return
    await this.#values.update(ownersKey, (value) => {
      const known = keysIn(value)
      return known.includes(owner) ? value : [...known, owner].slice(-mostOwners)
    })
  }

  /** Whether a session holds. Then this request is noted. */
  async holds(owner: string, id: string, now: number): Promise<boolean> {
    const row = this.#open(await this.#values.get(owner), now).find((each) => each.id === id)
    if (row === undefined) return false
    if (now - row.seen >= this.#idleMs / 10) this.#note(owner, id, now)
    return true
  }

  async remove(owner: string, id: string, now: number): Promise<void> {
    await this.#change(owner, (value) => this.#open(value, now).filter((each) => each.id !== id))
  }

  async list(whose: Principal | { readonly all: string | undefined }, now: number): Promise<readonly KeptSession[]> {
    const keys = 'all' in whose ? keysIn(await this.#values.get(ownersKey)) : [this.ownerOf(whose)]
    const found = await Promise.all(keys.map((key) => this.#values.get(key)))
    return found
      .flatMap((value) => {
        const owned = ownedIn(value)
        const isAsked =
          owned !== undefined && (!('all' in whose) || whose.all === undefined || whose.all === owned.tenant)
        if (!isAsked) return []
        const { name, tenant } = owned
        return this.#open(value, now).map((row) => ({ ...row, name, ...present({ tenant }) }))
      })
      .toSorted((a, b) => b.begun - a.begun)
  }

  /** Once for many requests of a page; that it could not be noted ends nothing now. */
  #note(owner: string, id: string, now: number): void {
    if (this.#noting.has(id)) return
    this.#noting.add(id)
    const seen = (row: KeptRow): KeptRow => (row.id === id ? { ...row, seen: Math.max(row.seen, now) } : row)
    this.#change(owner, (value) => this.#open(value, now).map(seen))
      .catch(() => {})
      .finally(() => this.#noting.delete(id))
  }

  async #change(owner: string, sessionsOf: (value: Json) => readonly KeptRow[]): Promise<void> {
    await this.#values.update(owner, (value) => {
      const owned = ownedIn(value)
      return owned === undefined ? value : ({ ...owned, sessions: sessionsOf(value) } as unknown as Json)
    })
  }

  /** The sessions that hold of what is kept. */
  #open(value: Json, now: number): readonly KeptRow[] {
    const sessions = ownedIn(value)?.sessions ?? []
    return sessions.filter(({ until, seen }) => now < until && now < seen + this.#idleMs)
  }
}

const ownedIn = (value: Json): Owned | undefined =>
  hasNames(value) && Array.isArray((value as unknown as Owned).sessions) ? (value as unknown as Owned) : undefined

const keysIn = (value: Json): readonly string[] => (Array.isArray(value) ? (value as readonly string[]) : [])

function valuesInMemory(): Values {
  const values = new Map<string, Json>()
  return {
    get: (key) => Promise.resolve(values.get(key) ?? null),
    update(key, change) {
      const changed = change(values.get(key) ?? null)
      values.set(key, changed)
      return Promise.resolve(changed)
    },
  }
}

/** A store that takes nothing from this process still lets people sign in to look at it. */
function orInMemory(kept: Values): Values {
  const own = valuesInMemory()
  let isOwn = false
  return {
    get: (key) => (isOwn ? own : kept).get(key),
    async update(key, change) {
      if (isOwn) return own.update(key, change)
      try {
        return await kept.update(key, change)
      } catch (thrown) {
        if (!ReeveError.is(thrown, 'store.read-only') && !ReeveError.is(thrown, 'store.redacted')) throw thrown
        isOwn = true
        return own.update(key, change)
      }
    },
  }
}
