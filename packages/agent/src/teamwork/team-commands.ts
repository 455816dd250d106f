/**
 * Team commands: the messages between a member of a planned team and its leader: the commands of members, and the
 * replies.
 *
 * Owns: the channels and the form of their messages. Does not own: how the leader handles a command (../../team), the
 * verbs of members (teammate.ts, team-tools.ts).
 * Holds: K3: both sides wait for messages, so replay receives them in recorded order. A member whose leader is gone is
 * refused and never hangs. The messages are persistent format.
 */
import { isObject, present, type ActivationId, type Json, type JsonObject, type MessageId } from '@reeve/core'
import type { TeamVerb } from '@reeve/edge'
import { TypedChannel, RequestChannel, type Arrival, type Context } from '@reeve/engine'

/** Mail to send. `to`: a member, `role:<name>`, or `*` for all other members. */
export interface MailToSend {
  readonly to: string
  readonly content: Json
  /** The kind of mail: `info`, `request`, `offer`, … */
  readonly kind?: string
  readonly correlationId?: string
}

/** Mail in an inbox. */
export interface Mail {
  /** Strictly increasing in the team. */
  readonly seq: number
  /** A member, `lead`, or `operator`. */
  readonly from: string
  readonly to: string
  /** The role of the member who sent it. */
  readonly role?: string
  /** The sender's name, only with `operator`. */
  readonly by?: string
  readonly content: Json
  readonly kind?: string
  readonly correlationId?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A request for another member. */
export interface RecruitRequest {
  /** The task of the new member. */
  readonly description: string
  /** Default `generalist`. */
  readonly role?: string
  /** Two requests of one id count once. Default: every request counts. */
  readonly requestId?: string
  /** The task whose dependents also wait for the recruit. Default: the task of the requesting member. */
  readonly parentTask?: string
  /**
   * What waits for the recruit. Default `parent` if there is a parent task, else `run`. `none`: nothing waits, and the
   * recruit is cancelled when everything else is done.
   */
  readonly join?: 'parent' | 'run' | 'none'
  /** What it will probably use. */
  readonly estimate?: { readonly tokens?: number; readonly usd?: number }
}

/** A request that a member leave. */
export interface RetireRequest {
  readonly member: string
  /** `graceful` (default): after its task. `force`: now. */
  readonly mode?: 'graceful' | 'force'
  /** With `force`: its task goes to another member. Default true. */
  readonly reassign?: boolean
  readonly reason?: string
}

/** A member reads its mail. */
export interface InboxCommand {
  readonly do: 'inbox'
  /** Wait until there is mail. */
  readonly wait: boolean
  /** Only mail of this member. */
  readonly from?: string
  /** The wait has a deadline. */
  readonly bounded?: true
  /** The command whose wait this one ends. The reply says whether it was still waiting: `calledOff`. */
  readonly instead?: MessageId
}

/** An operator has taken over the run and edits the plan, or gives the result of a task. */
export interface EditCommand {
  readonly do: 'edit'
  /** The id that the fact about the result carries. */
  readonly request: string
  readonly edit: Json
  readonly reason?: string
}

/** The commands that a member or an operator may send to the leader of a team. */
export type TeamCommand =
  | { readonly do: 'send'; readonly mail: MailToSend; readonly receipt: boolean }
  | InboxCommand
  | { readonly do: 'recruit'; readonly wish: RecruitRequest }
  | { readonly do: 'retire'; readonly wish: RetireRequest }
  | { readonly do: 'team'; readonly role?: string }
  | { readonly do: 'publish'; readonly topic: string; readonly entry: Json }
  | { readonly do: 'entries'; readonly topic: string }
  | EditCommand

/** A command as the leader receives it. */
export interface ReceivedCommand {
  readonly id: MessageId
  /** The member's activation, or one below it. Undefined: from outside. */
  readonly from: ActivationId | undefined
  readonly word: TeamCommand
  /** The name of the sender, for commands from outside. */
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

/** Commands are not validated here, but by their handlers. */
const commands = new RequestChannel<TeamCommand, JsonObject>(
  '$team',
  (_member, { type: _type, ...word }) => word as unknown as TeamCommand,
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

/** Notices to working members that they have new mail. */
const mailNotes = new TypedChannel<{ readonly seq: number }>('$team.mail', (member) => {
  const seq = member('seq')
  return typeof seq === 'number' ? { seq } : undefined
})

/** The message of a command. Who sends it from outside is recorded beside it. */
export const teamMessage = (word: TeamCommand): Json => commands.message(word)

/** The command in an arrival; undefined if there is none. It is not validated. */
export function commandIn(arrival: Arrival): ReceivedCommand | undefined {
  const heard = commands.in(arrival)
  if (heard === undefined) return undefined
  const { id, from, body } = heard
  return { id, from, word: body, ...present({ by: from === undefined ? heard.by : undefined }) }
}

/** Replies to a command. Commands from outside get no reply: their senders read the journal. */
export const replyToCommand = (ctx: Context, heard: Pick<ReceivedCommand, 'id' | 'from'>, reply: JsonObject): void =>
  commands.answer(ctx, heard, reply)

/** Tells a working member that it has new mail. `seq`: the number of the newest mail. */
export const noteMail = (ctx: Context, member: ActivationId, seq: number): MessageId =>
  mailNotes.send(ctx, member, { seq })

/** The number in a mail notice of this leader; undefined if it is no notice. */
export const noteIn = (arrival: Arrival, leader: ActivationId): number | undefined =>
  mailNotes.in(arrival, { activation: leader })?.body.seq

/** Sends a command to the leader without waiting. */
export const tellLeader = (ctx: Context, leader: ActivationId, word: TeamCommand): MessageId =>
  commands.send(ctx, leader, word)

/** Waits for the reply to a command. */
export const leaderReply = (ctx: Context, leader: ActivationId, id: MessageId): Promise<JsonObject> =>
  commands.reply(ctx, leader, id)

/** The reply to this command, if the arrival is one. That the team has ended is a reply, too. */
export const replyIn = (arrival: Arrival, leader: ActivationId, id: MessageId): JsonObject | undefined =>
  commands.replyIn(arrival, leader, id)

/** The verbs that the model of a member may be offered. */
export const teamVerbs: readonly TeamVerb[] = ['mail', 'recruit', 'publish']
