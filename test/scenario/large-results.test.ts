/** Large results: what models are shown of them, how they read on, what is recorded. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, clientTool, readWhole, tool, type Agent } from '@reeve/agent'
import { asText, isContentRef, isObject, withFiles, type Json, type JsonObject } from '@reeve/core'
import { createEngine } from '@reeve/engine/host'
import { MemoryStore } from '@reeve/engine/memory'
import { asTool, router } from '@reeve/flow'
import { eventLines, spokenOf, type Recorded } from '@reeve/journal'
import type { Message } from '@reeve/model'
import { runtimeUnderTest } from '../engine-under-test.ts'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, runtimeOf, scripted, told, waiting, type Scripted } from './team.ts'

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i} of the log\n`).join('')
const fetch = (result: Json, more: object = {}) =>
  tool({ name: 'fetch', effect: 'read', execute: () => result as unknown, ...more })
const nameIn = (said: Json | undefined): string => /result-[0-9a-f]{32}/.exec(asText(said ?? ''))![0]
const toolsOf = (model: Scripted, turn: number) => model.tools[turn]!.map(({ name }) => name)

/** Everything that is recorded of a run, and what of it is said. */
async function ran(root: Agent, options: object = {}) {
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, 'go', options)
  const outcome = await run.outcome()
  const recorded: Recorded[] = []
  const { position } = await run.view()
  for await (const each of run.events()) {
    recorded.push(each)
    if (each.position >= position) break
  }
  return { outcome, run, runtime, recorded, events: recorded.map(({ event }) => event) }
}
/** What the model of the root was told, and what the transcript says of it, by the name of the call. */
const saidOf = (recorded: readonly Recorded[], agentName: string) =>
  spokenOf(recorded).flatMap((each) => (each.type === 'tool' && each.agent === agentName ? [each.content] : []))
const limited = { resultTokens: 1_000 }
const boundedBy = (name: string) =>
  expect.stringMatching(new RegExp(`^\\[result-[0-9a-f]{32}: "${name}" returned \\d+ characters`)) as string
/** A worker of code that answers with this. */
const answers = (output: Json, name = 'w') => agent({ name, description: 'Answers.', run: async () => output })

