/** `isComplete`: scorers say whether an answer is the end (spec delegation M11, 38 to 43). */
import { describe, expect, test } from 'vitest'
import {
  agent,
  judge,
  tool,
  type Completion,
  type Scored,
  type ScoredMoment,
  type Scorer,
  type ScorerInput,
  problemText,
} from '@reeve/agent'
import type { Json } from '@reeve/core'
import { router, sequential } from '@reeve/flow'
import type { JournalEvent } from '@reeve/journal'
import type { Message } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { line, lines } from './control.ts'
import { calls, delegates, eventsOf, fastClock, pause, runtimeOf, scripted, type Scripted } from './team.ts'

const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
const verdicts = (name: string, ...list: readonly unknown[]): Scorer => {
  let asked = 0
  return { name, score: () => list[Math.min(asked++, list.length - 1)] as number }
}
const yes: Scorer = { name: 'yes', score: () => 1 }
const no: Scorer = { name: 'no', score: () => 0 }
/** Never says anything until it is told to stop. */
const hangs = (name: string, stopped: string[] = [], begun?: () => void): Scorer => ({
  name,
  score: (_input, io) => {
    begun?.()
    return new Promise<number>((_resolve, reject) =>
      io.signal.addEventListener('abort', () => {
        stopped.push(name)
        reject(new Error('stopped'))
      }),
    )
  },
})
const words = (message: Message | undefined): string => (typeof message?.content === 'string' ? message.content : '')
const scoredIn = (events: readonly JournalEvent[]) => events.filter((event) => event.type === 'completion.scored')

async function play(model: Scripted, isComplete: Completion, more: object = {}, options: object = {}) {
  const A = agent({ name: 'A', model, tools: [look], isComplete, ...more })
  const run = await (await runtimeOf([A], options)).start(A, 'go')
  return { outcome: await run.outcome(), scored: scoredIn(await eventsOf(run)), events: await eventsOf(run), run }
}

