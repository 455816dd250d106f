/**
 * AI SDK messages: a conversation as tools of the AI SDK are given it (`ModelMessage` of package `ai`, versions 5 to 7).
 *
 * Owns: that form. Does not own: the prompts of models (../../model/prompt.ts).
 */
import { present, type ContentPart, type FilePart } from '@reeve/core'
import type { Message } from '@reeve/model'

/** The messages in that form. */
export const modelMessages = (messages: readonly Message[]): readonly object[] => messages.map(modelMessage)

function modelMessage(message: Message): object {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user':
      return {
        role: 'user',
        content: typeof message.content === 'string' ? message.content : message.content.map(part),
      }
    case 'assistant': {
      const { content, calls = [], files = [] } = message
      return {
        role: 'assistant',
        content: [
          ...(content === '' ? [] : [{ type: 'text', text: content }]),
          ...files.map(part),
          ...calls.map(({ id, name, input }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input })),
        ],
      }
    }
    case 'tool': {
      const { callId, name, content, isError } = message
      const kind = typeof content === 'string' ? 'text' : 'json'
      const output = { type: isError === true ? `error-${kind}` : kind, value: content }
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, toolName: name, output }] }
    }
  }
}

const part = (given: ContentPart): object =>
  given.type === 'text' ? { type: 'text', text: given.text } : filePart(given)

const filePart = (file: FilePart): object => ({
  type: 'file',
  mediaType: file.mediaType,
  ...present({ filename: file.filename }),
  data: 'url' in file ? new URL(file.url) : file.data,
})
