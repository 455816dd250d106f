/** The governor by itself: limits, turns, gates. Pure but for a manual clock. */
import { describe, expect, test } from 'vitest'
import { Governor, governorOf, type GovernedModel } from '../src/index.ts'
import { manualClock, manualStart } from '@reeve/testing'

const model = 'vendor/model'

/** Calls by number: who is out, who has to wait. */
function calls(governor: Governor, on = model) {
  const passes = new Map<number, ReturnType<Governor['pass']>>()
  const out: number[] = []
  return {
    out,
    begin: (...numbers: number[]): void => {
      for (const n of numbers) {
        const pass = governor.pass(on, () => out.push(n))
        passes.set(n, pass)
        if (!pass.waiting) out.push(n)
      }
    },
    end: (n: number, how: 'answered' | 'refused' | 'other' = 'answered', retryAfterMs?: number): void => {
      out.splice(0, out.length, ...out.filter((each) => each !== n))
      passes.get(n)!.end(how, retryAfterMs)
    },
  }
}
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const limitOf = (governor: Governor): number | undefined => governor.state()[0]?.limit

describe('limits', () => {
  test('no call waits before a refusal, and an unused model keeps no state', () => {
    const governor = new Governor(manualClock())
    const { begin, end, out } = calls(governor)
    begin(...range(1, 500))
    expect(out).toHaveLength(500)
    expect(governor.state()).toEqual([{ model, underWay: 500, waiting: 0 }])
    for (const n of range(1, 500)) end(n, n % 2 === 0 ? 'answered' : 'other')
    expect(governor.state()).toEqual([])
  })

  test('a refusal halves what is under way; a storm of them ends at half of what is left', () => {
    const governor = new Governor(manualClock())
    const { begin, end } = calls(governor)
    begin(...range(1, 20))
    end(1, 'refused')
    expect(limitOf(governor)).toBe(10)
    for (const n of range(2, 15)) end(n, 'refused')
    // five are left, and one more than that was under way when the last was refused
    expect(governor.state()).toMatchObject([{ underWay: 5, limit: 3, peak: 20 }])
    begin(21)
    expect(governor.state()).toMatchObject([{ waiting: 1 }])
  })

  test('the limit is never below one, and a single refused call waits for no other', () => {
    const governor = new Governor(manualClock())
    const { begin, end, out } = calls(governor)
    begin(1)
    end(1, 'refused')
    expect(limitOf(governor)).toBe(1)
    begin(2, 3)
    expect(out).toEqual([2])
    end(2, 'refused')
    expect([limitOf(governor), out]).toEqual([1, [3]])
  })

  test('as many answers as the limit raise it by one; at the peak it is forgotten', () => {
    const governor = new Governor(manualClock())
    const { begin, end } = calls(governor)
    begin(...range(1, 8))
    for (const n of [1, 2]) end(n, 'refused')
    expect(limitOf(governor)).toBe(3)
    const seen: (number | undefined)[] = []
    for (const n of range(3, 8)) end(n)
    seen.push(limitOf(governor))
    for (const n of range(100, 200)) {
      begin(n)
      end(n)
      seen.push(limitOf(governor))
      if (governor.state().length === 0) break
    }
    expect(seen[0]).toBe(4)
    expect([...new Set(seen)]).toEqual([4, 5, 6, 7, undefined])
  })

  test('where it was refused before, it goes up more patiently each time', () => {
    const governor = new Governor(manualClock())
    const { begin, end } = calls(governor)
    let answered = 0
    let next = 0
    const rounds: number[] = []
    begin(...range(-30, -1)) // a crowd, so that the peak is far off
    for (const n of range(-30, -5)) end(n, 'refused')
    for (const n of range(-4, -1)) end(n, 'other')
    // the other side takes 4 at once
    while (rounds.length < 5) {
      const now = range(next + 1, next + limitOf(governor)!)
      next += now.length
      begin(...now)
      if (now.length > 4) {
        end(now.pop()!, 'refused')
        rounds.push(answered)
        answered = 0
      }
      for (const n of now) end(n)
      answered += now.length
    }
    const later = rounds.slice(1)
    expect([...later].sort((a, b) => a - b)).toEqual(later)
    expect(later.at(-1)!).toBeGreaterThan(2 * later[0]!)
  })

  test('models do not wait for each other', () => {
    const governor = new Governor(manualClock())
    const [one, other] = [calls(governor, 'a/a'), calls(governor, 'b/b')]
    one.begin(1)
    one.end(1, 'refused')
    one.begin(2, 3)
    other.begin(1, 2, 3)
    expect([one.out, other.out]).toEqual([[2], [1, 2, 3]])
  })
})

