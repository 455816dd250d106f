/**
 * A verb: what a person does to a run, a question, an agent, as one row: its door, its words, its input, its answer,
 * its deed.
 *
 * Owns: the type of a row. What needs a verb is derived from its row: the route with its checks and its role
 * (../routes/verb-routes.ts), the table of doors (../access/doors.ts), the OpenAPI document, and the input and the
 * answer that the client may give and expect (index.ts). Does not own: any verb, what the methods do (runtime).
 * Holds: a row knows nothing of HTTP but its address. Who commands is the principal, whatever an input says.
 */
import type { Run, Runtime } from '@reeve/runtime'
import type { Door } from '../access/door.ts'
import type { WireSchema } from '../wire-schema.ts'

/** The names in braces of a path. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** What a verb is called with, besides its input. */
export interface VerbCall<Address extends string, Query> {
  /** Of a principal of a tenant: what is the tenant's alone. */
  readonly runtime: Runtime
  /** The run that the path names, which is the principal's. */
  readonly run: Address extends `${string}{run}${string}` ? Run : undefined
  readonly path: { readonly [Name in NamesIn<Address>]: string }
  readonly query: Query
  /** The name under which it is recorded: the principal's. */
  readonly by: string
  /** Aborts when the caller is gone; of a verb that waits also when that has lasted too long. */
  readonly signal: AbortSignal
}

/** An answer that says whether this call has begun what it names, or an earlier one with the same id. */
export class Begun<Answer> {
  readonly answer: Answer
  readonly isNew: boolean

  constructor(answer: Answer, isNew: boolean) {
    this.answer = answer
    this.isNew = isNew
  }
}

/** What a row says of its verb, besides its address and its door. */
interface VerbShape<Address extends string, Query, Input, Answer> {
  readonly summary: string
  readonly query?: WireSchema<Query>
  readonly input: WireSchema<Input>
  readonly answer: WireSchema<Answer>
  /** It is done when the process that drives the run has done it: until then 202. Default: when it is recorded. */
  readonly waits?: true
  /** It begins something that has an id, and answers `Begun`: 201 for what this call has begun. */
  readonly begins?: true
  run(input: Input, call: VerbCall<Address, Query>): Promise<Answer | Begun<Answer>>
}

/** A verb, by its method and its path below the base. */
export type Verb<
  Address extends string = string,
  At extends Door = Door,
  Query = unknown,
  Input = unknown,
  Answer = unknown,
> = VerbShape<Address, Query, Input, Answer> & { readonly address: Address; readonly door: At }

/** A row of the table of verbs; the types of input, query and answer are held to its schemas. */
export const verb = <const Address extends `POST /${string}`, const At extends Door, Input, Answer, Query = object>(
  address: Address,
  door: At,
  shape: VerbShape<Address, Query, Input, Answer>,
): Verb<Address, At, Query, Input, Answer> => ({ ...shape, address, door })
