/**
 * The result of a tool that the client has run, where a protocol sends results as texts.
 *
 * Owns: which value such a text means. Does not own: the form of an answer (../../oversight), who may answer. Pure.
 */
import { valueTyped, type Json } from '@reeve/core'
import { compileSchema } from '@reeve/edge'
import { clientCallIn } from '@reeve/runtime'

/**
 * The answer that a text gives to a question, where that is a call of the client. It is read as JSON unless the output
 * may be a text. Undefined: the question is none. Throws `input.invalid` where it is not clear which value is meant.
 */
export function resultAnswer(
  { content, error }: { readonly content: string; readonly error?: string },
  body: Json | undefined,
): Json | undefined {
  const call = clientCallIn(body)
  if (call === undefined) return undefined
  if (error !== undefined) return { error }
  const { output } = call
  const takesText =
    output !== undefined && compileSchema(output, 'the output', undefined, { unread: 'leave' }).check(content).ok
  return { output: takesText ? content : valueTyped(content, 'the output') }
}
