/** K10: redaction happens before recording, and live code sees the redacted value. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { Redaction } from '@reeve/core'
import {
  agent,
  createRuntime,
  failure,
  FailureError,
  interrupt,
  step,
  supervisor,
  team,
  tool,
  type Message,
  type Runtime,
} from '@reeve/public'
import type { Recorded } from '@reeve/public/views'

const secret = 'hunter2-hunter2'

test('K10: a registered value and a named member reach neither the store nor the code that reads a result', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-redaction-'))
  const seen: unknown[] = []
  const login = tool({
    name: 'login',
    description: 'Logs in.',
    parameters: { type: 'object', properties: {} },
    execute: () => ({ text: `token is ${secret}`, apiKey: 'another-secret', user: 'ann' }),
  })
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    tools: [login],
    model: ({ messages }) => {
      const last = messages.at(-1)!
      if (last.role !== 'tool') return { calls: [{ name: 'login', input: {} }] }
      seen.push(last.content)
      return 'done'
    },
  })
  const code = agent({
    name: 'code',
    description: 'Runs code.',
    run: async (ctx) => {
      seen.push(await step(ctx, 'read', () => secret))
      seen.push(await ctx.values.update('key', () => secret))
      return interrupt(ctx, { ask: secret })
    },
  })
  const runtime = await createRuntime({
    store: join(folder, 'reeve.db'),
    agents: [worker, code],
    redact: { keys: ['apikey'], values: [secret] },
  })
  const outcome = await runtime.run(worker, `log in with ${secret}`, {
    metadata: { password: secret },
    values: { greeting: `hello ${secret}` },
  })
  const run = await runtime.start(code, 'go')
  const [question] = await expect
    .poll(() => runtime.questions())
    .toHaveLength(1)
    .then(() => runtime.questions())
  await run.answer({ interruptId: question!.id, value: `it is ${secret}` })
  const answered = await run.outcome()
  await runtime.close()

  expect(outcome.status).toBe('completed')
  expect(JSON.stringify(seen)).not.toContain(secret)
  expect(JSON.stringify(seen)).not.toContain('another-secret')
  expect(JSON.stringify(seen)).toContain('ann')
  expect(answered).toMatchObject({ status: 'completed', output: 'it is [redacted]' })
  for (const file of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, file), 'latin1')
    expect(bytes).not.toContain(secret)
    expect(bytes).not.toContain('another-secret')
  }
})

test('K10: a named member is removed from the details of a failure, also at their top', async () => {
  const store = join(folder(), 'reeve.db')
  const login = tool({
    name: 'login',
    input: { type: 'object' },
    execute: () => {
      const details = { apiKey: 'another-secret', agent: secret, of: [{ apikey: 'another-secret' }] }
      throw new FailureError(failure('tool.failed', 'no', 'validation', { details }))
    },
  })
  const clerk = agent({
    name: 'clerk',
    tools: [login],
    model: ({ messages }) => (messages.at(-1)!.role === 'tool' ? 'done' : { calls: [{ name: 'login', input: {} }] }),
  })
  const redact = { keys: ['apiKey', 'agent'], values: [secret] }
  await using runtime = await createRuntime({ store, agents: [clerk], redact })
  const run = await runtime.start(clerk, 'go')
  await run.outcome()
  const ends = (await run.journal()).flatMap(({ event }) =>
    event.type === 'step.settled' && event.outcome.status === 'failed' ? [event.outcome.failure.details] : [],
  )
  expect(ends).toEqual([{ apiKey: '[redacted]', agent: '[redacted]', of: [{ apikey: '[redacted]' }] }])
})

const folder = (): string => mkdtempSync(join(tmpdir(), 'reeve-redaction-'))

/**
 * A desk that asks, delegates, transfers nothing, remembers in a session, and waits over a restart. What it says
 * depends on no payload.
 */
