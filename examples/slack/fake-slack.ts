/**
 * A Slack for tests and examples: the four methods that `slackApp` calls, and presses of buttons, each as strict as
 * Slack's documents say: blocks, texts and values within their bounds, a token, known channels and messages, a trigger
 * that is used once within three seconds, signed requests, an answer within three seconds.
 *
 * Not here: what people see, scopes, other methods. Bounds: docs.slack.dev, block kit, chat.postMessage, views.open.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

type Fields = { readonly [name: string]: unknown }

/** A message as Slack has it. */
export interface FakeMessage {
  readonly ts: string
  readonly channel: string
  text: string
  blocks: readonly Fields[]
  /** How often it was updated. */
  updates: number
}

/** What Slack says instead of doing it, once. */
export interface FakeTrouble {
  readonly method?: string
  /** An HTTP status, with the seconds of `Retry-After`. */
  readonly status?: number
  readonly retryAfter?: number
  /** The error of an answer `{ ok: false }`. */
  readonly error?: string
  /** It is done, and its answer never arrives. */
  readonly lost?: true
}

const isFields = (given: unknown): given is Fields =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/** The problems of an object with these members alone; each says what is wrong with its value. */
function membersOf(
  given: unknown,
  where: string,
  known: Readonly<Record<string, (value: unknown, where: string) => string[]>>,
  needed: readonly string[],
): string[] {
  if (!isFields(given)) return [`${where}: not an object`]
  return [
    ...needed.filter((name) => given[name] === undefined).map((name) => `${where}: missing ${name}`),
    ...Object.entries(given).flatMap(([name, value]) =>
      Object.hasOwn(known, name) ? known[name]!(value, `${where}.${name}`) : [`${where}: unknown member ${name}`],
    ),
  ]
}
const text =
  (most: number, least = 1) =>
  (value: unknown, where: string): string[] =>
    typeof value === 'string' && value.length >= least && value.length <= most
      ? []
      : [
          `${where}: expected ${least} to ${most} characters, got ${typeof value === 'string' ? value.length : typeof value}`,
        ]
const flag = (value: unknown, where: string): string[] =>
  typeof value === 'boolean' ? [] : [`${where}: not a boolean`]
const one =
  (...of: readonly unknown[]) =>
  (value: unknown, where: string): string[] =>
    of.includes(value) ? [] : [`${where}: not one of ${of.join(', ')}`]
const textObject =
  (most: number, types: readonly string[] = ['plain_text', 'mrkdwn']) =>
  (value: unknown, where: string): string[] =>
    membersOf(
      value,
      where,
      {
        type: one(...types),
        text: text(most),
        ...(isFields(value) && value['type'] === 'plain_text' ? { emoji: flag } : { verbatim: flag }),
      },
      ['type', 'text'],
    )
const plainText = (most: number) => textObject(most, ['plain_text'])
const listOf =
  (most: number, check: (value: unknown, where: string) => string[]) =>
  (value: unknown, where: string): string[] =>
    Array.isArray(value) && value.length > 0 && value.length <= most
      ? value.flatMap((each, i) => check(each, `${where}[${i}]`))
      : [`${where}: expected 1 to ${most} elements`]

const confirm = (value: unknown, where: string): string[] =>
  membersOf(
    value,
    where,
    { title: plainText(100), text: textObject(300), confirm: plainText(30), deny: plainText(30) },
    ['title', 'text', 'confirm', 'deny'],
  )
const button = (value: unknown, where: string): string[] =>
  membersOf(
    value,
    where,
    {
      type: one('button'),
      text: plainText(75),
      action_id: text(255),
      value: text(2_000),
      style: one('primary', 'danger'),
      confirm,
    },
    ['type', 'text'],
  )
const blockTypes: Readonly<Record<string, (block: unknown, where: string) => string[]>> = {
  header: (block, where) =>
    membersOf(block, where, { type: one('header'), block_id: text(255), text: plainText(150) }, ['text']),
  section: (block, where) => [
    ...membersOf(
      block,
      where,
      { type: one('section'), block_id: text(255), text: textObject(3_000), fields: listOf(10, textObject(2_000)) },
      [],
    ),
    ...(isFields(block) && block['text'] === undefined && block['fields'] === undefined
      ? [`${where}: has neither text nor fields`]
      : []),
  ],
  context: (block, where) =>
    membersOf(block, where, { type: one('context'), block_id: text(255), elements: listOf(10, textObject(3_000)) }, [
      'elements',
    ]),
  actions: (block, where) =>
    membersOf(block, where, { type: one('actions'), block_id: text(255), elements: listOf(25, button) }, ['elements']),
  divider: (block, where) => membersOf(block, where, { type: one('divider'), block_id: text(255) }, []),
  input: (block, where) =>
    membersOf(
      block,
      where,
      {
        type: one('input'),
        block_id: text(255),
        label: plainText(2_000),
        optional: flag,
        element: (element, at) =>
          membersOf(
            element,
            at,
            {
              type: one('plain_text_input'),
              action_id: text(255),
              multiline: flag,
              max_length: (value, place) =>
                Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 3_000 ? [] : [`${place}: 1 to 3000`],
            },
            ['type', 'action_id'],
          ),
      },
      ['label', 'element'],
    ),
}

