/** Files of the request of a planned team: who sees which, and that a line names each to all others. */
import { describe, expect, test } from 'vitest'
import { agent, type Agent } from '@reeve/agent'
import { fileHandle, fileLabel, type FilePart, type Json } from '@reeve/core'
import type { Message } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { team, type PlannerLike, type PlanQuestion, type Subtask } from '@reeve/team'
import { simulate, teamScenario } from '@reeve/testing'
import { calls, runtimeOf, scripted, type Scripted } from './team.ts'

const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const chart: FilePart = { type: 'file', mediaType: 'image/png', filename: 'chart.png', data }
const receipt: FilePart = { type: 'file', mediaType: 'application/pdf', filename: 'receipt.pdf', data: 'JVBERi0xLjQK' }
const asked = (...files: FilePart[]): { readonly messages: readonly Message[] } => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'My files:' }, ...files] }],
})
const filesIn = (prompt: readonly Message[] | undefined): readonly FilePart[] =>
  (prompt ?? []).flatMap(({ role, content }) =>
    role === 'user' && typeof content !== 'string' ? content.filter((part) => part.type === 'file') : [],
  )
const words = (prompt: readonly Message[] | undefined): string => JSON.stringify(prompt).replaceAll('\\"', '"')
const seen = (model: Scripted): readonly (readonly FilePart[])[] => model.prompts.map(filesIn)

const two = (
  first: object = {},
  second: object = {},
): { readonly complexity: number; readonly subtasks: Subtask[] } => ({
  complexity: 0.9,
  subtasks: [
    { id: 'a', description: 'Do A.', role: 'ann', ...first },
    { id: 'b', description: 'Do B.', role: 'bob', ...second },
  ],
})
function crew(planner: PlannerLike, ann: Scripted, bob: Scripted): Agent {
  return team({
    name: 'crew',
    description: 'Works together.',
    planner,
    roles: {
      ann: agent({ name: 'ann', description: 'Works.', model: ann }),
      bob: agent({ name: 'bob', description: 'Works.', model: bob }),
    },
  })
}
async function played(planner: PlannerLike, files: readonly FilePart[] = [chart, receipt]) {
  const [ann, bob] = [scripted('from ann', 'from ann'), scripted('from bob', 'from bob')]
  const crewed = crew(planner, ann, bob)
  const run = await (await runtimeOf([crewed])).start('crew', 'Go.', files.length === 0 ? {} : asked(...files))
  return { outcome: await run.outcome(), ann, bob }
}
const unseenHeading = '## Files of your team that are not shown to you'

describe('a task names files', () => {
  test('its member sees those, and reads the names of the others; by handle, name or label', async () => {
    const { outcome, ann, bob } = await played(two({ files: ['chart.png'] }, { files: [fileLabel(receipt)] }))
    expect(outcome).toMatchObject({ status: 'completed' })
    expect([seen(ann), seen(bob)]).toEqual([[[chart]], [[receipt]]])
    expect(words(ann.prompts[0])).toContain(`${unseenHeading}\\n${fileLabel(receipt)}`)
    expect(words(bob.prompts[0])).toContain(`${unseenHeading}\\n${fileLabel(chart)}`)
  })
  test('one that names none sees none, and reads which there are', async () => {
    const { ann, bob } = await played(two({ files: ['chart.png', fileHandle(receipt)] }))
    expect([seen(ann), seen(bob)]).toEqual([[[chart, receipt]], [[]]])
    expect(words(ann.prompts[0])).not.toContain(unseenHeading)
    expect(words(bob.prompts[0])).toContain(`${unseenHeading}\\n${fileLabel(chart)}\\n${fileLabel(receipt)}`)
  })
  test('a typed input is given files beside it', async () => {
    const model = scripted('ok')
    const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const typed = team({
      name: 'crew',
      planner: two({ input: { n: 1 }, files: 'chart.png' as never }),
      roles: {
        ann: agent({ name: 'ann', description: 'Works.', model, input }),
        bob: agent({ name: 'bob', description: 'Works.', model: scripted('ok') }),
      },
    })
    expect(await (await runtimeOf([typed])).run(typed, 'Go.', asked(chart))).toMatchObject({ status: 'completed' })
    expect(seen(model)).toEqual([[chart]])
  })
  test.each<[what: string, files: readonly FilePart[], names: Json, problem: string]>([
    ['another', [chart], ['../etc/passwd'], `no file of the request. Files are: ${fileLabel(chart)}`],
    ['one of two', [chart, { ...receipt, filename: 'chart.png' }], ['chart.png'], 'several files: give the handle'],
    ['one where there is none', [], ['chart.png'], 'no file of the request. There are no files.'],
    ['none', [chart], [7], '"files" names 7, which is no file of the request'],
  ])('a plan of code that names %s is refused', async (_, files, names, problem) => {
    const { outcome, ann } = await played(two({ files: names }), files)
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'plan.invalid' } })
    expect(JSON.stringify(outcome).replaceAll('\\"', '"')).toContain(problem)
    expect(ann.prompts).toEqual([])
  })
})

