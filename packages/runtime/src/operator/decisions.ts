/**
 * Decisions from outside a run: decisions on approvals, answers to interrupts, settlements of effects in doubt and of
 * diverged addresses.
 *
 * Owns: checking the shape of a decision and finding its question; the error for each way in which it can fail. Does
 * not own: which decision wins (the store, by a unique key: K2), what a decision means to the run (oversight, agent).
 * Holds: if an error is thrown here, no decision was recorded and no effect ran.
 */
import {
  choice,
  completed,
  described,
  flag,
  isObject,
  jsonCheck,
  jsonProblem,
  meantInstead,
  messageOf,
  nearest,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  required,
  runOf,
  string,
  systemClock,
  text,
  timerMs,
  type Checks,
  type Clock,
  type ErrorCode,
  type Json,
  type Outcome,
  type RunId,
} from '@reeve/core'
import { defaultDeadlines, type Deadlines, type Engine, type PostResult, type Question } from '@reeve/engine'
import { viewOf, type ApprovalRequested, type InterruptView, type RunFold } from '@reeve/journal'
import {
  aloneReason,
  clientAnswerProblem,
  grantProblem,
  notPermitted,
  type AloneReason,
  type Granting,
} from '@reeve/oversight'
import { approvalsAmong, type Approval } from './open-approvals.ts'
import { foldsOf, viewFold } from '../feed/run-folds.ts'
import { runPages } from '../feed/whole-feed.ts'

/**
 * The decision on an approval. `edit` approves with edited arguments (`input`), or with an edited result. The run
 * validates them, not `decide`, which may be called in a process that does not know the tool. If they are invalid, the
 * run asks again and names the problem. `retry` rejects this attempt and asks the agent to try again; `comment` is its
 * feedback.
 */
export type Decision = DecisionBase &
  (
    | {
        readonly decision: 'approve'
        /**
         * The scope of this approval. Default `once`. A wider grant needs an approval that is `grantable`, which a
         * sensitive tool or a high risk never is.
         */
        readonly grant?: Granting
      }
    | { readonly decision: 'reject' }
    | {
        readonly decision: 'retry'
        /**
         * The ids of completed `once` effects, of those that the approval lists as `done`, that are to be made once
         * more. Default: none. The work is done again, and what it has made is not.
         */
        readonly repeat?: readonly string[]
      }
    | { readonly decision: 'edit'; readonly input: Json }
  )

interface DecisionBase {
  readonly approvalId: string
  readonly comment?: string
  readonly approver?: string
  /**
   * The hash of the arguments that the approver was shown (`approval.inputHash`). Another one is refused
   * (`approval.invalid`): what was seen is not what would run.
   */
  readonly inputHash?: string
  /**
   * It is one of several that are decided in one call: it needs `inputHash`, is `approve` or `reject`, and is refused
   * (`approval.alone`) for critical risk and where two approvers are required. `decideAll` sets it.
   */
  readonly together?: true
}

/** One decision of several. `inputHash` is that of the arguments that the approver was shown. */
export interface DecisionTogether {
  readonly approvalId: string
  readonly inputHash: string
  readonly decision: 'approve' | 'reject'
  readonly comment?: string
  readonly approver?: string
}

/**
 * What became of one decision of several. `lost`: another decision was first. `refused`: nothing was decided, and the
 * error says why.
 */
export type DecisionResult =
  | { readonly approvalId: string; readonly status: 'decided' }
  | { readonly approvalId: string; readonly status: 'lost' | 'refused'; readonly error: ReeveError }

/** The value that answers an interrupt. */
export interface Answer {
  readonly interruptId: string
  readonly value: Json
  /** The name of the user who answers; recorded. */
  readonly by?: string
}

/** Whether an effect in doubt happened (`value`: its result) or not (then it runs). `id`: that of the question. */
export interface DoubtSettlement {
  readonly id: string
  readonly happened: boolean
  readonly value?: Json
  readonly by?: string
}

/** How to resolve a new effect that is not in the journal. `id`: that of the question. */
export interface DivergenceSettlement {
  readonly id: string
  readonly action: 'map' | 'execute' | 'drop'
  readonly to?: string
  readonly by?: string
}

