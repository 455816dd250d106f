/**
 * What a leader's model was told of a call is what every reader is shown of it: messages, AG-UI, useChat, the studio;
 * and in its text those that show text alone: OpenAI's API, A2A, MCP. Cites K1.
 */
import { expect, test } from 'vitest'
import { agent, asTool, supervisor, tool, type Agent, type Middleware } from '@reeve/public'
import { a2a } from '../../protocols/src/a2a/index.ts'
import { agUi } from '../../protocols/src/ag-ui/index.ts'
import { uiMessages } from '../../protocols/src/ai-sdk/index.ts'
import { mcpServer } from '@reeve/mcp'
import { openai } from '../../protocols/src/openai/index.ts'
import { asText, failure, FailureError, type Json, type JsonObject } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import type { ModelFunction } from '@reeve/model'
import type { Run } from '@reeve/runtime'
import { expectSameAtEveryCut } from '../../journal/test/hearing.ts'
import { runtimeOf } from '../../../test/scenario/team.ts'
import { servingProtocols, streamed, type Ask } from '../../protocols/test/protocol-serving.ts'

const secret = 'card 4111'
const masked = 'card ****'
const mask = (text: string): string => text.replace('4111', '****')
const masks = ({ text }: { readonly text: string }) => ({ result: mask(text) })
const breaks = (): never => {
  throw new Error('no service')
}

type Called = readonly [name: string, input: JsonObject]
const toDesk: Called = ['delegate', { worker: 'desk', instructions: 'Which card?' }]

/** Calls once, goes on while the work is in the background, and answers with what it was told. */
const leads =
  (told: Json[], [name, input]: Called): ModelFunction =>
  ({ messages }) => {
    const result = messages.findLast(({ role }) => role === 'tool')
    if (result?.role !== 'tool') return { calls: [{ id: 'c1', name, input }] }
    if (asText(result.content).includes('in the background')) return 'I wait.'
    told.push(result.content)
    return `Told: ${asText(result.content)}`
  }
const desk = (model: ModelFunction = () => secret): Agent =>
  agent({ name: 'desk', description: 'Knows the card.', model })
const leader = (told: Json[], delegation: object = {}, worker: Agent = desk(), called: Called = toDesk): Agent =>
  supervisor({ name: 'lead', description: 'Leads.', workers: [worker], delegation, model: leads(told, called) })
const withTool = (told: Json[], one: ReturnType<typeof tool>, around?: Middleware): Agent =>
  agent({
    name: 'lead',
    description: 'Calls.',
    tools: [one],
    model: leads(told, [one.name, 'work' in one && one.work.kind === 'agent' ? { request: 'Which card?' } : {}]),
    ...(around === undefined ? {} : { middleware: [around] }),
  })
const hides: Middleware = {
  name: 'hides',
  wrapTool: async (_call, run, at) => {
    const { content, ...rest } = await run()
    return { ...rest, content: await at.ctx.step('mask', () => mask(asText(content))) }
  },
}
const reads = (more: object = {}) => tool({ name: 'read', effect: 'read', execute: () => secret, ...more })
const failing = (times: number): ModelFunction => {
  let asked = 0
  return () => {
    if (asked++ < times) throw new FailureError(failure('model.bad-request', 'key sk-1 is wrong', 'internal'))
    return secret
  }
}

interface Shape {
  readonly root: (told: Json[]) => Agent
  /** What the model was told: exactly this, or with these words in it. */
  readonly told?: Json
  readonly has?: RegExp
}
const is = (told: Json, root: Shape['root']): Shape => ({ told, root })
const has = (words: RegExp, root: Shape['root']): Shape => ({ has: words, root })

