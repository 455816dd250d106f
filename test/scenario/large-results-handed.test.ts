/** Large results that a planned team or a flow hands on: what the models that read them are told, and what code is given. */
import { describe, expect, test } from 'vitest'
import { agent, teammate, type Agent } from '@reeve/agent'
import { asText, type Json } from '@reeve/core'
import { createEngine } from '@reeve/engine/host'
import { MemoryStore } from '@reeve/engine/memory'
import { loop, parallel, router, sequential } from '@reeve/flow'
import { spokenOf, type Recorded } from '@reeve/journal'
import type { Message, ModelAnswerInput, ModelRequest } from '@reeve/model'
import { roundtable } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { runtimeUnderTest } from '../engine-under-test.ts'
import { calls, runtimeOf, scripted, told, type Scripted } from './team.ts'

const line = 'a line of the log\n'
const long = line.repeat(60_000)
const limits = { resultTokens: 1_000 }
const text = (prompt: readonly Message[] | undefined): string =>
  (prompt ?? []).map(({ content }) => asText(content)).join('\n')
const namesIn = (prompt: readonly Message[]): string[] => [...new Set(text(prompt).match(/result-[0-9a-f]{32}/g))]
const toolsOf = (model: Scripted, turn: number) => model.tools[turn]!.map(({ name }) => name)
/** A model that counts the lines of the results it is told of, and answers with that. */
const counts = (): Scripted =>
  scripted(
    ({ messages }: ModelRequest): ModelAnswerInput =>
      calls(...namesIn(messages).map((result) => ['read_large_result', { result, count: true }] as const)),
    ({ messages }: ModelRequest): string => told(messages).map(asText).join(' + '),
  )
const counted = /^\[result-\w+: 1080000 characters, 60001 lines\]$/
const answers = (output: Json, name = 'writer') =>
  agent({ name, description: 'Answers at length.', run: async () => output })
const reads = (model: Scripted, name = 'reader', more: object = {}) =>
  agent({ name, description: 'Reads.', model, ...more })

async function ran(root: Agent, options: object = {}) {
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, 'go', { limits, ...options })
  const outcome = await run.outcome()
  const recorded: Recorded[] = []
  const { position } = await run.view()
  for await (const each of run.events()) {
    recorded.push(each)
    if (each.position >= position) break
  }
  const kept = recorded.filter(
    ({ event }) => event.type === 'step.begun' && /\/result\.keep(#|$)/.test(`/${event.address}`),
  )
  return { outcome, recorded, kept }
}

