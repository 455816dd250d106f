/**
 * The office: hears what members and people outside ask of the team's leader, and replies.
 *
 * Owns: hearing, whose word it is, which part of the team answers it. Does not own: what is decided (mail, staff,
 * work).
 * Holds: K3: one word at a time, in recorded order; a word that nobody can read is refused and changes nothing.
 */
import { messageOf, own, type JsonObject } from '../../core/index.ts'
import { replyToCommand, commandIn, type ReceivedCommand, type TeamCommand } from '../../agent/index.ts'
import { isLeaving, type Context } from '../../engine/index.ts'
import type { Entry } from '../schedule/task-graph.ts'

/** Whose word it is: a member's, by its task; or somebody's outside. */
export interface Speaker {
  /** Undefined: not a member, or not any more. */
  readonly entry: Entry | undefined
  /** A member, or who says so from outside: `operator` if nobody does. */
  readonly name: string
}

/** Answers one kind of word. Undefined: the reply comes later, by `replyToWord`. A throw is told as a refusal. */
export type Clerk<Do extends TeamCommand['do']> = (
  word: Extract<TeamCommand, { readonly do: Do }>,
  speaker: Speaker,
  heard: ReceivedCommand,
) => JsonObject | undefined

/** Who answers which word. */
export type Clerks = { readonly [Do in TeamCommand['do']]: Clerk<Do> }

/** Who can say what. */
export interface Callers {
  /** Whose activation this is; undefined: nobody's who is at work. */
  readonly memberAt: (heard: ReceivedCommand) => Entry | undefined
  /** Sees to a word of somebody who was at work when they said it. False: it comes too late. */
  readonly late: (heard: ReceivedCommand) => boolean
}

/** Hears until the team ends. `leave` hears that it was cancelled. */
export function openOffice(ctx: Context, clerks: Clerks, callers: Callers, leave: (thrown: unknown) => void): void {
  const hear = async (): Promise<never> => {
    for (;;) {
      const heard = commandIn(await ctx.next((each) => commandIn(each) !== undefined))
      if (heard === undefined) continue
      const reply = answer(clerks, heard, callers)
      if (reply !== undefined) replyToCommand(ctx, heard, reply)
    }
  }
  hear().catch(leave)
}

function answer(clerks: Clerks, heard: ReceivedCommand, { memberAt, late }: Callers): JsonObject | undefined {
  const { word, from, by } = heard
  const entry = memberAt(heard)
  const clerk = own(clerks as unknown as Readonly<Record<string, Clerk<never> | undefined>>, word.do)
  // Who is none of ours, or has ended, is a stranger; people outside have no activation.
  const isStranger = from !== undefined && entry === undefined
  try {
    if (clerk !== undefined && isStranger && late(heard)) return undefined
    if (clerk === undefined || isStranger) return refused('the sender is not a member of this team')
    return clerk(word as never, { entry, name: entry?.member ?? by ?? 'operator' }, heard)
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
