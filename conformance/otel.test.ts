/**
 * OpenTelemetry's SDK (`@opentelemetry/sdk-trace`) as the receiver of live telemetry, and `@ai-sdk/otel` beside Reeve for
 * the same conversation, attribute by attribute.
 */
import { context, metrics, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type ReadableSpan,
  type TracerProviderOptions,
} from '@opentelemetry/sdk-trace'
import { readFileSync } from 'node:fs'
import { OpenTelemetry } from '@ai-sdk/otel'
import { generateText, isStepCount, simulateReadableStream, tool as aiTool, type LanguageModel } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createRuntime, supervisor, tool, type ModelRef, type Runtime, type RuntimeOptions } from 'reeve'
import { exportRun, liveTelemetry, spanIds, type LiveTelemetry } from 'reeve/otel'
import { receiver } from '../packages/otel/test/otlp-receiver.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** An SDK that keeps what it exports, as the global one. */
function sdk(options: TracerProviderOptions = {}): { readonly spans: () => readonly ReadableSpan[] } {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })], ...options })
  expect(trace.setGlobalTracerProvider(provider)).toBe(true)
  open.push(() => {
    trace.disable()
    context.disable()
    metrics.disable()
    return provider.shutdown()
  })
  return { spans: () => exporter.getFinishedSpans() }
}

async function runtimeOf(agents: NonNullable<RuntimeOptions['agents']>): Promise<Runtime> {
  const runtime = await createRuntime({ agents })
  open.push(() => runtime.close())
  return runtime
}

async function live(runtime: Runtime, options: Parameters<typeof liveTelemetry>[1] = {}): Promise<LiveTelemetry> {
  const following = await liveTelemetry(runtime, { from: 0, intervalMs: 1, ...options })
  open.push(() => following.close())
  return following
}

/** A model that calls `weather` once and then answers: the same object for both frameworks. */
function forecaster(): LanguageModel & ModelRef {
  const usage = (input: number, output: number): object => ({
    inputTokens: { total: input, noCache: input - 5, cacheRead: 5 },
    outputTokens: { total: output, text: output },
  })
  const answers = [
    {
      content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: '{"city":"Riga"}' }],
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage: usage(40, 10),
      response: { id: 'resp_1', modelId: 'gpt-5-2026-01-01' },
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'It rains in Riga.' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: usage(60, 8),
      response: { id: 'resp_2', modelId: 'gpt-5-2026-01-01' },
      warnings: [],
    },
  ]
  const stream = (answer: (typeof answers)[number]): ReadableStream => {
    const content: object[] = answer.content.flatMap((part): object[] =>
      'text' in part
        ? [
            { type: 'text-start', id: '0' },
            { type: 'text-delta', id: '0', delta: part.text },
            { type: 'text-end', id: '0' },
          ]
        : [part],
    )
    const begin = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', ...answer.response },
    ]
    const finish = { type: 'finish', finishReason: answer.finishReason, usage: answer.usage }
    return simulateReadableStream<object>({ chunks: [...begin, ...content, finish] })
  }
  let asked = 0
  let streamed = 0
  return new MockLanguageModelV4({
    provider: 'openai.responses',
    modelId: 'gpt-5',
    doGenerate: () => Promise.resolve(answers[asked++] as never),
    doStream: () => Promise.resolve({ stream: stream(answers[streamed++]!) } as never),
  }) as unknown as LanguageModel & ModelRef
}

const weather = tool({
  name: 'weather',
  description: 'Says the weather.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: () => 'rain',
})
const poet = agent({ name: 'forecaster', description: 'Forecasts.', model: forecaster(), tools: [weather] })

const idOf = (span: ReadableSpan): string => span.spanContext().spanId

test('live through the API: the ids of the journal, the tree, the times; the same as what is exported after the fact', async () => {
  const { spans } = sdk({ idGenerator: spanIds })
  const worker = agent({ name: 'worker', description: 'Works.', model: () => 'done' })
  const lead = supervisor({
    name: 'lead',
    description: 'Leads.',
    workers: [worker],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'ok'
        : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'go' } }] },
  })
  const runtime = await runtimeOf([lead])
  await live(runtime)
  await runtime.run(lead, 'x', { runId: 'r1', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' })
  await expect.poll(() => spans().length).toBe(6)
  const to = await receiver()
  open.push(() => to[Symbol.asyncDispose]())
  await exportRun(runtime, 'r1', { url: to.url })
  const told = new Map(spans().map((span) => [idOf(span), span]))
  expect(to.spans).toHaveLength(6)
  for (const span of to.spans) {
    const other = told.get(span.spanId)!
    expect([other.name, other.spanContext().traceId, other.parentSpanContext?.spanId]).toEqual([
      span.name,
      span.traceId,
      span.parentSpanId,
    ])
    expect([other.startTime, other.endTime].map(([s, ns]) => String(BigInt(s) * 1_000_000_000n + BigInt(ns)))).toEqual([
      span.startTimeUnixNano,
      span.endTimeUnixNano,
    ])
    expect(Object.keys(other.attributes).sort()).toEqual(span.attributes.map(({ key }) => key).sort())
    expect(other.kind + 1).toBe(span.kind)
  }
  const whole = spans().find(({ name }) => name === 'invoke_workflow lead')!
  expect(whole.parentSpanContext).toMatchObject({ spanId: 'b7ad6b7169203331', isRemote: true })
  // spans of others have ids of their own
  const [one, two] = [1, 2].map(() => trace.getTracer('app').startSpan('x').spanContext())
  expect(one!.spanId).toMatch(/^[0-9a-f]{16}$/)
  expect(one!.traceId).not.toBe(two!.traceId)
})

