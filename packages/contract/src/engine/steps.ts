/**
 * Contract: effects. Recorded once, tried as often as their policy says, never repeated without a word if they are
 * `once`.
 */
import assert from 'node:assert/strict'
import { completed, failure, FailureError, type Json, type OpId, type Outcome, type ReeveError } from '@reeve/core'
import { ended, gate, step, until, type Play, type Stage } from './stage.ts'

/** Waits until a run's n-th failed attempt is recorded, then lets its backoff pass. */
async function passBackoff(stage: Stage, run: Awaited<ReturnType<Stage['start']>>, n: number): Promise<void> {
  await until(`attempt ${n} has failed`, async () => (await stage.all(run, 'step.attempt-failed')).length === n)
  const failed = (await stage.all(run, 'step.attempt-failed')).at(-1)!
  stage.clock.advance(failed.delayMs)
}

function cyclic(): object {
  const value: { self?: object } = {}
  value.self = value
  return value
}

/** Leaves a `once` effect in flight while the process dies. */
async function inDoubt(stage: Stage): Promise<Awaited<ReturnType<Stage['start']>>> {
  const paying = gate()
  stage.agent('payer', async (ctx) => ended(ctx, ctx.begin('pay', paying.effect, { effect: 'once' })))
  await stage.drive()
  const run = await stage.start('payer')
  await until('it is being paid', () => paying.waiting === 1)
  stage.forget('payer')
  stage.agent('payer', async (ctx) => ended(ctx, ctx.begin('pay', stage.does('pay', 'paid'), { effect: 'once' })))
  await stage.restart('kill')
  return run
}

const waiting: readonly Play[] = [
  {
    invariant: 'K3',
    name: 'waiting under an id that cannot end is an error: already read, already awaited, never begun',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        const seen: string[] = []
        const refused = async (id: OpId): Promise<void> => {
          await ctx.next(id).catch((thrown: unknown) => seen.push((thrown as ReeveError).code))
        }
        const id = ctx.begin('s', wait.effect)
        const first = ctx.next(id)
        await refused(id)
        await first
        await refused(id)
        await refused('typo' as OpId)
        // Something that has ended and was not read can still be read, once.
        const early = ctx.begin('early', stage.does('early'))
        await ended(ctx, ctx.begin('late', stage.does('late')))
        seen.push((await ended(ctx, early)).status)
        return seen
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it is out', () => wait.waiting === 1)
      wait.open()
      const code = 'orchestration.nothing-to-await'
      assert.deepEqual(await stage.outcome(run), completed([code, code, code, 'completed']))
    },
  },
]

const once: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'a once effect in flight at a crash is asked about; "it happened" ends it without repeating it',
    restarts: true,
    async play(stage) {
      const run = await inDoubt(stage)
      const asked = await stage.question(run, 'in-doubt')
      assert.equal(asked.address, 'pay')
      assert.equal(
        await stage.post({
          type: 'settle-doubt',
          activation: asked.activation,
          address: asked.address,
          happened: true,
          value: 'receipt 7',
        }),
        'accepted',
      )
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: 'receipt 7' })
      assert.equal(stage.count('pay'), 0)
    },
  },
  {
    invariant: 'K6',
    name: 'a once effect in doubt that did not happen runs once more; the first word counts',
    restarts: true,
    async play(stage) {
      const run = await inDoubt(stage)
      const asked = await stage.question(run, 'in-doubt')
      const word = { type: 'settle-doubt', activation: asked.activation, address: asked.address } as const
      const words = await Promise.all([
        stage.post({ ...word, happened: false }),
        stage.post({ ...word, happened: true, value: 'no' }),
      ])
      // Which of two that come at once is the first one is for the store to say.
      assert.deepEqual(words.toSorted(), ['accepted', 'lost'])
      const again = words[0] === 'accepted'
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: again ? 'paid' : 'no' })
      assert.equal(stage.count('pay'), again ? 1 : 0)
    },
  },
  {
    invariant: 'K6',
    name: 'a doubt outlives another crash, unanswered',
    restarts: true,
    async play(stage) {
      const run = await inDoubt(stage)
      const first = await stage.question(run, 'in-doubt')
      await stage.restart('kill')
      await stage.fence()
      assert.deepEqual(await stage.question(run, 'in-doubt'), first)
      assert.equal(stage.count('pay'), 0)
      await stage.post({ type: 'settle-doubt', activation: first.activation, address: first.address, happened: true })
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: null })
      assert.equal((await stage.all(run, 'effect.in-doubt')).length, 1)
    },
  },
  {
    invariant: 'K6',
    name: 'a once effect fails at its first failure',
    async play(stage) {
      const failing = (): Json => {
        stage.ran.push('fail')
        throw new Error('no')
      }
      stage.agent(
        'a',
        async (ctx) =>
          (await ended(ctx, ctx.begin('s', failing, { effect: 'once', retry: { attempts: 5, backoffMs: 0 } }))).status,
      )
      await stage.drive()
      assert.deepEqual((await stage.play('a')).outcome, { status: 'completed', output: 'failed' })
      assert.equal(stage.count('fail'), 1)
    },
  },
]

