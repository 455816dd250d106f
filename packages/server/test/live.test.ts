/** A run, live: a snapshot and patches by key, folded once for all who look; its rows, bars and conversations. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { agent, createRuntime, supervisor, tool, webSearch, withFiles, type Runtime } from 'reeve'
import { completed, rootActivation, runId, type Json } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import type { Question, RunPart } from '@reeve/runtime'
import { cut } from '../src/live/cut.ts'
import { LiveRuns } from '../src/live/live-runs.ts'
import { RunState } from '../src/live/run-state.ts'
import { callKey, SaidSoFar } from '../src/live/said-so-far.ts'
import type {
  Changes,
  ConversationPage,
  JournalPage,
  LiveMessage,
  LivePatch,
  LiveRun,
  PartMessage,
  SpanPage,
} from '../src/wire.ts'
import { agentOf, decisionOf, humanSays, randomTree } from '../../../test/fuzz/trees.ts'
import { payer } from '../../runtime/test/hand.ts'
import { sentEvents, serving } from './serving.ts'

/** A snapshot with a patch laid over it, as a browser does it. */
function patched(run: LiveRun, patch: LivePatch): LiveRun {
  const next = structuredClone(run) as unknown as Record<string, Record<string, unknown>>
  for (const [part, keys] of Object.entries(patch)) {
    if (part === 'head') next['head'] = keys as unknown as Record<string, unknown>
    else
      for (const [key, value] of Object.entries(keys as object)) {
        if (value === null) delete next[part]![key]
        else next[part]![key] = value
      }
  }
  return next as unknown as LiveRun
}

/** What one reader knows. */
class Screen {
  run: LiveRun | undefined
  snapshots = 0
  patches = 0
  readonly parts: PartMessage[] = []
  readonly #seen: (() => void)[] = []

  take(message: LiveMessage): void {
    if (message.type === 'snapshot') {
      this.run = message.run
      this.snapshots++
    } else if (message.type === 'patch') {
      this.run = patched(this.run!, message.patch)
      this.patches++
    } else this.parts.push(...message.parts)
    for (const look of this.#seen) look()
  }

  /** Resolves when this holds. */
  until(holds: (run: LiveRun) => boolean): Promise<LiveRun> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.run !== undefined && holds(this.run)) resolve(this.run)
      }
      this.#seen.push(look)
      look()
    })
  }
}

/** A reader of a run. `signal`: when it leaves. */
async function reads(live: LiveRuns, run: string, signal: AbortSignal, screen = new Screen()): Promise<Screen> {
  const watched = await live.look(runId(run))
  const reading = async (): Promise<void> => {
    for await (const json of watched.messages(signal)) screen.take(JSON.parse(json) as LiveMessage)
  }
  reading().catch(() => {})
  return screen
}

/** What a reader sees that comes now. */
async function fresh(runtime: Runtime, run: string): Promise<LiveRun> {
  const live = new LiveRuns(runtime)
  const watched = await live.look(runId(run))
  live.close()
  return JSON.parse(watched.state.snapshot()) as LiveRun
}

const isOver = ({ head }: LiveRun): boolean => head.endedAt !== undefined

