/**
 * What is said where control is handed on, over events made by hand: K1, spec collaboration 1.2, 1.3, 1.10, Appendix B.
 */
import { describe, expect, test } from 'vitest'
import {
  childActivation,
  completed,
  failed,
  failure,
  rootActivation,
  runId,
  withHandoff,
  type ActivationId,
  type Outcome,
} from '@reeve/core'
import { spokenOf, type JournalEvent, type Recorded } from '../src/index.ts'
import { bare, expectSameAtEveryCut } from './hearing.ts'

const run = runId('r1')
const root = rootActivation(run)
const [first, second, third] = ['a', 'b', 'c'].map((address) => childActivation(root, address)) as [
  ActivationId,
  ActivationId,
  ActivationId,
]

/** Events as an engine would write them down. */
function journal(...entries: readonly (readonly [ActivationId, JournalEvent])[]): Recorded[] {
  const events = entries.map(([activation, event], i) => ({
    position: i + 1,
    run,
    activation,
    seq: i,
    at: (i + 1) * 1000,
    event,
  }))
  expectSameAtEveryCut(events)
  return events
}

const started = (agent: string, path?: readonly string[]): JournalEvent => ({
  type: 'activation.started',
  agent,
  version: '1',
  input: null,
  ...(path === undefined ? {} : { path }),
})
const starts = (address: string, agent: string, callId?: string): JournalEvent => ({
  type: 'worker.started',
  op: 'worker',
  address,
  agent,
  ...(callId === undefined ? {} : { callId }),
})
const asks: JournalEvent = {
  type: 'model.requested',
  op: 'step',
  address: 'turn/model',
  effect: 'model',
  model: 'm',
  messages: 1,
}
const answers = (text: string, ...list: (readonly [name: string, id: string])[]): JournalEvent => ({
  type: 'step.settled',
  address: 'turn/model',
  outcome: completed({ text, calls: list.map(([name, id]) => ({ id, name, input: {} })), finish: 'stop', model: 'm' }),
})
const fact = { op: 'fact', address: 'f' } as const
const settles = (outcome: Outcome): JournalEvent => ({ type: 'activation.settled', outcome })
const workerEnds = (address: string, outcome: Outcome): JournalEvent => ({ type: 'worker.settled', address, outcome })
const hands = (
  from: string,
  path: readonly string[],
  to: string,
  whose: 'model' | 'code' | 'rule',
  callId: string,
): JournalEvent => ({
  type: 'agent.transferred',
  ...fact,
  from,
  path,
  to,
  by: whose,
  callId,
})

