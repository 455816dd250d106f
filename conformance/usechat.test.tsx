/** The AI SDK's own client, `useChat` in a page, talks to `uiMessages`. It is the judge of every chunk. */
// @ts-expect-error it has no types of its own
import { JSDOM } from 'jsdom'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { UIMessage } from 'ai'
import {
  uiMessages,
  uiMessageStreamResponse,
  type RunMessageData,
  type RunMessageMetadata,
} from '../packages/protocols/src/ai-sdk/index.ts'
import { as, closeAll, servedApart, serving, storeFile } from './chat-serving.ts'
import { book, office } from './chat-team.ts'

type Message = UIMessage<RunMessageMetadata, RunMessageData>

const { window } = new (JSDOM as new (html: string, options: object) => { readonly window: Window })(
  '<!doctype html><body></body>',
  { url: 'http://127.0.0.1/' },
)
Object.assign(globalThis, { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: true })
let page: typeof import('@testing-library/react')
let react: typeof import('@ai-sdk/react')
let sdk: typeof import('ai')
beforeAll(async () => {
  page = await import('@testing-library/react')
  react = await import('@ai-sdk/react')
  sdk = await import('ai')
})
afterEach(async () => {
  page.cleanup()
  await closeAll()
})

const all = ['office', 'asker', 'author', 'failing']
const patience = { timeout: 50_000 }

interface ChatOptions {
  readonly user?: string
  readonly agent?: string
  readonly id?: string
  readonly messages?: Message[]
  readonly resume?: boolean
}

/** A page with a chat. */
function chatWith(url: string, { user = 'ann', agent = 'office', id = 'chat1', ...rest }: ChatOptions = {}) {
  const errors: Error[] = []
  const onError = (error: Error): number => errors.push(error)
  const { messages = [], resume = false } = rest
  const headers = as(user)
  const { useChat } = react
  const { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } = sdk
  const { result, unmount } = page.renderHook(
    () =>
      // #region client
      useChat<UIMessage<RunMessageMetadata, RunMessageData>>({
        id,
        messages,
        resume,
        transport: new DefaultChatTransport({ api: `${url}/chat`, headers, body: { agent } }),
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
        onError,
      }),
    // #endregion
  )
  const chat = {
    errors,
    unmount,
    get now() {
      return result.current
    },
    get last() {
      return result.current.messages.at(-1)
    },
    get parts() {
      return chat.last?.parts ?? []
    },
    get text() {
      return chat.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    },
    /** Sends, and does not wait for the end of the answer. */
    begin: (text: string) => {
      page.act(() => {
        void result.current.sendMessage({ text })
      })
    },
    send: (text: string) => page.act(async () => result.current.sendMessage({ text })),
    until: (isSo: () => boolean) =>
      page.waitFor(() => {
        if (!isSo()) throw new Error(`not yet: ${result.current.status} ${JSON.stringify(chat.last)}`)
      }, patience),
  }
  return chat
}

const kindsOf = (message: Message | undefined): string[] =>
  (message?.parts ?? []).map((part) => ('state' in part ? `${part.type} ${part.state}` : part.type))

const chunksOf = (text: string): Record<string, unknown>[] =>
  text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>)

