/** The Slack app against a Slack that is as strict as its documents: messages, presses, updates, and what goes wrong. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { agent, createRuntime, tool, type Runtime, type RuntimeOptions } from '@reeve/public'
import type { Json } from '@reeve/core'
import { createServer, listen, type ListeningServer, type Principal } from '@reeve/server'
import { blockProblems, FakeSlack, textsIn, type FakeMessage } from '../../../examples/slack/fake-slack.ts'
import { slackApp, type SlackAppOptions } from '../src/slack-app/index.ts'
import { openMessage, settledMessage } from '../src/slack-app/slack-message.ts'
import { hostile, notice } from './notices.ts'

vi.setConfig({ testTimeout: 60_000 })

const people: Readonly<Record<string, Principal>> = {
  U0ANN: { name: 'ann', roles: ['approver'] },
  U0BOB: { name: 'bob', roles: ['approver'] },
  U0VIEW: { name: 'vic', roles: ['viewer'] },
  U0OTHER: { name: 'olga', roles: ['approver'], tenant: 'other' },
}

let slack: FakeSlack
let errors: unknown[] = []
const open: AsyncDisposable[] = []
beforeEach(async () => {
  slack = await FakeSlack.start()
  errors = []
})
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]()
  await slack[Symbol.asyncDispose]()
})

interface World {
  readonly runtime: Runtime
  readonly server: ListeningServer
  readonly url: string
  readonly paid: unknown[]
  readonly message: () => Promise<FakeMessage>
  readonly press: (verb: 'approve' | 'reject', user: string, of?: FakeMessage) => Promise<void>
}

const appOf = (options: Partial<SlackAppOptions> = {}) =>
  slackApp({
    token: slack.token,
    signingSecret: slack.signingSecret,
    channel: slack.channel,
    team: slack.team,
    people,
    apiUrl: slack.apiUrl,
    onError: (error) => errors.push(error),
    ...options,
  })

/** An agent that pays `input` once it may, and its server with the app. */
async function world({
  input = { usd: 40 },
  approval = { risk: 'high' },
  oversight = {},
  app = {},
  runtime: more = {},
}: {
  readonly input?: Json
  readonly approval?: object
  readonly oversight?: object
  readonly app?: Partial<SlackAppOptions>
  readonly runtime?: Partial<RuntimeOptions>
} = {}): Promise<World> {
  const paid: unknown[] = []
  const payer = agent({
    name: 'payer',
    model: ({ messages }) => (messages.at(-1)!.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input }] }),
    tools: [tool({ name: 'pay', effect: 'once', approval, execute: (given) => `${paid.push(given)}` })],
    oversight: { approval: { notify: ['slack'], ...oversight } },
  })
  const { channel, protocol } = appOf(app)
  const runtime = await createRuntime({ agents: [payer], channels: [channel], ...more })
  open.push(runtime)
  const server = await listen(
    createServer({ runtime, protocols: [protocol], onError: (error) => errors.push(error) }),
    {
      port: 0,
    },
  )
  open.push(server)
  const url = `${server.url}/slack`
  const message = (): Promise<FakeMessage> => vi.waitUntil(() => slack.messages.at(-1), { timeout: 25_000 })
  return {
    runtime,
    server,
    url,
    paid,
    message,
    async press(verb, user, of) {
      const answer = await slack.deliver(url, slack.signed(slack.press(of ?? (await message()), `reeve:${verb}`, user)))
      expect(answer).toMatchObject({ status: 200, inTime: true })
    },
  }
}

const says = (message: FakeMessage, what: string): Promise<unknown> =>
  vi.waitUntil(() => textsIn(message.blocks).some((each) => each.includes(what)), { timeout: 25_000 })
const hasButtons = ({ blocks }: FakeMessage): boolean => blocks.some((block) => block['type'] === 'actions')

