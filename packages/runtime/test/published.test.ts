/** Versions of agents as data: drafted, published, chosen, carried down the tree, and kept by runs that have begun. */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { asText, type Json } from '@reeve/core'
import { parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { code, leadTo } from '../../../test/scenario/control.ts'
import {
  calls,
  delegates,
  eventsOf,
  runtimeOf,
  scripted,
  store,
  waiting,
  type Scripted,
} from '../../../test/scenario/team.ts'

/** Answers with its system text. */
const honest = (request: {
  readonly messages: readonly { readonly role: string; readonly content: Json | readonly unknown[] }[]
}): string => asText((request.messages.find(({ role }) => role === 'system')?.content ?? 'no system text') as Json)
const writer = (more: Partial<Parameters<typeof agent>[0]> & { tools?: unknown; instructions?: string } = {}): Agent =>
  agent({
    name: 'writer',
    description: 'Writes.',
    instructions: 'code',
    model: scripted(honest),
    ...(more as object),
  } as never)
const says = (version: string) => ({ version, instructions: version })
const output = async (
  runtime: Awaited<ReturnType<typeof runtimeOf>>,
  options: object = {},
  root = 'writer',
): Promise<Json> => {
  const outcome = await runtime.run(root, 'go', options)
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return outcome.output
}

describe('which version holds', () => {
  test('only requested ones; a name, a status, the runtime’s choice, the call before it', async () => {
    const file = store()
    const plain = await runtimeOf([writer()], { store: file })
    await plain.versions.publish('writer', says('v1'), { by: 'ann' })
    await plain.versions.publish(writer(), says('v2'))
    await plain.versions.draft('writer', says('v3'))
    expect(await output(plain)).toBe('code')
    expect(await output(plain, { versions: { writer: 'v1' } })).toBe('v1')
    expect(await output(plain, { versions: { writer: { version: 'v3' } } })).toBe('v3')
    expect(await output(plain, { versions: { writer: { status: 'published' } } })).toBe('v2')
    expect(await output(plain, { defaultStatus: 'published' })).toBe('v2')
    expect(await output(plain, { defaultStatus: 'draft' })).toBe('v3')
    await plain.close()
    const runtime = await runtimeOf([writer()], {
      store: file,
      versions: { writer: { status: 'draft' } },
      defaultStatus: 'published',
    })
    expect(await output(runtime)).toBe('v3')
    // delegation 87: draft for the instance, published for the call
    expect(await output(runtime, { versions: { writer: { status: 'published' } } })).toBe('v2')
    expect(
      (await runtime.versions.revisions()).map(({ revision, status, current, by }) => [
        revision.version,
        status,
        current,
        by,
      ]),
    ).toEqual([
      ['v1', 'published', false, 'ann'],
      ['v2', 'published', true, undefined],
      ['v3', 'draft', true, undefined],
    ])
  })

  test('a published version is fixed, a draft may change; by name, drafts and earlier versions can be published', async () => {
    const runtime = await runtimeOf([writer()], { defaultStatus: 'published' })
    await runtime.versions.draft('writer', says('v1'))
    await runtime.versions.draft('writer', { version: 'v1', instructions: 'better' })
    expect(await output(runtime)).toBe('code')
    await runtime.versions.publish('writer', 'v1')
    expect(await output(runtime)).toBe('better')
    await runtime.versions.publish('writer', says('v2'))
    for (const change of [
      () => runtime.versions.publish('writer', says('v1')),
      () => runtime.versions.draft('writer', says('v2')),
    ])
      await expect(change()).rejects.toMatchObject({ code: 'version.conflict' })
    await runtime.versions.publish('writer', 'v1')
    expect(await output(runtime)).toBe('better')
    expect(await runtime.versions.published()).toMatchObject([{ agent: 'writer', revision: { version: 'v1' } }])
    await expect(runtime.versions.publish('writer', 'v9')).rejects.toMatchObject({ code: 'version.unknown' })
  })

  test('two that publish at once both count, in one order', async () => {
    const runtime = await runtimeOf([writer()])
    await Promise.all(['v1', 'v2', 'v3', 'v4'].map((version) => runtime.versions.publish('writer', says(version))))
    const kept = await runtime.versions.revisions({ agent: 'writer' })
    expect(kept.map(({ revision }) => revision.version).toSorted()).toEqual(['v1', 'v2', 'v3', 'v4'])
    expect(kept.filter(({ current }) => current)).toHaveLength(1)
  })

  test('delegation 87: an unknown version warns and runs the code, or fails the start and lists the known ones', async () => {
    const warns = await runtimeOf([writer()], { onUnknownVersion: 'warn' })
    await warns.versions.publish('writer', says('v1'))
    const run = await warns.start('writer', 'go', { versions: { writer: 'v7' } })
    expect(await run.outcome()).toMatchObject({ output: 'code' })
    expect((await eventsOf(run)).filter(({ type }) => type === 'fact.noted')).toMatchObject([
      { name: 'version.unknown', data: { agent: 'writer', asked: 'v7', known: ['v1'] } },
    ])
    const strict = await runtimeOf([writer()])
    await strict.versions.publish('writer', says('v1'))
    const refused = strict.start('writer', 'go', { versions: { writer: 'v7' }, runId: 'refused' })
    await expect(refused).rejects.toMatchObject({
      code: 'version.unknown',
      message: 'unknown version "v7" of "writer"; known: v1',
    })
    expect(await strict.runs()).toEqual([])
  })

  test('what makes no sense is refused, and nothing is kept or started', async () => {
    const runtime = await runtimeOf([
      writer({ tools: [tool({ name: 'look', execute: () => 1 })] }),
      code('plain', () => 'x'),
    ])
    const wrong: readonly [object, string][] = [
      [{ version: '' }, 'version is'],
      [{ version: 'v', instruction: 'x' }, 'did you mean "instructions"?'],
      [{ version: 'v', model: 'nonsense' }, 'is not a model id'],
      [{ version: 'v', tools: ['jump'] }, '"jump" is no tool of it; its tools are: look'],
      [{ version: 'v', limits: { turns: -1 } }, 'turns'],
    ]
    for (const [revision, message] of wrong)
      await expect(runtime.versions.publish('writer', revision as never)).rejects.toMatchObject({
        code: 'input.invalid',
        message: expect.stringContaining(message) as never,
      })
    await expect(runtime.versions.publish('plain', says('v1'))).rejects.toThrow('is for agents that think with a model')
    expect(await runtime.versions.revisions()).toEqual([])
    for (const options of [
      { versions: { nobody: 'v1' } },
      { versions: { writer: {} } },
      { versions: { writer: { status: 'old' } } },
      { defaultStatus: 'old' },
    ])
      await expect(runtime.start('writer', 'go', options as never)).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(runtimeOf([writer()], { versions: { writer: 7 } as never })).rejects.toMatchObject({
      code: 'config.invalid',
    })
  })
})

describe('what a version changes', () => {
  test('tools, turns and instructions; what leaders add stays', async () => {
    const model = scripted(calls(['look', {}]), calls(['look', {}]), 'end')
    const looks = tool({ name: 'look', execute: () => 'seen' })
    const runtime = await runtimeOf([
      writer({ model: model as never, tools: [looks, tool({ name: 'jump', execute: () => 'high' })] }),
    ])
    await runtime.versions.publish('writer', {
      version: 'v1',
      tools: ['look'],
      limits: { turns: 1 },
      settings: { temperature: 0 },
    })
    expect(await runtime.run('writer', 'go', { versions: { writer: 'v1' } })).toMatchObject({
      status: 'limited',
      limit: 'turns',
    })
    expect(model.tools.map((list) => list.map(({ name }) => name))).toEqual([['look']])
  })

  test('the version of the code: root, workers and members begin with the one that it stands on', async () => {
    const old = writer({ version: '1', instructions: 'old code' })
    const now = writer({ version: '2', instructions: 'new code' })
    const lead = (): Scripted =>
      scripted(({ messages }) =>
        messages.at(-1)!.role === 'tool' ? asText(messages.at(-1)!.content) : delegates(['writer', 'x']),
      )
    const rootsOf = (member: Agent): Agent[] => [
      supervisor({ name: 'lead', model: lead(), workers: [member] }),
      sequential({ name: 'line', agents: [member] }),
    ]
    const runtime = await runtimeOf([now, ...rootsOf(now)], { earlier: [old] })
    for (const root of ['writer', 'lead', 'line']) {
      expect(await output(runtime, { versions: { writer: '1' } }, root)).toBe('old code')
      expect(await output(runtime, {}, root)).toBe('new code')
    }
    await runtime.versions.publish('writer', { version: 'v2', base: '1', settings: { temperature: 1 } })
    const run = await runtime.start('lead', 'go', { versions: { writer: 'v2' } })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect((await run.view()).activations.find(({ agent: name }) => name === 'writer')?.version).toBe(old.version)
  })

  test('it reaches all agents below: nested leaders, flows, routers, agents as tools', async () => {
    const shared = writer()
    const echoes = (request: { readonly messages: readonly { readonly content: unknown }[] }): string =>
      asText(request.messages.at(-1)!.content as Json)
    const inner = supervisor({
      name: 'inner',
      description: 'Leads.',
      model: scripted(delegates(['writer', 'x']), echoes),
      workers: [shared],
    })
    const both = parallel({ name: 'both', description: 'Both.', agents: [inner] })
    const top = supervisor({ name: 'top', model: scripted(delegates(['both', 'x']), echoes), workers: [both] })
    const desk = router({ name: 'desk', model: leadTo('writer'), workers: [shared] })
    const runtime = await runtimeOf([top, desk])
    await runtime.versions.publish('writer', says('v1'))
    expect(await output(runtime, { versions: { writer: 'v1' } }, 'top')).toContain('v1')
    const run = await runtime.start('desk', 'go', { versions: { writer: 'v1' } })
    await run.outcome()
    const said: string[] = []
    for await (const each of run.messages()) if (each.type === 'assistant') said.push(each.text)
    expect(said).toContain('v1')
  })
})

test('delegation 88: a waiting run keeps its first version, in another process too', async () => {
  const file = store()
  const make = (): Agent =>
    supervisor({
      name: 'lead',
      instructions: 'lead code',
      model: scripted((request) =>
        request.messages.some(({ role }) => role === 'tool')
          ? `${honest(request).split('\n')[0]}: ${asText(request.messages.at(-1)!.content)}`
          : delegates(['asker', 'x'], ['writer', 'y']),
      ),
      workers: [code('asker', async (ctx) => (await interrupt(ctx, 'well?')) as string), writer()],
    })
  const before = await runtimeOf([make()], { store: file })
  await before.versions.publish('lead', says('lead v1'.replace(' ', '-')))
  await before.versions.publish('writer', says('v1'))
  const run = await before.start('lead', 'go', { defaultStatus: 'published', runId: 'r' })
  await waiting(run)
  await before.versions.publish('lead', says('lead-v2'))
  await before.versions.publish('writer', says('v2'))
  // the same start again is the same run
  await before.start('lead', 'go', { defaultStatus: 'published', runId: 'r' })
  await expect(before.start('lead', 'go', { defaultStatus: 'draft', runId: 'r' })).rejects.toMatchObject({
    code: 'run.conflict',
  })
  await before.close()
  const runtime = await runtimeOf([make()], { store: file, defaultStatus: 'published' })
  const again = runtime.handle('r')
  await again.answer({ interruptId: (await waiting(again)).questions[0]!.id, value: 'yes' })
  expect(await again.outcome()).toMatchObject({ output: 'lead-v1: v1' })
  await runtime.remove('r')
  expect(await runtime.versions.published()).toHaveLength(2)
})
