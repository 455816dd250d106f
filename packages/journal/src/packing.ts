/**
 * Packings: how a value stands in a packed entry. An object of known members is a row: the values of its members in a
 * fixed order, without their names.
 *
 * Owns: the packings and their inverses. Does not own: which packing a member has (packed-entry.ts).
 * Holds: K12: what was packed is read back unchanged. A value that a packing does not fit exactly is not packed.
 */
import { isObject, ReeveError, type Json } from '@reeve/core'

/** How a value is packed, and how it is read back. */
export interface Packing {
  /**
   * The packed value. `undefined`: the value does not fit. `null`: there is nothing to store; at the end of a row it is
   * left out.
   */
  readonly pack: (value: unknown) => unknown
  /** The value that was packed. `undefined`: the member is absent. Throws for what no packing has made. */
  readonly unpack: (packed: unknown) => unknown
  /** The member always has its usual value: it takes no place in its row. */
  readonly fixed?: true
  /** A value of which a row stores nothing. */
  readonly usual?: string | number
  /** A row stores a text as it is, without asking the packing. */
  readonly keepsText?: true
  /** The member may be absent: then there is nothing to store. */
  readonly optional?: true
}

/** What a newer Reeve has packed in a way that this one does not know. */
export const newerPacking = (what: string): ReeveError =>
  new ReeveError('journal.unknown-event', `the journal holds ${what}, which this version of Reeve does not know`, {
    hint: 'It was written by a newer Reeve. Upgrade this process; nothing was changed.',
  })

function expected<T>(packed: T, isRight: boolean, what: string): T {
  if (!isRight) throw new TypeError(`${JSON.stringify(packed)} stands where ${what} is expected`)
  return packed
}

export const text: Packing = {
  pack: (value) => (typeof value === 'string' ? value : undefined),
  unpack: (packed) => expected(packed, typeof packed === 'string', 'a text'),
  keepsText: true,
}
export const number: Packing = {
  pack: (value) => (Number.isFinite(value) ? value : undefined),
  unpack: (packed) => expected(packed, typeof packed === 'number', 'a number'),
}
/** A number that mostly is 0, of which nothing is stored. */
export const zero: Packing = {
  ...number,
  unpack: (packed) => (packed === null ? 0 : number.unpack(packed)),
  usual: 0,
}

/** Any JSON, `null` among it, that is written in an array as it is in an object. */
export const json: Packing = {
  pack(value) {
    if (typeof value === 'object') return value !== null && 'toJSON' in value ? undefined : value
    return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) ? value : undefined
  },
  unpack: (packed) => packed,
  keepsText: true,
}
/** Any JSON but `null`. */
export const value: Packing = { ...json, pack: (given) => (given === null ? undefined : json.pack(given)) }

/** The member always has this value, or its object is not packed. */
export const always = (usual: string): Packing => ({
  pack: () => undefined,
  unpack: () => usual,
  usual,
  fixed: true,
})

/** The member may be absent. */
export const optional = (packing: Packing): Packing => ({
  ...packing,
  unpack: (packed) => (packed === null ? undefined : packing.unpack(packed)),
  optional: true,
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
    const packed: unknown[] = given.slice()
    for (let i = 0; i < packed.length; i++) {
      const one = pack(packed[i])
      if (one === undefined) return undefined
      packed[i] = one
    }
    return packed
  },
  unpack(packed) {
    return (expected(packed, Array.isArray(packed), 'a list') as readonly unknown[]).map(unpack)
  },
})

type Members = { readonly [name: string]: Packing }

/** What a row knows of a member. All have the same shape, because they are asked for with every entry. */
interface Member {
  readonly name: string
  /** Which member of the object it is. */
  readonly nth: number
  /** Where it stands in the row. */
  readonly place: number
  readonly pack: Packing['pack']
  readonly unpack: Packing['unpack']
  readonly usual: string | number | undefined
  readonly keepsText: boolean
  readonly isOptional: boolean
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
  const slots = Object.keys(members).filter((name) => members[name]!.fixed === undefined)
  const names = order ?? Object.keys(members)
  const first = head === undefined ? 0 : 1
  const longest = first + slots.length
  const all = names.map((name, nth): Member => {
    const { pack, unpack, fixed, usual, keepsText = false, optional: isOptional = false } = members[name]!
    const place = fixed === true ? longest : first + slots.indexOf(name)
    return { name, nth, place, pack, unpack, usual, keepsText, isOptional }
  })
  const known = new Map(all.map((member) => [member.name, member]))
  const needed = all.filter(({ isOptional }) => !isOptional).length
  /** The members of the object that was packed last, in its order: those of the next one are mostly the same. */
  const last: Member[] = []
  return {
    pack(given) {
      if (!isObject(given)) return undefined
      const packed: unknown[] = head === undefined ? [] : [head]
      let found = 0
      let nth = -1
      let at = 0
      for (const name in given) {
        const value = given[name]
        // JSON does not write it
        if (value === undefined) continue
        let member = last[at]
        if (member?.name !== name) {
          member = known.get(name)
          if (member === undefined) return undefined
          last[at] = member
        }
        at++
        if (order !== undefined && member.nth < nth) return undefined
        nth = member.nth
        if (!member.isOptional) found++
        if (value === member.usual) continue
        const one = member.keepsText && typeof value === 'string' ? value : member.pack(value)
        if (one === undefined) return undefined
        if (one === null) continue
        while (packed.length < member.place) packed.push(null)
        packed[member.place] = one
      }
      return found === needed ? packed : undefined
    },
    unpack(packed) {
      const values = expected(packed, Array.isArray(packed), 'a row') as readonly unknown[]
      if (values.length > longest) throw newerPacking(`a row of ${values.length} values where ${longest} are known`)
      const given: { [name: string]: unknown } = {}
      for (const { name, place, unpack } of all) {
        const value = unpack(values[place] ?? null)
        if (value !== undefined) given[name] = value
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
