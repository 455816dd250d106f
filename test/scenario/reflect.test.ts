/** reflect(): an agent whose answers are judged, tried again, and remembered. */
import { describe, expect, test } from 'vitest'
import { agent, askSupervisor, breakLoop } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import { sequential } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { interrupt } from '@reeve/oversight'
import { reflect, supervisor, type Judged, type Lesson, type LessonMemory } from '@reeve/supervisor'
import { wordsInCommon } from '../../packages/supervisor/src/lesson-memory.ts'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, store, type Scripted } from './team.ts'

const worker = <const Name extends string>(name: Name, model: Scripted = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const contents = (prompt: readonly Message[] | undefined): Json[] => (prompt ?? []).map(({ content }) => content)
const systemOf = (prompt: readonly Message[] | undefined): string => {
  const [first] = prompt ?? []
  return first?.role === 'system' ? first.content : ''
}
/** A judge that gives these scores, one after the other. */
const scores = (...list: (number | boolean | { score: number; reason?: string })[]) => {
  const given: Judged[] = []
  const judge = (what: Judged) => list[Math.min(given.push(what), list.length) - 1]!
  return Object.assign(judge, { given })
}
/** A memory in a list. */
function remembering(...lessons: Lesson[]): LessonMemory & { readonly lessons: Lesson[] } {
  return { lessons, recall: () => lessons, save: (lesson) => void lessons.push(lesson) }
}

describe('attempts', () => {
  test('an answer that passes is the end; the judge is told what was asked and answered', async () => {
    const judge = scores(true)
    const careful = reflect(worker('writer'), { judge })
    const runtime = await runtimeOf([careful])
    const run = await runtime.start(careful, 'write')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'writer is done' })
    expect(judge.given).toEqual([
      { brief: 'write', output: 'writer is done', text: 'writer is done', attempt: 1, workers: [] },
    ])
    expect(careful.name).toBe('writer_reflected')
    expect((await run.view()).activations.map(({ path }) => path.join('/'))).toEqual([
      'writer_reflected',
      'writer_reflected/writer',
    ])
  })

  test('one that does not is tried again with what was said of it; the best is the answer, not the last', async () => {
    const model = scripted('one', 'two', 'three')
    const judge = scores({ score: 0.2, reason: 'too short' }, { score: 0.8, reason: 'almost' }, 0.5)
    const careful = reflect(worker('writer', model), { name: 'careful', judge, attempts: 3, passAt: 0.9 })
    const run = await (await runtimeOf([careful])).start(careful, 'write')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'two' })
    expect(contents(model.prompts[0])).toEqual(['write'])
    expect(contents(model.prompts[1])).toEqual([
      'write',
      'one',
      expect.stringMatching(/scored 0.2; 0.9 is required.*too short/) as string,
    ])
    expect(contents(model.prompts[2])).toEqual(['write', 'two', expect.stringMatching(/almost/) as string])
    expect((await eventsOf(run)).filter((event) => event.type === 'completion.scored')).toMatchObject([
      { turn: 1, passed: false, results: [{ score: 0.2, reason: 'too short' }] },
      { turn: 2, passed: false },
      { turn: 3, passed: false },
    ])
  })

  test('a score of passAt passes; without an option only 1 does, and there are two attempts', async () => {
    const model = scripted('one', 'two', 'three')
    expect(
      await (await runtimeOf([reflect(worker('w', model), { judge: scores(0.9) })])).run('w_reflected', 'x'),
    ).toMatchObject({
      output: 'two',
    })
    expect(model.prompts).toHaveLength(2)
    const once = scripted('one')
    await (await runtimeOf([reflect(worker('w', once), { judge: scores(0.9), passAt: 0.9 })])).run('w_reflected', 'x')
    expect(once.prompts).toHaveLength(1)
  })

  test('an attempt that fails or answers nothing counts as nothing, and no nothing is ever the answer', async () => {
    const model = scripted('', new FailureError(failure('model.failed', 'down', 'internal')), 'three')
    const judge = scores(0.1)
    const careful = reflect(agent({ name: 'w', model, retry: { attempts: 1 } }), { judge, attempts: 3 })
    expect(await (await runtimeOf([careful])).run(careful, 'x')).toMatchObject({ status: 'completed', output: 'three' })
    expect(contents(model.prompts[1])).toEqual(
      ['x', '', expect.stringContaining('the answer was empty')].filter((each) => each !== ''),
    )
    expect(contents(model.prompts[2]).at(-1)).toMatch(/attempt failed.*its model could not answer/)
    expect(judge.given.map(({ attempt }) => attempt)).toEqual([3])
    const empty = reflect(worker('w', scripted('')), { judge: scores(1) })
    expect(await (await runtimeOf([empty])).run(empty, 'x')).toMatchObject({
      status: 'failed',
      failure: { code: 'output.invalid' },
    })
  })

  test('what would fail again is not tried again, and other ends are what they are', async () => {
    const refused = scripted(fatal('bad'))
    expect(
      await (await runtimeOf([reflect(worker('w', refused), { judge: scores(0) })])).run('w_reflected', 'x'),
    ).toMatchObject({
      status: 'failed',
    })
    expect(refused.prompts).toHaveLength(1)
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w', 'x'])),
      workers: [worker('w')],
      delegation: { onComplete: () => ({ bail: { answer: 'enough' } }) },
    })
    expect(await (await runtimeOf([reflect(boss, { judge: scores(0) })])).run('boss_reflected', 'x')).toMatchObject({
      status: 'bailed',
      text: 'enough',
    })
  })

  test('a judge that fails or says something strange has said nothing: the answer stands', async () => {
    for (const judge of [
      () => Promise.reject(new Error('no')),
      () => ({ grade: 'A' }) as never,
      () => undefined as never,
    ]) {
      const run = await (await runtimeOf([reflect(worker('w'), { judge })])).start('w_reflected', 'x')
      expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'w is done' })
      expect(
        (await eventsOf(run)).filter(({ type }) => type === 'completion.scored' || type === 'hook.failed'),
      ).toMatchObject([{ type: 'hook.failed', hook: 'judge' }])
    }
    const wordless = worker('critic', scripted('I cannot say'))
    const run = await (await runtimeOf([reflect(worker('w'), { judge: wordless })])).start('w_reflected', 'x')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'w is done' })
    expect((await eventsOf(run)).find(({ type }) => type === 'hook.failed')).toMatchObject({
      hook: 'judge',
      worker: 'critic',
    })
  })

  test('a judge may be an agent: a worker whose usage counts, with an answer as text or as an object', async () => {
    const model = scripted('one', 'two', 'three')
    const used = { input: 5, output: 2 }
    const critic = scripted(
      { text: '```json\n{"score": 0.3, "reason": "no sources"}\n```', usage: used },
      { text: 'true', usage: used },
    )
    const careful = reflect(worker('writer', model), { judge: worker('critic', critic) })
    const run = await (await runtimeOf([careful])).start(careful, 'write')
    expect(await run.outcome()).toMatchObject({ output: 'two' })
    expect(contents(critic.prompts[0])[0]).toMatch(
      /The task:\n<(task-\w+)>\nwrite\n<\/\1>\n\nThe answer to be judged:\n<(answer-\w+)>\none\n<\/\2>$/,
    )
    expect(contents(model.prompts[1]).at(-1)).toContain('no sources')
    expect(await run.usage()).toContainEqual(expect.objectContaining({ agent: 'critic', input: 10, output: 4 }))
    const typed = agent({
      name: 'typed',
      input: { type: 'object', properties: { brief: { type: 'string' }, output: {} }, required: ['brief', 'output'] },
      output: {
        type: 'object',
        properties: { score: { type: 'number' }, reason: { type: 'string' } },
        required: ['score'],
      },
      run: (_ctx, given) => ({ score: (given as { output: string }).output === 'three' ? 1 : 0 }),
    })
    expect(
      await (await runtimeOf([reflect(worker('writer', model), { judge: typed })])).run('writer_reflected', 'write'),
    ).toMatchObject({
      output: 'three',
    })
  })

  test('options that make no sense are refused together', () => {
    const wrong = { judge: 'x', attempts: 0, passAt: 0, memory: {}, similarity: 1, attemps: 3, name: '1' } as never
    const message =
      /did you mean "attempts"[^]*name is the text "1"[^]*judge is[^]*attempts is 0[^]*passAt is 0[^]*memory is an object[^]*similarity is 1/
    expect(() => reflect(worker('w'), wrong)).toThrow(
      expect.objectContaining({ code: 'team.invalid', message: expect.stringMatching(message) as string }),
    )
    expect(() => reflect('w' as never, { judge: () => 1 })).toThrow(/reflect\(\) wraps the text "w"/)
  })
})

