/**
 * Questions of a run as interrupts of AG-UI, and its resume entries as replies.
 *
 * Owns: the form of a payload: its JSON Schema, and reading it. Does not own: what is asked (../protocol-run), whether the
 * caller may answer (the server, the runtime).
 * Holds: a payload is read by its own members, and one with an unknown member is refused: a misspelt `approved` decides
 * nothing.
 */
import { isObject, own, present, ReeveError, type Json, type JsonObject } from '@reeve/core'
import type { AskedQuestion, KnownQuestion, Reply } from '../protocol-run/index.ts'
import type { AgUiInterrupt } from './wire.ts'

/** A question as an interrupt. `toolCallId`, `subagentRunId`: of the call and the worker in this stream. */
export function interruptOf(
  { id, kind, path, prompt, until, approval, call, question, answerSchema }: AskedQuestion,
  place: { readonly toolCallId?: string; readonly subagentRunId?: string },
): AgUiInterrupt {
  const isTool = approval !== undefined && approval.kind === undefined
  const { inputSchema: _inputSchema, ...asked } = approval ?? {}
  return {
    id,
    reason: isTool
      ? 'tool_approval'
      : kind === 'approval'
        ? 'approval'
        : kind === 'interrupt'
          ? call === undefined
            ? 'question'
            : 'client_tool'
          : 'in_doubt',
    message: prompt,
    ...present({
      ...place,
      responseSchema: approval === undefined ? (kind === 'in-doubt' ? doubtSchema : answerSchema) : schemaOf(approval),
      expiresAt: until === undefined ? undefined : new Date(until).toISOString(),
    }),
    metadata: { reeve: { path, ...present({ question, ...call, ...asked }) } },
  }
}

const comment = { type: 'string', maxLength: 10_000 }

/** What may be sent back: as the approval offers it. */
function schemaOf({ options, inputSchema }: NonNullable<AskedQuestion['approval']>): JsonObject {
  const canApprove = options.includes('approve') || options.includes('edit')
  const canReject = options.includes('reject') || options.includes('retry')
  return {
    type: 'object',
    properties: {
      approved: canApprove && canReject ? { type: 'boolean' } : { type: 'boolean', const: canApprove },
      ...(options.includes('edit')
        ? {
            editedArgs: {
              ...inputSchema,
              description: 'With approved: all the arguments, in the place of those shown.',
            },
          }
        : {}),
      ...(options.includes('retry')
        ? {
            retry: {
              type: 'boolean',
              description: 'Without approved: the agent is to try again, as the comment says.',
            },
          }
        : {}),
      comment,
    },
    required: ['approved'],
    additionalProperties: false,
  }
}

const doubtSchema: JsonObject = {
  type: 'object',
  properties: {
    happened: { type: 'boolean' },
    value: { description: 'What it returned, where it happened.' },
  },
  required: ['happened'],
  additionalProperties: false,
}

/** An entry of `resume`. */
export interface ResumeEntry {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: Json
}

/** What an entry says to this question. Throws `interrupt.invalid`. */
export function replyIn({ interruptId, status, payload }: ResumeEntry, { kind }: KnownQuestion): Reply {
  if (status === 'cancelled') return { type: 'abandoned' }
  if (kind === 'interrupt') {
    if (payload === undefined) throw invalid(interruptId, 'the payload is missing')
    return { type: 'answer', value: payload }
  }
  if (!isObject(payload)) throw invalid(interruptId, 'the payload is not an object')
  const known = kind === 'approval' ? ['approved', 'editedArgs', 'retry', 'comment'] : ['happened', 'value']
  const unknown = Object.keys(payload).find((name) => !known.includes(name))
  if (unknown !== undefined) throw invalid(interruptId, `unknown member ${JSON.stringify(unknown)} of the payload`)
  return kind === 'approval' ? decisionIn(interruptId, payload) : happenedIn(interruptId, payload)
}

function decisionIn(id: string, payload: JsonObject): Reply {
  const approved = own(payload, 'approved')
  const edited = own(payload, 'editedArgs')
  const retry = own(payload, 'retry')
  const said = own(payload, 'comment')
  if (typeof approved !== 'boolean') throw invalid(id, 'approved is not true or false')
  if (said !== undefined && typeof said !== 'string') throw invalid(id, 'comment is not a text')
  if (retry !== undefined && typeof retry !== 'boolean') throw invalid(id, 'retry is not true or false')
  if (!approved && edited !== undefined) throw invalid(id, 'editedArgs without approved')
  if (approved && retry === true) throw invalid(id, 'retry with approved')
  const words = present({ comment: said })
  if (edited !== undefined) return { type: 'decision', decision: 'edit', input: edited, ...words }
  return { type: 'decision', decision: approved ? 'approve' : retry === true ? 'retry' : 'reject', ...words }
}

function happenedIn(id: string, payload: JsonObject): Reply {
  const happened = own(payload, 'happened')
  if (typeof happened !== 'boolean') throw invalid(id, 'happened is not true or false')
  return { type: 'happened', happened, ...present({ value: own(payload, 'value') }) }
}

const invalid = (id: string, problem: string): ReeveError =>
  new ReeveError('interrupt.invalid', `resume ${JSON.stringify(id)}: ${problem}`, {
    hint: 'The schema in the interrupt says what it takes. Nothing was decided.',
  })
