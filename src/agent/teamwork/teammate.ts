/**
 * Teammate: what a member of a planned team that is code can do besides its work: read and send mail, ask for help,
 * publish.
 *
 * Owns: these verbs. Does not own: their words (team-commands.ts), the tools of models (team-tools.ts), who decides (../../team).
 * Holds: K3, K6: what was read is recorded with the member, so mail that was taken is there again after a crash, with
 * the same numbers, and is taken once.
 */
import {
  failure,
  FailureError,
  isObject,
  ReeveError,
  unknownNames,
  type Json,
  type JsonObject,
  type MessageId,
  type NamesOf,
} from '../../core/index.ts'
import { readEdge, type Assignment } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import {
  leaderReply,
  replyIn,
  tellLeader,
  type InboxCommand,
  type Mail,
  type MailToSend,
  type RecruitWish,
  type RetireWish,
} from './team-commands.ts'

/** What became of mail that was sent. */
export type Sent =
  | {
      readonly accepted: true
      readonly seq: number
      /** Whose inboxes it is in. Empty: nobody of that name is there (yet). */
      readonly recipients: readonly string[]
      /** How many messages were given up for it. */
      readonly dropped: number
    }
  | { readonly accepted: false; readonly reason: string; readonly message?: string }

/** What became of a wish for another member. */
export type Recruited =
  | { readonly admitted: true; readonly member: string; /** They do this already. */ readonly duplicate: boolean }
  | { readonly admitted: false; readonly reason: string; readonly message: string }

/** What became of a wish that a member leave. */
export type Retired =
  { readonly retired: true } | { readonly retired: false; readonly reason: string; readonly message: string }

/** What became of an entry. */
export type Published =
  | { readonly published: true; readonly seq: number }
  | { readonly published: false; readonly reason: string; readonly message?: string }

/** Somebody on the team, as members see them. */
export interface TeamEntry {
  readonly member: string
  readonly role: string
  readonly status: 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'retired' | 'cancelled' | 'skipped'
  readonly task: string
  readonly recruited: boolean
  /** Of recruits: who asked for them: a member, `lead`, or whoever said so from outside. */
  readonly requestedBy?: string
  /** Milliseconds since 1970: when it first began, and when it had ended. */
  readonly startedAt?: number
  readonly endedAt?: number
  /** Its own tries, those of its steps included. */
  readonly attempts: number
  /** How the last try failed. */
  readonly lastError?: string
}

/** How mail is waited for. */
export interface MailWait {
  /** Only mail of this member, `lead` or `operator`. Default: of anybody. */
  readonly from?: string
  /** Milliseconds; then there is none. Default: as long as somebody may still send some. */
  readonly withinMs?: number
}

const waitNames: NamesOf<MailWait> = { from: true, withinMs: true }

/**
 * A member's hold on its team. Several verbs at once need a `ctx.scope` each only where they sleep: a wait with
 * `withinMs`.
 */
export interface Teammate extends Readonly<Omit<Assignment, 'leader' | 'verbs'>> {
  /**
   * The unread mail, oldest first. It is read then: a crash gives the same mail with the same numbers again, another
   * attempt at the task does not.
   */
  inbox(): Promise<readonly Mail[]>
  /**
   * The unread mail, as soon as there is some. Empty when the time is up. Whoever waits holds no place among those who
   * work, and counts as doing nothing else: where other branches of the same member go on, wait with `withinMs`.
   * Rejects with a FailureError `team.deadlock` where nobody is left who could send any.
   */
  nextMail(wait?: MailWait): Promise<readonly Mail[]>
  /** Sends mail and does not wait: it leaves with the next commit. Whether it is taken, the journal says. */
  post(mail: MailToSend): MessageId
  /** Sends mail and waits for the receipt. */
  send(mail: MailToSend): Promise<Sent>
  recruit(wish: RecruitWish): Promise<Recruited>
  retire(wish: RetireWish): Promise<Retired>
  /** Who is on the team; those of a role, if one is named. In the order in which they joined. */
  team(role?: string): Promise<readonly TeamEntry[]>
  /** Adds an entry to a topic that the task produces. Default: its output is the entry, once it has succeeded. */
  publish(topic: string, entry: Json): Promise<Published>
  /** The entries of a topic so far, oldest first. */
  entries(topic: string): Promise<readonly Json[]>
}

