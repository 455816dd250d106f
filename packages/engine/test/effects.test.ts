/**
 * Effects by themselves, on a manual clock: attempts, backoff, timeouts, abort, one idempotency key, and which end
 * counts (K6). The real class over a host that notes what it is told.
 */
import { describe, expect, test } from 'vitest'
import { failure, FailureError, rootActivation, type RunId } from '@reeve/core'
import type { StepSettled } from '@reeve/journal'
import { Cancelled, type StepIO, type StepOptions } from '../src/context.ts'
import { Effects, type EffectsHost, type FollowedAttempt } from '../src/replay/effects.ts'
import { openOperation, type Operation, type Owner } from '../src/replay/operation.ts'
import { manualClock } from '@reeve/testing'

const owner = { id: rootActivation('run_1' as RunId), opened: 0, birth: { agent: 'worker' } } as unknown as Owner
const passing = (retryAfterMs?: number): FailureError =>
  new FailureError(failure('tool.failed', 'busy', 'transport', retryAfterMs === undefined ? {} : { retryAfterMs }))
const lasting = (): FailureError => new FailureError(failure('tool.failed', 'wrong', 'validation'))

interface Call extends StepIO {
  readonly end: (value: unknown) => void
  readonly fail: (thrown: unknown) => void
}

/** Effects over a host that notes what it hears; `step` makes one whose attempts the test ends by hand. */
function stage() {
  const clock = manualClock()
  const ends: StepSettled[] = []
  const failed: FollowedAttempt[] = []
  const calledBack: string[] = []
  const parts: { readonly attempt: number; readonly part: unknown }[] = []
  const may = { retry: true }
  const host: EffectsHost = {
    clock,
    epochOf: () => 7,
    attemptFailed: (_op, attempt) => void failed.push(attempt),
    mayRetry: () => may.retry,
    ended: (_op, event) => ends.push(event),
    calledBack: (op) => calledBack.push(op.address),
    part: (_op, attempt, part) => parts.push({ attempt, part }),
    contents: () => {
      throw new Error('no step here keeps any')
    },
  }
  const calls: Call[] = []
  const step = (
    options: StepOptions<never> = {},
    effect: 'read' | 'idempotent' | 'once' = 'idempotent',
    address = 'pay',
  ): Operation => {
    const op = openOperation(owner, { type: 'step.begun', op: 'step', address, effect }, undefined, options)
    op.run = (io) =>
      new Promise((end, fail) => {
        calls.push(Object.assign(Object.create(io) as StepIO, { end, fail }))
      })
    return op
  }
  return { effects: new Effects(host), clock, ends, failed, calledBack, parts, may, calls, step }
}
/** Everything that hangs on settled promises has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const noJitter = { jitter: false } as const

describe('attempts', () => {
  test('K6: all have one idempotency key; the end says how many there were', async () => {
    const { effects, clock, calls, ends, failed, step } = stage()
    effects.release(step({ retry: { ...noJitter, backoffMs: 100 } }))
    calls[0]!.fail(passing())
    await settled()
    clock.advance(100)
    calls[1]!.end('paid')
    await settled()
    expect(calls.map(({ key, attempt, epoch }) => [key, attempt, epoch])).toEqual([
      [`${owner.id}:pay`, 1, 7],
      [`${owner.id}:pay`, 2, 7],
    ])
    expect(failed).toMatchObject([{ attempt: 1, delayMs: 100, failure: { message: 'busy' } }])
    expect(ends).toEqual([
      { type: 'step.settled', address: 'pay', outcome: { status: 'completed', output: 'paid' }, attempts: 2 },
    ])
  })

  test('K6: another attempt at the same work keeps the key of the first', () => {
    const { effects, calls, step } = stage()
    effects.release(Object.assign(step(), { key: 'key of the first' }))
    expect(calls[0]!.key).toBe('key of the first')
  })

  test('wait twice as long each time, up to the bound, and never less than Retry-After', async () => {
    const { effects, clock, calls, failed, step } = stage()
    effects.release(step({ retry: { ...noJitter, attempts: 6, backoffMs: 100, maxBackoffMs: 700 } }))
    const retryAfter = [undefined, undefined, undefined, undefined, 900]
    for (const [i, ms] of retryAfter.entries()) {
      calls[i]!.fail(passing(ms))
      await settled()
      clock.advance(failed[i]!.delayMs - 1)
      expect(calls).toHaveLength(i + 1)
      clock.advance(1)
      expect(calls).toHaveLength(i + 2)
    }
    expect(failed.map(({ delayMs }) => delayMs)).toEqual([100, 200, 400, 700, 900])
  })

  test('are as many as allowed; the failure says how many were made', async () => {
    const { effects, clock, calls, ends, step } = stage()
    effects.release(step({ retry: { ...noJitter, attempts: 2, backoffMs: 1 } }))
    for (let i = 0; i < 2; i++) {
      calls[i]!.fail(passing())
      await settled()
      clock.advance(1_000)
    }
    expect(calls).toHaveLength(2)
    expect(ends).toMatchObject([
      { attempts: 2, outcome: { status: 'failed', failure: { message: 'busy', details: { attempts: 2 } } } },
    ])
  })

  test('count those of other processes', async () => {
    const { effects, calls, ends, step } = stage()
    effects.release(Object.assign(step({ retry: { attempts: 3 } }), { attempts: 2 }))
    expect(calls[0]!.attempt).toBe(3)
    calls[0]!.fail(passing())
    await settled()
    expect(ends).toMatchObject([{ attempts: 3, outcome: { status: 'failed' } }])
  })

  test('end at a lasting failure; a `once` effect has one', async () => {
    const { effects, calls, ends, failed, step } = stage()
    effects.release(step({}, 'idempotent', 'a'))
    effects.release(step({ retry: { attempts: 9 } }, 'once', 'b'))
    calls[0]!.fail(lasting())
    calls[1]!.fail(passing())
    await settled()
    expect(ends.map(({ address, outcome }) => [address, outcome.status])).toEqual([
      ['a', 'failed'],
      ['b', 'failed'],
    ])
    expect(failed).toEqual([])
  })

  test('after a pause began are left to the host', async () => {
    const { effects, clock, calls, calledBack, may, step } = stage()
    effects.release(step({ retry: { ...noJitter, backoffMs: 100 } }))
    calls[0]!.fail(passing())
    await settled()
    may.retry = false
    clock.advance(100)
    expect([calls.length, calledBack, effects.size]).toEqual([1, ['pay'], 0])
  })

  test('show parts under their own number', async () => {
    const { effects, clock, calls, parts, step } = stage()
    effects.release(step({ retry: { ...noJitter, backoffMs: 1 } }))
    calls[0]!.emit('one')
    calls[0]!.fail(passing())
    await settled()
    clock.advance(1)
    calls[1]!.emit('two')
    expect(parts).toEqual([
      { attempt: 1, part: 'one' },
      { attempt: 2, part: 'two' },
    ])
  })
})

describe('a timeout', () => {
  test('K6: an attempt that did not listen has its own signal, also while the next one is under way', async () => {
    const { effects, clock, calls, step } = stage()
    effects.release(step({ timeoutMs: 1_000, retry: { ...noJitter, backoffMs: 100 } }))
    clock.advance(1_000)
    calls[0]!.fail(passing())
    await settled()
    clock.advance(100)
    // it looks for the first time now
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false])
  })

  test('aborts the attempt, and another follows with its own time', async () => {
    const { effects, clock, calls, failed, ends, step } = stage()
    effects.release(step({ timeoutMs: 1_000, retry: { ...noJitter, backoffMs: 100 } }))
    const { signal } = calls[0]!
    clock.advance(999)
    expect(signal.aborted).toBe(false)
    clock.advance(1)
    expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
    calls[0]!.fail(signal.reason)
    await settled()
    expect(failed).toMatchObject([{ failure: { code: 'effect.timed-out', class: 'timeout' } }])
    clock.advance(100)
    calls[1]!.end('late but fine')
    await settled()
    expect(ends).toMatchObject([{ attempts: 2, outcome: { status: 'completed' } }])
  })

  test('of an effect that does not listen counts after a grace; what it returns later is dropped', async () => {
    const { effects, clock, calls, ends, step } = stage()
    effects.release(step({ timeoutMs: 1_000, retry: { attempts: 1 } }))
    clock.advance(1_000)
    expect(ends).toEqual([])
    clock.advance(2_000)
    expect(ends).toMatchObject([{ outcome: { status: 'failed', failure: { code: 'effect.timed-out' } } }])
    calls[0]!.end('too late')
    await settled()
    expect(ends).toHaveLength(1)
  })

  test('makes room for the next attempt: what the late one returns is not its result', async () => {
    const { effects, clock, calls, ends, step } = stage()
    effects.release(step({ timeoutMs: 1_000, retry: { ...noJitter, backoffMs: 100 } }))
    clock.advance(1_000)
    clock.advance(2_000)
    clock.advance(100)
    expect(calls).toHaveLength(2)
    calls[0]!.end('too late')
    await settled()
    expect(ends).toEqual([])
    calls[1]!.end('second')
    await settled()
    expect(ends).toMatchObject([{ attempts: 2, outcome: { output: 'second' } }])
  })

  test('K9: an attempt that was told to stop, or is over, shows nothing more, and has no text so far', async () => {
    const { effects, clock, calls, parts, step } = stage()
    const op = step({ timeoutMs: 100, retry: { ...noJitter, attempts: 2, backoffMs: 10 } })
    const say = (nth: number, text: string): void => calls[nth]!.emit({ type: 'text.delta', id: '0', text })
    effects.release(op)
    say(0, 'a')
    expect(effects.shownBy(op)?.text.deltas()).toHaveLength(1)
    clock.advance(100)
    // it does not listen
    say(0, 'b')
    expect(effects.shownBy(op)).toBeUndefined()
    clock.advance(2_000)
    clock.advance(10)
    say(1, 'A')
    say(0, 'c')
    say(1, 'B')
    calls[1]!.end('AB')
    await settled()
    say(1, 'C')
    expect(parts.map(({ attempt, part }) => `${attempt}${(part as { text: string }).text}`)).toEqual(['1a', '2A', '2B'])
  })

  test('is over with the attempt', async () => {
    const { effects, clock, calls, ends, step } = stage()
    effects.release(step({ timeoutMs: 1_000 }))
    calls[0]!.end('in time')
    await settled()
    clock.advance(10_000)
    expect(ends).toMatchObject([{ outcome: { status: 'completed', output: 'in time' } }])
  })
})

describe('an abort', () => {
  test('is told to the effect and ends it as cancelled, with the reason', async () => {
    const { effects, calls, ends, step } = stage()
    const op = step()
    effects.release(op)
    const { signal } = calls[0]!
    expect(effects.abort(op, 'enough')).toBe(true)
    expect(signal.reason).toBeInstanceOf(Cancelled)
    calls[0]!.fail(signal.reason)
    await settled()
    expect(ends).toMatchObject([{ outcome: { status: 'cancelled', reason: 'enough' } }])
  })

  test('of an effect that does not listen ends it after a grace', () => {
    const { effects, clock, ends, step } = stage()
    const op = step()
    effects.release(op)
    effects.abort(op, 'enough')
    clock.advance(1_999)
    expect(ends).toEqual([])
    clock.advance(1)
    expect(ends).toMatchObject([{ outcome: { status: 'cancelled', reason: 'enough' } }])
  })

  test('during a backoff ends it at once, and no attempt follows', async () => {
    const { effects, clock, calls, ends, step } = stage()
    const op = step({ retry: { ...noJitter, backoffMs: 100 } })
    effects.release(op)
    calls[0]!.fail(passing())
    await settled()
    effects.abort(op, 'enough')
    expect(ends).toMatchObject([{ outcome: { status: 'cancelled' } }])
    clock.advance(1_000)
    expect(calls).toHaveLength(1)
  })

  test('by a pause has no end: the effect is called back and may be let out again with its key', async () => {
    const { effects, calls, ends, calledBack, step } = stage()
    const op = step()
    effects.release(op)
    effects.abort(op, 'paused', true)
    calls[0]!.fail(new Cancelled('paused'))
    await settled()
    expect([ends, calledBack, effects.has(op)]).toEqual([[], ['pay'], false])
    effects.release(op)
    expect(calls.map(({ key, attempt }) => [key, attempt])).toEqual([
      [`${owner.id}:pay`, 1],
      [`${owner.id}:pay`, 1],
    ])
  })

  test('of what has ended or is not out changes nothing', async () => {
    const { effects, calls, ends, step } = stage()
    const op = step()
    expect(effects.abort(op, 'never let out')).toBe(false)
    effects.release(op)
    calls[0]!.end('done')
    await settled()
    expect(effects.abort(op, 'too late')).toBe(false)
    expect(ends).toMatchObject([{ outcome: { status: 'completed' } }])
  })
})

describe('K6: one flight for each operation', () => {
  test('an activation that is read again joins the effect in flight: it runs once, and the new one hears its end', async () => {
    const { effects, calls, ends, step } = stage()
    effects.release(step({}, 'once'))
    effects.release(step({}, 'once'))
    expect([calls.length, effects.size, effects.isAwaited]).toEqual([1, 1, true])
    calls[0]!.end('once')
    await settled()
    expect([ends.length, effects.isAwaited]).toEqual([1, false])
  })

  test('an end that is not durable yet is told again to who joins; a forgotten one is not', async () => {
    const { effects, calls, ends, step } = stage()
    const op = step({}, 'once')
    effects.release(op)
    calls[0]!.end('once')
    await settled()
    effects.release(step({}, 'once'))
    expect([calls.length, ends.length]).toEqual([1, 2])
    effects.forget(op.effectKey)
    expect([effects.size, effects.any(owner.id)]).toEqual([0, false])
  })

  test('effects of a run that another process has are aborted, and their ends are dropped', async () => {
    const { effects, calls, ends, calledBack, step } = stage()
    effects.release(step())
    const { signal } = calls[0]!
    effects.forgetAll('run_1' as RunId)
    expect([signal.aborted, effects.size]).toEqual([true, 0])
    calls[0]!.end('ours no more')
    await settled()
    expect([ends, calledBack]).toEqual([[], []])
  })
})

describe('closing', () => {
  test('waits for every effect that is under way, and aborts none that ends in its time', async () => {
    const { effects, calls, ends, step } = stage()
    effects.release(step({}, 'idempotent', 'a'))
    effects.release(step({}, 'once', 'b'))
    const left: number[] = []
    const drain = effects.drain(60_000, () => left.push(effects.underWay.steps))
    calls[0]!.end('done')
    calls[1]!.end('done')
    await drain
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false])
    expect(ends.map(({ address }) => address)).toEqual(['a', 'b'])
    expect(left).toEqual([2, 1, 0])
  })

  test('an attempt that fails meanwhile is recorded, and no other follows here', async () => {
    const { effects, clock, calls, ends, failed, step } = stage()
    effects.release(step({ retry: { attempts: 3 } }, 'idempotent', 'a'))
    const drain = effects.drain(60_000)
    calls[0]!.fail(passing())
    await drain
    clock.advance(60_000)
    await settled()
    expect([calls.length, failed.length, ends]).toEqual([1, 1, []])
  })

  test('one that waits for its next attempt is not waited for', async () => {
    const { effects, clock, calls, ends, step } = stage()
    effects.release(step({ retry: { attempts: 3 } }, 'idempotent', 'a'))
    calls[0]!.fail(passing())
    await settled()
    await effects.drain(60_000)
    clock.advance(60_000)
    await settled()
    expect([calls.length, ends]).toEqual([1, []])
  })

  test('without a grace it aborts what can run again, without an end', async () => {
    const { effects, calls, ends, step } = stage()
    effects.release(step({}, 'idempotent', 'a'))
    const { signal } = calls[0]!
    const drain = effects.drain(0)
    expect(signal.aborted).toBe(true)
    await drain
    calls[0]!.fail(signal.reason)
    await settled()
    expect(ends).toEqual([])
  })

  test('gives up a `once` effect that does not end: it has no end, so it will be in doubt', async () => {
    const { effects, calls, ends, step } = stage()
    effects.release(step({}, 'once'))
    const drain = effects.drain(0)
    expect([calls[0]!.signal.aborted, effects.isAwaited]).toEqual([true, true])
    calls[0]!.fail(calls[0]!.signal.reason)
    await drain
    expect([ends, effects.isAwaited]).toEqual([[], false])
  })
})

describe('settlement', () => {
  test('what the result says it used is in the end', async () => {
    const { effects, calls, ends, step } = stage()
    effects.release(step({ settle: () => ({ charge: { turns: 1, tokens: 10, usd: 0 } }) }))
    calls[0]!.end({ tokens: 10 })
    await settled()
    expect(ends).toMatchObject([{ outcome: { status: 'completed' }, charge: { turns: 1, tokens: 10, usd: 0 } }])
  })

  test('what is done is done: a settle that throws leaves only its use unknown', async () => {
    const { effects, calls, ends, step } = stage()
    const settle = (): never => {
      throw lasting()
    }
    effects.release(step({ settle }))
    calls[0]!.end('fine')
    await settled()
    expect(ends).toMatchObject([{ outcome: { status: 'completed', output: 'fine' } }])
    expect(ends[0]).not.toHaveProperty('charge')
  })

  test('an effect that throws before its first await fails like any other, and undefined is null', async () => {
    const { effects, ends, step } = stage()
    const run = (): never => {
      throw lasting()
    }
    effects.release(Object.assign(step({}, 'idempotent', 'a'), { run }))
    effects.release(Object.assign(step({}, 'idempotent', 'b'), { run: () => undefined }))
    await settled()
    expect(ends).toMatchObject(
      [
        { address: 'b', outcome: { status: 'completed', output: null } },
        { address: 'a', outcome: { status: 'failed' } },
      ].toSorted((one, other) => (one.address < other.address ? -1 : 1)),
    )
  })
})
