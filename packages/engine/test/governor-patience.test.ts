/** A call that waits for its turn, and whose provider then closes its gate for longer than the call waits. */
import { expect, test } from 'vitest'
import { Governor } from '../src/index.ts'
import { manualClock } from '@reeve/testing'

test('calls in the queue that do not wait so long end; the others wait on, in their order', () => {
  const clock = manualClock()
  const governor = new Governor(clock)
  const seen: string[] = []
  const first = governor.pass('m', () => undefined)
  const second = governor.pass('m', () => undefined)
  second.end('refused')
  governor.pass('m', () => seen.push('patient'))
  const impatient = governor.pass('m', () => seen.push('never'), {
    longestMs: 1_000,
    giveUp: (ms) => seen.push(`given up: ${ms}`),
  })
  expect([first.waiting, impatient.waiting]).toEqual([false, true])
  first.end('refused', 60_000)
  expect(seen).toEqual(['given up: 60000'])
  expect(impatient.waiting).toBe(false)
  expect(governor.closedFor('m')).toBe(60_000)
  impatient.end('other')
  expect(governor.state()).toMatchObject([{ waiting: 1 }])
})