describe('until it passes', () => {
  test('delegation 38: twice refused, then passed: three model calls, each retry told why', async () => {
    const model = scripted('one', 'two', 'three', 'never')
    const { outcome, scored } = await play(model, {
      scorers: [verdicts('tests', { score: 0, reason: 'two fail' }, false, true)],
    })
    expect(outcome).toMatchObject({ status: 'completed', output: 'three' })
    expect(model.prompts).toHaveLength(3)
    expect(scored.map(({ passed }) => passed)).toEqual([false, false, true])
    expect(scored[0]).toMatchObject({
      turn: 1,
      strategy: 'all',
      timedOut: false,
      results: [{ scorer: 'tests', score: 0, passed: false, reason: 'two fail' }],
    })
    expect(model.prompts[1]!.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(words(model.prompts[1]!.at(-1))).toContain('- tests: 0 of 1, two fail')
    expect(words(model.prompts[2]!.at(-1))).toContain('- tests: 0 of 1')
  })

  test('delegation 39: 0.9 is not passed, 1 and true are', async () => {
    for (const [score, passes] of [
      [0.9, false],
      [1, true],
      [true, true],
      [false, false],
      [0, false],
      [2, false],
    ] as const) {
      const { scored } = await play(scripted('x'), { scorers: [verdicts('s', score, 1)] })
      expect([score, scored[0]!.passed, scored[0]!.results[0]!.score]).toEqual([score, passes, Number(score)])
    }
  })

  test('delegation 42: never passed: the calls reach the turn limit, and the outcome has the last text', async () => {
    const model = scripted('one', 'two', 'three', 'four')
    const { outcome, scored } = await play(model, { scorers: [yes, no] }, { limits: { turns: 3 } })
    expect(outcome).toMatchObject({
      status: 'limited',
      limit: 'turns',
      partial: 'three',
      message: '3 turns are used up; isComplete was never satisfied: yes: passed; no: 0 of 1',
    })
    expect([model.prompts.length, scored.length]).toEqual([3, 3])
  })

  test('delegation 43: a turn that called is not measured, nor one that a call has ended', async () => {
    const { scored } = await play(scripted(calls(['look', {}]), { ...calls(['look', {}]), text: 'so far' }, 'done'), {
      scorers: [yes],
    })
    expect(scored).toMatchObject([{ turn: 3 }])
    const end = tool({ name: 'end', action: 'return', execute: () => 'by the tool' })
    const ended = await play(scripted(calls(['end', {}])), { scorers: [no] }, { tools: [end] })
    expect(ended.outcome).toMatchObject({ status: 'completed', output: 'by the tool' })
    expect(ended.scored).toEqual([])
  })

  test('a forward is an answer: it is measured, and one that does not pass is not forwarded', async () => {
    const w = agent({ name: 'w', description: 'Works.', model: scripted('no source', 'source: a') })
    const forward = calls(['forward_message', { worker: 'w' }])
    const model = scripted(delegates(['w', 'x']), forward, delegates(['w', 'y']), forward)
    const texts: string[] = []
    const sources = { name: 'sources', score: ({ text }: ScorerInput) => (texts.push(text), text.includes('source:')) }
    const boss = supervisor({ name: 'boss', model, workers: [w], isComplete: { scorers: [sources] } })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'source: a' })
    expect(texts).toEqual(['no source', 'source: a'])
    expect((await eventsOf(run)).filter(({ type }) => type === 'output.forwarded')).toHaveLength(1)
    expect(model.prompts[2]!.slice(-2)).toMatchObject([
      { role: 'tool', content: '[the output of "w" is not accepted as your answer]' },
      { role: 'user', content: expect.stringContaining('Your answer is not accepted yet.') as string },
    ])
    const never = scripted(delegates(['w', 'x']), forward)
    const strict = supervisor({
      name: 'boss',
      model: never,
      workers: [w],
      limits: { ownTurns: 3 },
      isComplete: { scorers: [no] },
    })
    expect(await (await runtimeOf([strict])).run(strict, 'go')).toMatchObject({
      status: 'limited',
      partial: 'source: a',
    })
  })

  test.each([
    ['conversation', 1],
    ['answers', 1],
    ['brief', 0],
  ] as const)(
    'what was missing reaches the workers that are asked again, if their context is %s',
    async (context, times) => {
      const seen = scripted('W')
      const reason = {
        name: 'sources',
        score: ({ text }: ScorerInput) => ({ score: text.includes('source:') ? 1 : 0, reason: 'name your sources' }),
      }
      const model = scripted(delegates(['w', 'first']), 'draft', delegates(['w', 'second']), 'source: a')
      const boss = supervisor({
        name: 'boss',
        model,
        workers: [agent({ name: 'w', description: 'Works.', model: seen })],
        isComplete: { scorers: [reason] },
        delegation: { context },
      })
      expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'source: a' })
      const shown = seen.prompts.map((prompt) =>
        prompt.filter(({ content }) => JSON.stringify(content).includes('name your sources')),
      )
      expect(shown.map(({ length }) => length)).toEqual([0, times])
      expect(JSON.stringify(seen.prompts)).not.toContain('Your answer is not accepted')
    },
  )

  test('a scorer gets the task, the answer as text and output, and the conversation without instructions', async () => {
    const given: ScorerInput[] = []
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    function keeps(input: ScorerInput): number {
      given.push(input)
      return 1
    }
    const more = { output, instructions: 'secret', limits: { turns: 9 } }
    const { run } = await play(scripted(calls(['look', {}]), '```json\n{"n":1}\n```'), { scorers: [keeps] }, more)
    expect(given).toMatchObject([
      {
        brief: 'go',
        text: '```json\n{"n":1}\n```',
        output: { n: 1 },
        turn: 2,
        maxTurns: 9,
        agent: 'A',
        path: ['A'],
        run: run.id,
      },
    ])
    expect(given[0]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect([given[0]!.messages, ...given[0]!.messages].every(Object.isFrozen)).toBe(true)
    expect(JSON.stringify(given)).not.toContain('secret')
  })
})

