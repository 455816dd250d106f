/**
 * Decisions from outside: an approval's yes or no, an interrupt's value, what became of an effect in doubt, of a
 * diverged address.
 *
 * Owns: that a decision names its question and has a valid shape, and the error for each way in which it comes to
 * nothing. Does not own: who wins (the store, by a unique key: K2), what a decision means to the run (oversight,
 * agent). Whenever an error is thrown here, nothing was decided and nothing runs.
 */
import {
  completed,
  described,
  isObject,
  jsonProblem,
  meantInstead,
  messageOf,
  nearest,
  ReeveError,
  type Clock,
  type ErrorCode,
  type Json,
  type RunId,
} from '../../core/index.ts'
import { defaultDeadlines, type Deadlines, type Engine, type PostResult, type Question } from '../../engine/index.ts'
import { runView, type ApprovalRequested } from '../../journal/index.ts'
import { grantProblem, notPermitted, type Granting } from '../../oversight/index.ts'
import { approvalsAmong, type Approval } from './open-approvals.ts'
import { wholeFeed } from '../feed/whole-feed.ts'

/**
 * The decision on an approval. `edit` approves other arguments than those asked for, given as `input`; of the result of
 * some work, another result. Whether they fit is looked at by whoever runs it, not by `decide`, which may be called in
 * a process that does not know the tool: if they do not fit, it is asked again, and says why. `retry` rejects this
 * attempt and asks the agent to try again, with `comment` as the feedback.
 */
export type Decision =
  | {
      readonly approvalId: string
      readonly decision: 'approve'
      readonly comment?: string
      readonly approver?: string
      /**
       * For how long this yes holds. Default `once`. More only where the approval says that it is `grantable`: never
       * for a sensitive tool or a high risk.
       */
      readonly grant?: Granting
    }
  | {
      readonly approvalId: string
      readonly decision: 'reject' | 'retry'
      readonly comment?: string
      readonly approver?: string
    }
  | {
      readonly approvalId: string
      readonly decision: 'edit'
      readonly input: Json
      readonly comment?: string
      readonly approver?: string
    }

/** The value that answers an interrupt. */
export interface Answer {
  readonly interruptId: string
  readonly value: Json
  /** Under which name it is answered. Recorded with it. */
  readonly by?: string
}

/**
 * What became of an effect in doubt: it happened (and this was its result), or it did not (and is to be run). `id` is
 * the question's.
 */
export interface DoubtSettlement {
  readonly id: string
  readonly happened: boolean
  readonly value?: Json
  readonly by?: string
}

/** What to do about a new effect that is not in the journal. `id` is the question's. */
export interface DivergenceSettlement {
  readonly id: string
  readonly action: 'map' | 'execute' | 'drop'
  readonly to?: string
  readonly by?: string
}

/** Where a decision is looked up. `run` narrows it to one run. */
export interface DecisionAccess {
  readonly engine: Engine
  readonly clock: Clock
  readonly run?: RunId
  readonly mayDecide?: MayDecide | undefined
}

/**
 * Whether this decision on this approval may be made: true, or false or the reason why not. Who somebody is (a session,
 * a token, a group) is the application's to know: it is asked in the process in which `decide` is called, before
 * anything is posted, and after the approval's own rules. If it throws, or gives no answer in time
 * (`deadlines.functionMs`, 5 minutes), `decide` rejects with `hook.failed` and that as the cause, and nothing is
 * decided. `io.signal` says that nobody waits for the answer any more.
 */
export type MayDecide = (
  approval: Approval,
  decision: Decision,
  io: { readonly signal: AbortSignal },
) => boolean | string | Promise<boolean | string>

const decisionFields: readonly string[] = ['approvalId', 'decision', 'input', 'comment', 'approver', 'grant']
const decisions: readonly Decision['decision'][] = ['approve', 'reject', 'edit', 'retry']
/** What others call these fields, or other calls here. */
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
  return `a decision has no field "${name}"${meant === undefined ? meantInstead(name, decisionFields, 'it has') : `: did you mean "${meant}"?`}`
}

