/**
 * The words between a member of a planned team and whoever leads it: what a member may ask for, and the replies.
 *
 * Owns: the messages, telling whose they are, asking and waiting. Does not own: what the leader does about it (../../team), the verbs of members (teammate.ts, tools.ts).
 * Holds: K3: both sides wait for messages, so replay hears them in the recorded order; nobody hangs: who has no leader any more is refused. Persistent: they stand in journals.
 */
import { isObject, type ActivationId, type Json, type JsonObject, type MessageId } from '../../core/index.ts'
import type { TeamVerb } from '../../edge/index.ts'
import type { Arrival, Context } from '../../engine/index.ts'

const asks = '$team'
const replies = '$team.reply'
const notes = '$team.mail'

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
  /** Who waits for them. Default `parent` where there is a parent task, else `run`; `none`: nobody, they are called off when everything else is done. */
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
export interface InboxWord {
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
export interface EditWord {
  readonly do: 'edit'
  /** The fact that says what became of it has this. */
  readonly request: string
  readonly edit: Json
  readonly reason?: string
}

/** What a member, or somebody outside, may ask of a team's leader. */
export type TeamWord =
  | { readonly do: 'send'; readonly mail: MailToSend; readonly receipt: boolean }
  | InboxWord
  | { readonly do: 'recruit'; readonly wish: RecruitWish }
  | { readonly do: 'retire'; readonly wish: RetireWish }
  | { readonly do: 'team'; readonly role?: string }
  | { readonly do: 'publish'; readonly topic: string; readonly entry: Json }
  | { readonly do: 'entries'; readonly topic: string }
  | EditWord

/** A word as a leader hears it. */
export interface HeardWord {
  readonly id: MessageId
  /** The member's activation, or one below it; undefined: from outside. */
  readonly from: ActivationId | undefined
  readonly word: TeamWord
  /** Who says so, from outside. */
  readonly by?: string
}

/** The message of a word. `by`: who says so, from outside. */
export const teamMessage = (word: TeamWord, by?: string): Json =>
  ({ type: asks, ...word, ...(by === undefined ? undefined : { by }) }) as unknown as Json

/** Whether this is a word to a team's leader; undefined if it is not. What it says is not checked. */
export function wordIn(arrival: Arrival): HeardWord | undefined {
  if (arrival.type !== 'message' || !isObject(arrival.body) || arrival.body['type'] !== asks) return undefined
  const { type: _type, by, ...word } = arrival.body
  return {
    id: arrival.id,
    from: arrival.from,
    word: word as unknown as TeamWord,
    ...(typeof by === 'string' ? { by } : undefined),
  }
}

/** Whether this is a word to a team's leader, which nobody may say who only posts a message. */
export const isTeamWord = (message: Json): boolean => isObject(message) && [asks, replies, notes].includes(message['type'] as string)

/** Replies to a word. Nothing for those from outside: they read the journal. */
export function replyToWord(ctx: Context, { id, from }: Pick<HeardWord, 'id' | 'from'>, reply: JsonObject): void {
  if (from !== undefined) ctx.send(from, { type: replies, to: id, reply })
}

/** Tells a member who works that its inbox is not empty any more. `seq`: of the newest mail in it. */
export const noteMail = (ctx: Context, member: ActivationId, seq: number): MessageId => ctx.send(member, { type: notes, seq })

/** The number in such a note of this leader; undefined if it is none. */
export function noteIn(arrival: Arrival, leader: ActivationId): number | undefined {
  if (arrival.type !== 'message' || arrival.from !== leader || !isObject(arrival.body) || arrival.body['type'] !== notes) return undefined
  const { seq } = arrival.body
  return typeof seq === 'number' ? seq : undefined
}

/** What comes back to a member whose team has ended. */
const teamGone: JsonObject = {
  accepted: false,
  admitted: false,
  retired: false,
  published: false,
  reason: 'closed',
  mail: [],
  team: [],
}

/** Says something to the leader and goes on. */
export const tellLeader = (ctx: Context, leader: ActivationId, word: TeamWord): MessageId => ctx.send(leader, teamMessage(word))

/** Waits for the reply to a word that was said. */
export async function leaderReply(ctx: Context, leader: ActivationId, id: MessageId): Promise<JsonObject> {
  const arrival = await ctx.next((each) => replyIn(each, leader, id) !== undefined)
  return replyIn(arrival, leader, id) ?? teamGone
}

/** The reply to this word, if it is one; that nobody is there is a reply, too. */
export function replyIn(arrival: Arrival, leader: ActivationId, id: MessageId): JsonObject | undefined {
  if (arrival.type === 'message.refused') return arrival.id === id ? teamGone : undefined
  if (arrival.type !== 'message' || arrival.from !== leader || !isObject(arrival.body)) return undefined
  const { type, to, reply } = arrival.body
  return type === replies && to === id && isObject(reply) ? reply : undefined
}

/** The names of what a member's model may be offered. */
export const teamVerbs: readonly TeamVerb[] = ['mail', 'recruit', 'publish']