/** What Slack would refuse of blocks. `most`: 50 in a message, 100 in a form. */
export function blockProblems(blocks: unknown, most = 50): string[] {
  if (!Array.isArray(blocks) || blocks.length > most) return [`expected at most ${most} blocks`]
  const ids = blocks.flatMap((block) => (isFields(block) && block['block_id'] !== undefined ? [block['block_id']] : []))
  const actions = blocks.flatMap((block) =>
    isFields(block) && Array.isArray(block['elements'])
      ? block['elements'].flatMap((each) => (isFields(each) && 'action_id' in each ? [each['action_id']] : []))
      : [],
  )
  return [
    ...(new Set(ids).size === ids.length ? [] : ['a block_id stands twice']),
    ...(new Set(actions).size === actions.length ? [] : ['an action_id stands twice']),
    ...blocks.flatMap((block, i) => {
      const type = isFields(block) ? String(block['type']) : ''
      return Object.hasOwn(blockTypes, type)
        ? blockTypes[type]!(block, `blocks[${i}]`)
        : [`blocks[${i}]: unknown type ${type}`]
    }),
  ]
}

const viewProblems = (view: unknown): string[] =>
  membersOf(
    view,
    'view',
    {
      type: one('modal'),
      callback_id: text(255),
      private_metadata: text(3_000, 0),
      title: plainText(24),
      submit: plainText(24),
      close: plainText(24),
      blocks: (blocks) => blockProblems(blocks, 100),
    },
    ['type', 'title', 'blocks'],
  )

/** What a press of a button, or a sent form, was answered. */
export interface FakeAnswer {
  readonly status: number
  readonly body: string
  /** It came within three seconds. Else people see that the app did not answer. */
  readonly inTime: boolean
}

