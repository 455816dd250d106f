/** `onIterationComplete`: what is said after each turn, and what follows from it (spec delegation M10, 34, 37). */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Iteration, type IterationReply } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { router, sequential } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, pause, runtimeOf, scripted, store, told, waiting, type Scripted } from './team.ts'

const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
const lookAt = { ...calls(['look', {}]), text: 'looking' }
const roles = (prompt: readonly Message[] | undefined): string => (prompt ?? []).map(({ role }) => role[0]).join('')
const last = (prompt: readonly Message[] | undefined): Json => (prompt?.at(-1) ?? null) as unknown as Json
const said = (content: string): object => ({ role: 'user', content })

/** An agent whose hook says something after one turn, and nothing after the others. */
function hooked(model: Scripted, at: number, word: unknown, more: object = {}) {
  const told: Iteration[] = []
  const onIterationComplete = (iteration: Iteration): IterationReply | undefined => {
    told.push(iteration)
    return iteration.turn === at ? (word as IterationReply) : undefined
  }
  return { told, A: agent({ name: 'A', model, tools: [look], onIterationComplete, ...more }) }
}
const play = async (model: Scripted, at: number, word: unknown, more: object = {}) => {
  const { A, told } = hooked(model, at, word, more)
  const run = await (await runtimeOf([A])).start(A, 'go')
  return { outcome: await run.outcome(), told, events: await eventsOf(run) }
}

