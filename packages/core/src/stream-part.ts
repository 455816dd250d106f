/**
 * Stream parts: the forms of live parts, as a reader of a run is given them.
 *
 * Owns: the union, and reading a part that came from code, another process or another version into it. Does not own:
 * where a part came from and its attempt (engine/live-part.ts), its agent (runtime/feed/part-origin.ts).
 * Holds: a value that is not of a known form is never given as one: it is `custom`, with the value as it was sent.
 */
import { isObject, type Json, type JsonObject } from './json.ts'

/**
 * An ephemeral piece of an answer in the making. Never journaled. `id` joins the pieces of one block within one call.
 */
export type ModelPart =
  | {
      readonly type: 'text.start' | 'text.end' | 'reasoning.start' | 'reasoning.end' | 'tool-input.end'
      readonly id: string
    }
  | { readonly type: 'text.delta' | 'reasoning.delta' | 'tool-input.delta'; readonly id: string; readonly text: string }
  | { readonly type: 'tool-input.start'; readonly id: string; readonly name: string }

/** Progress of a tool: emitted by it, yielded by a tool of the AI SDK, or reported by an MCP server. */
export type ToolProgress = { readonly type: 'tool.progress'; readonly value: Json }

/** Stands for parts that were dropped for a slow reader. The journal has every recorded result. */
export type PartsDropped = { readonly type: 'parts.dropped'; readonly count: number }

/** A part of any other form, as it was sent: what code emitted of its own, or a part of another version of Reeve. */
export type CustomPart = { readonly type: 'custom'; readonly value: Json }

/** A live part of a run, told apart by `type`. */
export type StreamPart = ModelPart | ToolProgress | PartsDropped | CustomPart

/** A live part, as far as its form depends on it. */
interface SentPart {
  /** Empty for what no step has sent: the count of dropped parts. */
  readonly address: string
  readonly part: Json
}

/** A live part as a reader is given it. Deltas that code emitted without an `id` are given an empty one. */
export function streamPartOf({ address, part }: SentPart): StreamPart {
  if (!isObject(part)) return { type: 'custom', value: part }
  return (address === '' ? droppedIn(part) : stepPart(part)) ?? { type: 'custom', value: part }
}

const droppedIn = ({ type, count }: JsonObject): PartsDropped | undefined =>
  type === 'parts.dropped' && Number.isSafeInteger(count) ? { type, count: count as number } : undefined

function stepPart(part: JsonObject): StreamPart | undefined {
  const { type, id = '', text, name, value } = part
  const isOfBlock = typeof id === 'string'
  switch (type) {
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool-input.delta':
      return isOfBlock && typeof text === 'string' ? { type, id, text } : undefined
    case 'text.start':
    case 'text.end':
    case 'reasoning.start':
    case 'reasoning.end':
    case 'tool-input.end':
      return isOfBlock ? { type, id } : undefined
    case 'tool-input.start':
      return isOfBlock && typeof name === 'string' ? { type, id, name } : undefined
    case 'tool.progress':
      return value === undefined ? undefined : { type, value }
    default:
      return undefined
  }
}

/** A part as it is sent on to another process, which reads it with `streamPartOf`. */
export const sentPart = (part: StreamPart): Json => (part.type === 'custom' ? part.value : part)