describe('K1: patches in order, laid over a snapshot, are the snapshot of the end', () => {
  test.each(Array.from({ length: 16 }, (_, i) => i + 1))('random tree %d', async (seed) => {
    await using runtime = await createRuntime({
      agents: [agentOf(randomTree(seed), () => {})],
      strict: true,
      onWarning: () => {},
    })
    const left = new AbortController()
    const live = new LiveRuns(runtime)
    const run = await runtime.start(
      agentOf(randomTree(seed), () => {}),
      'Go',
    )
    const screen = await reads(live, run.id, left.signal)
    const end = run.outcome()
    let ended = false
    end.then(
      () => (ended = true),
      () => (ended = true),
    )
    while (!ended) {
      for (const { kind, id, body } of await runtime.questions({ run: run.id }))
        if (kind === 'interrupt') await runtime.answer({ interruptId: id, value: humanSays }).catch(() => {})
        else if (kind === 'approval') {
          const decision = decisionOf(randomTree(seed), (body as { path: readonly string[] }).path.at(-1)!)
          await runtime.decide({ approvalId: id, decision, approver: 'ann' }).catch(() => {})
        }
      await later(1)
    }
    const seen = await screen.until(isOver)
    const now = await fresh(runtime, run.id)
    expect(screen.snapshots).toBe(1)
    expect(sorted(seen)).toEqual(sorted(now))
    const view = await run.view()
    expect(Object.keys(now.activations).toSorted()).toEqual(view.activations.map((each) => each.activation).toSorted())
    for (const { outcome: _outcome, ...each } of view.activations) {
      const {
        outcome: _cut,
        outcomeCut: _isCut,
        limits: _limits,
        reserved: _reserved,
        ...shown
      } = now.activations[each.activation]!
      expect(shown).toEqual(each)
    }
    expect(now.head).toMatchObject({ status: view.status, usage: view.usage, position: view.position })
    left.abort()
    live.close()
  })
})

/** The order of keys is that of their first being shown, and of events that were recorded in one commit. */
const sorted = (run: LiveRun): unknown =>
  Object.fromEntries(
    Object.entries(run).map(([part, keys]) => [
      part,
      part === 'head'
        ? { ...keys, events: 0 }
        : Object.entries(keys as object).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ]),
  )

test('over HTTP: two readers, a decision, a reconnect; a snapshot comes first, and nothing after the end', async () => {
  const { server, runtime, post, errors, token } = await serving({ agents: [payer] })
  await post('/runs', { agent: 'payer', input: 'pay', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  const left = new AbortController()
  const watch = async (): Promise<Screen> => {
    const screen = new Screen()
    const response = await fetch(`${server.url}/api/runs/r1/live`, {
      signal: left.signal,
      headers: { Authorization: `Bearer ${token}` },
    })
    const reading = async (): Promise<void> => {
      for await (const { data } of sentEvents(response)) screen.take(data as LiveMessage)
    }
    // it ends with an error when it leaves
    reading().catch(() => {})
    return screen
  }
  const [one, two] = [await watch(), await watch()]
  const waiting = await one.until(({ approvals }) => Object.keys(approvals).length === 1)
  const [approval] = Object.values(waiting.approvals)
  expect(approval).toMatchObject({ open: true, tool: 'pay', input: 'pay' })
  expect((await one.until(({ head }) => head.status === 'waiting')).head).toMatchObject({
    input: 'pay',
    agent: 'payer',
  })
  await post(`/approvals/${approval!.id}/decision`, { decision: 'approve' })
  const [first, second] = [await one.until(isOver), await two.until(isOver)]
  expect(first).toEqual(second)
  expect(first.approvals[approval!.id]).toMatchObject({ open: false, resolution: 'approved', approver: 'operator' })
  expect(first.head).toMatchObject({ status: 'completed', outcome: { status: 'completed' } })
  const again = await watch()
  expect(await again.until(isOver)).toEqual(first)
  expect([one.snapshots, two.snapshots, again.snapshots, again.patches]).toEqual([1, 1, 1, 0])
  expect(errors).toEqual([])
  left.abort()
})

test('a run that another process drives is followed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-live-'))
  const store = join(folder, 'reeve.db')
  let go = (): void => {}
  const may = new Promise<void>((resolve) => (go = resolve))
  const slow = agent({
    name: 'slow',
    model: async () => {
      await may
      return 'done'
    },
  })
  const driving = await createRuntime({ agents: [slow], store })
  const looking = await createRuntime({ store, drive: false })
  try {
    const left = new AbortController()
    const live = new LiveRuns(looking)
    const run = await driving.start(slow, 'go')
    const screen = await reads(live, run.id, left.signal)
    const open = await screen.until(({ activations }) =>
      Object.values(activations).some((each) => each.open.some(({ kind }) => kind === 'model')),
    )
    expect(open.head.status).toBe('running')
    go()
    expect((await screen.until(isOver)).head).toMatchObject({ status: 'completed' })
    left.abort()
    live.close()
  } finally {
    await driving.close()
    await looking.close()
    rmSync(folder, { recursive: true })
  }
})

