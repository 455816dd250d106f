/**
 * Span events: an event of a journal as an event of the span of its agent or run.
 *
 * Owns: the names of attributes. Does not own: which events these are, and which members are shown (their rows, journal).
 * Holds: only structure (names, ids, states, numbers) is shown: what a model, a tool, a file or a person wrote is content.
 */
import { isObject, type Json } from '@reeve/core'
import { rowOf, type JournalEvent } from '@reeve/journal'
import { errorType, reeve, type AttributeValue, type SpanAttributes } from './attributes.ts'

/** The name and the attributes of the span event; undefined: it is none. */
export function spanEventOf(
  event: JournalEvent,
): { readonly name: string; readonly attributes: SpanAttributes } | undefined {
  const names: readonly string[] | undefined = rowOf(event).span
  if (names === undefined) return undefined
  const all = event as unknown as { readonly [member: string]: Json | undefined }
  const attributes: { [name: string]: AttributeValue } = {}
  for (const name of names) {
    const value = all[name]
    if (name === 'failure') Object.assign(attributes, failureAttributes(value))
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      attributes[`reeve.${snake(name)}`] = value
    else if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
      attributes[`reeve.${snake(name)}`] = value
  }
  return { name: `reeve.${snake(event.type)}`, attributes }
}

/** The code and the class of a failure; its message is content. */
export const failureAttributes = (failure: Json | undefined): SpanAttributes =>
  isObject(failure) && typeof failure['code'] === 'string'
    ? {
        [errorType]: failure['code'],
        ...(typeof failure['class'] === 'string' ? { [reeve.failureClass]: failure['class'] } : {}),
      }
    : {}

const snake = (name: string): string =>
  name.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
