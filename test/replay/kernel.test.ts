/**
 * Invariants of the kernel that need a look inside one process: quiescence, foreign awaits, output commit, faithful
 * replay.
 */
import { describe, expect, test } from 'vitest'
import { completed, runId, type ActivationId, type Json, type OpId, type Outcome } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine, type EmbeddedOptions } from '@reeve/sqlite'
import type { Context, Orchestration, StepOptions } from '@reeve/engine'
import type { Recorded } from '@reeve/journal'
import { simulate, verifyJournal, verifyReplay } from '@reeve/testing'
import { registryOf, scenarios } from './scenarios.ts'

type Body = (ctx: Context, input: Json) => Promise<Json>
const code = (name: string, body: Body): Orchestration => ({
  name,
  version: '1',
  run: async (ctx, input) => completed(await body(ctx, input)),
})
const run = runId('run_k')
const model: StepOptions = { effect: 'model' }

async function outcomeOf(ctx: Context, id: OpId | ActivationId): Promise<Outcome> {
  return (await ctx.next(id as OpId)).outcome
}
async function step(ctx: Context, name: string, value: Json, options?: StepOptions): Promise<Json> {
  const outcome = await outcomeOf(
    ctx,
    ctx.begin(name, () => value, options),
  )
  return outcome.status === 'completed' ? outcome.output : outcome.status
}

/** Plays `lead` in memory. */
async function play(
  agents: readonly Orchestration[],
  options: Partial<EmbeddedOptions> = {},
  input: Json = null,
): Promise<{ engine: EmbeddedEngine; outcome: Outcome; events: readonly Recorded[]; commits: number }> {
  const engine = createEmbeddedEngine({ file: ':memory:', strict: true, onWarning: () => {}, ...options })
  engine.drive(registryOf(agents))
  await engine.start({ run, agent: 'lead', version: '1', input })
  const { outcome } = await engine.outcome(run)
  const { commits } = engine.driver
  const events = await engine.read(run)
  await engine.close()
  return { engine, outcome, events, commits }
}

describe('K3', () => {
  const hops = code('lead', async (ctx) => {
    const order: string[] = []
    const branch = async (name: string, turns: number): Promise<void> => {
      const scope = ctx.scope(name)
      await step(scope, 's', name)
      for (let i = 0; i < turns; i++) await Promise.resolve()
      order.push(name)
      scope.emit({ type: 'fact.noted', name: 'at', data: order.length })
    }
    await Promise.all([branch('a', 50), branch('b', 5), branch('c', 0)])
    return order
  })

  test('K3: of three ends in one tick each is worked off before the next is delivered, live and on replay', async () => {
    const { outcome, events } = await play([hops])
    expect(outcome).toEqual(completed(['a', 'b', 'c']))
    expect((await verifyJournal(events, registryOf([hops]))).problems).toEqual([])
  })

  test('K3: code that awaits something foreign has failed in strict mode, and is warned of otherwise', async () => {
    let open: () => void = () => {}
    const foreign = code('lead', async () => {
      await new Promise<void>((resolve) => (open = resolve))
      return 'by luck'
    })
    const { outcome } = await play([foreign])
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'orchestration.foreign-await' } })
    const warnings: string[] = []
    const onWarning = (warned: string): void => {
      warnings.push(warned)
      setImmediate(open)
    }
    expect((await play([foreign], { strict: false, onWarning })).outcome).toEqual(completed('by luck'))
    expect(warnings).toEqual(['orchestration.foreign-await'])
  })

  test('K3: time, chance and ids are the same on replay', async () => {
    const seen: Json[][] = []
    const lead = code('lead', async (ctx) => {
      await step(ctx, 'first', 1)
      const drawn = [ctx.now().getTime(), ctx.random(), ctx.random(), ctx.scope('x').random(), ctx.id('a'), ctx.id('a')]
      seen.push(drawn)
      return new Set(drawn).size
    })
    const { outcome, events } = await play([lead])
    expect(outcome).toEqual(completed(6))
    expect((await verifyJournal(events, registryOf([lead]))).problems).toEqual([])
    expect(seen[1]).toEqual(seen[0])
  })
})

