/** Live telemetry and OTLP: tries, partial success, a receiver that is away, positions, several processes, bad input. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { agent, createRuntime, supervisor, type Runtime, type RuntimeOptions } from 'reeve'
import { exportRun, liveTelemetry, type LiveOptions } from 'reeve/otel'
import { RunTrace } from '../src/run-trace.ts'
import { Histograms, tracesDocument } from '../src/otlp.ts'
import type { ReeveSpan } from '../src/span.ts'
import { decode, type Recorded } from '@reeve/journal'
import { runOf, type ActivationId } from '@reeve/core'
import { goldens } from '../../../test/replay/golden.ts'
import type { FeedEvent } from '@reeve/runtime'
import { reeve, storeHere } from '../../cli/test/at-store.ts'
import { attribute, metricsIn, receiver, spansIn, tree, type Answer } from './otlp-receiver.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'reeve-otel-'))
  open.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}
async function runtimeOf(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ store: join(folder(), 'reeve.db'), strict: true, ...options })
  open.push(() => runtime.close())
  return runtime
}
async function listening(answers?: Answer[]): ReturnType<typeof receiver> {
  const made = await receiver(answers)
  open.push(() => made[Symbol.asyncDispose]())
  return made
}
async function following(runtime: Runtime, options: LiveOptions): ReturnType<typeof liveTelemetry> {
  const live = await liveTelemetry(runtime, { intervalMs: 1, ...options })
  open.push(() => live.close())
  return live
}

/** The events of a run with their ids. */
async function fed(runtime: Runtime, run: string): Promise<readonly FeedEvent[]> {
  const events: FeedEvent[] = []
  const { length } = await runtime.handle(run).journal()
  for await (const event of runtime.feed({ from: 0, limit: length })) events.push(event)
  return events
}

const poet = agent({
  name: 'poet',
  description: 'Writes.',
  model: () => ({ text: 'x', usage: { input: 5, output: 2 } }),
})
const lead = supervisor({
  name: 'lead',
  description: 'Leads.',
  workers: [poet],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'ok'
      : { calls: [{ name: 'delegate', input: { worker: 'poet', instructions: 'go' } }] },
})

