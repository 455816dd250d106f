/**
 * The table of verbs.
 *
 * Owns: which lists of rows it is made of, and what the types say of a row: for the table of doors, and for the client,
 * which imports the types alone. Does not own: what a row is (verb.ts).
 */
import type { WireSchema } from '../wire-schema.ts'
import { trustVerbs, versionVerbs } from './agents.ts'
import { controlVerbs } from './control.ts'
import { forkVerbs, retryVerbs } from './further-runs.ts'
import { questionVerbs } from './questions.ts'
import { sessionVerbs } from './sessions.ts'
import { teamVerbs } from './team.ts'
import type { NamesIn, Verb } from './verb.ts'

const verbs = [
  ...controlVerbs,
  ...teamVerbs,
  ...forkVerbs,
  ...retryVerbs,
  ...questionVerbs,
  ...sessionVerbs,
  ...trustVerbs,
  ...versionVerbs,
] as const

type Row = (typeof verbs)[number]
type RowAt<Address> = Extract<Row, { readonly address: Address }>

/** The method and path of a verb: `POST /runs/{run}/pause`. */
export type VerbAddress = Row['address']
/** A value for each name in its path. */
export type VerbNames<Address extends VerbAddress> = { readonly [Name in NamesIn<Address>]: string }
/** What a verb is given. */
export type VerbInput<Address extends VerbAddress> =
  RowAt<Address>['input'] extends WireSchema<infer Input> ? Input : never
/** What a verb answers. */
export type VerbAnswer<Address extends VerbAddress> =
  RowAt<Address>['answer'] extends WireSchema<infer Answer> ? Answer : never

/** The doors of the verbs, by their addresses. */
export const verbDoors = Object.fromEntries(
  verbs.map(({ address, door }: Pick<Verb, 'address' | 'door'>) => [address, door]),
) as { readonly [Address in VerbAddress]: RowAt<Address>['door'] }
