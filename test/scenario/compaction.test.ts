/**
 * `compaction`: a conversation that grows too long goes on as a summary and its last messages; others are shown what
 * was said.
 */
import { describe, expect, test } from 'vitest'
import {
  agent,
  defineAgent,
  modelAgentKind,
  modelParts,
  modelSetup,
  tool,
  type Background,
  type CallResult,
  type Compaction,
  type ConversationState,
  type Iteration,
  type SummaryInput,
  problemText,
} from '@reeve/agent'
import { summaryMark, summaryTask, underWayMark } from '../../packages/agent/src/extensions/compaction.ts'
import { MessagesContent, modelCallContent, type Message, type ModelRequest } from '@reeve/model'
import { digest } from '@reeve/core'
import { asTool, sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told } from './team.ts'
import { said } from './control.ts'

const long = 'x'.repeat(400) // 100 tokens
const read = tool({ name: 'read', effect: 'read', execute: (input) => `${JSON.stringify(input)}${long}` })
const reads = (n: number) => calls(['read', { n }, `k${n}`])
const text = ({ content }: Message): string => (typeof content === 'string' ? content : JSON.stringify(content))
const isSummary = ({ messages }: ModelRequest): boolean =>
  messages[0] !== undefined && text(messages[0]) === summaryTask
/** Reads five times and answers; how it summarizes is another matter. */
const reader = (summary: (request: ModelRequest) => string = () => 'notes', turns = 5) => {
  let turn = 0
  return scripted((request) => (isSummary(request) ? summary(request) : turn++ < turns ? reads(turn) : 'final'))
}
const shape = (prompt: readonly Message[]): string =>
  prompt.map((message) => (text(message).startsWith(summaryMark) ? 'S' : message.role[0])).join('')

async function play(compaction: Compaction, more: object = {}, model = reader(), options: object = {}) {
  const A = agent({ name: 'A', model, tools: [read], instructions: 'be brief', compaction, ...more })
  const run = await (await runtimeOf([A])).start(A, 'the task', options)
  return { outcome: await run.outcome(), run, model, events: await eventsOf(run) }
}
const compacted = (events: Awaited<ReturnType<typeof eventsOf>>) =>
  events.filter(({ type }) => type === 'context.compacted')

