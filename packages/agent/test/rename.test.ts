/** rename(): the same agent under another name. */
import { expect, test } from 'vitest'
import { agent, rename, tool, type Agent } from '../src/index.ts'
import { asText } from '@reeve/core'
import { loop, parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { reflect, roundtable, supervisor } from '@reeve/supervisor'
import { code } from '../../../test/scenario/control.ts'
import { calls, runtimeOf, scripted, waiting } from '../../../test/scenario/team.ts'

const asks = tool({ name: 'ask', run: async (ctx) => interrupt(ctx, 'well?') })
const asker = agent({
  name: 'asker',
  description: 'Asks.',
  tools: [asks],
  model: scripted(({ messages }) =>
    messages.at(-1)!.role === 'tool' ? asText(messages.at(-1)!.content) : calls(['ask', {}]),
  ),
})

test('a renamed agent works beside the first one, with tools of its own name', async () => {
  const other = rename(asker, 'other')
  expect([other.name, other.description, other.related().map(({ name }) => name)]).toEqual([
    'other',
    'Asks.',
    ['other.ask'],
  ])
  expect(asker.name).toBe('asker')
  const run = await (await runtimeOf([sequential({ name: 'both', agents: [asker, other] })])).start('both', 'go')
  for (const [path, value] of [
    [['both', 'asker', 'ask'], 'one'],
    [['both', 'other', 'ask'], 'two'],
  ] as const) {
    const [question] = (await waiting(run)).questions
    expect(question!.activation).toContain(path[1])
    await run.answer({ interruptId: question!.id, value })
  }
  expect(await run.outcome()).toMatchObject({ output: 'two' })
})

test('every kind of agent can be renamed, and stays what it was', () => {
  const worker = code('worker', () => 'x')
  const kinds: readonly Agent[] = [
    worker,
    supervisor({ name: 'a', description: 'Leads.', model: scripted('x'), workers: [worker] }),
    router({ name: 'a', description: 'Routes.', model: scripted('x'), workers: [worker] }),
    sequential({ name: 'a', agents: [worker] }),
    loop({ name: 'a', agents: [worker], maxIterations: 2 }),
    parallel({ name: 'a', agents: [worker] }),
    roundtable({ name: 'a', agents: [worker], speaker: 'round-robin' }),
    reflect(worker, { name: 'a', judge: () => 1 }),
  ]
  for (const each of kinds) {
    const other = rename(each, 'other')
    expect([other.name, other.description, other.constructor]).toEqual(['other', each.description, each.constructor])
    expect(rename(other, each.name).version).toBe(each.version)
  }
})

test('what no constructor made, and a bad name, are refused', async () => {
  expect(() => rename({ ...asker }, 'x')).toThrow('was not made by a constructor of Reeve')
  expect(() => rename('asker' as never, 'x')).toThrow('was not made by a constructor of Reeve')
  await expect(runtimeOf([rename(asker, 'not a name')])).rejects.toMatchObject({ code: 'team.invalid' })
})
