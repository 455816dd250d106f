/**
 * Every prompt is one that strict providers take: results stand next to their calls, no message is without a word, and
 * nobody is asked to go on from its own last words.
 */
import { describe, expect, test } from 'vitest'
import { agent, loop, supervisor, tool, type Agent } from '@reeve/public'
import { ledger, reflect, roundtable } from '@reeve/public/team'
import type { Message } from '@reeve/model'
import { calls, delegates, pause, runtimeOf, scripted, told, type Scripted } from './team.ts'
import { worker } from './control.ts'

const isBlank = ({ content }: Message): boolean =>
  typeof content === 'string' ? content.trim() === '' : content === null

/** What a strict provider would refuse in a prompt. */
function refused(messages: readonly Message[]): string[] {
  const problems: string[] = []
  let open = new Set<string>()
  messages.forEach((message, i) => {
    const { role } = message
    if (role === 'tool' && !open.delete(message.callId)) problems.push(`${i}: a result without its call before it`)
    if (role !== 'tool' && open.size > 0) problems.push(`${i}: results are missing before it`)
    const says = role === 'assistant' && (message.calls ?? []).length > 0
    if (isBlank(message) && !says && role !== 'tool') problems.push(`${i}: ${role} without a word`)
    if (role === 'system' && i > 0) problems.push(`${i}: instructions in the middle`)
    if (role !== 'tool') open = new Set(role === 'assistant' ? (message.calls ?? []).map(({ id }) => id) : [])
  })
  const last = messages.at(-1)?.role
  return last === 'user' || last === 'tool' ? problems : [...problems, `it ends with ${last}`]
}

/** Runs it; all prompts of these models must be fine. */
async function played(root: Agent, ...models: readonly Scripted[]) {
  const outcome = await (await runtimeOf([root])).run(root, 'task')
  for (const { prompts } of models) for (const prompt of prompts) expect(refused(prompt)).toEqual([])
  return outcome
}
const isGood = { name: 'is_good', score: ({ text }: { readonly text: string }) => text === 'good' }
const turn = { role: 'user', content: 'It is your turn again. Go on from here.' }
const late = (name: string, ms: number): Agent =>
  agent({ name, description: 'Takes its time.', model: () => pause(ms).then(() => `${name} done`) })

describe('an answer without a word', () => {
  test('delegation 38: refused by a scorer, by a schema, by a hook or a middleware: it is not shown again', async () => {
    for (const empty of ['', ' \n']) {
      const model = scripted(empty, 'good')
      expect(await played(agent({ name: 'A', model, isComplete: { scorers: [isGood] } }), model)).toMatchObject({
        output: 'good',
      })
      expect(model.prompts[1]!.map(({ role }) => role)).toEqual(['user', 'user'])

      const json = scripted(empty, '{"n":1}')
      const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
      expect(await played(agent({ name: 'A', model: json, output }), json)).toMatchObject({ output: { n: 1 } })

      const going = scripted(empty, 'good')
      const onIterationComplete = ({ turn: n }: { readonly turn: number }) => ({ continue: n === 1 })
      expect(await played(agent({ name: 'A', model: going, onIterationComplete }), going)).toMatchObject({
        output: 'good',
      })

      const again = scripted('bad', 'good')
      const afterModel = ({ text }: { readonly text: string }) => (text === 'bad' ? { again: empty } : undefined)
      expect(
        await played(agent({ name: 'A', model: again, middleware: [{ name: 'm', afterModel }] }), again),
      ).toMatchObject({
        output: 'good',
      })
    }
  })

  test('delegation 68: while a worker runs in the background', async () => {
    const model = scripted(delegates(['w', 'x']), '', 'good')
    const boss = supervisor({ name: 'boss', model, workers: [late('w', 30)], delegation: { background: ['w'] } })
    expect(await played(boss, model)).toMatchObject({ output: 'good' })
    expect(told(model.prompts[2]!.slice(0, -1))).toEqual(['w done'])
  })

  test('it is left out of what goes on as a summary, too', async () => {
    const read = tool({ name: 'read', effect: 'read', execute: () => 'x'.repeat(400) })
    const model = scripted(calls(['read', {}]), calls(['read', {}]), '', calls(['read', {}]), 'good')
    const A = agent({
      name: 'A',
      model,
      tools: [read],
      compaction: { above: 150, keep: 1, summarize: () => 'notes' },
      isComplete: { scorers: [isGood] },
    })
    expect(await played(A, model)).toMatchObject({ output: 'good' })
  })
})

