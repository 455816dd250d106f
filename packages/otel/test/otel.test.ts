/** OpenTelemetry: the spans of runs by their journals, exported as OTLP to a real socket, in every shape of a run. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import {
  agent,
  createRuntime,
  failure,
  FailureError,
  supervisor,
  team,
  tool,
  type Runtime,
  type RuntimeOptions,
} from 'reeve'
import { exportRun, type ExportOptions } from 'reeve/otel'
import { manualClock } from 'reeve/testing'
import { parseTraceparent } from '@reeve/core'
import { attribute, receiver, tree, type Receiver, type WireSpan } from './otlp-receiver.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'reeve-otel-'))
  open.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function runtimeOf(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ store: join(folder(), 'reeve.db'), strict: true, ...options })
  open.push(() => runtime.close())
  return runtime
}

async function listening(...answers: Parameters<typeof receiver>): ReturnType<typeof receiver> {
  const made = await receiver(...answers)
  open.push(() => made[Symbol.asyncDispose]())
  return made
}

/** Exports to a receiver of its own; what came is of the shape of OTLP. */
async function exported(runtime: Runtime, run: string, options: ExportOptions = {}): Promise<Receiver> {
  const to = await listening()
  await exportRun(runtime, run, { url: to.url, ...options })
  expect(to.problems).toEqual([])
  return to
}

const named = (spans: readonly WireSpan[], name: string): WireSpan => {
  const found = spans.find((span) => span.name === name)
  expect(found, name).toBeDefined()
  return found!
}

/** A lead, a worker with a tool that fails once and a tool that is orchestration. */
function office(): { readonly lead: ReturnType<typeof supervisor>; readonly seen: string[] } {
  const seen: string[] = []
  const lookup = tool({
    name: 'lookup',
    description: 'Looks up.',
    input: { type: 'object', properties: { q: { type: 'string' } } },
    retry: { attempts: 2, backoffMs: 1 },
    execute: (_input, io) => {
      seen.push(io.traceparent)
      if (io.attempt === 1) throw new Error('busy with payload-words')
      return 'found payload-words'
    },
  })
  const deep = tool({
    name: 'deep',
    description: 'Thinks.',
    run: async (ctx) => ctx.step('own', (io) => (seen.push(io.traceparent), 'deep')),
  })
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    tools: [lookup, deep],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'done', usage: { input: 30, output: 4, cached: 10, usd: 0.5 } }
        : {
            calls: [
              { name: 'lookup', id: 'c1', input: { q: 'payload-words' } },
              { name: 'deep', id: 'c2', input: {} },
            ],
            usage: 'unknown',
          },
  })
  const lead = supervisor({
    name: 'lead',
    description: 'Leads.',
    workers: [worker],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'all fine'
        : { calls: [{ name: 'delegate', id: 'c0', input: { worker: 'worker', instructions: 'payload-words' } }] },
  })
  return { lead, seen }
}

/** Everything of a span but its place, by names. */
const attributesOf = (span: WireSpan): Readonly<Record<string, unknown>> =>
  Object.fromEntries(span.attributes.map(({ key }) => [key, attribute(span, key)]))

