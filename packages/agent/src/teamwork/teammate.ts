/**
 * Teammate: what a code member of a planned team can do besides its work: read and send mail, recruit, publish.
 *
 * Owns: these verbs. Does not own: their messages (team-commands.ts), the tools of models (team-tools.ts), how the
 * leader decides (../../team).
 * Holds: K3, K6: mail that was read is recorded with the member. After a crash the same mail arrives with the same
 * numbers, and is taken once.
 */
import type { Context } from '@reeve/engine'
import {
  failure,
  FailureError,
  isObject,
  number,
  optionProblems,
  ReeveError,
  refuseProblems,
  unchecked,
  type Checks,
  type Json,
  type JsonObject,
  type MessageId,
} from '@reeve/core'
import { readEdge, type Assignment } from '@reeve/edge'
import {
  leaderReply,
  replyIn,
  tellLeader,
  type InboxCommand,
  type Mail,
  type MailToSend,
  type RecruitRequest,
  type RetireRequest,
} from './team-commands.ts'

/** The receipt of sent mail. */
export type Sent =
  | {
      readonly accepted: true
      readonly seq: number
      /** The members whose inboxes hold it. Empty: no member matches (yet). */
      readonly recipients: readonly string[]
      /** How many older messages were dropped for it. */
      readonly dropped: number
      /** What a person has changed of the message, or said of it. */
      readonly note?: string
    }
  | { readonly accepted: false; readonly reason: string; readonly message?: string }

/** The result of a request for another member. */
export type Recruited =
  | {
      readonly admitted: true
      readonly member: string
      /** They do this already. */
      readonly duplicate: boolean
      /** What a person has changed of the request, or said of it. */
      readonly note?: string
    }
  | { readonly admitted: false; readonly reason: string; readonly message: string }

/** The result of a request that a member leave. */
export type Retired =
  { readonly retired: true } | { readonly retired: false; readonly reason: string; readonly message: string }

/** The result of publishing an entry. */
export type Published =
  | { readonly published: true; readonly seq: number }
  | { readonly published: false; readonly reason: string; readonly message?: string }

/** A member of the team, as other members see it. */
export interface TeamEntry {
  readonly member: string
  readonly role: string
  readonly status: 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'retired' | 'cancelled' | 'skipped'
  readonly task: string
  readonly recruited: boolean
  /** For recruits: who requested it: a member, `lead`, or the operator's name. */
  readonly requestedBy?: string
  /** Milliseconds since 1970: when it first began, and when it ended. */
  readonly startedAt?: number
  readonly endedAt?: number
  /** Its own attempts, including those of its steps. */
  readonly attempts: number
  /** The failure of its last attempt. */
  readonly lastError?: string
}

/** How to wait for mail. */
export interface MailWait {
  /** Only mail of this member, `lead` or `operator`. Default: of any sender. */
  readonly from?: string
  /** Milliseconds; after that the result is empty. Default: as long as another member may still send mail. */
  readonly withinMs?: number
}

const waitChecks: Checks<MailWait> = { from: unchecked, withinMs: number(Number.isFinite, 'milliseconds') }

/**
 * The team, as a code member uses it. Concurrent verbs need a `ctx.scope` each only if they sleep: a wait with
 * `withinMs`.
 */
export interface Teammate extends Readonly<Omit<Assignment, 'leader' | 'verbs'>> {
  /**
   * The unread mail, oldest first, which then counts as read. A crash returns the same mail with the same numbers;
   * another attempt at the task does not.
   */
  inbox(): Promise<readonly Mail[]>
  /**
   * Waits for unread mail. Empty after `withinMs`. A waiting member uses no concurrency slot, and counts as idle: if
   * other branches of the same member continue, set `withinMs`. Rejects with a FailureError `team.deadlock` if no
   * member is left that could send mail.
   */
  nextMail(wait?: MailWait): Promise<readonly Mail[]>
  /** Sends mail without waiting: it leaves with the next commit. The journal says whether it was accepted. */
  post(mail: MailToSend): MessageId
  /** Sends mail and waits for the receipt. */
  send(mail: MailToSend): Promise<Sent>
  recruit(request: RecruitRequest): Promise<Recruited>
  retire(request: RetireRequest): Promise<Retired>
  /** The members of the team, in the order in which they joined; with `role`, only the members of that role. */
  team(role?: string): Promise<readonly TeamEntry[]>
  /** Adds an entry to a topic that the task produces. Default: its output is the entry, once it has succeeded. */
  publish(topic: string, entry: Json): Promise<Published>
  /** The entries of a topic so far, oldest first. */
  entries(topic: string): Promise<readonly Json[]>
}

/** The team of the member that works here. Throws `team.not-a-member` for agents outside a planned team. */
export function teammate(ctx: Context): Teammate {
  const { assignment } = readEdge(ctx.input).team
  if (assignment === undefined)
    throw new ReeveError('team.not-a-member', `"${ctx.place.agent}" does not work for a planned team here`, {
      hint: 'Only members of a team({ … }) and their orchestration tools have mail and colleagues. isTeammate(ctx) tells.',
    })
  return new ActivationTeammate(ctx, assignment)
}

