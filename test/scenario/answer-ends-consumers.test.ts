/** Nobody believes an answer that its model did not end, whoever asked for it. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, askSupervisor, delegate, judge, type Agent, type CodeAgentOptions } from '@reeve/agent'
import { asTool, parallel, router, sequential } from '@reeve/flow'
import type { FinishReason, ModelAnswerInput, ModelRequest } from '@reeve/model'
import { ledger, roundtable } from '@reeve/public/team'
import { registerAgents } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { verifyJournal } from '@reeve/testing'
import type { Recorded } from '@reeve/journal'
import { xfer } from './control.ts'
import { calls, delegates, runtimeOf, scripted, told, type Scripted } from './team.ts'

/** What stands in an answer that is not whole, and must not be taken for one. */
const mark = 'TRANSFER-9000'
const ends = {
  length: 'model.length',
  refusal: 'model.refused',
  'content-filter': 'model.filtered',
  'prompt-blocked': 'model.prompt-blocked',
  'context-full': 'model.context-full',
  paused: 'model.paused',
} as const satisfies { readonly [finish in FinishReason]?: string }
type End = keyof typeof ends

const modelAgent = (name: string, model: Scripted, more: object = {}) =>
  agent({ name, description: `Does what ${name} does.`, model, retry: { attempts: 1 }, ...more })

/** One consumer of answers. */
interface Consumer {
  /** What is answered, but for why it ended: it would be believed if it were whole. */
  readonly text: string
  readonly make: (half: Scripted) => { readonly root: Agent; readonly reader?: Scripted }
  /** How the work ends. `code`: it fails with that of the end. `plan.failed`: with that, and the end is its reason. */
  readonly ends: 'code' | 'plan.failed' | 'completed' | 'limited'
  /** The same for a pause without end, where the few turns of a question end before it. Default: the same. */
  readonly pauseEnds?: 'completed' | 'limited'
  /** What the next model in line must be told, or the output; default: it says nothing of the mark. */
  readonly reads?: RegExp
}