test('an unknown run is an unknown run on every path', async () => {
  const { get } = await serving({ agents: [payer] })
  for (const path of ['live', 'spans', 'journal', 'conversation'])
    expect(await get(`/runs/none/${path}`)).toMatchObject({ status: 404, body: { error: { code: 'run.unknown' } } })
})

const look = tool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'a needle' })
const worker = agent({
  name: 'worker',
  description: 'Works.',
  tools: [look],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'found' : { calls: [{ name: 'look', input: { at: 'hay' } }] },
})
const lead = supervisor({
  name: 'lead',
  workers: [worker],
  limits: { tokens: 1_000_000 },
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'all done'
      : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'look' } }] },
})

test('rows by number, by activation, by family and by what they hold; bars; what an agent was shown and said', async () => {
  const { get, runtime } = await serving({ agents: [lead] })
  await runtime.run(lead, 'go', { runId: 'r1' })
  const events = await runtime.handle('r1').journal()
  const journal = async (query: string): Promise<JournalPage> =>
    (await get(`/runs/r1/journal?${query}`)).body as JournalPage
  const all = await journal('')
  expect(all.rows.map(({ event }) => event)).toEqual(events.map(({ event }) => event))
  expect(all).toMatchObject({ total: events.length, from: 0 })
  expect((await journal('from=3&limit=2')).rows.map(({ index }) => index)).toEqual([3, 4])
  expect((await journal(`from=${events.length}`)).rows).toEqual([])
  const id = events.find(({ event }) => event.type === 'activation.started' && event.agent === 'worker')!.activation
  const own = events.flatMap(({ activation }, i) => (activation === id ? [i] : []))
  const ofWorker = await journal(`activation=${encodeURIComponent(id)}`)
  expect(ofWorker.rows.map(({ index }) => index)).toEqual(own)
  expect(new Set(ofWorker.rows.map((row) => row.agent))).toEqual(new Set(['worker']))
  const models = await journal('family=model')
  expect(models.rows.map(({ event }) => event.type)).toEqual(Array.from({ length: 4 }, () => 'model.requested'))
  const found = await journal('find=NEEDLE')
  expect(found.rows.length).toBeGreaterThan(0)
  expect(found.rows.every(({ event }) => JSON.stringify(event).includes('needle'))).toBe(true)
  expect(await journal('find=nowhere')).toMatchObject({ total: 0, rows: [] })
  const spans = (await get('/runs/r1/spans')).body as SpanPage
  expect(spans.spans.map(({ kind, name }) => `${kind} ${name}`)).toEqual(
    expect.arrayContaining(['agent lead', 'agent worker', 'tool look']),
  )
  expect((await get(`/runs/r1/spans?after=${spans.position}`)).body).toMatchObject({ spans: [], more: false })
  const talk = (await get(`/runs/r1/conversation?activation=${encodeURIComponent(id)}`)).body as ConversationPage
  expect(talk).toMatchObject({ agent: 'worker', input: 'look' })
  expect(talk.entries).toMatchObject([
    { type: 'tool-call', name: 'look', value: { at: 'hay' } },
    { type: 'tool-result', name: 'look', text: 'a needle' },
    { type: 'assistant', name: 'worker', text: 'found' },
  ])
  const one = (await get(`/runs/r1/conversation?limit=1`)).body as ConversationPage
  expect(one).toMatchObject({ agent: 'lead', input: 'go' })
  const rest = (await get(`/runs/r1/conversation?after=${one.position}`)).body as ConversationPage
  expect([...one.entries, ...rest.entries].at(-1)).toMatchObject({ type: 'assistant', text: 'all done' })
  expect(await get('/runs/r1/conversation?activation=act_none')).toMatchObject({ status: 400 })
})

