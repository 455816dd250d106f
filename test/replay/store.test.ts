/**
 * What a store says is what its journals say: after a close, of redacted input, and of payloads that look like the
 * store's own marks (K1, K8, K10).
 */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Json, RunId } from '@reeve/core'
import { pack, unpack } from '../../packages/sqlite/src/blobs.ts'
import { begin, behind, errorOf, inFolder, open, outcome, registry, step, until } from '../crash/hand.ts'

test('K8: a run that is pausing when its engine closes is paused only when its journal says so', async () => {
  const file = inFolder()
  let finish: ((value: Json) => void) | undefined
  const agents = registry({
    agent: async (ctx) => {
      await step(ctx, 'pay', () => new Promise<Json>((resolve) => (finish = resolve)), { effect: 'once' })
      return step(ctx, 'next', () => 'done')
    },
  })
  const engine = open(file)
  engine.drive(agents)
  await begin(engine, 'r', 'agent')
  await until('it pays', () => finish !== undefined)
  const run = 'r' as RunId
  await engine.post({ type: 'pause', run, at: 'next' })
  await until('it is pausing', async () => (await engine.summary(run))?.status === 'pausing')
  const closed = engine.close()
  finish!('paid')
  await closed
  const says = behind(file, (db) => ({
    row: db.prepare('SELECT control FROM run').get(),
    log: db.prepare(`SELECT count(*) AS n FROM log WHERE body LIKE '{"type":"run.paused"%'`).get(),
  }))
  expect(says).toEqual({ row: { control: 'pausing' }, log: { n: 0 } })
  const next = open(file)
  next.drive(agents)
  await until('it is paused', async () => (await next.summary(run))?.status === 'paused')
  expect((await next.read(run)).filter(({ event }) => event.type === 'run.paused')).toHaveLength(1)
  await next.post({ type: 'resume', run })
  expect(await outcome(next, 'r')).toEqual({ status: 'completed', output: 'done' })
})

test('K10: a start that is repeated with the same secret is the same start', async () => {
  const engine = open(inFolder(), { redact: { keys: ['token'], values: ['s3cret-s3cret'] } })
  engine.drive(registry({ agent: () => Promise.resolve(1) }))
  const input = { token: 'abc', text: 'it is s3cret-s3cret', plain: [1, null] }
  expect(await begin(engine, 'r', 'agent', input)).toEqual({ created: true })
  expect(await begin(engine, 'r', 'agent', input)).toEqual({ created: false })
  expect((await errorOf(() => begin(engine, 'r', 'agent', { ...input, text: 'something else' }))).code).toBe(
    'run.conflict',
  )
})

test('K1: an object that names a payload of the same entry comes back as it was, not as that payload', async () => {
  const long = 'x'.repeat(20_000)
  const hash = createHash('sha256').update(JSON.stringify(long)).digest('hex')
  const input: Json = {
    long,
    mine: { '$reeve.blob': hash },
    deep: [{ '$reeve.blob': hash, more: long }, { '$reeve.blob': 7 }],
  }
  const packed = pack(JSON.stringify(input))!
  expect(packed.body.length).toBeLessThan(1_000)
  expect(JSON.parse(unpack(packed.body, (name) => packed.blobs.get(name)!))).toEqual(input)
  const engine = open(inFolder())
  engine.drive(registry({ agent: (_ctx, given) => Promise.resolve(given) }))
  await begin(engine, 'r', 'agent', input)
  expect(await outcome(engine, 'r')).toEqual({ status: 'completed', output: input })
  expect((await engine.read('r' as RunId))[0]!.event).toMatchObject({ input })
})