describe('several', () => {
  test('all: scorers run at once and all must pass; reported in the given order', async () => {
    let together = 0
    let most = 0
    const slow = (name: string, ms: number, score: number): Scorer => ({
      name,
      score: async () => {
        most = Math.max(most, ++together)
        await pause(ms)
        together--
        return score
      },
    })
    const { scored } = await play(
      scripted('x'),
      { scorers: [slow('a', 60, 1), slow('b', 20, 0)] },
      { limits: { turns: 1 } },
    )
    expect(most).toBe(2)
    expect(scored).toMatchObject([
      {
        passed: false,
        results: [
          { scorer: 'a', passed: true },
          { scorer: 'b', passed: false },
        ],
      },
    ])
  })

  test('delegation 40: any: decided with the first that passes; who hangs is stopped and not waited for', async () => {
    const stopped: string[] = []
    const begun = Date.now()
    const { promise: both, resolve } = Promise.withResolvers<void>()
    const quick: Scorer = { name: 'quick', score: () => both.then(() => 1) }
    const { outcome, scored } = await play(scripted('x'), {
      scorers: [hangs('h', stopped, resolve), quick],
      strategy: 'any',
    })
    expect(Date.now() - begun).toBeLessThan(5_000)
    expect(outcome).toMatchObject({ status: 'completed', output: 'x' })
    expect(scored).toMatchObject([
      {
        passed: true,
        timedOut: false,
        strategy: 'any',
        results: [
          { scorer: 'h', passed: false, error: 'it did not finish' },
          { scorer: 'quick', passed: true },
        ],
      },
    ])
    await expect.poll(() => stopped, { timeout: 8_000 }).toEqual(['h'])
  })

  test('any: without a pass all are awaited', async () => {
    const { scored } = await play(
      scripted('x'),
      { scorers: [no, { name: 'almost', score: () => 0.99 }], strategy: 'any' },
      { limits: { turns: 1 } },
    )
    expect(scored).toMatchObject([{ passed: false, results: [{ score: 0 }, { score: 0.99 }] }])
  })

  test('delegation 41: all: who hangs past the deadline has failed; what it says later is not heard', async () => {
    const { promise: over, resolve } = Promise.withResolvers<void>()
    let asked = 0
    const late: Scorer = {
      name: 'late',
      score: () => (asked++ === 0 ? over.then(() => 1) : new Promise<number>(() => {})),
    }
    const model = scripted(
      'x',
      async () => {
        resolve() // the deadline is over: now the first one says that it has passed
        await pause(100)
        return 'y'
      },
      'z',
    )
    const isComplete: Completion = { scorers: [late, yes], timeoutMs: 50 }
    const { outcome, scored } = await play(model, isComplete, { limits: { turns: 2 } })
    expect(outcome).toMatchObject({
      status: 'limited',
      partial: 'y',
      message: expect.stringContaining('late: could not be measured (it did not finish)') as string,
    })
    const result = {
      passed: false,
      timedOut: true,
      results: [
        { scorer: 'late', score: 0, passed: false, error: 'it did not finish' },
        { scorer: 'yes', passed: true },
      ],
    }
    expect(scored).toMatchObject([result, result])
    expect(words(model.prompts[1]!.at(-1))).toContain('late: could not be measured')
  })

  test('any passes if one passed before the deadline; one deadline for all, 10 minutes by default', async () => {
    const slow: Scorer = { name: 'slow', score: () => pause(30).then(() => 1) }
    const { scored } = await play(scripted('x'), { scorers: [hangs('h'), slow], strategy: 'any', timeoutMs: 5_000 })
    expect(scored).toMatchObject([{ passed: true, timedOut: false }])
    const { scored: later } = await play(
      scripted('x'),
      { scorers: [hangs('a'), hangs('b')] },
      { limits: { turns: 1 } },
      { clock: fastClock() },
    )
    expect(later).toMatchObject([{ passed: false, timedOut: true, results: [{ scorer: 'a' }, { scorer: 'b' }] }])
  })

  test('one after the other: the first that decides is the last that is asked', async () => {
    const asked: string[] = []
    const by = (name: string, score: number): Scorer => ({ name, score: () => (asked.push(name), score) })
    const all = await play(
      scripted('x'),
      { scorers: [by('a', 1), by('b', 0), by('c', 1)], parallel: false },
      { limits: { turns: 1 } },
    )
    expect(asked.splice(0)).toEqual(['a', 'b'])
    expect(all.scored).toMatchObject([{ passed: false, results: [{ scorer: 'a' }, { scorer: 'b' }] }])
    const any = await play(scripted('x'), {
      scorers: [by('a', 0), by('b', 1), by('c', 1)],
      parallel: false,
      strategy: 'any',
    })
    expect(asked.splice(0)).toEqual(['a', 'b'])
    expect(any.scored).toMatchObject([{ passed: true }])
    const whole = await play(scripted('x'), { scorers: [by('a', 1), by('b', 1)], parallel: false })
    expect(whole.scored).toMatchObject([{ passed: true, results: [{ scorer: 'a' }, { scorer: 'b' }] }])
    const late = await play(
      scripted('x'),
      { scorers: [hangs('a'), by('b', 1)], parallel: false, timeoutMs: 50 },
      { limits: { turns: 1 } },
    )
    expect(late.scored).toMatchObject([
      { passed: false, timedOut: true, results: [{ error: 'it did not finish' }, { error: 'it did not finish' }] },
    ])
  })
})

