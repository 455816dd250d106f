/**
 * What is done is known before anybody is asked: another attempt of a `once` effect that ended is not asked about; one
 * that may have happened is asked about once, with what is known, and a no is never told as "not done".
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createRuntime, supervisor, team, tool, type Agent, type Run as AnyRun } from '@reeve/public'
import type { Oversight } from '@reeve/public/oversight'
import { asText } from '@reeve/core'
import { registerAgents } from '@reeve/runtime'
import { manualClock, verifyJournal } from '@reeve/testing'

const folder = mkdtempSync(join(tmpdir(), 'reeve-done-before-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Run = AnyRun<never> | AnyRun<unknown> | AnyRun
type Answer = 'approve' | 'reject' | 'leave'

interface Question {
  readonly kind: string
  readonly reason: string
}

/** Drives a run, deciding one approval after the other. Doubts are left open. */
async function decided(run: Run, answers: readonly Answer[]): Promise<readonly Question[]> {
  const seen: Question[] = []
  for (const answer of answers) {
    const state = await run.until('waiting')
    const [open] = 'waiting' in state ? state.waiting : []
    if (open === undefined) break
    seen.push({ kind: open.kind ?? 'call', reason: open.reason })
    if (answer === 'leave') break
    await run.decide({ approvalId: open.id, decision: answer, approver: 'ann' })
  }
  return seen
}

type Execute = (input: unknown) => string

/** A worker that calls `pay` and reports its result; `slips`: its model fails so often after that. */
function payer(execute: Execute, { slips = 1, approval }: { slips?: number; approval?: object } = {}): Agent {
  return agent({
    name: 'payer',
    description: 'Pays.',
    retry: { attempts: 1 },
    tools: [
      tool({
        name: 'pay',
        effect: 'once',
        input: z.object({ invoice: z.string(), note: z.string().default('none') }),
        ...(approval === undefined ? { sensitive: true } : { approval }),
        execute,
      }),
    ],
    model: ({ messages }) => {
      const result = messages.findLast(({ role }) => role === 'tool')
      if (result === undefined) return { calls: [{ name: 'pay', input: { invoice: 'A' } }] }
      if (slips-- > 0) throw new Error('the provider is down')
      return `report: ${asText(result.content)}`
    },
  })
}

const led = (worker: Agent): Agent =>
  supervisor({
    name: 'boss',
    workers: [worker],
    delegation: { retry: { attempts: 2, backoffMs: 1 } },
    model: ({ messages }) =>
      messages.at(-1)!.role === 'tool'
        ? asText(messages.at(-1)!.content)
        : { calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'Pay.' } }] },
  })

const planned = (worker: Agent): Agent =>
  team({
    name: 'boss',
    roles: { generalist: worker },
    planner: { subtasks: [{ id: 'pay', description: 'Pay.' }] },
    retry: { attempts: 2, backoffMs: 1 },
  })

const overseen = (mode: NonNullable<Oversight['mode']>) => (worker: Agent) =>
  supervisor({
    name: 'boss',
    workers: [worker],
    oversight: { mode },
    delegation: { retry: { attempts: 2, backoffMs: 1 } },
    model: ({ messages }) =>
      messages.at(-1)!.role === 'tool'
        ? asText(messages.at(-1)!.content)
        : { calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'Pay.' } }] },
  })

/** The output of the run as text, or its status. */
const endOf = async (run: Run): Promise<string> => {
  const outcome = await run.outcome()
  return 'output' in outcome ? JSON.stringify(outcome.output) : JSON.stringify(outcome)
}

const feedOf = async (run: Run) => {
  const events = []
  for await (const event of run.events()) events.push(event)
  return events
}

const replays = async (run: Run, root: Agent): Promise<void> =>
  expect((await verifyJournal(await feedOf(run), registerAgents([root], [], 'move'))).problems).toEqual([])

test.each([
  ['a delegation', led],
  ['a planned task', planned],
  ['a delegation under oversight', overseen('in-the-loop')],
])('the second attempt of %s uses what was approved and done, and asks nobody', async (_name, make) => {
  const paid: unknown[] = []
  const root = make(payer((input) => (paid.push(input), 'receipt 77')))
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const asked = await decided(run, ['approve', 'reject', 'reject'])
  expect(asked).toHaveLength(1)
  expect(await endOf(run)).toContain('report: receipt 77')
  expect(paid).toEqual([{ invoice: 'A', note: 'none' }])
  await replays(run, root)
})

