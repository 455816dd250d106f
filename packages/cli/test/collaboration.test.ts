/**
 * A run in which control is handed on, as a terminal shows it: the tree has arrows, the lines say who had control and
 * why.
 */
import { afterEach, expect, test } from 'vitest'
import { agent, breakLoop, exit, transferTo, type Agent } from '@reeve/agent'
import { loop, parallel, router, sequential } from '@reeve/flow'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { roundtable, supervisor } from '@reeve/supervisor'
import { eventLines } from '../src/event-lines.ts'
import { treeLines } from '../src/tree.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

/** What `reeve show` and `reeve events` print of a run, without times. */
async function shown(root: Agent): Promise<{ tree: readonly string[]; lines: readonly string[] }> {
  const runtime = await createRuntime({ agents: [root], strict: true })
  open.push(runtime)
  const run = await runtime.start(root, 'please')
  const lineOf = eventLines()
  const lines: string[] = []
  for await (const recorded of run.events()) {
    const line = lineOf(recorded)
    if (line !== undefined) lines.push(line.slice('00:00:00  '.length))
  }
  const tree = treeLines(await run.view(), { now: 0, columns: 100 }).map((line) => line.replace(/ {2}[\d.]+s/, ''))
  return { tree, lines }
}

const says = (name: string) => agent({ name, description: `Is ${name}.`, run: () => `${name} is done` })

test('a router: control goes to its workers and back, and the tree keeps the order', async () => {
  let turn = 0
  const desk = router({
    name: 'desk',
    run: () => [transferTo('one'), transferTo('two', { task: 'Do the\nrest.' }), 'final'][turn++],
    workers: [says('one'), says('two'), says('three')],
    transfer: { agents: { two: { followedBy: ['three'] } } },
  })
  const { tree, lines } = await shown(desk)
  expect(tree).toEqual(['✓ desk', '├─ ✓ → one', '├─ ✓ ↩ desk', '├─ ✓ → two', '├─ ✓ → three', '└─ ✓ ↩ desk'])
  expect(lines).toEqual([
    'desk started',
    'desk transfers to one',
    'one started',
    'one completed',
    'one returns control to desk',
    'desk continues',
    'desk transfers to two: Do the rest.',
    'two started',
    'two completed',
    'two is followed by three',
    'three started',
    'three completed',
    'three returns control to desk',
    'desk continues',
    'desk completed',
    'desk completed',
  ])
})

test('a fixed order: what follows has an arrow, what begins at once has none; breaks and exits have lines', async () => {
  let rounds = 0
  const talker = agent({ name: 'talker', run: (_ctx, _brief, talk) => (talk.say('first\nthis'), 'then that') })
  const critic = agent({ name: 'critic', run: () => (++rounds < 2 ? 'again' : breakLoop('good')) })
  const last = agent({ name: 'last', run: () => exit('over') })
  const order = sequential({
    name: 'order',
    agents: [
      parallel({ name: 'both', agents: [says('a'), says('b')] }),
      loop({ name: 'rounds', agents: [talker, critic], maxIterations: 5 }),
      last,
      says('never'),
    ],
  })
  const { tree, lines } = await shown(order)
  expect(tree).toEqual([
    '✓ order',
    '├─ ✓ both',
    '│  ├─ ✓ a',
    '│  └─ ✓ b',
    '├─ ✓ → rounds',
    '│  ├─ ✓ talker',
    '│  ├─ ✓ → critic',
    '│  ├─ ✓ → talker',
    '│  └─ ✓ → critic',
    '└─ ✓ → last',
  ])
  expect(lines.filter((line) => !/(started|continues|completed)$/.test(line))).toEqual([
    'talker says: first this',
    'talker says: first this',
    'critic asks its loop to end',
    'rounds ends after iteration 2, requested by critic',
    'last ends the run',
  ])
})

test('a worker under delegation has no arrow', async () => {
  const boss = supervisor({
    name: 'boss',
    workers: [says('one')],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'final'
        : { calls: [{ name: 'delegate', input: { worker: 'one', instructions: 'go' } }] },
  })
  expect((await shown(boss)).tree).toEqual(['✓ boss', '└─ ✓ one'])
})

test('a leader with background work, a scorer and a throwing hook, and a round table: each says what it did', async () => {
  const lead = supervisor({
    name: 'lead',
    workers: [says('one')],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? JSON.stringify(messages).includes('works in the background')
          ? 'wait'
          : 'final'
        : { calls: [{ name: 'delegate', input: { worker: 'one', instructions: 'go' } }] },
    delegation: {
      background: ['one'],
      hookErrors: 'lenient',
      onComplete: () => {
        throw new Error('no\nluck')
      },
    },
    isComplete: { scorers: [{ name: 'fine', score: () => 1 }] },
  })
  const { lines } = await shown(roundtable({ name: 'table', agents: [lead], speaker: 'round-robin', maxRounds: 1 }))
  expect(lines.toSorted()).toEqual(
    [
      'table started',
      'table lets lead speak (round 1)',
      'lead started',
      'lead continues while one works in the background (d1)',
      'one started',
      'one completed',
      'lead: onComplete failed: no luck',
      'the answer of lead passed: fine 1',
      'lead completed',
      'table completed',
    ].toSorted(),
  )
})
