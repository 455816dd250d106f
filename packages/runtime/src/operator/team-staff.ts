/**
 * Recruiting and retiring from outside: an operator asks a team to add or to retire a member.
 *
 * Owns: sending the request to the team's leader, reading the decision from the journal. Does not own: finding the team
 * (find-team.ts), the decision (../../team/staff).
 * Holds: K1: the decision is a fact in the journal, so any process may ask and any may read. K2: a request with one id
 * counts once, however many processes send it.
 */
import {
  newId,
  optionProblems,
  present,
  refuseProblems,
  text,
  unchecked,
  type ActivationId,
  type Checks,
  type RunId,
} from '@reeve/core'
import {
  teamMessage,
  type Recruited,
  type RecruitRequest,
  type Retired,
  type RetireRequest,
  type TeamCommand,
} from '@reeve/agent'
import type { Engine } from '@reeve/engine'
import type { JournalEvent } from '@reeve/journal'
import { follow } from '../feed/run-feed.ts'
import { teamOf } from './find-team.ts'

/** The author of the request, its team, and how long to wait. */
interface FromOutside {
  /** The name of the operator; recorded. Default `operator`. */
  readonly by?: string
  /** The team: its activation, or its agent if that has one activation. Default: the root, else the only team. */
  readonly team?: string
  /** Ends the wait, not the request: the call rejects with the signal's reason, and the team still decides. */
  readonly signal?: AbortSignal
}

/** A request for a new member. `parentTask` default: none, so the answer of the whole team waits for the recruit. */
export interface RecruitFromOutside extends RecruitRequest, FromOutside {}

/** A request to retire a member. */
export interface RetireFromOutside extends RetireRequest, FromOutside {}

/** What a request needs. */
export interface StaffAccess {
  readonly engine: Engine
  readonly run: RunId
}

// the team checks the content of a request
const outside: Checks<FromOutside> = { by: text, team: text, signal: unchecked }
const recruitChecks: Checks<RecruitFromOutside> = {
  ...outside,
  description: unchecked,
  role: unchecked,
  requestId: text,
  parentTask: unchecked,
  join: unchecked,
  estimate: unchecked,
}
const retireChecks: Checks<RetireFromOutside> = {
  ...outside,
  member: unchecked,
  mode: unchecked,
  reassign: unchecked,
  reason: unchecked,
}

/**
 * Asks for a new member. Resolves with the decision, which may take days if a policy asks an approver. If the team has
 * ended, or ends before, the reason is `closed`.
 */
export async function recruit({ engine, run }: StaffAccess, given: RecruitFromOutside): Promise<Recruited> {
  mustBeRequest(given, recruitChecks, 'recruit')
  const { by, team, signal, requestId = newId('req'), ...said } = given
  const wish: RecruitRequest = { ...said, requestId }
  const request = { command: { do: 'recruit', wish }, by, id: `recruit:${requestId}` } as const
  const gone: Recruited = { admitted: false, reason: 'closed', message: 'the team has ended' }
  const decided = (event: JournalEvent): Recruited | undefined => {
    if (event.type !== 'recruit.decided' || event.request !== requestId) return undefined
    const { admitted, member, duplicate, reason, message } = event
    if (admitted && member !== undefined) return { admitted, member, duplicate: duplicate === true }
    return { admitted: false, reason: reason ?? 'closed', message: message ?? '' }
  }
  return (await decisionOf(engine, run, team, request, decided, signal)) ?? gone
}

/** Asks to retire a member. Resolves with the decision; a member that leaves gracefully may still finish its task. */
export async function retire({ engine, run }: StaffAccess, given: RetireFromOutside): Promise<Retired> {
  mustBeRequest(given, retireChecks, 'retire')
  const { by, team, signal, ...wish } = given
  const id = newId('msg')
  const gone: Retired = { retired: false, reason: 'closed', message: 'the team has ended' }
  const decided = (event: JournalEvent): Retired | undefined => {
    if (event.type === 'teammate.retired' && event.request === id) return { retired: true }
    if (event.type !== 'retire.refused' || event.request !== id) return undefined
    return { retired: false, reason: event.reason, message: event.message }
  }
  return (await decisionOf(engine, run, team, { command: { do: 'retire', wish }, by, id }, decided, signal)) ?? gone
}

/** A request to a team, and its id. */
interface TeamRequest {
  readonly command: TeamCommand
  readonly by: string | undefined
  readonly id: string
}

/** Sends a request to the team and waits for the decision; undefined if the team ends without one. */
async function decisionOf<A>(
  engine: Engine,
  run: RunId,
  named: string | undefined,
  { command, by, id }: TeamRequest,
  decided: (event: JournalEvent) => A | undefined,
  signal: AbortSignal | undefined,
): Promise<A | undefined> {
  signal?.throwIfAborted()
  const team = await teamOf(engine, run, named, signal)
  if (team === undefined) return undefined
  await engine.post({
    type: 'message',
    activation: team.id,
    id,
    body: teamMessage(command),
    command: true,
    ...present({ by }),
  })
  // a team that has ended accepts no request, but may have decided this one before
  const answer = await answerOf(engine, run, team.id, decided, signal)
  signal?.throwIfAborted()
  return answer
}

async function answerOf<A>(
  engine: Engine,
  run: RunId,
  team: ActivationId,
  decided: (event: JournalEvent) => A | undefined,
  signal: AbortSignal | undefined,
): Promise<A | undefined> {
  for await (const { activation, event } of follow(engine, run, signal === undefined ? {} : { signal })) {
    if (activation !== team) continue
    const answer = decided(event)
    if (answer !== undefined) return answer
    if (event.type === 'activation.settled') return undefined
  }
  return undefined
}

const mustBeRequest = <T>(given: T, checks: Checks<T>, what: string): void =>
  refuseProblems('input.invalid', optionProblems(checks, given, `run.${what}()`), 'Nothing was changed.')
