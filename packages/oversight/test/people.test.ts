/**
 * The names of people: one form of each, two people where two are asked for, and forks, which earn nobody trust. Spec
 * team, X43.
 */
import { expect, test } from 'vitest'
import { isSamePerson, personName, underName } from '@reeve/core'
import { oversightCheck } from '@reeve/edge'
import { agent, createRuntime, team, tool, type Run, type RuntimeOptions } from '@reeve/public'
import type { Oversight } from '@reeve/public/oversight'

const anns = [
  'ann',
  ' ann ',
  'ann\u200B',
  '\u2060ann',
  'a\u00ADnn',
  'ann\u202E',
  'a\u0000nn',
  'ａｎｎ',
  'ann\uFE0F',
  'ann\u{E0041}',
  'ann\n',
]

test('a name is recorded in one form: no invisible or control characters, no outer white space', () => {
  expect(anns.map(personName)).toEqual(anns.map(() => 'ann'))
  expect(personName(' Anna \t\u200B  Bell ')).toBe('Anna Bell')
  expect(personName('e\u0301')).toBe('é')
  expect([personName(''), personName(' \u200B ')]).toEqual(['', ''])
})

test('two names are one person, however they are written', () => {
  for (const each of [...anns, 'ANN']) expect(isSamePerson('Ann', each)).toBe(true)
  expect(isSamePerson('ann', 'anne')).toBe(false)
})

test('a command stands under the name in that form; what is no name stays as it is', () => {
  expect(underName({ by: 'ann\u200B', reason: 'x' })).toEqual({ by: 'ann', reason: 'x' })
  expect(underName({ approver: ' ann' })).toEqual({ approver: 'ann' })
  for (const given of [{ by: 7 }, undefined, null, 'ann', {}]) expect(underName(given)).toEqual(given)
})

test('X43: approvers with names that look alike are one; an invisible name is refused', () => {
  const rules = (...who: string[]): Oversight => ({ approval: { fourEyes: 'low', approvers: [{ who }] } })
  expect(oversightCheck(rules('ann', 'ann\u200B'), 'a: oversight')).toEqual([
    'a: oversight.approval: fourEyes needs two different people, and approvers names only "ann"',
  ])
  expect(oversightCheck(rules('ann', '\u200B'), 'a: oversight')).toEqual([
    'a: oversight.approval.approvers[0].who[1] has no visible character, expected a name',
  ])
})

/** A task of critical risk, and the approval that it asks for. */
async function critical(oversight: Oversight, options: Partial<RuntimeOptions> = {}) {
  const payer = agent({ name: 'payer', description: 'Pays.', run: () => 'paid' })
  const planner = { subtasks: [{ id: 'pay', description: 'Pay.', action: 'pay', risk: 'critical' }] } as const
  const crew = team({ name: 'crew', roles: { generalist: payer }, planner, oversight })
  const runtime = await createRuntime({ agents: [crew], ...options })
  return { runtime, run: await runtime.start(crew, 'Go') }
}
async function asked(run: Run): Promise<string> {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error(`nobody is asked: ${state.status}`)
  return state.waiting[0]!.id
}

test.each([[undefined], [{}], [{ timeoutMs: 60_000 }], [{ notify: [] }]])(
  'R-16: critical risk needs two people under human oversight, whatever the approval says: %j',
  async (approval) => {
    const { runtime, run } = await critical({ mode: 'in-the-loop', ...(approval === undefined ? {} : { approval }) })
    await using _closing = runtime
    await run.decide({ approvalId: await asked(run), decision: 'approve', approver: 'ann' })
    // however the first one writes their name, they are not the second
    for (const approver of ['ann', 'Ann', 'ann\u200B', '\u2060ann'])
      await expect(run.decide({ approvalId: await asked(run), decision: 'approve', approver })).rejects.toMatchObject({
        code: 'approval.forbidden',
      })
    await run.decide({ approvalId: await asked(run), decision: 'approve', approver: ' bob\u200B' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect((await run.view()).approvals.map(({ approver }) => approver)).toEqual(['ann', 'bob'])
  },
)

test('R-16: by rules that say so one person is enough', async () => {
  const { runtime, run } = await critical({ mode: 'in-the-loop', approval: { fourEyes: false } })
  await using _closing = runtime
  await run.decide({ approvalId: await asked(run), decision: 'approve', approver: 'ann' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
})

test('R-13: commands, answers and grants stand under the name in one form', async () => {
  const payer = agent({
    name: 'payer',
    tools: [tool({ name: 'move', approval: true, execute: () => 'moved' })],
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'move', input: {} }] }),
  })
  await using runtime = await createRuntime({ agents: [payer] })
  const run = await runtime.start(payer, 'Go', { session: 's' })
  const id = await asked(run)
  await run.control.takeOver({ by: 'ann\u200B' })
  expect(await run.control.state()).toMatchObject({ by: 'ann' })
  await run.control.handBack({ by: 'ann ' })
  await run.decide({ approvalId: id, decision: 'approve', approver: 'ａｎｎ', grant: 'session' })
  await run.outcome()
  expect(await runtime.grants.of({ session: 's' })).toMatchObject([{ approver: 'ann', agent: 'payer' }])
  const people = (await runtime.audit(run.id)).entries.flatMap(({ by, who }) => (by === 'human' ? [who] : []))
  expect(new Set(people)).toEqual(new Set(['ann']))
})

