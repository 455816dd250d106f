/**
 * Live parts of a run that another process drives, on PostgreSQL: what a web server reads while a worker runs (K9). The
 * contracts of stores and engines say what each of both promises.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { HostEngine } from '@reeve/engine/host'
import { PostgresStore } from '../src/index.ts'
import { agent, createRuntime, type Runtime } from '@reeve/public'
import { AdversarialStore } from '../../contract/src/adversarial/store.ts'
import { badWeather } from '../../contract/src/index.ts'
import { freshPostgres, type FreshPostgres } from '../../../test/servers/postgres.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const addressOf = ({ server, schema }: FreshPostgres): string => `${server}?schema=${schema}`
async function fresh(): Promise<FreshPostgres> {
  const place = await freshPostgres()
  undo.push(place.dispose)
  return place
}
async function open(...given: Parameters<typeof createRuntime>): Promise<Runtime> {
  const runtime = await createRuntime(...given)
  undo.push(() => runtime.close())
  return runtime
}

const words = Array.from({ length: 40 }, (_, i) => `word ${i} `)
const whole = words.join('')
/** An agent whose model says one word after the other. It knocks until somebody hears it. */
function talker(isHeard: () => boolean = () => true) {
  return agent({
    name: 'talker',
    description: 'Talks.',
    model: async ({ emit }) => {
      while (!isHeard()) {
        emit?.({ type: 'knock' } as never)
        await sleep(5)
      }
      for (const text of words) {
        emit?.({ type: 'text.delta', id: '0', text })
        await sleep(4)
      }
      return whole
    },
  })
}

test('text() and parts() of a run that another process drives grow while its model talks', async () => {
  const store = addressOf(await fresh())
  let isHeard = false
  const root = talker(() => isHeard)
  await open({ store, agents: [root] })
  const server = await open({ store, agents: [root], drive: false })
  const run = await server.start(root, 'go')
  const [pieces, shown]: [string[], string[]] = [[], []]
  const reading = (async () => {
    for await (const text of run.text()) pieces.push(text)
  })()
  const seeing = (async () => {
    for await (const { part, agent: who, path } of run.parts()) {
      expect([who, path]).toEqual(['talker', ['talker']])
      isHeard = true
      if (part.type === 'text.delta') shown.push(part.text)
    }
  })()
  expect(await run.outcome()).toMatchObject({ output: whole })
  await Promise.all([reading, seeing])
  expect([pieces.join(''), shown.join('')]).toEqual([whole, whole])
  expect(pieces.length).toBeGreaterThan(3)
})

test('where live parts are lost and come twice, text() is the same text', async () => {
  const place = await fresh()
  const root = talker()
  await open({ store: addressOf(place), agents: [root] })
  const happened = new Map<string, number>()
  for (let seed = 1; seed <= 4; seed++) {
    const below = new PostgresStore({ postgres: place.server, schema: place.schema, poolSize: 2 })
    const weather = {
      ...badWeather,
      failing: { commit: 0, claim: 0, lease: 0, read: 0 },
      lost: 0.15,
      doubled: 0.3,
      outrun: 0,
      stale: 0,
    }
    const store = new AdversarialStore(below, { seed: `${seed}`, weather })
    const reader = await createRuntime({
      engine: new HostEngine(store, {}),
      agents: [root],
      drive: false,
    })
    const run = await reader.start(root, 'go')
    let text = ''
    for await (const piece of run.text()) text += piece
    expect(text).toBe(whole)
    for (const [kind, times] of store.happened) happened.set(kind, (happened.get(kind) ?? 0) + times)
    await reader.close()
    await below.stop()
    await below.close()
  }
  for (const kind of ['lost parts', 'doubled parts', 'late parts']) expect(happened.get(kind), kind).toBeGreaterThan(0)
})

test('redacted text is redacted for other processes too, and a late reader has the same text (K10)', async () => {
  const store = addressOf(await fresh())
  const { promise: begun, resolve: hasBegun } = Promise.withResolvers<void>()
  const parts: string[] = []
  const root = agent({
    name: 'root',
    description: 'Talks.',
    model: async ({ emit }) => {
      const say = (text: string): void => emit?.({ type: 'text.delta', id: '0', text })
      say('one, ')
      hasBegun()
      while (parts.length === 0) {
        emit?.({ type: 'knock' } as never)
        await sleep(5)
      }
      for (const text of ['two, ', 'hunter2, ', 'three']) say(text)
      return 'one, two, hunter2, three'
    },
  })
  const redact = { values: ['hunter2'] }
  await open({ store, agents: [root], redact })
  const server = await open({ store, agents: [root], redact, drive: false })
  const run = await server.start(root, 'go')
  await begun
  const seeing = (async () => {
    for await (const part of run.parts()) parts.push(JSON.stringify(part))
  })()
  let text = ''
  const reading = (async () => {
    for await (const piece of run.text()) text += piece
  })()
  await run.outcome()
  await Promise.all([seeing, reading])
  expect(text).toBe('one, two, [redacted], three')
  expect(parts.join('')).toContain('three')
  expect(parts.join('')).not.toContain('hunter2')
})

test('parts are not sent for a run without listeners, and soon stop after the last one left', async () => {
  const place = await fresh()
  const heard: string[] = []
  // hears what is told to everybody: who listens to what
  const ear = new pg.Client({ connectionString: place.server })
  await ear.connect()
  undo.push(() => ear.end())
  ear.on('notification', ({ channel, payload }) => heard.push(`${channel === place.schema ? '' : 'parts '}${payload}`))
  await ear.query(`LISTEN "${place.schema}"`)
  let show: (part: unknown) => void = () => undefined
  const { promise, resolve } = Promise.withResolvers<string>()
  const root = agent({
    name: 'root',
    description: 'Talks.',
    model: ({ emit }) => {
      show = (part) => emit?.(part as never)
      return promise
    },
  })
  const worker = await open({ store: addressOf(place), agents: [root] })
  const server = await open({ store: addressOf(place), agents: [root], drive: false })
  const run = await worker.start(root, 'go')
  // the worker's own readers are told at once, and nobody else
  const own = worker.handle(run.id).parts()
  await expect.poll(async () => (await worker.runs())[0]?.status).toBe('running')
  const parts = server.handle(run.id).parts()
  const first = parts.next()
  await expect
    .poll(() => heard.findLast((payload) => payload.startsWith('l ') && payload.endsWith(` ${run.id}`)))
    .toBeDefined()
  const listening = (): string[] => [...new Set(heard.flatMap((payload) => /^l (\S+)/.exec(payload)?.[1] ?? []))]
  await expect.poll(() => listening().length).toBe(2)
  for (const channel of listening()) await ear.query(`LISTEN "${channel}"`)
  const said = (): number => heard.filter((payload) => payload.startsWith('parts ')).length
  await expect.poll(() => (show({ type: 'progress' }), said())).toBeGreaterThan(0)
  expect((await first).value?.part).toEqual({ type: 'custom', value: { type: 'progress' } })
  expect(
    new Set(heard.filter((payload) => payload.startsWith('parts ')).map((payload) => payload.split(' ')[4])).size,
  ).toBe(1)
  await parts.return?.()
  await own.return?.()
  // what was said last counts for five seconds
  const isQuiet = async (): Promise<boolean> => {
    const before = said()
    for (let i = 0; i < 4; i++) {
      show({ type: 'late' })
      await sleep(50)
    }
    return said() === before
  }
  await expect.poll(isQuiet).toBe(true)
  resolve('done')
  await run.outcome()
})
