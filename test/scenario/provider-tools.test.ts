/**
 * Tools that a provider runs, through the engine: refused at definition where they are not there, withheld where nobody
 * could be asked, priced under a limit, told in every view, and the same wherever a process dies.
 */
import { describe, expect, test } from 'vitest'
import { agent, providerTool, tool, webSearch, type Agent } from '@reeve/agent'
import { sequential } from '@reeve/flow'
import type { Permissions } from '@reeve/edge'
import { eventLines, spokenOf, type Recorded } from '@reeve/journal'
import type { Model, ModelAnswer, ModelRequest } from '@reeve/model'
import { registerAgents } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { inOrder, simulate, strictProvider, teamScenario, verifyJournal } from '@reeve/testing'
import { delegates, eventsOf, runtimeOf, scripted } from './team.ts'

const usage = { input: 10, output: 5 }
const price = { usdPerMillionTokens: { input: 1, output: 1 } }
const page = { url: 'https://example.com/rain', title: 'Rain' }

/** A model whose provider searches: it is asked, and says so in the words of its provider. */
interface Searcher extends Model {
  readonly asked: ModelRequest[]
}
const searches: Partial<ModelAnswer> = {
  text: 'It rains.',
  ran: [{ tool: 'web_search', input: { query: 'weather' }, summary: '1 result' }],
  sources: [page],
  reasoning: {
    model: 'anthropic:m',
    parts: [
      { type: 'opaque', part: { type: 'tool-call', toolName: 'web_search', secret: 'encrypted' } },
      { type: 'text', length: 9 },
    ],
  },
}
function searcher(answers: readonly Partial<ModelAnswer>[] = [searches], id = 'anthropic/m'): Searcher {
  const asked: ModelRequest[] = []
  const call = (request: ModelRequest): Promise<ModelAnswer> => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push({ ...request, messages: [...request.messages] })
    return Promise.resolve({ text: '', calls: [], finish: 'stop', model: id, usage, ...answer })
  }
  return { id, price, providerTools: { runs: ['anthropic'] }, call, asked }
}

async function recordedOf(run: { events(): AsyncIterable<Recorded> }): Promise<readonly Recorded[]> {
  const list: Recorded[] = []
  for await (const recorded of run.events()) list.push(recorded)
  return list
}

describe('at definition', () => {
  test.each<[string, () => Agent, string]>([
    [
      'a function',
      () => agent({ name: 'a', model: () => 'x', tools: [webSearch()] }),
      'does not run the tool "web_search"',
    ],
    ['chat completions', () => agent({ name: 'a', model: 'openai-chat/gpt-4.1', tools: [webSearch()] }), 'openai-chat'],
    ['a server of one’s own', () => agent({ name: 'a', model: 'ollama/qwen3', tools: [webSearch()] }), 'ollama/qwen3'],
    [
      'a link of a chain',
      () =>
        agent({
          name: 'a',
          model: ['anthropic/claude-sonnet-5', 'openai/gpt-5'],
          tools: [providerTool({ id: 'anthropic.web_fetch_20250910' })],
        }),
      'the provider of "openai/gpt-5" does not run the tool "web_fetch"',
    ],
    [
      'OpenAI, which would reach a server of MCP past every gate',
      () => agent({ name: 'a', model: 'openai/gpt-5', tools: [providerTool({ id: 'openai.mcp' })] }),
      'does not run the tool "mcp"',
    ],
    [
      'Google, which has no list of domains',
      () => agent({ name: 'a', model: 'google/gemini-3.5-flash', tools: [webSearch({ allowedDomains: ['a.org'] })] }),
      'google/gemini-3.5-flash',
    ],
    [
      'an older Gemini beside tools of one’s own',
      () =>
        supervisor({
          name: 'a',
          model: 'google/gemini-2.5-flash',
          tools: [webSearch()],
          workers: [agent({ name: 'w', description: 'W', model: () => 'x' })],
        }),
      'only without other tools',
    ],
  ])('a model of %s is refused', async (_, make, problem) => {
    await expect(async () => runtimeOf([make()])).rejects.toThrow(problem)
  })

  test.each([
    ['an approval', { id: 'openai.web_search', approval: true }, 'nobody can be asked'],
    ['sensitivity', { id: 'openai.web_search', sensitive: true }, 'nobody can be asked'],
    ['a tool that the caller runs', { id: 'anthropic.bash_20250124' }, 'does not run it'],
    ['no id', {}, 'id'],
    ['an id without a provider', { id: 'web_search' }, 'provider.tool'],
    ['arguments that are no JSON', { id: 'openai.web_search', args: { at: new Date(0) } }, 'args'],
    ['a price below 0', { id: 'openai.web_search', costUsd: -1 }, 'costUsd'],
    ['an unknown option', { id: 'openai.web_search', retries: 1 }, 'retries'],
  ])('a tool with %s is refused', (_, options, problem) => {
    expect(() => providerTool(options as never)).toThrow(problem)
  })

  test('a limit in dollars needs the price of its calls', async () => {
    const make = (costUsd?: number): Agent =>
      agent({
        name: 'a',
        model: searcher(),
        limits: { usd: 1 },
        tools: [providerTool({ id: 'anthropic.code_execution_20250825', ...(costUsd !== undefined && { costUsd }) })],
      })
    await expect(async () => runtimeOf([make()])).rejects.toThrow('a call of the tool "code_execution"')
    await expect(runtimeOf([make(0)])).resolves.toBeDefined()
  })

  test('a version with a model whose provider does not run it is refused', async () => {
    const runtime = await runtimeOf([agent({ name: 'a', model: searcher(), tools: [webSearch()] })])
    const publish = (model: string): Promise<unknown> => runtime.versions.publish('a', { version: 'v2', model })
    await expect(publish('ollama/qwen3')).rejects.toThrow('does not run the tool "web_search"')
    await expect(publish('openai/gpt-5')).resolves.toBeUndefined()
  })

  test('another argument is another version, and the objects of the AI SDK are taken as they are', () => {
    const made = {
      type: 'provider',
      id: 'anthropic.web_search_20250305',
      isProviderExecuted: true,
      args: { maxUses: 5 },
    }
    const of = (given: object): Agent => agent({ name: 'a', model: searcher(), tools: { web_search: given } as never })
    expect(of(made).tools?.()).toMatchObject([
      { name: 'web_search', provider: [{ id: 'anthropic.web_search_20250305', args: { maxUses: 5 } }] },
    ])
    expect(of(made).version).toBe(of({ ...made, type: 'provider-defined' }).version)
    expect(of({ ...made, args: { maxUses: 6 } }).version).not.toBe(of(made).version)
  })
})