/** A workspace with one channel and one app. */
export class FakeSlack implements AsyncDisposable {
  readonly token = `xoxb-${randomUUID()}`
  readonly signingSecret = randomUUID().replaceAll('-', '')
  readonly team = 'T0FAKE'
  readonly channel = 'C0FAKE'
  readonly messages: FakeMessage[] = []
  /** What one person alone was told. */
  readonly whispers: { readonly user: string; readonly text: string }[] = []
  /** Forms that are open, the newest last. */
  readonly views: Fields[] = []
  /** What it will say instead, in this order. */
  readonly troubles: FakeTrouble[] = []
  /** Every call that came, by method. */
  readonly calls: string[] = []
  readonly #server = createServer((request, response) => {
    this.#answer(request)
      .then(({ status = 200, headers = {}, body, lost }) => {
        if (lost === true) request.socket.destroy()
        else response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
      })
      .catch((thrown: unknown) => response.writeHead(500).end(String(thrown)))
  })
  readonly #triggers = new Map<string, number>()
  #count = 0

  /** Where its Web API is. */
  get apiUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/`
  }

  static async start(): Promise<FakeSlack> {
    const slack = new FakeSlack()
    slack.#server.listen(0, '127.0.0.1')
    await once(slack.#server, 'listening')
    return slack
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage): Promise<{
    readonly status?: number
    readonly headers?: Record<string, string>
    readonly body: Fields
    readonly lost?: true
  }> {
    let sent = ''
    for await (const piece of request.setEncoding('utf8')) sent += String(piece)
    const method = (request.url ?? '').replace(/^\/api\//, '')
    this.calls.push(method)
    const at = this.troubles.findIndex((each) => each.method === undefined || each.method === method)
    const [trouble] = at < 0 ? [] : this.troubles.splice(at, 1)
    if (trouble?.status !== undefined)
      return {
        status: trouble.status,
        headers: trouble.retryAfter === undefined ? {} : { 'retry-after': String(trouble.retryAfter) },
        body: { ok: false, error: 'ratelimited' },
      }
    if (trouble?.error !== undefined) return { body: { ok: false, error: trouble.error } }
    if (!/^application\/json; charset=utf-8$/.test(request.headers['content-type'] ?? ''))
      return { body: { ok: false, error: 'invalid_post_type' } }
    if (request.headers.authorization === undefined) return { body: { ok: false, error: 'not_authed' } }
    if (request.headers.authorization !== `Bearer ${this.token}`) return { body: { ok: false, error: 'invalid_auth' } }
    const body = this.#done(method, JSON.parse(sent) as Fields)
    return { body, ...(trouble?.lost === true ? { lost: true } : {}) }
  }

  #done(method: string, given: Fields): Fields {
    const refused = (error: string, problems: readonly string[] = []): Fields => ({
      ok: false,
      error,
      ...(problems.length === 0 ? {} : { response_metadata: { messages: problems } }),
    })
    if (method === 'views.open') {
      const trigger = String(given['trigger_id'])
      const until = this.#triggers.get(trigger)
      if (until === undefined) return refused('invalid_trigger_id')
      if (until < Date.now()) return refused('expired_trigger_id')
      if (until === Infinity) return refused('exchanged_trigger_id')
      this.#triggers.set(trigger, Infinity)
      const problems = viewProblems(given['view'])
      if (problems.length > 0) return refused('invalid_arguments', problems)
      this.views.push(given['view'] as Fields)
      return { ok: true, view: given['view'] }
    }
    if (given['channel'] !== this.channel) return refused('channel_not_found')
    if (typeof given['text'] !== 'string' || given['text'] === '') return refused('no_text')
    if (given['text'].length > 40_000) return refused('msg_too_long')
    const problems = blockProblems(given['blocks'])
    if (problems.length > 0) return refused('invalid_blocks', problems)
    const [said, blocks] = [given['text'], given['blocks'] as readonly Fields[]]
    switch (method) {
      case 'chat.postMessage': {
        const ts = `1700000000.${String(++this.#count).padStart(6, '0')}`
        this.messages.push({ ts, channel: this.channel, text: said, blocks, updates: 0 })
        return { ok: true, channel: this.channel, ts, message: { text: said, blocks } }
      }
      case 'chat.update': {
        const found = this.messages.find(({ ts }) => ts === given['ts'])
        if (found === undefined) return refused('message_not_found')
        Object.assign(found, { text: said, blocks, updates: found.updates + 1 })
        return { ok: true, channel: this.channel, ts: found.ts, text: said }
      }
      case 'chat.postEphemeral':
        this.whispers.push({ user: String(given['user']), text: textsIn(blocks).join('\n') })
        return { ok: true, message_ts: '1700000000.999999' }
      default:
        return refused('unknown_method')
    }
  }

  /** The document that Slack posts when a user presses a button of a message. */
  press(message: FakeMessage, actionId: string, user: string, team = this.team): Fields {
    const trigger = randomUUID()
    this.#triggers.set(trigger, Date.now() + 3_000)
    const action = message.blocks
      .flatMap((block) => (block['elements'] ?? []) as readonly Fields[])
      .find((each) => each['action_id'] === actionId)
    if (action === undefined) throw new Error(`the message has no button ${actionId}`)
    const { confirm: _confirm, style: _style, ...pressed } = action
    return {
      type: 'block_actions',
      user: { id: user, username: 'somebody', name: 'somebody', team_id: team },
      api_app_id: 'A0FAKE',
      token: 'deprecated',
      container: { type: 'message', message_ts: message.ts, channel_id: message.channel, is_ephemeral: false },
      trigger_id: trigger,
      team: { id: team, domain: 'fake' },
      enterprise: null,
      is_enterprise_install: false,
      channel: { id: message.channel, name: 'approvals' },
      message: { type: 'message', ts: message.ts, text: message.text, blocks: message.blocks },
      state: { values: {} },
      response_url: 'https://hooks.slack.com/actions/T0FAKE/1/x',
      actions: [{ ...pressed, block_id: 'reeve', action_ts: '1700000001.000000' }],
    }
  }

  /** The document that Slack posts when a user sends the form that was opened last. */
  submit(reason: string | null, user: string): Fields {
    return {
      type: 'view_submission',
      user: { id: user, username: 'somebody', team_id: this.team },
      team: { id: this.team, domain: 'fake' },
      api_app_id: 'A0FAKE',
      trigger_id: randomUUID(),
      view: {
        ...this.views.at(-1),
        id: 'V0FAKE',
        state: { values: { reason: { text: { type: 'plain_text_input', value: reason } } } },
      },
      response_urls: [],
    }
  }

  /** A request as Slack makes it. `at`: when, in milliseconds since 1970. */
  signed(payload: Fields, at = Date.now(), secret = this.signingSecret): RequestInit & { readonly body: string } {
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
    const seconds = String(Math.floor(at / 1_000))
    const hex = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
    return {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': `v0=${hex}`,
      },
    }
  }

  /** Posts it to the app. */
  async deliver(url: string, request: RequestInit): Promise<FakeAnswer> {
    const begun = performance.now()
    const response = await fetch(url, request)
    const body = await response.text()
    return { status: response.status, body, inTime: performance.now() - begun < 3_000 }
  }
}

/** All texts of blocks. */
export const textsIn = (given: unknown): string[] => {
  if (Array.isArray(given)) return given.flatMap(textsIn)
  if (!isFields(given)) return []
  if (typeof given['text'] === 'string') return [given['text']]
  return Object.entries(given).flatMap(([name, value]) => (name === 'value' ? [] : textsIn(value)))
}
