/**
 * What a store is called, and what is said besides by those who put an engine together from a store and a mover: the
 * path of an SQLite file, or the address of a PostgreSQL database.
 *
 * Owns: telling the two apart, which options mean something for a file alone, and what is wrong with what was given.
 * Does not own: opening either (open-store.ts); it loads neither.
 * Holds: no password in any message.
 */
import { hostChecks, type HostOptions } from '@reeve/engine/host'
import {
  hasNames,
  number,
  ReeveError,
  required,
  unchecked,
  wholeNumber,
  choiceIn,
  type Check,
  type Checks,
} from '@reeve/core'
import type { Durability, SqliteOptions } from '@reeve/sqlite/store'
import type { PostgresOptions } from '@reeve/postgres'

/**
 * What kind of store a name means. What is another address is refused before a file of that name is looked for; it may
 * hold a password, which is not repeated.
 */
export function storeKind(store: unknown, asker = 'createRuntime'): 'file' | 'postgres' {
  if (store === '')
    throw new ReeveError('config.invalid', `${asker}: store is empty, expected the path of a file or postgres://…`, {
      hint: "A variable of the environment may not be set. Leave store out, or say ':memory:', for runs that are lost with the process.",
    })
  if (typeof store === 'string') mustBeBare(store, asker)
  const scheme = typeof store === 'string' ? /^([a-z][a-z0-9+.-]+):\/\//i.exec(store)?.[1] : undefined
  if (scheme === undefined) return 'file'
  if (/^postgres(ql)?$/.test(scheme)) return 'postgres'
  throw new ReeveError(
    'config.invalid',
    `${asker}: store is an address (${scheme}://…), expected the path of a file or postgres://…`,
    {
      hint: "A store is an SQLite file (store: './reeve.db') or a PostgreSQL database (store: 'postgres://user@host/database'); see docs/how-to/engines.md.",
    },
  )
}

const bare = 'Whatever read it from the environment or a file has left them there. Pass the address or the path alone.'

/** Forms in which other programs write an address: what is wrong, and what to do. */
const foreignForms: readonly (readonly [form: RegExp, problem: string, hint: string])[] = [
  [/^(["'`]).*\1$/s, 'begins and ends with quotation marks', bare],
  [/^\s|\s$/, 'begins or ends with white space', bare],
  [/^jdbc:/i, 'is a JDBC address', 'Write postgres://user:password@host:5432/database.'],
  [
    /^(?!:memory:$)(?:[a-z]\w*:(?:\/\/)?)*:memory:|^file:.*[?&]mode=memory/i,
    'is the address of a database in memory as SQLite writes it',
    "Write ':memory:', for runs that are lost with the process. Each runtime has such a store of its own; for one that several share, name a file.",
  ],
]

/** Refuses a name as another program writes it. It may hold a password, which is not repeated. */
function mustBeBare(store: string, asker: string): void {
  const found = foreignForms.find(([form]) => form.test(store))
  if (found !== undefined) throw new ReeveError('config.invalid', `${asker}: store ${found[1]}`, { hint: found[2] })
}

/** Options for files alone: beside a database they would have no effect. */
export const forFiles = ['durability', 'busyMs', 'archiveAfterMs'] as const

/** What a power failure may take. */
export const durabilityCheck = choiceIn<Durability>({ full: true, strict: true, relaxed: true })

/** When the journals of ended runs are compressed. */
export const archiveAfterCheck = number((given) => given >= 0, 'milliseconds, or Infinity for never')

/**
 * What is said of a store besides its name. `poolSize` is for a database, `durability`, `busyMs` and `archiveAfterMs` are for
 * a file.
 */
export type NamedStoreOptions = Omit<SqliteOptions, 'file'> & Omit<PostgresOptions, 'postgres' | 'schema'>

/** The name of a store that outlives its process. It may hold a password, which is not repeated. */
const storeCheck: Check = (store, where) => {
  const forms = "'postgres://user@host/database' or the path of an SQLite file"
  if (typeof store === 'string')
    return store === ':memory:' || store === ''
      ? [`${where} is in memory and lost with its process; name a file, or postgres://…`]
      : []
  if (hasNames(store) && (Object.hasOwn(store, 'postgres') || Object.hasOwn(store, 'sqlite')))
    return [
      `${where} is an object, expected ${forms}: write store: 'postgres://…?schema=name' for { postgres, schema }, and store: 'runs.db' for { sqlite }`,
    ]
  return [`${where} is ${store === undefined ? 'missing' : 'neither an address nor a path'}, expected ${forms}`]
}

/** The checks of a store and of what moves its runs. */
export const storeAndHostChecks: Checks<{ store: unknown } & NamedStoreOptions & HostOptions> = {
  ...hostChecks,
  store: required(storeCheck),
  poolSize: wholeNumber(1),
  durability: durabilityCheck,
  busyMs: unchecked,
  archiveAfterMs: archiveAfterCheck,
  leaseMs: wholeNumber(1),
}
