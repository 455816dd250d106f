/**
 * What counts for trust, in every way in which a run can end; incidents while runs go on; the modes that follow. Spec
 * team 1.18, R-18, C94, X50.
 */
import { describe, expect, test } from 'vitest'
import { agent, human, team, tool, type Agent } from '@reeve/public'
import type { Oversight } from '@reeve/edge'
import type { Run, Runtime } from '@reeve/runtime'
import { calls, runtimeOf, scripted, waiting } from './team.ts'

const trust = 'analysts'
const level = (runtime: Runtime, to: 'novice' | 'proficient' | 'expert') =>
  runtime.trust.set({ trust, level: to, by: 'ann', reason: 'exam', create: true })
const counts = async (runtime: Runtime) => {
  const { completed, succeeded } = await runtime.trust.of(trust)
  return [completed, succeeded]
}
const begin = async (root: Agent, oversight: Oversight = { trust }) => {
  const runtime = await runtimeOf([root])
  await level(runtime, 'expert')
  const run = (await runtime.start(root, 'go', { oversight })) as unknown as Run
  return { runtime, run }
}
const plain = (name: string, run: () => unknown): Agent =>
  agent({ name, description: name, run: async () => run() as never })

describe('what counts', () => {
  const crew = (required: boolean) =>
    team({
      name: 'crew',
      roles: { doer: plain('doer', () => 'done') },
      planner: {
        subtasks: [
          { id: 'draft', description: 'draft', role: 'doer' },
          {
            id: 'publish',
            description: 'publish',
            role: 'doer',
            dependencies: ['draft'],
            requiresApproval: true,
            required,
          },
        ],
      },
      oversight: { approval: { timeoutMs: 60_000 } },
    })

  test('team C83: a required task rejected by a human fails the run and does not count for trust', async () => {
    const { runtime, run } = await begin(crew(true))
    const [asked] = (await waiting(run)).waiting
    await run.decide({ approvalId: asked!.id, decision: 'reject', approver: 'ann', comment: 'not like this' })
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'task.rejected' } })
    expect(await counts(runtime)).toEqual([0, 0])
  })

  test('an optional one that is rejected: the run has succeeded, and counts', async () => {
    const { runtime, run } = await begin(crew(false))
    const [asked] = (await waiting(run)).waiting
    await run.decide({ approvalId: asked!.id, decision: 'reject', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await counts(runtime)).toEqual([1, 1])
  })

  test('a fork does not count, wherever it begins and whatever it begins with', async () => {
    const root = agent({
      name: 'analyst',
      description: 'Analyses.',
      run: async (ctx) => {
        await ctx.step('look', () => 'seen', { effect: 'read' })
        return 'done'
      },
    })
    const { runtime, run } = await begin(root)
    await run.outcome()
    expect(await counts(runtime)).toEqual([1, 1])
    const events = await run.journal()
    const ended = events.findIndex(({ event }) => event.type === 'activation.settled')
    for (const { position } of events.slice(0, ended)) {
      const fork = await runtime.fork({ run: run.id, at: position })
      expect(await fork.outcome()).toMatchObject({ status: 'completed' })
    }
    const other = await runtime.fork({ run: run.id, at: events[0]!.position, edit: { type: 'input', input: 'else' } })
    expect(await other.outcome()).toMatchObject({ status: 'completed' })
    expect(await counts(runtime)).toEqual([1, 1])
  })

  test('finished by hand and cancelled, also after a takeover: neither counts', async () => {
    const { runtime, run } = await begin(human({ name: 'person' }))
    await waiting(run)
    await run.control.takeOver({ by: 'ann' })
    await run.control.finish({ output: 'by hand', by: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', by: 'ann' })
    const other = await runtime.start('person', 'go', { oversight: { trust } })
    await waiting(other)
    await other.control.takeOver({ by: 'ann' })
    await other.control.cancel('enough')
    await other.outcome()
    expect(await counts(runtime)).toEqual([0, 0])
  })

  test('taken over and handed back: it counts as any other, once, over another process too', async () => {
    const { runtime, run } = await begin(human({ name: 'person' }))
    const [asked] = (await waiting(run)).questions
    await run.control.takeOver({ by: 'ann' })
    await run.control.handBack({ by: 'ann' })
    await run.answer({ interruptId: asked!.id, value: 0 })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 0 })
    expect(await counts(runtime)).toEqual([1, 1])
  })
})

describe('modes that follow from a level, where something is done', () => {
  const acting = (done: string[]) => {
    const read = tool({ name: 'read', effect: 'read', execute: () => (done.push('read'), 'text') })
    const send = tool({ name: 'send', effect: 'idempotent', execute: () => (done.push('send'), 'sent') })
    const wipe = tool({ name: 'wipe', sensitive: true, execute: () => (done.push('wipe'), 'wiped') })
    const model = scripted(calls(['read', {}, 'r1']), calls(['send', {}, 's1']), calls(['wipe', {}, 'w1']), 'final')
    return agent({ name: 'clerk', description: 'Acts.', model, tools: [read, send, wipe] })
  }

  test.each([
    ['novice', ['read', 'send', 'wipe']],
    ['proficient', ['send', 'wipe']],
    ['expert', ['wipe']],
  ] as const)('team C78: %s: asked about %s, and what is always asked for in every mode', async (to, asked) => {
    const runtime = await runtimeOf([acting([])])
    await level(runtime, to)
    const run = await runtime.start('clerk', 'go', { oversight: { trust } })
    const seen: string[] = []
    for (;;) {
      const state = await run.until('waiting')
      if (!('waiting' in state)) break
      for (const { id, tool: name } of state.waiting) {
        if (name !== 'clerk') seen.push(name)
        await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
      }
    }
    expect(seen.filter((name, i) => seen.indexOf(name) === i)).toEqual(asked)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
  })

  test('team C94: many runs and a serious incident at once: each ends once in the record, no level is lost', async () => {
    const runtime = await runtimeOf([plain('quick', () => 'done'), human({ name: 'person' })])
    await level(runtime, 'expert')
    const waits = await Promise.all(
      Array.from({ length: 6 }, () => runtime.start('person', 'go', { oversight: { trust } })),
    )
    const first = await Promise.all(waits.map((run) => waiting(run)))
    await Promise.all(Array.from({ length: 10 }, () => runtime.run('quick', 'go', { oversight: { trust } })))
    expect(await counts(runtime)).toEqual([10, 10])
    const [after] = await Promise.all([
      runtime.trust.incident({ trust, severity: 'serious', id: 'i1' }),
      ...first.map(({ questions }, n) => waits[n]!.answer({ interruptId: questions[0]!.id, value: n })),
    ])
    expect(after).toMatchObject({ level: 'novice', mode: 'in-command' })
    await Promise.all(waits.map((run) => run.outcome()))
    const view = await runtime.trust.of(trust)
    expect(view.level).toBe('novice')
    expect(view.completed).toBe(view.succeeded)
    expect(view.completed).toBeLessThanOrEqual(6)
    // what was counted before the incident stands in its entry
    const incident = view.history.find(({ what }) => what === 'incident')!
    expect(incident.completed + view.completed).toBe(16)
  })
})
