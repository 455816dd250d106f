/**
 * Trust at work: which mode a run begins with, what an incident does to one that is running, what a run adds (spec team
 * 1.18, R-18).
 */
import { describe, expect, test } from 'vitest'
import { type Context } from '@reeve/engine'
import { completed, failed, failure, type Outcome } from '@reeve/core'
import type { Edge } from '@reeve/edge'
import { interrupt, escalate } from '@reeve/oversight'
import type { Approval, Run, Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { hand } from '../../packages/runtime/test/hand.ts'
import { delegates, eventsOf, runtimeOf, scripted, store, waiting } from './team.ts'

/** One action behind a gate: what became of it. */
async function gate(ctx: Context, edge: Edge, action: string): Promise<string> {
  const about = { tool: action, toolVersion: '1', input: { action } }
  const verdict = await escalate(
    ctx.scope('gate'),
    edge.oversight?.policy,
    { subject: 'action', name: action },
    { action },
    about,
  )
  return verdict === undefined ? 'unasked' : verdict.approved ? 'approved' : verdict.how
}

/** Reads, then sends; each behind a gate. Between them it asks what to do, if its brief says so. */
const analyst = hand(
  'analyst',
  async (ctx, edge) => {
    const brief = 'instructions' in edge.work.brief ? edge.work.brief.instructions : ''
    if (brief === 'fail') return failed(failure('agent.failed', 'broken', 'validation'))
    if (brief === 'no') return failed(failure('work.rejected', 'a human said no', 'rejected'))
    if (brief === 'throw') throw new Error('a defect')
    const read = await gate(ctx, edge, 'read')
    if (brief === 'wait') await interrupt(ctx.scope('ask'), 'Go on?')
    return completed([read, await gate(ctx, edge, 'read'), await gate(ctx, edge, 'send')])
  },
  { oversight: { trust: 'analysts' } },
)

/** Says yes to everything that a run asks, and goes on with what it waits for; the end. */
async function agreed(run: Run): Promise<Outcome> {
  for (;;) {
    const state = await run.until('waiting')
    if (!('waiting' in state)) return state
    for (const { id } of state.waiting) await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
  }
}
async function nextApproval(runtime: Runtime, { id }: { readonly id: string }): Promise<Approval> {
  await expect.poll(async () => (await runtime.approvals({ run: id })).length, { timeout: 10_000 }).toBe(1)
  return (await runtime.approvals({ run: id }))[0]!
}
const level = (runtime: Runtime, to: 'novice' | 'proficient' | 'expert') =>
  runtime.trust.set({ trust: 'analysts', level: to, by: 'ann', reason: 'for this test' })

describe('the mode follows from the level', () => {
  test.each([
    ['novice', ['approved', 'approved', 'approved'], 'in-command'],
    ['proficient', ['unasked', 'unasked', 'approved'], 'in-the-loop'],
    ['expert', ['unasked', 'unasked', 'unasked'], 'on-the-loop'],
  ] as const)('%s', async (to, output, mode) => {
    const runtime = await runtimeOf([analyst])
    await level(runtime, to)
    const run = await runtime.start('analyst', 'go')
    expect(await agreed(run)).toMatchObject({ output })
    const noted = (await eventsOf(run)).filter((event) => event.type === 'fact.noted')
    expect(noted).toMatchObject([{ name: 'trust.level', data: { trust: 'analysts', level: to, mode } }])
    expect(await runtime.trust.of('analysts')).toMatchObject({ level: to, mode, completed: 1, succeeded: 1 })
  })

  test('who has done nothing yet is a novice, and the view says what is missing', async () => {
    const runtime = await runtimeOf([analyst])
    const before = await runtime.trust.of('analysts')
    expect(before).toMatchObject({
      level: 'novice',
      completed: 0,
      next: { ok: false, target: 'proficient', reason: { message: '0 of 50 tasks' } },
    })
    expect(before.startedAt).toBeUndefined()
    expect(await runtime.trust.all()).toEqual([])
    await agreed(await runtime.start('analyst', 'go'))
    expect(await runtime.trust.all()).toMatchObject([{ name: 'analysts', completed: 1, history: [{ what: 'opened' }] }])
  })

  test('the stricter of the edge and the level; several trusts: the strictest', async () => {
    const runtime = await runtimeOf([analyst])
    await level(runtime, 'expert')
    expect(await agreed(await runtime.start('analyst', 'go', { oversight: { mode: 'in-the-loop' } }))).toMatchObject({
      output: ['unasked', 'unasked', 'approved'],
    })
    const both = await runtime.start('analyst', 'go', { oversight: { trust: 'newcomers' } })
    expect(await agreed(both)).toMatchObject({ output: ['approved', 'approved', 'approved'] })
    expect((await runtime.trust.all()).map(({ name, completed: n }) => [name, n])).toEqual([
      ['analysts', 2],
      ['newcomers', 1],
    ])
  })
})

describe('while a run goes on', () => {
  test('team C94: a serious incident holds from the next gate on', async () => {
    const runtime = await runtimeOf([analyst])
    await level(runtime, 'expert')
    const run = await runtime.start('analyst', 'wait')
    const [asked] = (await waiting(run)).questions
    const after = await runtime.trust.incident({
      trust: 'analysts',
      severity: 'serious',
      by: 'eve',
      note: 'wrong figures',
      run: run.id,
    })
    expect(after).toMatchObject({
      level: 'novice',
      mode: 'in-command',
      completed: 0,
      history: [{}, {}, { what: 'incident', by: 'eve', run: run.id }],
    })
    await run.answer({ interruptId: asked!.id, value: 'yes' })
    const approval = await nextApproval(runtime, run)
    expect(approval).toMatchObject({ tool: 'read', reason: 'a human is in command: every action is approved' })
    expect(await agreed(run)).toMatchObject({ output: ['unasked', 'approved', 'approved'] })
    expect(await runtime.trust.of('analysts')).toMatchObject({ level: 'novice', completed: 1, succeeded: 1 })
  })

  test('a rise loosens no run that has begun, at no depth', async () => {
    const lead = supervisor({
      name: 'lead',
      model: scripted(delegates(['analyst', 'wait']), 'done'),
      workers: [hand('analyst', async (ctx, edge) => analyst.orchestrate(ctx, edge))],
      oversight: { trust: 'analysts' },
    })
    const runtime = await runtimeOf([lead])
    await level(runtime, 'proficient')
    const run = await runtime.start(lead, 'go')
    const [asked] = (await waiting(run)).questions
    await level(runtime, 'expert')
    await run.answer({ interruptId: asked!.id, value: 'yes' })
    const approval = await nextApproval(runtime, run)
    expect(approval).toMatchObject({ tool: 'send', path: ['lead', 'analyst'] })
    expect(await agreed(run)).toMatchObject({ output: 'done' })
    expect(await agreed(await runtime.start(lead, 'go'))).toMatchObject({ status: 'completed' })
  })
})

describe('what a run adds', () => {
  test('what failed counts, what was rejected or cancelled does not, and a defect in code has failed', async () => {
    const runtime = await runtimeOf([analyst])
    for (const brief of ['go', 'fail', 'no', 'throw']) await agreed(await runtime.start('analyst', brief))
    const run = await runtime.start('analyst', 'wait')
    await waiting(run)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(await runtime.trust.of('analysts')).toMatchObject({ completed: 3, succeeded: 1 })
  })

  test('it rises by the rules of its name when a run has ended, and the next run begins with it', async () => {
    const rule = { tasks: 2, rate: 1, days: 0, incidentDays: 0 }
    const file = store()
    const runtime = await runtimeOf([analyst], {
      store: file,
      trust: { analysts: { proficient: rule, expert: { ...rule, tasks: 1_000 } } },
    })
    expect(await agreed(await runtime.start('analyst', 'go'))).toMatchObject({
      output: ['approved', 'approved', 'approved'],
    })
    const second = await runtime.start('analyst', 'go')
    expect(await agreed(second)).toMatchObject({ output: ['approved', 'approved', 'approved'] })
    expect((await eventsOf(second)).filter(({ type }) => type === 'trust.updated')).toMatchObject([
      { trust: 'analysts', level: 'proficient', tasks: 2, succeeded: 2, reason: 'risen to proficient' },
    ])
    expect(await agreed(await runtime.start('analyst', 'go'))).toMatchObject({
      output: ['unasked', 'unasked', 'approved'],
    })
    await runtime.remove(second.id)
    await runtime.close()
    // who only looks goes by the rules of the last run
    const other = await runtimeOf([], { store: file, drive: false })
    expect(await other.trust.of('analysts')).toMatchObject({
      level: 'proficient',
      completed: 3,
      next: { reason: { message: '3 of 1000 tasks' } },
      history: [{ what: 'opened' }, { what: 'risen', to: 'proficient', run: second.id }],
    })
  })

  test('many runs at once: none is lost and none counts twice', async () => {
    const runtime = await runtimeOf([analyst])
    await level(runtime, 'expert')
    const runs = await Promise.all(Array.from({ length: 20 }, () => runtime.start('analyst', 'go')))
    await Promise.all(runs.map((run) => run.outcome()))
    expect(await runtime.trust.of('analysts')).toMatchObject({ completed: 20, succeeded: 20 })
  })

  test('a run without trust records nothing of it', async () => {
    const runtime = await runtimeOf([hand('plain', async () => completed('done'))])
    const run = await runtime.start('plain', 'go')
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    expect((await eventsOf(run)).map(({ type }) => type)).toEqual(['activation.started', 'activation.settled'])
  })
})

describe('what is said from outside', () => {
  test('what cannot be read is not trusted; an operator’s word begins it anew', async () => {
    const vandal = hand('vandal', async (ctx) =>
      completed(await ctx.stream('trust_analysts').update('record', () => ({ level: 'wizard' }))),
    )
    const runtime = await runtimeOf([analyst, vandal])
    await runtime.run('vandal', 'go')
    const run = await runtime.start('analyst', 'wait')
    await expect(runtime.trust.of('analysts')).rejects.toMatchObject({ code: 'trust.invalid' })
    expect(await nextApproval(runtime, run)).toMatchObject({ tool: 'read' })
    await run.control.cancel('enough')
    await run.outcome()
    expect(await level(runtime, 'proficient')).toMatchObject({ level: 'proficient', completed: 0 })
    expect(await runtime.trust.of('analysts')).toMatchObject({ level: 'proficient' })
  })

  test('an incident for an unknown name is a slip, unless it says that it is meant', async () => {
    const runtime = await runtimeOf([analyst])
    const slip = {
      code: 'trust.invalid',
      message: 'unknown trust name "analyst": did you mean "analysts"?',
    }
    const set = { level: 'expert', by: 'ann', reason: 'x' } as const
    await expect(runtime.trust.incident({ trust: 'analyst', severity: 'serious' })).rejects.toMatchObject(slip)
    await expect(runtime.trust.set({ trust: 'analyst', ...set })).rejects.toMatchObject(slip)
    await expect(runtime.trust.set({ trust: 'press', ...set, create: 'yes' as never })).rejects.toMatchObject({
      code: 'input.invalid',
    })
    expect(await runtime.trust.all()).toEqual([])
    expect(await runtime.trust.set({ trust: 'press', ...set, create: true })).toMatchObject({ level: 'expert' })
    expect(await runtime.trust.incident({ trust: 'press', severity: 'minor' })).toMatchObject({
      history: [{}, {}, { what: 'incident' }],
    })
    await expect(runtimeOf([analyst], { trust: { analist: 'conservative' } })).rejects.toMatchObject({
      code: 'config.invalid',
      message: 'createRuntime: trust has rules for "analist", and no agent names it: did you mean "analysts"?',
    })
  })

  test('the same incident twice counts once; an invalid one is refused and changes nothing', async () => {
    const runtime = await runtimeOf([analyst])
    for (let n = 0; n < 2; n++) await runtime.trust.incident({ trust: 'analysts', severity: 'minor', id: 'inc_1' })
    const before = await runtime.trust.of('analysts')
    expect(before.history.map(({ what }) => what)).toEqual(['opened', 'incident'])
    const refused = async (work: Promise<unknown>, code: string): Promise<void> => {
      await expect(work).rejects.toMatchObject({ code })
    }
    await refused(runtime.trust.incident({ trust: 'analysts', severity: 'awful' as never }), 'trust.invalid')
    await refused(runtime.trust.incident({ trust: 'a/b', severity: 'minor' }), 'input.invalid')
    await refused(runtime.trust.incident({ trust: 'analysts', severity: 'minor', who: 'me' } as never), 'input.invalid')
    await refused(
      runtime.trust.set({ trust: 'analysts', level: 'wizard' as never, by: 'a', reason: 'b' }),
      'trust.invalid',
    )
    await refused(runtime.trust.set({ trust: 'analysts', level: 'expert', by: 'a', reason: '' }), 'input.invalid')
    await refused(runtime.trust.of('.names'), 'input.invalid')
    await refused(runtimeOf([analyst], { trust: { analysts: 'lax' as never } }), 'config.invalid')
    expect((await runtime.trust.of('analysts')).history).toEqual(before.history)
  })
})