describe('a message', () => {
  test.each([
    ['an approval', notice({ inputHash: 'h' })],
    ['an approval with hostile words', hostile({ inputHash: 'h' })],
    ['very long arguments', notice({ inputHash: 'h', input: { text: '<&>`'.repeat(20_000) } })],
    ['arguments of several blocks', notice({ inputHash: 'h', input: { text: '&'.repeat(3_000) } })],
    [
      'long names and reasons',
      notice({ inputHash: 'h', text: 'x'.repeat(9_000), path: Array(9).fill('p'.repeat(60)) }),
    ],
    ['a question', notice({ type: 'interrupt' })],
    ['no reason', notice({ inputHash: 'h', text: ' ' })],
  ])('%s: keeps within the bounds of Slack, also when it is settled', (_what, given) => {
    expect(blockProblems(openMessage(given, 'https://example.com/runs/1').blocks)).toEqual([])
    const ending = {
      type: 'resolved',
      resolution: 'rejected',
      approver: 'x'.repeat(300),
      comment: 'y'.repeat(9_000),
    } as const
    expect(blockProblems(settledMessage(given, ending, 0).blocks)).toEqual([])
  })

  test('mentions no one, links nowhere and shows every control character', () => {
    const message = JSON.stringify(openMessage(hostile({ inputHash: 'h' }), undefined))
    const { text, blocks } = openMessage(hostile({ inputHash: 'h' }), undefined)
    const marked = JSON.stringify([text, ...blocks.filter((block) => JSON.stringify(block).includes('mrkdwn'))])
    expect(marked).not.toMatch(/<[!@#h]/)
    for (const hidden of ['\u001b', '\u202e', '\u009b']) expect(message).not.toContain(hidden)
  })

  test('what is not shown whole has no button that approves it', () => {
    const buttons = (given: ReturnType<typeof notice>): string => JSON.stringify(openMessage(given, undefined).blocks)
    const long = notice({ inputHash: 'h', input: { text: 'x'.repeat(50_000) } })
    expect(buttons(long)).not.toContain('reeve:approve')
    expect(buttons(long)).toContain('reeve:reject')
    expect(buttons(long)).toContain('too long for Slack')
    expect(buttons(notice({ inputHash: 'h', options: ['reject'] }))).not.toContain('reeve:approve')
    expect(buttons(notice())).not.toContain('reeve:')
    const pieces = textsIn(
      openMessage(notice({ inputHash: 'h', input: { text: '`&'.repeat(2_000) } }), undefined).blocks,
    )
      .filter((each) => each.startsWith('```\n'))
      .map((each) => each.slice(4, -4).replaceAll('&amp;', '&'))
    expect(JSON.parse(pieces.join(''))).toEqual({ text: '`&'.repeat(2_000) })
  })
})

describe('a press', () => {
  test('approves in the name of its principal, exactly what was shown; the message says so and has no buttons', async () => {
    const { runtime, paid, message, press } = await world({ input: { usd: 40, to: '<!channel>' } })
    const run = await runtime.start('payer', 'go')
    expect(textsIn((await message()).blocks).join('\n')).toContain('&lt;!channel&gt;')
    await press('approve', 'U0ANN')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toEqual([{ usd: 40, to: '<!channel>' }])
    expect((await run.view()).approvals[0]).toMatchObject({ resolution: 'approved', approver: 'ann' })
    await says(await message(), 'Approved by ann')
    expect(hasButtons(await message())).toBe(false)
    expect(errors).toEqual([])
  })

  test('rejects with a reason, which the agent reads', async () => {
    const { runtime, url, paid, message, press } = await world()
    const run = await runtime.start('payer', 'go')
    await press('reject', 'U0BOB')
    expect(slack.views).toHaveLength(1)
    const sent = await slack.deliver(url, slack.signed(slack.submit('Too much.', 'U0BOB')))
    expect(sent).toMatchObject({ status: 200, body: '' })
    await run.outcome()
    expect(paid).toEqual([])
    expect((await run.view()).approvals[0]).toMatchObject({
      resolution: 'rejected',
      approver: 'bob',
      comment: 'Too much.',
    })
    await says(await message(), 'Rejected by bob: Too much.')
  })

  test.each([
    ['U0EVE', undefined, 'nobody here is known by your name in Slack'],
    ['U0ANN', 'T0ELSEWHERE', 'nobody here is known by your name in Slack'],
    ['__proto__', undefined, 'nobody here is known by your name in Slack'],
    ['U0VIEW', undefined, 'needs the role'],
    ['U0OTHER', undefined, 'no open question'],
  ])('of %s (workspace %s) decides nothing, and is told so alone', async (user, team, why) => {
    const { runtime, url, message } = await world()
    await runtime.start('payer', 'go')
    const answer = await slack.deliver(url, slack.signed(slack.press(await message(), 'reeve:approve', user, team)))
    expect(answer.status).toBe(200)
    await vi.waitFor(() => expect(slack.whispers).toEqual([{ user, text: expect.stringContaining(why) as string }]))
    expect(await runtime.approvals()).toHaveLength(1)
    expect(hasButtons(await message())).toBe(true)
  })

  test('two people decide what two must; one twice does not', async () => {
    const { runtime, paid, message, press } = await world({ oversight: { fourEyes: 'high' } })
    const run = await runtime.start('payer', 'go')
    const first = await message()
    await press('approve', 'U0ANN')
    await says(first, 'a second approver is needed')
    const second = await vi.waitUntil(() => slack.messages[1], { timeout: 25_000 })
    await press('approve', 'U0ANN', second)
    await vi.waitFor(() => expect(slack.whispers).toHaveLength(1))
    expect(paid).toEqual([])
    await press('approve', 'U0BOB', second)
    await run.outcome()
    expect(paid).toHaveLength(1)
  })

  test('other arguments than were shown are not approved', async () => {
    const { runtime, url, message } = await world()
    await runtime.start('payer', 'go')
    const pressed = slack.press(await message(), 'reeve:approve', 'U0ANN')
    const [action] = pressed['actions'] as { value: string }[]
    const value = JSON.stringify({ ...(JSON.parse(action!.value) as object), inputHash: 'f'.repeat(64) })
    await slack.deliver(url, slack.signed({ ...pressed, actions: [{ ...action, value }] }))
    await vi.waitFor(() => expect(slack.whispers[0]?.text).toContain('other arguments would run than were shown'))
    expect(await runtime.approvals()).toHaveLength(1)
  })

  test('of what was decided elsewhere changes nothing; the message says what became of it', async () => {
    const { runtime, message, press, paid } = await world()
    const run = await runtime.start('payer', 'go')
    const before = { ...(await message()) }
    const [approval] = await runtime.approvals()
    await run.decide({ approvalId: approval!.id, decision: 'reject', approver: 'studio', comment: 'No.' })
    await says(await message(), 'Rejected by studio: No.')
    await press('approve', 'U0ANN', before)
    await vi.waitFor(() => expect(slack.whispers).toHaveLength(1))
    expect(paid).toEqual([])
  })

  test('the same request three times, at once and later, is one decision', async () => {
    const { runtime, url, paid, message } = await world()
    const run = await runtime.start('payer', 'go')
    const request = slack.signed(slack.press(await message(), 'reeve:approve', 'U0ANN'))
    const answers = await Promise.all([1, 2, 3].map(() => slack.deliver(url, request)))
    await run.outcome()
    answers.push(await slack.deliver(url, request))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(paid).toHaveLength(1)
    expect(slack.whispers).toEqual([])
  })

  test('is answered within three seconds where the decision takes longer', async () => {
    let decide = (): void => {}
    const mayDecide = (): Promise<boolean> => new Promise((resolve) => (decide = () => resolve(false)))
    const { runtime, press } = await world({ runtime: { mayDecide } })
    await runtime.start('payer', 'go')
    await press('approve', 'U0ANN')
    decide()
    await vi.waitFor(() => expect(slack.whispers[0]?.text).toContain('may not decide it'), { timeout: 10_000 })
    expect(await runtime.approvals()).toHaveLength(1)
  })
})

describe('a request that is not of Slack, or not of now, is refused before it is read', () => {
  test.each([
    ['another secret', (request: RequestInit) => request, { secret: 'another-secret-of-16' }, 401],
    ['six minutes old', (request: RequestInit) => request, { at: Date.now() - 360_000 }, 401],
    ['six minutes ahead', (request: RequestInit) => request, { at: Date.now() + 360_000 }, 401],
    ['another body', (request: RequestInit) => ({ ...request, body: `${request.body as string}&x=1` }), {}, 401],
    ['no signature', ({ body }: RequestInit) => ({ method: 'POST', body: body! }), {}, 401],
    ['a version that is not v0', (request: RequestInit) => with_(request, 'x-slack-signature', 'v1=00'), {}, 401],
    ['a time that is no number', (request: RequestInit) => with_(request, 'x-slack-request-timestamp', 'now'), {}, 401],
    ['GET', ({ headers }: RequestInit) => ({ method: 'GET', headers: headers! }), {}, 404],
  ] as const)('%s', async (_what, changed, { at, secret }: { at?: number; secret?: string }, status) => {
    const { runtime, url, message } = await world()
    await runtime.start('payer', 'go')
    const request = slack.signed(slack.press(await message(), 'reeve:approve', 'U0ANN'), at, secret)
    expect((await slack.deliver(url, changed(request))).status).toBe(status)
    expect(await runtime.approvals()).toHaveLength(1)
    expect(slack.whispers).toEqual([])
  })

  test('what is signed and is nothing of this app is answered, and nothing is done', async () => {
    const { runtime, url, message } = await world()
    await runtime.start('payer', 'go')
    const pressed = slack.press(await message(), 'reeve:approve', 'U0ANN')
    for (const payload of [
      { ...pressed, type: 'shortcut' },
      { ...pressed, actions: [] },
      { ...pressed, actions: [{ action_id: 'reeve:approve', value: '{"approvalId":1}' }] },
      { ...pressed, actions: [{ action_id: 'toString', value: 'x' }] },
      { ...pressed, user: null },
      { ...pressed, container: { type: 'message' } },
    ])
      expect((await slack.deliver(url, slack.signed(payload))).status).toBe(200)
    expect(slack.whispers).toEqual([])
    expect(await runtime.approvals()).toHaveLength(1)
  })

  test('a secret that is being changed: both hold', async () => {
    const next = 'the-next-secret-of-slack'
    const { runtime, url, message } = await world({ app: { signingSecret: [slack.signingSecret, next] } })
    const run = await runtime.start('payer', 'go')
    const pressed = slack.press(await message(), 'reeve:approve', 'U0ANN')
    expect((await slack.deliver(url, slack.signed(pressed, Date.now(), next))).status).toBe(200)
    expect((await run.outcome()).status).toBe('completed')
  })
})

describe('Slack that is away', () => {
  test('limits and faults are tried again, not before Slack says; the request is told once', async () => {
    slack.troubles.push(
      { method: 'chat.postMessage', status: 429, retryAfter: 1 },
      { method: 'chat.postMessage', status: 503 },
    )
    const begun = Date.now()
    const { runtime, message } = await world()
    await runtime.start('payer', 'go')
    await message()
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1_000)
    expect(slack.messages).toHaveLength(1)
  })

  test.each(['channel_not_found', 'token_revoked', 'is_archived', 'not_in_channel'])(
    '%s: told to the operator, recorded, and the request waits on',
    async (error) => {
      slack.troubles.push({ method: 'chat.postMessage', error })
      const { runtime } = await world()
      const run = await runtime.start('payer', 'go')
      await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 25_000 })
      expect(String((errors[0] as Error).message)).toContain(error)
      await vi.waitFor(async () => {
        const events = (await run.journal()).map(({ event }) => event)
        expect(events).toContainEqual(expect.objectContaining({ type: 'notice.failed', channel: 'slack' }))
      }, 25_000)
      expect(slack.calls.filter((each) => each === 'chat.postMessage')).toHaveLength(1)
      const [approval] = await runtime.approvals()
      await run.decide({ approvalId: approval!.id, decision: 'approve', approver: 'ann' })
      expect((await run.outcome()).status).toBe('completed')
    },
  )

  test('a message whose answer was lost is posted again; a press under the first one decides, too', async () => {
    slack.troubles.push({ method: 'chat.postMessage', lost: true })
    const { runtime, paid, press } = await world()
    const run = await runtime.start('payer', 'go')
    await vi.waitUntil(() => slack.messages.length === 2, { timeout: 25_000 })
    await press('approve', 'U0ANN', slack.messages[0])
    await run.outcome()
    expect(paid).toHaveLength(1)
    for (const each of slack.messages) await says(each, 'Approved by ann')
  })

  test('an update that is refused for a while is made later, and one that cannot be made is told', async () => {
    const { runtime, message, press } = await world()
    const run = await runtime.start('payer', 'go')
    slack.troubles.push({ method: 'chat.update', error: 'internal_error' }, { method: 'chat.update', status: 500 })
    await press('approve', 'U0ANN')
    await run.outcome()
    await says(await message(), 'Approved by ann')
    expect(errors).toEqual([])
    slack.troubles.push(...Array.from({ length: 2 }, () => ({ method: 'chat.update', error: 'message_not_found' })))
    await runtime.start('payer', 'again')
    const next = await vi.waitUntil(() => slack.messages[1], { timeout: 25_000 })
    await press('approve', 'U0ANN', next)
    await vi.waitFor(() => expect(String((errors[0] as Error).message)).toContain('message_not_found'), 25_000)
  })
})

