/** Readers that begin in the middle of a call: the text so far, then the rest, each piece once (K9). */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agent, type Agent } from '@reeve/agent'
import type { Run, RunPart, Runtime } from '../src/index.ts'
import { supervisor } from '@reeve/supervisor'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'
import { lineOf, model, partsOf, stop, text, textOf, thought, type Piece, type Stop } from './speech.ts'

let folder = ''
const open: Runtime[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-so-far-'))
})
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
  await rm(folder, { recursive: true, force: true })
})

const poet = (script: readonly (Piece | Stop)[], answer: string): Agent =>
  agent({ name: 'poet', description: 'Writes verse.', model: model(script, answer) })

async function begun(root: Agent, store?: string): Promise<Run> {
  const runtime = await runtimeUnderTest({ agents: [root], ...(store === undefined ? {} : { store }) })
  open.push(runtime)
  return (await runtime.start(root, 'go')) as Run
}

describe('text() in the middle of a call', () => {
  test('start, then text() at once: what is said comes while it is written', async () => {
    const [one, two] = [stop(), stop()]
    const run = await begun(poet([text('one '), one, text('two '), two, text('three')], 'one two three'))
    await one.reached
    const reader = run.text()
    expect(await reader.next()).toEqual({ value: 'one ', done: false })
    one.goOn()
    expect(await reader.next()).toEqual({ value: 'two ', done: false })
    two.goOn()
    let rest = ''
    for await (const piece of reader) rest += piece
    expect(rest).toBe('three')
  })

  test('a late reader beside an early one has what was said, then the same pieces', async () => {
    const [first, middle, last] = [stop(), stop(), stop()]
    const run = await begun(
      poet([first, text('one '), text('two '), middle, text('three '), last, text('four')], 'one two three four'),
    )
    await first.reached
    const early = run.text()
    first.goOn()
    await middle.reached
    const late = run.text()
    expect([(await early.next()).value, (await late.next()).value].map((each) => each?.slice(0, 4))).toEqual([
      'one ',
      'one ',
    ])
    const laters = textOf(run)
    middle.goOn()
    await last.reached
    const atLast = run.text()
    expect(await atLast.next()).toEqual({ value: 'one two three ', done: false })
    last.goOn()
    expect(await laters).toBe('one two three four')
    expect(await atLast.next()).toEqual({ value: 'four', done: false })
    expect(await atLast.next()).toEqual({ value: undefined, done: true })
    for (const reader of [early, late]) for await (const _ of reader) void _
    expect(await textOf(run)).toBe('one two three four')
  })

  test('a call that failed and is tried again: nothing of the failed attempt', async () => {
    const [failing, again, middle] = [stop(), stop(), stop()]
    let asked = 0
    const root = agent({
      name: 'poet',
      retry: { attempts: 2, backoffMs: 150 },
      model: async (request) => {
        if (asked++ > 0) return model([again, text('good '), middle, text('end')], 'good end')(request)
        request.emit?.({ ...text('bad ') })
        await failing.pass()
        throw new Error('busy')
      },
    })
    const run = await begun(root)
    await failing.reached
    expect((await run.text().next()).value).toBe('bad ')
    failing.goOn()
    for await (const { event } of run.events()) if (event.type === 'step.attempt-failed') break
    // it waits for its next attempt
    const between = [partsOf(run), textOf(run)] as const
    await again.reached
    again.goOn()
    await middle.reached
    const late = [partsOf(run), textOf(run)] as const
    middle.goOn()
    for (const [parts, all] of [await Promise.all(between), await Promise.all(late)]) {
      expect(all).toBe('good end')
      // a reader that is busy has adjacent deltas joined
      expect(['2 text.delta 0 0 "good ",2 text.delta 0 5 "end"', '2 text.delta 0 0 "good end"']).toContain(
        String(parts),
      )
    }
  })

  test('the text of a worker, read late from a store in a file', async () => {
    const middle = stop()
    const root = supervisor({
      name: 'editor',
      workers: [poet([text('Ravens '), text('remember '), middle, text('faces.')], 'Ravens remember faces.')],
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'done'
          : { calls: [{ name: 'delegate', input: { worker: 'poet', instructions: 'A verse' } }] },
    })
    const run = await begun(root, join(folder, 'late.db'))
    await middle.reached
    const [byAgent, byPath, leaders] = [
      run.text({ agent: 'poet' }),
      run.text({ path: ['editor', 'poet'] }),
      textOf(run),
    ]
    for (const each of [byAgent, byPath]) expect(await each.next()).toEqual({ value: 'Ravens remember ', done: false })
    middle.goOn()
    for (const each of [byAgent, byPath]) {
      expect(await each.next()).toEqual({ value: 'faces.', done: false })
      expect((await each.next()).done).toBe(true)
    }
    expect(await leaders).toBe('done')
  })

  test('a text that is too long to be kept comes whole once it is recorded', async () => {
    const middle = stop()
    const long = 'abcdefgh'.repeat(64 * 1024)
    const pieces = Array.from({ length: 64 }, (_, i) => text(long.slice(i * 8192, (i + 1) * 8192)))
    const run = await begun(poet([...pieces, middle, text('end')], `${long}end`))
    await middle.reached
    const [late, parts] = [textOf(run), partsOf(run)]
    middle.goOn()
    expect((await late) === `${long}end`).toBe(true)
    expect(await parts).toEqual([`1 text.delta 0 ${long.length} "end"`])
  })
})