/** The place in the team of whoever works here. Throws `team.not-a-member` where there is none. */
export function teammate(ctx: Context): Teammate {
  const { assignment } = readEdge(ctx.input).team
  if (assignment === undefined)
    throw new ReeveError('team.not-a-member', `"${ctx.place.agent}" does not work for a planned team here`, {
      hint: 'Only members of a team({ … }) and their orchestration tools have mail and colleagues. isTeammate(ctx) tells.',
    })
  return new ActivationTeammate(ctx, assignment)
}

/** Whether `teammate(ctx)` has an answer. */
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
    const problems = unknownNames(wait, waitNames, 'nextMail')
    if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '))
    const { from, withinMs } = wait
    const ctx = this.#ctx
    const word: InboxCommand = { do: 'inbox', wait: true, ...(from === undefined ? undefined : { from }) }
    if (withinMs === undefined) return mailOf(await this.#ask(word))
    if (!Number.isFinite(withinMs))
      throw new ReeveError('input.invalid', `nextMail: withinMs is ${withinMs}, expected milliseconds`)
    const asked = tellLeader(ctx, this.#leader, { ...word, bounded: true })
    const timer = ctx.ask('mail', { until: new Date(ctx.now().getTime() + Math.max(0, withinMs)) })
    const first = await ctx.next((each) => each.id === timer || replyIn(each, this.#leader, asked) !== undefined)
    if (first.id === timer) return this.#callOff(asked, { ...word, wait: false, instead: asked })
    ctx.stop(timer, 'no longer needed')
    return mailOf(replyIn(first, this.#leader, asked) ?? {})
  }

  /** Ends a wait. The leader may have replied just now: then that reply is on its way, and is the mail. */
  async #callOff(asked: MessageId, word: InboxCommand): Promise<readonly Mail[]> {
    const again = tellLeader(this.#ctx, this.#leader, word)
    let early: readonly Mail[] | undefined
    let late: JsonObject | undefined
    while (late === undefined || (early === undefined && late['calledOff'] === false)) {
      const next = await this.#ctx.next((each) =>
        [asked, again].some((id) => replyIn(each, this.#leader, id) !== undefined),
      )
      const reply = replyIn(next, this.#leader, asked)
      if (reply !== undefined) early = mailOf(reply)
      late ??= replyIn(next, this.#leader, again)
    }
    return [...(early ?? []), ...mailOf(late)]
  }

  readonly post = (mail: MailToSend): MessageId =>
    tellLeader(this.#ctx, this.#leader, { do: 'send', mail, receipt: false })

  readonly send = async (mail: MailToSend): Promise<Sent> =>
    (await this.#ask({ do: 'send', mail, receipt: true })) as unknown as Sent

  readonly recruit = async (wish: RecruitWish): Promise<Recruited> =>
    (await this.#ask({ do: 'recruit', wish })) as unknown as Recruited

  readonly retire = async (wish: RetireWish): Promise<Retired> =>
    (await this.#ask({ do: 'retire', wish })) as unknown as Retired

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

/** The mail in a reply; throws where there can be none any more. */
function mailOf({ mail, deadlock, cycle = [] }: JsonObject): readonly Mail[] {
  if (typeof deadlock === 'string')
    throw new FailureError(failure('team.deadlock', deadlock, 'policy', { details: { cycle } }))
  return Array.isArray(mail) ? (mail.filter((each) => isObject(each)) as unknown as readonly Mail[]) : []
}