const doubtChecks: Checks<DoubtSettlement> = {
  id: required(string),
  happened: required(flag),
  value: jsonCheck,
  by: text,
}
const divergenceChecks: Checks<DivergenceSettlement> = {
  id: required(string),
  action: required(choice('map', 'execute', 'drop')),
  to: text,
  by: text,
}

/** Throws `interrupt.invalid`. */
const mustBeSettlement = <T>(checks: Checks<T>, given: unknown, what: string): void =>
  refuseProblems('interrupt.invalid', optionProblems(checks, given, `${what}()`), 'Nothing was changed.')

/** Where questions are looked up. `run` limits the lookup to one run. */
export interface DecisionAccess {
  readonly engine: Engine
  readonly clock: Clock
  readonly run?: RunId
  readonly mayDecide?: MayDecide | undefined
}

/**
 * Authorises a decision: true, or false or the reason for the refusal. The application authenticates its users
 * (session, token, group), so this runs in the process that calls `decide`, after the rules of the approval and before
 * the decision is recorded. If it throws, or does not answer within `deadlines.functionMs` (5 minutes), `decide`
 * rejects with `hook.failed` and that cause, and the approval stays open. `io.signal` aborts once the answer is no
 * longer awaited.
 */
export type MayDecide = (
  approval: Approval,
  decision: Decision,
  io: { readonly signal: AbortSignal },
) => boolean | string | Promise<boolean | string>

const decisionFields: readonly string[] = [
  'approvalId',
  'decision',
  'input',
  'comment',
  'approver',
  'grant',
  'repeat',
  'inputHash',
  'together',
]
const decisions: readonly Decision['decision'][] = ['approve', 'reject', 'edit', 'retry']
/** Common names of these fields elsewhere, for suggestions. */
const alsoCalled: Readonly<Record<string, string>> = {
  by: 'approver',
  who: 'approver',
  user: 'approver',
  id: 'approvalId',
  reason: 'comment',
  feedback: 'comment',
  args: 'input',
  output: 'input',
  result: 'input',
}

const unknownField = (name: string): string => {
  const meant = Object.hasOwn(alsoCalled, name) ? alsoCalled[name] : undefined
  return `unknown field "${name}" of a decision${meant === undefined ? meantInstead(name, decisionFields, 'it has') : `: did you mean "${meant}"?`}`
}

function unknownDecision(given: unknown): string {
  const slip = typeof given === 'string' ? nearest(given.toLowerCase(), decisions) : undefined
  const problem = `decision is ${given === undefined ? 'missing' : (JSON.stringify(given) ?? described(given))}, expected "approve", "reject", "edit" or "retry"`
  return slip === undefined ? problem : `${problem}: did you mean "${slip}"?`
}

/** The problem of a decision's shape; undefined if it is valid. */
function decisionProblem(given: unknown): string | undefined {
  if (!isObject(given)) return 'invalid decision: expected an object { approvalId, decision, … }'
  const { approvalId, decision, input, comment, approver, grant, repeat, inputHash, together } = given
  const unknown = Object.keys(given).filter((name) => !decisionFields.includes(name))
  const strange = unknown.map(unknownField)
  if (typeof approvalId !== 'string' || approvalId === '')
    return ['approvalId is missing, expected the id of the approval', ...strange].join('; ')
  if (strange.length > 0) return strange.join('; ')
  if (!decisions.some((each) => each === decision)) return unknownDecision(decision)
  if (decision === 'edit' && input === undefined) return 'decision "edit" needs the edited arguments as input'
  if (decision !== 'edit' && input !== undefined)
    return `decision ${JSON.stringify(decision)} takes no input; only "edit" does`
  if (grant !== undefined && decision !== 'approve')
    return `decision ${JSON.stringify(decision)} takes no grant; only "approve" does`
  if (grant !== undefined && grantProblem(grant) !== undefined) return grantProblem(grant)
  if (repeat !== undefined && decision !== 'retry')
    return `decision ${JSON.stringify(decision)} takes no repeat; only "retry" does`
  if (repeat !== undefined && !(Array.isArray(repeat) && repeat.every((id) => typeof id === 'string')))
    return 'repeat must be a list of ids of effects'
  if (comment !== undefined && typeof comment !== 'string') return 'comment must be a string'
  if (approver !== undefined && typeof approver !== 'string') return 'approver must be a string'
  if (inputHash !== undefined && typeof inputHash !== 'string') return 'inputHash must be a string'
  if (together !== undefined && together !== true) return 'together must be true, or left out'
  if (together === true && (inputHash === undefined || inputHash === ''))
    return 'inputHash is missing: a decision of several names the arguments that the approver was shown'
  if (together === true && decision !== 'approve' && decision !== 'reject')
    return `decision ${JSON.stringify(decision)} is made one by one; several are decided by "approve" or "reject"`
  const problem = input === undefined ? undefined : jsonProblem(input, 'input')
  return problem
}