const shapes: Readonly<Record<string, Shape>> = {
  'the answer as it is': is(secret, (told) => leader(told)),
  'onComplete gives another result': is(masked, (told) => leader(told, { onComplete: masks })),
  'onComplete gives a blank one': is('[no result]', (told) => leader(told, { onComplete: () => ({ result: ' ' }) })),
  'onComplete fails, and the answer is withheld': has(/^\[the answer of "desk" is withheld: /, (told) =>
    leader(told, { onComplete: breaks }),
  ),
  'onComplete fails and may': is(secret, (told) => leader(told, { onComplete: breaks, hookErrors: 'lenient' })),
  'in the background': is(masked, (told) => leader(told, { background: ['desk'], onComplete: masks })),
  'in the background, withheld': has(/withheld/, (told) => leader(told, { background: ['desk'], onComplete: breaks })),
  'a leader that is code': is(masked, (told) =>
    supervisor({
      name: 'lead',
      description: 'Leads.',
      workers: [desk()],
      delegation: { onComplete: masks },
      run: async (_ctx, _brief, team) => {
        const { text } = await team.delegate('desk', 'Which card?' as never)
        told.push(text)
        return `Told: ${text}`
      },
    }),
  ),
  'placed apart': is(masked, (told) =>
    leader(told, { onComplete: masks, workers: { desk: { place: 'apart', limits: { turns: 3 } } } }),
  ),
  'with references': has(/\[ref: d1\]$/, (told) => leader(told, { references: { above: 4 } })),
  'with the results of its tools': has(/"answer":"saw card 4111"/, (told) =>
    leader(
      told,
      { results: 'full' },
      agent({
        name: 'desk',
        description: 'Reads.',
        tools: [reads()],
        model: ({ messages }) =>
          messages.at(-1)!.role === 'tool' ? `saw ${secret}` : { calls: [{ id: 'r1', name: 'read', input: {} }] },
      }),
    ),
  ),
  'the second attempt': is(secret, (told) =>
    leader(told, { retry: { attempts: 2, backoffMs: 1, when: () => true } }, desk(failing(1))),
  ),
  'a time limit': has(/^\[worker "desk" ran out of time: /, (told) =>
    leader(
      told,
      { timeoutMs: 20 },
      agent({ name: 'desk', description: 'Sleeps.', run: async (ctx) => ctx.sleep(600_000) }),
    ),
  ),
  'a hedge': is(masked, (told) =>
    leader(told, { onComplete: masks, workers: { desk: { hedge: { afterMs: 60_000 } } } }, desk(failing(1))),
  ),
  'several at once': has(/^\{"decided":true,"kept":\[\{.*"result":"card \*{4}"/, (told) =>
    leader(told, { several: true, onComplete: masks }, desk(), [
      'delegate_to_several',
      { workers: ['desk', 'desk'], instructions: 'Which card?' },
    ]),
  ),
  'onStart says no': is('[not delegated: rejected: not today]', (told) =>
    leader(told, { onStart: () => ({ proceed: false, reason: 'not today' }) }),
  ),
  'filterMessages fails': has(/^\[not delegated: filterMessages failed: /, (told) =>
    leader(told, { filterMessages: breaks }),
  ),
  'several of whom none may begin': has(/^\{"decided":false,"ended":\[\{/, (told) =>
    leader(told, { several: true, onStart: () => ({ proceed: false }) }, desk(), [
      'delegate_to_several',
      { workers: ['desk', 'desk'], instructions: 'Which card?' },
    ]),
  ),
  'a worker that fails': is('[worker "desk" failed: its model could not answer]', (told) =>
    leader(told, {}, desk(failing(9))),
  ),
  'a worker that answers nothing': is('[worker "desk" finished without an answer]', (told) =>
    leader(
      told,
      {},
      desk(() => ''),
    ),
  ),
  'an unknown worker': has(/^\[not delegated: unknown worker "eve"/, (told) =>
    leader(told, {}, desk(), ['delegate', { worker: 'eve', instructions: 'x' }]),
  ),
  'a tool': is(secret, (told) => withTool(told, reads())),
  'a tool that fails': is('[tool "read" failed: no service]', (told) => withTool(told, reads({ execute: breaks }))),
  'arguments that do not fit': has(/do not fit: .*Correct them and call again\.\]$/, (told) =>
    withTool(told, reads({ input: { type: 'object', required: ['q'] } })),
  ),
  'wrapTool around a tool': is(masked, (told) => withTool(told, reads(), hides)),
  'wrapTool around a tool in the background': is(masked, (told) => withTool(told, reads({ background: true }), hides)),
  'wrapTool around an agent as a tool': is(masked, (told) => withTool(told, asTool(desk()), hides)),
  'wrapTool around an agent as a tool in the background': is(masked, (told) =>
    withTool(told, asTool(desk(), { background: true }), hides),
  ),
  'an agent as a tool that answers nothing': is('[worker "desk" finished without an answer]', (told) =>
    withTool(told, asTool(desk(() => ' '))),
  ),
  'an agent as a tool that fails': is('[tool "desk" failed: its model could not answer]', (told) =>
    withTool(told, asTool(desk(failing(9)))),
  ),
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of source) list.push(item)
  return list
}
const resultsIn = async (run: Run, inner?: false): Promise<Json[]> =>
  (await all(run.messages(inner === undefined ? {} : { inner }))).flatMap((each) =>
    each.type === 'tool' && each.agent === 'lead' ? [each.content] : [],
  )

/** The results of the leader's calls, as each door shows them. */
const doors: Readonly<Record<string, (ask: Ask, run: Run) => Promise<readonly unknown[]>>> = {
  'messages()': async (_ask, run) => resultsIn(run),
  'messages({ inner: false })': async (_ask, run) => resultsIn(run, false),
  'AG-UI': async (ask) => {
    const body = { threadId: 'ag', runId: 'ag1', tools: [], context: [], state: {} }
    const events = await streamed(
      await ask('/ag-ui', { ...body, messages: [{ id: 'm', role: 'user', content: 'go' }] }),
    )
    return ofLeader(events, 'TOOL_CALL_START', 'TOOL_CALL_RESULT').map(({ content }) => content)
  },
  useChat: async (ask) => {
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] }
    const text = await (await ask('/chat', { id: 'chat', messages: [message] })).text()
    const chunks = text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
    const read = chunks.map((line) => JSON.parse(line) as JsonObject)
    return ofLeader(read, 'tool-input-available', 'tool-output-available', 'tool-output-error').map(
      ({ output, errorText }) => output ?? errorText,
    )
  },
  studio: async (ask, run) => {
    const page = (await (await ask(`/api/runs/${run.id}/conversation`, undefined)).json()) as {
      readonly entries: readonly { readonly type: string; readonly text?: string; readonly value?: Json }[]
    }
    return page.entries.flatMap(({ type, text, value }) => (type === 'tool-result' ? [text ?? value] : []))
  },
}
const shownCalls: ReadonlySet<unknown> = new Set([toDesk[0], 'delegate_to_several', 'read', 'desk'])
/** The ends of the first call that is shown, which is the leader's. */
function ofLeader(events: readonly JsonObject[], begin: string, ...ends: readonly string[]): readonly JsonObject[] {
  const first = events.find(
    ({ type, toolCallName, toolName }) => type === begin && shownCalls.has(toolCallName ?? toolName),
  )
  return events.filter(({ type, toolCallId }) => ends.includes(type as string) && toolCallId === first?.['toolCallId'])
}

/** The answer of the run, by the doors that show text alone. */
const textDoors: Readonly<Record<string, (ask: Ask) => Promise<unknown>>> = {
  'OpenAI’s API': async (ask) => {
    const asked = { model: 'lead', messages: [{ role: 'user', content: 'go' }] }
    const { choices } = (await (await ask('/v1/chat/completions', asked)).json()) as {
      readonly choices: readonly { readonly message: { readonly content: unknown } }[]
    }
    return choices[0]!.message.content
  },
  A2A: async (ask) => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const request = { jsonrpc: '2.0', id: 7, method: 'SendMessage', params: { message } }
    return (await ask('/a2a/lead', request, 'ann', { 'A2A-Version': '1.0' })).text()
  },
  MCP: async (ask) => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
    const params = { name: 'start_run', arguments: { agent: 'lead', input: 'go' } }
    return (
      await ask('/mcp', { ...request, params }, 'ann', {
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-06-18',
      })
    ).text()
  },
}

test.each(Object.entries(shapes))('K1: %s', async (name, shape) => {
  const told: Json[] = []
  const root = shape.root(told)
  const { ask, runtime, errors } = await servingProtocols(
    [root],
    [agUi({ agent: 'lead' }), uiMessages({ agents: ['lead'] }), openai(), a2a({ agents: ['lead'] }), mcpServer()],
  )
  const run = (await runtime.start(root, 'go')) as unknown as Run
  await run.outcome()
  const due = told.at(-1)!
  expect(due).toEqual(shape.told ?? due)
  expect(asText(due)).toMatch(shape.has ?? /./)
  expectSameAtEveryCut(await all<Recorded>(run.events()))
  for (const [door, resultsOf] of Object.entries(doors)) {
    const found = await resultsOf(ask, run)
    // a worker that fails at first fails so in every run; what each of its runs told counts for it
    const shown = isShown(door, name) ? [plain(told.at(-1)!)] : []
    expect([door, found.map(plain)]).toEqual([door, shown])
  }
  for (const [door, answered] of Object.entries(textDoors)) {
    const text = plain(await answered(ask))
    expect(text, door).toContain(
      JSON.stringify(asText(told.at(-1)!))
        .slice(1, -1)
        .split('\\')[0],
    )
    expect(asText(due).includes('4111') || !text.includes('4111'), door).toBe(true)
  }
  expect(errors).toEqual([])
})

/** A chat shows the calls of tools; it has a line for each worker. */
const inChat: ReadonlySet<string> = new Set([
  'a tool',
  'a tool that fails',
  'arguments that do not fit',
  'wrapTool around a tool',
  'wrapTool around a tool in the background',
])
/** Calls that code makes are in no answer of a model, and so in no protocol. */
const isShown = (door: string, shape: string): boolean =>
  door === 'useChat' ? inChat.has(shape) : door !== 'AG-UI' || shape !== 'a leader that is code'

/** A value that a door shows as it is, or as text. */
const plain = (shown: unknown): string => (typeof shown === 'string' ? shown : JSON.stringify(shown))

test('a hook that the start of a run names', async () => {
  const told: Json[] = []
  const root = leader(told)
  const runtime = await runtimeOf([root], { hooks: { mask: masks } })
  const run = (await runtime.start(root, 'go', { delegation: { onComplete: 'mask' } })) as unknown as Run
  await run.outcome()
  expect([told, await resultsIn(run), await resultsIn(run, false)]).toEqual([[masked], [masked], [masked]])
})