describe('scorers that cannot say', () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('no network')
      },
      /^its code failed$/, // the step has what it threw; its model is told of this
    ],
    ['says nothing', () => undefined, /it answered null, expected a number/],
    ['says a word', () => 'fine', /it answered fine, expected a number/],
    ['says no number', () => Number.NaN, /NaN/],
  ])('who %s has said 0, and why stands there', async (_what, score, why) => {
    const model = scripted('x', 'y')
    const { outcome, scored } = await play(
      model,
      { scorers: [{ name: 's', score: score as () => number }] },
      { limits: { turns: 2 } },
    )
    expect(outcome).toMatchObject({ status: 'limited' })
    expect(scored[0]).toMatchObject({
      passed: false,
      results: [{ score: 0, passed: false, error: expect.stringMatching(why) as string }],
    })
    expect(words(model.prompts[1]!.at(-1))).toMatch(/s: could not be measured/)
  })

  test('onScored hears of each measuring once; what it throws changes nothing', async () => {
    const heard: ScoredMoment[] = []
    const onScored = (scored: ScoredMoment): void => {
      heard.push(scored)
      if (!scored.passed) throw new Error('no screen')
    }
    const { outcome, events } = await play(scripted('one', 'two'), { scorers: [verdicts('s', 0, 1)], onScored })
    expect(outcome).toMatchObject({ output: 'two' })
    expect(heard).toMatchObject([
      {
        turn: 1,
        agent: 'A',
        passed: false,
        timedOut: false,
        reason: 's: 0 of 1',
        durationMs: expect.any(Number) as number,
      },
      { turn: 2, passed: true },
    ])
    expect(events.filter(({ type }) => type === 'hook.failed')).toMatchObject([{ hook: 'onScored' }])
  })
})

