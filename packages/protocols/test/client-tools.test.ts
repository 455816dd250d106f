/** Tools that the client runs, over each protocol and a real socket: who answers, in which order, and what comes again. */
import { describe, expect, test } from 'vitest'
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithToolCalls,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  type UIMessage,
} from 'ai'
import { agent, clientTool, supervisor, type Agent } from '@reeve/public'
import { asText, isObject, type Json, type JsonObject } from '@reeve/core'
import { a2a } from '../src/a2a/index.ts'
import { agUi } from '../src/ag-ui/index.ts'
import { uiMessages } from '../src/ai-sdk/index.ts'
import { openai } from '../src/openai/index.ts'
import { serving } from '../../server/test/serving.ts'
import { servingProtocols, streamed, tokenOf } from './protocol-serving.ts'

const pick = clientTool({
  name: 'pick',
  description: 'Lets the user pick a file.',
  input: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
  output: { type: 'string' },
})
const picker = (name: string, ...what: readonly string[]): Agent =>
  agent({
    name,
    description: 'Picks.',
    tools: [pick],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? `${name} has ${messages
            .slice(-what.length)
            .map(({ content }) => JSON.stringify(content))
            .join(' and ')}`
        : { calls: what.map((each) => ({ name: 'pick', input: { what: each } })) },
  })
const lead = (worker: Agent, place: 'inline' | 'apart' = 'inline') =>
  supervisor({
    name: 'lead',
    workers: [worker],
    ...(place === 'apart' ? { delegation: { workers: { [worker.name]: { place } } } } : {}),
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? `told: ${asText(messages.at(-1)!.content)}`
        : { calls: [{ name: 'delegate', input: { worker: worker.name, instructions: 'Go.' } }] },
  })

class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[]
  constructor(messages: UIMessage[]) {
    this.messages = messages
  }
  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message])
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1))
  replaceMessage = (at: number, message: UIMessage): void =>
    void (this.messages = this.messages.with(at, structuredClone(message)))
  snapshot = <T>(thing: T): T => structuredClone(thing)
}
/** The chat of the AI SDK, without a framework around it. */
class Chat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: new State(messages) })
  }
}

const people = { ann: ['operator', 'approver'], bob: ['operator', 'approver'], apr: ['approver'] } as const
const tokens = Object.fromEntries(Object.entries(people).map(([name, roles]) => [tokenOf(name), { name, roles }]))

