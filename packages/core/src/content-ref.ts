/**
 * Content reference: a text too large for a prompt and for memory, kept beside the journal and named by its digest.
 *
 * Owns: the form of a reference, its name. Pure. Does not own: keeping and reading the content (engine/contents.ts), what
 * a model is shown of it (agent/tool/result-bound.ts).
 */
import { isObject, own, type Json } from './json.ts'

/** What the content is, once it is read: a text as it is, or the text of a JSON value. */
export type ContentType = 'text' | 'json'

/** A reference to kept content. JSON: it is recorded, and crosses edges as any value. */
export interface ContentRef {
  /** Its name: `result-` and 32 hexadecimal digits of a digest of the content. The same content has the same name. */
  readonly $content: string
  readonly type: ContentType
  /** Characters, as JavaScript counts them. */
  readonly size: number
}

const nameForm = /^result-[0-9a-f]{32}$/

/** The name of content whose SHA-256 this is, in hexadecimal digits. */
export const contentName = (sha256: string): string => `result-${sha256.slice(0, 32)}`

/** Whether a value is the name of content. */
export const isContentName = (name: unknown): name is string => typeof name === 'string' && nameForm.test(name)

/** Whether a value is a reference. */
export function isContentRef(value: unknown): value is ContentRef & { readonly [member: string]: Json } {
  if (!isObject(value) || Object.keys(value).length !== 3) return false
  const [name, type, size] = [own(value, '$content'), own(value, 'type'), own(value, 'size')]
  return (
    isContentName(name) && (type === 'text' || type === 'json') && Number.isSafeInteger(size) && (size as number) >= 0
  )
}
