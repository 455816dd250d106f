/**
 * Packings: how a value stands in a packed entry. An object of known members is a row: the values of its members in a
 * fixed order, without their names.
 *
 * Owns: the packings and their inverses. Does not own: which packing a member has (packed-entry.ts).
 * Holds: K12: what was packed is read back unchanged. A value that a packing does not fit exactly is not packed.
 */
import { isObject, ReeveError, type Json } from '../core/index.ts'

/** How a value is packed, and how it is read back. */
export interface Packing {
  /**
   * The packed value. `undefined`: the value does not fit. `null`: there is nothing to store; at the end of a row it is
   * left out.
   */
  readonly pack: (value: unknown) => unknown
  /** The value that was packed. `undefined`: the member is absent. Throws for what no packing has made. */
  readonly unpack: (packed: unknown) => unknown
  /** The one value that the member always has: it takes no place in its row. */
  readonly fixed?: string
}

/** What a newer Reeve has packed in a way that this one does not know. */
export const newerPacking = (what: string): ReeveError =>
  new ReeveError('journal.unknown-event', `the journal holds ${what}, which this version of Reeve does not know`, {
    hint: 'It was written by a newer Reeve. Upgrade this process; nothing was changed.',
  })

const unlike = (packed: unknown, expected: string): TypeError =>
  new TypeError(`${JSON.stringify(packed)} stands where ${expected} is expected`)

/** A member of one type, which stands as it is. */
const plain = (type: 'string' | 'number', fits: (value: unknown) => boolean): Packing => ({
  pack: (value) => (fits(value) ? value : undefined),
  unpack(packed) {
    if (typeof packed !== type) throw unlike(packed, `a ${type}`)
    return packed
  },
})
export const text = plain('string', (value) => typeof value === 'string')
export const number = plain('number', Number.isFinite)

/** A value that JSON writes in an array as it does in an object. */
const isJson = (value: unknown): boolean => {
  if (typeof value === 'object') return value === null || !('toJSON' in value)
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}
/** Any JSON, `null` among it. */
export const json: Packing = {
  pack: (value) => (isJson(value) ? value : undefined),
  unpack: (packed) => packed ?? null,
}
/** Any JSON but `null`. */
export const value: Packing = { ...json, pack: (given) => (given === null ? undefined : json.pack(given)) }

/** The member always has this value, or its object is not packed. */
export const always = (fixed: string): Packing => ({ pack: () => null, unpack: () => fixed, fixed })

/** The member may be absent. */
export const optional = ({ pack, unpack }: Packing): Packing => ({
  pack: (given) => (given === undefined ? null : pack(given)),
  unpack: (packed) => (packed === null ? undefined : unpack(packed)),
})

/** The member mostly has this value, of which nothing is stored. `isUsual` may look at unknown values. */
export const usually = (
  usual: () => Json,
  isUsual: (value: unknown) => boolean,
  { pack, unpack }: Packing,
): Packing => ({
  pack: (given) => (isUsual(given) ? null : pack(given)),
  unpack: (packed) => (packed === null ? usual() : unpack(packed)),
})

/** A list whose items are packed. */
export const list = ({ pack, unpack }: Packing): Packing => ({
  pack(given) {
    if (!Array.isArray(given)) return undefined
    const packed: unknown[] = []
    for (const item of given as readonly unknown[]) {
      const one = pack(item)
      if (one === undefined) return undefined
      packed.push(one)
    }
    return packed
  },
  unpack(packed) {
    if (!Array.isArray(packed)) throw unlike(packed, 'a list')
    return (packed as readonly unknown[]).map(unpack)
  },
})

type Members = { readonly [name: string]: Packing }

/** How many members JSON would write, or one that it would not. */
function isAll(given: { readonly [name: string]: unknown }, found: number): boolean {
  const names = Object.keys(given)
  return names.length === found || names.filter((name) => given[name] !== undefined).length === found
}

function isInOrder(given: object, order: readonly string[]): boolean {
  let at = -1
  return Object.keys(given).every((name) => (at = order.indexOf(name, at + 1)) !== -1)
}

export interface RowOptions {
  /** The first value of the row, which tells what it is a row of. */
  readonly head?: string
  /** The row only holds objects with their members in this order. Default: the order does not matter. */
  readonly order?: readonly string[]
}

/**
 * An object with these members and no others, as a row of their values. New members may be added at the end: an older
 * Reeve refuses a row that is longer than those it knows.
 */
export function row(members: Members, { head, order }: RowOptions = {}): Packing {
  const names = order ?? Object.keys(members)
  const fixed = Object.entries(members).flatMap(([name, member]) =>
    member.fixed === undefined ? [] : [[name, member.fixed] as const],
  )
  const slots = Object.entries(members).filter(([, member]) => member.fixed === undefined)
  const places = new Map(slots.map(([name, { unpack }], i) => [name, { at: i + (head === undefined ? 0 : 1), unpack }]))
  const longest = slots.length + (head === undefined ? 0 : 1)
  /** Of each member: where it stands, or its fixed value. */
  const parts = names.map((name) => [name, places.get(name) ?? members[name]!.fixed!] as const)
  return {
    pack(given) {
      if (!isObject(given)) return undefined
      for (const [name, expected] of fixed) if (given[name] !== expected) return undefined
      let found = fixed.length
      const packed: unknown[] = head === undefined ? [] : [head]
      let { length } = packed
      for (const [name, { pack }] of slots) {
        const member = given[name]
        if (member !== undefined) found++
        const one = pack(member)
        if (one === undefined) return undefined
        packed.push(one)
        if (one !== null) ({ length } = packed)
      }
      if (!isAll(given, found) || (order !== undefined && !isInOrder(given, order))) return undefined
      packed.length = length
      return packed
    },
    unpack(packed) {
      if (!Array.isArray(packed)) throw unlike(packed, 'a row')
      if (packed.length > longest)
        throw newerPacking(`a row of ${packed.length} values${head === undefined ? '' : ` of "${head}"`}`)
      const given: { [name: string]: unknown } = {}
      for (const [name, part] of parts) {
        const member = typeof part === 'string' ? part : part.unpack(packed[part.at] ?? null)
        if (member !== undefined) given[name] = member
      }
      return given
    },
  }
}

/** An object that is always the same but for one member: that member stands for it. */
export function around(members: Members): Packing {
  const { pack, unpack } = row(members)
  return {
    pack(given) {
      const packed = pack(given) as readonly unknown[] | undefined
      return packed && (packed[0] ?? null)
    },
    unpack: (packed) => unpack([packed]),
  }
}
