/** Runs that no process drives: how commands show them, and which command continues them. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { spawnSync } from 'node:child_process'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../src/program.ts'
import { fakeTerminal } from './fake-terminal.ts'
import { lines } from './command.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-undriven-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const index = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))

/** Writes the team: `pay` has these options. */
const team = (name: string, pay: string): Promise<void> =>
  writeFile(
    join(folder, name),
    `import { agent, supervisor, tool } from ${index}
const pay = tool({ name: 'pay', description: 'Pays.', effect: 'once', ${pay} })
const clerk = agent({ name: 'clerk', description: 'Pays.', tools: [pay], model: ({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { usd: 5 } }] } })
export const boss = supervisor({ name: 'boss', workers: [clerk], model: ({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'Pay.' } }] } })
export const store = './own.db'
export const agents = [boss]
`,
  )

/** Runs a program that starts `boss` from this file as run `p1`, then does this. */
const program = (file: string, then: string): ReturnType<typeof spawnSync> =>
  spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { createRuntime } from ${index}
import { agents, boss } from './${file}'
await using runtime = await createRuntime({ store: 'own.db', agents })
const run = await runtime.start(boss, 'Go', { runId: 'p1' })
${then}`,
    ],
    { cwd: folder, encoding: 'utf8' },
  )

async function reeve(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const interrupted = new AbortController().signal
  const code = await main(args, { terminal, cwd: folder, interrupted, version: '1.2.3' })
  return { code, out: terminal.written, err: terminal.notes }
}

/** What `reeve watch` shows once this is on its screen. */
async function watched(text: string, ...args: string[]): Promise<string> {
  let shown = ''
  const screen = { draw: (lines: readonly string[]) => void (shown = lines.join('\n')), leave: () => undefined }
  const terminal = { ...fakeTerminal({ isLive: true, answers: [''] }), takeScreen: () => screen }
  const left = new AbortController()
  const ended = main(['watch', ...args], { terminal, cwd: folder, interrupted: left.signal, version: '1.2.3' })
  await vi.waitFor(() => expect(shown).toContain(text), { timeout: 20_000 })
  left.abort()
  await ended
  return shown
}

test('a killed run is shown as left, with the command; resume drives it and sends nothing; a doubt is settled', async () => {
  await team('reeve.config.ts', "execute: () => process.kill(process.pid, 'SIGKILL')")
  expect(program('reeve.config.ts', 'await run.outcome()').signal).toBe('SIGKILL')
  const undriven = 'no process drives it: reeve resume p1\n'
  // its lease is over
  await vi.waitFor(async () => expect((await reeve('runs')).out).toContain(undriven), {
    timeout: 20_000,
    interval: 200,
  })
  const left = (await reeve('show', 'p1')).out
  expect(left).toMatch(/· boss .*\n└─ · clerk .* pay\nrunning: d1 \(clerk\)\n/)
  expect(left).toContain(undriven)
  const screen = await watched(undriven.trim(), 'p1')
  expect(screen).toMatch(/· boss .*\n└─ · clerk /)
  expect(await watched('no process drives it')).toMatch(/running {2}boss {2}p1 {2}\S+ {2}no process drives it/)
  expect(left).not.toContain('reeve stop')

  const resumed = await reeve('resume', 'p1')
  expect(resumed).toMatchObject({ code: 3, err: '' })
  expect(resumed.out).toMatch(
    /clerk: unknown whether pay happened \(int_\w+\)[^]*Then resume it:\n {2}reeve resume p1\n/,
  )
  const [id] = /int_\w+/.exec(resumed.out)!
  const settle = `  reeve settle ${id} --happened yes|no\n`
  expect((await reeve('show', 'p1')).out).toContain(`in-doubt: pay with usd: 5 (${id})\n${settle}`)
  const asked = (await reeve('questions')).out
  expect(asked).toContain(`${id}  in-doubt  p1 boss/clerk: pay with usd: 5\n`)
  expect(asked).toContain(settle)
  const wrong = await reeve('approve', id)
  expect(wrong).toMatchObject({ code: 2, out: '' })
  expect(wrong.err).toContain(`"${id}" is an effect in doubt, not an approval\n  Settle it with: ${settle.trim()}`)
  expect((await reeve('runs')).out).not.toContain('no process')

  expect((await reeve('settle', id, '--happened', 'yes', '--value', '"by hand"')).code).toBe(0)
  const settled = (await reeve('show', 'p1')).out
  expect(settled).toContain('in-doubt: pay with usd: 5: settled, not yet read by the run\n')
  expect(settled).toContain(undriven)
  expect((await reeve('runs', '--why')).out).toContain(undriven)
  expect(await reeve('resume', 'p1')).toMatchObject({ code: 0, err: '' })
  expect((await reeve('events', 'p1')).out).toContain('clerk: pay is settled as happened: "by hand"\n')
  const types = lines((await reeve('events', 'p1', '--json')).out).map(({ event }) => (event as { type: string }).type)
  expect(types).toContain('activation.settled')
  expect(types).not.toContain('control.ignored')
})

test('an expired approval is marked, without a command to approve; without a config the program drives the run', async () => {
  await team('team.ts', "approval: { timeoutMs: 1_000, risk: 'low' }, execute: () => 'paid'")
  expect(program('team.ts', "await run.until('waiting')").status).toBe(0)
  const command = 'reeve resume p1 --config <file>\n'
  await vi.waitFor(async () => expect((await reeve('questions')).out).toContain('expired'), { timeout: 20_000 })
  const { out } = await reeve('questions')
  expect(out).toMatch(/, expired 20\S+Z: it continues with "reject" when the run is driven\n {2}reeve resume p1/)
  expect(out).not.toContain('reeve approve')
  const shown = (await reeve('show', 'p1')).out
  expect(shown).toMatch(/apr_\w+ pay with usd: 5: expired 20\S+Z: it continues with "reject" when the run is driven\n/)
  expect(shown).toContain(`no process drives it: run your program again, or ${command}`)
  expect(shown).not.toContain('reeve approve')
  expect((await reeve('runs', '--why')).out).toMatch(/, expired 20\S+Z\n.*no process drives it: /)
  const screen = await watched('expired 20', 'p1')
  expect(screen).toMatch(/expired 20\S+Z: it continues with "reject" when the run is driven\n/)
  expect(screen).toContain(`no process drives it: run your program again, or ${command}`)
  expect(screen).not.toContain('a approve')
  expect(await watched('expired')).toMatch(/boss › clerk asks to run pay .* approval expired {2}p1 /)
  const [id] = /apr_\w+/.exec(out)!
  const late = await reeve('approve', id)
  expect(late).toMatchObject({ code: 2, out: '' })
  expect(late.err).toContain('The run continues as its onTimeout says ("reject") when it is driven.')
  expect(late.err).toContain(command)
  const resumed = await reeve('resume', 'p1')
  expect(resumed).toMatchObject({ code: 2, out: '' })
  expect(resumed.err).toMatch(/no reeve\.config\.ts and no agents\/ in this folder[^]*Run your program again/)
})

test('a tool call that failed for good is seen after the run has gone on without it', async () => {
  await team('reeve.config.ts', "execute: () => { throw new Error('disk on fire') }")
  expect(program('reeve.config.ts', 'await run.outcome()').status).toBe(0)
  expect((await reeve('show', 'p1')).out).toContain('failed call: pay (clerk) failed: disk on fire\n')
  expect((await reeve('events', 'p1')).out).toContain('clerk: pay failed: disk on fire\n')
})
