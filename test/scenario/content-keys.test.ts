/**
 * Content keys: the same call, brief or question has the same key in every run; whatever it depends on changes it
 * (decision 0010).
 */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { agent, tool, type Tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { contentKeys, sameContent, type Recorded } from '@reeve/journal'
import type { Run, Runtime, StartOptions } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { adversarialEngine } from '../../packages/contract/src/index.ts'
import { runtimeUnderTest } from '../engine-under-test.ts'
import { calls, delegates, fastClock, runtimeOf, store, waiting } from './team.ts'

const hasResult = (messages: readonly { readonly role: string }[]): boolean =>
  messages.some(({ role }) => role === 'tool')

interface Crew {
  readonly order?: Json
  readonly brief?: string
  readonly pay?: Tool
  readonly temperature?: number
  readonly workerVersion?: string
  readonly instructions?: string
}

const payTool = (version = '1'): Tool =>
  tool({
    name: 'pay',
    version,
    effect: 'once',
    input: { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } } },
    sensitive: true,
    execute: () => 'paid',
  })

/** A leader gives a worker a brief, the worker pays, which a human approves; then it asks a human by code. */
function crew({
  order = { amount: 10, to: 'ann' },
  brief = 'Pay ann.',
  pay = payTool(),
  temperature = 0.5,
  workerVersion,
  instructions = 'Lead.',
}: Crew = {}) {
  const clerk = agent({
    name: 'clerk',
    description: 'pays',
    ...(workerVersion === undefined ? {} : { version: workerVersion }),
    tools: [pay],
    model: ({ messages }) => (hasResult(messages) ? 'paid' : calls(['pay', order])),
  })
  const teller = agent({
    name: 'teller',
    description: 'asks',
    run: async (ctx) => ctx.interrupt({ question: 'Is it right?' }),
  })
  return supervisor({
    name: 'boss',
    instructions,
    workers: [clerk, teller],
    settings: { temperature },
    model: ({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length
      return [delegates(['clerk', brief]), delegates(['teller', 'Ask.'])][results] ?? 'done'
    },
  })
}

/** Plays it to its end: every approval is given, every question answered. */
async function play(
  runtime: Runtime,
  root: ReturnType<typeof crew>,
  options?: StartOptions,
): Promise<readonly Recorded[]> {
  const run = await runtime.start(root, 'Go', options)
  await attended(run)
  return recordedOf(run)
}

async function attended(run: Run): Promise<void> {
  for (;;) {
    const state = await run.until('waiting')
    if (!('waiting' in state)) {
      if (state.status !== 'completed') throw new Error(JSON.stringify(state))
      return
    }
    for (const { id, kind } of state.questions)
      if (kind === 'approval') await run.decide({ approvalId: id, decision: 'approve', approver: 'eve' })
      else await run.answer({ interruptId: id, value: 'yes' })
  }
}

async function recordedOf(run: Run): Promise<readonly Recorded[]> {
  const list: Recorded[] = []
  for await (const recorded of run.events()) list.push(recorded)
  return list
}

const keyed = new Set(['model.requested', 'tool.called', 'worker.started', 'interrupt.raised', 'approval.requested'])

/** The keys of a run by type and place, without the run's own id. */
function keysOf(events: readonly Recorded[]): Record<string, string | undefined> {
  const keys = contentKeys(events)
  return Object.fromEntries(
    events.flatMap(({ position, activation, run, event }) =>
      keyed.has(event.type) && 'address' in event && !('purpose' in event)
        ? [[`${event.type} ${activation.replace(run, '')}>${event.address}`, keys.get(position)]]
        : [],
    ),
  )
}

/** Of which kinds the keys of two runs differ. */
function differing(
  one: Record<string, string | undefined>,
  other: Record<string, string | undefined>,
): readonly string[] {
  expect(Object.keys(one)).toEqual(Object.keys(other))
  return [...new Set(Object.keys(one).filter((place) => sameContent(one[place], other[place]) !== true))].map((place) =>
    place.replace(/^(\S+) act_>?/, '$1 '),
  )
}

const kindsOf = (places: readonly string[]): readonly string[] =>
  [...new Set(places.map((place) => place.split(' ')[0]!))].sort()

describe('content keys', () => {
  test('every model call, tool call, worker and question has one; equal work has equal ones in any run or engine', async () => {
    const runtime = await runtimeOf([crew()])
    const one = await play(runtime, crew())
    const keys = keysOf(one)
    expect(kindsOf(Object.keys(keys))).toEqual([...keyed].sort())
    for (const key of Object.values(keys)) expect(key).toMatch(/^sha256-1:[\w-]{43}$/)
    // as it is stored, and not derived
    expect(one.filter(({ event }) => keyed.has(event.type) && !('contentKey' in event))).toEqual([])
    expect(keysOf(await play(runtime, crew()))).toEqual(keys)
    const engine = adversarialEngine({ seed: 'keys', strict: true, clock: fastClock() })
    await using elsewhere = await runtimeUnderTest({ agents: [crew()], engine })
    expect(keysOf(await play(elsewhere, crew()))).toEqual(keys)
  })

  test('what an operation depends on changes its key, and that of nothing else', async () => {
    const keys = async (given: Crew = {}, options?: StartOptions) => {
      const root = crew(given)
      return keysOf(await play(await runtimeOf([root]), root, options))
    }
    const plain = await keys()
    expect(differing(plain, await keys({ order: { to: 'ann', amount: 10 } }))).toEqual([])
    // the worker's first call and its start know nothing of what it will call
    const other = differing(plain, await keys({ order: { amount: 11, to: 'ann' } }))
    expect(kindsOf(other)).toEqual(['approval.requested', 'model.requested', 'tool.called'])
    expect(other.filter((place) => place.startsWith('model.requested'))).toHaveLength(1)
    const version = differing(plain, await keys({ pay: payTool('2') }))
    expect(kindsOf(version)).toEqual(['approval.requested', 'tool.called', 'worker.started'])
    const newer = differing(plain, await keys({ workerVersion: 'new' }))
    expect(kindsOf(newer)).toEqual(['worker.started'])
    const warmer = differing(plain, await keys({ temperature: 1 }))
    expect(kindsOf(warmer)).toEqual(['model.requested'])
    expect(warmer).toHaveLength(3)
    const asked = differing(plain, await keys({ brief: 'Pay bob.' }))
    expect(kindsOf(asked)).toEqual(['approval.requested', 'model.requested', 'worker.started'])
    expect(differing(plain, await keys({}, { user: 'bob' })).map((place) => place.split(' ')[0])).toEqual([
      'tool.called',
    ])
    expect(kindsOf(differing(plain, await keys({}, { limits: { turns: 17 } })))).toEqual(['worker.started'])
  })

  test('a run that goes on in another process keeps the keys that it has', async () => {
    const root = crew()
    const first = await runtimeOf([root], { store: store() })
    const begun = await first.start(root, 'Go')
    await waiting(begun)
    await first.close()
    const second = await runtimeOf([root], { store: store() })
    const run = second.handle(begun.id)
    await attended(run)
    expect(keysOf(await recordedOf(run))).toEqual(keysOf(await play(second, root)))
  })
})

describe('where redaction is on', () => {
  const secret = 'a secret of the deployment, 32 characters or more'
  const redact = { values: ['4711-0815'] }
  const pin = { amount: 10, to: '4711-0815' }

  test('keys hide what was said: their secret is not in the store', async () => {
    const root = crew({ order: pin })
    const runtime = await runtimeOf([root], { redact })
    const events = await play(runtime, root)
    const keys = Object.values(keysOf(events))
    for (const key of keys) expect(key).toMatch(/^hmac-1-[\w-]{6}:[\w-]{43}$/)
    // what a plain key of that call would be
    const plain = keysOf(await play(await runtimeOf([root]), root))
    const text = JSON.stringify(events)
    for (const key of Object.values(plain)) expect(text).not.toContain(key!.split(':')[1])
    expect(text).not.toContain(createHash('sha256').update('4711-0815').digest('hex'))
    // nor is there any other digest of what the model was shown
    expect(
      events.filter(({ event }) => 'prompt' in event || ('inputHash' in event && event.type !== 'approval.requested')),
    ).toEqual([])
  })

  test('keys compare under one secret, and say nothing under two', async () => {
    const root = crew({ order: pin })
    const keys = async (more: object) =>
      keysOf(await play(await runtimeOf([root], { redact: { ...redact, ...more } }), root))
    const one = await keys({ secret })
    expect(await keys({ secret })).toEqual(one)
    const other = await keys({ secret: `${secret}, and another` })
    for (const [place, key] of Object.entries(one)) expect(sameContent(key, other[place]), place).toBeUndefined()
    // what is taken out of the journal still makes a difference
    const with4711 = crew({ order: pin, instructions: 'The PIN is 4711-0815.' })
    const with4712 = crew({ order: pin, instructions: 'The PIN is 4712-0815.' })
    const [a, b] = await Promise.all(
      [with4711, with4712].map(async (leader) =>
        keysOf(
          await play(await runtimeOf([leader], { redact: { values: ['4711-0815', '4712-0815'], secret } }), leader),
        ),
      ),
    )
    expect(kindsOf(differing(a!, b!))).toEqual(['model.requested'])
    // without a secret a process has one of its own
    const own = await keys({})
    expect(await keys({})).toEqual(own)
    for (const [place, key] of Object.entries(one)) expect(sameContent(key, own[place]), place).toBeUndefined()
  })
})
