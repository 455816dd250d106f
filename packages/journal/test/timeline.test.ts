/** The timeline: bars of agents, calls, questions and timers, in pages, from events alone (K1, K7). */
import { describe, expect, test } from 'vitest'
import { agent, createRuntime, parallel, supervisor, tool } from 'reeve'
import { childActivation, completed, failed, failure, rootActivation, runId, usageRow } from '@reeve/core'
import type { ActivationId } from '@reeve/core'
import {
  foldTimeline,
  newTimelineFold,
  spansAfter,
  type JournalEvent,
  type Recorded,
  type Span,
  type TimelineFold,
} from '../src/index.ts'

const run = runId('r1')
const root = rootActivation(run)
const worker = childActivation(root, 'd1/worker')
const apart = childActivation(root, 'd2/worker', true)

const journal = (...entries: readonly (readonly [ActivationId, JournalEvent])[]): Recorded[] =>
  entries.map(([activation, event], i) => ({ position: i + 1, run, activation, seq: 0, at: (i + 1) * 1000, event }))

function fold(events: Iterable<Recorded>, into = newTimelineFold()): TimelineFold {
  for (const recorded of events) {
    const change = into.index.take(recorded)
    if (change !== undefined) foldTimeline(into, recorded, change)
  }
  return into
}

const all = (timeline: TimelineFold): readonly Span[] => spansAfter(timeline, 0, Infinity).spans
const named = (timeline: TimelineFold, name: string): Span => all(timeline).find((each) => each.name === name)!

const started = (name: string): JournalEvent => ({ type: 'activation.started', agent: name, version: '1', input: null })
const called = (address: string, more: object = {}): JournalEvent => ({
  type: 'tool.called',
  op: 'step',
  address,
  effect: 'once',
  tool: address,
  ...more,
})
const settled = (address: string, more: object = {}): JournalEvent => ({
  type: 'step.settled',
  address,
  outcome: completed('ok'),
  ...more,
})
const usage = [usageRow('lead', 'm', { input: 10, output: 5, usd: 0.5 })]

describe('bars', () => {
  test('an effect: its attempts, its end, its usage; unknown usage stays unknown', () => {
    const attempt: JournalEvent = {
      type: 'step.attempt-failed',
      address: 'a',
      attempt: 1,
      failure: failure('tool.failed', 'no', 'unknown'),
      delayMs: 5,
    }
    const events = journal(
      [root, started('lead')],
      [root, called('a')],
      [root, attempt],
      [root, settled('a', { attempts: 2, usage })],
      [root, called('b')],
      [root, settled('b', { usage: [usageRow('lead', 'm', undefined)] })],
    )
    expect(named(fold(events.slice(0, 3)), 'a')).toMatchObject({ status: 'open', attempts: 2 })
    expect(named(fold(events), 'a')).toEqual({
      id: `${root} a`,
      activation: root,
      kind: 'tool',
      name: 'a',
      from: 2000,
      to: 4000,
      status: 'completed',
      attempts: 2,
      input: 10,
      output: 5,
      usd: 0.5,
    })
    expect(named(fold(events), 'b')).not.toHaveProperty('input')
  })

  test('an effect in doubt is in doubt until an operator has said what became of it', () => {
    const events = journal(
      [root, started('lead')],
      [root, called('pay')],
      [root, { type: 'effect.in-doubt', address: 'pay', id: 'int_1', round: 1 }],
      [root, { type: 'effect.cleared', address: 'pay' }],
    )
    expect(events.map((_, i) => all(fold(events.slice(0, i + 1))).find(({ kind }) => kind === 'tool')?.status)).toEqual(
      [undefined, 'open', 'in-doubt', 'open'],
    )
  })

  test('K7: what an agent had open ends with it', () => {
    const timeline = fold(
      journal(
        [root, started('lead')],
        [root, called('slow')],
        [root, { type: 'timer.set', op: 'ask', address: 'wait', until: 9 }],
        [root, { type: 'activation.settled', outcome: failed(failure('tool.failed', 'no', 'unknown')), usage }],
      ),
    )
    expect(all(timeline).map(({ name, to, status }) => [name, to, status])).toEqual([
      ['slow', 4000, 'cancelled'],
      ['wait', 4000, 'cancelled'],
      ['lead', 4000, 'failed'],
    ])
    expect(named(timeline, 'lead')).toMatchObject({ input: 10, output: 5, usd: 0.5 })
  })

  test('a worker placed apart has a bar from its leader, and its own once its events are there', () => {
    const begins: JournalEvent = {
      type: 'worker.started',
      op: 'worker',
      address: 'd2/worker',
      agent: 'far',
      apart: true,
    }
    const ends: JournalEvent = {
      type: 'worker.settled',
      address: 'd2/worker',
      outcome: completed(1),
      apart: true,
      usage,
    }
    const outline = fold(journal([root, started('lead')], [root, begins], [root, ends]))
    expect(named(outline, 'far')).toMatchObject({ id: apart, from: 2000, to: 3000, status: 'completed', usd: 0.5 })
    const whole = fold(
      journal(
        [root, started('lead')],
        [root, begins],
        [apart, started('far')],
        [apart, { type: 'activation.settled', outcome: completed(1) }],
        [root, ends],
      ),
    )
    expect(all(whole).filter(({ name }) => name === 'far')).toEqual([
      expect.objectContaining({ id: apart, from: 3000, to: 4000 }),
    ])
  })

  test('notices are no bars', () => {
    const notice = childActivation(root, 'n')
    const timeline = fold(
      journal(
        [root, started('lead')],
        [root, { type: 'worker.started', op: 'worker', address: 'n', agent: 'notice:mail', purpose: 'notice' }],
        [notice, started('notice:mail')],
        [notice, called('send')],
      ),
    )
    expect(all(timeline).map(({ name }) => name)).toEqual(['lead'])
  })
})