/**
 * Decides an approval. Resolves when the decision is durable and has won. Rejects, and records nothing, if the decision
 * is not allowed (`approval.forbidden`, `approval.invalid`), too late (`approval.expired`), not the first
 * (`approval.already-decided`), or names no approval (`approval.unknown`) (spec team R-16). `by`: recorded beside it.
 */
export async function decide(
  access: DecisionAccess,
  decision: Decision,
  by: { readonly link?: { readonly by?: string } } = {},
): Promise<void> {
  const problem = decisionProblem(decision)
  if (problem !== undefined) throw new ReeveError('approval.invalid', problem, { hint: 'Nothing was decided.' })
  const { approvalId, inputHash: shown, together, ...said } = decision
  const question = await openQuestion(access, approvalId, 'approval')
  if (question === undefined)
    throw await closedApproval(access, approvalId, undefined, together === true ? fewSearched : mostSearched)
  if (question.answered === true) throw await closedApproval({ ...access, run: question.run }, approvalId, 'lost')
  const asked = question.body as ApprovalRequested
  if (question.until !== undefined && question.until < storeTime(access))
    throw expired(approvalId, question.until, whenDriven(asked, question.run))
  mustBeAsShown(asked, shown)
  if (together === true) mustNotStandAlone(asked)
  if ('grant' in decision) mustBeGrantable(asked, decision.grant)
  if ('repeat' in decision) mustBeDone(asked, decision.repeat)
  await mustBePermitted(access, question, decision)
  // binds the decision to the document that the approver saw, even if the code has changed since
  const { tool, toolVersion, inputHash, fourEyes = false } = asked
  const result = await access.engine.post({
    type: 'answer',
    activation: question.activation,
    address: question.address,
    outcome: completed({ ...said, ...by, on: { tool, toolVersion, inputHash, fourEyes } } as Json),
  })
  if (result === 'accepted') return
  throw await closedApproval({ ...access, run: question.run }, approvalId, result)
}

/** How many are decided in one call. */
export const mostDecided = 500
/** How many of them at a time. */
const decidedAtOnce = 8

/** One decision of several as `decide` takes it. Anything else that a caller has put into it is left out. */
const togetherDecision = ({ approvalId, inputHash, decision, comment, approver }: DecisionTogether): Decision => ({
  approvalId,
  inputHash,
  decision,
  ...present({ comment, approver }),
  together: true,
})

/**
 * Decides several approvals, each by itself through `decideOne`. Says of each what became of it, in their order: what is
 * wrong with one stops none of the others. Throws `input.invalid` for no list, and for too many.
 */
export async function decideAll(
  rows: readonly DecisionTogether[],
  decideOne: (decision: Decision) => Promise<void>,
): Promise<readonly DecisionResult[]> {
  const call = 'decideAll()'
  const given: unknown = rows
  if (!Array.isArray(given) || given.length > mostDecided || given.some((row) => !isObject(row)))
    throw new ReeveError(
      'input.invalid',
      `${call}: expected a list of at most ${mostDecided} decisions { approvalId, inputHash, decision }`,
      { hint: 'Nothing was decided.' },
    )
  const results: DecisionResult[] = []
  for (let at = 0; at < rows.length; at += decidedAtOnce)
    results.push(
      ...(await Promise.all(rows.slice(at, at + decidedAtOnce).map((row) => decisionResult(row, decideOne)))),
    )
  return results
}