describe('models that measure', () => {
  test('judge(): a worker over the edge that is shown the task and the answer; what it used counts', async () => {
    const brain = scripted(
      { text: '{"score":0.5,"reason":"no source"}', usage: { input: 7, output: 3 } },
      { text: '{"score":1,"reason":"good"}', usage: { input: 7, output: 3 } },
    )
    const model = scripted(
      { text: 'one', usage: { input: 5, output: 2 } },
      { text: 'two', usage: { input: 5, output: 2 } },
    )
    const J = judge({ name: 'J', model: brain, criteria: ['names its sources', 'is short'] })
    const { outcome, scored, run, events } = await play(model, { scorers: [J] })
    expect(outcome).toMatchObject({ status: 'completed', output: 'two' })
    expect(scored).toMatchObject([{ results: [{ scorer: 'J', score: 0.5, reason: 'no source' }] }, { passed: true }])
    expect(words(brain.prompts[0]![0])).toMatch(/- names its sources\n- is short/)
    expect(words(brain.prompts[0]![1])).toMatch(
      /^The task:\n<(task-[0-9a-f]{16})>\ngo\n<\/\1>\n\nThe answer to be judged:\n<(answer-[0-9a-f]{16})>\none\n<\/\2>$/,
    )
    expect(words(model.prompts[1]!.at(-1))).toContain('- J: 0.5 of 1, no source')
    const usage = (await run.view()).usage
    expect(usage).toMatchObject([
      { agent: 'A', calls: 2, input: 10, output: 4 },
      { agent: 'J', calls: 2, input: 14, output: 6 },
    ])
    expect(events.filter(({ type }) => type === 'worker.started')).toMatchObject([
      { purpose: 'score' },
      { purpose: 'score' },
    ])
    expect(await lines(run)).toEqual([
      'A A says: one',
      'J A/J says: {"score":0.5,"reason":"no source"}',
      'A A says: two',
      'J A/J says: {"score":1,"reason":"good"}',
    ])
    const outside: string[] = []
    for await (const each of run.messages({ inner: false })) outside.push(line(each))
    expect(outside).toEqual(['A A says: one', 'A A says: two'])
    expect((await run.view()).activations.map(({ path }) => path.join('/'))).toEqual(['A', 'A/J', 'A/J'])
  })

  test.each<[string, Json, boolean]>([
    ['1', '1', true],
    ['true as a text', 'true', true],
    ['JSON in a fence', '```json\n{"score":true,"reason":"ok"}\n```', true],
    ['words', 'looks fine', false],
  ])('any agent whose output is a score: %s', async (_what, said, passes) => {
    const S = agent({ name: 'S', description: 'Scores.', model: scripted(said as string) })
    const { scored } = await play(scripted('x'), { scorers: [S] }, { limits: { turns: 4 } })
    expect(scored[0]!.passed).toBe(passes)
  })

  test('code that scores has a typed input; its failure scores 0 and hides provider errors', async () => {
    const given: unknown[] = []
    const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
    const code = agent({
      name: 'code',
      description: 'Measures.',
      input,
      run: (_ctx, brief) => (given.push(brief), { score: 1, reason: 'ok' }),
    })
    const broken = agent({
      name: 'broken',
      description: 'Measures.',
      model: scripted(new Error('boom-secret')),
      retry: { attempts: 1 },
    })
    const model = scripted('x', 'y')
    const { scored } = await play(model, { scorers: [code, broken] }, { limits: { turns: 3 } })
    expect(given[0]).toEqual({ brief: 'go', text: 'x', output: 'x', turn: 1 })
    expect(scored[0]).toMatchObject({
      results: [
        { scorer: 'code', passed: true },
        { scorer: 'broken', error: 'its model could not answer' },
      ],
    })
    expect(JSON.stringify(model.prompts)).not.toContain('boom-secret')
  })

  test('one that hangs is stopped at the deadline, and is accounted for', async () => {
    const J = judge({ name: 'J', model: () => new Promise<never>(() => {}), criteria: 'x' })
    const { outcome, scored, run } = await play(
      scripted('x'),
      { scorers: [J], timeoutMs: 50 },
      { limits: { turns: 3 } },
      {},
    )
    expect(outcome).toMatchObject({ status: 'limited' })
    expect(scored[0]).toMatchObject({ timedOut: true, results: [{ scorer: 'J', error: 'it did not finish' }] })
    expect((await run.view()).activations[1]).toMatchObject({ agent: 'J', outcome: { status: 'timed-out' } })
  }, 20_000)

  test('it takes turns of the whole tree: what is used up is a limit that says why', async () => {
    const J = judge({ name: 'J', model: scripted('{"score":0,"reason":"never good"}'), criteria: 'x' })
    const { outcome } = await play(scripted('x'), { scorers: [J] }, { limits: { turns: 4 } })
    expect(outcome).toMatchObject({
      status: 'limited',
      limit: 'turns',
      partial: 'x',
      message: expect.stringMatching(/isComplete was never satisfied: J: 0 of 1, never good/) as string,
    })
  })

  test('it is registered with its agent and part of its version; a function is so by its name', () => {
    const J = judge({ name: 'J', model: scripted('1'), criteria: 'x' })
    const make = (isComplete?: Completion) =>
      agent({ name: 'A', model: () => 'x', ...(isComplete === undefined ? {} : { isComplete }) })
    expect(make({ scorers: [J, yes] }).related()).toEqual([J])
    const versions = [
      make(),
      make({ scorers: [J] }),
      make({ scorers: [yes] }),
      make({ scorers: [J], strategy: 'any' }),
    ].map(({ version }) => version)
    expect(new Set(versions).size).toBe(4)
    expect(make({ scorers: [{ name: 'yes', score: () => 0 }] }).version).toBe(versions[2])
  })
})

