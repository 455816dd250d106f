/** What a run asks, as commands show it and answer it: the exact arguments, and what was answered. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { argumentsLine } from '@reeve/core'
import { main } from '../src/program.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '@reeve/public'
import type { Engine } from '../../public/src/engine.ts'
import { fakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-asking-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const source = (path: string): string => JSON.stringify(join(import.meta.dirname, '..', '..', path))
const makers = {
  embedded: `import { createEmbeddedEngine } from ${source('sqlite/src/index.ts')}
export const engine = () => createEmbeddedEngine({ file: new URL('./own.db', import.meta.url).pathname })`,
  adversarial: `import { adversarialEngine } from ${source('contract/src/index.ts')}
import { MemoryStore } from ${source('engine/src/memory/store.ts')}
const store = new MemoryStore({})
export const engine = () => adversarialEngine({ store })`,
}
const agents = `
import { agent, interrupt, supervisor, tool } from ${source('public/src/index.ts')}
const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
const wants = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
export const agents = [
  agent({ name: 'clerk', description: 'Pays.', tools: [pay], model: ({ messages }) => messages.some(({ role }) => role === 'tool')
    ? { text: 'Done.' } : { calls: [{ name: 'pay', input: { note: 'x'.repeat(300), usd: 3 } }] } }),
  agent({ name: 'asker', description: 'Asks.', run: (ctx) => interrupt(ctx, 'Which one?') }),
  supervisor({ name: 'lead', workers: [agent({ name: 'asked', description: 'Asks.', run: (ctx) => interrupt(ctx, 'Which one?') })],
    model: ({ messages }) => messages.some(({ role }) => role === 'tool') ? { text: 'Done.' } : { calls: [{ name: 'delegate', input: { worker: 'asked', instructions: 'Go.' } }] } }),
  agent({ name: 'strict', description: 'Asks for a city.', run: (ctx) => interrupt(ctx, 'Which city?', { schema: wants }) }),
]
`
interface Config {
  readonly engine: () => Engine
  readonly agents: NonNullable<RuntimeOptions['agents']>
}
async function given(maker: keyof typeof makers): Promise<Config> {
  await writeFile(join(folder, 'reeve.config.ts'), makers[maker] + agents)
  return (await import(join(folder, 'reeve.config.ts'))) as Config
}
const worker = ({ engine, agents: all }: Config): Promise<Runtime> => createRuntime({ engine: engine(), agents: all })

/** Drives the run until it waits or has ended, and leaves it. Resolves to the id of what it asks. */
async function driven(config: Config, name?: string): Promise<string | undefined> {
  await using runtime = await worker(config)
  const run = name === undefined ? runtime.handle('run_q') : await runtime.start(name, 'go\nthere', { runId: 'run_q' })
  const state = await run.until('waiting')
  return 'waiting' in state ? state.questions[0]!.id : undefined
}
const where = ['--config', 'reeve.config.ts']
async function reeve(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const code = await main(args.includes('--config') ? args : [...args, ...where], {
    terminal,
    cwd: folder,
    interrupted: new AbortController().signal,
    version: '1.2.3',
  })
  return { code, out: terminal.written, err: terminal.notes }
}

const long = `note: "${'x'.repeat(119)}… (302 characters), usd: 3`