async function decisionResult(
  row: DecisionTogether,
  decideOne: (decision: Decision) => Promise<void>,
): Promise<DecisionResult> {
  const { approvalId } = row
  try {
    await decideOne(togetherDecision(row))
    return { approvalId, status: 'decided' }
  } catch (thrown) {
    if (!ReeveError.is(thrown)) throw thrown
    const status = thrown.code === 'approval.already-decided' ? 'lost' : 'refused'
    return { approvalId, status, error: thrown }
  }
}

/** What is decided is what the approver was shown. */
function mustBeAsShown({ id, inputHash }: ApprovalRequested, shown: string | undefined): void {
  if (shown === undefined || shown === inputHash) return
  throw new ReeveError('approval.invalid', `approval "${id}": other arguments would run than were shown`, {
    hint: 'Nothing was decided. Look at the approval again.',
  })
}

const alone: Readonly<Record<AloneReason, string>> = {
  'critical-risk': 'its risk is critical',
  'four-eyes': 'two approvers are required',
}

function mustNotStandAlone(asked: ApprovalRequested): void {
  const reason = aloneReason(asked)
  if (reason === undefined) return
  throw new ReeveError('approval.alone', `approval "${asked.id}" is decided by itself: ${alone[reason]}`, {
    hint: 'Nothing was decided. Look at its arguments, and decide it alone: runtime.decide(), or reeve approve <id>.',
  })
}

/** Checks the rules of the approval, then asks the application's `mayDecide`. */
async function mustBePermitted(
  { mayDecide, engine }: DecisionAccess,
  question: Question,
  decision: Decision,
): Promise<void> {
  const refused = notPermitted(question.body as ApprovalRequested, decision.decision, decision.approver)
  if (refused?.kind === 'invalid')
    throw new ReeveError('approval.invalid', `approval "${question.id}": ${refused.problem}`, {
      hint: 'Nothing was decided.',
    })
  if (refused !== undefined) throw forbidden(question.id, refused.problem)
  const [approval] = approvalsAmong([question])
  const word =
    mayDecide === undefined || approval === undefined
      ? true
      : await mayDecideNow(mayDecide, approval, decision, engine.deadlines)
  if (word === true) return
  const who = decision.approver === undefined ? 'an unnamed approver' : `"${decision.approver}"`
  throw forbidden(question.id, typeof word === 'string' && word !== '' ? word : `${who} may not decide it`)
}

/** Asks `mayDecide`. Throws `hook.failed`, with its error as the cause, if it throws or times out. */
async function mayDecideNow(
  mayDecide: MayDecide,
  approval: Approval,
  decision: Decision,
  { functionMs = defaultDeadlines.functionMs }: Deadlines = {},
): Promise<boolean | string> {
  const late = new AbortController()
  const timedOut = new Promise<never>((_resolve, reject) =>
    late.signal.addEventListener('abort', () => reject(late.signal.reason as Error)),
  )
  timedOut.catch(() => undefined)
  const timer = setTimeout(() => late.abort(noAnswer(functionMs)), timerMs(functionMs))
  try {
    return await Promise.race([mayDecide(approval, decision, { signal: late.signal }), timedOut])
  } catch (thrown) {
    if (thrown instanceof ReeveError) throw thrown
    throw new ReeveError('hook.failed', `mayDecide failed: ${messageOf(thrown)}`, {
      hint: 'Nothing was decided, and the approval is still open. Decide again once mayDecide can answer.',
      cause: thrown,
      retryable: true,
    })
  } finally {
    clearTimeout(timer)
  }
}

const noAnswer = (ms: number): Error => Object.assign(new Error(`no answer within ${ms} ms`), { name: 'TimeoutError' })

const forbidden = (id: string, problem: string): ReeveError =>
  new ReeveError('approval.forbidden', `approval "${id}": ${problem}`, {
    hint: 'The approval is still open. Its approvers and excludes say who may decide: runtime.approvals(), reeve show <run>.',
  })

