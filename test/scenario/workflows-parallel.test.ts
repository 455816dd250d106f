/** Agents side by side: spec collaboration 73 and 74, and 1.9. */
import { expect, test } from 'vitest'
import { agent, exit, type Agent } from '@reeve/agent'
import { parallel, router, sequential } from '@reeve/flow'
import { worker, xfer } from './control.ts'
import { played, says } from './played.ts'
import { fatal, scripted } from './team.ts'

/** Two agents of which the first is held until the second has spoken. */
function held(first: Parameters<typeof scripted>[0], second: Parameters<typeof scripted>[0]): readonly [Agent, Agent] {
  let release = (): void => {}
  const free = new Promise<void>((resolve) => (release = resolve))
  const spoken = (what: typeof first) => {
    if (what instanceof Error) throw what
    return what as string
  }
  return [
    worker(
      'A',
      scripted(async () => (await free, spoken(first))),
    ),
    worker(
      'B',
      scripted(() => (release(), spoken(second))),
    ),
  ]
}

test('collaboration 73: a branch that exits stops no other; when all have ended, no later agent works', async () => {
  const slow = scripted('B result')
  const flow = sequential({
    name: 'S',
    agents: [parallel({ name: 'P', agents: [says('A', exit('enough')), worker('B', slow)] }), worker('C')],
  })
  for (let again = 0; again < 3; again++) {
    const { outcome, worked } = await played(flow)
    expect(outcome).toMatchObject({ status: 'completed', output: 'enough' })
    expect(worked).toEqual(['S', 'P', 'A', 'B'])
  }
  expect(slow.prompts).toHaveLength(3)
})

test('collaboration 73: of two exits the first declared counts, in any order of time', async () => {
  const [a, b] = held('A result', 'B result')
  const ending = (one: Agent) =>
    sequential({ name: `${one.name}Ends`, agents: [one, says(`${one.name}2`, exit(`${one.name} ends it`))] })
  const { outcome } = await played(
    sequential({ name: 'S', agents: [parallel({ name: 'P', agents: [ending(a), ending(b)] }), worker('C')] }),
  )
  expect(outcome).toMatchObject({ output: 'A ends it' })
})

test('collaboration 74, 11: a branch that throws: others are heard, the failure says where, the flow ends', async () => {
  const sour = agent({
    name: 'A',
    run: () => {
      throw new Error('broken')
    },
  })
  const { outcome, worked, messages } = await played(
    sequential({ name: 'S', agents: [parallel({ name: 'P', agents: [sour, worker('B')] }), worker('C')] }),
  )
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: { message: 'broken', details: { agent: 'A', path: ['S', 'P', 'A'] } },
  })
  expect(worked).toEqual(['S', 'P', 'A', 'B'])
  expect(
    messages.filter(({ type }) => type === 'error').map(({ agent: name, path }) => [name, path.join('/')]),
  ).toEqual([['A', 'S/P/A']])
  expect(messages.some((each) => each.type === 'assistant' && each.agent === 'B' && each.text === 'B result')).toBe(
    true,
  )
})

test('collaboration 74: of several failures the first declared counts, in any order of time', async () => {
  const { outcome } = await played(parallel({ name: 'P', agents: held(fatal('A is broken'), fatal('B is broken')) }))
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: { message: 'A is broken', details: { agent: 'A', path: ['P', 'A'] } },
  })
})

test('collaboration 74: other branches’ words before a failure reach the one who is told of it', async () => {
  const lead = scripted(xfer('P'), 'final')
  const both = parallel({
    name: 'P',
    description: 'Works.',
    agents: [
      agent({
        name: 'A',
        run: () => {
          throw new Error('broken')
        },
      }),
      worker('B'),
    ],
  })
  const sup = router({ name: 'Sup', model: lead, workers: [both] })
  expect((await played(sup)).outcome).toMatchObject({ output: 'final' })
  const [b, failure] = lead.prompts[1]!.slice(-2).map(({ content }) => content)
  expect(b).toBe('For context: [B] said: B result.')
  expect(failure).toBe('[worker "P" failed in "A": its code failed]')
})

test('its output is the list of theirs in the order of declaration; the same agent may be in it twice', async () => {
  const twice = says('A')
  const { outcome, paths } = await played(parallel({ name: 'P', agents: [twice, says('B', { n: 1 }), twice] }))
  expect(outcome).toMatchObject({ output: ['A result', { n: 1 }, 'A result'] })
  expect(paths).toEqual(['P', 'P/A', 'P/B', 'P/A'])
})

test('one agent twice: neither branch sees the other, and the next agent sees both', async () => {
  const prompts: unknown[] = []
  const twice = worker(
    'A',
    scripted(({ messages }) => (prompts.push(messages.length), 'same')),
  )
  const next = scripted('end')
  await played(
    sequential({ name: 'S', agents: [parallel({ name: 'P', agents: [twice, twice] }), worker('next', next)] }),
  )
  expect(prompts).toEqual([1, 1])
  expect(next.prompts[0]!.slice(1).map(({ content }) => content)).toEqual([
    'For context: [A] said: same.',
    'For context: [A] said: same.',
  ])
})
