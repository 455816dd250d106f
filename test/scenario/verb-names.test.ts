/**
 * What a supervisor's verbs are called, and how its team is put to its model: spec delegation L2, L3, cases 7, 11, 12.
 */
import { expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import type { Message } from '@reeve/model'
import { reflect, supervisor, type Lesson } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told } from './team.ts'

const worker = (name: string, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const typed = (name: string) =>
  agent({
    name,
    description: `Does what ${name} does.`,
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    model: scripted(`${name} is done`),
  })
const systemOf = (prompt: readonly Message[] | undefined): string =>
  prompt?.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('|') ?? ''
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'team.invalid', message: expect.stringMatching(message) as string }) as Error

test('delegation 7: a tool named like a verb is refused when the team is built, under any verb names', async () => {
  const named = (name: string) => tool({ name, execute: () => 'mine' })
  const boss = (own: string, verbs?: { delegate?: string; forward?: string }) => () =>
    supervisor({
      name: 'boss',
      model: scripted('x'),
      tools: [named(own)],
      workers: [worker('w'), typed('t')],
      ...(verbs && { verbs }),
    })
  expect(boss('delegate')).toThrow(invalid(/the tool name "delegate" is taken/))
  expect(boss('delegate_t')).toThrow(invalid(/"delegate_t" is taken/))
  expect(boss('assign', { delegate: 'assign' })).toThrow(invalid(/"assign" is taken/))
  expect(boss('assign_t', { delegate: 'assign' })).toThrow(invalid(/"assign_t" is taken/))
  expect(boss('relay', { forward: 'relay' })).toThrow(invalid(/"relay" is taken/))
  // and a name that no verb has any more is free
  const lead = scripted(calls(['delegate', {}]), 'final')
  const free = supervisor({
    name: 'boss',
    model: lead,
    tools: [named('delegate')],
    workers: [worker('w')],
    verbs: { delegate: 'assign' },
  })
  expect(await (await runtimeOf([free])).run(free, 'go')).toMatchObject({ output: 'final' })
  expect(lead.tools[0]!.map(({ name }) => name)).toEqual(['delegate', 'assign', 'forward_message'])
  expect(told(lead.prompts[1])).toEqual(['mine'])
})

