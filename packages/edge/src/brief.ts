/**
 * Brief: what a worker is asked to do, and messages as they cross an edge.
 *
 * Owns: both types, making and reading a brief. Does not own: how they cross (groups/work.ts).
 */
import { asText, copy, withLabels, type ContentPart, type FilePart, type Json } from '@reeve/core'

/** What a worker is asked to do: a text, or a value that fits the worker's `input` schema. */
export type Brief = { readonly instructions: string } | { readonly input: Json }

/**
 * One message of an earlier conversation, as it crosses an edge: text, and the files that a user sent with it. Tool calls,
 * tool results and system texts never cross, so a worker sees what was said and not with what machinery.
 */
export interface EdgeMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** The agent that said it, for `assistant`. */
  readonly agent?: string
  /** In the history of a session: a note of its own code to this agent. Other agents are not shown it. */
  readonly for?: string
  /** Files of the message, for `user`. */
  readonly files?: readonly FilePart[]
}

/** What a model reads as a message of the user: a text, and files, each after its label. */
export const withFileParts = (text: string, files: readonly FilePart[] = []): string | readonly ContentPart[] =>
  files.length === 0 ? text : withLabels([...(text === '' ? [] : [{ type: 'text', text } as const]), ...files])

/**
 * A text becomes instructions, anything else a typed input. The value is copied: a later change of the caller's object
 * changes nothing.
 */
export const briefOf = (given: Json): Brief =>
  typeof given === 'string' ? { instructions: given } : { input: copy(given) }

/** The brief as a model reads it: the instructions, or the input as JSON text. */
export const briefText = (brief: Brief): string => ('instructions' in brief ? brief.instructions : asText(brief.input))

/** The brief as code reads it: the text, or the value. */
export const briefValue = (brief: Brief): Json => ('instructions' in brief ? brief.instructions : brief.input)