test('going on after a crash: the rest comes, under the same ids', async () => {
  const { spans } = sdk({ idGenerator: spanIds })
  const runtime = await runtimeOf([agent({ name: 'a', description: 'A.', model: () => 'x' })])
  await runtime.run('a', 'x', { runId: 'r1' })
  const first = await live(runtime)
  await expect.poll(() => spans().length).toBe(3)
  const before = spans().map(idOf)
  await first.close()
  const again = await live(runtime)
  await expect.poll(() => spans().length).toBe(6)
  expect(spans().slice(3).map(idOf)).toEqual(before)
  await again.close()
})

test('the sampler decides for the whole run, once', async () => {
  const { spans } = sdk({
    idGenerator: spanIds,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.5) }),
  })
  const runtime = await runtimeOf([agent({ name: 'a', description: 'A.', model: () => 'x' })])
  for (let i = 0; i < 40; i++) await runtime.run('a', 'x', { runId: `r${i}` })
  const following = await live(runtime)
  const last = (await runtime.handle('r39').journal()).at(-1)!
  const ends: number[] = []
  for await (const { id, run, position } of runtime.feed({ from: 0 }))
    if (run === 'r39' && position === last.position) {
      ends.push(id)
      break
    }
  await expect.poll(() => following.position).toBe(ends[0])
  const perRun = Map.groupBy(spans(), ({ attributes }) => String(attributes['reeve.run.id']))
  expect(perRun.size).toBeGreaterThan(5)
  expect(perRun.size).toBeLessThan(35)
  for (const all of perRun.values()) expect(all).toHaveLength(3)
})

test('an SDK without the ids of Reeve is refused', async () => {
  sdk()
  const runtime = await runtimeOf([poet])
  await expect(liveTelemetry(runtime)).rejects.toMatchObject({ code: 'config.invalid' })
})

/** What an attribute of the one is beside that of the other. */
type Verdict = 'same' | 'differs' | 'ours' | 'theirs'

/** The table of docs/how-to/otel.md: every attribute of both, by the operation of the span. */
function documented(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const page = readFileSync(new URL('../docs/how-to/otel.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \| `(gen_ai[\w.]+)` \| (\w+) \|/gm)]
  const operations = Map.groupBy(rows, ([, operation]) => operation!)
  return Object.fromEntries(
    [...operations].map(([operation, of]) => [
      operation,
      Object.fromEntries(of.map(([, , name, verdict]) => [name!, verdict!])),
    ]),
  )
}

test('beside @ai-sdk/otel, attribute by attribute', async () => {
  const { spans } = sdk({ idGenerator: spanIds })
  const question = 'What is the weather in Riga?'
  await generateText({
    model: forecaster(),
    prompt: question,
    stopWhen: isStepCount(3),
    tools: { weather: aiTool({ inputSchema: z.object({ city: z.string() }), execute: () => 'rain' }) },
    telemetry: { functionId: 'forecaster', integrations: [new OpenTelemetry()] },
  })
  const theirs = [...spans()]
  expect(theirs.length).toBeGreaterThan(3)
  const runtime = await runtimeOf([poet])
  await live(runtime, { content: true })
  await runtime.run(poet, question, { runId: 'r1' })
  await expect.poll(() => spans().some(({ name }) => name === 'invoke_workflow forecaster')).toBe(true)
  const ours = spans().slice(theirs.length)
  const last = (of: readonly ReadableSpan[], operation: string): ReadableSpan =>
    of.findLast(({ attributes }) => attributes['gen_ai.operation.name'] === operation)!
  const expected = documented()
  expect(Object.keys(expected).sort()).toEqual(['chat', 'execute_tool', 'invoke_agent'])
  const found = Object.fromEntries(
    Object.keys(expected).map((operation) => {
      const [mine, other] = [last(ours, operation), last(theirs, operation)]
      expect(mine.kind, operation).toBe(other.kind)
      const names = new Set([...Object.keys(mine.attributes), ...Object.keys(other.attributes)])
      const verdicts = [...names]
        .filter((name) => name.startsWith('gen_ai.'))
        .map((name): [string, Verdict] => {
          const [a, b] = [mine.attributes[name], other.attributes[name]]
          if (b === undefined) return [name, 'ours']
          if (a === undefined) return [name, 'theirs']
          return [name, JSON.stringify(a) === JSON.stringify(b) ? 'same' : 'differs']
        })
      return [operation, Object.fromEntries(verdicts)]
    }),
  )
  expect(found).toEqual(expected)
  expect(last(ours, 'chat').name).toBe(last(theirs, 'chat').name)
  expect(last(ours, 'execute_tool').name).toBe(last(theirs, 'execute_tool').name)
})
