/**
 * What is approved is what runs: the arguments after validation, with defaults and transforms, without what the schema
 * leaves out.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  agent,
  asTool,
  createRuntime,
  supervisor,
  tool,
  type Agent,
  type Json,
  type Run,
  type Runtime,
  type SchemaLike,
  type Tool,
} from '@reeve/public'
import { digestJson } from '@reeve/core'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-final-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const schema = z.object({
  to: z.string().trim(),
  amount: z.string().transform(Number).pipe(z.number()),
  currency: z.string().default('EUR'),
})
const called = { to: ' mallory ', amount: '5', hidden: 'nobody sees this' }
const final = { to: 'mallory', amount: 5, currency: 'EUR' }

const clerk = (tools: readonly Tool[], name: string): Agent =>
  agent({
    name: 'clerk',
    tools,
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { calls: [{ name, input: called }] }),
  })

/** Tools of each kind that write down what they run with. */
function toolsFor(ran: unknown[]): Readonly<Record<string, Agent>> {
  const effect = tool({
    name: 'pay',
    input: schema,
    sensitive: true,
    execute: (input, io) => (ran.push(input, io.capability?.inputHash), 'ok'),
  })
  const orchestration = tool({
    name: 'pay',
    input: schema,
    sensitive: true,
    run: async (_ctx, input) => (ran.push(input), 'ok'),
  })
  return { 'an effect': clerk([effect], 'pay'), orchestration: clerk([orchestration], 'pay') }
}

const inputOf = async (runtime: Runtime): Promise<Json> => (await runtime.approvals())[0]!.input
const opened = (agents: readonly Agent[]): Promise<Runtime> =>
  createRuntime({ store: join(folder, 'runs.db'), agents: [...agents] })

