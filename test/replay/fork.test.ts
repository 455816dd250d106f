/**
 * Forks of what the other tests of forks do not play: every way of working together, humans in it, runs that were
 * paused, taken over and finished by hand, forks of forks, the same run compared with itself and with its forks. Cites
 * K1, K4, K6, K10.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agent, asTool, human, parallel, router, sequential, supervisor, team, tool, type Agent } from '@reeve/public'
import { diffOf } from '@reeve/public/views'
import { roundtable } from '@reeve/public/team'
import type { Oversight } from '@reeve/public/oversight'
import { rootActivation } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import { registerAgents, type Run, type Runtime } from '@reeve/runtime'
import { verifyJournal } from '@reeve/testing'
import { calls, delegates } from '../scenario/team.ts'
import { approves } from './fork-people.ts'
import { runtimeThere, startedThere } from './fork-place.ts'

let made: string[] = []
beforeEach(() => (made = []))
afterEach(() => (made = []))

async function feed(run: Run<unknown> | Run): Promise<readonly Recorded[]> {
  const { position } = await run.view()
  const events: Recorded[] = []
  for await (const recorded of run.events()) {
    events.push(recorded)
    if (recorded.position >= position) break
  }
  return events
}

/**
 * Says yes, to what is told as done before only with `repeats` (see `approves`); answers `mine`, says that what the
 * origin has done has happened. `asked`: ids of approvals and questions that were asked in it.
 */
async function ended(runtime: Runtime, run: Run<unknown>, asked: string[] = [], repeats?: string[]): Promise<unknown> {
  for (let n = 0; n < 200; n++) {
    const state = await run.until('waiting')
    if (!('questions' in state)) {
      const { usage: _usage, run: _run, ...outcome } = state
      return JSON.parse(JSON.stringify(outcome).replaceAll(run.id, 'run')) as unknown
    }
    if (state.status === 'stuck') throw new Error(`it is stuck: ${state.reason}`)
    for (const { id, kind, body } of state.questions) {
      if (kind === 'approval' || kind === 'interrupt') asked.push(id)
      if (kind === 'approval') await approves(run, { id, body }, repeats).catch(() => undefined)
      else if (kind === 'interrupt')
        await runtime.answer({ interruptId: id, value: 'mine', by: 'ann' }).catch(() => undefined)
      else {
        const { done } = body as { readonly done?: { readonly outcome?: object } }
        await run.control.settleDoubt({ id, happened: done?.outcome !== undefined }).catch(() => undefined)
      }
    }
  }
  throw new Error('it asks and asks')
}

const says = (name: string): Agent => agent({ name, description: name, model: () => `${name} result` })
const pay = tool({ name: 'pay', sensitive: true, execute: () => (made.push('pay'), 'paid') })
const note = tool({ name: 'note', effect: 'idempotent', execute: () => (made.push('note'), 'noted') })
const clerk = (): Agent =>
  agent({
    name: 'clerk',
    description: 'Pays.',
    tools: [pay, note],
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : calls(['pay', {}], ['note', {}])),
  })
const knows =
  (text: string, first: ReturnType<typeof calls>) =>
  ({ messages }: { messages: readonly unknown[] }) =>
    JSON.stringify(messages).includes(text) ? 'final' : first