function unknownDecision(given: unknown): string {
  const slip = typeof given === 'string' ? nearest(given.toLowerCase(), decisions) : undefined
  const problem = `decision is ${given === undefined ? 'missing' : (JSON.stringify(given) ?? described(given))}, expected "approve", "reject", "edit" or "retry"`
  return slip === undefined ? problem : `${problem}: did you mean "${slip}"?`
}

/** What is wrong with the shape of a decision; undefined if nothing. */
function decisionProblem(given: unknown): string | undefined {
  if (!isObject(given)) return 'a decision is an object { approvalId, decision, … }'
  const { approvalId, decision, input, comment, approver, grant } = given
  const unknown = Object.keys(given).filter((name) => !decisionFields.includes(name))
  const strange = unknown.map(unknownField)
  if (typeof approvalId !== 'string' || approvalId === '')
    return ['a decision must name its approval: approvalId is missing', ...strange].join('; ')
  if (strange.length > 0) return strange.join('; ')
  if (!decisions.some((each) => each === decision)) return unknownDecision(decision)
  if (decision === 'edit' && input === undefined) return 'decision "edit" needs the edited arguments as input'
  if (decision !== 'edit' && input !== undefined)
    return `decision ${JSON.stringify(decision)} takes no input; only "edit" does`
  if (grant !== undefined && decision !== 'approve')
    return `decision ${JSON.stringify(decision)} grants nothing; only "approve" does`
  if (grant !== undefined && grantProblem(grant) !== undefined) return grantProblem(grant)
  if (comment !== undefined && typeof comment !== 'string') return 'comment must be a text'
  if (approver !== undefined && typeof approver !== 'string') return 'approver must be a text'
  const problem = input === undefined ? undefined : jsonProblem(input, 'input')
  return problem
}

/**
 * Decides an approval. Resolves when the decision is durable and is the one that counts. One that may not be made
 * (`approval.forbidden`, `approval.invalid`), comes too late (`approval.expired`), second (`approval.already-decided`)
 * or for nothing (`approval.unknown`) rejects, and nothing of it is recorded: whoever called is told (spec team R-16).
 */
export async function decide(access: DecisionAccess, decision: Decision): Promise<void> {
  const problem = decisionProblem(decision)
  if (problem !== undefined) throw new ReeveError('approval.invalid', problem, { hint: 'Nothing was decided.' })
  const { approvalId, ...said } = decision
  const question = await find(access, approvalId, 'approval')
  if (question === undefined) throw await closedApproval(access, approvalId)
  if (question.until !== undefined && question.until < storeTime(access)) throw expired(approvalId, question.until)
  const asked = question.body as ApprovalRequested
  if ('grant' in decision) mustBeGrantable(asked, decision.grant)
  await mustBePermitted(access, question, decision)
  // what was decided about is what whoever decided has seen, whatever the code has become meanwhile
  const { tool, toolVersion, inputHash, fourEyes = false } = asked
  const result = await access.engine.post({
    type: 'answer',
    activation: question.activation,
    address: question.address,
    outcome: completed({ ...said, on: { tool, toolVersion, inputHash, fourEyes } } as Json),
  })
  if (result === 'accepted') return
  throw await closedApproval({ ...access, run: question.run }, approvalId, result)
}

/** What the approval says of who may decide it and what, then what the application says. */
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
      : await asked(mayDecide, approval, decision, engine.deadlines)
  if (word === true) return
  const who = decision.approver === undefined ? 'whoever decides' : `"${decision.approver}"`
  throw forbidden(question.id, typeof word === 'string' && word !== '' ? word : `${who} may not decide it`)
}