describe.each(['embedded', 'adversarial'] as const)('on an engine (%s)', (maker) => {
  test('open delegations are listed with what stops them, and one is stopped; the run goes on', async () => {
    const config = await given(maker)
    await driven(config, 'lead')
    expect((await reeve('show', 'run_q')).out).toContain(
      'waiting: d1 (asked)    (reeve stop run_q d1 --config reeve.config.ts)\n',
    )
    expect(await reeve('stop', 'run_q', 'd7')).toMatchObject({
      code: 2,
      err: expect.stringContaining('unknown delegation "d7"') as string,
    })
    expect(await reeve('stop', 'run_q', 'd1', '--reason', 'too slow')).toMatchObject({
      code: 0,
      out: 'Asked the leader of d1 to stop it. The run run_q continues.\n',
    })
    await using runtime = await worker(config)
    expect(await runtime.handle('run_q').outcome()).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(await runtime.handle('run_q').delegations()).toMatchObject([
      { label: 'd1', status: 'cancelled', outcome: { reason: `stopped by ${userInfo().username}: too slow` } },
    ])
  })

  test('who approves sees what; the end is told', async () => {
    const config = await given(maker)
    const id = await driven(config, 'clerk')
    const asked = await reeve('show', 'run_q')
    expect(asked.out).toContain('input: "go\\nthere"\n')
    expect(asked.out).toContain(`asks: pay with ${long}\n  high risk: "pay" is a sensitive tool\n  reeve approve ${id}`)
    expect(asked.out).toContain('waits for approval of pay')
    expect((await reeve('events', 'run_q')).out).toContain(
      `clerk asks for approval of pay (${id}): "pay" is a sensitive tool; with ${long}\n`,
    )
    expect((await reeve('approve', id!, '--approver', 'ann')).code).toBe(0)
    await driven(config)
    const ended = (await reeve('show', 'run_q')).out
    expect(ended).toContain(`${id} pay with ${long}: approved by ann\n`)
    expect(ended).toContain('output: "Done."\n')
  })

  test('an interrupt is answered with JSON or a text, and that has a line', async () => {
    const config = await given(maker)
    const id = await driven(config, 'asker')
    expect((await reeve('show', 'run_q')).out).toContain(
      `asks (${id}): "Which one?"\n  reeve answer ${id} <json or text> --config reeve.config.ts\n`,
    )
    const said = await reeve('answer', id!, '{"n": 1}', '--by', 'ann')
    expect(said).toMatchObject({ code: 0, err: '' })
    expect(said.out).toContain(`Answered ${id}.`)
    expect(said.out).toContain('reeve work')
    expect(await reeve('answer', id!, 'again')).toMatchObject({ code: 2, out: '' })
    await driven(config)
    expect((await reeve('events', 'run_q')).out).toContain(`interrupt ${id} answered by ann: {"n":1}\n`)
    const ended = (await reeve('show', 'run_q')).out
    expect(ended).toContain(`${id} "Which one?": answered by ann: {"n":1}\n`)
    expect(ended).toContain('output: {"n":1}\n')
  })

  test('a wrong answer is asked again under a new id, with the problem', async () => {
    const config = await given(maker)
    const first = await driven(config, 'strict')
    await reeve('answer', first!, 'Riga')
    const second = await driven(config)
    expect(second).not.toBe(first)
    expect((await reeve('show', 'run_q')).out).toMatch(
      /asks \(int_\w+\): \{"question":"Which city\?","problem":"the last answer does not fit/,
    )
    await reeve('answer', second!, '{"city":"Riga"}', '--by', 'ann')
    expect(await driven(config)).toBeUndefined()
    const told = (await reeve('events', 'run_q')).out
    expect(told).toMatch(new RegExp(`interrupt ${first} answered by .+: "Riga"\\n`)) // the user of this process
    expect(told).toContain(`interrupt ${second} answered by ann: {"city":"Riga"}\n`)
  })
})

describe('reeve answer', () => {
  test.each([
    ['Riga', [], 'Riga'],
    ['"Riga"', [], 'Riga'],
    ['120', [], 120],
    ['-120', [], -120],
    ['null', [], null],
    ['120', ['--text'], '120'],
    ['"Riga"', ['--text'], '"Riga"'],
    ['', [], ''],
  ])('%j %j gives %j', async (text, more, value) => {
    const config = await given('embedded')
    const id = await driven(config, 'asker')
    expect(await reeve('answer', id!, text, ...more)).toMatchObject({ code: 0 })
    await using runtime = await worker(config)
    expect(await runtime.handle('run_q').outcome()).toMatchObject({ status: 'completed', output: value })
  })

  test('in a store: what was left goes on with resume', async () => {
    const config = await given('embedded')
    const id = await driven(config, 'asker')
    await writeFile(join(folder, 'reeve.config.ts'), `export const store = './own.db'\n${agents}\n// a store now`)
    const said = await reeve('--config', './reeve.config.ts', 'answer', id!, 'this', '--store', 'own.db')
    expect(said.out).toContain('continue the run with:\n  reeve resume run_q --store own.db --config ./reeve.config.ts')
  })

  test('a missing value, and an unknown flag, are refused', async () => {
    const config = await given('embedded')
    const id = await driven(config, 'clerk')
    const approval = await reeve('answer', id!, 'yes')
    expect(approval).toMatchObject({ code: 2, out: '' })
    expect(approval.err).toContain(`Decide with: reeve approve ${id}`)
    const unknown = await reeve('answer', 'int_x', 'yes')
    expect(unknown.code).not.toBe(0)
    expect(unknown.err).toContain('unknown interrupt "int_x"')
    expect((await reeve('--help')).out).toContain('answer')
  })
})

test('arguments on one line: none, no object, and nothing that redraws a terminal', () => {
  expect(argumentsLine({})).toBe('no arguments')
  expect(argumentsLine([1, 2])).toBe('[1,2]')
  expect(argumentsLine({ 'a\u001b[2J': 'b\u009b2J\n' })).toBe(String.raw`"a\u001b[2J": "b\u009b2J\n"`)
})