async function chatOf(root: Agent) {
  const { server, runtime } = await serving(
    { agents: [root] },
    { auth: { tokens }, protocols: [uiMessages({ agent: root.name })] },
  )
  const asked: { readonly tool: string; readonly input: unknown; readonly id: string }[] = []
  const errors: string[] = []
  let posts = 0
  const page = (
    run: (input: { what: string }) => Json | Error | undefined,
    messages: UIMessage[] = [],
    user = 'ann',
  ) => {
    const chat: Chat = new Chat({
      id: 'c1',
      messages,
      transport: new DefaultChatTransport({
        api: `${server.url}/chat`,
        headers: { Authorization: `Bearer ${tokenOf(user)}` },
        fetch: (...given: Parameters<typeof fetch>) => {
          if (given[1]?.method === 'POST' && ++posts > 20) throw new Error('it is sent for ever')
          return fetch(...given)
        },
      }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onError: ({ message }) => void errors.push(message),
      onToolCall: ({ toolCall }) => {
        const { toolName: tool, toolCallId, input } = toolCall
        asked.push({ tool, input, id: toolCallId })
        const made = run(input as { what: string })
        if (made === undefined) return
        void (made instanceof Error
          ? chat.addToolOutput({ state: 'output-error', tool, toolCallId, errorText: made.message })
          : chat.addToolOutput({ tool, toolCallId, output: made }))
      },
    })
    return chat
  }
  const text = (chat: Chat): string =>
    (chat.messages.at(-1)?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const ends = async (chat: Chat, said: string): Promise<void> => {
    await expect.poll(() => text(chat), { timeout: 10_000 }).toBe(said)
  }
  return { page, asked, errors, text, ends, runtime, url: server.url, posts: () => posts }
}

describe('useChat, with the chat of the AI SDK', () => {
  test('two calls are run by the page and sent together; the run goes on in the same message', async () => {
    const { page, asked, ends, posts } = await chatOf(picker('solo', 'a', 'b'))
    const chat = page(({ what }) => `${what}.txt`)
    await chat.sendMessage({ text: 'Go.' })
    await ends(chat, 'solo has "a.txt" and "b.txt"')
    expect(asked).toMatchObject([
      { tool: 'pick', input: { what: 'a' } },
      { tool: 'pick', input: { what: 'b' } },
    ])
    expect(posts()).toBe(2)
    expect(chat.messages).toHaveLength(2)
    const parts = chat.messages.at(-1)!.parts.filter(({ type }) => type === 'dynamic-tool')
    expect(parts).toMatchObject([
      { state: 'output-available', output: 'a.txt' },
      { state: 'output-available', output: 'b.txt' },
    ])
  })

  test.each(['inline', 'apart'] as const)(
    'of a worker (%s): the page sees who asks; nothing is sent twice',
    async (place) => {
      const { page, asked, ends, posts } = await chatOf(lead(picker('hand', 'a'), place))
      const chat = page(() => 'x.txt')
      await chat.sendMessage({ text: 'Go.' })
      await ends(chat, 'told: hand has "x.txt"')
      expect(asked).toHaveLength(1)
      expect(posts()).toBe(2)
      const part = chat.messages.at(-1)!.parts.find(({ type }) => type === 'dynamic-tool') as unknown as JsonObject
      expect(part).toMatchObject({ toolMetadata: { path: ['lead', 'hand'] }, state: 'output-available' })
    },
  )

  test('an error of the page is told; an output that does not fit is refused, and the call stays open', async () => {
    const { page, ends, errors, runtime } = await chatOf(picker('solo', 'a'))
    const failing = page(() => new Error('no file'))
    await failing.sendMessage({ text: 'Go.' })
    await ends(failing, 'solo has "[tool \\"pick\\" failed: no file]"')
    const wrong = page(() => 7)
    await wrong.sendMessage({ text: 'Again.' })
    await expect.poll(() => errors.length).toBe(1)
    expect(errors[0]).toMatch(/interrupt\.invalid.*the output does not fit/)
    expect(await runtime.questions()).toHaveLength(1)
  })

  test('a page that is opened again has the open call, by its history and by the stream', async () => {
    const { page, asked, ends, url } = await chatOf(lead(picker('hand', 'a')))
    const left = page(() => undefined)
    await left.sendMessage({ text: 'Go.' })
    await expect.poll(() => asked.length).toBe(1)
    const history = await fetch(`${url}/chat/c1`, { headers: { Authorization: `Bearer ${tokenOf('ann')}` } })
    const { messages } = (await history.json()) as { messages: UIMessage[] }
    const open = messages.at(-1)!.parts.find(({ type }) => type === 'dynamic-tool') as unknown as JsonObject
    expect(open).toMatchObject({ state: 'input-available', toolCallId: asked[0]!.id, input: { what: 'a' } })
    expect(open['providerExecuted']).toBeUndefined()
    const again = page(() => 'x.txt', messages)
    await again.resumeStream()
    await ends(again, 'told: hand has "x.txt"')
    expect(asked).toHaveLength(2)
    expect(asked[1]!.id).toBe(asked[0]!.id)
    // once it is answered, nothing asks the page to run it
    const later = page(() => 'y.txt', messages.slice(0, 1))
    await later.resumeStream()
    expect(asked).toHaveLength(2)
  })

  test('two pages answer: the first wins, and the other is told', async () => {
    const { page, asked, ends, errors, runtime } = await chatOf(picker('solo', 'a'))
    const one = page(() => undefined)
    await one.sendMessage({ text: 'Go.' })
    await expect.poll(() => asked.length).toBe(1)
    const two = page(() => undefined, structuredClone(one.messages))
    const { id } = asked[0]!
    await one.addToolOutput({ tool: 'pick', toolCallId: id, output: 'one' })
    await ends(one, 'solo has "one"')
    await two.addToolOutput({ tool: 'pick', toolCallId: id, output: 'two' })
    await expect.poll(() => errors.length).toBe(1)
    expect(errors[0]).toMatch(/interrupt\.already-answered/)
    // the same answer again, as of a page whose stream broke, shows what came of it
    const same = page(() => undefined, structuredClone(two.messages))
    await same.addToolOutput({ tool: 'pick', toolCallId: id, output: 'one' })
    await ends(same, 'solo has "one"')
    expect(await runtime.runs()).toHaveLength(1)
  })

  test('neither another user nor an approver runs the tools of a chat', async () => {
    const { page, asked, runtime, url } = await chatOf(picker('solo', 'a'))
    const chat = page(() => undefined)
    await chat.sendMessage({ text: 'Go.' })
    await expect.poll(() => asked.length).toBe(1)
    const [question] = await runtime.questions()
    const answer = (user: string) =>
      fetch(`${url}/api/interrupts/${question!.id}/answer`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${tokenOf(user)}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ value: { output: 'stolen' } }),
      })
    for (const user of ['bob', 'apr']) {
      const refused = await answer(user)
      expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
        403,
        'request.forbidden',
      ])
    }
    expect((await answer('ann')).status).toBe(204)
  })
})

