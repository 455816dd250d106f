/**
 * Content: what models, tools and people wrote, as the conventions' messages.
 *
 * Owns: the form, its bounds. Does not own: whether it is exported at all (run-trace.ts). What redaction took out of the
 * journal is not in it.
 */
import { asText, cut, isObject, type Json } from '@reeve/core'

/** The most characters of one attribute; longer content says how much is left out. */
const longest = 32_768

/** A value as an attribute: a text as it is, anything else as JSON. */
export const contentText = (value: Json): string => cut(asText(value), longest)

/** A message from outside: the brief of an agent, the input of a run. */
export const inputMessages = (content: Json): string =>
  messages([{ role: 'user', parts: [{ type: 'text', content: contentText(content) }] }])

/** What a model answered, by its recorded outcome. */
export function outputMessages(answer: Json): string | undefined {
  if (!isObject(answer)) return undefined
  const { text, calls, finish } = answer
  const parts: Json[] = []
  if (typeof text === 'string' && text !== '') parts.push({ type: 'text', content: text })
  for (const call of Array.isArray(calls) ? (calls as readonly Json[]) : [])
    if (isObject(call))
      parts.push({
        type: 'tool_call',
        id: call['id'] ?? '',
        name: call['name'] ?? '',
        arguments: call['input'] ?? null,
      })
  return messages([{ role: 'assistant', parts, finish_reason: typeof finish === 'string' ? finish : 'other' }])
}

/** What an agent answered. */
export const answerMessages = (output: Json): string =>
  messages([{ role: 'assistant', parts: [{ type: 'text', content: contentText(output) }], finish_reason: 'stop' }])

const messages = (list: Json): string => cut(JSON.stringify(list), longest)