const kinds: readonly (readonly [string, () => Agent, Oversight | undefined])[] = [
  [
    'a sequential with a parallel with a person',
    () =>
      sequential({
        name: 'root',
        agents: [
          says('a'),
          parallel({ name: 'both', agents: [clerk(), human({ name: 'ann', description: 'x' })] }),
          says('d'),
        ],
      }),
    undefined,
  ],
  [
    'a router',
    () =>
      router({
        name: 'desk',
        model: knows('done', calls(['transfer_to_agent', { agent_name: 'clerk' }])),
        workers: [clerk()],
      }),
    undefined,
  ],
  [
    'a round table with a person',
    () =>
      roundtable({
        name: 'table',
        agents: [says('a'), human({ name: 'ann', description: 'x' })],
        speaker: 'round-robin',
        maxRounds: 3,
      }),
    undefined,
  ],
  [
    'an agent as a tool',
    () =>
      agent({
        name: 'root',
        description: 'x',
        model: knows('"content":"done"', calls(['clerk', { request: 'x' }])),
        tools: [asTool(clerk())],
      }),
    undefined,
  ],
  [
    'two in the background and one not',
    () =>
      supervisor({
        name: 'boss',
        model: knows('marker', delegates(['a', 'marker'], ['clerk', 'marker'])),
        workers: [says('a'), clerk()],
        delegation: { background: ['a'] },
      }),
    undefined,
  ],
  [
    'in command, two levels deep',
    () =>
      supervisor({
        name: 'boss',
        model: knows('"final"', delegates(['mid', 'x'])),
        workers: [
          supervisor({
            name: 'mid',
            description: 'x',
            model: knows('"done"', delegates(['clerk', 'x'])),
            workers: [clerk()],
          }),
        ],
      }),
    { mode: 'in-command' },
  ],
  [
    'a planned team with a gate',
    () =>
      team({
        name: 'crew',
        roles: { clerk: clerk(), ann: human({ name: 'ann', description: 'x' }) },
        planner: {
          subtasks: [
            { id: 'one', description: 'one', role: 'ann' },
            { id: 'two', description: 'two', role: 'clerk', dependencies: ['one'], requiresApproval: true },
            { id: 'three', description: 'three', role: 'clerk' },
          ],
        },
      }),
    undefined,
  ],
]

describe('K4: a fork at any position', () => {
  test.each(kinds)(
    '%s: ends as its origin did, does nothing twice without a yes to it, replays, is as its origin as far as both go',
    async (_name, make, oversight) => {
      const root = make()
      await using runtime = await runtimeThere({ agents: [root] })
      const registry = registerAgents([root], [], 'move')
      const run = await runtime.start(root, 'Go', {
        runId: 'origin',
        ...startedThere(),
        ...(oversight === undefined ? {} : { oversight }),
      })
      const originAsked: string[] = []
      const end = await ended(runtime, run, originAsked)
      expect(end).toMatchObject({ status: 'completed' })
      const events = await feed(run)
      expect(diffOf(events, events)).toMatchObject({ differences: [] })
      const last = events.findIndex(
        ({ activation, event }) => activation === rootActivation(run.id) && event.type === 'activation.settled',
      )
      const wrong: unknown[] = []
      for (const { position, event } of events.slice(0, last)) {
        for (const repeats of [undefined, [] as string[]]) {
          const fork = await runtime.fork({ run: run.id, at: position })
          const asked: string[] = []
          const before = made.length
          const outcome = await ended(runtime, fork, asked, repeats).catch((thrown: unknown) => String(thrown))
          if (JSON.stringify(outcome) !== JSON.stringify(end)) wrong.push([position, event.type, outcome])
          const done = made.slice(before).toSorted()
          if (String(done) !== String(repeats?.toSorted() ?? [])) wrong.push([position, event.type, { done, repeats }])
          const own = await feed(fork)
          const { problems } = await verifyJournal(own, registry)
          if (problems.length > 0) wrong.push([position, event.type, problems])
          if (asked.some((id) => originAsked.includes(id)))
            wrong.push([position, event.type, 'an id of the origin is asked again'])
          if (own.some(({ activation }) => !activation.startsWith(rootActivation(fork.id))))
            wrong.push([position, 'an activation of the origin'])
          await runtime.remove(fork.id)
        }
      }
      expect(wrong).toEqual([])
      expect(await feed(run)).toEqual(events)
    },
    240_000,
  )
})

