/**
 * Questions as those who answer them see them.
 *
 * Owns: `QuestionView`, put together in one place for the inbox and for one question. Does not own: the questions and
 * the rule of who may decide (runtime).
 */
import { digestJson, isObject, present, type Json, type JsonObject } from '@reeve/core'
import {
  approvalsAmong,
  clientCallIn,
  notPermitted,
  type Approval,
  type Question,
  type RunSummary,
  type Runtime,
} from '@reeve/runtime'
import { notItsClient } from './access/client-tools.ts'
import type { RequestContext } from './route.ts'
import type { Principal, QuestionView } from './wire.ts'

/** The question as this principal sees it. `summary`: that of its run. */
export function questionView(
  question: Question,
  summary: RunSummary,
  { runtime, principal }: Pick<RequestContext, 'runtime' | 'principal'>,
): QuestionView {
  const { id, kind, run, activation, askedAt, until } = question
  const { user, session } = summary.caller
  const [approval] = approvalsAmong([question])
  const interrupt = kind === 'interrupt' ? interruptOf(question) : undefined
  const doubt = kind === 'in-doubt' || kind === 'diverged' ? doubtOf(question) : undefined
  const path = namesIn(question, 'path')
  return {
    id,
    kind,
    run,
    activation,
    path: path.length > 0 ? path : [summary.agent],
    askedAt,
    agent: summary.agent,
    mayAnswer: mayAnswer(question, approval, summary, principal),
    same: approval === undefined ? id : digestJson(shownOf(approval)),
    ...present({
      until,
      user,
      session,
      usage: usedBy(summary),
      approval,
      interrupt,
      doubt,
      inputSchema: schemaFor(approval, runtime),
    }),
  }
}

/** What the whole run has used so far; undefined: not known. */
const usedBy = ({ usage }: RunSummary): QuestionView['usage'] =>
  usage?.tokens === undefined ? undefined : { tokens: usage.tokens, ...present({ usd: usage.usd }) }

/** The schema of the tool's arguments, where the agent that asks is registered here. */
function schemaFor(approval: Approval | undefined, runtime: Runtime): JsonObject | undefined {
  if (approval === undefined || approval.kind !== undefined) return undefined
  const asking = runtime.agents().find(({ name }) => name === approval.path.at(-1))
  return asking?.tools.find(({ name }) => name === approval.tool)?.inputSchema
}

/** The members of an approval that differ between requests that are the same to an approver. */
const ownMembers = { id: 0, run: 0, activation: 0, askedAt: 0, until: 0, callId: 0, follows: 0, contentKey: 0, key: 0 }

/** All that an approver looks at: the action, its arguments, the reasons, who may decide, who asks. */
const shownOf = (approval: Approval): Json =>
  Object.fromEntries(Object.entries(approval).filter(([member]) => !Object.hasOwn(ownMembers, member)))

function mayAnswer(
  question: Question,
  approval: Approval | undefined,
  summary: RunSummary,
  principal: Principal,
): true | string {
  const { kind } = question
  const { name, roles } = principal
  const isAnswered = kind === 'approval' || kind === 'interrupt'
  const needed = isAnswered ? 'approver' : 'operator'
  if (!roles.includes(needed) && !roles.includes('admin')) return `it needs the role ${needed}`
  if (approval === undefined) return notItsClient(question, summary, principal) ?? true
  const decisions = approval.options ?? (['approve', 'reject', 'edit', 'retry'] as const)
  const refusals = decisions.map((decision) => notPermitted(approval, decision, name))
  return refusals.some((each) => each === undefined) ? true : refusals[0]!.problem
}

function interruptOf({ body }: Question): NonNullable<QuestionView['interrupt']> {
  const asked = isObject(body) ? body['question'] : undefined
  const schema = isObject(body) && isObject(body['schema']) ? body['schema'] : undefined
  const call = clientCallIn(body as Json)
  return { question: asked ?? null, ...present({ schema, call }) }
}

function doubtOf(question: Question): NonNullable<QuestionView['doubt']> {
  const body = isObject(question.body) ? question.body : {}
  const { trial, name, input } = body
  return {
    address: question.address,
    unclaimed: namesIn(question, 'unclaimed'),
    ...(trial === true ? { trial, ...present({ name: typeof name === 'string' ? name : undefined, input }) } : {}),
  }
}

function namesIn({ body }: Question, member: string): readonly string[] {
  const found = isObject(body) ? body[member] : undefined
  return Array.isArray(found) ? (found as readonly Json[]).filter((each) => typeof each === 'string') : []
}
