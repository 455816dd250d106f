/**
 * Schema: what a typed input, a typed output or the arguments of a tool must look like, whatever library it was written
 * with.
 *
 * Owns: the forms a user may write (Standard Schema of any vendor, AI SDK `jsonSchema()`, plain JSON Schema), the
 * compiled form. Does not own: the validator for plain JSON Schema (json-schema.ts), the tolerance for models that send
 * `null` for what they leave out (optional-nulls.ts).
 * Holds: K3: a check runs inside orchestration, so it must be synchronous; a schema that validates asynchronously is
 * refused when it is used.
 */
import { isObject, jsonProblem, messageOf, own, ReeveError, type Json, type JsonObject } from '@reeve/core'
import { CompiledJsonSchema, compiledJsonSchema, type JsonSchema } from './json-schema.ts'
import { withoutOptionalNulls } from './optional-nulls.ts'
import { arktypeGap, isValibot, isZod3, isZod4, valibotJson, zod3Json, zod4Json } from './vendor-schema.ts'

/**
 * The part of the Standard Schema specification (version 1) that Reeve uses: zod, valibot, arktype and many others
 * offer it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>
      readonly output?: (options: { readonly target: string }) => Record<string, unknown>
    }
  }
}
type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] }
interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What the AI SDK's `jsonSchema()` makes. */
export interface AiSdkSchema<Output = unknown> {
  readonly jsonSchema: unknown
  readonly validate?: ((value: unknown) => unknown) | undefined
  readonly _type?: Output
}

/** What may stand behind `input:` and `output:`. */
export type SchemaLike = StandardSchema | AiSdkSchema | JsonSchema

/** The type a schema describes; without a schema it is text. Plain JSON Schema says nothing to the compiler: `Json`. */
export type Infer<S> = [S] extends [undefined]
  ? string
  : S extends StandardSchema<infer _I, infer O>
    ? O
    : S extends { readonly _type?: infer O; readonly jsonSchema: unknown }
      ? O
      : Json

/** The type that a schema takes, before its defaults and conversions. Of plain JSON Schema nothing is known. */
export type InferInput<S> = [S] extends [undefined]
  ? string
  : S extends StandardSchema<infer I, infer _O>
    ? I
    : S extends { readonly _type?: infer O; readonly jsonSchema: unknown }
      ? O
      : unknown

/** The result of a check: the value (with the schema's defaults and conversions), or one readable sentence. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

/** A compiled schema. */
export interface Schema<T = unknown> {
  /** The same as JSON Schema: what a model is shown. Converted once. */
  readonly json: JsonSchema
  /** What a value looks like after its check, with defaults and transforms; absent where its library cannot say. */
  readonly outputJson?: JsonSchema | undefined
  /**
   * Pure and synchronous. Never throws for a bad value; throws `input.invalid` if the schema itself cannot be used
   * (asynchronous).
   */
  check(value: Json): Checked<T>
}

/** How a plain JSON Schema is compiled. */
export interface SchemaRules {
  /**
   * What becomes of parts that cannot be read: patterns, references, dialects, slips. `refuse` (default): the schema is
   * refused. `leave`: they are not checked, and nothing that depends on them is, because whoever wrote the schema checks
   * the value as well.
   */
  readonly unread?: 'refuse' | 'leave'
}

/**
 * Compiles a schema. `json` is the JSON Schema to show, needed only for vendors that cannot make one. Throws
 * `input.invalid` if nothing usable was given, or if a plain JSON Schema cannot be read.
 */
export function compileSchema<T = unknown>(
  lazy: SchemaLike,
  where: string,
  json?: JsonSchema,
  rules: SchemaRules = {},
): Schema<T> {
  const given = madeOf(lazy)
  if (isStandard(given)) {
    const check = (value: Json): Checked<T> => standardCheck(given, value, where) as Checked<T>
    return compiled(json ?? standardJson(given, where), check, () => standardOutputJson(given))
  }
  if (isAiSdk(given)) {
    if (given.validate === undefined) return plainSchema(given.jsonSchema, where, json, rules)
    mustAnswerAtOnce(given, where)
    const check = (value: Json): Checked<T> => aiSdkCheck(given, value, where) as Checked<T>
    return compiled(json ?? asJsonSchema(given.jsonSchema, where), check)
  }
  if (isZod3(given))
    throw new ReeveError('input.invalid', `${where}: that is a schema of zod before 3.24, without Standard Schema`, {
      hint: 'Update zod, to 3.25 or to 4: npm install zod@4.',
    })
  const schema = asJsonSchema(given, where)
  return { ...plainSchema<T>(given, where, json, rules), outputJson: schema }
}