const names = (span: WireSpan): readonly string[] => (span.events ?? []).map(({ name }) => name)

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('spans', () => {
  test('nested workers, tools, tools that are orchestration, and retries', async () => {
    const { lead } = office()
    const runtime = await runtimeOf({ agents: [lead] })
    await runtime.run(lead, 'payload-words', { runId: 'r1', session: 's1' })
    const { spans, texts, headers } = await exported(runtime, 'r1', { serviceName: 'shop' })
    expect(tree(spans)).toEqual([
      'invoke_workflow lead',
      '  invoke_agent lead',
      '    chat lead',
      '    invoke_agent worker',
      '      chat worker',
      '      execute_tool lookup',
      '      execute_tool deep',
      '      chat worker',
      '    chat lead',
    ])
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(attributesOf(named(spans, 'invoke_workflow lead'))).toMatchObject({
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'lead',
      'gen_ai.conversation.id': 's1',
      'reeve.run.id': 'r1',
      'reeve.outcome.status': 'completed',
    })
    expect(attributesOf(named(spans, 'invoke_agent worker'))).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'worker',
      'gen_ai.provider.name': 'rule',
      'gen_ai.tool.call.id': 'c0',
      'gen_ai.usage.input_tokens': 30,
      'reeve.usage.model_calls': 2,
      'reeve.usage.unknown_calls': 1,
      'reeve.delegation': 'd1',
    })
    const [first, second] = spans.filter(({ name }) => name === 'chat worker')
    expect(attribute(first!, 'gen_ai.usage.input_tokens')).toBeUndefined() // unknown is not 0
    expect(attributesOf(second!)).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'worker',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 30,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.usage.cache_read.input_tokens': 10,
      'reeve.usage.cost_usd': 0.5,
    })
    const lookup = named(spans, 'execute_tool lookup')
    expect(attributesOf(lookup)).toMatchObject({
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.type': 'function',
      'reeve.operation.attempts': 2,
    })
    expect(
      lookup.events?.map((event) => [event.name, attribute(event, 'error.type'), attribute(event, 'reeve.attempt')]),
    ).toEqual([['reeve.attempt_failed', 'tool.failed', 1]])
    expect(texts.join('')).not.toContain('payload-words')
    expect(texts[0]).toContain('"shop"')
    expect(headers.map((each) => each['content-encoding'])).toEqual(['gzip', 'gzip'])
  })

  test('content only where it is asked for, and without what redaction took out', async () => {
    const { lead } = office()
    const runtime = await runtimeOf({ agents: [lead], redact: { values: ['secret-1234'] } })
    await runtime.run(lead, 'payload-words and secret-1234', { runId: 'r1' })
    const { spans, texts } = await exported(runtime, 'r1', { content: true, gzip: false })
    expect(JSON.parse(String(attribute(named(spans, 'invoke_agent lead'), 'gen_ai.input.messages')))).toMatchObject([
      { role: 'user', parts: [{ type: 'text', content: expect.stringContaining('payload-words and ') as string }] },
    ])
    const lookup = attributesOf(named(spans, 'execute_tool lookup'))
    expect(lookup['gen_ai.tool.call.arguments']).toBe('{"q":"payload-words"}')
    expect(lookup['gen_ai.tool.call.result']).toBe('found payload-words')
    expect(
      JSON.parse(
        String(
          attribute(
            spans.find(({ name }) => name === 'chat worker')!,
            'gen_ai.output.messages',
          ),
        ),
      ),
    ).toMatchObject([
      { role: 'assistant', finish_reason: 'tool-calls', parts: [{ type: 'tool_call', id: 'c1', name: 'lookup' }, {}] },
    ])
    expect(texts.join('')).not.toContain('secret-1234')
  })

  test('failures have a code, and a message only with content', async () => {
    const failing = agent({
      name: 'failing',
      description: 'Fails.',
      retry: { attempts: 1 },
      model: () => {
        throw new FailureError(failure('model.unavailable', 'no payload-words today', 'transport'))
      },
    })
    const runtime = await runtimeOf({ agents: [failing] })
    await runtime.run(failing, 'x', { runId: 'r1' })
    const { spans, texts } = await exported(runtime, 'r1')
    expect(spans.map(({ name, status }) => [name, status])).toEqual([
      ['chat failing', { code: 2 }],
      ['invoke_agent failing', { code: 2 }],
      ['invoke_workflow failing', { code: 2 }],
    ])
    expect(attributesOf(spans[0]!)).toMatchObject({
      'error.type': 'model.unavailable',
      'reeve.failure.class': 'transport',
    })
    expect(texts.join('')).not.toContain('payload-words')
    const full = await exported(runtime, 'r1', { content: true })
    expect(full.spans[0]!.status).toEqual({ code: 2, message: 'no payload-words today' })
  })

  test('an approval that waits for days, and a run that is exported before and after', async () => {
    const clock = manualClock()
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      sensitive: true,
      approval: { timeoutMs: 10 * 86_400_000 },
      input: { type: 'object', properties: { to: { type: 'string' } } },
      execute: () => 'paid',
    })
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      tools: [pay],
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'ok'
          : { calls: [{ name: 'pay', input: { to: 'payload-words' } }] },
    })
    const runtime = await runtimeOf({ agents: [clerk], clock })
    const run = await runtime.start(clerk, 'go', { runId: 'r1' })
    await run.until('waiting')
    const before = await exported(runtime, 'r1')
    expect(before.spans.map(({ name }) => name)).toEqual(['chat clerk'])
    const open = await exported(runtime, 'r1', { unfinished: true })
    expect(tree(open.spans)).toEqual([
      'invoke_workflow clerk',
      '  invoke_agent clerk',
      '    chat clerk',
      '    reeve.approval pay',
    ])
    expect(attribute(named(open.spans, 'reeve.approval pay'), 'reeve.unfinished')).toBe(true)
    clock.advance(3 * 86_400_000)
    const [{ id } = { id: '' }] = await runtime.approvals()
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann payload-words', comment: 'payload-words' })
    await run.outcome()
    const after = await exported(runtime, 'r1')
    const later = new Set(after.spans.map(({ spanId }) => spanId))
    expect(open.spans.every(({ spanId }) => later.has(spanId))).toBe(true)
    expect(after.spans.filter(({ name }) => name === 'chat clerk')[0]).toEqual(before.spans[0])
    const approval = named(after.spans, 'reeve.approval pay')
    expect(Number(approval.endTimeUnixNano) - Number(approval.startTimeUnixNano)).toBeGreaterThanOrEqual(3 * 86_400e9)
    expect(attributesOf(approval)).toMatchObject({
      'reeve.approval.id': id,
      'reeve.approval.risk': 'high',
      'reeve.approval.resolution': 'approved',
      'gen_ai.tool.name': 'pay',
    })
    expect(after.texts.join('')).not.toContain('payload-words')
    const wait = after.metrics.find(({ name }) => name === 'reeve.approval.wait')
    expect(wait !== undefined && 'histogram' in wait && wait.histogram.dataPoints[0]).toMatchObject({
      count: '1',
      min: 259_200,
    })
    // again: the very same, spans and metrics
    expect(await exported(runtime, 'r1')).toMatchObject({ spans: after.spans, metrics: after.metrics })
  })

  test('a planned team: its plan, the tasks of its members, its mail', async () => {
    const writer = agent({ name: 'writer', description: 'Writes.', model: () => 'payload-words' })
    const crew = team({
      name: 'crew',
      roles: { writer },
      model: () =>
        JSON.stringify({
          subtasks: [
            { id: 't1', role: 'writer', description: 'payload-words' },
            { id: 't2', role: 'writer', description: 'payload-words', dependencies: ['t1'] },
          ],
        }),
      lead: ({ ended }) => (ended.task === 't1' ? [{ post: { to: 'all', content: 'payload-words' } }] : []),
      synthesize: () => 'x',
    })
    const runtime = await runtimeOf({ agents: [crew] })
    expect((await runtime.run(crew, 'go', { runId: 'r1' })).status).toBe('completed')
    const { spans, texts } = await exported(runtime, 'r1')
    expect(tree(spans)).toEqual([
      'invoke_workflow crew',
      '  invoke_agent crew',
      '    plan crew',
      '      chat crew',
      '    invoke_agent writer',
      '      chat writer',
      '    invoke_agent writer',
      '      chat writer',
    ])
    expect(attributesOf(named(spans, 'plan crew'))).toMatchObject({
      'gen_ai.operation.name': 'plan',
      'reeve.plan.tasks': 2,
      'reeve.plan.route': 'team',
    })
    expect(attributesOf(named(spans, 'invoke_agent writer'))).toMatchObject({
      'reeve.task.id': 't1',
      'reeve.task.member': 'writer_1',
    })
    expect(names(named(spans, 'invoke_agent crew'))).toEqual(
      expect.arrayContaining([
        'reeve.teammate.joined',
        'reeve.task.started',
        'reeve.task.settled',
        'reeve.mail.accepted',
      ]),
    )
    expect(texts.join('')).not.toContain('payload-words')
  })

  test('a hedge: both workers, and which was kept', async () => {
    const slow = agent({
      name: 'slow',
      description: 'Slow.',
      model: ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const quick = agent({ name: 'quick', description: 'Quick.', model: () => 'quick' })
    const lead = supervisor({
      name: 'lead',
      description: 'Leads.',
      workers: [slow, quick],
      delegation: { workers: { slow: { hedge: { afterMs: 5, with: 'quick' } } } },
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'ok'
          : { calls: [{ name: 'delegate', input: { worker: 'slow', instructions: 'go' } }] },
    })
    const runtime = await runtimeOf({ agents: [lead] })
    await runtime.run(lead, 'go', { runId: 'r1' })
    const { spans } = await exported(runtime, 'r1')
    expect(attribute(named(spans, 'invoke_agent slow'), 'reeve.outcome.status')).toBe('cancelled')
    expect(named(spans, 'invoke_agent slow').status).toEqual({}) // on purpose, so no error
    expect(attribute(named(spans, 'invoke_agent quick'), 'reeve.outcome.status')).toBe('completed')
    const decided = named(spans, 'invoke_agent lead').events?.find(({ name }) => name === 'reeve.delegation.decided')
    expect(attribute(decided!, 'reeve.kept')).toHaveLength(1)
  })

  test('work in the background, and a child run: parts of the trace of their leader', async () => {
    const far = agent({ name: 'far', description: 'Far.', model: () => 'far' })
    const lead = supervisor({
      name: 'lead',
      description: 'Leads.',
      workers: [far],
      delegation: { background: { workers: ['far'] }, workers: { far: { place: 'apart' } } },
      model: ({ messages }) =>
        messages.some(({ role, content }) => role === 'tool' && content === 'far')
          ? 'got it'
          : messages.some(({ role }) => role === 'tool')
            ? 'meanwhile'
            : { calls: [{ name: 'delegate', input: { worker: 'far', instructions: 'go' } }] },
    })
    const runtime = await runtimeOf({ agents: [lead] })
    await runtime.run(lead, 'go', { runId: 'r1', traceparent: caller })
    const { spans } = await exported(runtime, 'r1')
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([parseTraceparent(caller)!.traceId]))
    const leader = named(spans, 'invoke_agent lead')
    const worker = named(spans, 'invoke_agent far')
    expect(worker.parentSpanId).toBe(leader.spanId)
    expect(attribute(worker, 'reeve.run.id')).toContain('>')
    expect(named(spans, 'chat far').parentSpanId).toBe(worker.spanId)
    expect(names(leader)).toContain('reeve.delegation.deferred')
  })

  test('a fork: a trace of its own, linked to its origin, without what was copied', async () => {
    const { lead } = office()
    const runtime = await runtimeOf({ agents: [lead] })
    await runtime.run(lead, 'go', { runId: 'r1' })
    const journal = await runtime.handle('r1').journal()
    const settled = journal.filter(({ event }) => event.type === 'step.settled')
    const fork = await runtime.fork({ run: 'r1', at: settled.at(-2)!.position, runId: 'f1' })
    await fork.outcome()
    const [origin, forked] = [await exported(runtime, 'r1'), await exported(runtime, 'f1')]
    const whole = named(forked.spans, 'invoke_workflow lead')
    expect(whole.links).toMatchObject([
      { traceId: origin.spans[0]!.traceId, spanId: named(origin.spans, 'invoke_workflow lead').spanId },
    ])
    expect(attribute(whole, 'reeve.fork.origin')).toBe('r1')
    expect(forked.spans.length).toBeLessThan(origin.spans.length)
    expect(forked.spans.filter(({ name }) => name === 'execute_tool lookup')).toEqual([])
    const of = new Set(origin.spans.map(({ spanId }) => spanId))
    expect(forked.spans.filter(({ spanId }) => of.has(spanId))).toEqual([])
    const began = BigInt(whole.startTimeUnixNano)
    expect(forked.spans.every(({ startTimeUnixNano }) => BigInt(startTimeUnixNano) >= began)).toBe(true)
  })

  test('kill -9 and resume: the same ids, the same spans, and the tool sees the same traceparent', async () => {
    const store = join(folder(), 'reeve.db')
    const child = join(import.meta.dirname, 'otel-child.ts')
    const begin = (how: string): ChildProcess => {
      const started = spawn(process.execPath, ['--no-warnings', child, store, how], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      open.push(() => started.kill('SIGKILL'))
      return started
    }
    const killed = begin('stay')
    const [first] = (await once(killed.stdout!, 'data')) as [Buffer]
    const looking = await runtimeOf({ store, drive: false })
    const before = await exported(looking, 'killed', { unfinished: true })
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    const resumed = begin('go')
    let said = ''
    resumed.stdout!.on('data', (piece: Buffer) => (said += piece.toString()))
    await once(resumed, 'exit')
    expect(said).toContain('ended')
    expect(said.split('\n')[0]).toBe(first.toString().split('\n')[0])
    const after = await exported(looking, 'killed')
    const later = new Map(after.spans.map((span) => [span.spanId, span]))
    for (const span of before.spans) {
      expect(later.get(span.spanId)).toMatchObject({ name: span.name, startTimeUnixNano: span.startTimeUnixNano })
    }
    const ended = before.spans.filter((span) => attribute(span, 'reeve.unfinished') === undefined)
    expect(ended.map(({ spanId }) => later.get(spanId))).toEqual(ended)
    expect(ended).toHaveLength(2)
    const tool = named(after.spans, 'execute_tool slow')
    expect(first.toString()).toContain(`-${tool.spanId}-01`)
    expect(parseTraceparent(first.toString().trim().slice(5))!.traceId).toBe(tool.traceId)
    expect(tree(after.spans)).toHaveLength(8)
  }, 30_000)
})