describe('what the hook is told', () => {
  test('each turn once, with what was called and what came of it, and whether it is the last', async () => {
    const model = scripted({ ...calls(['look', { at: 1 }, 'k1'], ['nope', {}, 'k2']), text: 'I look' }, 'the answer')
    const { A, told } = hooked(model, 0, undefined, { instructions: 'secret', limits: { turns: 7 } })
    const run = await (await runtimeOf([A])).start(A, 'go', { user: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'the answer' })
    const here = { agent: 'A', path: ['A'], run: run.id, maxTurns: 7, caller: { user: 'ann' } }
    expect(told).toMatchObject([
      {
        ...here,
        turn: 1,
        text: 'I look',
        calls: [
          { id: 'k1', name: 'look', input: { at: 1 } },
          { id: 'k2', name: 'nope', input: {} },
        ],
        results: [
          { callId: 'k1', name: 'look', content: 'seen' },
          { callId: 'k2', name: 'nope', isError: true },
        ],
        isFinal: false,
        finish: 'calls',
      },
      { ...here, turn: 2, text: 'the answer', calls: [], results: [], isFinal: true, finish: 'answer' },
    ])
    expect(roles(told[1]!.messages)).toBe('uatta')
    expect(JSON.stringify(told)).not.toContain('secret')
  })

  test('turns are counted per activation; a worker has its own', async () => {
    const turns: number[] = []
    const onIterationComplete = ({ turn }: Iteration): void => void turns.push(turn)
    const A = agent({ name: 'A', model: scripted('one', 'two'), onIterationComplete })
    const runtime = await runtimeOf([A])
    for (const session of ['s', 's']) await runtime.run(A, 'go', { session })
    expect(turns).toEqual([1, 1])
  })

  test('a step of each turn, run once: not again for a run that waits and goes on in another process', async () => {
    const turns: number[] = []
    const make = () =>
      agent({
        name: 'A',
        model: scripted((request) =>
          request.messages.length === 1 ? lookAt : request.messages.length === 3 ? calls(['gate', {}]) : 'done',
        ),
        tools: [look, tool({ name: 'gate', approval: true, execute: () => 'through' })],
        onIterationComplete: ({ turn }) => void turns.push(turn),
      })
    const file = store()
    const first = await runtimeOf([make()], { store: file })
    const run = await first.start('A', 'go')
    const { waiting: list } = await waiting(run)
    await first.close()
    const second = await runtimeOf([make()], { store: file })
    await second.decide({ approvalId: list[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await second.handle(run.id).outcome()).toMatchObject({ output: 'done' })
    expect(turns).toEqual([1, 2, 3])
  })
})

describe('a turn that called', () => {
  test.each([[undefined], [{}], [{ continue: true }], [{ feedback: '' }]])('%j: another turn', async (word) => {
    const model = scripted(lookAt, 'final')
    expect((await play(model, 1, word)).outcome).toMatchObject({ status: 'completed', output: 'final' })
    expect(roles(model.prompts[1])).toBe('uat')
  })

  test('delegation 34: {continue: false}: no further model call, and the outcome says so with what there was', async () => {
    const model = scripted(lookAt, 'never')
    const { outcome, told } = await play(model, 1, { continue: false })
    expect(outcome).toMatchObject({
      status: 'bailed',
      text: 'looking',
      message: 'onIterationComplete ended the work after turn 1',
    })
    expect(model.prompts).toHaveLength(1)
    expect(told).toMatchObject([{ isFinal: false, finish: 'calls' }])
  })

  test('{continue: false} without a word of the model: what the last calls have brought, never nothing', async () => {
    const model = scripted(calls(['look', {}], ['look', {}]), 'never')
    expect((await play(model, 1, { continue: false })).outcome).toMatchObject({ status: 'bailed', text: 'seen\nseen' })
  })

  test.each([[{ feedback: 'look closer' }], [{ feedback: 'look closer', continue: true }]])(
    '%j: told as a user, another turn',
    async (word) => {
      const model = scripted(lookAt, 'final')
      expect((await play(model, 1, word)).outcome).toMatchObject({ status: 'completed', output: 'final' })
      expect(roles(model.prompts[1])).toBe('uatu')
      expect(last(model.prompts[1])).toEqual(said('look closer'))
    },
  )

  test('{feedback, continue: false}: told, and one more turn, in which there is nothing to call', async () => {
    const model = scripted(lookAt, 'in short')
    const { outcome, told } = await play(model, 1, { feedback: 'come to an end', continue: false })
    expect(outcome).toMatchObject({ status: 'completed', output: 'in short' })
    expect(last(model.prompts[1])).toEqual(said('come to an end'))
    expect(model.tools.map((tools) => tools.length)).toEqual([1, 0])
    expect(told).toMatchObject([{ isFinal: false }, { isFinal: true, finish: 'answer' }])
  })

  test('{feedback, continue: false}: who calls all the same is refused, and that is the end', async () => {
    const ran: number[] = []
    const model = scripted(lookAt, { ...calls(['look', {}]), text: 'still looking' }, 'never')
    const tools = [tool({ name: 'look', execute: () => ran.push(1) })]
    const { outcome } = await play(model, 1, { feedback: 'end', continue: false }, { tools })
    expect(outcome).toMatchObject({ status: 'bailed', text: 'still looking' })
    expect([model.prompts.length, ran.length]).toEqual([2, 1])
  })
})

describe('an answer', () => {
  test.each([[undefined], [{}], [{ continue: false }], [null]])('%j: the end', async (word) => {
    const model = scripted('final', 'never')
    expect((await play(model, 1, word)).outcome).toMatchObject({ status: 'completed', output: 'final' })
    expect(model.prompts).toHaveLength(1)
  })

  test('{continue: true}: goes on, told so as a user, never after its own last words alone', async () => {
    const model = scripted('half', 'whole')
    expect((await play(model, 1, { continue: true })).outcome).toMatchObject({ status: 'completed', output: 'whole' })
    expect(roles(model.prompts[1])).toBe('uau')
  })

  test.each([[{ feedback: 'and the rest?' }], [{ feedback: 'and the rest?', continue: true }]])(
    '%j: told, another turn',
    async (word) => {
      const model = scripted('half', 'whole')
      expect((await play(model, 1, word)).outcome).toMatchObject({ status: 'completed', output: 'whole' })
      expect(last(model.prompts[1])).toEqual(said('and the rest?'))
      expect(model.tools[1]).toHaveLength(1)
    },
  )

  test('{feedback, continue: false}: the answer is the end, without another call for the note', async () => {
    const model = scripted('half', 'never')
    const { outcome } = await play(model, 1, { feedback: 'better', continue: false })
    expect(outcome).toMatchObject({ status: 'completed', output: 'half' })
    expect(model.prompts).toHaveLength(1)
  })

  test.each([
    [{ continue: true }],
    [{ feedback: 'more' }],
    [{ feedback: 'more', continue: true }],
    [{ feedback: 'more', continue: false }],
  ])('%j on the last turn: nothing is left, so the answer stands', async (word) => {
    const model = scripted('half', 'never')
    expect((await play(model, 1, word, { limits: { turns: 1 } })).outcome).toMatchObject({
      status: 'completed',
      output: 'half',
    })
    expect(model.prompts).toHaveLength(1)
  })

  test('always {continue: true}: it ends with the last answer, not at the limit', async () => {
    const model = scripted('one', 'two', 'three', 'four')
    const A = agent({ name: 'A', model, limits: { turns: 3 }, onIterationComplete: () => ({ continue: true }) })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ status: 'completed', output: 'three' })
  })

  test('the last turn called: feedback changes nothing, {continue: false} is still an end by the hook', async () => {
    const limits = { turns: 1 }
    expect((await play(scripted(lookAt), 1, { feedback: 'more' }, { limits })).outcome).toMatchObject({
      status: 'limited',
      partial: 'looking',
    })
    expect((await play(scripted(lookAt), 1, { feedback: 'more', continue: false }, { limits })).outcome).toMatchObject({
      status: 'bailed',
    })
  })
})