test('X43: a mayDecide that throws is an error with a code and a cause, and nothing is decided', async () => {
  let isDown = true
  const mayDecide = (): boolean => {
    if (isDown) throw new Error('ldap is down')
    return true
  }
  const { runtime, run } = await critical({ mode: 'in-the-loop', approval: { fourEyes: false } }, { mayDecide })
  await using _closing = runtime
  const decision = { approvalId: await asked(run), decision: 'approve', approver: 'ann' } as const
  await expect(run.decide(decision)).rejects.toMatchObject({
    code: 'hook.failed',
    message: 'mayDecide failed: ldap is down',
    retryable: true,
    cause: new Error('ldap is down'),
  })
  expect((await run.view()).approvals).toMatchObject([{ open: true }])
  isDown = false
  await run.decide(decision)
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
})

test('R-18: forks earn no trust and lose none: what they began with counts for the run that did it', async () => {
  let works = 0
  const worker = agent({ name: 'worker', description: 'Works.', run: (ctx) => ctx.step('work', () => ++works) })
  const subtasks = [{ id: 'a', description: 'a' }]
  const crew = team({
    name: 'crew',
    roles: { generalist: worker },
    planner: { subtasks },
    oversight: { trust: 'crew' },
  })
  const rule = { tasks: 3, rate: 0.9, days: 0, incidentDays: 0 }
  await using runtime = await createRuntime({
    agents: [crew],
    trust: { crew: { proficient: rule, expert: { ...rule, tasks: 6 } } },
  })
  const approved = async (run: Run): Promise<void> => {
    for (;;) {
      const state = await run.until('waiting')
      if (!('waiting' in state)) return
      await run.decide({ approvalId: state.waiting[0]!.id, decision: 'approve', approver: 'ann' })
    }
  }
  const run = await runtime.start(crew, 'Go')
  await approved(run)
  const counted = await runtime.trust.of('crew')
  expect([counted.level, counted.completed]).toEqual(['novice', 1])
  let at = 0
  for await (const each of run.events()) if (each.event.type === 'results.synthesised') at = each.position
  for (let n = 0; n < 5; n++) await approved(await runtime.fork({ run: run.id, at }))
  expect(await runtime.trust.of('crew')).toEqual(counted)
})

test('X43: a mayDecide that gives no answer times out, and nothing is decided', async () => {
  let isDeaf = true
  const signals: AbortSignal[] = []
  const mayDecide = (_approval: unknown, _decision: unknown, { signal }: { signal: AbortSignal }): Promise<boolean> =>
    isDeaf ? (signals.push(signal), new Promise<never>(() => undefined)) : Promise.resolve(true)
  const { runtime, run } = await critical(
    { mode: 'in-the-loop', approval: { fourEyes: false } },
    { mayDecide, deadlines: { functionMs: 20 } },
  )
  await using _closing = runtime
  const decision = { approvalId: await asked(run), decision: 'approve', approver: 'ann' } as const
  await expect(run.decide(decision)).rejects.toMatchObject({
    code: 'hook.failed',
    message: 'mayDecide failed: no answer within 20 ms',
    retryable: true,
  })
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect((await run.view()).approvals).toMatchObject([{ open: true }])
  isDeaf = false
  await run.decide(decision)
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
})
