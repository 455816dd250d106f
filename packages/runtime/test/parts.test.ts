/** One reader's live parts: merged when it is slow, in bounded bytes (K9). */
import { describe, expect, test, vi } from 'vitest'
import { agent } from '@reeve/agent'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { interrupt } from '@reeve/oversight'
import { createRuntime, type RunPart } from '../src/index.ts'
import { supervisor } from '@reeve/supervisor'
import { stopwatch, type ActivationId, type Json } from '@reeve/core'
import { mergeParts, partBytes, type LivePart } from '@reeve/engine'
import { droppedPart, LiveQueue } from '../src/feed/live-parts.ts'

const activation = 'act_r' as ActivationId
const text = (t: string, more: Partial<LivePart> = {}): LivePart => ({
  activation,
  address: 'turn/model',
  epoch: 1,
  attempt: 1,
  part: { type: 'text.delta', id: '0', text: t },
  ...more,
})
const queueOf = (bound = 10_000): LiveQueue<LivePart> =>
  new LiveQueue<LivePart>({
    bound,
    bytes: partBytes,
    merge: mergeParts,
    dropped: (count) => droppedPart(activation, count),
  })

async function drain(queue: LiveQueue<LivePart>): Promise<Json[]> {
  const parts: Json[] = []
  for (let result = await queue.take(); result.done !== true; result = await queue.take()) parts.push(result.value.part)
  return parts
}

describe('the queue of a reader', () => {
  test('gives a waiting reader each part at once', async () => {
    const queue = queueOf()
    const first = queue.take()
    queue.push(text('a'))
    expect((await first).value?.part).toEqual({ type: 'text.delta', id: '0', text: 'a' })
  })

  test('merges adjacent deltas of one block while the reader is away', async () => {
    const queue = queueOf()
    for (const t of ['a', 'b', 'c']) queue.push(text(t))
    queue.push(text('x', { attempt: 2 }))
    queue.push({ ...text(''), part: { type: 'tool.started', tool: 't' } })
    queue.push(text('y'))
    queue.push({ ...text(''), part: { type: 'text.delta', id: '1', text: 'z' } })
    queue.end()
    expect((await drain(queue)).map((part) => (part as { text?: string }).text)).toEqual([
      'abc',
      'x',
      undefined,
      'y',
      'z',
    ])
  })

  test('keeps a delta apart that does not follow the one before it: one was missed, or the attempt begins again', () => {
    const said = (offset: number | undefined, t: string): LivePart => text(t, offset === undefined ? {} : { offset })
    expect(mergeParts(said(0, 'ab'), said(2, 'c'))).toEqual(said(0, 'abc'))
    expect(mergeParts(said(undefined, 'ab'), said(undefined, 'c'))).toEqual(said(undefined, 'abc'))
    for (const offset of [0, 3]) expect(mergeParts(said(0, 'ab'), said(offset, 'c'))).toBeUndefined()
  })

  test('keeps its bytes below the bound and says how many parts it left out', async () => {
    const queue = queueOf(4_000)
    for (let i = 0; i < 1_000; i++) queue.push({ ...text(''), part: { type: 'progress', i } })
    expect(queue.bytes).toBeLessThanOrEqual(4_000)
    queue.end()
    const parts = await drain(queue)
    const [notice, ...kept] = parts as { type: string; count?: number; i?: number }[]
    expect(notice?.type).toBe('parts.dropped')
    expect((notice?.count ?? 0) + kept.length).toBe(1_000)
    expect(kept.at(-1)?.i).toBe(999)
  })

  test('loses no text to merging', async () => {
    const queue = queueOf(10_000_000)
    for (let i = 0; i < 100_000; i++) queue.push(text('ab'))
    queue.end()
    const all = (await drain(queue)).map((part) => (part as { text: string }).text).join('')
    expect(all.length).toBe(200_000)
  })

  test('ends readers who wait, with the failure if there is one', async () => {
    const good = queueOf()
    const waiting = good.take()
    good.end()
    expect(await waiting).toEqual({ value: undefined, done: true })
    const bad = queueOf()
    bad.push(text('a'))
    bad.end(new Error('store gone'))
    expect((await bad.take()).done).toBe(false)
    await expect(bad.take()).rejects.toThrow('store gone')
    expect((await bad.take()).done).toBe(true)
  })

  test('a writer that can wait is let in when there is room', async () => {
    const queue = queueOf(1_000)
    for (let i = 0; i < 8; i++) queue.push({ ...text(''), part: { type: 'p', i } })
    let isIn = false
    const room = queue.room().then(() => (isIn = true))
    expect(isIn).toBe(false)
    for (let i = 0; i < 6; i++) await queue.take()
    await room
    expect(isIn).toBe(true)
  })

  test('takes in and gives out a million deltas a second', async () => {
    const count = 300_000
    const queue = queueOf(1024 * 1024)
    let read = 0
    const reading = (async () => {
      for (let result = await queue.take(); result.done !== true; result = await queue.take())
        read += (result.value.part as { text: string }).text.length
    })()
    const begun = stopwatch()
    for (let i = 0; i < count; i++) {
      queue.push(text('x'))
      if (i % 64 === 0) await Promise.resolve()
    }
    queue.end()
    await reading
    const perSecond = count / ((stopwatch() - begun) / 1000)
    expect(read).toBe(count)
    expect(perSecond).toBeGreaterThan(300_000)
  })
})

