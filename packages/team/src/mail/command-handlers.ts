/**
 * Command handlers: reads the commands of members and outside operators to the team's leader, and replies.
 *
 * Owns: reading, the sender of a command, which part of the team answers it. Does not own: what is decided (mail,
 * staff, work).
 * Holds: K3: one command at a time, in recorded order; an unreadable command is refused and changes nothing.
 */
import { messageOf, own, type ActivationId, type JsonObject, type MessageId } from '@reeve/core'
import { replyToCommand, commandIn, type ReceivedCommand, type TeamCommand } from '@reeve/agent'
import { isLeaving, type Arrival, type Context } from '@reeve/engine'
import type { Entry } from '../state/task-graph.ts'

/** The sender of a command: a member, by its task, or an operator outside. */
export interface CommandSender {
  /** Undefined: not a member, or not any more. */
  readonly entry: Entry | undefined
  /** A member, or the name given from outside. Default: `operator`. */
  readonly name: string
}

/** Handles one kind of command. Undefined: the reply comes later, by `replyToCommand`. A throw is told as a refusal. */
export type MemberCommandHandler<Do extends TeamCommand['do']> = (
  word: Extract<TeamCommand, { readonly do: Do }>,
  speaker: CommandSender,
  heard: ReceivedCommand,
) => JsonObject | undefined

/** The handler of each kind of command. */
export type MemberCommandHandlers = { readonly [Do in TeamCommand['do']]: MemberCommandHandler<Do> }

/** How the sender of a command is found. */
export interface Callers {
  /** The member of this activation; undefined: no working member. */
  readonly memberAt: (heard: ReceivedCommand) => Entry | undefined
  /** Handles a command whose sender was at work when it was sent. False: it comes too late. */
  readonly late: (heard: ReceivedCommand) => boolean
  /** Whether this activation has yet to become a member: in a fork, when its recruiting is approved. */
  readonly isToJoin: (from: ActivationId) => boolean
}

/** Reads commands until the team ends. `leave` is called on a cancel. `onMail` hears of each that is of mail alone. */
export function listenToMembers(
  ctx: Context,
  handlers: MemberCommandHandlers,
  callers: Callers,
  leave: (thrown: unknown) => void,
  onMail: (command: MessageId) => void,
): void {
  const isHeard = (arrival: Arrival): boolean => {
    const heard = commandIn(arrival)
    return heard !== undefined && (heard.from === undefined || !callers.isToJoin(heard.from))
  }
  const hear = async (): Promise<never> => {
    for (;;) {
      const heard = commandIn(await ctx.next(isHeard))
      if (heard === undefined) continue
      const reply = answer(handlers, heard, callers)
      if (reply !== undefined) replyToCommand(ctx, heard, reply)
      if (heard.word.do === 'send' || heard.word.do === 'inbox') onMail(heard.id)
    }
  }
  hear().catch(leave)
}

function answer(
  handlers: MemberCommandHandlers,
  heard: ReceivedCommand,
  { memberAt, late }: Callers,
): JsonObject | undefined {
  const { word, from, by } = heard
  const entry = memberAt(heard)
  const handler = own(handlers as unknown as Readonly<Record<string, MemberCommandHandler<never> | undefined>>, word.do)
  // A non-member, or an ended member, is a stranger; people outside have no activation.
  const isStranger = from !== undefined && entry === undefined
  try {
    if (handler !== undefined && isStranger && late(heard)) return undefined
    if (handler === undefined || isStranger) return refused('the sender is not a member of this team')
    return handler(word as never, { entry, name: entry?.member ?? by ?? 'operator' }, heard)
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return refused(messageOf(thrown))
  }
}

const refused = (message: string): JsonObject => ({
  accepted: false,
  admitted: false,
  retired: false,
  published: false,
  reason: 'invalid',
  message,
  mail: [],
  team: [],
  entries: [],
})
