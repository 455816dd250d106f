/**
 * The table of verbs.
 *
 * Owns: which lists of rows it is made of, and what the types say of a row: for the table of doors, and for the client,
 * which imports the types alone. Does not own: what a row is (verb.ts).
 */
import type { WireSchema } from '../wire-schema.ts'
import { trustVerbs, versionVerbs } from './agents.ts'
import { batchActionVerbs } from './batches.ts'
import { controlVerbs } from './control.ts'
import { forkVerbs, retryVerbs } from './further-runs.ts'
import { questionVerbs } from './questions.ts'
import { sessionVerbs } from './sessions.ts'
import { teamVerbs } from './team.ts'
import type { Verb } from './verb.ts'

const verbs = [
  ...controlVerbs,
  ...teamVerbs,
  ...forkVerbs,
  ...retryVerbs,
  ...batchActionVerbs,
  ...questionVerbs,
  ...sessionVerbs,
  ...trustVerbs,
  ...versionVerbs,
] as const

type Row = (typeof verbs)[number]
type RowAt<Address> = Extract<Row, { readonly address: Address }>

/** The method and path of a verb: `POST /runs/{run}/pause`. */
export type VerbAddress = Row['address']

/** A path as it is asked for, with any text for each name of its address: `/runs/r1/pause`. */
type PathPattern<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${PathPattern<After>}`
  : Path
type ByPath = { [Of in Row as Of['address'] extends `POST ${infer Path}` ? PathPattern<Path> : never]: Of }

/** The path of a verb, below the base. */
export type VerbPath = keyof ByPath
/** What the verb of this path is given. */
export type VerbInput<Path extends VerbPath> = ByPath[Path]['input'] extends WireSchema<infer Input> ? Input : never
/** What it answers. */
export type VerbAnswer<Path extends VerbPath> = ByPath[Path]['answer'] extends WireSchema<infer Answer> ? Answer : never

/** The doors of the verbs, by their addresses. */
export const verbDoors = Object.fromEntries(
  verbs.map(({ address, door }: Pick<Verb, 'address' | 'door'>) => [address, door]),
) as { readonly [Address in VerbAddress]: RowAt<Address>['door'] }