describe('sending', () => {
  const says =
    (status: number, headers: Record<string, string> = {}, body = ''): Answer =>
    (_request, response) =>
      response.writeHead(status, headers).end(body)

  test('a receiver that is busy is asked again, not before the time it names; one that refuses is not', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    await runtime.run(poet, 'x', { runId: 'r1' })
    const busy = await listening([says(503, { 'Retry-After': '0' }), says(429), says(502)])
    const { spans } = await exportRun(runtime, 'r1', { url: busy.url, metrics: false })
    expect([spans, busy.spans.length, busy.headers.length]).toEqual([3, 3, 4])
    const never = await listening([says(503), says(503)])
    await expect(exportRun(runtime, 'r1', { url: never.url, attempts: 2 })).rejects.toMatchObject({
      code: 'telemetry.failed',
      retryable: true,
      message: `${new URL(never.url).host}/v1/traces answered 503`,
    })
    for (const [status, headers] of [
      [400, {}],
      [401, {}],
      [500, {}],
      [302, { Location: 'http://127.0.0.1:1/' }],
    ] as const) {
      const refusing = await listening([says(status, headers)])
      await expect(exportRun(runtime, 'r1', { url: refusing.url })).rejects.toMatchObject({ retryable: false })
      expect(refusing.headers).toHaveLength(1)
    }
    await expect(exportRun(runtime, 'r1', { url: 'http://127.0.0.1:1', attempts: 1 })).rejects.toMatchObject({
      code: 'telemetry.failed',
      retryable: true,
    })
  })

  test('what a receiver does not take of what it accepted is reported', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    await runtime.run(poet, 'x', { runId: 'r1' })
    const partial = await listening([
      says(200, {}, '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'),
      says(200, {}, '{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"cardinality"}}'),
    ])
    expect((await exportRun(runtime, 'r1', { url: partial.url })).rejected).toEqual([
      { rejected: 2, message: 'too old' },
      { rejected: 1, message: 'cardinality' },
    ])
  })

  test('whatever a receiver answers, the export ends with a report or an error of its own', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    await runtime.run(poet, 'x', { runId: 'r1' })
    const bodies = fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom(
        '{"partialSuccess":{"rejectedSpans":{"toString":1}}}',
        '{"__proto__":{"partialSuccess":{}}}',
        '[',
        '9'.repeat(200_000),
      ),
    )
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const fetch = (): Promise<Response> => Promise.resolve(new Response(body, { status: 200 }))
        const { rejected } = await exportRun(runtime, 'r1', { url: 'http://127.0.0.1:1', fetch })
        for (const each of rejected) expect(each.message.length).toBeLessThanOrEqual(1_000)
      }),
      { numRuns: 50 },
    )
  })

  test('headers, address and service come from the environment, and no error shows them', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    await runtime.run(poet, 'x', { runId: 'r1' })
    const to = await listening()
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `${to.url}/`)
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'api-key=s%20cret,broken,=x,bad%=1')
    vi.stubEnv('OTEL_SERVICE_NAME', 'shop')
    await exportRun(runtime, 'r1', { gzip: false })
    expect(to.headers[0]).toMatchObject({ 'api-key': 's cret', 'content-type': 'application/json' })
    expect(to.texts[0]).toContain('"shop"')
    for (const url of ['ftp://x', 'nothing', 'http://user:s3cret@127.0.0.1'])
      await expect(exportRun(runtime, 'r1', { url })).rejects.toSatisfy(
        (thrown: Error & { code: string }) => thrown.code === 'config.invalid' && !thrown.message.includes('s3cret'),
      )
    await expect(exportRun(runtime, 'r1', { url: to.url, contents: true } as object)).rejects.toMatchObject({
      code: 'config.invalid',
    })
    await expect(exportRun(runtime, 'nowhere', { url: to.url })).rejects.toMatchObject({ code: 'run.unknown' })
    await expect(exportRun(runtime, 'not an id', { url: to.url })).rejects.toMatchObject({ code: 'run.invalid-id' })
  })
})

