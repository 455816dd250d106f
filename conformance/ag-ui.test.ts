/** The official client of AG-UI, whose verifier refuses every event out of order, against `agUi()`. */
import { HttpAgent, type BaseEvent, type Interrupt } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { agUi } from 'reeve/ag-ui'
import { expect, test } from 'vitest'
import { serve, token } from './serving.ts'
import { asker, chief, failing, gate, published } from './team.ts'

interface Seen {
  readonly events: readonly (BaseEvent & Record<string, unknown>)[]
  readonly interrupts: readonly Interrupt[]
}

const agentAt = (url: string, threadId: string): HttpAgent =>
  new HttpAgent({ url, threadId, headers: { Authorization: `Bearer ${token}` } })

/** Runs, and checks each event by the schema of the protocol. */
async function run(client: HttpAgent, parameters: Parameters<HttpAgent['runAgent']>[0] = {}): Promise<Seen> {
  const events: Seen['events'][number][] = []
  await client.runAgent(parameters, { onEvent: ({ event }) => void events.push(event as Seen['events'][number]) })
  for (const event of events) EventSchemas.parse(event)
  const last = events.at(-1) as { readonly outcome?: { readonly interrupts?: readonly Interrupt[] } } | undefined
  return { events, interrupts: last?.outcome?.interrupts ?? [] }
}

const types = ({ events }: Seen): readonly string[] => events.map(({ type }) => type)
const last = ({ events }: Seen): unknown => events.at(-1)
const say = (client: HttpAgent, content: string): void =>
  client.addMessage({ id: crypto.randomUUID(), role: 'user', content })