describe('a tool', () => {
  test('a result above the limit: name, size and head; the tool that reads on is there from then on', async () => {
    const text = lines(10_000)
    const model = scripted(
      calls(['fetch', {}]),
      ({ messages }) => calls(['read_large_result', { result: nameIn(told(messages)[0]), from: 200_000 }]),
      ({ messages }) => calls(['read_large_result', { result: nameIn(messages[2]!.content), find: 'LINE 9876 ' }]),
      'done',
    )
    const reader = agent({ name: 'reader', model, tools: [fetch(text)], limits: { resultTokens: 1_000 } })
    const { outcome, recorded, events } = await ran(reader)
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    const [shown] = told(model.prompts[1]) as [string]
    const lineOf = eventLines()
    expect(recorded.flatMap((each) => lineOf(each) ?? [])).toContain(
      `reader: fetch returned ${text.length} characters, kept as ${nameIn(shown)}`,
    )
    expect(shown).toMatch(
      /^\[result-[0-9a-f]{32}: "fetch" returned \d+ characters, too many to show\. The first \d+ follow; read_large_result reads the rest/,
    )
    expect(shown.length).toBeLessThan(4_500)
    expect(shown).toContain('line 0 of the log\nline 1 of the log')
    expect(shown).toContain(`more characters in ${nameIn(shown)}]`)
    expect([toolsOf(model, 0), toolsOf(model, 1), toolsOf(model, 2)]).toEqual([
      ['fetch'],
      ['fetch', 'read_large_result'],
      ['fetch', 'read_large_result'],
    ])
    const [part] = told(model.prompts[2]) as [string]
    expect(part.startsWith(text.slice(200_000, 200_100))).toBe(true)
    expect(part).toMatch(/\[characters 200000 to \d+ of \d+ of result-\w+; go on from \d+\]$/)
    const at = text.indexOf('line 9876 ')
    expect(told(model.prompts[3])).toEqual([
      expect.stringMatching(
        new RegExp(
          `"LINE 9876 " occurs 1 times in result-\\w+ .* 10001 lines\\); 1 shown\\]\\n- character ${at}, line 9877: `,
        ),
      ),
    ])
    expect(JSON.stringify(events).length).toBeLessThan(60_000)
  })
  test('within the limit nothing is different', async () => {
    const model = scripted(calls(['fetch', {}]), 'done')
    const reader = agent({ name: 'reader', model, tools: [fetch(lines(100))] })
    await ran(reader)
    expect(told(model.prompts[1])).toEqual([lines(100)])
    expect(toolsOf(model, 1)).toEqual(['fetch'])
  })
  test('JSON: cut after an element; code is given the reference, and reads the whole', async () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `customer ${id}` }))
    const counts = tool({
      name: 'count',
      effect: 'read',
      input: z.object({ of: z.unknown() }),
      execute: async ({ of }, io) => ((await readWhole(io, of)) as Json[]).length,
    })
    const model = scripted(
      calls(['fetch', {}]),
      ({ messages }) => calls(['count', { of: nameIn(told(messages)[0]) }]),
      // what a reference says of itself is not believed
      ({ messages }) => calls(['count', { of: { $content: nameIn(messages[2]!.content), type: 'text', size: 1 } }]),
      'done',
    )
    const { recorded, events } = await ran(
      agent({ name: 'reader', model, tools: [fetch(rows), counts], limits: limited }),
    )
    const [shown] = told(model.prompts[1]) as [string]
    expect(shown).toContain('characters of JSON, too many to show')
    expect(shown).toContain('[{"id":0,"name":"customer 0"},{"id":1,')
    expect(shown).toMatch(/,\n\[\d+ more characters in result-/)
    expect([told(model.prompts[2]), told(model.prompts[3])]).toEqual([[5_000], [5_000]])
    expect(saidOf(recorded, 'reader')).toEqual([shown, 5_000, 5_000])
    const settled = events.flatMap((each) =>
      each.type === 'step.settled' && each.outcome.status === 'completed' ? [each.outcome.output] : [],
    )
    expect(settled).toContainEqual({
      $output: expect.toSatisfy(isContentRef),
      $shown: { content: shown, isHead: true },
    })
  })
  test.each([
    ['its own stands in the place of the default', { resultTokens: 60_000 }, {}, 200_000, false],
    ['its own is smaller than the default', { resultTokens: 100 }, {}, 5_000, true],
    ['a limit of the run is not exceeded', { resultTokens: 60_000 }, { limits: { resultTokens: 1_000 } }, 50_000, true],
    ['the default', {}, {}, 110_000, true],
    ['the default holds where the start says something else', {}, { limits: { turns: 9 } }, 110_000, true],
    ['below the default', {}, {}, 99_000, false],
  ])('the limit: %s', async (_what, own, options, size, isBounded) => {
    const model = scripted(calls(['fetch', {}]), 'done')
    const text = 'x'.repeat(size)
    const { recorded } = await ran(agent({ name: 'reader', model, tools: [fetch(text, own)] }), options)
    const shown = told(model.prompts[1])
    expect(shown).toEqual([isBounded ? boundedBy('fetch') : text])
    expect(saidOf(recorded, 'reader')).toEqual(shown)
  })
  test.each([
    ['text', 'x'.repeat(150_000)],
    ['JSON', Array.from({ length: 9_000 }, (_, id) => ({ id, name: 'a customer' }))],
  ])('what its own limit lets through is recorded once, and is the whole for an action: %s', async (_what, whole) => {
    const model = scripted(calls(['fetch', {}]), 'done')
    const own = { resultTokens: 100_000 }
    const { recorded, events } = await ran(agent({ name: 'reader', model, tools: [fetch(whole, own)] }))
    expect(told(model.prompts[1])).toEqual([whole])
    expect(saidOf(recorded, 'reader')).toEqual([whole])
    expect(JSON.stringify(events).length).toBeLessThan(1.1 * JSON.stringify(whole).length + 4_000)
    const returns = agent({
      name: 'r',
      model: scripted(calls(['fetch', {}])),
      tools: [fetch(whole, { ...own, action: 'return' })],
    })
    expect((await ran(returns)).outcome).toMatchObject({ status: 'completed', output: whole })
  })
  test('limits and tools refuse less than 100 tokens', async () => {
    expect(() => tool({ name: 'a', resultTokens: 99, execute: () => 1 })).toThrow(/resultTokens.*at least 100/)
    const wrong = agent({ name: 'a', model: scripted('x'), limits: { resultTokens: 1.5 } })
    await expect(runtimeOf([wrong])).rejects.toThrow(/resultTokens/)
    const taken = tool({ name: 'read_large_result', execute: () => 1 })
    const takes = agent({ name: 'a', model: scripted('x'), tools: [taken] })
    await expect(runtimeOf([takes])).rejects.toThrow(/"read_large_result" is taken/)
  })
  test('no half of a character at the end of a head, of a part, or of what was found', async () => {
    const text = '😀'.repeat(3_000)
    const model = scripted(
      calls(['fetch', {}]),
      ({ messages }) => calls(['read_large_result', { result: nameIn(told(messages)[0]), from: 0, length: 4_000 }]),
      'done',
    )
    await ran(agent({ name: 'reader', model, tools: [fetch(text)], limits: { resultTokens: 501 } }))
    for (const shown of [told(model.prompts[1])[0], told(model.prompts[2])[0]])
      expect((shown as string).isWellFormed()).toBe(true)
  })
  test('an action has the whole: the answer is the result, and the model that goes on is shown the head', async () => {
    const text = lines(2_000)
    const model = scripted(calls(['fetch', {}]), 'no')
    const seen: Json[] = []
    const action = (output: Json) => (seen.push(output), 'return' as const)
    const { outcome } = await ran(agent({ name: 'reader', model, tools: [fetch(text, { action })], limits: limited }))
    expect([outcome, seen]).toEqual([expect.objectContaining({ status: 'completed', output: text }), [text]])
  })
  test('an answer that no entry should hold is the reference; a leader is told what it is', async () => {
    const text = 'y'.repeat(2_000_000)
    const inner = scripted(calls(['fetch', {}]))
    const worker = agent({
      name: 'w',
      description: 'Fetches.',
      model: inner,
      tools: [fetch(text, { action: 'return' })],
    })
    const lead = scripted(
      delegates(['w', 'go']),
      ({ messages }) => calls(['read_large_result', { result: nameIn(told(messages)[0]), from: 1_999_995 }]),
      'done',
    )
    await ran(supervisor({ name: 'boss', model: lead, workers: [worker] }))
    expect(told(lead.prompts[1])).toEqual([
      expect.stringMatching(
        /^\[result-\w+: a result of 2000000 characters, kept and not shown\. read_large_result reads it\.\]$/,
      ),
    ])
    expect(told(lead.prompts[2])).toEqual([
      expect.stringMatching(/^yyyyy\n\[characters 1999995 to 2000000 of 2000000 of result-\w+\]$/),
    ])
  })
  test('toModelOutput: what it shows is bounded, and only that can be read', async () => {
    const shown = lines(1_000)
    const model = scripted(
      calls(['fetch', {}]),
      ({ messages }) => calls(['read_large_result', { result: nameIn(told(messages)[0]), find: 'secret' }]),
      'done',
    )
    const toModelOutput = () => ({ type: 'text' as const, value: shown })
    const { events } = await ran(
      agent({
        name: 'reader',
        model,
        tools: [fetch(`secret ${'z'.repeat(50_000)}`, { toModelOutput })],
        limits: limited,
      }),
    )
    expect(told(model.prompts[1])).toEqual([boundedBy('fetch')])
    expect(told(model.prompts[2])).toEqual([expect.stringMatching(/^\["secret" occurs 0 times/)])
    expect(JSON.stringify(events)).not.toContain('zzzzzzzzzz')
  })
  test('wrapTool sees what the model is shown; what it makes of it is bounded, and told as it was', async () => {
    const wraps = [
      {
        name: 'longer',
        wrapTool: async (_call: unknown, run: () => Promise<{ content: Json }>) => ({
          content: `${asText((await run()).content)}\n${'w'.repeat(8_000)}`,
        }),
      },
      {
        name: 'shorter',
        wrapTool: async (_call: unknown, run: () => Promise<{ content: Json }>) => ({
          content: asText((await run()).content).slice(0, 60),
        }),
      },
      {
        name: 'same',
        wrapTool: async (_call: unknown, run: () => Promise<{ content: Json }>) => ({ content: (await run()).content }),
      },
    ]
    for (const middleware of wraps)
      for (const background of [false, true]) {
        const model = scripted(calls(['fetch', {}]), 'waits', 'done')
        const { recorded } = await ran(
          agent({
            name: 'reader',
            model,
            tools: [fetch(lines(1_000), { background })],
            limits: limited,
            middleware: [middleware as never],
          }),
        )
        const last = model.prompts.at(-1)!.filter(({ role }) => role === 'tool') as Extract<Message, { role: 'tool' }>[]
        expect(asText(last[0]!.content)).toMatch(/^\[result-/)
        expect(asText(last[0]!.content).length).toBeLessThan(5_000)
        expect(saidOf(recorded, 'reader')).toEqual([last[0]!.content])
      }
  })
  test('what a client sends back is bounded as the result of any tool', async () => {
    const model = scripted(calls(['pick', {}]), 'done')
    const pick = clientTool({ name: 'pick', effect: 'read' })
    const runtime = await runtimeOf([agent({ name: 'reader', model, tools: [pick], limits: limited })])
    const run = await runtime.start('reader', 'go')
    const { questions } = await waiting(run)
    await runtime.answer({ interruptId: questions[0]!.id, value: { output: lines(1_000) } })
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    expect(told(model.prompts[1])).toEqual([boundedBy('pick')])
  })
  test('files of a result stay beside its head', async () => {
    const model = scripted(calls(['shot', {}]), 'done')
    const picture = { mediaType: 'image/png', data: 'iVBORw0KGgo=' }
    const shot = tool({ name: 'shot', effect: 'read', execute: () => withFiles(lines(1_000), [picture]) })
    const { events } = await ran(agent({ name: 'reader', model, tools: [shot], limits: limited }))
    expect(told(model.prompts[1])).toEqual([boundedBy('shot')])
    const shown = events.flatMap((event) =>
      event.type === 'step.settled' && event.outcome.status === 'completed'
        ? [(event.outcome.output as JsonObject | null)?.['$shown'] ?? null]
        : [],
    )
    expect(shown.filter(isObject)).toEqual([expect.objectContaining({ isHead: true, files: [expect.anything()] })])
  })
  test('a message of a failure is bounded, too', async () => {
    const model = scripted(calls(['fetch', {}]), 'done')
    const fails = tool({
      name: 'fetch',
      effect: 'once',
      execute: () => {
        throw new Error('no '.repeat(20_000))
      },
    })
    const { recorded } = await ran(agent({ name: 'reader', model, tools: [fails], limits: limited }))
    const shown = told(model.prompts[1])
    expect(asText(shown[0]!).length).toBeLessThan(5_000)
    expect(saidOf(recorded, 'reader')).toEqual(shown)
  })
})

