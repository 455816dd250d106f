/**
 * The turns of a conversation: the runs of a session, and the trials that were begun in it.
 *
 * Owns: which runs those are, their order, what a trial is told of the turns before it. Does not own: showing them.
 * Holds: what stands in the address finds them again, so another tab, and a reload, go on with the same conversation.
 */
import type { RunRow, StartBody } from '@reeve/server/wire'
import { textMember, type Json } from '../../data/json.ts'
import { server } from '../../data/server.ts'

/** The member of a trial's metadata that names its conversation: a trial belongs to no session. */
const conversationKey = 'chat'

/** So many turns of a conversation are looked for. */
const mostTurns = 200

/** Oldest first. `user`: whose conversation it is. */
export async function turnsOf(session: string, user: string, signal: AbortSignal): Promise<readonly RunRow[]> {
  const [ofSession, trials] = await Promise.all([
    server.sessions.get(session, { user, signal }),
    server.runs.list({ metadata: { [conversationKey]: session }, user, limit: mostTurns, signal }),
  ])
  return [...ofSession.items, ...trials.items.filter(({ caller }) => caller.trial === true)]
    .filter(({ caller }) => caller.user === user)
    .toSorted((a, b) => a.createdAt - b.createdAt)
}

/** The conversations with an agent, the one that was used last first. */
export async function conversationsWith(
  agent: string,
  user: string,
  signal: AbortSignal,
): Promise<readonly { readonly session: string; readonly at: number }[]> {
  const { items } = await server.runs.list({ agent, user, limit: mostTurns, signal })
  const found = new Map<string, number>()
  for (const { caller, createdAt } of items) {
    const session = caller.session ?? textMember(caller.metadata, conversationKey)
    if (session !== undefined && !found.has(session)) found.set(session, createdAt)
  }
  return [...found].map(([session, at]) => ({ session, at }))
}

/** So many turns before it are told to a trial, which has no session to remember them. */
const toldTurns = 20

/** What was said before, for a trial: what each run was asked and how it ended. */
export async function saidBefore(turns: readonly RunRow[]): Promise<NonNullable<StartBody['messages']>> {
  const said = await Promise.all(turns.slice(-toldTurns).map(saidIn))
  return said.flat()
}

async function saidIn({ run }: RunRow): Promise<NonNullable<StartBody['messages']>> {
  const api = server.run(run)
  const { activations, outcome } = await api.view()
  const root = activations[0]
  if (root === undefined || outcome?.status !== 'completed') return []
  const { input } = await api.conversation({ activation: root.activation, limit: 1 })
  return [
    { role: 'user', content: asText(input) },
    { role: 'assistant', content: asText(outcome.output) },
  ]
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The metadata of a trial in a conversation. */
export const inConversation = (session: string): { readonly [conversationKey]: string } => ({
  [conversationKey]: session,
})