test('delegation 7: verbs share no name, have names that tools may have, and none that is no verb', () => {
  const boss = (verbs: object) => () => supervisor({ name: 'boss', model: scripted('x'), workers: [typed('t')], verbs })
  expect(boss({ delegate: 'ask', forward: 'ask' })).toThrow(
    invalid(/verbs.delegate and verbs.forward are both called "ask"/),
  )
  expect(boss({ recruit: 'delegate_t' })).toThrow(invalid(/are both called "delegate_t"/))
  expect(boss({ forward: 'forward_message', recruit: 'forward_message' })).toThrow(
    invalid(/both called "forward_message"/),
  )
  expect(boss({ delegate: 'give work' })).toThrow(invalid(/verbs.delegate is the text "give work"/))
  expect(boss({ delegate: 'd'.repeat(64) })).toThrow(invalid(/for "t"/))
  expect(boss({ delegate: 3 })).toThrow(invalid(/verbs.delegate is 3/))
  expect(boss({ forward: 'transfer_to_agent' })).toThrow(invalid(/another tool of Reeve's own/))
  expect(boss({ delgate: 'assign' })).toThrow(invalid(/did you mean "delegate"/))
  expect(boss([])).toThrow(invalid(/verbs is a list/))
  const wordless = { name: 'boss', model: scripted('x'), workers: [worker('w')], guidance: 3 as never }
  expect(() => supervisor(wordless)).toThrow(invalid(/guidance is 3, expected a text/))
})

test('verbs under other names delegate, forward, recruit and are permitted by those names', async () => {
  const lead = scripted(
    calls(
      ['hire', { worker: 's', reason: 'needed' }],
      ['assign', { worker: 'w', instructions: 'one' }],
      ['assign_t', { n: 1 }],
    ),
    calls(['assign', { worker: 's', instructions: 'two' }], ['assign', { worker: 't', instructions: 'no' }]),
    calls(['relay', { worker: 's' }]),
  )
  const boss = supervisor({
    name: 'boss',
    model: lead,
    workers: [worker('w'), typed('t')],
    specialists: [worker('s')],
    verbs: { delegate: 'assign', forward: 'relay', recruit: 'hire' },
  })
  const runtime = await runtimeOf([boss])
  const run = await runtime.start(boss, 'go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 's is done' })
  expect(lead.tools[0]!.map(({ name }) => name)).toEqual(['assign', 'assign_t', 'relay', 'hire'])
  expect(lead.tools[0]!.find(({ name }) => name === 'relay')!.description).not.toMatch(/\bdelegate\b/)
  expect(told(lead.prompts[1])).toEqual([expect.stringContaining('"s" has joined'), 'w is done', 't is done'])
  expect(told(lead.prompts[2])).toEqual(['s is done', expect.stringContaining('call assign_t.')])
  expect((await eventsOf(run)).some(({ type }) => type === 'output.forwarded')).toBe(true)
  const denied = await runtime.start(boss, 'go', { permissions: { deny: ['assign'] } })
  await denied.outcome()
  expect(lead.tools.at(-1)!.map(({ name }) => name)).not.toContain('assign')
})

test('what workers answered crosses under another name of the verb, too', async () => {
  const second = scripted('second is done')
  const boss = supervisor({
    name: 'boss',
    model: scripted(
      calls(['assign', { worker: 'w', instructions: 'one' }]),
      calls(['assign', { worker: 'v', instructions: 'two' }]),
      'final',
    ),
    workers: [worker('w'), worker('v', second)],
    delegation: { context: 'answers' },
    verbs: { delegate: 'assign' },
  })
  await (await runtimeOf([boss])).run(boss, 'go')
  expect(JSON.stringify(second.prompts[0])).toContain('w is done')
})

test('several workers at once under another name: their answer crosses, and a lesson knows all of them', async () => {
  const second = scripted('third is done')
  const lessons: Lesson[] = []
  const boss = supervisor({
    name: 'boss',
    model: scripted(
      calls(['ask_all', { workers: ['w', 'v'], instructions: 'one', keep: 2 }]),
      calls(['assign', { worker: 'u', instructions: 'two' }]),
      'final',
    ),
    workers: [worker('w'), worker('v'), worker('u', second)],
    delegation: { context: 'answers', several: true },
    verbs: { delegate: 'assign', several: 'ask_all' },
  })
  const careful = reflect(boss, {
    judge: () => 1,
    memory: { recall: () => [], save: (lesson) => void lessons.push(lesson) },
  })
  expect(await (await runtimeOf([careful])).run(careful, 'go')).toMatchObject({ output: 'final' })
  expect(JSON.stringify(second.prompts[0])).toContain('w is done')
  expect(lessons).toMatchObject([{ workers: ['w', 'v', 'u'] }])
  // a typed worker may be called so that its verb is one that there is already
  expect(() => supervisor({ name: 'boss', model: scripted('x'), workers: [typed('to_several')] })).toThrow(
    invalid(/are both called "delegate_to_several"/),
  )
})

test('the names are part of the version; without any it is what it was', () => {
  const version = (verbs?: { delegate: string }) =>
    supervisor({ name: 'boss', model: 'openai/gpt-5-mini', workers: [worker('w')], ...(verbs && { verbs }) }).version
  expect(version({ delegate: 'assign' })).not.toBe(version())
  expect(version({ delegate: 'assign' })).not.toBe(version({ delegate: 'give' }))
  expect(version({ delegate: 'assign' })).toBe(version({ delegate: 'assign' }))
})

test('delegation 11: guidance with braces, JSON and dollars is untouched; {workers} is the list, once', async () => {
  const lead = scripted('final')
  const guidance =
    'Answer like {"a": {"b": 1}} or {x} or {0}; $& $1 ${y}.\n<team>\n{workers}\n</team>\nAgain {workers} is text.'
  const boss = supervisor({
    name: 'boss',
    instructions: 'Own {workers} {a}.',
    model: lead,
    guidance,
    workers: [
      agent({ name: 'w', description: 'Does $& {workers} {y}.', instructions: 'secret', model: scripted('x') }),
      worker('v'),
    ],
  })
  await (await runtimeOf([boss])).run(boss, 'go')
  expect(systemOf(lead.prompts[0])).toBe(
    'Own {workers} {a}.\n\nAnswer like {"a": {"b": 1}} or {x} or {0}; $& $1 ${y}.\n<team>\n- w: Does $& {workers} {y}.\n- v: Does what v does.\n</team>\nAgain {workers} is text.',
  )
})

test('delegation 11: without {workers} the list follows the guidance; guidance alone stays alone', async () => {
  const lead = scripted('final')
  const boss = supervisor({ name: 'boss', model: lead, guidance: 'Lead {"them"}:', workers: [worker('w')] })
  await (await runtimeOf([boss])).run(boss, 'go')
  expect(systemOf(lead.prompts[0])).toBe('Lead {"them"}:\n- w: Does what w does.')
})

test('delegation 12: instructions and guidance are what they were after a run, also after one that failed', async () => {
  const lead = scripted(delegates(['w', 'one']), new Error('down'), delegates(['w', 'one']), 'final')
  const options = {
    name: 'boss',
    instructions: 'Own.',
    model: lead,
    guidance: 'Team: {workers}.',
    workers: [worker('w')],
  } as const
  const boss = supervisor({ ...options, retry: { attempts: 1 } })
  const before = boss.version
  const runtime = await runtimeOf([boss])
  expect(await runtime.run(boss, 'go')).toMatchObject({ status: 'failed' })
  expect(await runtime.run(boss, 'go')).toMatchObject({ output: 'final' })
  expect(new Set(lead.prompts.map(systemOf))).toEqual(new Set(['Own.\n\nTeam: - w: Does what w does..']))
  expect(boss.version).toBe(before)
  expect(options).toMatchObject({ instructions: 'Own.', guidance: 'Team: {workers}.' })
})