/** Checks a wider grant: the approval must be grantable, and a narrowed grant must name existing arguments. */
function mustBeGrantable({ id, grantable, input: asked }: ApprovalRequested, grant: Granting | undefined): void {
  if (grant === undefined || grant === 'once') return
  if (grantable !== true) throw notGrantable(id)
  const there = isObject(asked) ? Object.keys(asked) : []
  const strange = Object.keys((typeof grant === 'object' ? grant.input : undefined) ?? {}).find(
    (name) => !there.includes(name),
  )
  if (strange === undefined) return
  throw new ReeveError(
    'approval.invalid',
    `grant.input: unknown argument "${strange}"${meantInstead(strange, there, 'they are')}`,
    {
      hint: 'Nothing was decided. Such a grant would not cover a call like this one.',
    },
  )
}

/** An effect can only be repeated if the approver was shown it. */
function mustBeDone({ id, done = [] }: ApprovalRequested, repeat: readonly string[] = []): void {
  const strange = repeat.find((each) => !done.some((effect) => effect.id === each))
  if (strange === undefined) return
  const there = done.map((effect) => effect.id)
  throw new ReeveError(
    'approval.invalid',
    `repeat: approval "${id}" lists no effect "${strange}"${there.length === 0 ? '; it lists none' : meantInstead(strange, there, 'they are')}`,
    { hint: 'Nothing was decided. The effects that may be repeated are those in `done` of the approval.' },
  )
}

const notGrantable = (id: string): ReeveError =>
  new ReeveError('approval.invalid', `approval "${id}" is not grantable: it covers this call only`, {
    hint: 'Nothing was decided. Sensitive tools, high risks and approvals requested by code are decided one by one.',
  })

const expired = (
  id: string,
  until: number,
  then = 'The run continued as its onTimeout says. Start the work again if it is still needed.',
): ReeveError =>
  new ReeveError('approval.expired', `the deadline of approval "${id}" has passed (${new Date(until).toISOString()})`, {
    hint: then,
  })

/** What becomes of an expired approval whose run has not read the deadline yet. */
const whenDriven = ({ onTimeout }: Pick<ApprovalRequested, 'onTimeout'>, run: RunId): string =>
  `The run continues as its onTimeout says (${JSON.stringify(onTimeout)}) when it is driven: start a process with its agents, or reeve resume ${run}.`

/** A question that was taken back before anybody answered it. */
const withdrawn = (
  code: 'approval.expired' | 'interrupt.expired',
  what: string,
  end: Outcome | undefined,
): ReeveError =>
  new ReeveError(
    code,
    `${what} was taken back before it was answered: ${end?.status === 'cancelled' ? end.reason : 'its agent has ended'}`,
    { hint: 'Nothing was changed. What is open now: reeve questions, or runtime.questions().' },
  )

/** How a question has ended, from the journal of its run. */
async function endOf(
  engine: Engine,
  { activation, address }: Pick<Question, 'activation' | 'address'>,
): Promise<Outcome | undefined> {
  for await (const page of runPages(engine, runOf(activation)))
    for (const { activation: asker, event } of page)
      if (asker === activation && event.type === 'ask.settled' && event.address === address) return event.outcome
  return undefined
}

const decided = (id: string, how: string): ReeveError =>
  new ReeveError('approval.already-decided', `approval "${id}" was already decided${how}`, {
    hint: 'The first decision wins. Nothing was changed.',
  })

/** The clock of deadlines. */
export const storeTime = ({ engine, clock }: { readonly engine: Engine; readonly clock: Clock }): number =>
  engine.now?.() ?? clock.now()