/** What the application says. That it cannot say is an error of its own, with what it threw as the cause. */
async function asked(
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
  // a timer knows no time beyond 24 days
  const timer = functionMs > 2 ** 31 - 1 ? undefined : setTimeout(() => late.abort(noAnswer(functionMs)), functionMs)
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
    hint: 'Nothing was decided, and the approval is still open. Who may is in its approvers and excludes: runtime.approvals(), reeve show <run>.',
  })

/** More than this one yes: the approval must allow it, and a narrowed grant must be about arguments that there are. */
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
    `grant.input: "${strange}" is not among the arguments${meantInstead(strange, there, 'they are')}`,
    {
      hint: 'Nothing was decided. The grant would never have let a call like this one pass.',
    },
  )
}

const notGrantable = (id: string): ReeveError =>
  new ReeveError('approval.invalid', `approval "${id}" holds for this call alone: nothing can be granted with it`, {
    hint: 'Nothing was decided. Sensitive tools, high risks and approvals that code asks for are decided one by one.',
  })

const expired = (id: string, until: number): ReeveError =>
  new ReeveError('approval.expired', `the deadline of approval "${id}" has passed (${new Date(until).toISOString()})`, {
    hint: 'Nothing was run. Start the work again if it is still wanted.',
  })

const decided = (id: string, how: string): ReeveError =>
  new ReeveError('approval.already-decided', `approval "${id}" was already decided${how}`, {
    hint: 'The first decision counts. Nothing was changed.',
  })

/** What time it is for deadlines. */
export const storeTime = ({ engine, clock }: { readonly engine: Engine; readonly clock: Clock }): number =>
  engine.now?.() ?? clock.now()

/** Why an approval that is not open cannot be decided: the runs' journals know. */
async function closedApproval(access: DecisionAccess, id: string, result?: PostResult): Promise<ReeveError> {
  for (const run of await runsToSearch(access)) {
    const { approvals } = runView(await wholeFeed(access.engine, run))
    const known = approvals.find((each) => each.id === id)
    if (known === undefined) continue
    if (known.resolution === 'timed-out-rejected' || known.resolution === 'timed-out-approved')
      return expired(id, known.until ?? known.resolvedAt ?? 0)
    if (known.resolution === 'cancelled')
      return new ReeveError('approval.expired', `approval "${id}" needs no decision any more: its work was cancelled`, {
        hint: 'Nothing was run.',
      })
    if (result === 'lost' && known.until !== undefined && known.until < storeTime(access))
      return expired(id, known.until)
    return decided(
      id,
      known.resolution === undefined
        ? ', and whoever drives its run has not acted on it yet'
        : `: ${known.resolution}${known.approver === undefined ? '' : ` by ${known.approver}`}${followedBy(approvals, id)}`,
    )
  }
  if (result === 'lost' || result === 'closed') return decided(id, '')
  return new ReeveError(
    'approval.unknown',
    `there is no approval "${id}"${access.run === undefined ? '' : ` in the run "${access.run}"`}`,
    {
      hint: 'List the open ones: reeve show <run>, or runtime.approvals().',
    },
  )
}

/** The question that came after this one, and whose it is: for whoever decided the one before. */
function followedBy(
  approvals: readonly { readonly id: string; readonly follows?: string; readonly approvers?: readonly string[] }[],
  id: string,
): string {
  const next = approvals.find(({ follows }) => follows === id)
  if (next === undefined) return ''
  const { approvers = [] } = next
  return `; "${next.id}" follows${approvers.length === 0 ? '' : `, for ${approvers.map((who) => `"${who}"`).join(', ')}`}`
}

/** Without a run, only the newest ones are searched: this is for a better message, not for correctness. */
async function runsToSearch(access: DecisionAccess): Promise<readonly RunId[]> {
  return access.run === undefined ? (await access.engine.runs({ limit: 50 })).map((each) => each.run) : [access.run]
}

