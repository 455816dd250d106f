/**
 * A full disk: nothing that depends on what could not be written gets out; when space comes back, runs go on by
 * themselves (K5, K6).
 */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import {
  behind,
  begin,
  errorOf,
  inFolder,
  open,
  outcome,
  registry,
  settledSteps,
  step,
  until,
  type Agent,
  type Opened,
} from './hand.ts'
import { sqliteOf } from '../../packages/engine/test/sqlite-of.ts'

/** Effects that end when the test says so, and are counted. */
class Effects {
  readonly begun: string[] = []
  readonly #ends = new Map<string, (value: Json) => void>()
  wait = (name: string): Promise<Json> => {
    this.begun.push(name)
    return new Promise((resolve) => this.#ends.set(name, resolve))
  }
  end(name: string, value: Json = `${name} ${'x'.repeat(60_000)}`): void {
    this.#ends.get(name)!(value)
  }
}

const shop =
  (effects: Effects): Agent =>
  async (ctx) => {
    const branches = [ctx.scope('a'), ctx.scope('b')] as const
    const pay = branches[0].begin('pay', () => effects.wait('pay'), { effect: 'once' })
    const pack = branches[1].begin('pack', () => effects.wait('pack'))
    await ctx.next(pay)
    await ctx.next(pack)
    await step(ctx, 'ship', () => effects.wait('ship'), { effect: 'once' })
    return 'shipped'
  }

/** More than the write-ahead log has room for that the tables were made in. */
const large = 'y'.repeat(300_000)

/**
 * From two effects in flight through a full disk to the end. `fill` takes the space away and returns how to give it
 * back.
 */
async function throughFullDisk(engine: Opened, fill: () => () => void): Promise<void> {
  const effects = new Effects()
  engine.drive(registry({ shop: shop(effects), other: () => Promise.resolve('done') }))
  await begin(engine, 'r', 'shop')
  await until('both effects are out', () => effects.begun.length === 2)
  const waiting = outcome(engine, 'r')
  const free = fill()
  effects.end('pay')
  effects.end('pack')
  await until('it is told', () => engine.warnings.includes('store.full'))
  const refused = await errorOf(() => begin(engine, 'too-late', 'other', large))
  expect(refused).toMatchObject({
    code: 'store.full',
    retryable: true,
    hint: expect.stringMatching(/[Ff]ree space/) as string,
  })
  let tried = 0
  const { store } = engine
  const claim = store.claim.bind(store)
  // who goes on with the run claims it first
  store.claim = (...asked) => (tried++, claim(...asked))
  await until('it is tried again, in vain', () => tried > 2)
  // said once, however often it is tried
  expect(engine.warnings[0]).toBe('store.full')
  expect(engine.warnings).toEqual([...new Set(engine.warnings)])
  // What depends on the unwritten ends has not left, and nothing was begun again.
  expect(effects.begun).toEqual(['pay', 'pack'])
  free()
  await until('the run goes on by itself', () => effects.begun.includes('ship'), 9_000)
  expect(engine.warnings.at(-1)).toBe('store.available')
  effects.end('ship')
  expect(await waiting).toEqual({ status: 'completed', output: 'shipped' })
  expect(effects.begun).toEqual(['pay', 'pack', 'ship'])
  expect(await engine.questions()).toEqual([])
  expect(await engine.summary('too-late' as never)).toBeUndefined()
  await begin(engine, 'too-late', 'other', large)
  expect(await outcome(engine, 'too-late')).toEqual({ status: 'completed', output: 'done' })
}

/** What a store must be in the end: every step recorded once, nothing damaged. */
const whole = {
  steps: [
    ['act_r a/pay', 1],
    ['act_r b/pack', 1],
    ['act_r ship', 1],
  ],
  integrity_check: 'ok',
}
const stateOf = (file: string) => ({
  steps: [...settledSteps(file)],
  ...behind(file, (db) => db.prepare('PRAGMA integrity_check').get()),
})

test('no page more for the file: nothing is lost, released early or repeated', async () => {
  const file = inFolder()
  const engine = open(file)
  const { db } = sqliteOf(engine)
  await throughFullDisk(engine, () => {
    const { page_count } = db.prepare('PRAGMA page_count').get() as { page_count: number }
    db.exec(`PRAGMA max_page_count = ${page_count}`)
    return () => db.exec('PRAGMA max_page_count = 1000000')
  })
  await engine.close()
  expect(stateOf(file)).toEqual(whole)
}, 20_000)

// A file system of two megabytes needs rights that not everybody has.
const disks: string[] = []
function smallDisk(): string | undefined {
  const disk = join(dirname(inFolder()), 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  disks.push(disk)
  return disk
}
afterEach(() => {
  for (const disk of disks.splice(0)) execFileSync('umount', ['-l', disk], { stdio: 'ignore' })
})

function fillUp(disk: string): () => void {
  const filler = join(disk, 'filler')
  const handle = openSync(filler, 'w')
  try {
    for (const block of [65_536, 4_096]) {
      try {
        for (;;) writeSync(handle, Buffer.alloc(block))
      } catch (thrown) {
        if ((thrown as { code?: string }).code !== 'ENOSPC') throw thrown
      }
    }
  } finally {
    closeSync(handle)
  }
  return () => rmSync(filler)
}

describe.each(['full', 'strict'] as const)('a full file system, durability %s', (durability) => {
  test('nothing is lost, released early or repeated', async ({ skip }) => {
    const disk = smallDisk()
    if (disk === undefined) return skip('needs the right to mount a small file system')
    const file = join(disk, 'store.db')
    const engine = open(file, { durability })
    await throughFullDisk(engine, () => fillUp(disk))
    await engine.close()
    expect(stateOf(file)).toEqual(whole)
  }, 20_000)
})