/** Why an approval that is not open cannot be decided, from the journals of the runs. */
export async function closedApproval(
  access: DecisionAccess,
  id: string,
  result?: PostResult,
  searched = fewSearched,
): Promise<ReeveError> {
  const until = systemClock.now() + searchMs
  for (const run of await runsToSearch(access, searched)) {
    if (access.run === undefined && systemClock.now() > until) break
    const fold = await foldIfThere(access.engine, run)
    if (fold?.approvals.has(id) !== true) continue
    const { approvals } = viewOf(fold)
    const known = approvals.find((each) => each.id === id)
    if (known === undefined) continue
    if (known.resolution === 'timed-out-rejected' || known.resolution === 'timed-out-approved')
      return expired(id, known.until ?? known.resolvedAt ?? 0)
    if (known.resolution === 'cancelled')
      return withdrawn('approval.expired', `approval "${id}"`, await endOf(access.engine, known))
    if (known.resolution === 'escalated')
      return expired(
        id,
        known.until ?? known.resolvedAt ?? 0,
        `Nobody had decided it${followedBy(approvals, id)}. Nothing was changed.`,
      )
    if (result === 'lost' && known.until !== undefined && known.until < storeTime(access))
      return expired(id, known.until, whenDriven(known, run))
    return decided(
      id,
      known.resolution === undefined
        ? '; its run has not read the decision yet'
        : `: ${known.resolution}${known.approver === undefined ? '' : ` by ${known.approver}`}${followedBy(approvals, id)}`,
    )
  }
  if (result === 'lost' || result === 'closed') return decided(id, '')
  return new ReeveError(
    'approval.unknown',
    access.run === undefined
      ? `no open approval "${id}": it was decided or withdrawn long ago, or there never was one`
      : `unknown approval "${id}" in the run "${access.run}"`,
    {
      hint: 'List the open ones: reeve questions, or runtime.approvals(). One that was decided long ago is in the audit of its run.',
    },
  )
}

/** The state of a run; undefined where there is none of this id. */
async function foldIfThere(engine: Engine, run: RunId): Promise<RunFold | undefined> {
  try {
    return (await foldsOf(engine).of(viewFold, run)).fold
  } catch (thrown) {
    if (ReeveError.is(thrown, 'run.unknown')) return undefined
    throw thrown
  }
}

/** The request that followed this one, and its approvers, for the message to an approver of the earlier one. */
function followedBy(
  approvals: readonly { readonly id: string; readonly follows?: string; readonly approvers?: readonly string[] }[],
  id: string,
): string {
  const next = approvals.find(({ follows }) => follows === id)
  if (next === undefined) return ''
  const { approvers = [] } = next
  return `; "${next.id}" follows${approvers.length === 0 ? '' : `, for ${approvers.map((who) => `"${who}"`).join(', ')}`}`
}

/**
 * Without a run, only so many of the newest runs are searched, and for so long: this improves a message and is not
 * needed for correctness. Milliseconds.
 */
const [fewSearched, mostSearched, searchMs] = [50, 1_000, 1_000]
async function runsToSearch(access: DecisionAccess, limit = fewSearched): Promise<readonly RunId[]> {
  return access.run === undefined ? (await access.engine.runs({ limit })).map((each) => each.run) : [access.run]
}

/** Answers an interrupt. */
export async function answer(access: DecisionAccess, given: Answer): Promise<void> {
  if (!isObject(given) || typeof given.interruptId !== 'string' || given.value === undefined) {
    throw new ReeveError('interrupt.invalid', 'invalid answer: expected an object { interruptId, value }')
  }
  const problem = jsonProblem(given.value)
  if (problem !== undefined) throw new ReeveError('interrupt.invalid', problem)
  const { interruptId: id, value, by } = given
  if (by !== undefined && (typeof by !== 'string' || by === ''))
    throw new ReeveError('interrupt.invalid', 'by must be a name that is not empty')
  const question = await openQuestion(access, id, 'interrupt')
  if (question !== undefined) {
    const misfit = clientAnswerProblem(question.body as Json, value)
    if (misfit !== undefined)
      throw new ReeveError('interrupt.invalid', misfit, {
        hint: 'The question has the schema of its answer. It is still open, and nothing was changed.',
      })
    const posted = await access.engine.post({
      type: 'answer',
      activation: question.activation,
      address: question.address,
      outcome: by === undefined ? completed(value) : { status: 'completed', output: value, by },
    })
    if (posted === 'accepted' || posted === 'lost') return accepted(`the interrupt "${id}"`, posted)
  }
  for (const run of await runsToSearch(access)) {
    const known = (await foldIfThere(access.engine, run))?.interrupts.get(id)
    if (known !== undefined) throw closedInterrupt(known)
  }
  throw new ReeveError('interrupt.unknown', `unknown interrupt "${id}"`, {
    hint: 'List the open questions: reeve show <run>, or runtime.questions().',
  })
}