async function played(
  redact: Redaction | undefined,
): Promise<{ statuses: string[]; events: string[]; journal: readonly Recorded[] }> {
  const store = join(folder(), 'reeve.db')
  const lookup = tool({
    name: 'lookup',
    effect: 'read',
    input: { type: 'object' },
    execute: () => ({ street: 'Main St 1' }),
  })
  const pay = tool({ name: 'pay', approval: true, input: { type: 'object' }, execute: () => 'paid' })
  const after = (n: number, messages: readonly Message[]): boolean =>
    messages.filter(({ role }) => role === 'tool').length >= n
  const clerk = agent({
    name: 'clerk',
    description: 'Pays.',
    tools: [lookup, pay],
    model: ({ messages }) =>
      after(2, messages) ? 'done' : { calls: [{ name: after(1, messages) ? 'pay' : 'lookup', input: {} }] },
  })
  const counter = agent({
    name: 'counter',
    description: 'Counts.',
    run: async (ctx) => {
      const before = await ctx.values.get('count')
      await step(ctx, 'fetch', () => 1)
      await interrupt(ctx, 'how many?')
      await ctx.values.update('count', () => 1)
      return before === null ? 'first' : 'again'
    },
  })
  const desk = supervisor({
    name: 'desk',
    workers: [clerk, counter],
    delegation: { onStart: () => ({ metadata: { from: 'desk' } }), memory: 'continue' },
    onIterationComplete: () => undefined,
    model: ({ messages }) =>
      after(2, messages)
        ? 'the end'
        : {
            calls: [
              { name: 'delegate', input: { worker: after(1, messages) ? 'counter' : 'clerk', instructions: 'Do it.' } },
            ],
          },
  })
  const group = team({
    name: 'group',
    roles: { clerk },
    planner: () => ({
      subtasks: [
        { id: 'one', role: 'clerk', description: 'Pay.' },
        { id: 'two', role: 'clerk', description: 'Pay.', dependencies: ['one'] },
      ],
    }),
  })
  const open = (): Promise<Runtime> =>
    createRuntime({ store, agents: [desk, group], durability: 'relaxed', ...(redact === undefined ? {} : { redact }) })
  const statuses: string[] = []
  const journal: Recorded[] = []
  for (const [root, user] of [
    [desk, 'ann'],
    [desk, 'bob'],
    [group, 'ann'],
  ] as const) {
    let runtime = await open()
    let run = await runtime.start(root, 'please', { session: `of-${user}`, user })
    for (;;) {
      const state = await run.until('waiting')
      await runtime.close()
      runtime = await open()
      run = runtime.handle(run.id)
      if (!('waiting' in state)) {
        statuses.push(`${user}: ${state.status}`)
        break
      }
      for (const { id } of state.waiting) await run.decide({ approvalId: id, decision: 'approve', approver: 'eve' })
      for (const { id, kind } of state.questions)
        if (kind === 'interrupt') await run.answer({ interruptId: id, value: 2 })
    }
    for await (const each of run.events()) journal.push(each)
    await runtime.close()
  }
  const events = journal.map(
    ({ activation, event }) =>
      `${activation.replace(/^[^>]*/, '')} ${event.type} ${'address' in event ? event.address : ''}`,
  )
  // what happens at once in two activations has no order of its own
  return { statuses, events: events.toSorted(), journal }
}

/** Every name of a member, and every word, that Reeve itself has written into a journal. */
function writtenIn(journal: readonly Recorded[]): {
  readonly keys: readonly string[]
  readonly values: readonly string[]
} {
  const keys = new Set<string>()
  const words = new Set<string>()
  const walk = (value: unknown): void => {
    if (typeof value === 'string')
      for (const word of value.split(/[^A-Za-z-]+/)) if (word.length >= 4 && !word.startsWith('of-')) words.add(word)
    if (typeof value !== 'object' || value === null) return
    for (const [key, member] of Object.entries(value)) {
      if (!Array.isArray(value)) keys.add(key)
      walk(member)
    }
  }
  for (const { event } of journal) walk(event)
  return { keys: [...keys], values: [...words] }
}

test(
  'K10: a rule that matches Reeve’s own members or words never changes a run, a restart or a session’s user',
  { timeout: 300_000 },
  async () => {
    const plain = await played(undefined)
    expect(plain.statuses).toEqual(['ann: completed', 'bob: completed', 'ann: completed'])
    const { keys, values } = writtenIn(plain.journal)
    expect(keys).toEqual(
      expect.arrayContaining(['address', 'input', 'session', 'output', 'worker', 'calls', 'brief', 'status']),
    )
    expect(values).toEqual(expect.arrayContaining(['turn', 'fetch', 'desk', 'completed', 'delegate']))
    for (const redact of [
      { keys },
      { values },
      ...batches(keys).map((some) => ({ keys: some })),
      ...batches(values).map((some) => ({ values: some })),
    ]) {
      const { statuses, events } = await played(redact)
      expect({ redact, statuses, events }).toEqual({ redact, statuses: plain.statuses, events: plain.events })
    }
  },
)

const batches = (names: readonly string[]): string[][] => {
  const size = Math.ceil(names.length / 6)
  return Array.from({ length: 6 }, (_, i) => names.slice(i * size, (i + 1) * size)).filter((some) => some.length > 0)
}

