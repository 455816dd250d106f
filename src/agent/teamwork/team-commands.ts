/**
 * The words between a member of a planned team and whoever leads it: what a member may ask for, and the replies.
 *
 * Owns: the channels, and what their messages say. Does not own: what the leader does about it (../../team), the verbs
 * of members (teammate.ts, team-tools.ts).
 * Holds: K3: both sides wait for messages, so replay hears them in the recorded order; nobody hangs: who has no leader
 * any more is refused. Persistent: they stand in journals.
 */
import { isObject, type ActivationId, type Json, type JsonObject, type MessageId } from '../../core/index.ts'
import type { TeamVerb } from '../../edge/index.ts'
import { TypedChannel, RequestChannel, type Arrival, type Context } from '../../engine/index.ts'

/** Mail to send. `to`: a member, `role:<name>`, or `*` for everybody else. */
export interface MailToSend {
  readonly to: string
  readonly content: Json
  /** What sort of mail it is: `info`, `request`, `offer`, … */
  readonly kind?: string
  readonly correlationId?: string
}

/** Mail in an inbox. */
export interface Mail {
  /** Strictly increasing in the team. Whoever has seen a number has seen the mail. */
  readonly seq: number
  /** A member, `lead`, or `operator`. */
  readonly from: string
  readonly to: string
  /** The role of the member who sent it. */
  readonly role?: string
  /** Who sent it, as somebody outside says: only with `operator`. */
  readonly by?: string
  readonly content: Json
  readonly kind?: string
  readonly correlationId?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A wish for another member. */
export interface RecruitWish {
  /** What they are to do. */
  readonly description: string
  /** Default `generalist`. */
  readonly role?: string
  /** The same id twice is one wish. Default: every wish is another. */
  readonly requestId?: string
  /** The task whose dependents wait for the recruit, too. Default: the task of the member who asks. */
  readonly parentTask?: string
  /**
   * Who waits for them. Default `parent` where there is a parent task, else `run`; `none`: nobody, they are called off
   * when everything else is done.
   */
  readonly join?: 'parent' | 'run' | 'none'
  /** What it may use, in all likelihood. */
  readonly estimate?: { readonly tokens?: number; readonly usd?: number }
}

/** A wish that a member leave. */
export interface RetireWish {
  readonly member: string
  /** `graceful` (default): after its task. `force`: now. */
  readonly mode?: 'graceful' | 'force'
  /** With `force`: its task goes to somebody else. Default true. */
  readonly reassign?: boolean
  readonly reason?: string
}

/** A member asks for its mail. */
export interface InboxCommand {
  readonly do: 'inbox'
  /** Not until there is some. */
  readonly wait: boolean
  /** Only of this member. */
  readonly from?: string
  /** The wait ends by itself. */
  readonly bounded?: true
  /** The word whose wait this one ends. The reply says whether it was still waiting: `calledOff`. */
  readonly instead?: MessageId
}

/** Somebody outside has the run and edits the plan, or gives the result of a task. */
export interface EditCommand {
  readonly do: 'edit'
  /** The fact that says what became of it has this. */
  readonly request: string
  readonly edit: Json
  readonly reason?: string
}

/** What a member, or somebody outside, may ask of a team's leader. */
export type TeamCommand =
  | { readonly do: 'send'; readonly mail: MailToSend; readonly receipt: boolean }
  | InboxCommand
  | { readonly do: 'recruit'; readonly wish: RecruitWish }
  | { readonly do: 'retire'; readonly wish: RetireWish }
  | { readonly do: 'team'; readonly role?: string }
  | { readonly do: 'publish'; readonly topic: string; readonly entry: Json }
  | { readonly do: 'entries'; readonly topic: string }
  | EditCommand

/** A word as a leader hears it. */
export interface ReceivedCommand {
  readonly id: MessageId
  /** The member's activation, or one below it; undefined: from outside. */
  readonly from: ActivationId | undefined
  readonly word: TeamCommand
  /** Who says so, from outside. */
  readonly by?: string
}

/** The reply to a member whose team has ended. */
const teamGone: JsonObject = {
  accepted: false,
  admitted: false,
  retired: false,
  published: false,
  reason: 'closed',
  mail: [],
  team: [],
}

type SentCommand = Pick<ReceivedCommand, 'word' | 'by'>

/** What a word says is not checked here: whoever answers it does. */
const commands = new RequestChannel<SentCommand, JsonObject, TeamCommand & { readonly by?: string }>(
  '$team',
  (member, { type: _type, by: _by, ...word }) => {
    const by = member('by')
    return { word: word as unknown as TeamCommand, ...(typeof by === 'string' ? { by } : undefined) }
  },
  {
    name: '$team.reply',
    read: (member) => {
      const reply = member('reply')
      return isObject(reply) ? reply : undefined
    },
    write: (reply) => ({ reply }),
    gone: teamGone,
  },
)

/** Notes to members at work that their inbox is not empty any more. */
const mailNotes = new TypedChannel<{ readonly seq: number }>('$team.mail', (member) => {
  const seq = member('seq')
  return typeof seq === 'number' ? { seq } : undefined
})

/** The message of a word. `by`: who says so, from outside. */
export const teamMessage = (word: TeamCommand, by?: string): Json =>
  commands.message({ ...word, ...(by === undefined ? undefined : { by }) })

/** The word to a team's leader in an arrival; undefined if it is none. What it says is not checked. */
export function commandIn(arrival: Arrival): ReceivedCommand | undefined {
  const heard = commands.in(arrival)
  return heard && { id: heard.id, from: heard.from, ...heard.body }
}

/** Whether this body is part of a team's own conversation, which a plain message may not be. */
export const isTeamMessage = (message: Json): boolean =>
  commands.claims(message) || commands.claimsReply(message) || mailNotes.claims(message)

/** Replies to a word. Nothing for those from outside: they read the journal. */
export const replyToCommand = (ctx: Context, heard: Pick<ReceivedCommand, 'id' | 'from'>, reply: JsonObject): void =>
  commands.answer(ctx, heard, reply)

/** Tells a member who works that its inbox is not empty any more. `seq`: of the newest mail in it. */
export const noteMail = (ctx: Context, member: ActivationId, seq: number): MessageId =>
  mailNotes.send(ctx, member, { seq })

/** The number in such a note of this leader; undefined if it is none. */
export const noteIn = (arrival: Arrival, leader: ActivationId): number | undefined =>
  mailNotes.in(arrival, { activation: leader })?.body.seq

/** Says something to the leader and goes on. */
export const tellLeader = (ctx: Context, leader: ActivationId, word: TeamCommand): MessageId =>
  commands.send(ctx, leader, word)

/** Waits for the reply to a word that was said. */
export const leaderReply = (ctx: Context, leader: ActivationId, id: MessageId): Promise<JsonObject> =>
  commands.reply(ctx, leader, id)

/** The reply to this word, if it is one; that the team has ended is a reply, too. */
export const replyIn = (arrival: Arrival, leader: ActivationId, id: MessageId): JsonObject | undefined =>
  commands.replyIn(arrival, leader, id)

/** The names of what a member's model may be offered. */
export const teamVerbs: readonly TeamVerb[] = ['mail', 'recruit', 'publish']
