/** One reader's live parts: merged when it is slow, in bounded bytes (K9). */
import { describe, expect, test, vi } from 'vitest'
import { agent } from '../../src/agent/index.ts'
import { createEmbeddedEngine } from '../../src/engine/embedded/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { supervisor } from '../../src/supervisor/index.ts'
import { stopwatch, type ActivationId, type Json } from '../../src/core/index.ts'
import { mergeParts, partBytes, type LivePart } from '../../src/engine/index.ts'
import { droppedPart, LiveQueue } from '../../src/runtime/feed/live-parts.ts'

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
})
