/** A client that runs the tools of a run: each open call once, what a tool throws, who was faster, and leaving. */
import { expect, test } from 'vitest'
import { asText } from '@reeve/core'
import { agent, clientTool, supervisor, type Agent } from '@reeve/public'
import { createClient } from '../src/index.ts'
import { serving } from '../../server/test/serving.ts'

const tokenOf = (name: string): string => name.padEnd(24, '-')
const auth = {
  tokens: {
    [tokenOf('ann')]: { name: 'ann', roles: ['operator', 'approver'] as const },
    [tokenOf('bob')]: { name: 'bob', roles: ['operator', 'approver'] as const },
    [tokenOf('ada')]: { name: 'ada', roles: ['admin'] as const },
  },
}
const named = (name: string) =>
  clientTool({
    name,
    description: 'Works on the page.',
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    output: { type: 'number' },
  })
const worker = (name: string): Agent =>
  agent({
    name,
    description: 'Asks the page.',
    tools: [named('double'), named('broken'), named('other')],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? messages.flatMap(({ role, content }) => (role === 'tool' ? [JSON.stringify(content)] : [])).join(' ')
        : {
            calls: [
              { name: 'double', input: { n: 2 } },
              { name: 'broken', input: { n: 1 } },
              { name: 'double', input: { n: 5 } },
            ],
          },
  })
const lead = supervisor({
  name: 'lead',
  workers: [worker('hand')],
  delegation: { workers: { hand: { place: 'apart' } } },
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? asText(messages.at(-1)!.content)
      : { calls: [{ name: 'delegate', input: { worker: 'hand', instructions: 'Go.' } }] },
})

async function clients() {
  const { server, runtime } = await serving({ agents: [lead, worker('solo')] }, { auth })
  const of = (name: string) => createClient({ baseUrl: server.url, token: tokenOf(name) })
  return { ann: of('ann'), bob: of('bob'), ada: of('ada'), runtime }
}

test('it runs each call of a worker apart once, in any order; what a tool throws or returns wrongly is told', async () => {
  const { ann } = await clients()
  const run = await ann.runs.start('lead', 'Go.')
  const seen: unknown[] = []
  const both = Promise.withResolvers<void>()
  const work = ann.runClientTools(run, {
    double: async ({ n }: { n: number }, { path, run: where }) => {
      seen.push([n, path.join('>'), where === run.id])
      if (seen.length === 2) both.resolve()
      await both.promise
      return n === 5 ? 'ten' : n * 2
    },
    broken: () => {
      throw new Error('no such page')
    },
  })
  const outcome = await run.outcome()
  await work
  expect(seen).toHaveLength(2)
  expect(seen).toEqual(
    expect.arrayContaining([
      [2, 'lead>hand', false],
      [5, 'lead>hand', false],
    ]),
  )
  expect(outcome).toMatchObject({ status: 'completed' })
  expect((outcome as { output: string }).output).toMatch(
    /^4 ".*broken.*no such page.*" ".*double.*it ran: .*the output does not fit/,
  )
})

test('a member of every object is no tool; an admin answers by hand, and nobody else', async () => {
  const { ann, bob, ada } = await clients()
  const run = await ann.runs.start('solo', 'Go.')
  const left = new AbortController()
  const work = ann.runClientTools(run, Object.create({ double: () => 7 }) as never, { signal: left.signal })
  await expect.poll(async () => (await ann.questions.list({ run: run.id })).items.length).toBe(3)
  const [first] = (await bob.questions.list({ run: run.id })).items
  expect(first).toMatchObject({
    mayAnswer: 'only the user of the run runs the tools of its client',
    interrupt: { call: { tool: 'double', input: { n: 2 }, output: { type: 'number' } } },
  })
  const value = { output: 4 }
  await expect(bob.questions.answer({ interruptId: first!.id, value })).rejects.toMatchObject({
    code: 'request.forbidden',
  })
  await expect(bob.runClientTools(run, { double: () => 666 }, { signal: AbortSignal.timeout(300) })).resolves.toBe(
    undefined,
  )
  await ada.questions.answer({ interruptId: first!.id, value })
  left.abort()
  await work
  expect((await ann.questions.list({ run: run.id })).items).toHaveLength(2)
  // another client takes the rest
  await Promise.all([
    run.outcome(),
    ann.runClientTools(run.id, { double: ({ n }: { n: number }) => n * 2, broken: () => 0 }),
  ])
  expect(await run.outcome()).toMatchObject({ output: '4 0 10' })
})

test('an unknown run rejects', async () => {
  const { ann } = await clients()
  await expect(ann.runClientTools('run_nothing', {})).rejects.toMatchObject({ code: 'run.unknown' })
})