const retries: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'a failed attempt is followed by another with the same key, up to three',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) =>
        ended(ctx, ctx.begin('s', wait.effect, { retry: { backoffMs: 1_000, jitter: false } })),
      )
      await stage.drive()
      const run = await stage.start('a')
      for (const attempt of [1, 2, 3]) {
        await until(`attempt ${attempt}`, () => wait.waiting === 1)
        wait.fail(new Error(`no ${attempt}`))
        if (attempt < 3) await passBackoff(stage, run, attempt)
      }
      const outcome = await stage.outcome(run)
      assert.ok(outcome.status === 'failed')
      assert.equal(outcome.failure.message, 'no 3')
      assert.deepEqual(wait.attempts, [1, 2, 3])
      assert.equal(new Set(wait.keys).size, 1)
      assert.deepEqual(
        (await stage.all(run, 'step.attempt-failed')).map((e) => [e.attempt, e.delayMs]),
        [
          [1, 1_000],
          [2, 2_000],
        ],
      )
    },
  },
  {
    invariant: 'K6',
    name: 'no attempt before its backoff, and never earlier than the other side asked',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) =>
        ended(ctx, ctx.begin('s', wait.effect, { retry: { backoffMs: 100, jitter: false } })),
      )
      await stage.drive()
      const run = await stage.start('a')
      await until('the first attempt', () => wait.waiting === 1)
      wait.fail(new FailureError(failure('model.rate-limited', 'slow down', 'rate-limit', { retryAfterMs: 7_000 })))
      await until('the attempt has failed', async () => stage.has(run, 'step.attempt-failed'))
      stage.clock.advance(6_999)
      await stage.fence()
      assert.equal(wait.attempts.length, 1)
      stage.clock.advance(1)
      await until('the second attempt', () => wait.waiting === 1)
      wait.open('ok')
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: 'ok' })
    },
  },
  {
    invariant: 'K6',
    name: 'what is not retryable is not tried again',
    async play(stage) {
      const refuse = (): Json => {
        stage.ran.push('refuse')
        throw new FailureError(failure('tool.invalid-input', 'bad', 'validation'))
      }
      stage.agent('a', async (ctx) => ended(ctx, ctx.begin('s', refuse)))
      await stage.drive()
      const { outcome } = await stage.play('a')
      assert.ok(outcome.status === 'failed' && outcome.failure.code === 'tool.invalid-input')
      assert.equal(stage.count('refuse'), 1)
    },
  },
  {
    invariant: 'K6',
    name: 'attempts go on counting after a crash, with the same key',
    restarts: true,
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) =>
        ended(ctx, ctx.begin('s', wait.effect, { retry: { attempts: 2, backoffMs: 10, jitter: false } })),
      )
      await stage.drive()
      const run = await stage.start('a')
      await until('attempt 1', () => wait.waiting === 1)
      wait.fail(new Error('first'))
      await passBackoff(stage, run, 1)
      await until('attempt 2', () => wait.waiting === 1)
      await stage.restart('kill')
      await until('attempt 2 again', () => wait.waiting === 2)
      wait.fail(new Error('second'))
      const outcome = await stage.outcome(run)
      assert.ok(outcome.status === 'failed' && outcome.failure.message === 'second')
      assert.deepEqual(wait.attempts, [1, 2, 2])
      assert.equal(new Set(wait.keys).size, 1)
    },
  },
  {
    invariant: 'K6',
    name: 'an attempt that takes too long is aborted and tried again, also if it does not listen',
    async play(stage) {
      const wait = gate(true)
      stage.agent('a', async (ctx) =>
        ended(
          ctx,
          ctx.begin('s', wait.effect, {
            timeoutMs: 60_000,
            retry: { attempts: 2, backoffMs: 600_000, maxBackoffMs: 600_000, jitter: false },
          }),
        ),
      )
      await stage.drive()
      const run = await stage.start('a')
      await until('attempt 1', () => wait.waiting === 1)
      stage.clock.advance(59_999)
      assert.equal(wait.aborted, 0)
      stage.clock.advance(1)
      assert.equal(wait.aborted, 1)
      await until('the attempt has failed', async () => {
        stage.clock.advance(1_000)
        return stage.has(run, 'step.attempt-failed')
      })
      stage.clock.advance(600_000)
      await until('attempt 2', () => wait.waiting === 2)
      wait.open('late but here')
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: 'late but here' })
      assert.deepEqual(
        (await stage.all(run, 'step.attempt-failed')).map((e) => e.failure.code),
        ['effect.timed-out'],
      )
    },
  },
]