describe('whose a part is', () => {
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    model({ emit }) {
      for (const piece of ['Hel', 'lo']) emit?.({ type: 'text.delta', id: '0', text: piece })
      return 'Hello'
    },
  })
  const leader = supervisor({
    name: 'lead',
    workers: [writer],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'done'
        : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'go' } }] },
  })

  test.each([
    ['without a filter the process that shows it says so, and no journal is read', {}, 0],
    ['with a filter the journal is read once for each activation that is new', { agent: 'writer' }, 1],
  ])('K9: %s', async (_, options, atLeast) => {
    const engine = createEmbeddedEngine({ file: ':memory:' })
    await using runtime = await createRuntime({ engine, agents: [leader] })
    const read = vi.spyOn(engine, 'read')
    const run = await runtime.start(leader, 'go', { runId: 'r1' })
    const whose = new Set<string>()
    for await (const { agent: name, path } of run.parts(options)) whose.add(`${name} ${path.join('/')}`)
    expect(whose).toContain('writer lead/writer')
    expect(read.mock.calls.length > 0 ? 1 : 0).toBe(atLeast)
  })

  test.each([{}, { agent: 'writer' }, { path: ['lead', 'writer'] }, { origin: false }])(
    'K9: a callback hears what a reader reads, in the same order: %j',
    async (options) => {
      await using runtime = await createRuntime({ agents: [leader] })
      const run = await runtime.start(leader, 'go')
      const heard: string[] = []
      const read: string[] = []
      const line = (part: RunPart): string => `${part.agent} ${part.path.join('/')}`
      const textIn = ({ part }: RunPart): string => ('text' in part && typeof part.text === 'string' ? part.text : '')
      let [heardText, readText] = ['', '']
      const hearing = run.onPart((part) => {
        if (heard.at(-1) !== line(part)) heard.push(line(part))
        heardText += textIn(part)
      }, options)
      for await (const part of run.parts(options)) {
        if (read.at(-1) !== line(part)) read.push(line(part))
        readText += textIn(part)
      }
      await hearing
      expect(heardText).toContain('Hello')
      expect([heard, heardText]).toEqual([read, readText])
    },
  )

  test('K9: a callback is called before the agent goes on, and no journal is read for it', async () => {
    const said: string[] = []
    let speak = (): void => {}
    const isHeard = new Promise<void>((resolve) => (speak = resolve))
    const speaker = agent({
      name: 'speaker',
      async model({ emit }) {
        await isHeard
        for (const piece of ['a', 'b', 'c']) {
          emit?.({ type: 'text.delta', id: '0', text: piece })
          said.push(`said ${piece}`)
        }
        return 'abc'
      },
    })
    const engine = createEmbeddedEngine({ file: ':memory:' })
    await using runtime = await createRuntime({ engine, agents: [speaker] })
    const read = vi.spyOn(engine, 'read')
    const run = await runtime.start(speaker, 'go')
    const hearing = run.onPart(({ part }) => {
      if ('text' in part) said.push(`heard ${String(part.text)}`)
    })
    speak()
    await hearing
    expect(said.slice(0, 6)).toEqual(['heard a', 'said a', 'heard b', 'said b', 'heard c', 'said c'])
    expect(read).not.toHaveBeenCalled()
  })

  test('K9: what a callback throws ends the hearing, not the run', async () => {
    await using runtime = await createRuntime({ agents: [leader] })
    const run = await runtime.start(leader, 'go')
    let calls = 0
    const hearing = run.onPart(() => {
      calls++
      throw new RangeError('no more')
    })
    await expect(hearing).rejects.toThrow('no more')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(calls).toBe(1)
  })

  test('K9: an async callback that fails ends the hearing, and is not left alone with its error', async () => {
    await using runtime = await createRuntime({ agents: [leader] })
    const run = await runtime.start(leader, 'go')
    const fails = (() => Promise.reject(new RangeError('no more'))) as () => void
    await expect(run.onPart(fails)).rejects.toThrow('no more')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  })

  test('a callback hears nothing after its signal, and an unknown run is said', async () => {
    const asker = agent({
      name: 'asker',
      run: (ctx) => interrupt(ctx, 'on?'),
    })
    await using runtime = await createRuntime({ agents: [asker] })
    const run = await runtime.start(asker, 'go')
    await run.until('waiting')
    const left = new AbortController()
    const hearing = run.onPart(() => {}, { signal: left.signal })
    left.abort()
    await hearing
    await expect(runtime.handle('nowhere').onPart(() => {})).rejects.toThrow(/nowhere/)
  })

  test('K9: what a filter has to ask the journal about waits in line, and nothing overtakes it', async () => {
    const engine = createEmbeddedEngine({ file: ':memory:' })
    await using runtime = await createRuntime({ engine, agents: [leader] })
    let [reads, letIn] = [0, (): void => {}]
    const opened = new Promise<void>((resolve) => (letIn = resolve))
    const plain = engine.read.bind(engine)
    vi.spyOn(engine, 'read').mockImplementation(async (...asked) => {
      if (reads++ === 0) await opened
      return plain(...asked)
    })
    const run = await runtime.start(leader, 'go')
    let text = ''
    const hearing = run.onPart(
      ({ part }) => {
        if ('text' in part && typeof part.text === 'string') text += part.text
      },
      { agent: 'writer' },
    )
    await run.outcome()
    expect(text).toBe('')
    letIn()
    await hearing
    expect(text).toBe('Hello')
  })
})