describe('AG-UI', () => {
  const input = (runId: string, messages: readonly object[], more: object = {}): object => ({
    threadId: 't',
    runId,
    messages,
    tools: [],
    context: [],
    state: {},
    ...more,
  })
  const user = { id: 'u', role: 'user', content: 'Go.' }
  const interruptsIn = (events: readonly JsonObject[]): readonly JsonObject[] =>
    (events.at(-1)?.['outcome'] as { readonly interrupts?: readonly JsonObject[] } | undefined)?.interrupts ?? []
  const textOf = (events: readonly JsonObject[]): string =>
    events.map(({ delta, type }) => (type === 'TEXT_MESSAGE_CONTENT' ? (delta as string) : '')).join('')

  test('the call ends the stream, and the message of the tool goes on with the run; sent again, it shows the same', async () => {
    const { ask, runtime } = await servingProtocols([lead(picker('hand', 'a', 'b'))], [agUi({ agent: 'lead' })])
    const send = async (body: object) => streamed(await ask('/ag-ui', body))
    const first = await send(input('r1', [user]))
    const interrupts = interruptsIn(first)
    expect(interrupts).toMatchObject([
      { reason: 'client_tool', metadata: { reeve: { tool: 'pick', input: { what: 'a' }, path: ['lead', 'hand'] } } },
      { reason: 'client_tool', metadata: { reeve: { tool: 'pick', input: { what: 'b' } } } },
    ])
    const ids = first.flatMap(({ type, toolCallName, toolCallId }) =>
      type === 'TOOL_CALL_START' && toolCallName === 'pick' ? [toolCallId] : [],
    )
    expect(interrupts.map(({ toolCallId }) => toolCallId)).toEqual(ids)
    const result = (at: number, content: string) => ({ id: `x${at}`, role: 'tool', toolCallId: ids[at], content })
    const one = await send(input('r2', [user, result(1, 'b.txt')]))
    expect(interruptsIn(one)).toMatchObject([{ metadata: { reeve: { input: { what: 'a' } } } }])
    const both = input('r3', [user, result(1, 'b.txt'), { ...result(0, ''), error: 'no file' }])
    const last = await send(both)
    expect(textOf(last)).toBe(
      'hand has "[tool \\"pick\\" failed: no file]" and "b.txt"told: hand has "[tool \\"pick\\" failed: no file]" and "b.txt"',
    )
    expect(await runtime.runs()).toHaveLength(1)
  })

  test('an interrupt is resumed with the result, too; a result that does not fit is refused', async () => {
    const { ask } = await servingProtocols([picker('solo', 'a')], [agUi({ agent: 'solo' })])
    const first = await streamed(await ask('/ag-ui', input('r1', [user])))
    const [{ id }] = interruptsIn(first) as [JsonObject]
    const resume = (payload: Json) =>
      ask('/ag-ui', input('r2', [], { resume: [{ interruptId: id, status: 'resolved', payload }] }))
    const refused = await resume({ output: 7 })
    expect([refused.status, ((await refused.json()) as JsonObject)['code']]).toEqual([400, 'interrupt.invalid'])
    expect(textOf(await streamed(await resume({ output: 'a.txt' })))).toBe('solo has "a.txt"')
  })
})

describe('A2A', () => {
  test('the task needs input: the tool, its arguments and the schema; a data part answers', async () => {
    const { ask } = await servingProtocols([lead(picker('hand', 'a'))], [a2a({ agents: ['lead'] })])
    const send = async (messageId: string, parts: readonly object[], taskId?: string) => {
      const response = await ask(
        '/a2a/lead',
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'SendMessage',
          params: { message: { messageId, role: 'ROLE_USER', parts, ...(taskId === undefined ? {} : { taskId }) } },
        },
        'ann',
        { 'A2A-Version': '1.0' },
      )
      return (await response.json()) as { readonly result?: JsonObject; readonly error?: JsonObject }
    }
    const { result } = await send('m1', [{ text: 'Go.' }])
    const task = result!['task'] as JsonObject
    const status = task['status'] as JsonObject
    expect(status['state']).toBe('TASK_STATE_INPUT_REQUIRED')
    const parts = (status['message'] as JsonObject)['parts'] as readonly JsonObject[]
    const data = parts.find((part) => isObject(part['data']))!['data'] as JsonObject
    expect(data).toMatchObject({ kind: 'client-tool', tool: 'pick', input: { what: 'a' }, path: ['lead', 'hand'] })
    const wrong = await send('m2', [{ data: { id: data['id']!, output: 7 } }], task['id'] as string)
    expect(JSON.stringify(wrong.error)).toContain('the output does not fit')
    const done = await send('m3', [{ data: { output: 'a.txt' } }], task['id'] as string)
    expect(JSON.stringify(done.result)).toContain('told: hand has')
  })
})

describe('OpenAI', () => {
  test('a call is a function_call of the response, and its output goes on with it', async () => {
    const { ask } = await servingProtocols([lead(picker('hand', 'a'))], [openai()])
    const post = async (body: object) => (await (await ask('/v1/responses', body)).json()) as JsonObject
    const first = await post({ model: 'lead', input: 'Go.' })
    expect(first).toMatchObject({
      status: 'incomplete',
      output: [{ type: 'function_call', name: 'pick', arguments: '{"what":"a"}' }],
    })
    const [call] = first['output'] as readonly JsonObject[]
    const second = await post({
      model: 'lead',
      previous_response_id: first['id'],
      input: [{ type: 'function_call_output', call_id: call!['call_id'], output: '7' }],
    })
    expect(second).toMatchObject({ id: first['id'], status: 'completed' })
    // the output of the tool is a text, so it is not read as a number
    expect(JSON.stringify(second['output'])).toContain(String.raw`told: hand has \"7\"`)
  })
})