describe('a flow', () => {
  test('a pipeline: the next model is shown the beginning, reads on, and the answer is recorded whole', async () => {
    const model = counts()
    const { outcome, kept, recorded } = await ran(sequential({ name: 'line', agents: [answers(long), reads(model)] }))
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringMatching(counted) as string })
    const prompt = text(model.prompts[0])
    expect(prompt).toMatch(
      /For context: \[writer\] said: \[result-\w+: "writer" returned 1080000 characters, too many to show\. The first \d+ follow/,
    )
    expect(prompt.length).toBeLessThan(5_000)
    expect(toolsOf(model, 0)).toEqual(['read_large_result'])
    expect(kept).toHaveLength(1)
    const said = spokenOf(recorded).flatMap((each) => (each.type === 'tool' ? [each.content] : []))
    expect(said).toEqual(told(model.prompts[1]))
  })
  test('within the limit nothing is different, nor where there is no model that reads', async () => {
    const model = scripted('done')
    const short = line.repeat(100)
    const { kept } = await ran(sequential({ name: 'line', agents: [answers(short), reads(model)] }))
    expect(text(model.prompts[0])).toContain(short)
    expect([kept, toolsOf(model, 0)]).toEqual([[], []])
    const seen: number[] = []
    const code = agent({
      name: 'code',
      description: 'Looks.',
      run: async (_ctx, _brief, { history }) => (seen.push(text(history.map(({ message }) => message)).length), 'done'),
    })
    const ofCode = await ran(sequential({ name: 'line', agents: [answers(long), code] }))
    expect(ofCode.kept).toEqual([])
    expect(seen.every((length) => length >= long.length)).toBe(true)
  })
  test('the limit of the reader holds; what comes from outside is the words of the user, and stays', async () => {
    const model = scripted('done')
    const input = 'x'.repeat(20_000)
    const root = sequential({
      name: 'line',
      agents: [answers(line.repeat(200)), reads(model, 'reader', { limits: { resultTokens: 100 } })],
    })
    await (await (await runtimeOf([root])).start(root, input)).outcome()
    expect(text(model.prompts[0])).toContain(input)
    expect(text(model.prompts[0])).toContain('"writer" returned 3600 characters')
  })
  test('branches that are joined: each answer by its own name; a flow within a flow', async () => {
    const model = counts()
    const branches = parallel({
      name: 'both',
      agents: [answers(long, 'one'), sequential({ name: 'inner', agents: [answers(`${long}2`, 'two')] })],
    })
    const inner = sequential({ name: 'readers', agents: [reads(model)] })
    const { outcome, kept } = await ran(sequential({ name: 'line', agents: [branches, inner] }))
    expect(namesIn(model.prompts[0]!)).toHaveLength(2)
    expect(text(model.prompts[0])).toContain('"one" returned 1080000 characters')
    expect(text(model.prompts[0])).toContain('"two" returned 1080001 characters')
    expect(kept).toHaveLength(2)
    expect(outcome).toMatchObject({ status: 'completed' })
  })
  test('a value that a member shares as its answer, for models at once: it is kept once', async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({ id }))
    const models = [scripted('one'), scripted('two')] as const
    const inner = parallel({ name: 'both', agents: [reads(models[0], 'r1'), reads(models[1], 'r2')] })
    const root = sequential({
      name: 'line',
      agents: [answers(rows), inner],
      edge: { shares: 'answer' },
    })
    const { kept } = await ran(root)
    for (const model of models) expect(text(model.prompts[0])).toMatch(/"writer" returned \d+ characters, too many/)
    expect(kept).toHaveLength(1)
  })
  test('a loop: the second iteration reads what the first one answered', async () => {
    const model = scripted('first', 'second')
    await ran(loop({ name: 'again', agents: [reads(model), answers(long)], maxIterations: 2 }))
    expect(text(model.prompts[0])).not.toContain('result-')
    expect(text(model.prompts[1])).toContain('"writer" returned 1080000 characters')
    expect(text(model.prompts[1]).length).toBeLessThan(6_000)
  })
  test('a router: its lead is shown the beginning of what a worker has answered', async () => {
    const model = scripted(
      calls(['transfer_to_agent', { agent_name: 'writer' }]),
      ({ messages }) => calls(['read_large_result', { result: namesIn(messages)[0]!, count: true }]),
      ({ messages }) => asText(told(messages)[0]!),
    )
    const { outcome } = await ran(router({ name: 'desk', model, workers: [answers(long)] }))
    expect(outcome).toMatchObject({ output: expect.stringMatching(counted) as string })
    expect(text(model.prompts[1]).length).toBeLessThan(6_000)
  })
})

describe('a round table', () => {
  test('members and the model that chooses among them are shown the beginning', async () => {
    const chair = scripted(JSON.stringify({ speaker: 'writer' }), JSON.stringify({ speaker: 'reader' }))
    const model = counts()
    await ran(
      roundtable({ name: 'table', agents: [answers(long), reads(model)], speaker: 'auto', model: chair, maxRounds: 2 }),
    )
    expect(text(model.prompts[0])).toContain('"writer" returned 1080000 characters')
    expect(chair.prompts.length).toBeGreaterThan(1)
    expect(text(chair.prompts[1])).toContain('"writer" returned 1080000 characters')
    for (const prompt of [...chair.prompts, ...model.prompts]) expect(text(prompt).length).toBeLessThan(9_000)
  })
})