describe('live', () => {
  test('runs of another process, as they end; the same spans as after the fact', async () => {
    const store = join(folder(), 'reeve.db')
    const driving = await runtimeOf({ store, agents: [lead] })
    const looking = await runtimeOf({ store, drive: false })
    const to = await listening()
    await following(looking, { from: 0, otlp: { url: to.url } })
    await driving.run(lead, 'x', { runId: 'r1' })
    await driving.run(lead, 'x', { runId: 'r2' })
    await expect.poll(() => to.spans.length).toBe(12)
    expect(to.problems).toEqual([])
    const after = await listening()
    for (const run of ['r1', 'r2']) await exportRun(looking, run, { url: after.url })
    const byId = (spans: typeof to.spans): unknown => [...spans].sort((a, b) => (a.spanId < b.spanId ? -1 : 1))
    expect(byId(to.spans)).toEqual(byId(after.spans))
    expect(new Set(to.spans.map(({ traceId }) => traceId)).size).toBe(2)
  })

  test('while the receiver is away nothing is lost, and no position is given', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    const away: [unknown, number][] = []
    const positions: number[] = []
    const down = Array.from({ length: 2 }, (): Answer => (_request, response) => response.writeHead(503).end())
    const to = await listening(down)
    const live = await following(runtime, {
      from: 0,
      otlp: { url: to.url, attempts: 1 },
      onError: (problem) => {
        away.push([problem, positions.at(-1) ?? 0])
        if (away.length === 1) throw new Error('what a listener throws is a warning, and stops nothing')
      },
      onPosition: (id) => positions.push(id),
    })
    expect(live.isActive).toBe(true)
    await runtime.run(poet, 'x', { runId: 'r1' })
    const events = await fed(runtime, 'r1')
    const chatEnd = events.find(({ event }) => event.type === 'step.settled')!.id
    await expect.poll(() => live.position).toBe(events.at(-1)!.id)
    expect(to.spans).toHaveLength(3)
    expect(away.map(([problem]) => problem)).toMatchObject([
      { code: 'telemetry.failed', retryable: true },
      { code: 'telemetry.failed', retryable: true },
    ])
    expect(away.every(([, position]) => position < chatEnd)).toBe(true)
    expect(positions.at(-1)).toBe(live.position)
  })

  test('what a receiver refuses for good is said, left out, and the next goes on', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    const problems: unknown[] = []
    const to = await listening([(_request, response) => response.writeHead(400).end()])
    const live = await following(runtime, {
      from: 0,
      otlp: { url: to.url },
      onError: (problem) => problems.push(problem),
    })
    await runtime.run(poet, 'x', { runId: 'r1' })
    await expect.poll(() => live.position).toBeGreaterThan(0)
    await expect.poll(() => problems.length).toBe(1)
    await runtime.run(poet, 'x', { runId: 'r2' })
    await expect.poll(() => to.spans.filter(({ name }) => name === 'invoke_workflow poet').length).toBeGreaterThan(0)
  })

  test('a follower that dies at any position and goes on: every span comes, under the same id', async () => {
    const runtime = await runtimeOf({ agents: [lead] })
    await runtime.run(lead, 'x', { runId: 'r1' })
    const whole = await listening()
    await exportRun(runtime, 'r1', { url: whole.url, metrics: false })
    const events = await fed(runtime, 'r1')
    for (const { id } of events.slice(0, -1)) {
      const to = await listening()
      // all that was told before it died
      const before = new RunTrace()
      for (const event of events) if (event.id <= id) before.take(event)
      const told = before.drain().spans.map(({ spanId }) => spanId)
      const live = await following(runtime, { from: id, otlp: { url: to.url } })
      await expect.poll(() => live.position).toBe(events.at(-1)!.id)
      expect([...told, ...to.spans.map(({ spanId }) => spanId)].sort()).toEqual(
        whole.spans.map(({ spanId }) => spanId).sort(),
      )
      await live.close()
    }
  })

  test('closing sends metrics and gauges; closing again does nothing', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    const to = await listening()
    const live = await following(runtime, { from: 0, otlp: { url: to.url } })
    await runtime.run(poet, 'x', { runId: 'r1' })
    await expect.poll(() => tree(to.spans)).toContain('invoke_workflow poet')
    await live.close()
    await live.close()
    expect(to.problems).toEqual([])
    expect(to.metrics.map(({ name }) => name).sort()).toEqual([
      'gen_ai.client.operation.duration',
      'gen_ai.client.token.usage',
      'reeve.approvals.waiting',
      'reeve.runs.flapping',
      'reeve.runs.stalled',
      'reeve.runs.waiting',
    ])
    const tokens = to.metrics.find(({ name }) => name === 'gen_ai.client.token.usage')!
    const points = 'histogram' in tokens ? tokens.histogram.dataPoints : []
    expect(points.map((point) => [attribute(point, 'gen_ai.token.type'), point.sum])).toEqual([
      ['input', 5],
      ['output', 2],
    ])
  })

  test.each(['run', 'start'] as const)(
    'closing right after %s sends all that was recorded, the root too',
    async (how) => {
      const runtime = await runtimeOf({ agents: [lead] })
      const to = await listening()
      const live = await liveTelemetry(runtime, { otlp: { url: to.url } })
      if (how === 'run') await runtime.run(lead, 'x', { runId: 'r1' })
      else await (await runtime.start(lead, 'x', { runId: 'r1' })).outcome()
      await live.close()
      const whole = await listening()
      await exportRun(runtime, 'r1', { url: whole.url, metrics: false })
      const ids = (spans: typeof to.spans): readonly string[] => spans.map(({ spanId }) => spanId).sort()
      expect(ids(to.spans)).toEqual(ids(whole.spans))
      expect(live.position).toBe((await fed(runtime, 'r1')).at(-1)!.id)
    },
  )

  test('a runtime that is closed before its telemetry: what did not go out is said', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    const to = await listening()
    const problems: unknown[] = []
    const live = await liveTelemetry(runtime, { otlp: { url: to.url }, onError: (problem) => problems.push(problem) })
    await runtime.run(poet, 'x')
    await runtime.close()
    await live.close()
    expect(problems).toContainEqual(expect.objectContaining({ code: 'telemetry.failed' }))
  })

  test.each<[string, Partial<LiveOptions>, boolean]>([
    ['after a while', { unfinishedAfterMs: 1 }, false],
    ['when it is closed', {}, true],
  ])('a run that waits: every span that is out has a parent that is out, %s', async (_when, options, isClosed) => {
    const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => ctx.interrupt('value') })
    const leads = supervisor({
      name: 'leads',
      description: 'Leads.',
      workers: [asks, poet],
      model: ({ messages }) => ({
        calls: [
          {
            name: 'delegate',
            input: { worker: messages.some(({ role }) => role === 'tool') ? 'asks' : 'poet', instructions: 'go' },
          },
        ],
      }),
    })
    const runtime = await runtimeOf({ agents: [leads] })
    const to = await listening()
    const live = await following(runtime, { from: 0, otlp: { url: to.url }, ...options })
    const run = await runtime.start(leads, 'x')
    await run.until('waiting')
    if (isClosed) await live.close()
    const orphans = (): readonly string[] => {
      const ids = new Set(to.spans.map(({ spanId }) => spanId))
      return to.spans.flatMap(({ name, parentSpanId: above }) => (above === undefined || ids.has(above) ? [] : [name]))
    }
    await expect.poll(() => tree(to.spans)).toContain('invoke_workflow leads')
    await expect.poll(() => to.spans.map(({ name }) => name)).toContain('invoke_agent asks')
    expect(orphans()).toEqual([])
    const once = to.spans.map(({ spanId, endTimeUnixNano }) => `${spanId} ${endTimeUnixNano}`)
    expect(new Set(once).size).toBe(once.length)
    const open = to.spans.filter((each) => attribute(each, 'reeve.unfinished') === true).map(({ name }) => name)
    expect(open).toEqual(expect.arrayContaining(['invoke_workflow leads', 'invoke_agent leads', 'invoke_agent asks']))
  })

  test('options that are none are refused', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    for (const options of [{ from: -1 }, { from: 'x' }, { otlp: { url: 7 } }, { intervalMs: -1 }, { sdk: true }])
      await expect(liveTelemetry(runtime, options as LiveOptions)).rejects.toMatchObject({ code: 'config.invalid' })
  })

  test('without an SDK nothing is followed, and that is said', async () => {
    const runtime = await runtimeOf({ agents: [poet] })
    const problems: unknown[] = []
    const live = await liveTelemetry(runtime, { onError: (problem) => problems.push(problem) })
    expect([live.isActive, live.position]).toEqual([false, undefined])
    expect(problems).toMatchObject([{ code: 'config.invalid' }])
    await live.close()
  })
})