describe('what is no tool of one step', () => {
  const long = lines(1_000)
  const orchestrates = tool({ name: 'w', run: async () => long })
  test.each<[string, (model: Scripted) => Agent, Json]>([
    [
      'an orchestration tool',
      (model) => agent({ name: 'boss', model, tools: [orchestrates], limits: limited }),
      ['w', {}],
    ],
    [
      'an agent as a tool',
      (model) => agent({ name: 'boss', model, tools: [asTool(answers(long))], limits: limited }),
      ['w', { request: 'go' }],
    ],
    [
      'a worker',
      (model) => supervisor({ name: 'boss', model, workers: [answers(long)], limits: limited }),
      ['delegate', { worker: 'w', instructions: 'go' }],
    ],
    [
      'a worker whose leader records what it tells',
      (model) =>
        supervisor({ name: 'boss', model, workers: [answers(long)], limits: limited, delegation: { results: 'full' } }),
      ['delegate', { worker: 'w', instructions: 'go' }],
    ],
    [
      'a worker in the background',
      (model) =>
        supervisor({
          name: 'boss',
          model,
          workers: [answers(long)],
          limits: limited,
          delegation: { background: ['w'] },
        }),
      ['delegate', { worker: 'w', instructions: 'go' }],
    ],
  ])('%s: its leader is told the head, reads on, and the transcript says the same', async (_what, rootOf, call) => {
    const reads = ({ messages }: { messages: readonly Message[] }) => {
      const said = messages.filter(({ role }) => role === 'tool').map(({ content }) => asText(content))
      const found = said.find((each) => each.includes('result-'))
      if (said.some((each) => each.includes('occurs'))) return 'done'
      return found === undefined ? 'waits' : calls(['read_large_result', { result: nameIn(found), find: 'line 999 ' }])
    }
    const model = scripted(calls(call as never), reads, reads, reads, reads)
    const { outcome, recorded } = await ran(rootOf(model))
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    const results = model.prompts.at(-1)!.flatMap((each) => (each.role === 'tool' ? [each.content] : []))
    expect(results[0]).toEqual(boundedBy((call as [string])[0]))
    expect(asText(results[0]!).length).toBeLessThan(5_000)
    expect(results[1]).toMatch(/^\["line 999 " occurs 1 times/)
    expect(saidOf(recorded, 'boss')).toEqual(results)
  })
  test('a leader passes the name on: a worker, also one apart, reads it', async () => {
    for (const place of [undefined, 'apart'] as const) {
      const inner = scripted(
        ({ messages }) => calls(['read_large_result', { result: nameIn(messages.at(-1)!.content), find: 'line 7 ' }]),
        ({ messages }) => asText(told(messages)[0]!).slice(0, 30),
      )
      const worker = agent({ name: 'w', description: 'Reads.', model: inner })
      const lead = scripted(
        calls(['fetch', {}]),
        ({ messages }) => delegates(['w', `How often is line 7 in ${nameIn(told(messages)[0])}?`]),
        ({ messages }) => asText(told(messages)[0]!),
      )
      const { outcome } = await ran(
        supervisor({
          name: 'boss',
          model: lead,
          workers: [worker],
          tools: [fetch(long)],
          limits: limited,
          ...(place === undefined ? {} : { delegation: { workers: { w: { place } } } }),
        }),
      )
      expect(outcome).toMatchObject({ output: expect.stringMatching(/^\["line 7 " occurs 1 times/) as string })
      expect(inner.tools[0]!.map(({ name }) => name)).toEqual(['read_large_result'])
    }
  })
})

describe('names', () => {
  test('one that is unknown, or of another run, is refused; a wrong question says what is wrong', async () => {
    const unknown = `result-${'0'.repeat(32)}`
    const first = scripted(calls(['fetch', {}]), 'done')
    const { runtime } = await ran(agent({ name: 'first', model: first, tools: [fetch(lines(1_000))], limits: limited }))
    const other = nameIn(told(first.prompts[1])[0])
    const model = scripted(
      calls(['fetch', {}]),
      calls(
        ['read_large_result', { result: unknown }],
        ['read_large_result', { result: other }],
        ['read_large_result', { result: 'd1' }],
        ['read_large_result', { result: unknown, from: -1 }],
      ),
      'done',
    )
    const second = agent({ name: 'second', model, tools: [fetch(lines(1_001))], limits: limited })
    const run = await (await runtimeOf([second])).start(second, 'go')
    await run.outcome()
    expect(runtime).toBeDefined()
    expect(told(model.prompts[2])).toEqual([
      expect.stringContaining(`${unknown} cannot be read: there is no such result in this run`),
      expect.stringContaining(`${other} cannot be read: there is no such result in this run`),
      expect.stringContaining('must be the name of a result'),
      expect.stringContaining('"from" must be'),
    ])
  })
  test('compaction: the notes name what only removed messages named', async () => {
    const model = scripted(
      calls(['fetch', {}]),
      'notes of the work',
      ({ messages }) =>
        calls([
          'read_large_result',
          { result: nameIn(messages.map(({ content }) => asText(content)).join()), find: 'line 5 ' },
        ]),
      'done',
    )
    const reader = agent({
      name: 'reader',
      model,
      tools: [fetch(lines(2_000))],
      limits: limited,
      compaction: { above: 500, keep: 0 },
    })
    const { outcome } = await ran(reader)
    expect(outcome).toMatchObject({ status: 'completed' })
    const after = model.prompts[2]!.map(({ content }) => asText(content)).join('\n')
    expect(after).toMatch(
      /\[Results that are kept, and were named in what was removed; read_large_result reads them:\] result-\w+/,
    )
    expect(told(model.prompts[3])).toEqual([expect.stringMatching(/^\["line 5 " occurs 1 times/)])
  })
  test('a fork reads what its origin kept', async () => {
    const model = scripted(({ messages }) => {
      const [said] = told(messages)
      if (said === undefined) return calls(['fetch', {}])
      return asText(said).includes('more characters')
        ? calls(['read_large_result', { result: nameIn(said), count: true }])
        : asText(said)
    })
    const reader = agent({ name: 'reader', model, tools: [fetch(lines(1_000))], limits: limited })
    const { run, runtime, recorded } = await ran(reader)
    const { position } = recorded.find(({ event }) => JSON.stringify(event).includes('$shown'))!
    const fork = await runtime.fork({ run: run.id, at: position, by: 'ann', reason: 'what if' })
    expect(await fork.outcome()).toMatchObject({ output: expect.stringMatching(/characters, 1001 lines\]$/) as string })
  })
})

describe('what is kept', () => {
  test('a text is found across pieces, once each, wherever it stands', async () => {
    const places = [0, 262_100, 262_141, 524_285, 600_000]
    const text = places.reduce((all, at) => `${all.slice(0, at)}İNeedle${all.slice(at + 7)}`, '-'.repeat(700_000))
    const model = scripted(
      calls(['fetch', {}]),
      ({ messages }) => {
        const result = nameIn(told(messages)[0])
        return calls(
          ['read_large_result', { result, find: 'nEEDLE' }],
          ['read_large_result', { result, find: 'needle', limit: 2 }],
          ['read_large_result', { result, find: 'needle', from: 262_102 }],
        )
      },
      'done',
    )
    await ran(agent({ name: 'reader', model, tools: [fetch(text)], limits: limited }))
    const [all, some, rest] = told(model.prompts[2]) as [string, string, string]
    expect([...all.matchAll(/- character (\d+), line 1:/g)].map(([, at]) => Number(at))).toEqual(
      places.map((at) => at + 1),
    )
    expect(some).toMatch(/occurs 5 times .* 2 shown; find more from 262102\]/)
    expect(rest).toMatch(/occurs 3 times/)
  })
  test('is redacted before it is kept, and so is the head of JSON, by the names of its members', async () => {
    const rows = Array.from({ length: 1_000 }, (_, id) => ({ id, apiKey: `hidden-${id}`, note: 'a token-1234 here' }))
    const model = scripted(
      calls(['fetch', {}]),
      ({ messages }) => calls(['read_large_result', { result: nameIn(told(messages)[0]), find: 'hidden' }]),
      'done',
    )
    const reader = agent({ name: 'reader', model, tools: [fetch(rows)], limits: limited })
    const runtime = await runtimeOf([reader], { redact: { keys: ['apiKey'], values: ['token-1234'] } })
    await (await runtime.start(reader, 'go')).outcome()
    const [shown] = told(model.prompts[1]) as [string]
    expect(shown).toContain('"apiKey":"[redacted]","note":"a [redacted] here"')
    expect(JSON.stringify(model.prompts)).not.toMatch(/hidden-|token-1234/)
    expect(told(model.prompts[2])).toEqual([expect.stringMatching(/^\["hidden" occurs 0 times/)])
  })
  test('a store that keeps no contents: done is done, the head is shown, and that there is no rest to read', async () => {
    for (const result of [lines(1_000), Array.from({ length: 3_000 }, (_, i) => i)]) {
      const model = scripted(calls(['fetch', {}]), 'done')
      const seen: Json[] = []
      const reader = agent({ name: 'reader', model, tools: [fetch(result)], limits: limited })
      await using runtime = await runtimeUnderTest({
        agents: [reader],
        engine: createEngine(Object.assign(new MemoryStore({}), { contents: undefined as never })),
      })
      const run = await runtime.start(reader, 'go')
      expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
      const recorded: Recorded[] = []
      for await (const each of run.events()) {
        recorded.push(each)
        if (each.event.type === 'activation.settled') break
      }
      for (const { event } of recorded)
        if (event.type === 'step.settled' && event.outcome.status === 'completed') seen.push(event.outcome.output)
      expect(seen).toContainEqual(result)
      expect(told(model.prompts[1])).toEqual([
        expect.stringMatching(
          /^\["fetch" is done\. It returned \d+ characters, too many to show; the rest cannot be read/,
        ),
      ])
      expect(saidOf(recorded, 'reader')).toEqual(told(model.prompts[1]))
      expect(toolsOf(model, 1)).toEqual(['fetch'])
    }
  })
  test('control that is handed on: the next agent has the name in its history, and reads it', async () => {
    const first = scripted(calls(['fetch', {}]), calls(['transfer_to_agent', { agent_name: 'second' }]), 'done')
    const second = scripted(
      ({ messages }) =>
        calls([
          'read_large_result',
          { result: nameIn(messages.map(({ content }) => asText(content)).join()), count: true },
        ]),
      ({ messages }) => asText(told(messages)[0]!),
    )
    const handsOn = router({
      name: 'desk',
      model: first,
      tools: [fetch(lines(1_000))],
      workers: [agent({ name: 'second', description: 'Reads.', model: second })],
      limits: limited,
    })
    await ran(handsOn)
    expect(told(second.prompts[1])).toEqual([expect.stringMatching(/characters, 1001 lines\]$/)])
    expect(JSON.stringify(second.prompts[0]).length).toBeLessThan(10_000)
  })
})
