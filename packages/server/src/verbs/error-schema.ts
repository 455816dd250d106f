/** Errors inside an answer: what became of one of several. */
import { flag, name, object, optional, text, type WireSchema } from '../wire-schema.ts'
import type { ErrorBody } from '../wire.ts'

/** The schema of an error, under a name of its own. */
export const errorSchema = (title: string): WireSchema<ErrorBody['error']> =>
  object<ErrorBody['error']>(title, { code: name(), message: text(), hint: optional(text()), retryable: flag() })