describe('a forward is an answer', () => {
  const forwarding = async (said: object, ...more: string[]) => {
    const w = agent({ name: 'w', description: 'Works.', model: scripted('word for word') })
    const model = scripted(delegates(['w', 'x']), calls(['forward_message', { worker: 'w' }]), ...more)
    const onIterationComplete = ({ turn }: Iteration) => (turn === 2 ? said : undefined)
    const boss = supervisor({ name: 'boss', model, workers: [w], onIterationComplete, limits: { ownTurns: 3 } })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const outcome = await run.outcome()
    const forwarded = (await eventsOf(run)).filter(({ type }) => type === 'output.forwarded')
    return { outcome, forwarded, shown: model.prompts[2] }
  }

  test.each([[{}], [{ continue: false }], [{ feedback: 'thanks', continue: false }]])(
    'that stands where the hook says %j',
    async (said) => {
      const { outcome, forwarded, shown } = await forwarding(said)
      expect(outcome).toMatchObject({ status: 'completed', output: 'word for word' })
      expect(forwarded).toHaveLength(1)
      expect(shown).toBeUndefined()
    },
  )

  test('a hook may ask for more after it: the model learns it was not accepted, and nothing was forwarded', async () => {
    const { outcome, forwarded, shown } = await forwarding({ feedback: 'in your own words' }, 'my words')
    expect(outcome).toMatchObject({ status: 'completed', output: 'my words' })
    expect(forwarded).toEqual([])
    expect(shown!.slice(-2)).toMatchObject([
      { role: 'tool', content: '[the output of "w" is not accepted as your answer]', isError: true },
      { role: 'user', content: 'in your own words' },
    ])
  })
})

describe('what has ended stays ended', () => {
  const word = { continue: true, feedback: 'no, go on' }

  test('a tool whose result is the answer', async () => {
    const model = scripted(calls(['end', {}]), 'never')
    const end = tool({ name: 'end', action: 'return', execute: () => 'by the tool' })
    const { outcome, told } = await play(model, 1, word, { tools: [end] })
    expect(outcome).toMatchObject({ status: 'completed', output: 'by the tool' })
    expect(told).toMatchObject([{ isFinal: true, finish: 'finished', results: [{ content: 'by the tool' }] }])
  })

  test('a transfer, told by the lead of a router; its workers have hooks of their own', async () => {
    const told: string[] = []
    const hook = ({ agent: who, turn, finish }: Iteration): void => void told.push(`${who} ${turn} ${finish}`)
    const w = agent({ name: 'w', description: 'Works.', model: scripted('worked'), onIterationComplete: hook })
    const model = scripted(calls(['transfer_to_agent', { agent_name: 'w' }]), 'final')
    const Sup = router({ name: 'Sup', model, workers: [w], onIterationComplete: hook })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'final' })
    expect(told).toEqual(['Sup 1 finished', 'w 1 answer', 'Sup 1 answer'])
  })

  test('an output that failed for good', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const { outcome, told } = await play(scripted('none'), 3, word, { output })
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'output.invalid' } })
    expect(told.map(({ isFinal }) => isFinal)).toEqual([false, false, true])
  })
})