describe('what was done to the origin', () => {
  test('paused, taken over, handed back: a fork at any position has no owner', async () => {
    const root = sequential({ name: 'root', agents: [says('a'), human({ name: 'ann', description: 'x' }), says('d')] })
    await using runtime = await runtimeThere({ agents: [root] })
    const run = await runtime.start(root, 'Go', startedThere())
    await run.until('waiting')
    await run.control.pause({ by: 'pat' })
    await run.control.takeOver({ by: 'eve' })
    const held = await feed(run)
    for (const { position } of held) {
      const fork = await runtime.fork({ run: run.id, at: position })
      expect(await ended(runtime, fork)).toMatchObject({ status: 'completed', output: 'd result' })
      expect((await fork.view()).takeover).toBeUndefined()
      expect((await fork.control.state()).ops).toEqual([])
    }
    expect((await run.control.state()).by).toBe('eve')
    await run.control.handBack({ by: 'eve' })
    await ended(runtime, run)
  }, 60_000)

  test('finished by hand: a fork from before runs alone, from the finished step on it has the human’s result', async () => {
    const root = sequential({
      name: 'root',
      agents: [
        says('a'),
        human({ name: 'ann', description: 'x' }),
        agent({
          name: 'd',
          description: 'd',
          model: ({ messages }) => `d after ${JSON.stringify(messages.at(-1)?.content)}`,
        }),
      ],
    })
    await using runtime = await runtimeThere({ agents: [root] })
    const run = await runtime.start(root, 'Go', startedThere())
    await run.until('waiting')
    const before = (await feed(run)).at(-1)!.position
    await run.control.takeOver({ by: 'eve' })
    await run.control.complete({
      delegation: (await run.view()).activations.find((each) => each.agent === 'ann')!.activation,
      output: 'by hand',
      by: 'eve',
    })
    await run.control.handBack()
    const end = (await ended(runtime, run)) as { output: string }
    expect(end.output).toContain('by hand')
    const events = await feed(run)
    const given = events.find(
      ({ event }) =>
        event.type === 'worker.settled' && event.outcome.status === 'completed' && event.outcome.by === 'eve',
    )!
    expect(
      ((await ended(runtime, await runtime.fork({ run: run.id, at: given.position }))) as { output: string }).output,
    ).toBe(end.output)
    expect(
      ((await ended(runtime, await runtime.fork({ run: run.id, at: before }))) as { output: string }).output,
    ).toContain('mine')
  }, 60_000)
})

describe('forks of forks', () => {
  test('K6: a once effect of the first run is known in a fork of its fork, and any two can be compared', async () => {
    const send = tool({ name: 'send', effect: 'once', execute: () => (made.push('send'), { n: made.length }) })
    const root = agent({
      name: 'root',
      description: 'x',
      tools: [send],
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? `sent ${JSON.stringify(messages.at(-1)?.content)}`
          : calls(['send', {}, 's1']),
    })
    await using runtime = await runtimeThere({ agents: [root] })
    const run = await runtime.start(root, 'Go', { runId: 'first', ...startedThere() })
    await run.outcome()
    const point = (await feed(run)).find(({ event }) => event.type === 'step.settled')!.position
    const second = await runtime.fork({ run: 'first', at: point, runId: 'second' })
    const state = await second.until('waiting')
    expect(state).toMatchObject({ questions: [{ kind: 'in-doubt', body: { done: { run: 'first' } } }] })
    const third = await runtime.fork({
      run: 'second',
      at: (await feed(second)).find(({ event }) => event.type === 'run.forked')!.position,
      runId: 'third',
    })
    expect(await third.until('waiting')).toMatchObject({
      questions: [{ kind: 'in-doubt', body: { done: { run: 'first' } } }],
    })
    expect(await ended(runtime, third)).toMatchObject({ output: 'sent {"n":1}' })
    // somebody says that it did not happen: it is done, under a key of the fork's own
    const [doubt] = ('questions' in state ? state.questions : []) as readonly { id: string }[]
    await second.control.settleDoubt({ id: doubt!.id, happened: false })
    expect(await second.outcome()).toMatchObject({ output: 'sent {"n":2}' })
    expect(made).toEqual(['send', 'send'])
    expect(diffOf(await feed(run), await feed(third)).differences).toEqual([])
    const { first } = diffOf(await feed(run), await feed(second))
    expect([first?.one?.event.type, first?.path]).toEqual(['step.settled', ''])
    const all = [...(await feed(run)), ...(await feed(second)), ...(await feed(third))]
    expect(new Set(all.map((each) => `${each.run} ${each.activation} ${each.seq}`)).size).toBe(all.length)
    // the origin may go: its forks do not need it
    await runtime.remove('first')
    expect(
      await (await runtime.fork({ run: 'third', at: (await feed(third))[0]!.position })).until('waiting'),
    ).toMatchObject({
      questions: [{ kind: 'in-doubt' }],
    })
  }, 60_000)
})