test('a run that is cancelled, and a deadline: the message says that nothing is left to decide', async () => {
  const { runtime, message } = await world()
  const run = await runtime.start('payer', 'go')
  const first = await message()
  await run.control.cancel('not needed', 'ops')
  await run.outcome()
  await says(first, 'Not needed any more')
  expect(hasButtons(first)).toBe(false)
})

test('a deadline that passes: the message says so', async () => {
  const { runtime } = await world({ approval: { risk: 'medium', timeoutMs: 1_500 } })
  const run = await runtime.start('payer', 'go')
  const message = await vi.waitUntil(() => slack.messages[0], { timeout: 25_000 })
  await run.outcome()
  await says(message, 'nobody decided in time')
  expect(hasButtons(message)).toBe(false)
})

test('a server that starts later follows the messages that are open', async () => {
  const { runtime, server, message } = await world()
  const run = await runtime.start('payer', 'go')
  const first = await message()
  await vi.waitFor(async () => expect((await run.journal()).map(({ event }) => event.type)).toContain('notice.sent'))
  await server.close()
  const later = await listen(createServer({ runtime, protocols: [appOf().protocol] }), { port: 0 })
  open.push(later)
  const [approval] = await runtime.approvals()
  await run.decide({ approvalId: approval!.id, decision: 'approve', approver: 'studio' })
  await says(first, 'Approved by studio')
})

test.each([
  [{ token: 'x' }, 'token'],
  [{ channel: '#approvals' }, 'channel'],
  [{ team: 'acme' }, 'team'],
  [{ people: { ann: { name: 'ann', roles: ['approver'] } } }, 'people: "ann"'],
  [{ people: { U1: { name: 'ann', roles: ['boss'] } } }, 'people.U1'],
  [{ signingSecret: [] }, 'signingSecret'],
  [{ path: 'slack' }, 'path'],
] as const)('options %j are refused, and no secret is told', (options, what) => {
  let said = ''
  try {
    appOf(options as never)
  } catch (thrown) {
    said = (thrown as Error).message
  }
  expect(said).toContain(what)
  expect(said).not.toContain(slack.token)
})

function with_(request: RequestInit, name: string, value: string): RequestInit {
  return { ...request, headers: { ...(request.headers as Record<string, string>), [name]: value } }
}
