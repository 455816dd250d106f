/** What one process hears of another: events that were written, and live parts. */
import { expect, test, vi } from 'vitest'
import type { LivePart } from '../../src/engine/index.ts'
import { begin, begun, eventually, onBothStores, settledText } from './hand.ts'

onBothStores((place) => {
  const part = (activation: string, n: number): LivePart => ({ activation, address: 'a', attempt: 1, part: { n } }) as unknown as LivePart

  test('K1: whatever is written is heard of in every process that watches', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const root = await begin(one)
    const [here, there] = [vi.fn<(run: string) => void>(), vi.fn<(run: string) => void>()]
    const stop = one.watch(here)
    two.watch(there)
    const news = async (work: () => Promise<unknown>): Promise<void> => {
      // Hearing may have begun with a gap.
      await new Promise((resolve) => setTimeout(resolve, 100))
      here.mockClear()
      there.mockClear()
      await work()
      await eventually(() => {
        expect(here).toHaveBeenCalledWith(root.run)
        expect(there).toHaveBeenCalledWith(root.run)
      })
      expect(there).not.toHaveBeenCalledWith('all')
    }
    await news(() => root.written({}, [begun('x')]))
    await news(() => two.post({ target: 'run', to: root.id, key: '!cancel', body: '{}', now: 1 }))
    await news(() => root.written({ settled: 'completed' }, [settledText]))
    await news(() => two.remove(root.run))
    stop()
    here.mockClear()
    await begin(two)
    await eventually(() => expect(there.mock.calls.length).toBeGreaterThan(1))
    expect(here).not.toHaveBeenCalled()
  })

  test('K1: what is not kept is not told', async () => {
    const store = await place.store()
    const root = await begin(store)
    const heard = vi.fn<(run: string) => void>()
    store.watch(heard)
    await new Promise((resolve) => setTimeout(resolve, 150))
    heard.mockClear()
    await root.commit({ epoch: 9 }, [begun('x')])
    await store.create({ run: root.run, agent: 'a', version: '1', caller: undefined, limits: undefined, first: '{}', at: 1 })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(heard).not.toHaveBeenCalled()
  })

  test('K9: live parts reach other processes in order, and readers of events are not woken by them', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const [root, other] = [await begin(one), await begin(one)]
    const [mine, theirs, events] = [[] as LivePart[], [] as LivePart[], vi.fn<(run: string) => void>()]
    one.overhear(root.run, (each) => mine.push(each))
    const stop = two.overhear(root.run, (each) => theirs.push(each))
    two.watch(events)
    await new Promise((resolve) => setTimeout(resolve, 200))
    events.mockClear()
    const sent = Array.from({ length: 300 }, (_, i) => part(root.id, i))
    for (let i = 0; i < sent.length; i += 30) {
      one.publish(root.run, sent.slice(i, i + 30))
      one.publish(other.run, [part(other.id, i)])
      await new Promise((resolve) => setTimeout(resolve, 8))
    }
    await eventually(() => expect(theirs).toHaveLength(300))
    expect(theirs).toEqual(sent)
    expect(mine).toEqual([])
    expect(events).not.toHaveBeenCalled()
    stop()
    one.publish(root.run, [part(root.id, 1_000)])
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(theirs).toHaveLength(300)
    one.publish(root.run, [part(root.id, 1_001)])
    await one.close()
    one.publish(root.run, [part(root.id, 1_002)])
  })
})
