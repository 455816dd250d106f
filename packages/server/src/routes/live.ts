/** Routes of what the studio shows of a run, and of what changes over all runs. */
import { own, present, ReeveError, rootActivation, type ActivationId, type Json } from '@reeve/core'
import { readEdge } from '@reeve/edge'
import { isEdge } from '@reeve/journal'
import type { RegisteredAgent } from '@reeve/runtime'
import { eventStream, type StreamMessage } from '../event-stream.ts'
import { askedOf } from '../live/run-state.ts'
import type { WatchedRun } from '../live/watched-run.ts'
import { ownRun, route, type RequestContext, type Route } from '../route.ts'
import { amount, list, name, object, optional, text, view, whole } from '../wire-schema.ts'
import type { Changes, ConversationEntry, ConversationPage, JournalPage, JournalRow, Span, SpanPage } from '../wire.ts'

interface SpansQuery {
  readonly after?: number
  readonly limit?: number
}

interface RowsQuery {
  readonly from?: number
  readonly limit?: number
  readonly activation?: string
  readonly family?: string
  readonly find?: string
}

interface ConversationQuery {
  readonly activation?: string
  readonly after?: number
  readonly limit?: number
}

/** Matches of a search that are found at most. */
const foundAtMost = 1_000
/** Characters of a page of the journal: it ends after the event that makes it longer. */
const pageLength = 2_000_000

export const liveRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/changes',
    summary: 'What changed, over all runs: what to read again (Changes). At most every 200 milliseconds.',
    answer: 'stream',
    handle: (context) => eventStream(context, (signal) => changesFor(context, signal)),
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/live',
    summary: 'A run as the studio shows it (LiveMessage): a snapshot, then patches by key and live parts. Never ends.',
    answer: 'stream',
    async handle(context, { path }) {
      const watched = await look(context, path.run)
      return eventStream(context, (signal) => liveMessages(watched, signal))
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/spans',
    summary: 'The timeline: bars that began, changed or ended after a position.',
    query: object<SpansQuery>('SpansQuery', {
      after: optional(amount({ minimum: 0 })),
      limit: optional(whole({ minimum: 1, maximum: 5_000 })),
    }),
    answer: view<SpanPage>('SpanPage', { position: amount(), spans: list(view<Span>('Span', { id: text() })) }),
    async handle(context, { path, query: { after = 0, limit = 1_000 } }) {
      return (await look(context, path.run)).spans(after, limit)
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/journal',
    summary: 'The journal by row number: of an activation, of a family of events, or of those that hold a text.',
    query: object<RowsQuery>('RowsQuery', {
      from: optional(whole({ description: 'The number of the first match. Default 0.' })),
      limit: optional(whole({ minimum: 1, maximum: 500 })),
      activation: optional(name()),
      family: optional(name({ description: 'A type of events, or what stands before its dot.' })),
      find: optional(text({ minLength: 1, maxLength: 200, description: 'A text; finds 1,000 rows at most.' })),
    }),
    answer: view<JournalPage>('JournalPage', {
      total: whole(),
      from: whole(),
      rows: list(view<JournalRow>('JournalRow', { index: whole(), position: whole(), at: whole() })),
    }),
    async handle(context, { path, query }) {
      return journalPage(await look(context, path.run), query, context.signal)
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/conversation',
    summary: 'What an agent was shown and said, oldest first. Default: the agent of the run.',
    query: object<ConversationQuery>('ConversationQuery', {
      activation: optional(name()),
      after: optional(whole()),
      limit: optional(whole({ minimum: 1, maximum: 500 })),
    }),
    answer: view<ConversationPage>('ConversationPage', {
      agent: name(),
      entries: list(view<ConversationEntry>('ConversationEntry', { position: whole(), at: whole() })),
      position: whole(),
    }),
    async handle(context, { path, query }) {
      return conversationPage(await look(context, path.run), query, context.runtime.agents())
    },
  }),
]

/** The run, if the caller may see it, folded up to now. Rejects with `run.unknown`. */
async function look(context: RequestContext, id: string): Promise<WatchedRun> {
  const run = await ownRun(context, id)
  return context.live.look(run.id)
}

async function* changesFor({ live, principal }: RequestContext, signal: AbortSignal): AsyncGenerator<StreamMessage> {
  for await (const data of live.changes.messages(principal, signal)) yield { data: data satisfies Changes }
}

async function* liveMessages(watched: WatchedRun, signal: AbortSignal): AsyncGenerator<StreamMessage> {
  for await (const json of watched.messages(signal)) yield { json }
}

async function journalPage(
  watched: WatchedRun,
  { from = 0, limit = 100, activation, family, find }: RowsQuery,
  signal: AbortSignal,
): Promise<JournalPage> {
  const filter = { activation, family }
  const found = find === undefined ? undefined : await watched.search(find, filter, foundAtMost, signal)
  const { total, rows: wanted } =
    found === undefined
      ? watched.rows.find(filter, from, limit)
      : { total: found.length, rows: found.slice(from, from + limit) }
  const rows: JournalRow[] = []
  let length = 0
  for (const [i, { position, at, activation: id, event }] of (await watched.read(wanted)).entries()) {
    rows.push({ index: wanted[i]!, position, at, activation: id, agent: watched.agentOf(id), event })
    length += JSON.stringify(event).length
    if (length > pageLength) break
  }
  return { total, from, rows }
}

async function conversationPage(
  watched: WatchedRun,
  { activation = rootActivation(watched.id), after = 0, limit = 100 }: ConversationQuery,
  agents: readonly RegisteredAgent[],
): Promise<ConversationPage> {
  const id = activation as ActivationId
  const beginning = await watched.beginningOf(id)
  if (beginning === undefined)
    throw new ReeveError('input.invalid', `run ${watched.id} has no activation ${JSON.stringify(activation)}`, {
      hint: 'GET /runs/{run} lists its activations.',
    })
  const { entries: all } = await watched.conversation(id)
  const later = all.filter(({ position }) => position > after)
  const last = later[limit - 1]?.position ?? Infinity
  const agent = watched.agentOf(id)
  const entries = later.filter(({ position }) => position <= last)
  return {
    activation: id,
    agent,
    ...present({
      instructions: revisedInstructions(beginning.input, agent) ?? agents.find(named(agent))?.instructions,
    }),
    input: askedOf(beginning.input),
    entries,
    position: entries.at(-1)?.position ?? after,
  }
}

const named =
  (name: string) =>
  (agent: RegisteredAgent): boolean =>
    agent.name === name

/** The instructions of the version that the run has chosen for an agent. */
function revisedInstructions(input: Json, agent: string): string | undefined {
  const revision = isEdge(input) ? own(readEdge(input).run.versions, agent) : undefined
  return revision?.instructions
}