const done = (): Scripted => scripted('done')
const consumers: { readonly [name: string]: Consumer } = {
  'an agent': { text: mark, make: (half) => ({ root: modelAgent('A', half) }), ends: 'code' },
  'an agent with typed output': {
    text: JSON.stringify({ pay: mark }),
    make: (half) => ({ root: modelAgent('A', half, { output: z.object({ pay: z.string() }) }) }),
    ends: 'code',
  },
  'the leader of a worker': {
    text: mark,
    make(half) {
      const reader = scripted(delegates(['w', 'x']), 'ok')
      return { root: supervisor({ name: 'boss', model: reader, workers: [modelAgent('w', half)] }), reader }
    },
    ends: 'completed',
    reads: /^\[worker "w" failed: .*\]\nIts answer so far:\n(?:TRANSFER-9000)+$/,
  },
  'a leader that forwards word for word': {
    text: mark,
    make(half) {
      const reader = scripted(delegates(['w', 'x']), calls(['forward_message', { worker: 'w' }]), 'not forwarded')
      return { root: supervisor({ name: 'boss', model: reader, workers: [modelAgent('w', half)] }), reader }
    },
    ends: 'completed',
  },
  'a leader itself': {
    text: mark,
    make: (half) => ({ root: supervisor({ name: 'boss', model: half, workers: [modelAgent('w', done())] }) }),
    ends: 'code',
  },
  'code that delegates': {
    text: mark,
    make(half) {
      const w = modelAgent('w', half)
      const run: CodeAgentOptions<string, undefined, undefined, unknown>['run'] = async (ctx) => {
        const outcome = await delegate(ctx, w, 'x')
        return outcome.status === 'completed' ? outcome.output : outcome.status
      }
      return { root: agent({ name: 'code', workers: [w], run }) }
    },
    ends: 'completed',
  },
  'an agent as a tool': {
    text: mark,
    make(half) {
      const reader = scripted(calls(['w', { request: 'x' }]), 'ok')
      return { root: modelAgent('outer', reader, { tools: [asTool(modelAgent('w', half))] }), reader }
    },
    ends: 'completed',
    reads: /failed: .*\]\nIts answer so far:\n(?:TRANSFER-9000)+$/,
  },
  'the next member of a sequence': {
    text: mark,
    make(half) {
      const reader = done()
      return { root: sequential({ name: 'flow', agents: [modelAgent('w', half), modelAgent('v', reader)] }), reader }
    },
    ends: 'code',
  },
  'a member beside others': {
    text: mark,
    make: (half) => ({ root: parallel({ name: 'flow', agents: [modelAgent('w', half), modelAgent('v', done())] }) }),
    ends: 'code',
  },
  'the lead of a router': {
    text: mark,
    make(half) {
      const reader = scripted(xfer('w'), 'ok')
      return { root: router({ name: 'R', model: reader, workers: [modelAgent('w', half)] }), reader }
    },
    ends: 'completed',
    reads: /failed: .*\]\nIts answer so far:\n(?:TRANSFER-9000)+$/,
  },
  'a plan': {
    text: JSON.stringify({ subtasks: [{ id: 'a', description: mark }] }),
    make: (half) => ({
      root: team({
        name: 'T',
        roles: { generalist: modelAgent('w', done()) },
        planner: { model: half },
        retry: { attempts: 1 },
      }),
    }),
    ends: 'plan.failed',
  },
  'a synthesis, which the results replace': {
    text: mark,
    make: (half) => ({
      root: team({
        name: 'T',
        roles: { generalist: modelAgent('w', scripted('one', 'two')) },
        planner: { subtasks: ['a', 'b'].map((id) => ({ id, description: `Do ${id}` })) },
        synthesize: { model: half },
      }),
    }),
    ends: 'completed',
  },
  'the choice of a speaker': {
    text: JSON.stringify({ speaker: 'b', instruction: mark }),
    make(half) {
      const reader = done()
      const agents = [modelAgent('a', reader), modelAgent('b', reader)]
      return { root: roundtable({ name: 'table', agents, speaker: 'auto', model: half, maxRounds: 1 }), reader }
    },
    ends: 'code',
    pauseEnds: 'completed',
  },
  'a ledger': {
    text: mark,
    make(half) {
      const reader = done()
      const agents = [modelAgent('a', reader), modelAgent('b', reader)]
      return { root: roundtable({ name: 'table', agents, speaker: ledger({ model: half }), maxRounds: 1 }), reader }
    },
    ends: 'code',
    pauseEnds: 'limited',
  },
  'the answer of a leader to its worker’s question': {
    text: mark,
    make(half) {
      const w = agent({
        name: 'w',
        description: 'Asks.',
        run: async (ctx) => {
          const { answered, text } = await askSupervisor(ctx, 'where to?')
          return answered ? `pay ${text}` : 'not answered'
        },
      })
      const reader = scripted(
        delegates(['w', 'x']),
        ...Array.from(
          { length: 20 },
          () => (request: ModelRequest) =>
            request.messages.some(({ role }) => role === 'tool')
              ? JSON.stringify(request.messages.filter(({ role }) => role === 'tool'))
              : half(request),
        ),
      )
      return { root: supervisor({ name: 'boss', model: reader, workers: [w], delegation: { questions: true } }) }
    },
    ends: 'completed',
  },
  'a verdict on whether the work is complete': {
    text: JSON.stringify({ score: 1, reason: mark }),
    make: (half) => ({
      root: modelAgent('A', scripted('an answer'), {
        isComplete: { scorers: [judge({ name: 'J', model: half, criteria: 'is fine' })] },
        limits: { turns: 2 },
      }),
    }),
    ends: 'limited',
  },
}

async function play(consumer: Consumer, finish: End) {
  const half = scripted((): ModelAnswerInput => ({ text: consumer.text, finish }))
  const { root, reader } = consumer.make(half)
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root.name, 'go')
  const outcome = await run.outcome()
  const recorded: Recorded[] = []
  for await (const event of run.events()) recorded.push(event)
  const { problems } = await verifyJournal(recorded, registerAgents([root], [], 'move'))
  return { outcome, reader, asked: half.prompts.length, problems }
}

describe.each(Object.entries(consumers))('%s', (_name, consumer) => {
  test.each(Object.keys(ends) as End[])('does not believe an answer that ended by: %s', async (finish) => {
    const { outcome, reader, asked, problems } = await play(consumer, finish)
    expect(asked).toBeGreaterThan(0)
    const due = (finish === 'paused' ? consumer.pauseEnds : undefined) ?? consumer.ends
    const code = due === 'code' ? ends[finish] : due
    expect(outcome).toMatchObject(
      due === 'completed' || due === 'limited' ? { status: due } : { status: 'failed', failure: { code } },
    )
    expect(JSON.stringify(outcome.status === 'completed' ? outcome.output : '')).not.toContain(mark)
    const prompt = reader?.prompts.at(-1)
    const read = told(reader?.prompts[1])[0] ?? prompt?.at(-1)?.content ?? ''
    expect(read).toMatch(consumer.reads ?? /^/)
    expect(
      consumer.reads === undefined && !consumer.text.startsWith(mark) ? JSON.stringify(prompt ?? '') : '',
    ).not.toContain(mark)
    expect(problems).toEqual([])
  })
})