describe('what the model is shown', () => {
  test('kept: instructions, task, marked summary, last messages; no call without its result', async () => {
    const { outcome, model, events } = await play({ above: 250, keep: 3, summarize: () => 'notes' })
    expect(outcome).toMatchObject({ status: 'completed', output: 'final' })
    expect(model.prompts.map(shape)).toEqual(['su', 'suat', 'suatat', 'suSatat', 'suSatat', 'suSatat'])
    expect(text(model.prompts[3]![2]!)).toBe(`${summaryMark}\nnotes`)
    expect(model.prompts[3]!.slice(0, 2).map(text)).toEqual(['be brief', 'the task'])
    expect(compacted(events)).toMatchObject([
      { turn: 4, replaced: 2, kept: 4 },
      { turn: 5, replaced: 4, kept: 4 },
      { turn: 6, replaced: 6, kept: 4 },
    ])
    for (const prompt of model.prompts) {
      const called = prompt.flatMap((message) =>
        message.role === 'assistant' ? (message.calls ?? []).map(({ id }) => id) : [],
      )
      expect(prompt.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(called)
    }
  })

  test('below the size nothing is compacted; six messages stay by default', async () => {
    expect(compacted((await play({ above: 10_000 })).events)).toEqual([])
    const { model } = await play({ above: 350, summarize: () => 'notes' })
    expect(model.prompts.map(shape)).toEqual(['su', 'suat', 'suatat', 'suatatat', 'suSatatat', 'suSatatat'])
  })

  test('a second summary is made of the first one, and takes its place', async () => {
    const given: SummaryInput[] = []
    const summarize = (input: SummaryInput): string => `notes ${given.push(input)}`
    const { run, model } = await play({ above: 250, keep: 2, summarize })
    const pair = (callId: string) => [{ role: 'assistant' }, { role: 'tool', callId }]
    expect(given.slice(0, 2)).toMatchObject([
      { brief: 'the task', agent: 'A', path: ['A'], run: run.id, turn: 3, messages: pair('k1') },
      { turn: 4, summary: 'notes 1', messages: pair('k2') },
    ])
    expect(given[0]).not.toHaveProperty('summary')
    expect(given[1]!.text).toMatch(/the task.*notes 1.*\[calls read\] \{"n":2\}\n\[result of read\]/s)
    expect(text(model.prompts.at(-1)![2]!)).toBe(`${summaryMark}\nnotes ${given.length}`)
    expect(JSON.stringify(model.prompts.at(-1))).not.toContain('notes 1')
  })

  test('what was said before the task is summarized, the task stays where it was asked', async () => {
    const messages: Message[] = [1, 2, 3, 4].map((n) => ({
      role: n % 2 === 1 ? 'user' : 'assistant',
      content: `before ${n} ${long}`,
    }))
    const { model } = await play(
      { above: 200, keep: 2, summarize: ({ messages: list }) => `${list.length} messages` },
      {},
      reader(undefined, 1),
      { messages },
    )
    expect(model.prompts.map(shape)).toEqual(['sSau', 'suSat'])
    expect(model.prompts.map((prompt) => prompt.some((message) => text(message) === 'the task'))).toEqual([true, true])
  })

  test('what was just told to it stays with the turn that it is about', async () => {
    const onIterationComplete = ({ turn }: Iteration) => (turn === 3 ? { feedback: 'read on' } : undefined)
    const { model } = await play({ above: 250, keep: 1, summarize: () => 'notes' }, { onIterationComplete })
    expect(shape(model.prompts[3]!)).toBe('suSatu')
    expect(text(model.prompts[3]!.at(-1)!)).toBe('read on')
  })

  test('each call’s content key is that of what was shown; an uncuttable conversation is left alone', async () => {
    const { model, events } = await play({ above: 250, keep: 3, summarize: () => 'notes' })
    const requested = events.filter((event) => event.type === 'model.requested')
    const shown = model.prompts.map((prompt, i) => {
      return modelCallContent(
        { model: requested[i]!.model, tools: model.tools[i]! },
        new MessagesContent().of(prompt, digest),
        digest,
      )
    })
    expect(requested.map(({ contentKey }) => contentKey)).toEqual(
      shown.map((content) => `sha256-1:${digest(content, 'base64url')}`),
    )
    const whole = await play({ above: 1, keep: 50, summarize: () => 'notes' })
    expect([whole.outcome, compacted(whole.events)]).toMatchObject([{ output: 'final' }, []])
  })

  test('a summary that does not make it short enough is not made again every turn', async () => {
    const { events } = await play(
      { above: 1_000, keep: 2, summarize: () => 'y'.repeat(4_400) },
      {},
      reader(undefined, 15),
    )
    expect(compacted(events).length).toBeGreaterThan(0)
    expect(compacted(events).length).toBeLessThanOrEqual(5)
  })
})

describe('who summarizes', () => {
  test('its own model, in a call of its own: no tools, counted like the others, and nothing that it has said', async () => {
    const model = reader(({ emit }) => (emit?.({ type: 'text.delta', id: '0', text: 'leak' }), 'the notes'))
    const { outcome, events, run } = await play({ above: 250, keep: 3 }, {}, model)
    expect(outcome).toMatchObject({ output: 'final' })
    const asked = events.filter((event) => event.type === 'model.requested')
    const summaries = asked.filter(({ purpose }) => purpose === 'summary')
    expect([summaries.length, asked.length]).toEqual([compacted(events).length, 6 + summaries.length])
    const shown = model.prompts.findIndex((prompt) => text(prompt[0]!) === summaryTask)
    expect(model.tools[shown]).toEqual([])
    expect(text(model.prompts[shown]![1]!)).toMatch(
      /^The task:\nthe task\n\nWhat was said and done:\n\[calls read\] \{"n":1\}\n\[result of read\]/,
    )
    expect(JSON.stringify(await said(run))).not.toMatch(/the notes|leak/)
    expect((await run.view()).usage).toMatchObject([{ agent: 'A', calls: asked.length }])
  })

  test('its summaries count as turns, and the last turn is never one', async () => {
    const { outcome, model } = await play({ above: 250, keep: 1 }, { limits: { turns: 6 }, lastAnswer: true }, reader())
    expect(model.prompts).toHaveLength(6)
    expect(outcome).toMatchObject({ status: 'limited', limit: 'turns' }) // this model goes on reading whatever it is told
    const obeying = scripted((request) =>
      isSummary(request) ? 'notes' : request.tools.length === 0 ? 'with what I have' : reads(request.messages.length),
    )
    expect(
      (await play({ above: 250, keep: 1 }, { limits: { turns: 6 }, lastAnswer: true }, obeying)).outcome,
    ).toMatchObject({
      output: 'with what I have',
    })
  })

  test('a limit on tokens reserves what it is shown, and what it has not is not asked', async () => {
    const { outcome, events } = await play(
      { above: 250, keep: 3, summarize: () => 'notes' },
      { limits: { tokens: 100_000 } },
    )
    expect(outcome).toMatchObject({ output: 'final' })
    const reserved = events.flatMap((event) => (event.type === 'model.requested' ? [event.reserve?.tokens ?? 0] : []))
    expect(Math.max(...reserved.slice(3)) - Math.min(...reserved.slice(3))).toBeLessThan(20)
  })

  test('another agent: a worker that is given the conversation as text; registered and part of the version', async () => {
    const brain = scripted('its notes')
    const summarize = agent({ name: 'scribe', description: 'Writes notes.', model: brain })
    const { model, run, outcome } = await play({ above: 250, keep: 3, summarize })
    expect(outcome).toMatchObject({ output: 'final' })
    expect(text(model.prompts[3]![2]!)).toBe(`${summaryMark}\nits notes`)
    expect(text(brain.prompts[0]![0]!)).toContain('[result of read] {"n":1}')
    expect((await run.view()).activations[1]).toMatchObject({ path: ['A', 'scribe'] })
    expect((await said(run)).filter(({ agent: who, inner }) => who === 'scribe' && inner !== true)).toEqual([])
    const make = (compaction: Compaction) => agent({ name: 'A', model: () => 'x', compaction })
    expect(make({ above: 5, summarize }).related()).toEqual([summarize])
    expect(
      new Set([make({ above: 5, summarize }), make({ above: 5 }), make({ above: 6 })].map(({ version }) => version))
        .size,
    ).toBe(3)
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('disk full')
      },
    ],
    ['gives no text', () => 7],
    ['gives an empty one', () => ' '],
  ])(
    'one that %s: the work goes on uncompacted, the journal has it, and it is not asked again every turn',
    async (_what, summarize) => {
      let asked = 0
      const { outcome, events, model } = await play(
        { above: 1_000, keep: 3, summarize: () => (asked++, summarize() as string) },
        {},
        reader(undefined, 15),
      )
      expect(outcome).toMatchObject({ output: 'final' })
      const failed = events.filter(({ type }) => type === 'hook.failed')
      expect(failed[0]).toMatchObject({ hook: 'summarize' })
      expect(failed.length).toBe(asked)
      expect(asked).toBeLessThanOrEqual(3)
      expect(compacted(events)).toEqual([])
      expect(model.prompts.at(-1)).toHaveLength(32)
    },
  )

  test('a model that cannot summarize: the same', async () => {
    const model = reader(() => {
      throw new Error('down')
    })
    const { outcome, events } = await play({ above: 250, keep: 3 }, { retry: { attempts: 1 } }, model)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(events.filter(({ type }) => type === 'hook.failed').length).toBeGreaterThan(0)
  })
})