describe('useChat', () => {
  test('texts, tools and workers are shown, an approval inside a worker is answered, the run goes on in the same message', async () => {
    const { agents, sent } = office()
    const { url, runtime, errors } = await serving(agents, [uiMessages({ agents: all })])
    const chat = chatWith(url)
    await chat.send('Greet Ann.')
    expect(chat.now.status).toBe('ready')
    expect(kindsOf(chat.last)).toEqual([
      'step-start',
      'text done',
      'dynamic-tool output-available',
      'step-start',
      'text done',
      'data-agent',
      'dynamic-tool approval-requested',
    ])
    expect(chat.text).toEqual(['Looking Ann up.', 'Asking the postman.'])
    const worker = chat.parts.find((part) => part.type === 'data-agent')
    expect(worker?.data).toEqual({
      agent: 'postman',
      path: ['office', 'postman'],
      status: 'waiting',
      text: 'I will write it.',
    })
    const asked = chat.parts.find((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested')
    expect(asked).toMatchObject({
      toolName: 'send_mail',
      input: { to: 'ann@example.org', text: 'Hello' },
      toolMetadata: { path: ['office', 'postman'] },
    })
    expect(chat.last?.metadata).toMatchObject({ agent: 'office', status: 'waiting' })
    const { id } = (asked as { approval: { id: string } }).approval
    await page.act(async () => chat.now.addToolApprovalResponse({ id, approved: true, reason: 'fine' }))
    await chat.until(() => chat.now.status === 'ready' && chat.last?.metadata?.status === 'completed')
    expect(chat.now.messages).toHaveLength(2)
    expect(chat.text).toEqual(['Looking Ann up.', 'Asking the postman.', 'Done: message 1.'])
    expect(kindsOf(chat.last)).toEqual([
      'step-start',
      'text done',
      'dynamic-tool output-available',
      'step-start',
      'text done',
      'data-agent',
      'dynamic-tool output-available',
      'step-start',
      'text done',
    ])
    expect(chat.parts.find((part) => part.type === 'data-agent')?.data).toMatchObject({
      status: 'completed',
      text: 'The mail is on its way.',
    })
    expect(chat.last?.metadata?.usage?.calls).toBeGreaterThanOrEqual(5)
    expect(sent).toEqual(['ann@example.org: Hello'])
    const [run] = await runtime.runs()
    const { approvals, caller } = await runtime.handle(run!.run).view()
    expect(approvals).toMatchObject([{ resolution: 'approved', approver: 'ann', comment: 'fine' }])
    expect(caller).toMatchObject({ user: 'ann', session: 'chat1' })
    expect([errors, chat.errors]).toEqual([[], []])
    expect((await sdk.safeValidateUIMessages({ messages: chat.now.messages })).success).toBe(true)
  })

  test('a refused approval is denied in the message; the next message is answered from the session, whatever the client claims', async () => {
    const { agents, sent } = office()
    const { url } = await serving(agents, [uiMessages({ agents: all })])
    const chat = chatWith(url)
    await chat.send('Greet Ann.')
    const asked = chat.parts.find((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested')
    const { id } = (asked as { approval: { id: string } }).approval
    await page.act(async () => chat.now.addToolApprovalResponse({ id, approved: false }))
    await chat.until(() => chat.now.status === 'ready' && chat.last?.metadata?.status === 'completed')
    expect(kindsOf(chat.last)).toContain('dynamic-tool output-denied')
    expect(sent).toEqual([])
    await page.act(() => chat.now.setMessages([]))
    await chat.send('And again?')
    await chat.until(() => chat.now.status === 'ready' && chat.now.messages.length === 2)
    const again = chat.parts.find((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested')
    await page.act(async () =>
      chat.now.addToolApprovalResponse({ id: (again as { approval: { id: string } }).approval.id, approved: true }),
    )
    await chat.until(() => chat.text.includes('Done: message 2.'))
  })

  test('a page that is opened again has its messages and the approval, and answers it', async () => {
    const { agents, sent } = office()
    const { url } = await serving(agents, [uiMessages({ agents: all })])
    const first = chatWith(url)
    await first.send('Greet Ann.')
    const before = first.last
    first.unmount()
    const { messages } = (await (await fetch(`${url}/chat/chat1`, { headers: as('ann') })).json()) as {
      messages: Message[]
    }
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(messages[0]?.parts).toEqual([{ type: 'text', text: 'Greet Ann.' }])
    expect((await sdk.safeValidateUIMessages({ messages })).success).toBe(true)
    const second = chatWith(url, { messages: [messages[0]!], resume: true })
    await second.until(() => second.now.status === 'ready' && second.now.messages.length === 2)
    expect(kindsOf(second.last)).toEqual(kindsOf(before))
    expect(second.last?.id).toBe(before?.id)
    const asked = second.parts.find((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested')
    await page.act(async () =>
      second.now.addToolApprovalResponse({ id: (asked as { approval: { id: string } }).approval.id, approved: true }),
    )
    await second.until(() => second.last?.metadata?.status === 'completed')
    expect(second.text).toEqual(['Looking Ann up.', 'Asking the postman.', 'Done: message 1.'])
    expect(sent).toHaveLength(1)
    second.unmount()
    const stored = (await (await fetch(`${url}/chat/chat1`, { headers: as('ann') })).json()) as { messages: Message[] }
    expect(kindsOf(stored.messages[1])).toEqual(kindsOf(second.last))
    const nothing = await fetch(`${url}/chat/chat1/stream`, { headers: as('ann') })
    expect(nothing.status).toBe(204)
  })

  test('a page that is closed leaves the run alone; another one gets what was shown, live text too, and the rest', async () => {
    let go = (): void => {}
    let said = 0
    const pause = (): Promise<void> => (++said === 6 ? new Promise((resolve) => (go = resolve)) : Promise.resolve())
    const { url, runtime } = await serving(office(pause).agents, [uiMessages({ agents: all })])
    const first = chatWith(url, { agent: 'author' })
    first.begin('A book.')
    await first.until(() => first.text.join('').includes('dark'))
    expect(first.now.status).toBe('streaming')
    await page.act(async () => first.now.stop())
    first.unmount()
    const second = chatWith(url, { agent: 'author', resume: true })
    // nothing of it is recorded yet
    await second.until(() => second.text.join('').includes('dark'))
    expect(book[0]!.startsWith(second.text.join(''))).toBe(true)
    go()
    await second.until(() => second.last?.metadata?.status === 'completed')
    expect(second.text).toEqual(book)
    expect((await runtime.runs()).map(({ status }) => status)).toEqual(['completed'])
  })

  test('an explicit stop cancels the run', async () => {
    let said = 0
    const pause = (): Promise<void> => (++said === 6 ? new Promise(() => {}) : Promise.resolve())
    const { url, runtime } = await serving(office(pause).agents, [uiMessages({ agents: all })])
    const chat = chatWith(url, { agent: 'author' })
    chat.begin('A book.')
    await chat.until(() => chat.text.join('').includes('dark'))
    const stopped = await fetch(`${url}/chat/chat1/stop`, { method: 'POST', headers: as('ann') })
    expect(stopped.status).toBe(204)
    await chat.until(() => chat.now.status === 'ready')
    expect(chat.last?.metadata?.status).toBe('cancelled')
    expect((await runtime.runs()).map(({ status }) => status)).toEqual(['cancelled'])
  })

  test('a question is a data part, and is answered with the next request', async () => {
    const { url } = await serving(office().agents, [uiMessages({ agents: all })])
    const chat = chatWith(url, { agent: 'asker' })
    await chat.send('Where to?')
    const asked = chat.parts.find((part) => part.type === 'data-question')
    expect(asked?.data).toMatchObject({ question: 'Which city?', status: 'open', path: ['asker'] })
    await page.act(async () => chat.now.sendMessage(undefined, { body: { answers: { [asked!.data.id]: 'Rome' } } }))
    await chat.until(() => chat.last?.metadata?.status === 'completed')
    expect(chat.now.messages).toHaveLength(2)
    expect(chat.text).toEqual(['Off to Rome.'])
    expect(chat.parts.find((part) => part.type === 'data-question')?.data.status).toBe('closed')
  })

  test('errors have the code: of a failed run, of a refused request, of an approval that is not open any more', async () => {
    const { url, runtime } = await serving(office().agents, [uiMessages({ agents: all })])
    const failing = chatWith(url, { agent: 'failing', id: 'f1' })
    await failing.send('Print.')
    expect(failing.now.status).toBe('error')
    expect(failing.now.error?.message).toMatch(/^orchestration\.threw: no paper left/)
    expect(failing.last?.metadata?.status).toBe('failed')
    const viewer = chatWith(url, { user: 'vic', id: 'v1' })
    await viewer.send('Greet Ann.')
    expect(viewer.now.error?.message).toContain('request.forbidden')
    const chat = chatWith(url)
    await chat.send('Greet Ann.')
    const foreign = chatWith(url, { user: 'bob', messages: chat.now.messages })
    const [approval] = await runtime.approvals()
    await page.act(async () => foreign.now.addToolApprovalResponse({ id: approval!.id, approved: true }))
    await foreign.until(() => foreign.now.status === 'error')
    expect(foreign.now.error?.message).toContain('request.forbidden')
    await runtime.decide({ approvalId: approval!.id, decision: 'reject', approver: 'bob' })
    await runtime.handle(approval!.run).outcome()
    await page.act(async () => chat.now.addToolApprovalResponse({ id: approval!.id, approved: true }))
    await chat.until(() => chat.now.status === 'error')
    expect(chat.now.error?.message).toContain('approval.already-decided')
    await page.act(async () => chat.now.resumeStream())
    expect(chat.now.status).toBe('ready')
  })

  test('regenerate asks again; a request that is sent again does not', async () => {
    const { url, runtime } = await serving(office().agents, [uiMessages({ agents: all })])
    const chat = chatWith(url, { agent: 'author' })
    await chat.send('A book.')
    expect(chat.text).toEqual(book)
    const [message] = chat.now.messages
    const again = await fetch(`${url}/chat`, {
      method: 'POST',
      headers: { ...as('ann'), 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'chat1', agent: 'author', messages: [message] }),
    })
    const chunks = chunksOf(await again.text())
    expect(chunks.map((chunk) => chunk['delta'] ?? '').join('')).toBe(book.join(''))
    expect(await runtime.runs()).toHaveLength(1)
    const { id } = chat.last!
    await page.act(async () => chat.now.regenerate())
    await chat.until(() => chat.now.status === 'ready')
    expect(chat.now.messages).toHaveLength(2)
    expect(chat.last?.id).not.toBe(id)
    expect(chat.text).toEqual(book)
    expect(await runtime.runs()).toHaveLength(2)
  })

  test('every chunk fits the schema of the AI SDK, also those of a run that a route of its own streams', async () => {
    const { runtime } = await serving(office().agents, [])
    const run = await runtime.start('office', 'Greet Ann.')
    const response = await uiMessageStreamResponse(run)
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    const chunks = chunksOf(await response.text())
    expect(chunks.length).toBeGreaterThan(10)
    const schema = sdk.uiMessageChunkSchema()
    for (const chunk of chunks) expect(await schema.validate!(chunk)).toMatchObject({ success: true })
  })

  test('the server is killed while it streams: the run goes on in the next one, and the page shows all of it', async () => {
    const store = storeFile()
    const first = await servedApart(store)
    const chat = chatWith(first.url, { agent: 'author' })
    chat.begin('A book.')
    await chat.until(() => chat.text.length >= 2)
    await first.kill()
    await chat.until(() => chat.now.status === 'error')
    await servedApart(store, Number(new URL(first.url).port))
    await page.act(async () => chat.now.resumeStream())
    await chat.until(() => chat.last?.metadata?.status === 'completed')
    expect(chat.text).toEqual(book)
    expect(chat.now.messages).toHaveLength(2)
  })

  test('the server is killed while a worker waits: the approval is answered in the next one', async () => {
    const store = storeFile()
    const first = await servedApart(store)
    const chat = chatWith(first.url)
    await chat.send('Greet Ann.')
    await first.kill()
    await servedApart(store, Number(new URL(first.url).port))
    const asked = chat.parts.find((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested')
    await page.act(async () =>
      chat.now.addToolApprovalResponse({ id: (asked as { approval: { id: string } }).approval.id, approved: true }),
    )
    await chat.until(() => chat.last?.metadata?.status === 'completed')
    expect(chat.text).toEqual(['Looking Ann up.', 'Asking the postman.', 'Done: message 1.'])
    expect(kindsOf(chat.last)).toContain('dynamic-tool output-available')
  })
})