describe('turns', () => {
  /** Two are under way at most, and one is. */
  function throttled() {
    const governor = new Governor(manualClock())
    const all = calls(governor)
    all.begin(-1, -2, -3, -4)
    all.end(-1, 'refused')
    all.end(-2, 'other')
    all.end(-3, 'other')
    expect(limitOf(governor)).toBe(2)
    return { governor, ...all }
  }

  test('in order of arrival; a later call never overtakes', () => {
    const { begin, end, out } = throttled()
    begin(1, 2, 3, 4)
    expect(out).toEqual([-4, 1])
    end(-4, 'other')
    begin(5)
    end(1, 'other')
    end(2, 'other')
    expect(out).toEqual([3, 4])
  })

  test('one that is not wanted any more is passed over, and is no call', () => {
    const { governor, begin, end, out } = throttled()
    begin(1, 2, 3)
    end(2, 'refused')
    expect(limitOf(governor)).toBe(2)
    end(1, 'other')
    expect(out).toEqual([-4, 3])
    expect(governor.state()).toMatchObject([{ underWay: 2, waiting: 0 }])
  })

  test('an end counts once', () => {
    const { governor, begin, end } = throttled()
    begin(1)
    end(1, 'refused')
    end(1, 'refused')
    end(1, 'answered')
    expect(governor.state()).toMatchObject([{ underWay: 1, limit: 1 }])
  })

  test('who goes may end at once, call again, and call others off', () => {
    const clock = manualClock()
    const governor = new Governor(clock)
    const first = governor.pass(model, () => {})
    first.end('refused')
    const held = governor.pass(model, () => {})
    const seen: string[] = []
    const passes: ReturnType<Governor['pass']>[] = []
    passes[0] = governor.pass(model, () => {
      seen.push('one')
      passes[2] = governor.pass(model, () => seen.push('three'))
      passes[1]!.end('other')
      passes[0]!.end('other')
    })
    passes[1] = governor.pass(model, () => seen.push('two'))
    held.end('other')
    expect(seen).toEqual(['one', 'three'])
    expect(governor.state()).toMatchObject([{ underWay: 1, waiting: 0 }])
  })
})

describe('gates', () => {
  test('no call leaves before Retry-After; then in turn; the timer exists only while a call waits', () => {
    const clock = manualClock()
    const governor = new Governor(clock)
    const { begin, end, out } = calls(governor)
    begin(1, 2, 3, 4, 5, 6, 7, 8)
    end(8, 'refused', 7_000)
    for (const n of range(1, 7)) end(n, 'other')
    expect(clock.pending).toBe(0)
    begin(11, 12, 13, 14, 15)
    expect([out, clock.pending]).toEqual([[], 1])
    expect(governor.state()).toMatchObject([{ closedUntil: manualStart + 7_000, waiting: 5 }])
    clock.advance(6_999)
    expect(out).toEqual([])
    clock.advance(1)
    expect([out, clock.pending]).toEqual([[11, 12, 13, 14], 0])
  })

  test('the later gate holds; a shorter one does not open it', () => {
    const clock = manualClock()
    const governor = new Governor(clock)
    const { begin, end, out } = calls(governor)
    begin(1, 2, 3)
    end(1, 'refused', 5_000)
    begin(4)
    end(2, 'refused', 1_000)
    end(3, 'refused', 9_000)
    clock.advance(8_999)
    expect(out).toEqual([])
    clock.advance(1)
    expect(out).toEqual([4])
  })

  test('a call at the moment the gate opens goes after the waiting ones and blocks none', () => {
    const clock = manualClock()
    let late = 0
    // the wall clock is ahead of the timers, as it is in a busy process
    const governor = new Governor({ now: () => clock.now() + late, timer: (at, callback) => clock.timer(at, callback) })
    const { begin, end, out } = calls(governor)
    begin(1, 2, 3, 4)
    for (const n of [1, 2, 3, 4]) end(n, 'refused', 1_000)
    begin(5)
    late = 1_001
    begin(6)
    expect(out).toEqual([5])
    end(5)
    expect(out).toEqual([6])
    end(6)
    expect([governor.state()[0]?.waiting, clock.pending]).toEqual([0, 0])
  })

  test('a gate that opens between two looks at the clock opens', () => {
    const clock = manualClock()
    let looks = 0
    let ticking = false
    // every look is a millisecond later than the one before
    const governor = new Governor({
      now: () => clock.now() + (ticking ? ++looks : 0),
      timer: (at, callback) => clock.timer(at, callback),
    })
    const { begin, end, out } = calls(governor)
    for (let wait = 1; wait < 20; wait++) {
      ticking = false
      begin(wait)
      end(wait, 'refused', wait)
      looks = 0
      ticking = true
      begin(100 + wait)
      clock.advance(wait)
      expect(out).toEqual([100 + wait])
      ticking = false
      end(100 + wait, 'other')
    }
  })

  test('the last one that waits takes the timer with it', () => {
    const clock = manualClock()
    const governor = new Governor(clock)
    const { begin, end } = calls(governor)
    begin(1)
    end(1, 'refused', 60_000)
    begin(2, 3)
    end(2, 'other')
    expect(clock.pending).toBe(1)
    end(3, 'other')
    expect(clock.pending).toBe(0)
  })

  test('a model unused for ten minutes is forgotten', () => {
    const clock = manualClock()
    const governor = new Governor(clock)
    const { begin, end, out } = calls(governor)
    begin(1, 2, 3, 4)
    for (const n of [1, 2, 3, 4]) end(n, 'refused')
    clock.advance(600_000)
    begin(5, 6)
    expect(out).toEqual([5])
    end(5, 'other')
    end(6, 'other')
    clock.advance(600_001)
    begin(7, 8)
    expect(out).toEqual([7, 8])
  })
})

