/**
 * Open questions as an MCP client is told them.
 *
 * Owns: which members of a question are told. Pure. Does not own: which questions there are, who may answer (runtime).
 */
import { isObject, own, present, type Json, type JsonObject } from '@reeve/core'
import { approvalsAmong, clientCallIn, type Approval, type Question } from '@reeve/runtime'

/** A question, and how it is answered here. */
export function toldQuestion(question: Question): JsonObject {
  const { id, kind, run, askedAt, until } = question
  const [approval] = approvalsAmong([question])
  return {
    id,
    kind,
    run,
    askedAt: timeOf(askedAt),
    ...present({ until: until === undefined ? undefined : timeOf(until) }),
    ...(approval === undefined ? openOf(question) : approvalOf(approval)),
  }
}

function approvalOf(approval: Approval): JsonObject {
  const { tool, input, reason, risk, path, options, description } = approval
  const decisions = options ?? ['approve', 'reject', 'edit', 'retry']
  return {
    agent: path.at(-1) ?? '',
    asks: `may "${tool}" run with exactly this input?`,
    action: tool,
    input,
    reason,
    risk,
    ...present({ description }),
    answerBy: `decide, with one of: ${decisions.join(', ')}`,
  }
}

function openOf({ kind, body }: Question): JsonObject {
  const of = isObject(body) ? body : {}
  if (kind !== 'interrupt') return { asks: unsettled[kind === 'diverged' ? 'diverged' : 'in-doubt'] }
  const schema = own(of, 'schema')
  const call = clientCallIn(of)
  if (call !== undefined)
    return {
      agent: agentIn(of),
      asks: `what came of "${call.tool}", which the client of the run is to run with this input?`,
      action: call.tool,
      input: call.input,
      ...(isObject(schema) ? { schema } : undefined),
      answerBy: 'answer, as the user of the run, with { output } or { error }',
    }
  return {
    agent: agentIn(of),
    asks: own(of, 'question') ?? null,
    ...(isObject(schema) ? { schema } : undefined),
    answerBy: 'answer',
  }
}

const unsettled = {
  'in-doubt': 'did an effect happen? An operator settles it with reeve settle, or in the studio',
  diverged: 'the code has changed. An operator settles it with reeve settle, or in the studio',
} as const

function agentIn(body: JsonObject): string {
  const path = own(body, 'path')
  const last: Json | undefined = Array.isArray(path) ? (path as readonly Json[]).at(-1) : undefined
  return typeof last === 'string' ? last : ''
}

/** A time as people and models read it. */
export const timeOf = (at: number): string => new Date(at).toISOString()