describe('with everything else that stands around an answer', () => {
  test('an answer must fit its schema first; what is measured is what a middleware made of it', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const seen: Json[] = []
    const over: Scorer = {
      name: 'over',
      score: ({ output: value }) => (seen.push(value), (value as { n: number }).n > 1),
    }
    const model = scripted('none', '{"n":1}', '{"n":2}')
    const middleware = [{ name: 'm', afterModel: ({ text }: { text: string }) => ({ text: text.replace('2', '3') }) }]
    const { outcome } = await play(model, { scorers: [over] }, { output, middleware })
    expect(outcome).toMatchObject({ status: 'completed', output: { n: 3 } })
    expect(seen).toEqual([{ n: 1 }, { n: 3 }])
  })

  test('the last turn kept for an answer is measured, too', async () => {
    const make = (score: number) =>
      play(
        scripted(calls(['look', {}]), 'short'),
        { scorers: [{ name: 's', score: () => score }] },
        { lastAnswer: true, limits: { turns: 2 } },
      )
    expect((await make(1)).outcome).toMatchObject({ status: 'completed', output: 'short' })
    expect((await make(0)).outcome).toMatchObject({
      status: 'limited',
      partial: 'short',
      message: expect.stringContaining('never satisfied') as string,
    })
  })

  test('onIterationComplete sees it; {continue: false} bails a refused answer; a granted last answer must pass', async () => {
    const told: (Scored | undefined)[] = []
    const hooked = (word: object, ...scores: number[]) =>
      play(
        scripted('one', 'two', 'three'),
        { scorers: [verdicts('s', ...scores)] },
        {
          onIterationComplete: ({ turn, scored }: { turn: number; scored?: Scored }) => (
            told.push(scored),
            turn === 1 ? word : undefined
          ),
        },
      )
    expect((await hooked({ continue: false }, 0)).outcome).toMatchObject({
      status: 'bailed',
      text: 'one',
      message: 'onIterationComplete ended the work after turn 1; isComplete was not satisfied: s: 0 of 1',
    })
    expect(told).toMatchObject([{ passed: false, results: [{ scorer: 's' }] }])
    expect((await hooked({ continue: false }, 1)).outcome).toMatchObject({ status: 'completed', output: 'one' })
    expect((await hooked({ continue: true }, 1)).outcome).toMatchObject({ status: 'completed', output: 'two' })
    expect((await hooked({ feedback: 'end', continue: false }, 0, 1)).outcome).toMatchObject({
      status: 'completed',
      output: 'two',
    })
    expect((await hooked({ feedback: 'end', continue: false }, 0, 0)).outcome).toMatchObject({
      status: 'bailed',
      text: 'two',
    })
  })

  test('a leader, a worker and the lead of a router: each is measured by its own', async () => {
    const w = agent({
      name: 'w',
      description: 'Works.',
      model: scripted('draft', 'work'),
      isComplete: { scorers: [verdicts('own', 0, 1)] },
    })
    const lead = scripted(delegates(['w', 'x']), 'half', 'whole')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [w],
      isComplete: { scorers: [verdicts('boss_s', 0, 1)] },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'whole' })
    expect(scoredIn(await eventsOf(run)).map(({ results, passed }) => [results[0]!.scorer, passed])).toEqual([
      ['own', false],
      ['own', true],
      ['boss_s', false],
      ['boss_s', true],
    ])
    const v = agent({ name: 'v', description: 'Works.', model: scripted('worked') })
    const model = scripted(calls(['transfer_to_agent', { agent_name: 'v' }]), 'half', 'whole')
    const Sup = router({ name: 'Sup', model, workers: [v], isComplete: { scorers: [verdicts('s', 0, 1)] } })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'whole' })
  })

  test('what was refused, and why, is no part of what others are shown', async () => {
    const next = scripted('final')
    const A = agent({
      name: 'A',
      model: scripted('refused words', 'good words'),
      isComplete: { scorers: [verdicts('s', 0, 1)] },
    })
    const flow = sequential({ name: 'flow', agents: [A, agent({ name: 'B', model: next })] })
    await (await runtimeOf([flow])).run(flow, 'go')
    const shown = JSON.stringify(next.prompts[0])
    expect([shown.includes('good words'), shown.includes('refused words'), shown.includes('not accepted')]).toEqual([
      true,
      false,
      false,
    ])
  })
})