/** Pays, and does not hear of it the first time. */
const loses =
  (paid: unknown[]): Execute =>
  (input) => {
    paid.push(input)
    if (paid.length === 1) throw new Error('the line went dead')
    return `receipt ${paid.length}`
  }

/** A worker whose model gives up where the tool fails, so that its attempt fails in doubt. */
function givesUp(execute: Execute, approval?: object): Agent {
  return agent({
    name: 'payer',
    description: 'Pays.',
    retry: { attempts: 1 },
    tools: [
      tool({
        name: 'pay',
        effect: 'once',
        ...(approval === undefined ? { sensitive: true } : { approval }),
        execute,
      }),
    ],
    model: ({ messages }) => {
      const result = messages.findLast(({ role }) => role === 'tool')
      if (result === undefined) return { calls: [{ name: 'pay', input: { invoice: 'A' } }] }
      if (asText(result.content).includes('went dead')) throw new Error('I give up')
      return `report: ${asText(result.content)}`
    },
  })
}

test.each([
  ['a delegation', led],
  ['a planned task', planned],
])(
  'a call in doubt in the second attempt of %s is one question that says so; a yes does it again',
  async (_n, make) => {
    const paid: unknown[] = []
    const root = make(givesUp(loses(paid)))
    await using runtime = await createRuntime({ agents: [root] })
    const run = await runtime.start(root, 'Go')
    const asked = await decided(run, ['approve', 'approve', 'approve'])
    expect(asked).toHaveLength(2)
    expect(asked[1]!.reason).toMatch(/an earlier attempt \(.*\) began it at \d{4}-.*, and perhaps did it/)
    expect(await endOf(run)).toContain('report: receipt 2')
    expect(paid).toHaveLength(2)
    expect((await run.view()).doubts).toEqual([])
    await replays(run, root)
  },
)

test.each([
  ['a delegation', led],
  ['a planned task', planned],
])('a no to a call in doubt in the second attempt of %s is not told as "not done"', async (_n, make) => {
  const paid: unknown[] = []
  const root = make(givesUp(loses(paid)))
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  await decided(run, ['approve', 'reject'])
  const end = await endOf(run)
  expect(end).toContain('not repeated: a human rejected this call')
  expect(end).toContain('and perhaps did it')
  expect(end).not.toContain('not done')
  expect(paid).toHaveLength(1)
  await replays(run, root)
})

test('neither a deadline nor an earlier grant approves that a call in doubt is done again', async () => {
  for (const grant of [undefined, 'session'] as const) {
    const paid: unknown[] = []
    const root = led(givesUp(loses(paid), { timeoutMs: 60_000, onTimeout: 'approve' }))
    await using runtime = await createRuntime({ agents: [root] })
    const run = await runtime.start(root, 'Go')
    const first = await run.until('waiting')
    const [open] = 'waiting' in first ? first.waiting : []
    await run.decide({ approvalId: open!.id, decision: 'approve', approver: 'ann', ...(grant && { grant }) })
    await expect.poll(async () => (await runtime.approvals()).map(({ onTimeout }) => onTimeout)).toEqual(['reject'])
    await decided(run, ['reject'])
    expect(await endOf(run)).not.toContain('not done')
    expect(paid).toHaveLength(1)
  }
})

test('code that asks before an effect is told, by the question and by the answer, what an earlier attempt did', async () => {
  let paid = 0
  let slips = 1
  const worker = agent({
    name: 'payer',
    description: 'Pays.',
    run: async (ctx) => {
      const answer = await ctx.approve('pay', { input: { invoice: 'A' } })
      if (!answer.approved) return answer.feedback
      await ctx.step('pay', () => ++paid, { effect: 'once' })
      if (slips-- > 0) throw new Error('a slip')
      return 'paid'
    },
  })
  const root = led(worker)
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const asked = await decided(run, ['approve', 'reject'])
  expect(asked[1]!.reason).toMatch(/earlier attempts have already done "pay" at \d{4}-/)
  expect(await endOf(run)).toMatch(/a human rejected .*earlier attempts have already done/)
  expect(paid).toBe(1)
})