describe('in a run', () => {
  test('what the provider did stands in the journal once, in the log and in the transcript', async () => {
    const model = searcher()
    const runtime = await runtimeOf([agent({ name: 'a', model, tools: [webSearch({ maxUses: 3 })] })])
    const run = await runtime.start('a', 'weather?')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'It rains.' })
    expect(model.asked[0]?.tools).toMatchObject([{ name: 'web_search', provider: [{ args: { maxUses: 3 } }, {}, {}] }])
    const recorded = await recordedOf(run)
    const [said] = spokenOf(recorded).filter(({ type }) => type === 'assistant')
    expect(said).toMatchObject({ text: 'It rains.', ran: searches.ran, sources: [page] })
    const lineOf = eventLines()
    const lines = recorded.flatMap((each) => lineOf(each) ?? [])
    expect(lines.join('\n')).toContain('the provider of anthropic/m ran web_search with')
    expect(JSON.stringify(recorded).split('encrypted')).toHaveLength(2)
  })

  test('a session and another provider see its words and sources, nothing of how they were found', async () => {
    const second = scripted('Take an umbrella.')
    const first = agent({ name: 'first', description: 'Searches.', model: searcher(), tools: [webSearch()] })
    const other = agent({ name: 'second', description: 'Advises.', model: second })
    const desk = sequential({ name: 'desk', agents: [first, other] })
    const run = await (await runtimeOf([desk])).start('desk', 'weather?')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    const shown = JSON.stringify(second.prompts[0])
    expect(shown).toContain('It rains.')
    expect(shown).toContain('https://example.com/rain')
    expect(shown).not.toContain('encrypted')
  })

  test.each<[string, Permissions]>([
    ['forbids it', { deny: ['web_search'] }],
    ['allows others', { tools: ['read'] }],
    ['asks about all calls', { approval: 'all' }],
    ['asks about its calls', { approval: ['web_search'] }],
  ])('it is not offered where the edge %s', async (_, permissions) => {
    const model = searcher([{ text: 'From memory.' }])
    const read = tool({ name: 'read', effect: 'read', execute: () => 1 })
    const worker = agent({ name: 'w', description: 'W', model, tools: [webSearch(), read] })
    const lead = supervisor({
      name: 's',
      model: scripted(delegates(['w', 'x']), 'ok'),
      workers: [worker],
      delegation: { permissions },
    })
    const runtime = await runtimeOf([lead])
    const run = await runtime.start('s', 'go')
    await run.outcome()
    expect(model.asked[0]?.tools.map(({ name }) => name)).toEqual(['read'])
    const refused = (await recordedOf(run)).flatMap(({ event }) => (event.type === 'tool.refused' ? [event] : []))
    const isAsked = 'approval' in permissions
    expect(refused.map(({ tool: name, failure }) => [name, failure.code])).toEqual(
      isAsked ? [['web_search', 'permission.denied']] : [],
    )
  })

  test('it is not offered in a mode in which a person is asked about every call, and is again in another', async () => {
    const model = searcher([{ text: 'From memory.' }])
    const runtime = await runtimeOf([
      agent({ name: 'a', model, tools: [webSearch()], oversight: { mode: 'in-command' } }),
      agent({ name: 'b', model, tools: [webSearch()], oversight: { mode: 'on-the-loop' } }),
    ])
    const asked = async (name: string): Promise<readonly string[]> => {
      const run = await runtime.start(name, 'go')
      await run.until('waiting')
      return model.asked.at(-1)!.tools.map((each) => each.name)
    }
    expect(await asked('a')).toEqual([])
    expect(await asked('b')).toEqual(['web_search'])
  })

  test('its calls count in dollars, also where the model says only its tokens', async () => {
    const model = searcher()
    const runtime = await runtimeOf([agent({ name: 'a', model, tools: [webSearch()] })], {
      prices: { 'anthropic/m': price },
    })
    const outcome = await (await runtime.start('a', 'weather?')).outcome()
    expect(outcome.usage[0]?.usd).toBeCloseTo(0.010015, 9)
  })

  test('the room in a budget is that of its tokens and of the calls it may make', async () => {
    const model = searcher()
    const limited = agent({ name: 'a', model, tools: [webSearch({ maxUses: 50 })], limits: { usd: 0.4 } })
    const run = await (await runtimeOf([limited])).start('a', 'weather?')
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'usd' })
    expect(model.asked).toEqual([])
  })

  test('a model that calls it as a function is told that it need not', async () => {
    const call = { id: 'c1', name: 'web_search', input: {} }
    const model = searcher([{ calls: [call], finish: 'tool-calls' }, { text: 'Done.' }])
    const run = await (await runtimeOf([agent({ name: 'a', model, tools: [webSearch()] })])).start('a', 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', isError: true })
  })
})