describe('what others are shown', () => {
  const compaction: Compaction = { above: 250, keep: 2, summarize: () => 'secret notes' }

  test('who comes next is shown what was said, not the summary', async () => {
    const next = scripted('done')
    const make = (options: object) => {
      const A = agent({ name: 'A', model: reader(), tools: [read], ...options })
      return sequential({ name: 'flow', agents: [A, agent({ name: 'B', model: next })] })
    }
    await (await runtimeOf([make({})])).run('flow', 'go')
    await (await runtimeOf([make({ compaction })])).run('flow', 'go')
    expect(next.prompts[1]).toEqual(next.prompts[0])
    expect(next.prompts[0]!.length).toBeGreaterThan(10)
  })

  test('a worker under the policy `conversation`, hooks and scorers, and an agent as a tool', async () => {
    const shown: string[] = []
    const lookOn = ({ messages }: { messages: readonly Message[] }): void => void shown.push(JSON.stringify(messages))
    const w = agent({
      name: 'w',
      description: 'Works.',
      model: scripted((request) => (shown.push(JSON.stringify(request.messages)), 'worked')),
    })
    const t = agent({
      name: 't',
      description: 'Helps.',
      model: scripted((request) => (shown.push(JSON.stringify(request.messages)), 'helped')),
    })
    let turn = 0
    const lead = scripted(() => {
      turn++
      if (turn <= 4) return { ...reads(turn), text: `reading ${turn}` }
      if (turn === 5) return delegates(['w', 'work'])
      return turn === 6 ? calls(['t', { request: 'help' }]) : 'final'
    })
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [w],
      tools: [read, asTool(t, { context: 'conversation' })],
      delegation: { context: 'conversation' },
      compaction,
      onIterationComplete: (iteration) => (iteration.turn === 7 ? lookOn(iteration) : undefined),
      isComplete: { scorers: [{ name: 's', score: (input) => (lookOn(input), 1) }] },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'the task')).toMatchObject({ output: 'final' })
    expect(JSON.stringify(lead.prompts.at(-1))).toContain('secret notes')
    expect(shown).toHaveLength(4)
    for (const each of shown) {
      expect(each).toContain('reading 1')
      expect(each).not.toContain('secret notes')
    }
  })
})

