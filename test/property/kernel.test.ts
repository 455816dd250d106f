/** Properties of the kernel under random input: journal, inbox, lease, budget. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completed, rootActivation, runId, type Json, type SessionId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import { Account, reserveAll, type AccountLimits, type Context, type Orchestration } from '@reeve/engine'
import type { Charge } from '@reeve/journal'
import { adversarialEngine } from '../../packages/contract/src/index.ts'
import { checkJournal, manualClock, verifyJournal } from '@reeve/testing'
import { registryOf } from '../replay/scenarios.ts'
import { fastClock } from '../scenario/team.ts'

const runs = { numRuns: 40 }
const run = runId('run_p')
const code = (name: string, body: (ctx: Context, input: Json) => Promise<Json>): Orchestration => ({
  name,
  version: '1',
  run: async (ctx, input) => completed(await body(ctx, input)),
})

/** A random piece of work: what to do, in order; `all` are branches at once. */
type Plan = { do: 'step' | 'fact' | 'value' } | { do: 'worker' | 'all'; plans: readonly Plan[] }
const { plan } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ do: fc.constantFrom('step' as const, 'fact' as const, 'value' as const) }),
    fc.record({
      do: fc.constantFrom('worker' as const, 'all' as const),
      plans: fc.array(tie('plan'), { maxLength: 4 }),
    }),
  ),
}))

async function follow(ctx: Context, one: Plan): Promise<number> {
  switch (one.do) {
    case 'step': {
      const { outcome } = await ctx.next(ctx.begin('step', () => 1))
      return outcome.status === 'completed' ? (outcome.output as number) : NaN
    }
    case 'fact':
      ctx.emit({ type: 'fact.noted', name: 'fact', data: 1 })
      return 0
    case 'value':
      await ctx.values.update('n', (value) => ((value as number | null) ?? 0) + 1)
      return 1
    case 'worker': {
      const { outcome } = await ctx.next(ctx.start('planned', one.plans))
      return outcome.status === 'completed' ? (outcome.output as number) : NaN
    }
    case 'all':
      return (await Promise.all(one.plans.map((each) => follow(ctx.scope('branch'), each)))).reduce((a, b) => a + b, 0)
  }
}
const planned = code('planned', async (ctx, plans) => {
  let sum = 0
  for (const one of plans as unknown as readonly Plan[]) sum += await follow(ctx.scope('next'), one)
  return sum
})
const size = (one: Plan): number =>
  'plans' in one ? one.plans.reduce((sum, each) => sum + size(each), 0) : one.do === 'fact' ? 0 : 1

describe('journal', () => {
  test('K1: the journal of any run is gapless, ends once and replays to itself, also on the adversarial engine', async () => {
    const registry = registryOf([planned])
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { maxLength: 6 }), fc.string(), async (plans, seed) => {
        const want = plans.reduce((sum, each) => sum + size(each), 0)
        for (const engine of [
          createEmbeddedEngine({ file: ':memory:', strict: true }),
          adversarialEngine({ seed, strict: true, clock: fastClock() }),
        ]) {
          await engine.drive(registry)
          await engine.start({ run, agent: 'planned', version: '1', input: plans })
          expect((await engine.outcome(run)).outcome).toEqual(completed(want))
          const events = await engine.read(run)
          expect(checkJournal(events)).toEqual([])
          expect((await verifyJournal(events, registry)).problems).toEqual([])
          await engine.close()
        }
      }),
      runs,
    )
  }, 60_000)

  test('K1: updates of a value are compared and set: none is lost, each is seen once', async () => {
    const adder = code('adder', async (ctx, by) =>
      ctx.values.update('n', (value) => ((value as number | null) ?? 0) + (by as number)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(100), { minLength: 1, maxLength: 12 }), async (amounts) => {
        const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
        engine.drive(registryOf([adder]))
        const session = 'ses_p' as SessionId
        await Promise.all(
          amounts.map((amount, i) =>
            engine.start({ run: runId(`r${i}`), agent: 'adder', version: '1', input: amount, caller: { session } }),
          ),
        )
        const outputs = await Promise.all(amounts.map(async (_, i) => (await engine.outcome(runId(`r${i}`))).outcome))
        const seen = outputs.map((o) => (o.status === 'completed' ? (o.output as number) : NaN))
        expect(Math.max(...seen)).toBe(amounts.reduce((a, b) => a + b, 0))
        for (const [i, after] of seen.entries()) expect([0, ...seen]).toContain(after - amounts[i]!)
        await engine.close()
      }),
      runs,
    )
  }, 60_000)
})

describe('inbox', () => {
  test('K2: each posted id arrives once, in the order of its first post', async () => {
    const reader = code('reader', async (ctx, n) => {
      const got: Json[] = []
      while (got.length < (n as number)) {
        const message = await ctx.next()
        if (message.type === 'message') got.push(message.body)
      }
      return got
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(8), { minLength: 1, maxLength: 30 }), fc.boolean(), async (ids, atOnce) => {
        const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
        engine.drive(registryOf([reader]))
        const first = [...new Set(ids)]
        await engine.start({ run, agent: 'reader', version: '1', input: first.length })
        const post = (id: number): Promise<unknown> =>
          engine.post({ type: 'message', activation: rootActivation(run), id: `m${id}`, body: id })
        if (atOnce) await Promise.all(ids.map(post))
        else for (const id of ids) await post(id)
        expect((await engine.outcome(run)).outcome).toEqual(completed(first))
        await engine.close()
      }),
      runs,
    )
  }, 60_000)
})