describe('a hook that fails', () => {
  test('delegation 37: throws: the run is unaffected, and the journal has it', async () => {
    const model = scripted(lookAt, 'final')
    const onIterationComplete = ({ turn }: Iteration): undefined => {
      if (turn === 1) throw new Error('hook broke')
    }
    const A = agent({ name: 'A', model, tools: [look], onIterationComplete })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect((await eventsOf(run)).filter(({ type }) => type === 'hook.failed')).toMatchObject([
      {
        hook: 'onIterationComplete',
        failure: { code: 'hook.failed', message: 'onIterationComplete failed: hook broke' },
      },
    ])
    expect(roles(model.prompts[1])).toBe('uat')
  })

  test.each([
    ['a text', 'stop', /it returned the text "stop"; expected nothing or \{/],
    ['another name', { stop: true }, /its word has no option "stop"/],
    ['no truth value', { continue: 'no' }, /continue is the text "no", expected true or false/],
    ['no text', { feedback: 7 }, /feedback is 7, expected a text/],
    ['no JSON', { continue: () => false }, /cannot hold/],
  ])('a strange word has said nothing: %s', async (_what, word, why) => {
    const { outcome, events } = await play(scripted(lookAt, 'final'), 1, word)
    expect(outcome).toMatchObject({ status: 'completed', output: 'final' })
    expect(events.filter(({ type }) => type === 'hook.failed')).toMatchObject([
      { failure: { message: expect.stringMatching(why) as string } },
    ])
  })
})

describe('with everything else that stands around a turn', () => {
  test('an answer that a middleware rejects is a turn like any other; its text is not what there was', async () => {
    const middleware = [
      { name: 'guard', afterModel: ({ text }: { text: string }) => (text === 'bad' ? { again: 'not so' } : undefined) },
    ]
    const { outcome, told } = await play(scripted(lookAt, 'bad', 'good'), 2, { continue: false }, { middleware })
    expect(outcome).toMatchObject({ status: 'bailed', text: 'looking' })
    expect(told).toMatchObject([{ finish: 'calls' }, { finish: 'answer', text: 'bad', isFinal: false }])
    expect((await play(scripted('bad', 'good'), 1, { feedback: 'kindly' }, { middleware })).outcome).toMatchObject({
      output: 'good',
    })
  })

  test('a malformed answer is not final; the hook may end it, its feedback follows the correction', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const model = scripted('none', '{"n":1}')
    expect((await play(model, 1, { feedback: 'a number' }, { output })).outcome).toMatchObject({
      status: 'completed',
      output: { n: 1 },
    })
    expect(roles(model.prompts[1])).toBe('uauu')
    expect((await play(scripted('none'), 1, { continue: false }, { output })).outcome).toMatchObject({
      status: 'bailed',
      text: 'none',
    })
    const short = await play(scripted(lookAt, 'none'), 1, { feedback: 'end', continue: false }, { output })
    expect(short.outcome).toMatchObject({ status: 'bailed', text: 'none' })
  })

  test('the last turn that limits allow, kept for an answer', async () => {
    const model = scripted(lookAt, 'all I know')
    const { outcome } = await play(model, 2, { feedback: 'more' }, { lastAnswer: true, limits: { turns: 2 } })
    expect(outcome).toMatchObject({ status: 'completed', output: 'all I know' })
    expect(model.prompts).toHaveLength(2)
  })

  test('a worker that ends so is told to its leader as what it is', async () => {
    const w = agent({
      name: 'w',
      description: 'Works.',
      model: scripted(lookAt),
      tools: [look],
      onIterationComplete: () => ({ continue: false }),
    })
    const lead = scripted(delegates(['w', 'x']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [w] })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(/"w" was ended early: .*\nlooking/s)])
  })

  test('what it is given is its own: what it changes fails, and changes nothing', async () => {
    const model = scripted(lookAt, 'final')
    const onIterationComplete = ({ messages }: Iteration): undefined => {
      ;(messages as Message[]).length = 1
      ;(messages[0] as { content: string }).content = 'forged'
    }
    const A = agent({ name: 'A', model, tools: [look], onIterationComplete })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect((await eventsOf(run)).filter(({ type }) => type === 'hook.failed')).toHaveLength(2)
    expect(model.prompts[1]).toMatchObject([said('go'), { role: 'assistant' }, { role: 'tool' }])
  })

  test('during a wait for background work neither hook nor scorer runs; at the end both do, once', async () => {
    const hooked: number[] = []
    const measured: number[] = []
    const w = agent({ name: 'w', description: 'Works.', model: scripted(async () => (await pause(100), 'worked')) })
    const lead = scripted(delegates(['w', 'x']), 'I wait', 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [w],
      delegation: { background: ['w'] },
      onIterationComplete: ({ turn }) => void hooked.push(turn),
      isComplete: { scorers: [{ name: 's', score: ({ turn }) => (measured.push(turn), 1) }] },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
    expect([hooked, measured]).toEqual([[1, 3], [3]])
  })

  test('what a hook says is no part of what others are shown', async () => {
    const next = scripted('final')
    const { A } = hooked(scripted(lookAt, 'half', 'whole'), 2, { feedback: 'and the rest?' })
    const flow = sequential({ name: 'flow', agents: [A, agent({ name: 'B', model: next })] })
    await (await runtimeOf([flow])).run(flow, 'go')
    expect(JSON.stringify(next.prompts[0])).toContain('whole')
    expect(JSON.stringify(next.prompts[0])).not.toContain('and the rest')
  })

  test('what is no function is refused with everything else', () => {
    const A = agent({ name: 'A', model: scripted('x'), onIterationComplete: 'stop' as never })
    expect(A.problems()).toEqual(['agent "A": onIterationComplete is the text "stop", expected a function'])
  })
})