test('changes are told to active listeners only', () => {
  const governor = new Governor(manualClock())
  const heard: GovernedModel[] = []
  const stop = governor.watch((state) => heard.push(state))
  const { begin, end } = calls(governor)
  begin(1, 2)
  end(1, 'refused')
  expect(heard).toEqual([{ model, underWay: 1, waiting: 0, limit: 1, peak: 2 }])
  end(2)
  expect(heard.at(-1)).toEqual({ model, underWay: 0, waiting: 0 })
  stop()
  begin(3)
  end(3, 'refused')
  expect(heard).toHaveLength(2)
})

test('all users of one clock share one governor', () => {
  const clock = manualClock()
  expect(governorOf(clock)).toBe(governorOf(clock))
  expect(governorOf()).toBe(governorOf())
  expect(governorOf(clock)).not.toBe(governorOf())
})

describe('what calls do as they are let go', () => {
  /** A governor whose model takes so many calls, none of them before `open`. */
  function limited(limit: number) {
    const clock = manualClock()
    const governor = new Governor(clock)
    const first = range(1, 2 * limit).map(() => governor.pass(model, () => {}))
    first.pop()!.end('refused', 1_000)
    for (const pass of first) pass.end('other')
    expect(limitOf(governor)).toBe(limit)
    return { governor, open: () => clock.advance(1_000) }
  }

  test('K6: those that end at once let the next ones go, however many wait', () => {
    const { governor, open } = limited(1)
    const went: number[] = []
    for (const n of range(1, 20_000)) {
      const pass = governor.pass(model, () => {
        went.push(n)
        pass.end('other')
      })
    }
    expect(went).toEqual([])
    open()
    expect(went).toEqual(range(1, 20_000))
    expect(governor.state()).toMatchObject([{ underWay: 0, waiting: 0 }])
  })

  test('K6: one that asks for another call and ends earlier ones lets every other go once', () => {
    const { governor, open } = limited(20)
    const went: number[] = []
    const passes = new Map<number, ReturnType<Governor['pass']>>()
    const ask = (n: number): void =>
      void passes.set(
        n,
        governor.pass(model, () => {
          went.push(n)
          if (n > 20) passes.get(n)!.end('other')
          if (n !== 20) return
          ask(41)
          for (const each of range(1, 20)) passes.get(each)!.end('other')
        }),
      )
    for (const n of range(1, 40)) ask(n)
    open()
    expect(went).toEqual(range(1, 41))
    expect(governor.state()).toMatchObject([{ underWay: 0, waiting: 0 }])
  })
})
