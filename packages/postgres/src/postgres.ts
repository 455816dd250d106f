/**
 * What users say for the engine on PostgreSQL: `postgres({ url, … })`, or its address alone as the `store` of a
 * runtime.
 *
 * Owns: checking what was given, and a schema that stands in the address. Does not own: what becomes of it (engine.ts,
 * store.ts). Opens nothing: the engine connects before its first answer. Holds: no password in any message.
 */
import type { Engine } from '@reeve/engine'
import { hostChecks } from '@reeve/engine/host'
import {
  described,
  expects,
  hasNames,
  optionProblems,
  ReeveError,
  refuseProblems,
  required,
  unchecked,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import { addressOf } from './address.ts'
import { createPostgresEngine, type PostgresEngineOptions } from './index.ts'

/** How the engine on PostgreSQL is set up. Everything but the address has a default. */
export interface PostgresSetup extends Omit<PostgresEngineOptions, 'postgres'> {
  /**
   * `postgres://user:password@host:5432/database`, as libpq reads it; `?schema=name` at its end says the same as
   * `schema`. A password may stand in `PGPASSWORD` or in `~/.pgpass` instead. PostgreSQL 14 or newer; a pooler in
   * between must pool sessions, not transactions.
   */
  readonly url: string
}

const checks: Checks<PostgresSetup> = {
  ...hostChecks,
  url: required(expects((given) => typeof given === 'string', "'postgres://…'")),
  schema: unchecked,
  poolSize: wholeNumber(1),
  leaseMs: wholeNumber(1),
}

/**
 * The engine on PostgreSQL, for `createRuntime({ engine })`: several processes on several hosts share one database.
 * Needs the package `pg`. Throws `config.invalid`; what is wrong with the database, or that `pg` is missing, is said by
 * the first call that needs it, with `store.*` or `config.invalid`.
 */
export function postgres(options: PostgresSetup): Engine {
  refuseProblems('config.invalid', problemsWith(options), 'Nothing was opened.')
  const { url, schema, ...others } = options
  const address = addressOf(url)
  const both = [schema, address.schema].filter((each) => each !== undefined)
  if (new Set(both).size > 1)
    throw new ReeveError('config.invalid', `postgres: schema is "${both[0]}", and "${both[1]}" in the address`, {
      hint: 'Say it once.',
    })
  return createPostgresEngine({
    ...others,
    postgres: address.url,
    ...(both[0] === undefined ? undefined : { schema: both[0] }),
  })
}

/** An address that is given as such may hold a password, which is not repeated. */
const problemsWith = (options: PostgresSetup): readonly string[] =>
  hasNames(options)
    ? optionProblems(checks, options, 'postgres')
    : [
        `postgres() was given ${typeof options === 'string' ? 'a text' : described(options)}, expected { url: 'postgres://…' }`,
      ]