test('what the provider of a model ran stands before its answer, which has its sources', async () => {
  const answer = {
    text: 'It rains.',
    calls: [],
    finish: 'stop',
    model: 'anthropic/m',
    ran: [{ tool: 'web_search', input: { query: 'weather' }, isError: true, summary: 'max_uses_exceeded' }],
    sources: [{ url: 'https://example.com/rain', title: 'Rain' }],
  } as const
  const model = { id: 'anthropic/m', providerTools: { runs: ['anthropic'] }, call: () => Promise.resolve(answer) }
  const { get, runtime } = await serving({ agents: [agent({ name: 'searcher', model, tools: [webSearch()] })] })
  await runtime.run('searcher', 'weather?', { runId: 'r1' })
  const { entries } = (await get('/runs/r1/conversation')).body as ConversationPage
  expect(entries).toMatchObject([
    { type: 'tool-call', name: 'web_search', value: { query: 'weather' } },
    { type: 'tool-result', name: 'web_search', text: 'max_uses_exceeded', isError: true },
    { type: 'assistant', text: 'It rains.', sources: answer.sources },
  ])
})

test('a conversation has the pictures of results, as far as there is room, and names all other files', async () => {
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const png = { mediaType: 'image/png', filename: 'chart.png', data }
  const huge = { ...png, data: `${data.slice(0, 88)}${'A'.repeat(8 * 1024 * 1024)}` }
  const pdf = { mediaType: 'application/pdf', data: 'JVBERi0xLjQK' }
  const elsewhere = { mediaType: 'image/png', url: 'https://example.org/a.png' }
  const draw = tool({ name: 'draw', effect: 'read', execute: () => withFiles('drawn', [png, huge, pdf, elsewhere]) })
  const artist = agent({
    name: 'artist',
    tools: [draw],
    model: ({ messages }) => (messages.length > 1 ? 'done' : { calls: [{ name: 'draw', input: {} }] }),
  })
  const { get, runtime } = await serving({ agents: [artist] })
  await runtime.run(artist, 'go', { runId: 'r1' })
  const { entries } = (await get('/runs/r1/conversation')).body as ConversationPage
  const shown = entries.find(({ type }) => type === 'tool-result')?.files ?? []
  expect(shown.map(({ label, picture }) => [label.slice(0, 5), picture])).toEqual([
    ['[file', { mediaType: 'image/png', data }],
    ['[file', undefined],
    ['[file', undefined],
    ['[file', undefined],
  ])
  expect(shown[0]!.label).toContain('"chart.png", image/png, 70 bytes')
})

test('what a model was told of an answer that does not fit stands behind that answer, once; the last one fails', async () => {
  const estimator = agent({
    name: 'estimator',
    output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as never,
    model: () => '{"n":"one"}',
    middleware: [{ name: 'keeps', after: () => undefined }],
  })
  const { get, runtime } = await serving({ agents: [estimator] })
  await runtime.run(estimator, 'go', { runId: 'r1' })
  const { entries } = (await get('/runs/r1/conversation')).body as ConversationPage
  expect(entries.map(({ type, name }) => [type, name])).toEqual([
    ['assistant', 'estimator'],
    ['correction', undefined],
    ['assistant', 'estimator'],
    ['correction', undefined],
    ['assistant', 'estimator'],
    ['outcome', 'failed'],
  ])
  expect(entries[1]!.text).toMatch(/^Your answer does not have the required form: "n" must be a number/)
})