describe('a planned team', () => {
  const plan = (...subtasks: { id: string; role: string; dependencies?: string[] }[]) => ({
    subtasks: subtasks.map((each) => ({ description: `Do ${each.id}`, ...each })),
  })
  test('a task is told the beginning of the result it depends on, and reads on; code is given the whole', async () => {
    const model = counts()
    const seen: number[] = []
    const code = agent({
      name: 'code',
      description: 'Looks.',
      run: async (ctx, brief: string) => {
        seen.push(brief.length, asText(teammate(ctx).inputs['logs']!.output!).length)
        return 'looked'
      },
    })
    const root = team({
      name: 'analysts',
      roles: { writer: answers(long), reader: reads(model), code },
      planner: plan(
        { id: 'logs', role: 'writer' },
        { id: 'count', role: 'reader', dependencies: ['logs'] },
        { id: 'look', role: 'code', dependencies: ['logs'] },
      ),
      synthesize: ({ results }) => results.map(({ output }) => asText(output!)).at(1)!,
    })
    const { outcome, kept } = await ran(root)
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringMatching(counted) as string })
    expect(text(model.prompts[0])).toMatch(/## Result: logs\n\[result-\w+: "logs" returned 1080000 characters/)
    expect(text(model.prompts[0]).length).toBeLessThan(6_000)
    expect(toolsOf(model, 0)).toContain('read_large_result')
    expect(seen).toEqual([expect.any(Number), long.length])
    expect(seen[0]).toBeGreaterThan(long.length)
    expect(kept).toHaveLength(1)
  })
  test('two readers of one result: it is kept once; a topic is bounded as a result is', async () => {
    const models = [scripted('one'), scripted('two')] as const
    const root = team({
      name: 'analysts',
      roles: { writer: answers(line.repeat(20_000)), r1: reads(models[0], 'r1'), r2: reads(models[1], 'r2') },
      planner: {
        subtasks: [
          { id: 'logs', description: 'Write', role: 'writer', produces: ['log'] },
          { id: 'a', description: 'Read', role: 'r1', dependencies: ['logs'] },
          { id: 'b', description: 'Read', role: 'r2', consumes: ['log'] },
        ],
      },
    })
    const { outcome, kept } = await ran(root)
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(text(models[0].prompts[0])).toMatch(/## Result: logs\n\[result-/)
    expect(text(models[1].prompts[0])).toMatch(/\[result-\w+: "logs" returned 360000 characters/)
    expect(kept).toHaveLength(1)
  })
  test('the synthesis of an agent can read on; that of a model alone is shown the beginning', async () => {
    const model = counts()
    const parts = { roles: { writer: answers(long), other: answers('short and different', 'other') } }
    const planner = plan({ id: 'logs', role: 'writer' }, { id: 'rest', role: 'other' })
    const byAgent = await ran(
      team({
        name: 'analysts',
        ...parts,
        planner,
        synthesize: reads(model, 'author'),
        synthesis: { maxCharacters: 2_000_000 },
      }),
    )
    expect(byAgent.outcome).toMatchObject({ output: expect.stringMatching(counted) as string })
    expect(text(model.prompts[0])).toMatch(/## Result of "logs"[^]*"logs" returned 1080000 characters/)
    expect(text(model.prompts[0]).length).toBeLessThan(7_000)
    const alone = scripted('all of it')
    const byModel = await ran(
      team({
        name: 'analysts',
        ...parts,
        planner,
        synthesize: { model: alone },
        synthesis: { maxCharacters: 2_000_000 },
      }),
    )
    expect(byModel).toMatchObject({ outcome: { output: 'all of it' }, kept: [] })
    expect(text(alone.prompts[0]).length).toBeLessThan(7_000)
    expect(text(alone.prompts[0])).toMatch(/\[… 107\d+ more characters left out\]/)
  })
  test('a planned team as a member: what it is asked is read by models, so it is bounded', async () => {
    const model = counts()
    const inner = team({
      name: 'inner',
      description: 'Counts.',
      roles: { reader: reads(model) },
      planner: plan({ id: 'count', role: 'reader' }),
    })
    const { kept, outcome } = await ran(
      team({
        name: 'analysts',
        roles: { writer: answers(long), inner },
        planner: plan({ id: 'logs', role: 'writer' }, { id: 'rest', role: 'inner', dependencies: ['logs'] }),
        synthesize: ({ results }) => results.map(({ output }) => asText(output!)).at(-1)!,
      }),
    )
    expect(outcome).toMatchObject({
      status: 'completed',
      output: expect.stringMatching(/: 1080000 characters, 60001 lines\]$/) as string,
    })
    expect(text(model.prompts[0]).length).toBeLessThan(9_000)
    expect(kept).toHaveLength(1)
  })
  test('a store that keeps no contents: the beginning is shown, and that there is no rest to read', async () => {
    const model = scripted('done')
    const root = team({
      name: 'analysts',
      roles: { writer: answers(long), reader: reads(model) },
      planner: plan({ id: 'logs', role: 'writer' }, { id: 'count', role: 'reader', dependencies: ['logs'] }),
    })
    await using runtime = await runtimeUnderTest({
      agents: [root],
      engine: createEngine(Object.assign(new MemoryStore({}), { contents: undefined as never })),
    })
    expect(await (await runtime.start(root, 'go', { limits })).outcome()).toMatchObject({ status: 'completed' })
    expect(text(model.prompts[0])).toMatch(
      /\["logs" is done\. It returned 1080000 characters, too many to show; the rest/,
    )
    expect(toolsOf(model, 0)).not.toContain('read_large_result')
  })
})