describe('options that make no sense', () => {
  const problems = (isComplete: unknown) =>
    agent({ name: 'A', model: () => 'x', isComplete: isComplete as Completion }).problems()
  test.each<[unknown, string | RegExp]>([
    [{ scorers: [] }, 'agent "A": isComplete.scorers is empty, expected a list of at least one scorer'],
    [{ scorer: [yes] }, /isComplete has no option "scorer": did you mean "scorers"/],
    [7, /isComplete is 7, expected an object/],
    [{ scorers: [() => 1] }, /isComplete.scorers\[0\] is a function without a name/],
    [{ scorers: ['x'] }, /isComplete.scorers\[0\] is the text "x", expected a function with a name/],
    [{ scorers: [{ name: 's' }] }, /isComplete.scorers\[0\].score is missing/],
    [{ scorers: [yes, yes] }, 'agent "A": isComplete: two scorers are called "yes"'],
    [{ scorers: [yes], strategy: 'most' }, /strategy is the text "most", expected "all" or "any"/],
    [{ scorers: [yes], parallel: 1 }, /parallel is 1/],
    [{ scorers: [yes], timeoutMs: 0 }, /timeoutMs is 0/],
    [{ scorers: [yes], onScored: true }, /onScored is true/],
  ])('%j', (given, says) => {
    expect(problems(given).map(problemText).join('\n')).toMatch(says)
  })

  test('a judge without criteria, or with options that it does not have', () => {
    expect(() => judge({ name: 'J', model: 'x/y', criteria: ' ' })).toThrow(
      /criteria is the text " ", expected a text or a list of texts/,
    )
    expect(() => judge({ name: 'J', model: 'x/y', criteria: [] })).toThrow(/criteria is a list/)
    expect(() => judge({ name: 'J', model: 'x/y', criteria: 'x', output: {} } as never)).toThrow(
      /has no option "output"/,
    )
  })
})
