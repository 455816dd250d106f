/**
 * Store contract: live parts that a process publishes are heard by those that listen elsewhere. Best effort (K9): what
 * is heard is whole and in order.
 */
import assert from 'node:assert/strict'
import type { ActivationId, Json, RunId } from '@reeve/core'
import type { LivePart } from '@reeve/engine'
import type { PublishedParts } from '@reeve/engine/storage'
import { until } from '../engine/stage.ts'
import { root, run, type StorePlay, type StoreProcess, type StoreStage } from './stage.ts'

const [one, two] = [run('r1'), run('r2')] as const
const shown = (part: Json, act: ActivationId = root(one)): LivePart => ({
  activation: act,
  address: 's',
  epoch: 1,
  attempt: 1,
  part,
})

/** A process that hears of the others. */
async function opened(stage: StoreStage): Promise<StoreProcess> {
  const process = await stage.open()
  process.store.listen(() => undefined)
  return process
}

/** Listens to a run, and resolves when it hears what the other one publishes of it. */
async function overhears(
  who: StoreProcess,
  id: RunId,
  other: StoreProcess,
): Promise<{ readonly heard: PublishedParts[]; readonly stop: () => void }> {
  const heard: PublishedParts[] = []
  const stop = who.store.parts!.overhear(id, (published) => heard.push(published))
  await until('it hears the other one', () => {
    other.store.parts!.publish(id, shown('begin', root(id)))
    return heard.length > 0
  })
  await flushed(other, id, heard)
  return { heard, stop }
}

/** Everything that was published before is heard. */
async function flushed(from: StoreProcess, id: RunId, heard: PublishedParts[]): Promise<void> {
  from.store.parts!.publish(id, shown('end', root(id)))
  await until('the last part is heard', () => heard.at(-1)?.parts.at(-1)?.part === 'end')
  heard.length = 0
}

const partsOf = (heard: readonly PublishedParts[]): readonly Json[] =>
  heard.flatMap(({ parts }) => parts.map(({ part }) => part))

export const partCases: readonly StorePlay[] = [
  {
    invariant: 'K9',
    shared: true,
    parts: true,
    name: 'live parts of a run reach each other listening process once, in order, and no other process',
    async play(stage) {
      const [a, b, c] = [await opened(stage), await opened(stage), await opened(stage)]
      const { heard } = await overhears(b, one, a)
      const own: PublishedParts[] = []
      a.store.parts!.overhear(one, (published) => own.push(published))
      const others: PublishedParts[] = []
      c.store.parts!.overhear(two, (published) => others.push(published))
      const told = Array.from({ length: 200 }, (_, i) => ({ type: 'progress', i }))
      for (const part of told) {
        a.store.parts!.publish(one, shown(part))
        if (part.i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await until('all are heard', () => partsOf(heard).length >= told.length)
      assert.deepEqual(partsOf(heard), told)
      assert.deepEqual(heard[0]!.parts[0], shown({ type: 'progress', i: 0 }))
      assert.deepEqual([own, others], [[], []])
    },
  },
  {
    invariant: 'K9',
    shared: true,
    parts: true,
    name: 'what is published says who has published it, and under which number, which grows',
    async play(stage) {
      const [a, b] = [await opened(stage), await opened(stage)]
      const [first, second] = [await overhears(b, one, a), await overhears(b, two, a)]
      for (let i = 0; i < 6; i++) {
        a.store.parts!.publish(one, shown(i))
        a.store.parts!.publish(two, shown(i, root(two)))
        await until(
          'it is heard',
          () => partsOf(first.heard).length === i + 1 && partsOf(second.heard).length === i + 1,
        )
      }
      for (const { heard } of [first, second]) {
        assert.ok(heard.every(({ from }) => from === a.id))
        for (const [i, { n }] of heard.entries()) assert.ok(n > (heard[i - 1]?.n ?? 0))
      }
    },
  },
  {
    invariant: 'K9',
    shared: true,
    parts: true,
    name: 'live parts may have any length and characters; pieces of one text may be joined without loss',
    async play(stage) {
      const [a, b] = [await opened(stage), await opened(stage)]
      const { heard } = await overhears(b, one, a)
      const long = { type: 'drawn', picture: `é\0😀\u{2028}"\\${'ü'.repeat(60_000)}` }
      a.store.parts!.publish(one, shown(long))
      const pieces = Array.from({ length: 2_000 }, (_, i) => `${i} ä😀`)
      for (const text of pieces) a.store.parts!.publish(one, shown({ type: 'text.delta', id: '0', text }))
      const text = (): string =>
        partsOf(heard)
          .slice(1)
          .map((part) => (part as { text: string }).text)
          .join('')
      await until('all is heard', () => text().length >= pieces.join('').length)
      assert.deepEqual(partsOf(heard)[0], long)
      assert.equal(text(), pieces.join(''))
    },
  },
  {
    invariant: 'K9',
    shared: true,
    parts: true,
    name: 'a leaver hears no more while others do; a closed store sends nothing, and publishing is harmless',
    async play(stage) {
      const [a, b] = [await opened(stage), await opened(stage)]
      const [first, second] = [await overhears(b, one, a), await overhears(b, one, a)]
      await flushed(a, one, first.heard)
      first.stop()
      first.stop()
      a.store.parts!.publish(one, shown('last'))
      await until('the other one hears it', () => partsOf(second.heard).includes('last'))
      assert.ok(!partsOf(first.heard).includes('last'))
      const { parts } = a.store
      await stage.close(a)
      parts!.publish(one, shown('never'))
      parts!.overhear(one, () => undefined)()
    },
  },
]
