/** Routes of runs: start, list, view, outcome, journal, feed. */
import type { RunId } from '@reeve/core'
import { present, runKey, ReeveError, sentPart } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import {
  cursorIn,
  cursorOf,
  hasEnded,
  runStatuses,
  type Run,
  type RunFilter,
  type RunPart,
  type RunSummary,
  type StartOptions,
  type StreamItem,
} from '@reeve/runtime'
import { eventStream, messageText, type StreamMessage } from '../event-stream.ts'
import { answered, ownRun, route, type RequestContext, type Route } from '../route.ts'
import { equalTo, runsFilter, type RunsFilter } from '../runs-filter.ts'
import {
  choice,
  flag,
  json,
  jsonObject,
  list,
  name,
  nothing,
  object,
  optional,
  text,
  view,
  whole,
} from '../wire-schema.ts'
import type {
  Ended,
  FeedMessage,
  Page,
  PartMessage,
  RunDocument,
  RunPage,
  RunRow,
  StartBody,
  StartedRun,
  SummaryText,
} from '../wire.ts'

const summaryText = object<SummaryText>(
  'SummaryText',
  { text: text(), cut: optional(flag<true>()) },
  { description: 'The beginning of what it was asked or answered. Absent: not in the index yet.' },
)

export const runRow = view<RunRow>('RunRow', {
  run: name(),
  agent: name(),
  version: name(),
  status: choice(runStatuses),
  caller: jsonObject<RunSummary['caller']>(),
  createdAt: whole(),
  endedAt: optional(whole()),
  input: optional(summaryText),
  output: optional(summaryText),
})

const startBody = object<StartBody>('StartBody', {
  agent: name({ description: 'The name of a registered agent.' }),
  input: json({ description: 'Its input: a text, or what its input schema says.' }),
  runId: optional(name({ description: 'Makes the start idempotent.' })),
  session: optional(name()),
  user: optional(name({ description: 'Default: the principal. Another one needs the role admin.' })),
  metadata: optional(jsonObject()),
  values: optional(jsonObject()),
  limits: optional(jsonObject()),
  versions: optional(jsonObject()),
  messages: optional(
    list(
      object<NonNullable<StartBody['messages']>[number]>('SaidBefore', {
        role: choice(['user', 'assistant']),
        content: text(),
      }),
    ),
  ),
  trial: optional(
    jsonObject<NonNullable<StartBody['trial']>>({
      description: 'The run is a trial, with these changes of agents: version, instructions, model, settings.',
    }),
  ),
})

const startedRun = object<StartedRun>('StartedRun', { run: name<RunId>() })

interface RunsQuery extends RunsFilter {
  readonly after?: string
}

interface EventsQuery {
  readonly after?: number
  readonly limit?: number
}

/** Characters of a page of events: it ends after the one that makes it longer. */
const pageLength = 500_000

interface FeedQuery {
  readonly from?: number
}

interface OutcomeQuery {
  readonly waitMs?: number
}

const recorded = view<Recorded>('Recorded', { position: whole(), at: whole() })

/** The place that a cursor names. Throws `input.invalid`. */
export function placeOf(cursor: string | undefined): RunFilter['after'] {
  const place = cursor === undefined ? undefined : cursorIn(cursor)
  if (cursor === undefined || place !== undefined) return place
  throw new ReeveError('input.invalid', `the query: after ${JSON.stringify(cursor)} is not a cursor`, {
    hint: 'Give back `next` of the page before.',
  })
}

/** A page of runs, newest first. */
export async function runsPage(
  runtime: RequestContext['runtime'],
  filter: RunFilter,
  limit: number,
  after: string | undefined,
): Promise<Page<RunSummary>> {
  // one more than is asked for says whether there is another page
  const found = await runtime.runs({ ...filter, ...present({ after: placeOf(after) }), limit: limit + 1 })
  const items = found.slice(0, limit)
  return { items, ...(found.length > limit ? { next: cursorOf(items.at(-1)!) } : undefined) }
}