/** Answers an interrupt. */
export async function answer(access: DecisionAccess, given: Answer): Promise<void> {
  if (!isObject(given) || typeof given.interruptId !== 'string' || given.value === undefined) {
    throw new ReeveError('interrupt.invalid', 'an answer is an object { interruptId, value }')
  }
  const problem = jsonProblem(given.value)
  if (problem !== undefined) throw new ReeveError('interrupt.invalid', problem)
  const { interruptId: id, value, by } = given
  if (by !== undefined && (typeof by !== 'string' || by === ''))
    throw new ReeveError('interrupt.invalid', 'by must be a name')
  const question = await find(access, id, 'interrupt')
  if (question !== undefined) {
    const result = await access.engine.post({
      type: 'answer',
      activation: question.activation,
      address: question.address,
      outcome: by === undefined ? completed(value) : { status: 'completed', output: value, by },
    })
    if (result === 'accepted') return
    throw new ReeveError('interrupt.already-answered', `the interrupt "${id}" was already answered`, {
      hint: 'The first answer counts.',
    })
  }
  for (const run of await runsToSearch(access)) {
    if (!runView(await wholeFeed(access.engine, run)).interrupts.some((each) => each.id === id)) continue
    throw new ReeveError('interrupt.already-answered', `the interrupt "${id}" is not open any more`, {
      hint: 'The first answer counts; one whose agent has ended needs none.',
    })
  }
  throw new ReeveError('interrupt.unknown', `there is no interrupt "${id}"`, {
    hint: 'List what is asked: reeve show <run>, or runtime.questions().',
  })
}

/** Says whether an effect in doubt has happened. */
export async function settleDoubt(access: DecisionAccess, given: DoubtSettlement): Promise<void> {
  const { activation, address } = await findOrThrow(access, given.id, 'in-doubt')
  const { happened, value, by } = given
  accepted(
    given.id,
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

/** Says what is to become of an address that code and journal disagree about. */
export async function settleDivergence(access: DecisionAccess, given: DivergenceSettlement): Promise<void> {
  const { activation, address } = await findOrThrow(access, given.id, 'diverged')
  const { action, to, by } = given
  accepted(
    given.id,
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

/** What each kind of question is, and what it is answered with. */
const kinds: Readonly<
  Record<Question['kind'], { readonly is: string; readonly use: string; readonly unknown: ErrorCode }>
> = {
  approval: {
    is: 'an approval',
    use: 'decide({ approvalId, decision }), or reeve approve, reject, edit or retry',
    unknown: 'approval.unknown',
  },
  interrupt: { is: 'a question', use: 'answer({ interruptId, value }), or reeve answer', unknown: 'interrupt.unknown' },
  'in-doubt': { is: 'an effect in doubt', use: 'settleDoubt({ id, happened })', unknown: 'interrupt.unknown' },
  diverged: { is: 'a diverged address', use: 'settleDivergence({ id, action })', unknown: 'interrupt.unknown' },
}

/** The open question of this kind. Throws for one of another kind, and says what is meant for it. */
async function find(
  { engine, run }: DecisionAccess,
  id: string,
  kind: Question['kind'],
): Promise<Question | undefined> {
  const open = (await engine.questions(run === undefined ? { id } : { run, id })).filter((each) => each.id === id)
  const [other] = open
  const found = open.find((each) => each.kind === kind)
  if (found !== undefined || other === undefined) return found
  throw new ReeveError(kinds[kind].unknown, `"${id}" is ${kinds[other.kind].is}, not ${kinds[kind].is}`, {
    hint: `Use run.${kinds[other.kind].use}. Nothing was changed.`,
  })
}

async function findOrThrow(access: DecisionAccess, id: string, kind: Question['kind']): Promise<Question> {
  const question = await find(access, id, kind)
  if (question !== undefined) return question
  throw new ReeveError('interrupt.unknown', `nothing is open under the id "${id}"`, {
    hint: 'List what is asked: reeve show <run>, or runtime.questions().',
  })
}

function accepted(id: string, result: PostResult): void {
  if (result !== 'accepted')
    throw new ReeveError('interrupt.already-answered', `"${id}" is settled already`, {
      hint: 'The first answer counts.',
    })
}