describe('lease', () => {
  test('K2: two engines on one file: one drives a run at a time, and no step is recorded twice', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'reeve-lease-'))
    const worker = code('worker', async (ctx) => {
      const got: Json[] = []
      for (let n = 0; n < 3; n++) {
        const { outcome } = await ctx.next(
          ctx.scope('s').begin('step', async () => new Promise<Json>((resolve) => setImmediate(resolve, n))),
        )
        got.push(outcome.status === 'completed' ? outcome.output : outcome.status)
      }
      return got
    })
    const registry = registryOf([worker])
    let store = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('start', 'swap', 'turn'), { minLength: 2, maxLength: 12 }),
        async (acts) => {
          const file = join(dir, `${store++}.db`)
          const open = (): EmbeddedEngine => {
            const engine = createEmbeddedEngine({
              file,
              strict: true,
              durability: 'relaxed',
              pollMs: 2,
              onWarning: () => {},
            })
            engine.drive(registry)
            return engine
          }
          const engines = [open(), open()]
          const started: ReturnType<typeof runId>[] = []
          for (const [i, act] of acts.entries()) {
            const at = i % 2
            if (act === 'start') {
              started.push(runId(`r${started.length}`))
              await engines[at]!.start({ run: started.at(-1)!, agent: 'worker', version: '1', input: null })
            } else if (act === 'swap') {
              await engines[at]!.close()
              engines[at] = open()
            } else await new Promise((resolve) => setImmediate(resolve))
          }
          for (const id of started) {
            expect((await engines[0]!.outcome(id)).outcome).toEqual(completed([0, 1, 2]))
            expect(checkJournal(await engines[1]!.read(id))).toEqual([])
          }
          for (const engine of engines) await engine.close()
        },
      ),
      { numRuns: 15 },
    )
    rmSync(dir, { recursive: true })
  }, 60_000)
})

const dimensions = ['turns', 'tokens'] as const

/** What a reservation that was granted may not have brought about. */
function overLimit(account: Account, charge: Charge): string[] {
  const { limits, spent, reserved } = account.state()
  const over = dimensions.filter((d) => (charge[d] ?? 0) > 0 && spent[d] + reserved[d] > (limits[d] ?? Infinity))
  return over.map((d) => `${d}: ${spent[d]} spent, ${reserved[d]} reserved, limit ${limits[d]}`)
}

describe('budget', () => {
  const amount = fc.integer({ min: 0, max: 60 })
  const charge: fc.Arbitrary<Charge> = fc.record({ turns: fc.nat(2), tokens: amount })
  const command = fc.oneof(
    fc.record({ reserve: charge }),
    fc.record({ settle: fc.nat(5), actual: fc.option(charge, { nil: undefined }) }),
  )

  test('K8: spent and reserved never exceed a limit at a reservation, on any account; settling keeps the sum', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            tokens: fc.option(fc.nat(150), { nil: undefined }),
            turns: fc.option(fc.nat(6), { nil: undefined }),
          }),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
        fc.array(command, { maxLength: 40 }),
        (limits, commands) => {
          const accounts = limits.map(
            (limit, i) => new Account(`act_${i}` as never, JSON.parse(JSON.stringify(limit)) as AccountLimits),
          )
          const open: Charge[] = []
          const spent = { turns: 0, tokens: 0 }
          const problems: string[] = []
          const totals = (): object[] =>
            accounts.map((account) => {
              const { spent: used, reserved } = account.state()
              return {
                spent: { turns: used.turns, tokens: used.tokens },
                reserved: { turns: reserved.turns, tokens: reserved.tokens },
              }
            })
          const sum = (d: 'turns' | 'tokens'): number => open.reduce((all, one) => all + (one[d] ?? 0), 0)
          for (const one of commands) {
            if ('reserve' in one) {
              if (reserveAll(accounts, one.reserve) !== undefined) continue
              open.push(one.reserve)
              problems.push(...accounts.flatMap((account) => overLimit(account, one.reserve)))
            } else {
              const [reserved] = open.splice(one.settle % Math.max(open.length, 1), 1)
              if (reserved === undefined) continue
              for (const account of accounts) account.settle(reserved, one.actual)
              for (const d of dimensions) spent[d] += one.actual?.[d] ?? reserved[d] ?? 0
            }
            const want = { spent: { ...spent }, reserved: { turns: sum('turns'), tokens: sum('tokens') } }
            expect(totals()).toEqual(accounts.map(() => want))
          }
          expect(problems).toEqual([])
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('time', () => {
  test('K2: manual timers fire in order of time, then of setting, once each, unless called off', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.integer({ min: 1, max: 50 }), off: fc.boolean() }), { maxLength: 20 }),
        fc.array(fc.nat(20), { maxLength: 20 }),
        (timers, steps) => {
          const clock = manualClock(0)
          const fired: number[] = []
          timers
            .map(({ at }, i) => clock.timer(at, () => fired.push(i)))
            .forEach((callOff, i) => timers[i]!.off && callOff())
          for (const step of steps) clock.advance(step)
          const due = timers
            .map(({ at, off }, i) => ({ at, off, i }))
            .filter(({ at, off }) => !off && at <= clock.now())
          expect(fired).toEqual(due.sort((a, b) => a.at - b.at || a.i - b.i).map(({ i }) => i))
        },
      ),
    )
  })
})