describe('lessons', () => {
  test('a second run is told how workers did for requests like it, in another session and another process', async () => {
    const lead = scripted(
      delegates(['intern', 'do it']),
      'first',
      delegates(['writer', 'do it']),
      'second', //
      delegates(['writer', 'do it']),
      'third',
      'fourth',
    )
    const make = () =>
      reflect(supervisor({ name: 'boss', model: lead, workers: [worker('intern'), worker('writer')] }), {
        judge: ({ workers }) =>
          workers.includes('writer') ? { score: 0.9, reason: 'good' } : { score: 0.2, reason: 'thin' },
        passAt: 0.9,
      })
    const before = await runtimeOf([make()], { store: store() })
    expect(await before.run('boss_reflected', 'Write a report on cats', { session: 'one' })).toMatchObject({
      output: 'second',
    })
    expect(systemOf(lead.prompts[0])).not.toContain('Scores of earlier answers to requests like this')
    await before.close()
    const after = await runtimeOf([make()], { store: store() })
    expect(await after.run('boss_reflected', 'Write a report on dogs', { session: 'two' })).toMatchObject({
      output: 'third',
    })
    expect(systemOf(lead.prompts[4])).toMatch(
      /Scores of earlier answers to requests like this.*\n- writer did well \(0\.9, once\)\n- intern did badly \(0\.2, once\)/,
    )
    expect(contents(lead.prompts[4]).at(-1)).toMatch(/earlier answers to requests like this:\n- thin/)
    // what is not like it is told nothing
    await after.run('boss_reflected', 'Translate something into French')
    expect(systemOf(lead.prompts[6])).not.toContain('Scores of earlier answers to requests like this')
  })

  test('memory of one user never reaches another', async () => {
    const lead = scripted(delegates(['w', 'do it']), 'first', 'second', 'third')
    const boss = reflect(supervisor({ name: 'boss', model: lead, workers: [worker('w')] }), { judge: () => 1 })
    const runtime = await runtimeOf([boss])
    for (const user of ['ann', 'bob', 'ann']) await runtime.run(boss, 'the same', { user })
    expect([1, 2, 3].map((n) => systemOf(lead.prompts[n]).includes('- w did well (1, once)'))).toEqual([
      false,
      false,
      true,
    ])
  })

  test('a custom memory is asked and told once per attempt; typed verbs and code leaders work', async () => {
    const memory = remembering(
      { intent: 'a', workers: ['w', 'gone'], score: 0.5 },
      { intent: 'a', workers: ['w'], score: 1 },
    )
    const typed = agent({ name: 't', description: 'Typed.', input: { type: 'object' }, model: scripted('t is done') })
    const lead = scripted(
      calls(
        ['assign', { worker: 'w', instructions: 'x' }],
        ['assign_t', {}],
        ['assign', { worker: 'nobody', instructions: 'x' }],
      ),
      'final',
    )
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w'), typed], verbs: { delegate: 'assign' } })
    const careful = reflect(boss, { judge: () => ({ score: 1, reason: 'fine' }), memory })
    await (await runtimeOf([careful])).run(careful, 'x'.repeat(400))
    expect(systemOf(lead.prompts[0])).toContain('- w did well (0.75, 2 times)')
    expect(systemOf(lead.prompts[0])).not.toContain('gone')
    expect(memory.lessons.slice(2)).toEqual([
      { intent: `${'x'.repeat(299)}…`, workers: ['w', 't'], score: 1, reason: 'fine' },
    ])
    const code = supervisor({
      name: 'coded',
      workers: [worker('w')],
      run: async (_ctx, _brief, team) => (await team.delegate('w', 'x')).text,
    })
    await (await runtimeOf([reflect(code, { judge: () => 1, memory })])).run('coded_reflected', 'y')
    expect(memory.lessons.at(-1)).toEqual({ intent: 'y', workers: ['w'], score: 1 })
  })

  test('a memory that fails is a fact, and the work goes on; without one nothing is learned', async () => {
    const broken: LessonMemory = {
      recall: () => Promise.reject(new Error('gone')),
      save: () => Promise.reject(new Error('full')),
    }
    const run = await (
      await runtimeOf([reflect(worker('w'), { judge: () => 1, memory: broken })])
    ).start('w_reflected', 'x')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'w is done' })
    expect((await eventsOf(run)).flatMap((event) => (event.type === 'hook.failed' ? [event.hook] : []))).toEqual([
      'memory.recall',
      'memory.save',
    ])
    const strange: LessonMemory = { recall: () => [{ text: 'x' }] as never, save: () => undefined }
    const other = await (
      await runtimeOf([reflect(worker('w'), { judge: () => 1, memory: strange })])
    ).start('w_reflected', 'x')
    expect(await other.outcome()).toMatchObject({ output: 'w is done' })
    expect((await eventsOf(other)).find(({ type }) => type === 'hook.failed')).toMatchObject({ hook: 'memory.recall' })
    const none = await (
      await runtimeOf([reflect(worker('w'), { judge: () => 1, memory: false })])
    ).start('w_reflected', 'x')
    await none.outcome()
    expect((await eventsOf(none)).filter((event) => event.type === 'step.begun')).toHaveLength(1)
  })

  test('likeness may be measured otherwise, and asynchronously; what fails at it recalls nothing', async () => {
    const lead = scripted(delegates(['w', 'x']), 'one', 'two', 'three')
    const boss = (similarity: () => number | Promise<number>) =>
      reflect(supervisor({ name: 'boss', model: lead, workers: [worker('w')] }), { judge: () => 1, similarity })
    const first = await runtimeOf([boss(() => Promise.resolve(1))], { store: store() })
    await first.run('boss_reflected', 'one thing')
    await first.run('boss_reflected', 'another matter')
    expect(systemOf(lead.prompts[2])).toContain('- w did well (1, once)')
    await first.close()
    const second = await runtimeOf([boss(() => Promise.reject(new Error('no')))], { store: store() })
    const run = await second.start('boss_reflected', 'one thing')
    expect(await run.outcome()).toMatchObject({ output: 'three' })
    expect(systemOf(lead.prompts[3])).not.toContain('did well')
    expect((await eventsOf(run)).find(({ type }) => type === 'hook.failed')).toMatchObject({ hook: 'similarity' })
  })

  test('the words that two requests have in common: the same both ways, none for nothing', () => {
    expect(wordsInCommon('Write a report on cats', 'write a REPORT on dogs!')).toBeCloseTo(0.8)
    expect(wordsInCommon('a b', 'b a')).toBe(1)
    expect([wordsInCommon('', 'a'), wordsInCommon('a', 'b'), wordsInCommon('...', '...')]).toEqual([0, 0, 0])
  })
})

