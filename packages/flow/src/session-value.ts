/**
 * Typed values: one value of the session or the run under its key, with the form it always has.
 *
 * Owns: the check on the way in and out, the initial value. Does not own: keeping values (the
 * engine: recorded reads, compare-and-set; K1, K10).
 */
import { copy, isObject, jsonProblem, messageOf, ReeveError, type Json } from '@reeve/core'
import { compileSchema, isSchemaLike, type Infer, type SchemaLike } from '@reeve/edge'
import type { Context } from '@reeve/engine'

/** How a typed value is made. */
export interface SessionValueOptions<S extends SchemaLike> {
  /**
   * What the value must look like, whenever it is read or written: zod, valibot, arktype, …, or plain JSON Schema.
   * Synchronous.
   */
  readonly schema: S
  /** What it is before it is first written. */
  readonly initial: NoInfer<Infer<S>>
}

/**
 * A value that all agents of a run share, and all runs of its session, under one key. A definition: it holds nothing of
 * any run.
 */
export interface SessionValue<T> {
  readonly key: string
  /**
   * The value as it is now: a copy. Throws `input.invalid` if the value under the key has
   * another form.
   */
  get(ctx: Pick<Context, 'values'>): Promise<T>
  /**
   * Changes it, so that nothing of what others write at the same time is lost. `change` is pure, gets a copy, and may
   * be called again when another was faster. Resolves to the new value. Throws `input.invalid`, and writes nothing, if
   * the value has not its form before or after; `agent.failed` if `change` throws.
   */
  update(ctx: Pick<Context, 'values'>, change: (value: T) => T): Promise<T>
}

/**
 * Defines a typed session value. `null` stands for a value that was never written, so only a value that begins as
 * `null` may become it again. Throws `input.invalid` if the key is empty or Reeve's own (`$…`), or if `initial` does
 * not fit.
 */
export function sessionValue<const S extends SchemaLike>(
  key: string,
  options: SessionValueOptions<S>,
): SessionValue<Infer<S>> {
  const where = `session value "${key}"`
  if (typeof key !== 'string' || key === '' || key.startsWith('$'))
    throw new ReeveError('input.invalid', `${where}: a key is not empty, and those that begin with "$" belong to Reeve`)
  if (!isObject(options) || !isSchemaLike(options.schema))
    throw new ReeveError('input.invalid', `${where}: it has no schema`)
  const schema = compileSchema(options.schema, where)
  const checked = (value: Json, when: string): Infer<S> => {
    const fits = schema.check(value)
    if (fits.ok) return fits.value as Infer<S>
    throw new ReeveError('input.invalid', `${where} does not have its form ${when}: ${fits.problem}`)
  }
  const written = (value: unknown, when: string): Json => {
    const problem = value === undefined ? 'it is undefined' : jsonProblem(value, 'it')
    if (problem !== undefined) throw new ReeveError('input.invalid', `${where} is not JSON ${when}: ${problem}`)
    checked(value as Json, when)
    return copy(value as Json)
  }
  const initial = written(options.initial, 'at first')
  const read = (value: Json, when: string): Infer<S> => checked(copy(value ?? initial), when)
  const changed = (value: Json, change: (value: Infer<S>) => Infer<S>): Json => {
    const next = written(applyChange(where, change, read(value, 'before the change')), 'after the change')
    if (next !== null || initial === null) return next
    throw new ReeveError('input.invalid', `${where} cannot become null: that stands for a value that was never written`)
  }
  return {
    key,
    get: async (ctx) => read(await ctx.values.get(key), 'as it was written'),
    update: async (ctx, change) =>
      read(await ctx.values.update(key, (value) => changed(value, change)), 'after the change'),
  }
}

/** What a change makes of a value. One that throws is pure, so it is not tried again. */
function applyChange<T>(where: string, change: (value: T) => T, value: T): T {
  try {
    return change(value)
  } catch (thrown) {
    throw ReeveError.is(thrown)
      ? thrown
      : new ReeveError('agent.failed', `${where} was not changed: ${messageOf(thrown)}`, { cause: thrown })
  }
}