/** Why a question that is not open takes no answer. */
function closedInterrupt({ id, outcome, until, open }: InterruptView): ReeveError {
  const what = `the interrupt "${id}"`
  if (outcome?.status === 'timed-out')
    return new ReeveError('interrupt.expired', `the deadline of ${what} has passed (${dateOf(until)})`, {
      hint: 'Its agent went on without an answer. Nothing was changed.',
    })
  return outcome?.status === 'completed' || open ? notOpen(what) : withdrawn('interrupt.expired', what, outcome)
}

const dateOf = (at: number | undefined): string => (at === undefined ? 'no time' : new Date(at).toISOString())

/** Settles whether an effect in doubt happened. */
export async function settleDoubt(access: DecisionAccess, given: DoubtSettlement): Promise<void> {
  mustBeSettlement(doubtChecks, given, 'settleDoubt')
  const { activation, address } = await mustBeOpen(access, given.id, 'in-doubt')
  const { happened, value, by } = given
  accepted(
    `"${given.id}"`,
    await access.engine.post({
      type: 'settle-doubt',
      activation,
      address,
      happened,
      ...(value === undefined ? {} : { value }),
      ...(by === undefined ? {} : { by }),
    }),
  )
}

/** Settles an address on which code and journal differ. */
export async function settleDivergence(access: DecisionAccess, given: DivergenceSettlement): Promise<void> {
  mustBeSettlement(divergenceChecks, given, 'settleDivergence')
  const { activation, address } = await mustBeOpen(access, given.id, 'diverged')
  const { action, to, by } = given
  accepted(
    `"${given.id}"`,
    await access.engine.post({
      type: 'settle-divergence',
      activation,
      address,
      action,
      ...(to === undefined ? {} : { to }),
      ...(by === undefined ? {} : { by }),
    }),
  )
}

/** Each kind of question: its name, the call that answers it, the error for an unknown id. */
const kinds: Readonly<
  Record<Question['kind'], { readonly is: string; readonly use: string; readonly unknown: ErrorCode }>
> = {
  approval: {
    is: 'an approval',
    use: 'run.decide({ approvalId, decision }), or reeve approve, reject, edit or retry',
    unknown: 'approval.unknown',
  },
  interrupt: {
    is: 'a question',
    use: 'run.answer({ interruptId, value }), or reeve answer',
    unknown: 'interrupt.unknown',
  },
  'in-doubt': {
    is: 'an effect in doubt',
    use: 'run.control.settleDoubt({ id, happened }), or reeve settle <id> --happened yes|no',
    unknown: 'interrupt.unknown',
  },
  diverged: {
    is: 'a diverged address',
    use: 'run.control.settleDivergence({ id, action }), or reeve settle <id> --map <address>, --execute or --drop',
    unknown: 'interrupt.unknown',
  },
}

/** The open question of this kind. Throws for a question of another kind; the hint names the right call. */
export async function openQuestion(
  { engine, run }: DecisionAccess,
  id: string,
  kind: Question['kind'],
): Promise<Question | undefined> {
  const open = (await engine.questions(run === undefined ? { id } : { run, id })).filter((each) => each.id === id)
  const [other] = open
  const found = open.find((each) => each.kind === kind)
  if (found !== undefined || other === undefined) return found
  throw new ReeveError(kinds[kind].unknown, `"${id}" is ${kinds[other.kind].is}, not ${kinds[kind].is}`, {
    hint: `Use ${kinds[other.kind].use}. Nothing was changed.`,
  })
}

async function mustBeOpen(access: DecisionAccess, id: string, kind: Question['kind']): Promise<Question> {
  const question = await openQuestion(access, id, kind)
  if (question !== undefined) return question
  throw new ReeveError('interrupt.unknown', `no open question has the id "${id}"`, {
    hint: 'List the open questions: reeve show <run>, or runtime.questions().',
  })
}

/** Throws unless this answer counts. `what`: what it answers. */
function accepted(what: string, result: PostResult): void {
  if (result === 'lost')
    throw new ReeveError('interrupt.already-answered', `${what} was already answered`, {
      hint: 'The first answer wins.',
    })
  if (result !== 'accepted') throw notOpen(what)
}

const notOpen = (what: string): ReeveError =>
  new ReeveError('interrupt.already-answered', `${what} is not open any more`, {
    hint: 'It was answered, or its agent has ended.',
  })
