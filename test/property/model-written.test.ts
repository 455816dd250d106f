/**
 * What a model writes makes humans look more closely, or changes nothing: a plan, a recruit, a brief, a report of
 * arbitrary JSON. Seeded. Spec team R-14 to R-16.
 */
import { describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { canonical, oversightModes, type Json, type JsonObject, type OversightMode, riskLevels } from '@reeve/core'
import { type Oversight } from '@reeve/edge'
import { gateOf } from '@reeve/oversight'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { oversightOf, subjectOf } from '../../packages/team/src/plan/task-oversight.ts'
import { RoleBook } from '../../packages/team/src/plan/roles.ts'
import { validatePlan } from '../../packages/team/src/plan/validate.ts'
import { team } from '@reeve/team'
import { dice } from '../dice.ts'

const random = dice(11)
const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!

const approvals: readonly Json[] = [
  { timeoutMs: 0, onTimeout: 'approve' },
  { timeoutMs: 0 },
  { timeoutMs: -1, onTimeout: 'escalate' },
  { timeoutMs: 'never' },
  { timeoutMs: 9e15, onTimeout: 'reject' },
  { fourEyes: false, approvers: [] },
]
const oversights: readonly Json[] = [
  { mode: 'on-the-loop', approval: { fourEyes: false } },
  { escalate: { sensitive: false } },
  null,
]
/** Members by which a model may try to be looked at less. */
const loosening = (): { readonly [name: string]: Json } => {
  const all: readonly (readonly [string, () => Json])[] = [
    ['approval', () => one(approvals)],
    ['oversight', () => one(oversights)],
    ['escalate', () => ({ sensitive: false, costAboveUsd: false, exceptions: ['publish', 'pay'] })],
    ['mode', () => one(['on-the-loop', 'in-the-loop', 'in-command', ' ON-THE-LOOP '])],
    ['risk', () => one(riskLevels)],
    ['risk_level', () => one(riskLevels)],
    ['requiresApproval', () => one([true, false])],
    ['requires_approval', () => one([true, false])],
    ['review', () => one([true, false])],
    ['required', () => one([true, false])],
    ['sensitive', () => false],
    ['admitted', () => true],
    ['looked', () => true],
    ['trust', () => 'root'],
    ['permissions', () => ({ approval: [] })],
    ['limits', () => ({ turns: 1e9, usd: 1e9 })],
    ['action', () => one(['pay', 'read', 'publish_report', '', '  '])],
    ['estimate', () => one<Json>([{ usd: 0 }, { usd: 500 }, { usd: -500 }, 7])],
    ['tools', () => ['*']],
    ['approvers', () => []],
    ['notify', () => []],
    ['__proto__', () => ({ requiresApproval: false, approval: one(approvals) })],
    ['constructor', () => ({ approval: one(approvals) })],
  ]
  return JSON.parse(
    `{${all
      .filter(() => random() < 0.35)
      .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value())}`)
      .join(',')}}`,
  ) as { readonly [name: string]: Json }
}
const anyOversight = (): Oversight | undefined =>
  one<Oversight | undefined>([
    undefined,
    { mode: one(oversightModes) },
    { mode: 'in-the-loop', approval: { fourEyes: one(riskLevels) } },
    { mode: one(oversightModes), approval: { onTimeout: 'approve', timeoutMs: 60_000 } },
    { escalate: { costAboveUsd: one([0, 1, 10]), scanDescription: true } },
    { trust: 'crew' },
  ])

/** Nothing is looser than no oversight, or than a level of trust, which decides where no mode is named. */
const modeOf = (given: Oversight | undefined): OversightMode =>
  given === undefined ? 'on-the-loop' : (given.mode ?? (given.trust === undefined ? 'in-the-loop' : 'on-the-loop'))

describe('a plan', () => {
  const g = agent({ name: 'g', description: 'g', run: () => 'ok' })
  test('team R-14, R-15: nothing a model writes into its tasks loosens a gate, a risk or a deadline', () => {
    const settings = Array.from({ length: 24 }, () => {
      const [ofTeam, ofRole] = [anyOversight(), anyOversight()]
      const generalist = { agent: g, ...(ofRole === undefined ? {} : { oversight: ofRole }) }
      return { ofTeam, ofRole, roles: new RoleBook('crew', { generalist }, undefined, undefined) }
    })
    let read = 0
    const looser: unknown[] = []
    for (let n = 0; n < 800; n++) {
      const { ofTeam, ofRole, roles } = one(settings)
      const bare = { id: 'a', description: 'Pay.' }
      const said = { ...bare, ...loosening() }
      const { plan, problems } = validatePlan({ subtasks: [said], ...loosening() }, roles, {
        oversight: ofTeam,
        author: 'model',
      })
      const [task] = plan.subtasks
      if (problems.length > 0 || task === undefined) continue
      read++
      const [before, now] = [oversightOf(bare, ofTeam, ofRole), oversightOf(task, ofTeam, ofRole)]
      const without = gateOf(before, subjectOf(bare), modeOf(before))
      const given = gateOf(now, subjectOf(task), modeOf(now))
      const isAsStrict =
        (given.asks || !without.asks) &&
        (given.sensitive || !without.sensitive) &&
        riskLevels.indexOf(given.risk) >= riskLevels.indexOf(without.risk) &&
        oversightModes.indexOf(given.mode) >= oversightModes.indexOf(without.mode) &&
        task.approval === undefined &&
        // who may decide, how many, and what a deadline does stay as they are
        canonical([now?.approval ?? {}, now?.trust ?? '', now?.escalate ?? {}] as Json) ===
          canonical([before?.approval ?? {}, before?.trust ?? '', before?.escalate ?? {}] as Json)
      if (!isAsStrict) looser.push({ said, ofTeam, ofRole })
    }
    expect(looser).toEqual([])
    expect(read).toBeGreaterThan(150)
  })
  test('team R-16: a model’s plan that calls itself approved is still asked about; a code plan’s words hold', async () => {
    const subtasks = [
      { id: 'buy', description: 'Buy.', estimate: { usd: 500 }, approval: { timeoutMs: 0, onTimeout: 'approve' } },
    ] as const
    const plan = { complexity: 0.6, subtasks }
    const ends: unknown[] = []
    for (const planner of [{ model: () => JSON.stringify(plan) }, plan]) {
      const begun: string[] = []
      const buyer = agent({ name: 'buyer', description: 'Buys.', run: () => (begun.push('buy'), 'bought') })
      const crew = team({ name: 'crew', roles: { generalist: buyer }, planner, oversight: { mode: 'in-the-loop' } })
      await using runtime = await createRuntime({ agents: [crew] })
      const run = await runtime.start(crew, 'Go')
      const { status } = planner === plan ? await run.outcome() : await run.until('waiting')
      const [crewed] = (await run.view()).teams
      ends.push([status, begun, crewed!.plan.warnings])
      if (status === 'waiting') await run.control.cancel()
    }
    const ignored = 'task "buy": approval is ignored: a model does not decide how humans are asked'
    expect(ends).toEqual([
      ['waiting', [], [ignored]],
      ['completed', ['buy'], []],
    ])
  })
})

describe('a brief and a recruit', () => {
  const strict: Oversight = { mode: 'in-command', approval: { fourEyes: 'low', timeoutMs: 3_600_000 } }
  /** Answers yes to whatever is asked until nothing is, and says what was. */
  async function asked(
    run: Awaited<ReturnType<Awaited<ReturnType<typeof createRuntime>>['start']>>,
  ): Promise<string[]> {
    const all: string[] = []
    for (;;) {
      const state = await run.until('waiting')
      if (!('waiting' in state)) return all
      const { id, tool, follows } = state.waiting[0]!
      if (follows === undefined) all.push(tool)
      await run.decide({ approvalId: id, decision: 'approve', approver: follows === undefined ? 'ann' : 'bob' })
    }
  }
  test('team R-15: a worker works under its leader’s oversight, whatever the leader adds to the brief', async () => {
    for (let n = 0; n < 6; n++) {
      const edges: JsonObject[] = []
      const worker = agent({ name: 'worker', description: 'w', run: () => 'done' })
      const orders = { worker: 'worker', instructions: 'x', ...loosening() } as Json
      const lead = supervisor({
        name: 'lead',
        workers: [worker],
        oversight: strict,
        model: ({ messages }) =>
          messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'delegate', input: orders }] },
      })
      await using runtime = await createRuntime({ agents: [lead] })
      const run = await runtime.start(lead, 'Go')
      expect(await asked(run)).toEqual(['worker'])
      for await (const { event } of run.events())
        if (event.type === 'activation.started' && event.agent === 'worker') edges.push(event.input as JsonObject)
      expect(edges.map(({ oversight, admitted, permissions }) => ({ oversight, admitted, permissions }))).toEqual([
        { oversight: strict },
      ])
    }
  })
  test('team R-8, R-15: a recruit is asked about, whatever its request adds', async () => {
    for (let n = 0; n < 4; n++) {
      const wish = { description: 'help', role: 'helper', ...loosening() } as { [name: string]: Json }
      delete wish['estimate']
      const member = agent({
        name: 'member',
        description: 'm',
        model: ({ messages }) =>
          messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'recruit_teammate', input: wish }] },
      })
      const helper = agent({ name: 'helper', description: 'h', run: () => 'helped' })
      const crew = team({
        name: 'crew',
        roles: { generalist: member, helper },
        route: 'team',
        planner: { subtasks: [{ id: 'a', description: 'a' }] },
        oversight: strict,
      })
      await using runtime = await createRuntime({ agents: [crew] })
      const run = await runtime.start(crew, 'Go')
      expect(await asked(run)).toEqual(['plan', 'a', 'recruit'])
    }
  })
})

test('team R-14: a model that reports its work as cheaper than it was is looked at for what it cost', async () => {
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    model: ({ messages }) => ({
      ...(messages.at(-1)?.role === 'tool'
        ? { text: 'done' }
        : { calls: [{ name: 'report', input: { confidence: 1, cost_usd: 0 } }] }),
      usage: { input: 1, output: 1, usd: 3 },
    }),
    assess: 'report',
    oversight: {},
  })
  await using runtime = await createRuntime({ agents: [writer] })
  const run = await runtime.start(writer, 'Go')
  const state = await run.until('waiting')
  expect('waiting' in state && state.waiting[0]!.hits).toMatchObject([
    { code: 'cost_limit', detail: 'it costs $6, and more than $1 is to be seen' },
  ])
  await run.control.cancel()
})