/** The AI SDK also takes a function that makes a schema. */
const madeOf = (given: SchemaLike): SchemaLike =>
  typeof given === 'function' && !isStandard(given) ? (given as () => SchemaLike)() : given

/** Checks a value that comes from outside. Pure; never throws for a bad value. */
export const checkSchema = <T>(schema: Schema<T>, value: unknown): Checked<T> => schema.check(value as Json)

/** True for everything that `compileSchema` can make something of. */
export const isSchemaLike = (given: unknown): given is SchemaLike =>
  isStandard(given) || isAiSdk(given) || isObject(given)

function isStandard(given: unknown): given is StandardSchema {
  return (typeof given === 'object' || typeof given === 'function') && given !== null && '~standard' in given
}

const isAiSdk = (given: unknown): given is AiSdkSchema =>
  typeof given === 'object' && given !== null && 'jsonSchema' in given && !('type' in given)

/** How many problems of a schema are told. */
const mostProblems = 5

function plainSchema<T>(
  given: unknown,
  where: string,
  json: JsonSchema | undefined,
  { unread = 'refuse' }: SchemaRules,
): Schema<T> {
  const schema = asJsonSchema(given, where)
  const dialect = isObject(given) ? own(given, '$schema') : undefined
  const whole = typeof dialect === 'string' ? { $schema: dialect, ...schema } : schema
  const checker = new CompiledJsonSchema(whole, { unchecked: unread === 'leave' ? 'pass' : 'refuse' })
  if (unread === 'refuse' && checker.problems.length > 0) throw unreadable(where, checker)
  const check = (value: Json): Checked<unknown> => {
    const problem = checker.problem(value)
    return problem === undefined ? { ok: true, value } : { ok: false, problem }
  }
  return compiled(json ?? schema, check as (value: Json) => Checked<T>, undefined, checker)
}

function unreadable(where: string, { problems }: CompiledJsonSchema): ReeveError {
  const told = problems.slice(0, mostProblems).map(({ at, problem }) => `at "${at}": ${problem}`)
  const rest = problems.length > mostProblems ? [`and ${problems.length - mostProblems} more`] : []
  return new ReeveError(
    'input.invalid',
    `${where}: its JSON Schema cannot be checked: ${[...told, ...rest].join('; ')}`,
    {
      hint: 'Change the schema, or pass one with a check of its own: zod, valibot, arktype, jsonSchema(…, { validate }).',
    },
  )
}

/** `checker`: reads `json`; made when it is needed, if it is not given. */
function compiled<T>(
  json: JsonSchema,
  check: (value: Json) => Checked<T>,
  outputJson: () => JsonSchema | undefined = () => undefined,
  checker?: CompiledJsonSchema,
): Schema<T> {
  return {
    json,
    get outputJson() {
      return outputJson()
    },
    check(value) {
      const first = check(value)
      if (first.ok) return first
      const without = withoutOptionalNulls(value, checker ?? compiledJsonSchema(json))
      if (without === value) return first
      const second = check(without)
      return second.ok ? second : first
    },
  }
}

function standardJson(given: StandardSchema, where: string): JsonSchema {
  const own = given as { readonly toJsonSchema?: () => unknown; readonly toJSONSchema?: () => unknown }
  try {
    const made =
      given['~standard'].jsonSchema?.input({ target: 'draft-07' }) ?? own.toJSONSchema?.() ?? own.toJsonSchema?.()
    const gap = given['~standard'].vendor === 'arktype' ? arktypeGap(given) : undefined
    if (gap !== undefined) throw new Error(`"${gap}" has no form in JSON Schema`)
    if (made !== undefined) return asJsonSchema(made, where)
    if (isZod3(given)) return zod3Json(given)
    if (isZod4(given)) return zod4Json(given)
    if (isValibot(given)) return valibotJson(given)
  } catch (thrown) {
    const described = isZod4(given) ? zod4Described(given) : undefined
    if (described !== undefined) return described
    throw cannot(
      where,
      `its ${given['~standard'].vendor} schema cannot be written as JSON Schema: ${messageOf(thrown)}`,
    )
  }
  throw cannot(where, `${given['~standard'].vendor} schemas do not say what they look like as JSON Schema`)
}

/** zod refuses a whole schema for one part that it has no words for, such as a date that is made of a text. */
function zod4Described(given: object): JsonSchema | undefined {
  try {
    return zod4Json(given)
  } catch {
    return undefined
  }
}