describe('what is said where control is handed on', () => {
  const told = (to: string) => `successfully transferred to agent [${to}]`

  test('collaboration 38: a model’s handover shows its own call; a rule’s shows a made pair, under the worker', () => {
    const handing = withHandoff(completed(''), {
      said: [],
      action: { type: 'transfer', to: 'W1', callId: 's1', path: ['Sup', 'Sup'] },
    })
    const events = journal(
      [root, started('Sup')],
      [root, starts('a', 'Sup')],
      [first, started('Sup', ['Sup', 'Sup'])],
      [first, asks],
      [first, answers('', ['transfer_to_agent', 's1'])],
      [first, settles(handing)],
      [root, workerEnds('a', handing)],
      [root, { ...hands('Sup', ['Sup', 'Sup'], 'W1', 'model', 's1'), task: 'look' } as JournalEvent],
      [root, starts('b', 'W1')],
      [second, started('W1', ['Sup', 'Sup', 'W1'])],
      [second, asks],
      [second, answers('w1 result')],
      [second, settles(completed('w1 result'))],
      [root, workerEnds('b', completed('w1 result'))],
      [root, hands('W1', ['Sup', 'Sup', 'W1'], 'Sup', 'rule', 'u1')],
      [root, starts('c', 'Sup')],
      [third, started('Sup', ['Sup', 'Sup', 'W1', 'Sup'])],
      [third, asks],
      [third, answers('final')],
      [third, settles(completed('final'))],
      [root, workerEnds('c', completed('final'))],
      [root, settles(completed('final'))],
    )
    const said = spokenOf(events)
    expect(said.map(bare)).toEqual([
      ['Sup/Sup', { type: 'assistant', text: '', calls: [{ id: 's1', name: 'transfer_to_agent', input: {} }] }],
      [
        'Sup/Sup',
        {
          type: 'tool',
          tool: 'transfer_to_agent',
          callId: 's1',
          content: told('W1'),
          action: { type: 'transfer', to: 'W1', task: 'look' },
        },
      ],
      ['Sup/Sup/W1', { type: 'assistant', text: 'w1 result' }],
      [
        'Sup/Sup/W1',
        { type: 'assistant', text: '', calls: [{ id: 'u1', name: 'transfer_to_agent', input: { agent_name: 'Sup' } }] },
      ],
      [
        'Sup/Sup/W1',
        {
          type: 'tool',
          tool: 'transfer_to_agent',
          callId: 'u1',
          content: told('Sup'),
          action: { type: 'transfer', to: 'Sup' },
        },
      ],
      ['Sup/Sup/W1/Sup', { type: 'assistant', text: 'final' }],
    ])
    expect(said.map(({ agent }) => agent)).toEqual(['Sup', 'Sup', 'W1', 'W1', 'W1', 'Sup'])
    expect(said.filter(({ activation }) => activation === root)).toHaveLength(3)
  })

  test('a tool that hands control on has a result of its own: only the action follows', () => {
    const handing = withHandoff(completed(''), {
      said: [],
      action: { type: 'transfer', to: 'W', callId: 'c1', path: ['R', 'A'] },
    })
    const said = spokenOf(
      journal(
        [root, started('R')],
        [root, starts('a', 'A')],
        [first, started('A', ['R', 'A'])],
        [first, asks],
        [first, answers('', ['route', 'c1'])],
        [
          first,
          { type: 'tool.called', op: 'step', address: 'turn/call/route', effect: 'read', tool: 'route', callId: 'c1' },
        ],
        [first, { type: 'step.settled', address: 'turn/call/route', outcome: completed('W is best') }],
        [first, settles(handing)],
        [root, hands('A', ['R', 'A'], 'W', 'model', 'c1')],
      ),
    )
    expect(said.slice(1).map(bare)).toEqual([
      ['R/A', { type: 'tool', tool: 'route', callId: 'c1', content: 'W is best' }],
      ['R/A', { type: 'action', action: { type: 'transfer', to: 'W' }, callId: 'c1' }],
    ])
  })

  test('the lead of a router, whose first turn is the activation that records it, too', () => {
    const routes = (callId: string): (readonly [ActivationId, JournalEvent])[] => [
      [root, started('R')],
      [root, asks],
      [root, answers('', ['route', 'c1'])],
      [
        root,
        { type: 'tool.called', op: 'step', address: 'turn/call/route', effect: 'read', tool: 'route', callId: 'c1' },
      ],
      [root, { type: 'step.settled', address: 'turn/call/route', outcome: completed('W is best') }],
      [root, hands('R', ['R'], 'W', 'model', callId)],
    ]
    const types = (callId: string) => spokenOf(journal(...routes(callId))).map(({ type }) => type)
    expect(types('c1')).toEqual(['assistant', 'tool', 'action'])
    expect(types('c2')).toEqual(['assistant', 'tool', 'tool'])
  })

  test('code that hands control on says its output first, and what it said before it only once', () => {
    const said = spokenOf(
      journal(
        [root, started('R')],
        [root, starts('a', 'code')],
        [first, started('code')],
        [first, { type: 'text.said', ...fact, text: 'let me see' }],
        [first, { type: 'text.said', ...fact, text: 'over to W' }],
        [first, settles(completed('over to W'))],
        [root, hands('code', ['R', 'code'], 'W', 'code', 'u1')],
      ),
    )
    expect(
      said.map(({ path, type, ...rest }) => [path.join('/'), type, 'text' in rest ? rest.text : undefined]),
    ).toEqual([
      ['R/code', 'assistant', 'let me see'],
      ['R/code', 'assistant', 'over to W'],
      ['R/code', 'assistant', ''],
      ['R/code', 'tool', undefined],
    ])
  })

  test('exits and breaks are actions of their caller, the end of the loop one of the loop', () => {
    const said = spokenOf(
      journal(
        [root, started('L')],
        [root, starts('a', 'A')],
        [first, started('A', ['L', 'A'])],
        [first, { type: 'break.requested', ...fact, callId: 'c1' }],
        [first, { type: 'exit.requested', ...fact, scope: 'supervisor' }],
        [first, settles(completed('bye'))],
        [root, workerEnds('a', completed('bye'))],
        [root, { type: 'loop.broken', ...fact, from: 'A', iteration: 2 }],
        [root, settles(completed('bye'))],
      ),
    )
    expect(said.map(bare)).toEqual([
      ['L/A', { type: 'action', action: { type: 'break' }, callId: 'c1' }],
      ['L/A', { type: 'action', action: { type: 'exit', scope: 'supervisor' } }],
      ['L/A', { type: 'assistant', text: 'bye' }],
      ['L', { type: 'action', action: { type: 'loop-broken', from: 'A', iteration: 2 } }],
    ])
  })

  test('work of an agent called as a tool is inner at any depth; the tool has the name of the call', () => {
    const inside = childActivation(first, 'x')
    const said = spokenOf(
      journal(
        [root, started('Outer')],
        [root, asks],
        [root, answers('', ['ask_inner', 'c1'])],
        [root, starts('a', 'Inner', 'c1')],
        [first, started('Inner')],
        [first, starts('x', 'Leaf')],
        [inside, started('Leaf')],
        [inside, settles(failed(failure('agent.failed', 'boom', 'internal')))],
        [first, hands('Leaf', ['Outer', 'Inner', 'Leaf'], 'Sub', 'rule', 'u1')],
        [first, settles(completed('in'))],
        [root, workerEnds('a', completed('in'))],
      ),
    )
    expect(said.map(({ agent, type, inner }) => [agent, type, inner ?? false])).toEqual([
      ['Outer', 'assistant', false],
      ['Leaf', 'error', true],
      ['Leaf', 'assistant', true],
      ['Leaf', 'tool', true],
      ['Inner', 'assistant', true],
      ['Outer', 'tool', false],
    ])
    expect(said.at(-1)).toMatchObject({ tool: 'ask_inner', callId: 'c1', content: 'in' })
  })

  test('a failure that a workflow passes on is the one of its worker', () => {
    const boom = failed(failure('agent.failed', 'boom', 'internal'))
    const said = spokenOf(
      journal(
        [root, started('S')],
        [root, starts('a', 'A')],
        [first, started('A', ['S', 'A'])],
        [first, settles(boom)],
        [root, workerEnds('a', withHandoff(boom, { said: [] }))],
        [
          root,
          settles(failed(failure('agent.failed', 'boom', 'internal', { details: { agent: 'A', path: ['S', 'A'] } }))),
        ],
      ),
    )
    expect(said.map(bare)).toEqual([
      ['S/A', { type: 'error', failure: boom.status === 'failed' ? boom.failure : undefined }],
    ])
  })

  test('pictures that a model made come with its answer', () => {
    const files = [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }]
    const answer = completed({ text: '', calls: [], files, finish: 'stop', model: 'm' })
    const said = spokenOf(
      journal(
        [root, started('A')],
        [root, asks],
        [root, { type: 'step.settled', address: 'turn/model', outcome: answer }],
      ),
    )
    expect(said.map(bare)).toEqual([['A', { type: 'assistant', text: '', files }]])
  })
})