describe('the fold, over every golden journal', () => {
  const journals = goldens().map(({ name, commits }) => {
    const ids = new Map(commits.at(-1)!.tables['activation']!.map(({ num, id }) => [num, id as string]))
    const rows = commits.flatMap(({ log }) => log).filter(({ act }) => ids.get(act)!.startsWith('act_'))
    return {
      name,
      events: rows.map(({ act, position, seq, at, body }): Recorded => {
        const activation = ids.get(act) as ActivationId
        const place = {
          position: Number(position),
          activation,
          run: runOf(activation),
          seq: Number(seq),
          at: Number(at),
        }
        return { ...place, event: decode(body as string) }
      }),
    }
  })
  const fold = (
    events: readonly Recorded[],
    given = {},
  ): { spans: readonly ReeveSpan[]; open: readonly ReeveSpan[] } => {
    const traces = new Map<string, RunTrace>()
    for (const event of events) {
      const trace = traces.get(event.run) ?? new RunTrace(given)
      traces.set(event.run, trace)
      trace.take(event)
      trace.take(event)
    }
    const all = [...traces.values()]
    return { spans: all.flatMap((trace) => trace.drain().spans), open: all.flatMap((trace) => trace.open()) }
  }

  test('there are some', () => expect(journals.length).toBeGreaterThan(20))

  for (const { name, events } of journals)
    test(`K1: ${name}: one span for each id, below another one, of the shape of OTLP; as far as it is known at every event`, () => {
      const given = { content: true, steps: true }
      const { spans, open: left } = fold(events, given)
      expect(left).toEqual([]) // it has ended
      const byId = new Map(spans.map((each) => [each.spanId, each]))
      const ids = new Set(byId.keys())
      expect(ids.size).toBe(spans.length)
      const orphans = spans.filter(({ parentId }) => parentId !== undefined && !ids.has(parentId))
      expect(orphans).toEqual([])
      expect(spans.filter(({ parentId }) => parentId === undefined)).toHaveLength(
        new Set(spans.map(({ run }) => run)).size,
      )
      expect(spansIn(JSON.parse(JSON.stringify(tracesDocument({ 'service.name': 'x' }, spans))))).toHaveLength(
        spans.length,
      )
      const counted = new Histograms()
      const trace = new RunTrace(given)
      for (const event of events) trace.take(event)
      for (const each of trace.drain().measurements) counted.add(each)
      if (!counted.isEmpty) metricsIn(JSON.parse(JSON.stringify(counted.document({}, { since: 1, at: 2 }))))
      for (let n = 1; n <= events.length; n++) {
        const { spans: some, open: others } = fold(events.slice(0, n), given)
        for (const each of some) expect(byId.get(each.spanId)).toEqual(each)
        for (const each of others) expect(ids.has(each.spanId), each.name).toBe(true)
      }
    })
})