test('a tool that is orchestration asks again, says what it did before, and does none of that again', async () => {
  for (const answer of ['approve', 'reject'] as const) {
    let paid = 0
    let slips = 1
    const worker = agent({
      name: 'payer',
      description: 'Pays.',
      retry: { attempts: 1 },
      tools: [
        tool({
          name: 'settle',
          sensitive: true,
          run: async (ctx) => `receipt ${await ctx.step('pay', () => ++paid, { effect: 'once' })}`,
        }),
      ],
      model: ({ messages }) => {
        const result = messages.findLast(({ role }) => role === 'tool')
        if (result === undefined) return { calls: [{ name: 'settle', input: {} }] }
        if (slips-- > 0) throw new Error('the provider is down')
        return `report: ${asText(result.content)}`
      },
    })
    const root = led(worker)
    await using runtime = await createRuntime({ agents: [root] })
    const run = await runtime.start(root, 'Go')
    const asked = await decided(run, ['approve', answer])
    expect(asked[1]!.reason).toContain('earlier attempts have already done "pay"')
    const end = await endOf(run)
    expect(end).toContain(answer === 'approve' ? 'report: receipt 1' : 'not repeated: a human rejected')
    expect(end).not.toContain('not done')
    expect(paid).toBe(1)
    await replays(run, root)
  }
})

/** What a deploy between two attempts takes away: the second one's call does not reach its tool. */
const withdrawals = {
  'a permission that was withdrawn': { delegation: { permissions: { deny: ['pay'] } } },
  'a tool that is gone': { tools: [] },
  'arguments that do not fit any more': { input: z.object({ invoice: z.number() }) },
} as const

test.each(Object.keys(withdrawals) as (keyof typeof withdrawals)[])(
  'a second attempt that is refused by %s is told what the first one did',
  async (by) => {
    const paid: unknown[] = []
    let slips = 1
    const make = (changed: { delegation?: object; tools?: readonly never[]; input?: z.ZodType } = {}): Agent => {
      const pay = tool({
        name: 'pay',
        effect: 'once',
        input: changed.input ?? z.object({ invoice: z.string() }),
        execute: (input) => `receipt ${paid.push(input)}`,
      })
      const worker = agent({
        name: 'payer',
        description: 'Pays.',
        retry: { attempts: 1 },
        tools: changed.tools ?? [pay],
        model: ({ messages }) => {
          const result = messages.findLast(({ role }) => role === 'tool')
          if (result === undefined) return { calls: [{ name: 'pay', input: { invoice: 'A' } }] }
          if (slips-- > 0) throw new Error('the provider is down')
          return `report: ${asText(result.content)}`
        },
      })
      return supervisor({
        name: 'boss',
        workers: [worker],
        delegation: { retry: { attempts: 2, backoffMs: 60_000 }, ...changed.delegation },
        model: ({ messages }) =>
          messages.at(-1)!.role === 'tool'
            ? asText(messages.at(-1)!.content)
            : { calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'Pay.' } }] },
      })
    }
    const store = join(folder, `${by}.db`)
    const first = await createRuntime({ agents: [make()], store })
    const begun = await first.start('boss', 'Go')
    await expect
      .poll(async () => (await begun.journal()).some(({ event }) => event.type === 'activation.settled'))
      .toBe(true)
    await first.close()
    const root = make(withdrawals[by])
    await using second = await createRuntime({ agents: [root], store, clock: manualClock(Date.now() + 600_000) })
    const run = second.handle(begun.id)
    expect(await endOf(run)).toMatch(/report: .*earlier attempts have already done \\"pay\\" at \d{4}-/)
    expect(paid).toHaveLength(1)
  },
)

/** An agent that pays once, and its run, after the payment. */
async function paidRun(paid: unknown[]) {
  const root = payer((input) => (paid.push(input), `receipt ${paid.length}`), { slips: 0 })
  const runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  await decided(run, ['approve'])
  await run.outcome()
  const answered = (await feedOf(run)).find(({ event }) => event.type === 'step.settled')!
  return { runtime, run, root, at: answered.position }
}

test.each(['approve', 'reject'] as const)(
  'a fork before an effect that its origin has made asks once, says where and when, and on %s decides the doubt too',
  async (answer) => {
    const paid: unknown[] = []
    const { runtime, run, at } = await paidRun(paid)
    await using _closing = runtime
    const fork = await runtime.fork({ run: run.id, at })
    const asked = await decided(fork, [answer, 'leave'])
    expect(asked).toHaveLength(1)
    expect(asked[0]!.reason).toMatch(
      new RegExp(`run ${run.id}, from which this one was forked, had already done "pay" at this point at \\d{4}-`),
    )
    const end = await endOf(fork)
    expect(end).toContain(answer === 'approve' ? 'report: receipt 2' : 'with this result: receipt 1')
    expect(end).not.toContain('not done')
    expect(paid).toHaveLength(answer === 'approve' ? 2 : 1)
    expect((await fork.view()).doubts).toEqual([])
  },
)