test('over the wire of a strict provider: search, pause, error, and the next turn of the conversation', async () => {
  await using provider = await strictProvider({
    preset: 'anthropic',
    answer: [
      { parts: [{ type: 'ran', query: 'weather', open: true }], finish: 'pause_turn' },
      {
        parts: [
          { type: 'ran', query: 'weather today', found: [page] },
          { type: 'ran', query: 'more', error: 'max_uses_exceeded' },
          { type: 'text', text: 'It rains.' },
        ],
      },
      'Take an umbrella.',
    ],
  })
  const runtime = await runtimeOf([agent({ name: 'a', model: provider.resolve(), tools: [webSearch({ maxUses: 2 })] })])
  const first = await runtime.start('a', 'weather?', { session: 's' })
  expect(await first.outcome()).toMatchObject({ status: 'completed', output: 'It rains.' })
  const said = spokenOf(await recordedOf(first)).filter((each) => each.type === 'assistant')
  expect(said.flatMap(({ ran = [] }) => ran.map(({ isError = false }) => isError))).toEqual([false, false, true])
  expect(said.at(-1)?.sources).toEqual([page])
  const second = await runtime.start('a', 'and now?', { session: 's' })
  expect(await second.outcome()).toMatchObject({ status: 'completed', output: 'Take an umbrella.' })
  expect(provider.refused).toEqual([])
})

describe.each<[string, () => Agent, string]>([
  ['one agent', () => agent({ name: 'A', model: searcher(), tools: [webSearch()] }), 'It rains.'],
  [
    'a worker whose search is withheld',
    () =>
      supervisor({
        name: 'A',
        model: inOrder(delegates(['w', 'x']), 'ok'),
        workers: [agent({ name: 'w', description: 'W', model: searcher([{ text: 'no' }]), tools: [webSearch()] })],
        delegation: { permissions: { approval: ['web_search'] } },
      }),
    'ok',
  ],
])('%s', (_, make, output) => {
  test('ends the same wherever its process dies, and its journal replays', async () => {
    const { end, differences, repeated, points } = await simulate(teamScenario({ agents: [make()], input: 'go' }), {
      points: ['commit.before', 'commit.after'],
    })
    expect(end.outcome).toMatchObject({ status: 'completed', output })
    expect([differences, repeated]).toEqual([[], []])
    expect(points).toBeGreaterThan(3)
    const root = make()
    const run = await (await runtimeOf([root])).start('A', 'go')
    await run.outcome()
    expect((await verifyJournal(await recordedOf(run), registerAgents([root], [], 'move'))).problems).toEqual([])
  }, 60_000)
})

test('what a provider ran, and its sources, are redacted', async () => {
  const answer = {
    text: 'It rains.',
    calls: [],
    finish: 'stop',
    model: 'anthropic/m',
    ran: [{ tool: 'web_search', input: { query: 'weather token-1234', apiKey: 'k-99' }, summary: 'found token-1234' }],
    reasoning: {
      model: 'm',
      parts: [{ type: 'opaque', part: { type: 'server_tool_use', input: { apiKey: 'k-99' } } }],
    },
    sources: [{ url: 'https://example.com/token-1234', title: 'Rain token-1234' }],
  } as const
  const searching = { id: 'anthropic/m', providerTools: { runs: ['anthropic'] }, call: () => Promise.resolve(answer) }
  const runtime = await runtimeOf([agent({ name: 'searcher', model: searching, tools: [webSearch()] })], {
    redact: { keys: ['apiKey'], values: ['token-1234'] },
  })
  const run = await runtime.start('searcher', 'weather?')
  await run.outcome()
  const said = JSON.stringify(await eventsOf(run))
  expect(said).not.toMatch(/token-1234|k-99/)
  expect(said).toContain('https://example.com/[redacted]')
})