describe('pages', () => {
  const events = journal(
    [root, started('lead')],
    [worker, started('w')],
    ...Array.from({ length: 20 }, (_, i) => [worker, called(`t${i}`)] as const),
    ...Array.from({ length: 19 }, (_, i) => [worker, settled(`t${i}`)] as const),
    [worker, { type: 'activation.settled', outcome: completed(1) }],
    [root, { type: 'activation.settled', outcome: completed(1) }],
  )

  test.each([1, 2, 7, 100])('a reader of pages of %d, begun at any time, ends with every bar as it is', (limit) => {
    for (let begin = 0; begin <= events.length; begin++) {
      const timeline = fold(events.slice(0, begin))
      const seen = new Map<string, Span>()
      let position = 0
      const read = (): void => {
        for (;;) {
          const page = spansAfter(timeline, position, limit)
          for (const each of page.spans) seen.set(each.id, each)
          position = page.position
          if (!page.more) return
        }
      }
      read()
      fold(events.slice(begin), timeline)
      read()
      expect([...seen.values()].toSorted(byId)).toEqual([...all(timeline)].toSorted(byId))
    }
  })

  test('a page has at most `limit` bars, but for those that one event has ended', () => {
    const timeline = fold(events)
    expect(spansAfter(timeline, 0, 4).spans).toHaveLength(4)
    expect(spansAfter(timeline, events.length, 4)).toEqual({ position: events.length, spans: [], more: false })
  })
})

const byId = (a: Span, b: Span): number => (a.id < b.id ? -1 : 1)

test('a real run: parallel branches, a retried tool, an approval; the fold of its events in two halves is the same', async () => {
  let fails = 1
  const flaky = tool({
    name: 'flaky',
    description: 'Fails once.',
    effect: 'read',
    retry: { attempts: 2, backoffMs: 1 },
    execute: () => {
      if (fails-- > 0) throw new Error('not yet')
      return 1
    },
  })
  const pay = tool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const calling = (name: string) =>
    agent({
      name: `with-${name}`,
      description: name,
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'done' : { calls: [{ name, input: {} }] },
      tools: [name === 'pay' ? pay : flaky],
    })
  const both = parallel({ name: 'both', description: 'Does both.', agents: [calling('pay'), calling('flaky')] })
  const lead = supervisor({
    name: 'lead',
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'done'
        : { calls: [{ name: 'delegate', input: { worker: 'both', instructions: 'go' } }] },
    workers: [both],
  })
  await using runtime = await createRuntime({ agents: [lead] })
  const handle = await runtime.start(lead, 'go')
  const { waiting } = (await handle.until('waiting')) as Awaited<ReturnType<typeof handle.until>> & {
    waiting: readonly { readonly id: string }[]
  }
  await runtime.decide({ approvalId: waiting[0]!.id, decision: 'approve' })
  await handle.outcome()
  const events: Recorded[] = []
  for await (const each of handle.events()) events.push(each)
  const timeline = fold(events)
  const halves = fold(events.slice(50), fold(events.slice(0, 50)))
  expect(all(halves)).toEqual(all(timeline))
  const kinds = all(timeline).map(({ kind, name }) => `${kind} ${name}`)
  expect(kinds).toEqual(
    expect.arrayContaining(['agent lead', 'agent both', 'agent with-pay', 'tool pay', 'tool flaky', 'approval pay']),
  )
  expect(named(timeline, 'flaky')).toMatchObject({ status: 'completed', attempts: 2 })
  expect(all(timeline).every(({ from, to, status }) => to !== undefined && to >= from && status !== 'open')).toBe(true)
})
