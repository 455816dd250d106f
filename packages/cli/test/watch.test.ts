/** Commands in this process, with a terminal that remembers: the live tree, the inline question, configs. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../src/program.ts'
import { watchRun } from '../src/watch.ts'
import { agent, createRuntime, supervisor, tool } from '@reeve/public'
import { fakeTerminal, type FakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-watch-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
const clerk = agent({
  name: 'clerk',
  description: 'Pays.',
  tools: [pay],
  model: ({ messages }) => {
    const told = messages.find((message) => message.role === 'tool')
    return told === undefined
      ? { calls: [{ name: 'pay', input: { usd: 3, to: 'x'.repeat(200), note: `first\n\u001b[2Jsecond` } }] }
      : { text: JSON.stringify(told.content) }
  },
})
const boss = supervisor({
  name: 'boss',
  workers: [clerk],
  model: ({ messages }) => {
    const told = messages.find((message) => message.role === 'tool')
    return told === undefined
      ? { calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'pay' } }] }
      : { text: `the clerk says ${JSON.stringify(told.content)}` }
  },
})

async function watched(
  terminal: FakeTerminal,
  more: { readonly yes?: boolean; readonly json?: boolean } = {},
): Promise<number> {
  await using runtime = await createRuntime({ agents: [boss] })
  const run = await runtime.start(boss, 'pay the bill', { runId: 'run_w' })
  return await watchRun(run, {
    terminal,
    json: false,
    where: ' --store x.db',
    interrupted: new AbortController().signal,
    ...more,
  })
}

test('a live terminal shows the tree and asks there and then', async () => {
  const terminal = fakeTerminal({ isLive: true, answers: ['y'] })
  expect(await watched(terminal)).toBe(0)
  expect(terminal.written).toContain('boss › clerk asks to run pay (high risk): "pay" is a sensitive tool')
  expect(terminal.written).toContain('usd: 3')
  expect(terminal.written).toContain(`  to: "${'x'.repeat(93)}\n    │ ${'x'.repeat(94)}`)
  expect(terminal.written).toContain('    │ first')
  expect(terminal.written).toContain('    │ \\u001b[2Jsecond')
  expect(terminal.written).toMatch(/└─ ✓ clerk {2}\d\.\ds/)
  expect(terminal.written).toContain('✓ the clerk says "\\"paid\\""')
})
test('no is no', async () => {
  const terminal = fakeTerminal({ isLive: true, answers: ['no'] })
  expect(await watched(terminal)).toBe(0)
  expect(terminal.written).not.toContain('"paid"')
})
test('what is decided here is not asked for again', async () => {
  const pair = supervisor({
    name: 'pair',
    workers: [clerk],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'both are back' }
        : { calls: ['a', 'b'].map((instructions) => ({ name: 'delegate', input: { worker: 'clerk', instructions } })) },
  })
  await using runtime = await createRuntime({ agents: [pair] })
  const run = await runtime.start(pair, 'pay both')
  const terminal = fakeTerminal({ isLive: true, answers: ['y', ''] })
  expect(await watchRun(run, { terminal, json: false, where: '', interrupted: new AbortController().signal })).toBe(3)
  expect(terminal.written.match(/reeve approve/g)).toHaveLength(1)
})
test('Enter decides later: parked, with the commands to go on', async () => {
  const terminal = fakeTerminal({ isLive: true, answers: [''] })
  expect(await watched(terminal)).toBe(3)
  expect(terminal.written).toMatch(/reeve approve apr_\w+ --store x.db/)
  expect(terminal.written).toContain('reeve resume run_w --store x.db')
})
test('a terminal that is not live gets lines and is not asked', async () => {
  const terminal = fakeTerminal()
  expect(await watched(terminal)).toBe(3)
  expect(terminal.written).toMatch(/\d\d:\d\d:\d\d {2}clerk asks for approval of pay \(apr_\w+\)/)
  expect(terminal.written).not.toContain('\u001b')
})
test('--json is nothing but NDJSON', async () => {
  const terminal = fakeTerminal({ answers: ['y'] })
  expect(await watched(terminal, { json: true, yes: true })).toBe(0)
  const events = terminal.written
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: { type: string } })
  expect(events.at(-1)?.event.type).toBe('activation.settled')
  expect(terminal.notes).toBe('')
})
test('a failed run exits with 1 and says why', async () => {
  const broken = agent({ name: 'broken', run: () => Promise.reject(new Error('no ink')) })
  await using runtime = await createRuntime({ agents: [broken] })
  const terminal = fakeTerminal()
  const run = await runtime.start(broken, 'write')
  expect(await watchRun(run, { terminal, json: false, where: '', interrupted: new AbortController().signal })).toBe(1)
  expect(terminal.notes).toContain('no ink')
})

const front = join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts')
const config = `
import { agent, interrupt, createRuntime } from ${JSON.stringify(front)}
export const store = './own.db'
export const agents = [agent({ name: 'asker', description: 'Asks.', run: (ctx) => interrupt(ctx, 'which?') })]
export const begin = async (): Promise<void> => {
  await using runtime = await createRuntime({ store: new URL(store, import.meta.url).pathname, agents })
  const run = await runtime.start('asker', 'go', { runId: 'run_c' })
  await run.until('waiting')
}
`
const run = (terminal: FakeTerminal, ...args: string[]): Promise<number> =>
  main(args, { terminal, cwd: folder, interrupted: new AbortController().signal, version: '1.2.3' })

test('a config brings the store and the agents', async () => {
  await writeFile(join(folder, 'reeve.config.ts'), config)
  const { begin } = (await import(join(folder, 'reeve.config.ts'))) as { begin: () => Promise<void> }
  await begin()
  const terminal = fakeTerminal()
  expect(await run(terminal, 'runs', '--config', 'reeve.config.ts')).toBe(0)
  expect(terminal.written).toMatch(/run_c {2}waiting/)
  expect(await run(terminal, 'resume', 'run_c')).toBe(3)
  expect(terminal.written).toMatch(
    /Answer with: reeve answer int_\w+ <json or text>\nThen resume it:\n {2}reeve resume run_c\n/,
  )
  expect(await run(terminal, 'cancel', 'run_c', '--config', 'reeve.config.ts')).toBe(0)
  expect(await run(terminal, '--config', 'reeve.config.ts', 'resume', 'run_c')).toBe(4)
})
test.each([
  ['nothing', '', 'exports no `store`'],
  ['a default without agents', "export default { store: 'x.db' }", 'exports no `agents`'],
  ['a syntax error', 'export const = 1', 'could not be loaded'],
])('a config with %s is refused', async (_what, text, said) => {
  await writeFile(join(folder, 'bad.config.ts'), text)
  const terminal = fakeTerminal()
  expect(await run(terminal, '--config', 'bad.config.ts', 'runs')).toBe(2)
  expect(terminal.notes).toContain(said)
})
test('--version and a lonely reeve', async () => {
  const terminal = fakeTerminal()
  expect(await run(terminal, '--version')).toBe(0)
  expect(terminal.written).toBe('1.2.3\n')
  expect(await run(terminal)).toBe(2)
  expect(terminal.notes).toContain('Usage: reeve')
})