test('what is reserved is what calls in flight may use, at their agent and above it; nothing once they have ended', async () => {
  let go = (): void => {}
  const may = new Promise<void>((resolve) => (go = resolve))
  const held = agent({
    name: 'worker',
    description: 'Works.',
    model: async () => {
      await may
      return 'done'
    },
  })
  const boss = supervisor({
    name: 'boss',
    workers: [held],
    limits: { tokens: 500_000 },
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'done'
        : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'look' } }] },
  })
  await using runtime = await createRuntime({ agents: [boss] })
  const live = new LiveRuns(runtime)
  const left = new AbortController()
  const run = await runtime.start(boss, 'go')
  const screen = await reads(live, run.id, left.signal)
  const atWork = await screen.until(({ activations }) =>
    Object.values(activations).some(({ agent: name, open }) => name === 'worker' && open.length > 0),
  )
  const [top, below] = Object.values(atWork.activations)
  const { event } = (await run.journal()).findLast(({ event: each }) => each.type === 'model.requested')!
  const reserve = event.type === 'model.requested' ? event.reserve?.tokens : undefined
  expect(reserve).toBeGreaterThan(0)
  expect([top!.limits, top!.reserved?.tokens, below!.reserved?.tokens]).toEqual([{ tokens: 500_000 }, reserve, reserve])
  go()
  const done = await screen.until(isOver)
  expect(Object.values(done.activations).map(({ reserved }) => reserved?.tokens)).toEqual([0, 0])
  left.abort()
  live.close()
})

describe('the state of a run', () => {
  const run = runId('r1')
  const root = rootActivation(run)
  const journal = (...events: readonly JournalEvent[]): Recorded[] =>
    events.map((event, i) => ({ position: i + 1, run, activation: root, seq: i, at: (i + 1) * 1000, event }))
  const started: JournalEvent = { type: 'activation.started', agent: 'lead', version: '1', input: 'x'.repeat(100_000) }
  const answer: JournalEvent = {
    type: 'step.settled',
    address: 'turn/model',
    outcome: completed({ text: '', calls: [{ id: 'c1', name: 'pay', input: { usd: 3 } }] }),
  }
  const events = journal(
    started,
    { type: 'model.requested', op: 'step', address: 'turn/model', effect: 'model', model: 'm', messages: 1 },
    answer,
    { type: 'tool.called', op: 'step', address: 'turn/call/pay', effect: 'once', tool: 'pay', callId: 'c1' },
    { type: 'effect.in-doubt', address: 'turn/call/pay', id: 'int_1', round: 1 },
    { type: 'effect.cleared', address: 'turn/call/pay' },
  )
  const question: Question = {
    id: 'int_1',
    kind: 'in-doubt',
    run,
    activation: root,
    address: 'turn/call/pay',
    askedAt: 1,
    body: null,
  }
  const shownAt = (state: RunState): LiveRun => JSON.parse(state.snapshot()) as LiveRun

  test('an effect in doubt is shown with the arguments of its call, by its question, and is gone once it is settled', () => {
    const state = new RunState()
    for (const each of events.slice(0, 5)) state.take(each, each.position)
    state.show(undefined, [question])
    expect(shownAt(state).doubts).toEqual({
      int_1: expect.objectContaining({ kind: 'in-doubt', name: 'pay', input: { usd: 3 }, address: 'turn/call/pay' }),
    })
    const { version } = state
    state.take(events[5]!, 6)
    state.show(undefined, [])
    expect(JSON.parse(state.patchSince(version)!)).toMatchObject({ doubts: { int_1: null } })
    expect(shownAt(state).doubts).toEqual({})
  })

  test('long texts are cut, and say how much is left out', () => {
    const state = new RunState()
    state.take(events[0]!, 1)
    state.show(undefined, [])
    expect(shownAt(state).head.input).toMatch(/^x{4000}… \[96,000 more characters left out\]$/)
    expect(shownAt(state).head.inputCut).toBe(true)
  })

  test('a reader that is behind gets one patch with the newest values, and nothing where nothing changed', () => {
    const state = new RunState()
    state.take(events[0]!, 1)
    state.show(undefined, [])
    const { version } = state
    const before = shownAt(state)
    for (const each of events.slice(1)) {
      state.take(each, each.position)
      state.show(undefined, each.event.type === 'effect.in-doubt' ? [question] : [])
    }
    expect(patched(before, JSON.parse(state.patchSince(version)!) as LivePatch)).toEqual(shownAt(state))
    const last = state.version
    state.show(undefined, [])
    expect(state.version).toBe(last)
  })
})