describe('who plans', () => {
  const planned = (files: Json) => JSON.stringify(two({ files }))

  test('a model sees them, reads the lines, and mends a name that is none', async () => {
    const model = scripted(planned(['chart']), planned(['chart.png']))
    const { outcome, ann } = await played({ model })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(seen(model)).toEqual([
      [chart, receipt],
      [chart, receipt],
    ])
    expect(words(model.prompts[0])).toContain(
      `## Files of the question\\n${fileLabel(chart)}\\n${fileLabel(receipt)}\\nA member sees only those`,
    )
    expect(words(model.prompts[1])).toContain('task "a": "files" names "chart", which is no file of the request')
    expect(seen(ann)).toEqual([[chart]])
  })
  test('a model is told nothing where there are none, and the field is one of those that there are not', async () => {
    const model = scripted(planned(['chart.png']))
    const { outcome, ann } = await played({ model }, [])
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(words(model.prompts[0])).not.toMatch(/files/i)
    expect(words(ann.prompts[0])).not.toMatch(/files/i)
  })
  test('an agent sees them with its brief, and a function is given the lines', async () => {
    const model = scripted(planned(['receipt.pdf']))
    const { ann } = await played(agent({ name: 'planner', model }))
    expect([seen(model), seen(ann)]).toEqual([[[chart, receipt]], [[receipt]]])
    expect(words(model.prompts[0])).toContain('"files":{"type":"array"')
    let question: PlanQuestion | undefined
    await played((given) => ((question = given), two()))
    expect(question?.files).toEqual([fileLabel(chart), fileLabel(receipt)])
  })
})

test('a question that is one task has all files; so has a team that is given them with a brief', async () => {
  const simple = { complexity: 0.1, subtasks: [{ id: 'a', description: 'Do A.', role: 'ann' }] }
  const { ann } = await played(() => simple)
  expect(seen(ann)).toEqual([[chart, receipt]])

  const [worker, other, planner] = [
    scripted('ok'),
    scripted('ok'),
    scripted(JSON.stringify(two({ files: ['chart.png'] }))),
  ]
  const lead = scripted(calls(['delegate', { worker: 'crew', instructions: 'look', files: ['chart.png'] }]), 'done')
  const boss = supervisor({ name: 'boss', model: lead, workers: [crew({ model: planner }, worker, other)] })
  await (await runtimeOf([boss])).run(boss, 'go', asked(chart, receipt))
  expect([seen(planner), seen(worker), seen(other)]).toEqual([[[chart]], [[chart]], [[]]])
})

test('under kills at every append', async () => {
  const counting = (name: string): Agent =>
    agent({ name, description: 'Works.', model: ({ messages }) => `${name} saw ${filesIn(messages).length}` })
  const crewed = team({
    name: 'crew',
    planner: { model: () => JSON.stringify(two({ files: ['chart.png'] })) },
    roles: { ann: counting('ann'), bob: counting('bob') },
  })
  const { end, differences, repeated, points } = await simulate(
    teamScenario({ agents: [crewed], input: 'go', ...asked(chart, receipt) }),
  )
  expect(end.outcome).toMatchObject({ status: 'completed', output: '## a\n\nann saw 1\n\n## b\n\nbob saw 0' })
  expect({ differences, repeated }).toEqual({ differences: [], repeated: [] })
  expect(points).toBeGreaterThan(5)
})