describe('where it stands', () => {
  test('as a worker it gets the brief and what crosses, and its leader sees its answer', async () => {
    const model = scripted('one', 'two')
    const careful = reflect(worker('writer', model), { judge: scores(0, 1), description: 'Writes with care.' })
    const boss = supervisor({
      name: 'boss',
      instructions: 'Secret.',
      model: scripted(delegates(['writer_reflected', 'write']), 'final'),
      workers: [careful],
      delegation: {
        context: 'conversation',
        onStart: () => ({ instructions: 'Be brief.', turns: 5 }),
        results: 'full',
      },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
    expect(contents(model.prompts[1])).toEqual(['Be brief.', 'go', 'write', 'one', expect.stringContaining('scored 0')])
  })

  test('in a flow it is shown the conversation, and those after it what it answered', async () => {
    const last = scripted('final')
    const model = scripted('one', 'two')
    const line = sequential({
      name: 'line',
      agents: [worker('first'), reflect(worker('writer', model), { judge: scores(0, 1) }), worker('last', last)],
    })
    expect(await (await runtimeOf([line])).run(line, 'go')).toMatchObject({ output: 'final' })
    expect(contents(model.prompts[0])).toEqual(['go', 'For context: [first] said: first is done.'])
    expect(contents(last.prompts[0])).toEqual([
      'go',
      expect.stringContaining('first is done'),
      'For context: [writer] said: two.',
    ])
  })

  test('as the base of a supervisor it goes on reflecting: whom it wraps leads the team', async () => {
    const lead = scripted(delegates(['w', 'x']), 'one', delegates(['w', 'y']), 'two')
    const judge = scores(0.5, 1)
    const base = reflect(agent({ name: 'thinker', description: 'Thinks.', instructions: 'Think.', model: lead }), {
      judge,
    })
    const boss = supervisor({ name: 'boss', description: 'Leads.', base, workers: [worker('w')], outputKey: 'best' })
    expect(boss.team()).toEqual(['w'])
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'two' })
    expect((await run.view()).activations.map(({ path }) => path.join('/'))).toEqual([
      'boss',
      'boss/boss_lead',
      'boss/boss_lead/w',
      'boss/boss_lead',
      'boss/boss_lead/w', //
    ])
    expect(systemOf(lead.prompts[0])).toMatch(/^Think\.\n\nYou lead a team/)
    expect(judge.given.map(({ workers }) => workers)).toEqual([['w'], ['w']])
    boss.add(worker('v'))
    expect(boss.team()).toEqual(['w', 'v'])
    expect(boss.remove('w')?.name).toBe('w')
    await runtime.run(boss, 'again')
    expect(systemOf(lead.prompts.at(-1))).toContain('- v: Does what v does.')
  })

  test('the wrapped agent may ask its leader; the operator may stop an attempt', async () => {
    const asker = agent({
      name: 'asker',
      description: 'Asks.',
      run: async (ctx) => (await askSupervisor(ctx, 'which?')).text,
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['asker_reflected', 'x']), 'final'),
      workers: [reflect(asker, { judge: ({ text }) => text === 'the red one' })],
      delegation: {
        questions: { onQuestion: () => 'the red one' },
        onComplete: ({ text }) => ({ bail: { answer: text } }),
      },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ status: 'bailed', text: 'the red one' })
    const waits = reflect(agent({ name: 'waits', run: async (ctx) => (await interrupt(ctx, 'now?')) as string }), {
      judge: () => 1,
    })
    const run = await (await runtimeOf([waits])).start(waits, 'go')
    await run.until('waiting')
    const { activations } = await run.view()
    await run.control.stop({ delegation: activations.at(-1)!.activation, reason: 'enough' })
    expect(await run.outcome()).toMatchObject({
      status: 'cancelled',
      reason: expect.stringContaining('enough') as string,
    })
  })

  test('a supervisor may be what it wraps, twice around too', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w', 'x']), 'one', delegates(['w', 'x']), 'two', 'three'),
      workers: [worker('w')],
    })
    const memory = remembering()
    const twice = reflect(reflect(boss, { judge: scores(0, 1), memory: false }), {
      name: 'outer',
      judge: scores(1),
      memory,
    })
    expect(await (await runtimeOf([twice])).run(twice, 'x')).toMatchObject({ output: 'two' })
    expect(memory.lessons).toEqual([{ intent: 'x', workers: ['w'], score: 1 }])
  })

  test('code that is wrapped reads what was said of its answer in its history', async () => {
    const poet = agent({
      name: 'poet',
      run: (_ctx, brief, talk) =>
        talk.history.length === 1 ? `${brief}!` : breakLoop(`${talk.history.length} things were said`),
    })
    const careful = reflect(poet, { judge: scores({ score: 0, reason: 'too loud' }, 1) })
    expect(await (await runtimeOf([careful])).run(careful, 'sing')).toMatchObject({ output: '3 things were said' })
  })
})