export const stepCases: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'a recorded step never runs again',
    restarts: true,
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        const first = await step(ctx, 'first', stage.does('first'))
        return [first, await step(ctx, 'wait', wait.effect), await step(ctx, 'last', stage.does('last'))]
      })
      await stage.drive()
      const run = await stage.start('a')
      for (const [n, how] of (['kill', 'close', 'kill'] as const).entries()) {
        await until('the second step is out', () => wait.attempts.length === n + 1)
        await stage.restart(how)
      }
      await until('the second step is out again', () => wait.attempts.length === 4)
      wait.open('waited')
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: ['first', 'waited', 'last'] })
      assert.deepEqual(stage.ran, ['first', 'last'])
      assert.deepEqual(new Set(wait.attempts), new Set([1]))
    },
  },
  {
    invariant: 'K10',
    name: 'live code gets what was recorded, not what the effect returned',
    async play(stage) {
      const given = { date: new Date(0), gone: undefined, kept: 1 }
      stage.agent('a', async (ctx) => step(ctx, 's', () => given as never))
      stage.agent('broken', async (ctx) =>
        ended(
          ctx,
          ctx.begin('s', () => ({ big: 1n }) as never, { retry: { attempts: 1 } }),
        ),
      )
      await stage.drive()
      assert.deepEqual((await stage.play('a')).outcome, {
        status: 'completed',
        output: { date: '1970-01-01T00:00:00.000Z', kept: 1 },
      })
      // what was done stays done: of what JSON does not take, the rest is recorded, and what was changed
      assert.deepEqual((await stage.play('broken')).outcome, {
        status: 'completed',
        output: { big: '1' },
        kept: { as: 'form', why: 'result.big is a bigint, kept as its digits' },
      })
    },
  },
  {
    invariant: 'K10',
    name: 'a value that JSON would change is refused as stored value and question; as result and output what can be is kept',
    async play(stage) {
      const own = new (class Own {
        readonly kept = 1
      })()
      let deep: Json = 1
      for (let i = 0; i < 1_100; i++) deep = [deep]
      const bad: readonly (readonly [string, unknown])[] = [
        ['NaN', NaN],
        ['a map', new Map([[1, 2]])],
        ['an error', new Error('lost')],
        ['a function', () => 1],
        ['a symbol', Symbol('x')],
        ['an instance of a class', { at: own }],
        ['undefined in a list', [undefined]],
        ['a cycle', cyclic()],
        ['a value that is too deep', deep],
      ]
      let value: unknown
      const codes = async (what: string, due: string, play: () => Promise<Outcome>): Promise<void> => {
        for (const [name, each] of bad) {
          value = each
          const outcome = await play()
          assert.equal(outcome.status === 'failed' ? outcome.failure.code : outcome.status, due, `${what}: ${name}`)
        }
      }
      const thrown = (work: Promise<Json>): Promise<Json> =>
        work.catch((error: { readonly code: string }) => {
          throw new FailureError(failure(error.code as never, 'refused', 'validation'))
        })
      stage.agent('steps', (ctx) =>
        ended(
          ctx,
          ctx.begin('s', () => value as never),
        ),
      )
      stage.agent('values', (ctx) => thrown(ctx.values.update('k', () => value as Json)))
      stage.agent('asks', async (ctx) => {
        const as = { type: 'interrupt.raised', id: ctx.id('int'), question: { at: value as Json }, path: [] } as const
        return thrown(Promise.resolve().then(() => ctx.ask('q', { as })))
      })
      stage.agent('gives', () => Promise.resolve(value as Json))
      await stage.drive()
      await codes('a result', 'completed', async () => (await stage.play('steps')).outcome)
      await codes('a new value', 'input.not-json', async () => (await stage.play('values')).outcome)
      await codes('a question', 'input.not-json', async () => (await stage.play('asks')).outcome)
      await codes('an output', 'completed', async () => (await stage.play('gives')).outcome)
    },
  },
  {
    invariant: 'K4',
    name: 'two effects of one name may not be open in one scope; in scopes of their own they may',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        ctx.begin('same', wait.effect)
        try {
          ctx.begin('same', wait.effect)
        } catch (thrown) {
          return (thrown as { code: string }).code
        }
        return 'no error'
      })
      stage.agent('b', async (ctx) => {
        const ids = [1, 2, 3].map((n) => ctx.scope('branch').begin('same', () => n))
        const outputs: Json[] = []
        for (const id of ids)
          outputs.push(await ended(ctx, id).then((o) => (o.status === 'completed' ? o.output : null)))
        return [...outputs, ...ids]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('a')).outcome, { status: 'completed', output: 'orchestration.address-in-use' })
      assert.deepEqual((await stage.play('b')).outcome, {
        status: 'completed',
        output: [1, 2, 3, 'branch/same', 'branch#1/same', 'branch#2/same'],
      })
    },
  },
  ...retries,
  ...once,
  ...waiting,
]