test('a team: parallel workers as subagents, text as it is written, an approval inside, resumed to the end', async () => {
  published.length = 0
  const { url, errors } = await serve([chief], [agUi({ agent: chief })])
  const client = agentAt(`${url}/ag-ui`, 'thread-1')
  say(client, 'A story about ravens.')
  const first = await run(client)
  expect(types(first).filter((type) => type.startsWith('SUBAGENT') || type.startsWith('RUN'))).toEqual([
    'RUN_STARTED',
    'SUBAGENT_STARTED',
    'SUBAGENT_STARTED',
    'SUBAGENT_FINISHED',
    'SUBAGENT_FINISHED',
    'RUN_FINISHED',
  ])
  const [interrupt] = first.interrupts
  expect(first.interrupts).toHaveLength(1)
  expect(interrupt).toMatchObject({
    reason: 'tool_approval',
    responseSchema: { properties: { approved: {}, editedArgs: {} }, required: ['approved'] },
    metadata: { reeve: { path: ['chief', 'writer'], tool: 'publish', input: { text: 'Ravens plan.' } } },
  })
  expect(first.events.find(({ type }) => type === 'TOOL_CALL_START' && true)).toBeDefined()
  const suspended = first.events.find(
    ({ type, outcome }) => type === 'SUBAGENT_FINISHED' && (outcome as { readonly type: string }).type === 'suspended',
  )
  expect(suspended).toMatchObject({
    subagentRunId: interrupt!.subagentRunId,
    outcome: { interruptIds: [interrupt!.id] },
  })
  expect(published).toEqual([])
  const second = await run(client, {
    resume: [
      { interruptId: interrupt!.id, status: 'resolved', payload: { approved: true, editedArgs: { text: 'Ravens!' } } },
    ],
  })
  expect(published).toEqual(['Ravens!'])
  expect(last(second)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' }, result: 'All is done.' })
  expect(second.events.filter(({ type }) => type === 'SUBAGENT_STARTED')).toMatchObject([{ name: 'writer' }])
  // the client has put the conversation together from both streams: every text once
  const texts = client.messages.flatMap(({ role, content }) => (role === 'assistant' && content ? [content] : []))
  expect(texts).toEqual([
    'I delegate.',
    'Ravens can plan ahead.',
    expect.stringMatching(
      /^The tool said: "\[a person \(.*ann.*\) changed this call before it ran.*\\n\{\\"published\\":\\"Ravens!\\"\}"$/,
    ),
    'All is done.',
  ])
  const results = client.messages.filter(({ role }) => role === 'tool')
  expect(results).toHaveLength(3)
  expect(errors).toEqual([])
})

test('a rejection, a cancelled interrupt and a question are answered; the thread goes on with its session', async () => {
  published.length = 0
  const { url, runtime } = await serve([chief, asker], [agUi({ agents: [chief, asker], path: '/agents' })])
  const client = agentAt(`${url}/agents/chief`, 'thread-2')
  say(client, 'One.')
  const [first] = (await run(client)).interrupts
  const rejected = await run(client, {
    resume: [{ interruptId: first!.id, status: 'resolved', payload: { approved: false, comment: 'not yet' } }],
  })
  expect(last(rejected)).toMatchObject({ outcome: { type: 'success' } })
  say(client, 'Two.')
  const [second] = (await run(client)).interrupts
  const abandoned = await run(client, { resume: [{ interruptId: second!.id, status: 'cancelled' }] })
  expect(last(abandoned)).toMatchObject({ outcome: { type: 'success' } })
  expect(published).toEqual([])
  const questions = agentAt(`${url}/agents/asker`, 'thread-3')
  say(questions, 'Go.')
  const [question] = (await run(questions)).interrupts
  expect(question).toMatchObject({ reason: 'question', message: 'Which colour?' })
  const answered = await run(questions, {
    resume: [{ interruptId: question!.id, status: 'resolved', payload: { colour: 'red' } }],
  })
  expect(last(answered)).toMatchObject({ outcome: { type: 'success' }, result: 'You said {"colour":"red"}.' })
  say(questions, 'Again.')
  const [other] = (await run(questions)).interrupts
  const given = await run(questions, { resume: [{ interruptId: other!.id, status: 'cancelled' }] })
  expect(last(given)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  expect((await runtime.runs({ session: 'thread-2' })).map(({ status }) => status)).toEqual(['completed', 'completed'])
})

test('what fails is RUN_ERROR with its code; a run that an operator cancels is cancelled', async () => {
  const { url, runtime } = await serve([failing, chief], [agUi({ agents: ['failing', 'chief'] })])
  const client = agentAt(`${url}/ag-ui/failing`, 'thread-4')
  say(client, 'Go.')
  expect(last(await run(client))).toMatchObject({ type: 'RUN_ERROR', code: 'model.failed' })
  let open = (): void => {}
  gate.until = new Promise<void>((resolve) => (open = resolve))
  const working = agentAt(`${url}/ag-ui/chief`, 'thread-5')
  say(working, 'Go.')
  const running = run(working)
  const id = await expect
    .poll(async () => (await runtime.runs({ session: 'thread-5' }))[0]?.run)
    .toBeDefined()
    .then(async () => (await runtime.runs({ session: 'thread-5' }))[0]!.run)
  await runtime.handle(id).control.cancel('enough', 'ann')
  expect(last(await running)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  open()
  gate.until = Promise.resolve()
})

test('a client that aborts leaves the run alone, or cancels it where the server says so', async () => {
  let open = (): void => {}
  gate.until = new Promise<void>((resolve) => (open = resolve))
  const { url, runtime } = await serve(
    [chief],
    [agUi({ agent: chief }), agUi({ agent: chief, path: '/stoppable', onDisconnect: 'cancel' })],
  )
  const statusOf = async (session: string): Promise<string | undefined> => (await runtime.runs({ session }))[0]?.status
  for (const [path, session] of [
    ['/ag-ui', 'goes-on'],
    ['/stoppable', 'stops'],
  ] as const) {
    const client = agentAt(url + path, session)
    say(client, 'Go.')
    const running = client.runAgent({}, {}).catch(() => undefined)
    await expect.poll(() => statusOf(session)).toBe('running')
    await expect.poll(async () => (await runtime.runs({ session }))[0] && client.messages.length).toBeGreaterThan(1)
    client.abortRun()
    await running
  }
  await expect.poll(() => statusOf('stops')).toBe('cancelled')
  expect(await statusOf('goes-on')).toBe('running')
  open()
  gate.until = Promise.resolve()
  await expect.poll(() => statusOf('goes-on')).toBe('waiting')
})