test.each<[string, Json, number, Json]>([
  ['what fits is the same', { a: ['b'] }, 100, { a: ['b'] }],
  ['a text', 'abcdef', 2, 'ab… [4 more characters left out]'],
  ['entries of a list', [1, 2, 3, 4, 5, 6], 16, [1, 2, 3, '[3 more entries left out]']],
  ['members', { a: 'xxxxxxxx', b: 1 }, 8, { a: 'xxx… [5 more characters left out]', '…': '[1 more members left out]' }],
  ['half a surrogate pair is no text', `${'a'.repeat(3)}😀😀`, 4, `aaa\ufffd… [3 more characters left out]`],
])('cut: %s', (_what, value, most, expected) => {
  expect(cut(value, most)).toEqual(expected)
})

test('runs that nobody looks at are let go; one that is looked at stays', async () => {
  await using runtime = await createRuntime({ agents: [payer] })
  const live = new LiveRuns(runtime)
  const left = new AbortController()
  await runtime.start(payer, 'pay', { runId: 'first' })
  await reads(live, 'first', left.signal)
  for (let i = 0; i < 20; i++) {
    await runtime.start(payer, 'pay', { runId: `r${i}` })
    await live.look(runId(`r${i}`))
  }
  expect(live.size).toBeLessThan(12)
  const first = await live.look(runId('first'))
  expect(first.isRead).toBe(true)
  live.close()
  expect(first.isClosed).toBe(true)
})

test('changes over all runs: the first message says to read everything, and what changes after it is told', async () => {
  await using runtime = await createRuntime({ agents: [payer] })
  const live = new LiveRuns(runtime)
  // again and again: the next reader begins where the last one has left, or anew
  for (let i = 0; i < 5; i++) {
    const left = new AbortController()
    const messages = live.changes.messages({}, left.signal)
    expect((await messages.next()).value).toMatchObject({ questions: true })
    const before = await runtime.questions()
    await runtime.start(payer, 'pay', { runId: `n${i}` })
    const named = new Set<string>()
    while (!named.has(`n${i}`)) for (const run of (await messages.next()).value?.runs ?? []) named.add(run)
    expect(before).toHaveLength(i)
    await vi.waitUntil(async () => (await runtime.questions()).length > i, 25_000)
    left.abort()
    expect((await messages.next()).done).toBe(true)
  }
  live.close()
})

test('changes over all runs: each reader hears of the runs of its tenant alone', async () => {
  await using runtime = await createRuntime({ agents: [payer] })
  const live = new LiveRuns(runtime)
  const left = new AbortController()
  const heard = { all: new Set<string>(), acme: new Set<string>(), questions: 0 }
  let wake = (): void => {}
  const hear = async (tenant: string | undefined, into: Set<string>): Promise<void> => {
    const who = tenant === undefined ? {} : { tenant }
    for await (const { runs = [], questions } of live.changes.messages(who, left.signal) as AsyncIterable<Changes>) {
      for (const each of runs) into.add(each)
      if (questions) heard.questions++
      wake()
    }
  }
  const readers = [hear(undefined, heard.all), hear('acme', heard.acme)]
  await later(50)
  await runtime.start(payer, 'pay', { runId: 'a1', tenant: 'acme' })
  await runtime.start(payer, 'pay', { runId: 'b1', tenant: 'other' })
  while (heard.all.size < 2 || heard.acme.size < 1 || heard.questions < 2)
    await new Promise<void>((resolve) => (wake = resolve))
  expect([...heard.acme]).toEqual(['a1'])
  expect([...heard.all].toSorted()).toEqual(['a1', 'b1'])
  left.abort()
  await Promise.all(readers)
  live.close()
})