describe('who spoke last', () => {
  test('alone at a table, again in turn, by a function or by a ledger: is told that it is its turn', async () => {
    const look = JSON.stringify({
      is_request_satisfied: { reason: 'r', answer: false },
      is_in_loop: { reason: 'r', answer: false },
      is_progress_being_made: { reason: 'r', answer: true },
      next_speaker: { reason: 'r', answer: 'a' },
      instruction_or_question: { reason: 'r', answer: '' },
    })
    const speakers = ['round-robin', 'random', () => 'a', ledger({ model: () => look })] as const
    for (const speaker of speakers) {
      const a = scripted('a1', 'a2', 'a3')
      await played(roundtable({ name: 'table', agents: [worker('a', a)], speaker, maxRounds: 3 }), a)
      expect(a.prompts[2]!.slice(-2)).toEqual([{ role: 'assistant', content: 'a2' }, turn])
    }
  })

  test('in a loop, and in a reflection at a table; what it is told so is no part of what others are shown', async () => {
    const [a, b] = [scripted('a1', 'a2'), scripted('b1')]
    const twice = loop({ name: 'twice', agents: [worker('a', a)], maxIterations: 2 })
    const table = roundtable({ name: 'table', agents: [twice, worker('b', b)], speaker: 'round-robin', maxRounds: 2 })
    expect(await played(table, a, b)).toMatchObject({ output: 'b1' })
    expect(a.prompts[1]!.at(-1)).toEqual(turn)
    expect(JSON.stringify(b.prompts)).not.toContain(turn.content)

    const c = scripted('c1', 'c2', 'c3')
    const judge = ({ attempt }: { readonly attempt: number }) => attempt - 1
    const alone = roundtable({
      name: 'table',
      agents: [reflect(worker('c', c), { judge, memory: false })],
      speaker: 'random',
      maxRounds: 2,
    })
    await played(alone, c)
    expect(c.prompts).toHaveLength(4)
  })

  test('a task or foreign words are enough', async () => {
    const [a, b] = [scripted('a1', 'a2'), scripted('b1')]
    const speaker = ({ round }: { readonly round: number }) =>
      round === 2 ? { speaker: 'a', instruction: 'Once more.' } : round === 1 ? 'a' : 'b'
    await played(roundtable({ name: 'table', agents: [worker('a', a), worker('b', b)], speaker, maxRounds: 3 }), a, b)
    expect(JSON.stringify([a.prompts, b.prompts])).not.toContain(turn.content)
  })
})

describe('what ended while its leader did something else', () => {
  test('delegation 68: two whose calls a summary stands for: each result is told under its own name', async () => {
    const read = tool({ name: 'read', effect: 'read', execute: () => pause(30).then(() => 'x'.repeat(800)) })
    const model = scripted(
      delegates(['w', 'x'], ['v', 'y']),
      calls(['read', {}]),
      calls(['read', {}]),
      'early',
      'final',
    )
    const boss = supervisor({
      name: 'boss',
      model,
      tools: [read],
      workers: [late('w', 150), late('v', 150)],
      compaction: { above: 500, keep: 2, summarize: () => 'notes' },
      delegation: { background: { workers: 'all', react: 'all' } },
    })
    expect(await played(boss, model)).toMatchObject({ output: 'final' })
    expect(model.prompts.at(-1)!.at(-1)!.content).toBe(
      'Ended since you were last asked: d1 ("w", completed): w done; d2 ("v", completed): v done.',
    )
  })

  test('delegation 77, with lastAnswer: before its last turn a leader waits for background work, then answers', async () => {
    for (const whenDone of ['wait', 'stop'] as const) {
      const model = scripted(delegates(['w', 'x']), 'the answer', 'never')
      const delegation = { background: { workers: ['w'], whenDone } } as const
      const lead = supervisor({
        name: 'lead',
        description: 'Leads.',
        model,
        workers: [late('w', 50)],
        lastAnswer: true,
        delegation,
      })
      const top = scripted(calls(['delegate', { worker: 'lead', instructions: 'x', turns: 2 }]), 'final')
      await played(supervisor({ name: 'top', model: top, workers: [lead] }), top, model)
      expect(told(top.prompts[1])).toEqual(['the answer'])
      expect(model.prompts).toHaveLength(2)
      const result = model.prompts[1]!.find(({ role }) => role === 'tool')!.content
      expect(result).toMatch(whenDone === 'wait' ? /^w done$/ : /works in the background/)
    }
  })

  test('with lastAnswer: a hook that bails meanwhile ends it before its last turn', async () => {
    const model = scripted(delegates(['w', 'x']), 'never')
    const onComplete = () => ({ bail: { answer: 'enough' } })
    const lead = supervisor({
      name: 'lead',
      description: 'Leads.',
      model,
      workers: [late('w', 30)],
      lastAnswer: true,
      limits: { turns: 2 },
      delegation: { background: ['w'], onComplete },
    })
    expect(await played(lead, model)).toMatchObject({ status: 'bailed', text: 'enough' })
    expect(model.prompts).toHaveLength(1)
  })
})