export const runRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/runs',
    summary: 'Runs, newest first.',
    query: object<RunsQuery>('RunsQuery', {
      ...runsFilter,
      after: optional(name({ description: '`next` of the page before.' })),
    }),
    answer: object<RunPage>('RunPage', {
      items: list(runRow),
      next: optional(name()),
      behind: optional(
        whole({ description: 'With text, code or cause: so many runs are not in the index yet. Absent: none.' }),
      ),
    }),
    async handle({ runtime }, { query: { limit = 100, after, metadata, ...filter } }) {
      const page = (): Promise<Page<RunRow>> =>
        runsPage(runtime, { ...filter, ...present({ metadata: equalTo(metadata) }) }, limit, after)
      if (filter.text === undefined && filter.code === undefined && filter.cause === undefined) return page()
      const behind = await runtime.unindexed()
      return { ...(await page()), ...(behind === 0 ? {} : { behind }) }
    },
  }),
  route({
    method: 'POST',
    path: '/runs',
    summary:
      'Start a run. Idempotent by runId, or by the header Idempotency-Key: 201 if it begins now, 200 if before. The header traceparent makes it a part of that trace.',
    body: startBody,
    answer: startedRun,
    statuses: [201],
    async handle(context, { body: { agent, input, ...said } }) {
      const options = { ...said, ...startedBy(context, said) } as Parameters<typeof context.runtime.start>[2]
      const { id, created } = await context.runtime.start(agent, input, options)
      return created ? answered(201, { run: id } satisfies StartedRun) : { run: id }
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}',
    summary: 'The whole view of a run.',
    answer: view<RunDocument>('RunDocument', { run: name<RunId>(), status: choice(runStatuses), agent: name() }),
    handle: async (context, { path }) => (await ownRun(context, path.run)).view(),
  }),
  route({
    method: 'DELETE',
    path: '/runs/{run}',
    summary: 'Remove an ended run and all its data.',
    answer: nothing,
    statuses: [204],
    async handle(context, { path }) {
      const { id } = await ownRun(context, path.run)
      await context.runtime.remove(id)
      return answered(204)
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/outcome',
    summary: 'How a run ended: 202 and no outcome while it goes on. Waits for the end for waitMs milliseconds.',
    query: object<OutcomeQuery>('OutcomeQuery', { waitMs: optional(whole({ maximum: 60_000 })) }),
    answer: view<Ended>('Ended', { run: name<RunId>(), status: choice(runStatuses) }),
    statuses: [202],
    async handle(context, { path, query: { waitMs = 0 } }) {
      const run = await ownRun(context, path.run)
      if (waitMs > 0) await waited(context, run, waitMs)
      const { status } = await run.summary()
      if (!hasEnded(status)) return answered(202, { run: run.id, status } satisfies Ended)
      const { run: _run, usage, ...outcome } = await run.outcome()
      return { run: run.id, status, outcome, usage }
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/events',
    summary:
      'The journal after a position: what is recorded so far. A page ends after the event that makes it 500,000 characters long.',
    query: object<EventsQuery>('EventsQuery', {
      after: optional(whole()),
      limit: optional(whole({ minimum: 1, maximum: 1_000 })),
    }),
    answer: object<Page<Recorded>>('EventPage', { items: list(recorded), next: optional(name()) }),
    async handle(context, { path, query: { after = 0, limit = 100 } }) {
      const run = await ownRun(context, path.run)
      const items = await run.journal({ from: after, limit, length: pageLength })
      const last = items.at(-1)
      const isMore = last !== undefined && (await run.journal({ from: last.position, limit: 1 })).length > 0
      return { items, ...present({ next: isMore ? String(last.position) : undefined }) }
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/feed',
    summary:
      'Events and live parts in one stream (FeedMessage), to the end of the run. The id of an event is its position: Last-Event-ID, or from, says after which one to go on.',
    query: object<FeedQuery>('FeedQuery', { from: optional(whole()) }),
    answer: 'stream',
    async handle(context, { path, query }) {
      const run = await ownRun(context, path.run)
      // a browser that connects again sends the address that it had at first
      const from = lastEventId(context.request) ?? query.from ?? 0
      return eventStream(context, (signal) => feedMessages(run.feed({ from, signal })))
    },
  }),
]

/** Until a run has ended, or so long. */
async function waited({ signal, place }: RequestContext, run: Run, ms: number): Promise<void> {
  const left = place()
  const soon = AbortSignal.any([signal, AbortSignal.timeout(ms)])
  try {
    for await (const _event of run.events({ from: Number.MAX_SAFE_INTEGER, signal: soon })) void _event
  } finally {
    left()
  }
}

/** The run id, the user and the trace of a start. */
function startedBy(
  { principal, request }: RequestContext,
  { runId, user = principal.name }: Pick<StartBody, 'runId' | 'user'>,
): Pick<StartOptions, 'runId' | 'key' | 'traceparent'> & { readonly user: string; readonly by: string } {
  const by = principal.name
  if (user !== principal.name && !principal.roles.includes('admin'))
    throw new ReeveError('permission.denied', 'a start for another user needs the role admin', {
      hint: 'Leave user out: it is you. Nothing was started.',
    })
  const key = request.headers.get('Idempotency-Key')
  const traced = present({ traceparent: request.headers.get('traceparent') ?? undefined })
  if (key === null || key === '') return { user, by, ...traced, ...present({ runId }) }
  if (runId !== undefined)
    throw new ReeveError('input.invalid', 'the start has both a runId and the header Idempotency-Key', {
      hint: 'Give one of them. Nothing was started.',
    })
  // another caller's key is another run
  return { user, by, ...traced, key: runKey('Idempotency-Key', principal.tenant ?? '', principal.name, key) }
}

/** The position of the last event that a reader has; undefined: it says none. */
function lastEventId(request: Request): number | undefined {
  const given = request.headers.get('Last-Event-ID')
  if (given === null || given === '') return undefined
  const position = /^\d{1,15}$/.test(given) ? Number(given) : undefined
  if (position !== undefined) return position
  throw new ReeveError('input.invalid', `Last-Event-ID ${JSON.stringify(given)} is not a position`, {
    hint: 'Send the id of the last event that was received.',
  })
}

const eventTexts = new WeakMap<Recorded, string>()

/** An event as it is written: one text, which many readers share. */
function eventText(item: Extract<StreamItem, { readonly type: 'event' }>): string {
  const { event } = item
  const text = eventTexts.get(event) ?? messageText({ id: event.position, data: item satisfies FeedMessage })
  eventTexts.set(event, text)
  return text
}

async function* feedMessages(feed: AsyncIterable<StreamItem>): AsyncGenerator<StreamMessage> {
  for await (const item of feed) {
    yield item.type === 'event'
      ? { text: eventText(item) }
      : { data: { type: 'part', part: partMessage(item.part) } satisfies FeedMessage }
  }
  yield { data: { type: 'end' } satisfies FeedMessage }
}

function partMessage({ epoch: _epoch, part, ...rest }: RunPart): PartMessage {
  return { ...rest, part: sentPart(part) }
}