/** What a checked value looks like, where the library can say so. */
function standardOutputJson(given: StandardSchema): JsonSchema | undefined {
  try {
    const made = given['~standard'].jsonSchema?.output?.({ target: 'draft-07' })
    return isObject(made) && jsonProblem(made, 'schema') === undefined ? made : undefined
  } catch {
    // its values have a form that JSON Schema has no words for, such as that of a transform
    return undefined
  }
}

const cannot = (where: string, problem: string): ReeveError =>
  new ReeveError('input.invalid', `${where}: ${problem}`, {
    hint: 'Values are JSON: take a text or a number and convert it; a date is an ISO text. Or pass the JSON Schema beside it (`parameters`).',
  })

function asJsonSchema(given: unknown, where: string): JsonSchema {
  const data = typeof given === 'function' ? (given as () => unknown)() : given
  const problem = isObject(data)
    ? jsonProblem(data, 'schema')
    : `a schema is an object, got ${typeof data === 'object' ? 'something else' : typeof data}`
  if (problem !== undefined) throw cannot(where, problem)
  const { $schema: _dialect, '~standard': _standard, ...schema } = data as JsonObject
  return schema
}

function standardCheck(given: StandardSchema, value: Json, where: string): Checked<unknown> {
  return verdict(() => {
    const result = given['~standard'].validate(value)
    if (isPending(result)) return notAtOnce(given, value, where, result)
    if (result.issues === undefined) return { ok: true, value: result.value }
    const problem = result.issues.map(issueText).join('; ')
    return { ok: false, problem: problem === '' ? 'the value does not fit' : problem }
  })
}

/** A check that throws, such as a transform that parses a text, says that the value does not fit. */
function verdict(check: () => Checked<unknown>): Checked<unknown> {
  try {
    return check()
  } catch (thrown) {
    if (thrown instanceof ReeveError) throw thrown
    return { ok: false, problem: `its check failed: ${messageOf(thrown) || 'no reason was given'}` }
  }
}

const isPending = (result: unknown): result is PromiseLike<unknown> =>
  ((typeof result === 'object' && result !== null) || typeof result === 'function') &&
  typeof (result as { readonly then?: unknown }).then === 'function'

/**
 * zod takes every throw of a check for a wish to be asked asynchronously. Asked synchronously, it throws what was
 * thrown, or an error of its own for a schema that is asynchronous.
 */
function notAtOnce(given: StandardSchema, value: Json, where: string, pending: PromiseLike<unknown>): never {
  const error = asynchronous(where, pending)
  const { safeParse } = given as { readonly safeParse?: unknown }
  if (typeof safeParse !== 'function') throw error
  try {
    ;(safeParse as (value: unknown) => unknown).call(given, value)
  } catch (thrown) {
    if (!isZodAsync(thrown)) throw thrown
  }
  throw error
}

/** What zod 3 and 4 throw for a promise in a synchronous check. They publish no other sign of it. */
const isZodAsync = (thrown: unknown): boolean =>
  /(?:encountered Promise|Async\w* \w+ encountered) during synchronous parse/i.test(messageOf(thrown))

function issueText(issue: StandardIssue): string {
  const path = (issue.path ?? []).map((each) => String(typeof each === 'object' ? each.key : each)).join('.')
  return path === '' ? issue.message : `"${path}": ${issue.message}`
}

function aiSdkCheck(given: AiSdkSchema, value: Json, where: string): Checked<unknown> {
  return verdict(() => {
    const result = given.validate!(value)
    if (isPending(result)) throw asynchronous(where, result)
    const told = result as { readonly success: boolean; readonly value?: unknown; readonly error?: unknown }
    return told.success
      ? { ok: true, value: told.value }
      : { ok: false, problem: messageOf(told.error) || 'the value does not fit' }
  })
}

/** The AI SDK's own `zodSchema()` always answers later: that is said when a schema is defined, not at a call. */
function mustAnswerAtOnce(given: AiSdkSchema, where: string): void {
  let result: unknown
  try {
    result = given.validate!(null)
  } catch {
    return
  }
  if (isPending(result)) throw asynchronous(where, result)
}

function asynchronous(where: string, pending: PromiseLike<unknown>): ReeveError {
  pending.then(undefined, () => {}) // it is not awaited
  return new ReeveError('input.invalid', `${where}: the schema validates asynchronously`, {
    hint: 'Checks run inside orchestration and must be synchronous. Pass a schema of zod itself, not as the AI SDK wraps it; move what needs waiting into the tool.',
  })
}