test('two users stay two under redaction; an identity that would be redacted is refused', async () => {
  const notes = agent({
    name: 'notes',
    run: async (ctx, brief) => {
      await interrupt(ctx, 'go on?')
      return ctx.values.update('notes', (value) => [...((value ?? []) as string[]), brief])
    },
  })
  const store = join(folder(), 'reeve.db')
  const redact = { keys: ['session', 'user', 'cookie'], values: [secret] }
  let runtime = await createRuntime({ store, agents: [notes], redact })
  for (const user of ['ann', 'bob'])
    await (await runtime.start(notes, `note of ${user}`, { runId: user, session: `${user}-1`, user })).until('waiting')
  for (const bad of [{ user: secret }, { session: `s-${secret}` }, { runId: secret }])
    await expect(runtime.start(notes, 'x', bad)).rejects.toMatchObject({
      code: 'input.invalid',
      message: expect.not.stringContaining(secret) as string,
    })
  await runtime.close()
  runtime = await createRuntime({ store, agents: [notes], redact })
  for (const user of ['ann', 'bob']) {
    const [question] = await runtime.questions({ run: user })
    await runtime.answer({ interruptId: question!.id, value: true })
    expect(await runtime.handle(user).outcome()).toMatchObject({ output: [`note of ${user}`] })
  }
  await runtime.close()
})

test('a store that is redacted takes nothing from a process without rules, and lets it read', async () => {
  const store = join(folder(), 'reeve.db')
  const asks = agent({ name: 'asks', run: (ctx) => interrupt(ctx, 'which?') })
  const first = await createRuntime({ store, agents: [asks], redact: { values: [secret] } })
  const run = await first.start(asks, 'go')
  await run.until('waiting')
  await first.close()
  const refused = { code: 'store.redacted' }
  await expect(createRuntime({ store, agents: [asks] })).rejects.toMatchObject(refused)
  const reader = await createRuntime({ store, drive: false, agents: [asks] })
  const [question] = await reader.questions({ run: run.id })
  expect((await reader.handle(run.id).view()).status).toBe('waiting')
  await expect(reader.answer({ interruptId: question!.id, value: secret })).rejects.toMatchObject(refused)
  await expect(reader.start(asks, secret)).rejects.toMatchObject(refused)
  await expect(reader.handle(run.id).control.cancel(secret)).rejects.toMatchObject(refused)
  await expect(
    reader.trust.incident({ trust: 'x', severity: 'minor', note: secret, create: true }),
  ).rejects.toMatchObject(refused)
  await reader.close()
  // rules that take nothing out are a word, too: whoever says so knows
  const knows = await createRuntime({ store, agents: [asks], redact: {} })
  await knows.answer({ interruptId: question!.id, value: 'this' })
  expect(await knows.handle(run.id).outcome()).toMatchObject({ output: 'this' })
  await knows.close()
  for (const file of readdirSync(join(store, '..')))
    expect(readFileSync(join(store, '..', file), 'latin1')).not.toContain(secret)
})

test('a process that began before a store was redacted is refused from then on', async () => {
  const store = join(folder(), 'reeve.db')
  const quick = agent({ name: 'quick', run: async () => 'done' })
  await using early = await createRuntime({ store, agents: [quick] })
  expect(await early.run(quick, 'x')).toMatchObject({ status: 'completed' })
  await using _later = await createRuntime({ store, drive: false, redact: { keys: ['apiKey'] } })
  await expect(early.start(quick, 'x')).rejects.toMatchObject({ code: 'store.redacted' })
})

test('K10: what is stored as rows is redacted as what is stored as objects is, and nothing else of it', async () => {
  const store = join(folder(), 'reeve.db')
  const save = tool({ name: 'save', effect: 'once', input: { type: 'object' }, execute: () => ({ said: secret }) })
  // its name is structure, whatever the rules say
  const worker = agent({
    name: 'usage',
    description: 'Saves.',
    tools: [save],
    model: ({ messages }) =>
      messages.at(-1)!.role === 'tool' ? `saved ${secret}` : { calls: [{ name: 'save', input: { note: secret } }] },
  })
  const lead = supervisor({
    name: 'lead',
    workers: [worker],
    model: ({ messages }) =>
      messages.at(-1)!.role === 'tool'
        ? `all of ${secret}`
        : { text: secret, calls: [{ name: 'delegate', input: { worker: 'usage', instructions: `save ${secret}` } }] },
  })
  await using runtime = await createRuntime({
    store,
    agents: [lead],
    redact: { keys: ['instructions'], values: [secret, 'usage', 'turn', 'completed'] },
  })
  const run = await runtime.start(lead, `keep ${secret}`)
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all of [redacted]' })
  const entries = new DatabaseSync(store, { readOnly: true }).prepare('SELECT body FROM log ORDER BY position').all()
  const rows = entries.map(({ body }) => JSON.parse(String(body)) as readonly unknown[])
  expect(rows.every(Array.isArray)).toBe(true)
  expect(JSON.stringify(rows)).not.toContain(secret)
  expect(rows).toContainEqual(['back', 'turn/call/usage', 'saved [redacted]', expect.anything()])
  expect(rows).toContainEqual(['end', 'all of [redacted]', expect.anything()])
  expect(rows.find(([head]) => head === 'task')).toMatchObject({
    1: 'usage',
    3: { 0: { instructions: 'save [redacted]' } },
  })
})