describe('what is under way', () => {
  /** A model agent with something going on, as a leader has that delegates in the background. */
  function busy(
    model: ReturnType<typeof scripted>,
    deliver: (desk: ConversationState) => void,
    lines: () => readonly string[],
  ) {
    const options = {
      name: 'A',
      model,
      instructions: 'be brief',
      compaction: { above: 250, keep: 2, summarize: () => 'notes' },
    }
    const setup = modelSetup('A', options, undefined, undefined)
    const nothing = (): CallResult => ({ content: '' })
    const background: Background = {
      defer: nothing,
      deferCall: nothing,
      deliver,
      more: () => Promise.resolve(false),
      rest: () => Promise.resolve(),
      end: (outcome) => Promise.resolve(outcome),
      lines,
    }
    const toolbox = {
      specs: [read.spec],
      find: () => ({
        spec: read.spec,
        run: (_ctx: unknown, call: { input: unknown; id: string }): Promise<CallResult> =>
          Promise.resolve({
            content: call.id === 'k1' ? '[d1 works in the background]' : `${JSON.stringify(call.input)}${long}`,
          }),
      }),
    }
    return defineAgent(
      modelAgentKind,
      modelParts({ options, setup: { ...setup, open: (_state, system) => ({ system, toolbox, background }) } }),
    )
  }

  test('is said again after each summary, and nothing once nothing is', async () => {
    const model = reader(undefined, 7)
    let turn = 0
    const A = busy(
      model,
      () => void turn++,
      () => (turn < 6 ? [`d1 "w": running (${turn})`] : []),
    )
    expect(await (await runtimeOf([A])).run(A, 'the task')).toMatchObject({ output: 'final' })
    const notes = model.prompts.map((prompt) =>
      prompt.filter((message) => text(message).startsWith(underWayMark)).map(text),
    )
    const spoken = [...new Set(notes.flat())]
    expect(spoken.length).toBeGreaterThan(0)
    for (const note of spoken) expect(note).toMatch(/^\[Still under way:\]\n- d1 "w": running \(\d\)$/)
    expect(notes.every((list) => list.length <= 1)).toBe(true)
    expect(spoken).toHaveLength(notes.flat().length) // it is never said of something as it was before
    expect(notes.at(-1)).toEqual([])
  })

  test('a background delegation is told while it works and at its end, whether its call is shown or not', async () => {
    const { promise: seen, resolve } = Promise.withResolvers<void>()
    const w = agent({ name: 'w', description: 'Works.', model: scripted(() => seen.then(() => 'worked')) })
    let turn = 0
    let isSeen = false
    const lead = scripted(({ messages }) => {
      isSeen ||= messages.some((message) => text(message).startsWith(underWayMark))
      if (isSeen) resolve()
      return ++turn === 1 ? delegates(['w', 'x', 'c1']) : isSeen ? 'final' : reads(turn)
    })
    const summarize = ({ messages }: SummaryInput) => `notes on ${messages.length}`
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [w],
      tools: [read],
      delegation: { background: ['w'] },
      compaction: { above: 250, keep: 2, summarize },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'the task')).toMatchObject({ output: 'final' })
    const underWay = lead.prompts.flatMap((prompt) =>
      prompt.filter((message) => text(message).startsWith(underWayMark)).map(text),
    )
    expect(underWay[0]).toMatch(/^\[Still under way:\]\n- d1 "w": /)
    const last = lead.prompts.at(-1)!
    expect(
      last
        .filter(({ role }) => role === 'user')
        .map(text)
        .join('\n'),
    ).toMatch(/Ended since you were last asked: d1 \("w", completed\): worked/)
    expect(JSON.stringify(last)).not.toMatch(/Still under way|works in the background/)
  })

  test('a late result takes its place in the history; if that place is cut, it is told', async () => {
    const model = reader(undefined, 6)
    let turn = 0
    let desk: ConversationState | undefined
    const deliver = (given: ConversationState): void => {
      desk = given
      if (++turn !== 6) return
      const placeholder = given.whole.find((message) => message.role === 'tool' && message.callId === 'k1')!
      expect(given.messages.includes(placeholder)).toBe(false)
      const late = 'the late result'
      if (!given.replace(placeholder, { ...placeholder, content: late })) given.note(`told: ${late}`)
    }
    const A = busy(model, deliver, () => [])
    expect(await (await runtimeOf([A])).run(A, 'the task')).toMatchObject({ output: 'final' })
    expect(text(model.prompts[5]!.at(-1)!)).toBe('told: the late result')
    expect(told(desk!.conversation().slice(0, 3))).toEqual(['the late result'])
    expect(JSON.stringify(desk!.conversation())).not.toContain('[d1 works')
  })
})

test.each<[unknown, string | RegExp]>([
  [{ above: 0 }, 'agent "A": compaction.above is 0, expected a number of tokens above 0'],
  [{}, /compaction.above is missing, expected a number of tokens above 0/],
  [{ above: 5, keep: -1 }, /compaction.keep is -1, expected a whole number of at least 0/],
  [{ above: 5, keeps: 1 }, /compaction has no option "keeps": did you mean "keep"/],
  [{ above: 5, summarize: 'x' }, /compaction.summarize is the text "x", expected a function or an agent/],
  [true, /compaction is true, expected an object/],
])('options that make no sense: %j', (compaction, says) => {
  const A = agent({ name: 'A', model: () => 'x', compaction: compaction as Compaction })
  expect(A.problems().map(problemText).join('\n')).toMatch(says)
})