test('a reader who comes while a model streams is given the text so far, and then what follows, once', async () => {
  let goOn = (): void => {}
  const speaker = agent({
    name: 'speaker',
    description: 'Speaks.',
    model: async ({ emit }) => {
      await new Promise<void>((resolve) => (goOn = resolve))
      emit?.({ type: 'text.delta', id: 't', text: 'Once upon ' })
      emit?.({ type: 'text.delta', id: 't', text: 'a time' })
      await new Promise<void>((resolve) => (goOn = resolve))
      emit?.({ type: 'text.delta', id: 't', text: ', there was a run.' })
      await new Promise<void>((resolve) => (goOn = resolve))
      return 'Once upon a time, there was a run.'
    },
  })
  await using runtime = await createRuntime({ agents: [speaker], parkAfterMs: 10 })
  const live = new LiveRuns(runtime)
  const left = new AbortController()
  const text = ({ parts }: Screen): string => {
    let said = ''
    for (const { part, offset } of parts) {
      if (typeof offset !== 'number' || offset > said.length) continue
      said += (part as { readonly text: string }).text.slice(said.length - offset)
    }
    return said
  }
  const run = await runtime.start(speaker, 'Speak.')
  const first = await reads(live, run.id, left.signal)
  await expect.poll(() => Object.values(first.run?.activations ?? {})[0]?.open.length).toBe(1)
  goOn()
  await expect.poll(() => text(first)).toBe('Once upon a time')
  goOn()
  await expect.poll(() => text(first)).toMatch(/there was a run/)
  const second = await reads(live, run.id, left.signal)
  await expect.poll(() => text(second)).toBe(text(first))
  goOn()
  await second.until(isOver)
  const third = await reads(live, run.id, left.signal)
  await third.until(isOver)
  expect(third.parts).toEqual([])
  left.abort()
  live.close()
})

test('of a child run that has begun before anybody looks, the text is shown while it is written', async () => {
  const heard = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const look = Promise.withResolvers<void>()
  const poet = agent({
    name: 'poet',
    description: 'Writes verse.',
    model: async ({ emit }) => {
      begun.resolve()
      await look.promise
      emit?.({ type: 'text.delta', id: 't', text: 'Black wings' })
      await heard.promise
      return 'Black wings, old eyes.'
    },
  })
  const chief = supervisor({
    name: 'chief',
    description: 'Leads.',
    workers: [poet],
    delegation: { workers: { poet: { place: 'apart', limits: { turns: 3 } } } },
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : { calls: [{ name: 'delegate', input: { worker: 'poet', instructions: 'Ravens.' } }] },
  })
  await using runtime = await createRuntime({ agents: [chief] })
  const live = new LiveRuns(runtime)
  const left = new AbortController()
  const run = await runtime.start(chief, 'A verse.')
  await begun.promise
  const screen = await reads(live, run.id, left.signal)
  look.resolve()
  await expect
    .poll(() => screen.parts.map(({ agent: name, part }) => ({ name, part })))
    .toMatchObject([{ name: 'poet', part: { text: 'Black wings' } }])
  heard.resolve()
  await screen.until(isOver)
  left.abort()
  live.close()
})

test('of a long text the end is kept for readers to come, and its offset says what is missing', () => {
  const said = new SaidSoFar()
  const piece = (offset: number, text: string, attempt = 1): RunPart =>
    ({
      activation: rootActivation(runId('r')),
      address: 'turn/model',
      attempt,
      epoch: 1,
      offset,
      part: { type: 'text.delta', id: 't', text },
    }) as unknown as RunPart
  for (let i = 0; i < 400; i++) said.add(piece(i * 1_000, 'x'.repeat(1_000)))
  const [kept, ...more] = said.parts()
  const { text } = kept!.part as { readonly text: string }
  expect(more).toEqual([])
  expect(text.length).toBeLessThanOrEqual(256 * 1_024)
  expect(kept!.offset! + text.length).toBe(400_000)
  said.add(piece(0, 'again', 2))
  expect(said.parts().map(({ part }) => part)).toMatchObject([{ text: 'again' }])
  said.end(callKey(rootActivation(runId('r')), 'turn/model'))
  expect(said.parts()).toEqual([])
  // a piece that comes late begins nothing
  expect(said.add(piece(5, 'late', 2))).toBe(false)
  expect(said.parts()).toEqual([])
})
