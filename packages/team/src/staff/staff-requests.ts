/**
 * Staff requests: reads what a member, the lead or an operator asks for: a recruit or a retirement. What a model says
 * may be anything. Pure.
 *
 * Owns: all problems of a request; what it says by leaving things out. Does not own: whether it is granted
 * (recruitment.ts, retirement.ts).
 */
import { described, hasNames, isObject, type Json, type JsonObject } from '@reeve/core'
import type { RecruitRequest, RetireRequest } from '@reeve/agent'
import type { Estimate } from '../plan/plan.ts'
import type { Join } from '../state/task-graph.ts'

/** A recruit request, ready to be decided. */
export interface ReadRecruit {
  readonly description: string
  /** Undefined: not given. */
  readonly role: string | undefined
  readonly parent: string | undefined
  readonly join: Join
  readonly estimate: Estimate | undefined
}

/** A retire request, ready to be decided. */
export interface ReadRetire {
  readonly member: string
  readonly mode: 'graceful' | 'force'
  readonly reassign: boolean
  readonly reason: string | undefined
}

/** What was read; or everything that is wrong with it. */
export type Read<W> =
  { readonly ok: true; readonly request: W } | { readonly ok: false; readonly problems: readonly string[] }

/** The longest name of a role; it is part of an id. */
const longestRole = 200

/** Reads a recruit request. `own`: the task of the member who asks. `isTask`: whether there is such a task. */
export function readRecruit(
  given: RecruitRequest,
  own: string | undefined,
  isTask: (id: string) => boolean,
): Read<ReadRecruit> {
  const said: unknown = given
  if (!isObject(said))
    return { ok: false, problems: [`a recruit request is ${described(said)}, expected { description, role? }`] }
  const { description, role, requestId, parentTask, join, estimate } = withoutNulls(said)
  const parent = typeof parentTask === 'string' && parentTask.trim() !== '' ? parentTask.trim() : own
  const problems = [
    ...(isText(description) ? [] : ['a description must say what the teammate is to do']),
    ...(role === undefined || (typeof role === 'string' && role.length <= longestRole)
      ? []
      : [
          `role is ${typeof role === 'string' ? 'too long' : described(role)}, expected a name of at most ${longestRole} characters`,
        ]),
    ...(requestId === undefined || isText(requestId)
      ? []
      : [`requestId is ${described(requestId)}, expected a text that is not empty`]),
    ...(parentTask === undefined || typeof parentTask === 'string'
      ? []
      : [`parentTask is ${described(parentTask)}, expected the id of a task`]),
    ...(parent === undefined || isTask(parent) ? [] : [`parentTask names "${parent}", and there is no such task`]),
    ...(join === undefined || join === 'parent' || join === 'run' || join === 'none'
      ? []
      : [`join is ${described(join)}, expected "parent", "run" or "none"`]),
    ...(join === 'parent' && parent === undefined ? ['join "parent" needs a parentTask'] : []),
    ...estimateProblems(estimate),
  ]
  if (problems.length > 0) return { ok: false, problems }
  const request: ReadRecruit = {
    description: (description as string).trim(),
    role: isText(role) ? role.trim() : undefined,
    parent,
    join: (join as Join | undefined) ?? (parent === undefined ? 'run' : 'parent'),
    estimate: estimate as Estimate | undefined,
  }
  return { ok: true, request }
}

function estimateProblems(estimate: unknown): string[] {
  if (estimate === undefined) return []
  if (!hasNames(estimate)) return [`estimate is ${described(estimate)}, expected { tokens?, usd? }`]
  return Object.entries(estimate).flatMap(([name, value]) => {
    if (name !== 'tokens' && name !== 'usd') return [`estimate has no "${name}", only tokens and usd`]
    return typeof value === 'number' && Number.isFinite(value) && value >= 0
      ? []
      : [`estimate.${name} is ${described(value)}, expected a number of at least 0`]
  })
}

/** Reads a retire request. */
export function readRetire(given: RetireRequest): Read<ReadRetire> {
  const said: unknown = given
  if (!isObject(said))
    return { ok: false, problems: [`a retire request is ${described(said)}, expected { member, mode? }`] }
  const { member, mode, reassign, reason } = withoutNulls(said)
  const problems = [
    ...(isText(member) ? [] : ['member must name who is to leave']),
    ...(mode === undefined || mode === 'graceful' || mode === 'force'
      ? []
      : [`mode is ${described(mode)}, expected "graceful" or "force"`]),
    ...(reassign === undefined || typeof reassign === 'boolean'
      ? []
      : [`reassign is ${described(reassign)}, expected true or false`]),
    ...(reason === undefined || typeof reason === 'string' ? [] : [`reason is ${described(reason)}, expected a text`]),
  ]
  if (problems.length > 0) return { ok: false, problems }
  const request: ReadRetire = {
    member: (member as string).trim(),
    mode: mode === 'force' ? 'force' : 'graceful',
    reassign: reassign !== false,
    reason: isText(reason) ? reason : undefined,
  }
  return { ok: true, request }
}

/** Models say null of what they leave out. */
const withoutNulls = (given: JsonObject): Readonly<Record<string, Json | undefined>> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

const isText = (given: unknown): given is string => typeof given === 'string' && given.trim() !== ''

/** A description as requests are compared: without regard to case and white space. */
export const normalizedDescription = (text: string): string =>
  text.normalize('NFC').trim().toLowerCase().replace(/\s+/gu, ' ')
