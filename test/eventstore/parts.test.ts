/** Live parts under other runs' traffic, on a database that the test holds up. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Parts } from '../../src/adapters/eventstore/parts.ts'
import type { Database, Param, Work } from '../../src/adapters/eventstore/sql.ts'
import type { RunId } from '../../src/core/index.ts'
import type { LivePart } from '../../src/engine/index.ts'

const [mine, other] = ['mine' as RunId, 'other' as RunId]
const part = (n: number): LivePart => ({ n }) as unknown as LivePart

interface Write {
  readonly statements: readonly { readonly text: string; readonly params: readonly Param[] }[]
  readonly done: () => void
}

/** Every transaction ends when the test says so. */
function held(): { readonly database: Database; readonly writes: Write[] } {
  const writes: Write[] = []
  const transaction = <T>(work: () => Work<T>): Promise<T> => {
    const statements: { text: string; params: readonly Param[] }[] = []
    const steps = work()
    let step = steps.next([])
    for (; step.done !== true; step = steps.next([])) if (step.value.type === 'write') statements.push(step.value.statement)
    const result = step.value
    return new Promise((resolve) => writes.push({ statements, done: () => resolve(result) }))
  }
  return { database: { transaction } as unknown as Database, writes }
}

const runsIn = ({ statements }: Write): unknown[] => statements.flatMap(({ params }) => params.filter((_, i) => i % 4 === 0))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('K9: whoever settles the parts of a run waits for those alone, however much others publish', async () => {
  const { database, writes } = held()
  const parts = new Parts(database)
  parts.publish(other, [part(0)])
  await vi.advanceTimersByTimeAsync(25)
  expect(writes.map(runsIn)).toEqual([[other]])
  let settled = ''
  parts.settle(mine).then(
    () => (settled += 'idle '),
    () => undefined,
  )
  await vi.advanceTimersByTimeAsync(0)
  expect(settled).toBe('idle ')
  parts.publish(mine, [part(1)])
  parts.settle(mine).then(
    () => (settled += 'mine'),
    () => undefined,
  )
  for (let n = 0; n < 2; n++) {
    parts.publish(other, [part(n)])
    writes.at(-1)!.done()
    await vi.advanceTimersByTimeAsync(1)
  }
  parts.publish(other, [part(9)])
  expect(writes.map(runsIn)).toEqual([[other], [mine, other], [other]])
  expect(settled).toBe('idle mine')
})

test('K9: nobody waits for parts longer than a second', async () => {
  const { database } = held()
  const parts = new Parts(database)
  parts.publish(mine, [part(1)])
  const settled = vi.fn<() => void>()
  parts.settle(mine).then(settled, () => undefined)
  await vi.advanceTimersByTimeAsync(999)
  expect(settled).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(settled).toHaveBeenCalled()
})

test('K9: parts go after half a minute though nobody publishes any more', async () => {
  const { database, writes } = held()
  const parts = new Parts(database)
  const at = Date.now()
  parts.publish(mine, [part(1)])
  await vi.advanceTimersByTimeAsync(25)
  writes[0]!.done()
  await vi.advanceTimersByTimeAsync(120_000)
  const prunes = writes.slice(1).map(({ statements }) => [statements[0]!.text, Number(statements[0]!.params[0]) - at])
  expect(prunes.map(([text]) => text)).toEqual(prunes.map(() => 'DELETE FROM part WHERE at < $1'))
  expect(prunes.at(-1)![1]).toBeGreaterThan(25)
  expect(prunes.length).toBeLessThan(6)
})
