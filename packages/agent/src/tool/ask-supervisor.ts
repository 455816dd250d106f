/**
 * Ask supervisor: the tool by which a model asks its leader a question, if the leader accepts questions.
 *
 * Owns: its schema and texts. Does not own: how a question travels (../code/leader-question.ts), how it is answered
 * (../../supervisor).
 */
import { askTool, failure, isObject } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { mergedToolbox, type Binding, type Opening } from './binding.ts'
import { refuse, invalidInput } from './refusal.ts'
import type { CallResult } from '../conversation/call-result.ts'
import { askSupervisor } from '../code/leader-question.ts'

/** Adds the tool to the opening of a model agent whose leader accepts questions. */
export const withQuestions = (opening: Opening): Opening => ({
  ...opening,
  toolbox: mergedToolbox(opening.toolbox, [askSupervisorTool]),
})

const askSupervisorTool: Binding = {
  verb: true,
  spec: {
    name: askTool,
    description:
      'Asks your supervisor a question and waits for the reply. Use it only for what you need to know and can neither find out nor decide yourself; the number of questions is limited.',
    parameters: {
      type: 'object',
      properties: { question: { type: 'string', description: 'The question, complete in itself.' } },
      required: ['question'],
      additionalProperties: false,
    },
  },
  async run(ctx: Context, call: ToolCall): Promise<CallResult> {
    const { question } = isObject(call.input) ? call.input : {}
    if (typeof question !== 'string' || question.trim() === '')
      return invalidInput(ctx, call, '"question" must be a text that is not empty')
    const { answered, text } = await askSupervisor(ctx, question)
    return answered
      ? { content: text }
      : refuse(ctx, call, failure('work.rejected', text, 'rejected'), `[not answered: ${text}]`)
  },
}