/** Whether `teammate(ctx)` works here. */
export const isTeammate = (ctx: Context): boolean => readEdge(ctx.input).team.assignment !== undefined

class ActivationTeammate implements Teammate {
  readonly member: string
  readonly role: string
  readonly task: string
  readonly description: string
  readonly question: Json
  readonly attempt: number
  readonly inputs: Assignment['inputs']
  readonly feedback?: string
  readonly tools?: readonly string[]
  readonly toolParameters?: Readonly<Record<string, Json>>
  readonly #ctx: Context
  readonly #leader: Assignment['leader']

  constructor(
    ctx: Context,
    { leader, member, role, task, description, question, attempt, inputs, feedback, tools, toolParameters }: Assignment,
  ) {
    this.#ctx = ctx
    this.#leader = leader
    this.member = member
    this.role = role
    this.task = task
    this.description = description
    this.question = question
    this.attempt = attempt
    this.inputs = inputs
    if (feedback !== undefined) this.feedback = feedback
    if (tools !== undefined) this.tools = tools
    if (toolParameters !== undefined) this.toolParameters = toolParameters
  }

  readonly inbox = async (): Promise<readonly Mail[]> => mailOf(await this.#ask({ do: 'inbox', wait: false }))

  readonly nextMail = async (wait: MailWait = {}): Promise<readonly Mail[]> => {
    refuseProblems('input.invalid', optionProblems(waitChecks, wait, 'nextMail'))
    const { from, withinMs } = wait
    const ctx = this.#ctx
    const word: InboxCommand = { do: 'inbox', wait: true, ...(from === undefined ? undefined : { from }) }
    if (withinMs === undefined) return mailOf(await this.#ask(word))
    const request = tellLeader(ctx, this.#leader, { ...word, bounded: true })
    const timer = ctx.ask('mail', { until: new Date(ctx.now().getTime() + Math.max(0, withinMs)) })
    const first = await ctx.next((each) => each.id === timer || replyIn(each, this.#leader, request) !== undefined)
    if (first.id === timer) return this.#callOff(request, { ...word, wait: false, instead: request })
    ctx.stop(timer, 'no longer needed')
    return mailOf(replyIn(first, this.#leader, request) ?? {})
  }

  /** Ends a wait. If the leader has just replied, that reply is on its way and holds the mail. */
  async #callOff(request: MessageId, word: InboxCommand): Promise<readonly Mail[]> {
    const again = tellLeader(this.#ctx, this.#leader, word)
    let early: readonly Mail[] | undefined
    let late: JsonObject | undefined
    while (late === undefined || (early === undefined && late['calledOff'] === false)) {
      const next = await this.#ctx.next((each) =>
        [request, again].some((id) => replyIn(each, this.#leader, id) !== undefined),
      )
      const reply = replyIn(next, this.#leader, request)
      if (reply !== undefined) early = mailOf(reply)
      late ??= replyIn(next, this.#leader, again)
    }
    return [...(early ?? []), ...mailOf(late)]
  }

  readonly post = (mail: MailToSend): MessageId =>
    tellLeader(this.#ctx, this.#leader, { do: 'send', mail, receipt: false })

  readonly send = async (mail: MailToSend): Promise<Sent> =>
    (await this.#ask({ do: 'send', mail, receipt: true })) as unknown as Sent

  readonly recruit = async (request: RecruitRequest): Promise<Recruited> =>
    (await this.#ask({ do: 'recruit', wish: request })) as unknown as Recruited

  readonly retire = async (request: RetireRequest): Promise<Retired> =>
    (await this.#ask({ do: 'retire', wish: request })) as unknown as Retired

  readonly team = async (role?: string): Promise<readonly TeamEntry[]> => {
    const { team } = await this.#ask({ do: 'team', ...(role === undefined ? undefined : { role }) })
    return (Array.isArray(team) ? team : []) as readonly TeamEntry[]
  }

  readonly publish = async (topic: string, entry: Json): Promise<Published> =>
    (await this.#ask({ do: 'publish', topic, entry })) as unknown as Published

  readonly entries = async (topic: string): Promise<readonly Json[]> => {
    const { entries } = await this.#ask({ do: 'entries', topic })
    return Array.isArray(entries) ? (entries as readonly Json[]) : []
  }

  #ask(word: Parameters<typeof tellLeader>[2]): Promise<JsonObject> {
    return leaderReply(this.#ctx, this.#leader, tellLeader(this.#ctx, this.#leader, word))
  }
}

/** The mail in a reply. Throws `team.deadlock` if no mail can arrive any more. */
function mailOf({ mail, deadlock, cycle = [] }: JsonObject): readonly Mail[] {
  if (typeof deadlock === 'string')
    throw new FailureError(failure('team.deadlock', deadlock, 'policy', { details: { cycle } }))
  return Array.isArray(mail) ? (mail.filter((each) => isObject(each)) as unknown as readonly Mail[]) : []
}
