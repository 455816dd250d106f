/**
 * Staffing from outside: somebody who is no member of a team wants another one on it, or one off it.
 *
 * Owns: saying so to the team's leader, finding in the journal what was decided. Does not own: which team is meant
 * (find-team.ts), the decision (../team/staff).
 * K1: nobody replies to people outside; the facts are the answer, so any process may ask and any may read. K2: a wish
 * under one request id is one wish, from however many processes it comes.
 */
import {
  newId,
  optionProblems,
  ReeveError,
  text,
  unchecked,
  type ActivationId,
  type Check,
  type Checks,
  type RunId,
} from '../../core/index.ts'
import {
  teamMessage,
  type Recruited,
  type RecruitWish,
  type Retired,
  type RetireWish,
  type TeamCommand,
} from '../../agent/index.ts'
import type { Engine } from '../../engine/index.ts'
import type { JournalEvent } from '../../journal/index.ts'
import { follow } from '../feed/run-feed.ts'
import { teamOf } from './find-team.ts'

/** Whose wish it is, which team is meant, how long an answer is waited for. */
interface FromOutside {
  /** Who says so, for the journal. Default `operator`. */
  readonly by?: string
  /** The team's activation, or its agent if that works only once. Default: the root, else the only team there is. */
  readonly team?: string
  /**
   * Ends the wait for the decision, not the wish: the call rejects with the signal's reason, the team decides when it
   * can.
   */
  readonly signal?: AbortSignal
}

/** A wish for somebody, from outside. `parentTask` default: none, so the answer of the whole team waits for them. */
export interface RecruitFromOutside extends RecruitWish, FromOutside {}

/** A wish that somebody leave, from outside. */
export interface RetireFromOutside extends RetireWish, FromOutside {}

/** Where a wish is said. */
export interface StaffAccess {
  readonly engine: Engine
  readonly run: RunId
}

// what a wish says of staff is for the team to judge
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
 * Asks for another member. Resolves when it was decided: with a policy that asks a human, that may take days. A team
 * that has ended, or ends before, says `closed`.
 */
export async function recruit({ engine, run }: StaffAccess, given: RecruitFromOutside): Promise<Recruited> {
  mustBeWish(given, recruitChecks, 'recruit')
  const { by, team, signal, requestId = newId('req'), ...said } = given
  const wish: RecruitWish = { ...said, requestId }
  const say = { word: { do: 'recruit', wish }, by, id: `recruit:${requestId}` } as const
  const gone: Recruited = { admitted: false, reason: 'closed', message: 'the team has ended' }
  const decided = (event: JournalEvent): Recruited | undefined => {
    if (event.type !== 'recruit.decided' || event.request !== requestId) return undefined
    const { admitted, member, duplicate, reason, message } = event
    if (admitted && member !== undefined) return { admitted, member, duplicate: duplicate === true }
    return { admitted: false, reason: reason ?? 'closed', message: message ?? '' }
  }
  return (await asked(engine, run, team, say, decided, signal)) ?? gone
}

/**
 * Asks that a member leave. Resolves when it was decided; a member that leaves gracefully may still be at its task
 * then.
 */
export async function retire({ engine, run }: StaffAccess, given: RetireFromOutside): Promise<Retired> {
  mustBeWish(given, retireChecks, 'retire')
  const { by, team, signal, ...wish } = given
  const id = newId('msg')
  const gone: Retired = { retired: false, reason: 'closed', message: 'the team has ended' }
  const decided = (event: JournalEvent): Retired | undefined => {
    if (event.type === 'teammate.retired' && event.request === id) return { retired: true }
    if (event.type !== 'retire.refused' || event.request !== id) return undefined
    return { retired: false, reason: event.reason, message: event.message }
  }
  return (await asked(engine, run, team, { word: { do: 'retire', wish }, by, id }, decided, signal)) ?? gone
}

/** A word to a team, and how it knows that it has heard it before. */
interface Saying {
  readonly word: TeamCommand
  readonly by: string | undefined
  readonly id: string
}

/**
 * Says a word to the team and waits for what the journal says of it; undefined if the team has ended without a word.
 */
async function asked<A>(
  engine: Engine,
  run: RunId,
  named: string | undefined,
  { word, by, id }: Saying,
  decided: (event: JournalEvent) => A | undefined,
  signal: AbortSignal | undefined,
): Promise<A | undefined> {
  signal?.throwIfAborted()
  const team = await teamOf(engine, run, named, signal)
  if (team === undefined) return undefined
  await engine.post({ type: 'message', activation: team.activation, id, body: teamMessage(word, by) })
  // one that has ended refuses the word, but may have decided on the request before
  const answer = await answerOf(engine, run, team.activation, decided, signal)
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

function mustBeWish(given: object, checks: Readonly<Record<string, Check>>, what: string): void {
  const problems = optionProblems(checks, given, `run.${what}()`)
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '), { hint: 'Nothing was changed.' })
}