describe('K5', () => {
  const worker = code('worker', async (ctx) => step(ctx, 'model', 'done', model))
  const times = async (leader: (turn: Context) => Promise<unknown>, input: number): Promise<number> => {
    const lead = code('lead', async (ctx, n) => {
      for (let i = 0; i < (n as number); i++) await leader(ctx.scope('turn'))
      return null
    })
    return (await play([lead, worker], {}, input)).commits
  }
  const perDelegation = async (leader: (turn: Context) => Promise<unknown>): Promise<number> =>
    ((await times(leader, 60)) - (await times(leader, 10))) / 50

  test('K5: a model leader with a model worker costs two commits per delegation, a rule leader one', async () => {
    const delegate = async (turn: Context): Promise<unknown> => outcomeOf(turn, turn.start('worker', null))
    expect(await perDelegation(async (turn) => [await step(turn, 'model', 'call', model), await delegate(turn)])).toBe(
      2,
    )
    expect(await perDelegation(delegate)).toBe(1)
  })

  test('K5: an effect leaves only when the entry that asks for it is durable', async () => {
    const seen: boolean[] = []
    const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
    const asked = async (address: string): Promise<boolean> =>
      (await engine.read(run)).some(({ event }) => event.type === 'step.begun' && event.address === address)
    const lead = code('lead', async (ctx) => {
      const ids = ['a', 'b', 'c'].map((name) => ctx.begin(name, async () => seen.push(await asked(name))))
      for (const id of ids) await ctx.next(id)
      await ctx.next(ctx.begin('d', async () => seen.push(await asked('d'))))
      return null
    })
    engine.drive(registryOf([lead]))
    await engine.start({ run, agent: 'lead', version: '1', input: null })
    await engine.outcome(run)
    await engine.close()
    expect(seen).toEqual([true, true, true, true])
  })
})

describe('K10', () => {
  for (const scenario of scenarios) {
    test(`K10: ${scenario.name}: replayed from its complete journal it appends nothing and calls nothing`, async () => {
      const report = await simulate(scenario, { points: [] })
      expect(report.points).toBe(0)
      expect(report.differences).toEqual([])
    })
  }

  const effects: string[] = []
  const lead = (order: readonly string[], result = 'done'): Orchestration =>
    code('lead', async (ctx) => {
      for (const name of order) {
        await outcomeOf(
          ctx,
          ctx.begin(name, () => {
            effects.push(name)
            return name
          }),
        )
      }
      return result
    })

  test('K10: a replay by changed code is detected: another order, another outcome, something new or missing', async () => {
    const { events } = await play([lead(['a', 'b'])])
    effects.length = 0
    const problems = async (other: Orchestration): Promise<string> =>
      (await verifyJournal(events, registryOf([other]))).problems.join('\n')
    expect(await problems(lead(['a', 'b']))).toBe('')
    expect(await problems(lead(['b', 'a']))).toMatch(/asks for b where a is recorded/)
    expect(await problems(lead(['a', 'b'], 'other'))).toMatch(/the outcome is .*other/)
    expect(await problems(lead(['a', 'b', 'c']))).toMatch(/appends .*"c"/)
    expect(await problems(lead(['a']))).toMatch(/never asks for b/)
    expect(effects).toEqual([])
  })

  test('K10: a journal that was tampered with is found out', async () => {
    const { events } = await play([lead(['a', 'b'])])
    const problems = async (other: readonly Recorded[]): Promise<string> =>
      (
        await verifyJournal(other, registryOf([lead(['a', 'b'])])).catch((thrown: Error) => ({
          problems: [thrown.message],
        }))
      ).problems.join('\n')
    expect(await problems(events.filter(({ seq }) => seq !== 2))).toMatch(/seq|missing/)
    expect(await problems(events.slice(0, -1))).toMatch(/no end/)
    expect(await problems([...events, { ...events.at(-1)!, seq: events.length, position: 999 }])).toMatch(
      /after its end/,
    )
    expect(
      await problems(
        events.map((entry) =>
          entry.seq === 4 ? { ...entry, event: { ...entry.event, address: 'other' } as Recorded['event'] } : entry,
        ),
      ),
    ).not.toBe('')
  })

  test('K10: a finished run is verified where it is stored', async () => {
    const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
    const registry = registryOf([lead(['a', 'b'])])
    engine.drive(registry)
    await engine.start({ run, agent: 'lead', version: '1', input: null })
    await engine.outcome(run)
    expect(await verifyReplay(engine, registry, run)).toEqual({ activations: 1, events: 6, problems: [] })
    await engine.close()
  })
})
