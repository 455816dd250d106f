/**
 * Runs whose delegations are looked at by hooks, refer to results and carry metadata, with their process dying at every
 * point where it can; and replayed without an engine.
 */
import { describe } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { cancelled, completed, type Json, type Outcome } from '@reeve/core'
import type { Runtime } from '@reeve/runtime'
import { supervisor, type DelegationHooks } from '@reeve/supervisor'
import { scripted, teamScenario, type Scenario, type ScriptLine, type TeamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const approve = async (runtime: Runtime): Promise<void> => {
  for (const { id } of await runtime.questions())
    await runtime.decide({ approvalId: id, decision: 'approve' }).catch(() => undefined) // the person before the crash was faster
}
const cancel = async (runtime: Runtime): Promise<void> => {
  if ((await runtime.questions()).length === 2)
    await runtime
      .handle('simulated')
      .control.cancel('enough')
      .catch(() => undefined)
}

const call = (name: string, input: Json) => ({ name, input })
const gives = (...list: readonly (readonly [worker: string, instructions: string, refs?: Json])[]) => ({
  calls: list.map(([name, instructions, refs]) =>
    call('delegate', { worker: name, instructions, ...(refs === undefined ? {} : { refs }) }),
  ),
})
const modelAgent = (name: string, ...script: readonly ScriptLine[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })
const pay = tool({
  name: 'pay',
  approval: true,
  effect: 'read',
  execute: (_input, io) => ({ paid: true, for: (io.caller.metadata ?? null) as Json }),
})
const slow = tool({
  name: 'slow',
  effect: 'read',
  execute: (_input, io) =>
    new Promise((_resolve, reject) => io.signal.addEventListener('abort', () => reject(new Error('aborted')))),
})
const payer = (name: string): Agent =>
  agent({
    name,
    description: 'Pays.',
    tools: [pay],
    model: scripted({ calls: [call('pay', {})] }, ({ messages }) => JSON.stringify(messages.at(-1)!.content)),
  })

const scenario = (name: string, root: Agent, more: Partial<TeamScenario> = {}): Scenario =>
  teamScenario({ name, agents: [root], input: 'task', outside: approve, ...more })

const everyHook: DelegationHooks = {
  onStart: ({ worker, prompt }) =>
    worker === 'rejected'
      ? { proceed: false, reason: 'no' }
      : { prompt: `${prompt}!`, instructions: 'Be brief.', turns: 3, metadata: { desk: worker } },
  filterMessages: ({ messages }) => messages.slice(-1),
  onComplete: ({ worker, text }) =>
    worker === 'payer' ? { result: `checked ${text}`, feedback: 'Well paid.' } : undefined,
}

const scenarios: readonly (readonly [Scenario, Outcome])[] = [
  [
    scenario(
      'every hook, with an approval in between',
      supervisor({
        name: 'boss',
        model: scripted(gives(['payer', 'a'], ['rejected', 'b']), gives(['other', 'c']), ({ messages }) =>
          JSON.stringify(messages.map(({ content }) => content)),
        ),
        workers: [payer('payer'), modelAgent('rejected'), modelAgent('other', 'other result')],
        delegation: everyHook,
      }),
    ),
    completed(
      JSON.stringify([
        'You lead a team. Delegate what a worker does best. Workers:\n- payer: Pays.\n- rejected: Does what rejected does.\n- other: Does what other does.',
        'task',
        '',
        'checked {"paid":true,"for":{"desk":"payer"}}',
        '[not delegated: rejected: no]',
        'Well paid.',
        '',
        'other result',
      ]),
    ),
  ],
  [
    scenario(
      'hooks that fail',
      supervisor({
        name: 'boss',
        model: scripted(gives(['one', 'a'], ['two', 'b']), 'final'),
        workers: [modelAgent('one', 'one result'), modelAgent('two', 'two result')],
        delegation: {
          onStart: ({ worker }) => (worker === 'one' ? Promise.reject(new Error('no')) : undefined),
          onComplete: () => Promise.reject(new Error('no')),
        },
      }),
    ),
    completed('final'),
  ],
  [
    scenario(
      'one ends the work while another waits for a human and a third for a permit',
      supervisor({
        name: 'boss',
        model: scripted(gives(['payer', 'a'], ['one', 'b'], ['two', 'c'])),
        workers: [payer('payer'), modelAgent('one', 'one result'), modelAgent('two', 'two result')],
        concurrency: 1,
        delegation: { onComplete: ({ worker, bail }) => (worker === 'one' ? bail() : undefined) },
      }),
      { outside: async () => {} },
    ),
    { status: 'bailed', text: 'one result', message: 'onComplete of d2 ("one") ended the work' },
  ],
  [
    scenario(
      "one ends the work while the leader's own tools work and wait",
      supervisor({
        name: 'boss',
        model: scripted({
          calls: [call('slow', {}), call('pay', {}), call('delegate', { worker: 'one', instructions: 'a' })],
        }),
        workers: [modelAgent('one', 'one result')],
        tools: [pay, slow],
        delegation: { onComplete: ({ bail }) => bail('enough') },
      }),
      { outside: async () => {} },
    ),
    { status: 'bailed', text: 'enough', message: 'onComplete of d1 ("one") ended the work' },
  ],
  [
    scenario(
      'results by reference',
      supervisor({
        name: 'boss',
        model: scripted(
          gives(['one', 'a']),
          {
            calls: [
              call('read_result', { delegation: 'd1', from: 5 }),
              call('delegate', { worker: 'two', instructions: 'use it', refs: ['d1', 'd9'] }),
            ],
          },
          { calls: [call('forward_message', { delegation: 'd3' })] },
          { calls: [call('forward_message', { delegation: 'd2' })] },
        ),
        workers: [
          modelAgent('one', '1234567890'),
          modelAgent('two', ({ messages }) => `${(messages.at(-1)!.content as string).includes('\n1234567890\n')}`),
        ],
        delegation: { references: { above: 5 } },
      }),
    ),
    completed('true'),
  ],
  [
    scenario(
      'a forward that is measured and not accepted, then one that a hook wants more of, with no turn left for it',
      supervisor({
        name: 'boss',
        model: scripted(
          gives(['one', 'a']),
          { calls: [call('forward_message', { worker: 'one' })] },
          gives(['two', 'b']),
          {
            calls: [call('forward_message', { worker: 'two' })],
          },
        ),
        workers: [modelAgent('one', 'no source'), modelAgent('two', 'source: a')],
        limits: { turns: 6 },
        isComplete: { scorers: [{ name: 'sources', score: ({ text }) => text.includes('source:') }] },
        onIterationComplete: ({ isFinal }) => (isFinal ? { feedback: 'more' } : undefined),
        delegation: { context: 'conversation' },
      }),
    ),
    completed('source: a'),
  ],
  [
    scenario(
      'the last answer of a leader whose workers use up its turns',
      supervisor({
        name: 'boss',
        model: scripted(gives(['one', 'a'], ['two', 'b'], ['one', 'c']), ({ tools }) => `${tools.length} tools`),
        workers: [modelAgent('one', '1'), modelAgent('two', '2')],
        limits: { turns: 3 },
        lastAnswer: true,
      }),
    ),
    completed('0 tools'),
  ],
  [
    scenario(
      'a thread of memory that keeps what the hook lets through',
      supervisor({
        name: 'boss',
        model: scripted(
          gives(['one', 'a'], ['one', 'b']),
          gives(['two', 'c']),
          ({ messages }) => messages.at(-1)!.content as string,
        ),
        workers: [
          modelAgent('one', 'SECRET'),
          modelAgent('two', ({ messages }) => `${JSON.stringify(messages).includes('SECRET')}`),
        ],
        delegation: {
          memory: { thread: 'case' },
          onComplete: ({ worker }) => (worker === 'one' ? { result: 'removed' } : undefined),
        },
      }),
    ),
    completed('false'),
  ],
  [
    scenario(
      'cancelled while workers wait: hooks hear of it',
      supervisor({
        name: 'boss',
        model: scripted(gives(['payer', 'a'], ['other', 'b'])),
        workers: [payer('payer'), payer('other')],
        delegation: { onStart: everyHook.onStart!, onComplete: ({ status }) => void status },
      }),
      { outside: cancel },
    ),
    cancelled('enough'),
  ],
]

describe('a process that dies around a delegation', () => {
  for (const [played, end] of scenarios) diesEverywhere(played, end, 15)
})