describe('reeve otel', () => {
  test('exports runs by name or since a moment, and says of each what was sent', async () => {
    const runtime = await createRuntime({ store: storeHere(), agents: [poet] })
    await runtime.run(poet, 'x', { runId: 'r1' })
    await runtime.run(poet, 'x', { runId: 'r2' })
    await runtime.close()
    const to = await listening()
    const one = await reeve('otel', 'r1', '--url', to.url, '--header', 'x-key=secret')
    expect(one).toMatchObject({ code: 0, err: '' })
    expect(one.out).toMatch(/^r1 {2}trace [0-9a-f]{32} {2}3 spans\n$/)
    expect(to.headers[0]).toMatchObject({ 'x-key': 'secret' })
    const all = await reeve('otel', '--since', '2026-01-01', '--url', to.url)
    expect(
      all.out
        .trim()
        .split('\n')
        .map((line) => line.slice(0, 2))
        .sort(),
    ).toEqual(['r1', 'r2'])
    expect(to.spans).toHaveLength(9)
    expect(to.problems).toEqual([])
    expect((await reeve('otel')).code).toBe(2)
    expect((await reeve('otel', 'r1', '--since', '2026-01-01')).code).toBe(2)
    const strange = await reeve('otel', 'r1', '--url', to.url, '--header', 's3cret')
    expect([strange.code, strange.err.includes('s3cret')]).toEqual([2, false])
    const nowhere = await reeve('otel', 'nowhere', '--url', to.url)
    expect([nowhere.code, nowhere.err.includes('nowhere')]).toEqual([2, true])
  })
})