describe('parts in the middle of a call', () => {
  const script = (middle: Stop): (Piece | Stop)[] => [
    thought('hm'),
    thought('m, '),
    text('a', 'x'),
    text('b', 'x'),
    text('cd', 'y'),
    thought('so'),
    text('e', 'x'),
    middle,
    text('f', 'x'),
    thought(' be it'),
  ]
  const want = [
    '1 reasoning.delta r 0 "hmm, "',
    '1 text.delta x 0 "ab"',
    '1 text.delta y 2 "cd"',
    '1 reasoning.delta r 5 "so"',
    '1 text.delta x 4 "e"',
    '1 text.delta x 5 "f"',
    '1 reasoning.delta r 7 " be it"',
  ]

  test('blocks, thoughts and their offsets, to an iterator, a callback, a feed and a text', async () => {
    const middle = stop()
    const run = await begun(poet(script(middle), 'abcdef'))
    await middle.reached
    const parts: string[] = []
    const reading = (async () => {
      for await (const part of run.parts()) parts.push(...lineOf(part))
    })()
    const heard: string[] = []
    let isCalled = false
    const hearing = run.onPart((part) => {
      isCalled = true
      heard.push(...lineOf(part))
    })
    // as any callback, it is not called before `onPart` has returned
    expect(isCalled).toBe(false)
    const fed: string[] = []
    let began = false
    const feeding = (async () => {
      for await (const item of run.feed()) {
        if (item.type === 'event') began ||= item.event.event.type === 'model.requested'
        else fed.push(...lineOf(item.part).map((line) => (began ? line : `early ${line}`)))
      }
    })()
    const all = textOf(run)
    await expect.poll(() => [parts.length, heard.length, fed.length]).toEqual([5, 5, 5])
    middle.goOn()
    await Promise.all([reading, hearing, feeding])
    expect(parts).toEqual(want)
    expect(heard).toEqual(want)
    expect(fed).toEqual(want)
    expect(await all).toBe('abcdef')
  })

  test('a feed that goes on from an event is not told again what it may have had', async () => {
    const middle = stop()
    const run = await begun(poet(script(middle), 'abcdef'))
    await middle.reached
    const from = (await run.journal()).at(-1)!.position
    const fed: string[] = []
    const feeding = (async () => {
      for await (const item of run.feed({ from })) if (item.type === 'part') fed.push(...lineOf(item.part))
    })()
    middle.goOn()
    await feeding
    expect(fed).toEqual(want.slice(5))
  })

  test('a reader that begins while a piece is heard has each piece once', async () => {
    const [first, last] = [stop(), stop()]
    const run = await begun(poet([first, text('a'), text('b'), text('c'), last, text('d')], 'abcd'))
    await first.reached
    let [begunIn, heardIn] = ['', '']
    const inner: Promise<void>[] = []
    const outer = run.onPart(({ part }) => {
      if (part.type !== 'text.delta') return
      begunIn += part.text
      if (part.text !== 'b') return
      const hear = (each: RunPart): void => {
        if (each.part.type === 'text.delta') heardIn += each.part.text
      }
      inner.push(run.onPart(hear))
    })
    first.goOn()
    await last.reached
    last.goOn()
    await outer
    await Promise.all(inner)
    expect([begunIn, heardIn]).toEqual(['abcd', 'abcd'])
  })
})
