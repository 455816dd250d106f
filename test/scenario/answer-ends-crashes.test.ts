/**
 * What follows the end of an answer, with a process that dies at every point of it, and with a fork at every position:
 * the same outcome, no recorded step twice, every journal replays (K4, K5, K6, K10).
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import { summaryTask } from '../../packages/agent/src/extensions/compaction.ts'
import { registerAgents, type Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { inOrder, simulate, teamScenario, verifyJournal, type ScriptedModel } from '@reeve/testing'
import { calls, delegates, runtimeOf, store } from './team.ts'

const receipt = 'receipt of A'
/** A person who has looked: what was in doubt has happened. */
async function person(runtime: Runtime): Promise<void> {
  for (const { id, kind } of await runtime.questions())
    if (kind === 'in-doubt') await runtime.settleDoubt({ id, happened: true, value: receipt })
}
let paid: string[] = []
const pay = tool({
  name: 'pay',
  effect: 'once',
  input: { type: 'object', properties: { invoice: { type: 'string' } }, required: ['invoice'] },
  execute(input) {
    paid.push((input as { invoice: string }).invoice)
    return receipt
  },
})
const look = tool({ name: 'look', effect: 'read', execute: () => 'x'.repeat(400) })
const broken = new FailureError(failure('model.bad-request', 'no', 'validation'))
const down = new FailureError(failure('model.unavailable', 'down', 'transport'))
const pays = calls(['pay', { invoice: 'A' }])

const payer = (model: ScriptedModel): Agent => agent({ name: 'w', description: 'Pays.', model, tools: [pay] })

/** Teams whose models do not end their answers, each with the output of its run. */
const scenes: {
  readonly [name: string]: { readonly make: () => Agent; readonly output: string; readonly paid: number }
} = {
  'a text that is continued twice, with a pause between': {
    make: () =>
      agent({
        name: 'A',
        model: inOrder(
          { text: 'a', finish: 'length' },
          { text: 'b', finish: 'paused' },
          { text: 'c', finish: 'length' },
          'd',
        ),
      }),
    output: 'abcd',
    paid: 0,
  },
  'calls that were cut off and are made again': {
    make: () => agent({ name: 'A', model: inOrder({ ...pays, finish: 'length' }, pays, 'Paid.'), tools: [pay] }),
    output: 'Paid.',
    paid: 1,
  },
  'a context that is full, compacted, and asked again': {
    make() {
      const turns = inOrder(
        calls(['look', {}]),
        calls(['look', {}]),
        calls(['look', {}]),
        { text: 'I', finish: 'context-full' },
        'Done.',
      )
      return agent({
        name: 'A',
        model: (request) => (request.messages[0]?.content === summaryTask ? 'notes' : turns(request)),
        tools: [look],
        compaction: { above: 1_000_000 },
      })
    },
    output: 'Done.',
    paid: 0,
  },
  'a worker that paid and then failed, whose leader asks another': {
    make: () =>
      supervisor({
        name: 'boss',
        model: inOrder(delegates(['w', 'x']), delegates(['w', 'x']), 'ok'),
        workers: [payer(inOrder(pays, broken, 'was paid'))],
      }),
    output: 'ok',
    paid: 1,
  },
  'equal calls of a once tool under two ids': {
    make: () =>
      agent({
        name: 'A',
        model: inOrder(calls(['pay', { invoice: 'A' }, 'c1'], ['pay', { invoice: 'A' }, 'c2']), 'Paid.'),
        tools: [pay],
      }),
    output: 'Paid.',
    paid: 1,
  },
  'a chain whose first model is down after it had called': {
    make: () =>
      agent({
        name: 'A',
        model: [inOrder(pays, down), inOrder({ text: 'Paid', finish: 'length' }, ' it.')],
        tools: [pay],
        retry: { attempts: 1 },
      }),
    output: 'Paid it.',
    paid: 1,
  },
}

async function recordedOf(run: { events(): AsyncIterable<Recorded> }): Promise<readonly Recorded[]> {
  const list: Recorded[] = []
  for await (const recorded of run.events()) list.push(recorded)
  return list
}

describe.each(Object.entries(scenes))('%s', (_name, scene) => {
  test('ends the same wherever its process dies; no recorded step runs again', async () => {
    const { end, differences, repeated, points } = await simulate(
      teamScenario({ agents: [scene.make()], input: 'go', outside: person }),
      { points: ['commit.before', 'commit.after'] },
    )
    expect(end.outcome).toMatchObject({ status: 'completed', output: scene.output })
    expect([differences, repeated]).toEqual([[], []])
    expect(points).toBeGreaterThan(5)
  }, 60_000)

  test('a fork at every position ends, its journal replays, and a once effect is not repeated unasked', async () => {
    paid = []
    const root = scene.make()
    const runtime = await runtimeOf([root], { store: store() })
    const run = await runtime.start(root.name, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: scene.output })
    expect(paid).toHaveLength(scene.paid)
    const registry = registerAgents([root], [], 'move')
    const events = await recordedOf(run)
    expect((await verifyJournal(events, registry)).problems).toEqual([])
    const last = events.at(-1)!.position
    for (let at = 1; at < last; at++) {
      const before = paid.length
      const fork = await runtime.fork({ run: run.id, at })
      const state = await fork.until('waiting')
      // what the origin has done already is asked about; nothing is done again without an answer
      expect([at, paid.length]).toEqual([at, before])
      if ('waiting' in state) await fork.control.cancel()
      const { problems } = await verifyJournal(await recordedOf(fork), registry)
      expect([at, problems]).toEqual([at, []])
    }
  }, 60_000)
})