describe.each(['an effect', 'orchestration'])('%s', (kind) => {
  test('the approver is shown the value that runs, in any process, and the approval holds for its digest', async () => {
    const ran: unknown[] = []
    const asked = toolsFor(ran)[kind]!
    let id = ''
    {
      await using runtime = await opened([asked])
      const state = await (await runtime.start(asked, 'go', { runId: 'r' })).until('waiting')
      id = 'waiting' in state ? state.waiting[0]!.id : ''
      expect(await inputOf(runtime)).toEqual(final)
    }
    await using runtime = await opened([asked])
    await runtime.decide({ approvalId: id, decision: 'approve' })
    expect(await runtime.handle('r').outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(ran).toEqual(kind === 'an effect' ? [final, digestJson(final)] : [final])
  })

  test('edited arguments that transform into others are shown again before they run', async () => {
    const ran: unknown[] = []
    const asked = toolsFor(ran)[kind]!
    await using runtime = await opened([asked])
    const run = await runtime.start(asked, 'go', { runId: 'r' })
    const first = await run.until('waiting')
    if (!('waiting' in first)) throw new Error('it does not wait')
    await run.decide({ approvalId: first.waiting[0]!.id, decision: 'edit', input: { to: 'ann', amount: '7' } })
    const second = await run.until('waiting')
    if (!('waiting' in second)) throw new Error('it does not wait')
    expect(second.waiting[0]).toMatchObject({
      input: { to: 'ann', amount: 7, currency: 'EUR' },
      reason: expect.stringContaining('edited') as string,
    })
    expect(ran).toEqual([])
    await run.decide({ approvalId: second.waiting[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    const seen = { to: 'ann', amount: 7, currency: 'EUR' }
    expect(ran).toEqual(kind === 'an effect' ? [seen, digestJson(seen)] : [seen])
  })
})

test('code that asks is answered with what the approver has seen', async () => {
  const answers: unknown[] = []
  const asker = agent({
    name: 'asker',
    run: async (ctx) => {
      const answer = await ctx.approve('pay', { input: called, schema })
      answers.push(answer.approved ? answer.input : answer)
      return 'done'
    },
  })
  await using runtime = await opened([asker])
  const run = await runtime.start(asker, 'go')
  const state = await run.until('waiting')
  expect(await inputOf(runtime)).toEqual(final)
  await run.decide({ approvalId: 'waiting' in state ? state.waiting[0]!.id : '', decision: 'approve' })
  await run.outcome()
  expect(answers).toEqual([final])
})

test('values that JSON cannot hold are shown as given where they would be lost, else as JSON has them', async () => {
  const ran: unknown[] = []
  const made = z.object({ at: z.coerce.date(), big: z.string().transform((text) => BigInt(text)) })
  const pay = tool({
    name: 'pay',
    input: made,
    sensitive: true,
    execute: (input: unknown) => (ran.push(input), 'ok'),
    parameters: { type: 'object' },
  })
  const dated = agent({
    name: 'clerk',
    tools: [pay],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'done'
        : { calls: [{ name: 'pay', input: { at: '2026-01-02', big: '12345678901234567890' } }] },
  })
  await using runtime = await opened([dated])
  const run = await runtime.start(dated, 'go')
  const state = await run.until('waiting')
  expect(await inputOf(runtime)).toEqual({ at: '2026-01-02T00:00:00.000Z', big: '12345678901234567890' })
  await run.decide({ approvalId: 'waiting' in state ? state.waiting[0]!.id : '', decision: 'approve' })
  await run.outcome()
  expect(ran).toEqual([{ at: new Date('2026-01-02'), big: 12345678901234567890n }])
})

/** The question that is open now. */
async function open(run: Run<unknown>): Promise<Awaited<ReturnType<Run['view']>>['approvals'][number]> {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error(`it does not wait: ${JSON.stringify(state)}`)
  return (await run.view()).approvals.find((each) => each.open)!
}

describe('an agent as a tool', () => {
  const shapes: Readonly<Record<string, (got: (brief: unknown) => string) => Tool>> = {
    'takes text, and its tool has a schema': (got) => {
      const worker = agent({ name: 'pay', description: 'Pays.', run: (_ctx, brief) => got(JSON.parse(brief)) })
      return asTool(worker, { input: schema, approval: true })
    },
    'has a schema of its own': (got) => {
      const worker = agent({ name: 'pay', description: 'Pays.', input: schema, run: (_ctx, brief) => got(brief) })
      return asTool(worker, { approval: true })
    },
    'has a schema of its own, and one as a tool': (got) => {
      const input = schema.extend({ amount: z.number(), note: z.string().default('none') })
      const worker = agent({
        name: 'pay',
        description: 'Pays.',
        input,
        run: (_ctx, { note: _note, ...brief }) => got(brief),
      })
      return asTool(worker, { input: schema, approval: true })
    },
  }
  test.each(Object.keys(shapes))(
    'that %s gets what the approver was shown, and what an edit was made of is shown first',
    async (shape) => {
      const ran: unknown[] = []
      const asked = clerk([shapes[shape]!((brief) => (ran.push(brief), 'ok'))], 'pay')
      await using runtime = await opened([asked])
      const run = await runtime.start(asked, 'go')
      const first = await open(run)
      expect(first.input).toMatchObject(final)
      expect(first.input).not.toHaveProperty('hidden')
      await run.decide({ approvalId: first.id, decision: 'edit', input: { to: 'ann ', amount: '7' } })
      const second = await open(run)
      expect(second.input).toMatchObject({ to: 'ann', amount: 7, currency: 'EUR' })
      await run.decide({ approvalId: second.id, decision: 'approve' })
      expect(await run.outcome()).toMatchObject({ status: 'completed' })
      expect(ran).toEqual([{ to: 'ann', amount: 7, currency: 'EUR' }])
    },
  )
})

/** A clerk that pays, then waits for something else. A tool that trims has the same version as one that does not. */
function payer(input: z.ZodType<{ to: string }>, ran: unknown[]): Agent {
  const pay = tool({ name: 'pay', input, approval: true, execute: (given) => (ran.push(given), 'ok') })
  const wait = tool({ name: 'wait', input: {}, approval: true, execute: () => 'waited' })
  return agent({
    name: 'clerk',
    tools: [pay, wait],
    model: ({ messages }) => {
      const done = messages.filter(({ role }) => role === 'tool').length
      return done === 2
        ? 'done'
        : { calls: [done === 0 ? { name: 'pay', input: { to: ' ann ' } } : { name: 'wait', input: {} }] }
    },
  })
}
const plain = z.object({ to: z.string() })
const trimmed = z.object({ to: z.string().trim() })

test('K12: a decision on a question that was asked before the schema of its tool changed holds for what was shown', async () => {
  const ran: unknown[] = []
  const [before, after] = [payer(plain, ran), payer(trimmed, ran)]
  {
    await using runtime = await opened([before])
    const { input: shown } = await open(await runtime.start(before, 'go', { runId: 'r' }))
    expect(shown).toEqual({ to: ' ann ' })
  }
  await using runtime = await opened([after])
  const run = runtime.handle('r')
  await run.decide({ approvalId: (await open(run)).id, decision: 'approve' })
  await expect.poll(async () => (await run.view()).approvals.map(({ tool: name }) => name)).toEqual(['pay', 'wait'])
  const later = await open(run)
  expect(later.tool).toBe('wait')
  await run.decide({ approvalId: later.id, decision: 'approve' })
  expect(await run.outcome()).toMatchObject({ output: 'done' })
  expect(ran).toEqual([{ to: 'ann' }])
  expect((await run.view()).approvals).toHaveLength(2)
})

test('R-16: a new tool version that makes other arguments of the same call is asked about again', async () => {
  const ran: unknown[] = []
  const versions = ['EUR', 'USD'].map((currency) =>
    payer(z.object({ to: z.string().trim(), currency: z.string().default(currency) }), ran),
  )
  let id = ''
  {
    await using runtime = await opened([versions[0]!])
    const asked = await open(await runtime.start(versions[0]!, 'go', { runId: 'r' }))
    id = asked.id
    expect(asked.input).toEqual({ to: 'ann', currency: 'EUR' })
  }
  await using runtime = await opened([versions[1]!])
  const run = runtime.handle('r')
  await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
  await expect.poll(async () => (await run.view()).approvals.length).toBe(2)
  const later = await open(run)
  expect(later).toMatchObject({
    follows: id,
    input: { to: 'ann', currency: 'USD' },
    reason: expect.stringMatching(/asked again: ann approved it/) as string,
  })
  expect(ran).toEqual([])
  await run.decide({ approvalId: later.id, decision: 'approve' })
  await expect.poll(() => ran).toEqual([{ to: 'ann', currency: 'USD' }])
  await run.control.cancel()
})

test('a result given by hand under one version stays under the next, even if that makes something else', async () => {
  const ran: unknown[] = []
  const made = (currency?: string): Agent =>
    payer(currency === undefined ? plain : z.object({ to: z.string(), currency: z.string().default(currency) }), ran)
  const [before, after] = [made(), made('USD')]
  {
    await using runtime = await opened([before])
    const run = await runtime.start(before, 'go', { runId: 'r' })
    await run.decide({ approvalId: (await open(run)).id, decision: 'edit', input: { to: 'bob' } })
    await expect.poll(async () => (await run.view()).approvals.map(({ tool: name }) => name)).toEqual(['pay', 'wait'])
  }
  await using runtime = await opened([after])
  const run = runtime.handle('r')
  const later = await open(run)
  expect(later.tool).toBe('wait')
  await run.decide({ approvalId: later.id, decision: 'approve' })
  expect(await run.outcome()).toMatchObject({ output: 'done' })
  expect(ran).toEqual([{ to: 'bob' }])
})

test('a transform that is not idempotent runs once, also where its call is asked about again', async () => {
  const ran: unknown[] = []
  const doubled = z.object({ to: z.string().transform((text) => `${text}!`) })
  const asked = payer(doubled, ran)
  await using runtime = await opened([asked])
  const run = await runtime.start(asked, 'go')
  const first = await open(run)
  expect(first.input).toEqual({ to: ' ann !' })
  await run.decide({ approvalId: first.id, decision: 'edit', input: { to: 'bob' } })
  const second = await open(run)
  expect(second.input).toEqual({ to: 'bob!' })
  await run.decide({ approvalId: second.id, decision: 'approve' })
  expect((await open(run)).tool).toBe('wait')
  expect(ran).toEqual([{ to: 'bob!' }])
  await run.control.cancel()
})

describe('a beginning of work', () => {
  const oversight = { mode: 'in-command' } as const
  const lead = (worker: Agent, input: Json): Agent =>
    supervisor({
      name: 'lead',
      workers: [worker],
      oversight,
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'delegate_payer', input }] },
    })
  const coder = (ran: unknown[], input: SchemaLike = schema): Agent =>
    agent({ name: 'payer', description: 'Pays.', input, run: (_ctx, brief) => (ran.push(brief), 'paid') })
  const begun = async (root: Agent): Promise<readonly [Runtime, Run<unknown>]> => {
    const runtime = await opened([root])
    const run = await runtime.start(root, 'go')
    await run.until('waiting')
    return [runtime, run]
  }

  test('code is shown with its validated brief; a yes runs exactly that', async () => {
    const ran: unknown[] = []
    const [runtime, run] = await begun(lead(coder(ran), called))
    await using _runtime = runtime
    const [asked] = await runtime.approvals()
    expect(asked).toMatchObject({ kind: 'work', input: final })
    expect(asked!.inputHash).toBe(digestJson(final))
    await run.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([final])
  })

  test('an edited brief is shown again as it will run, also where the schema would change it once more', async () => {
    const ran: unknown[] = []
    const doubling = z.object({ amount: z.number().transform((amount) => amount * 2) })
    const [runtime, run] = await begun(lead(coder(ran, doubling), { amount: 1 }))
    await using _runtime = runtime
    const [first] = await runtime.approvals()
    expect(first!.input).toEqual({ amount: 2 })
    await run.decide({ approvalId: first!.id, decision: 'edit', input: { amount: 5 }, approver: 'ann' })
    await expect.poll(async () => (await runtime.approvals())[0]?.input).toEqual({ amount: 10 })
    await run.decide({ approvalId: (await runtime.approvals())[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([{ amount: 10 }])
  })

  test('a model reads its brief as it was given, and so does the approver', async () => {
    const shown: unknown[] = []
    const modelAgent = agent({
      name: 'payer',
      description: 'Pays.',
      input: schema,
      model: ({ messages }) => (shown.push(messages.at(-1)!.content), 'paid'),
    })
    const [runtime, run] = await begun(lead(modelAgent, called))
    await using _runtime = runtime
    const [asked] = await runtime.approvals()
    expect(asked!.input).toEqual(called)
    await run.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(shown).toEqual([JSON.stringify(called)])
  })
})
