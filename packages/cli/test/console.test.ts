/** `reeve watch`: at a real terminal (a pty of 80×24), for two approvers at once, and where there is no terminal. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { watch } from '../src/command/watch.ts'
import { ConsoleSession } from '../src/console/session.ts'
import { agent, createRuntime, interrupt, ReeveError, tool, type Runtime } from '@reeve/public'
import { fakeTerminal } from './fake-terminal.ts'
import { screenOf } from './screen.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-console-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const paid: unknown[] = []
const pay = tool({ name: 'pay', sensitive: true, execute: (input) => (paid.push(input), 'paid') })
const clerk = agent({
  name: 'clerk',
  tools: [pay],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'done' : { calls: [{ name: 'pay', input: { to: 'ann', amount: 10 } }] },
})
const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => interrupt(ctx, 'How much?') })
const agents = [clerk, asks]
const storeHere = (): string => join(folder, 'x.db')
const opened = (): Promise<Runtime> => createRuntime({ store: storeHere(), agents })

const main = join(import.meta.dirname, '..', 'src', 'main.ts')
const reeve = [process.execPath, '--no-warnings', main]
/** Gives a command a terminal of 80×24; says at its end whether the terminal echoes and reads lines as before. */
const harness = `import os, pty, sys, struct, fcntl, termios, select
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
sys.stderr.write('pid %d\\n' % pid); sys.stderr.flush()
open_in = True
while True:
    ready, _, _ = select.select([fd] + ([0] if open_in else []), [], [])
    if fd in ready:
        try: data = os.read(fd, 65536)
        except OSError: break
        if not data: break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if data: os.write(fd, data)
        else: open_in = False
flags = termios.tcgetattr(fd)[3]
_, status = os.waitpid(pid, 0)
sys.stderr.write('restored %s\\n' % bool(flags & termios.ECHO and flags & termios.ICANON))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`

class AtTerminal {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly ended: Promise<number | null>
  out = ''
  err = ''

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}, command = reeve) {
    this.#child = spawn('python3', ['-c', harness, ...command, ...args], {
      cwd: folder,
      env: { ...process.env, TERM: 'xterm', EDITOR: '', VISUAL: '', NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child.stdout.setEncoding('utf8').on('data', (piece: string) => (this.out += piece))
    this.#child.stderr.setEncoding('utf8').on('data', (piece: string) => (this.err += piece))
    this.ended = new Promise((resolve) => this.#child.on('close', resolve))
  }

  get screen(): readonly string[] {
    return screenOf(this.out, 80)
  }
  press(keys: string): void {
    this.#child.stdin.write(keys)
  }
  async shows(text: string): Promise<void> {
    await vi.waitFor(() => this.#mustShow(text), { timeout: 20_000 })
  }
  /** Presses a key until it has had its effect: one that comes too early is not taken. */
  async pressUntil(key: string, text: string): Promise<void> {
    const pressed = (): void => {
      try {
        this.#mustShow(text)
      } catch (thrown) {
        this.press(key)
        throw thrown
      }
    }
    await vi.waitFor(pressed, { timeout: 20_000, interval: 600 })
  }
  /** Opens a prompt with nothing typed: a key that was pressed once more than needed would stand in it. */
  async openPrompt(key: string, label: string): Promise<void> {
    await this.pressUntil(key, label)
    this.press('\u001b')
    await vi.waitUntil(() => !this.screen.join('\n').includes(label), { timeout: 20_000 })
    this.press(key)
    await this.shows(label)
  }
  #mustShow(text: string): void {
    if (!this.screen.join('\n').includes(text)) throw new Error(`no "${text}" on:\n${this.screen.join('\n')}`)
  }
  /** A signal to the command itself. */
  kill(signal: NodeJS.Signals): void {
    process.kill(Number(/pid (\d+)/.exec(this.err)![1]), signal)
  }
}

const givenBack = '\u001b[?25h\u001b[?1049l'

describe('at a terminal of 80×24', () => {
  test('the list, the run, an approval with `a`; the screen fits and is given back', { timeout: 60_000 }, async () => {
    paid.length = 0
    await using runtime = await opened()
    const run = await runtime.start(clerk, 'Go', { runId: 'run_t' })
    await run.until('waiting')
    const terminal = new AtTerminal(['watch', '--store', storeHere()])
    await terminal.shows('1 waiting, 1 open run')
    await terminal.shows('> ? clerk asks to run pay')
    expect(terminal.screen.length).toBeLessThanOrEqual(24)
    expect(terminal.screen.filter((line) => line.length > 80)).toEqual([])
    terminal.press('\r')
    await terminal.shows('amount: 10')
    await terminal.pressUntil('a', '✓ Approved apr_')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    await terminal.shows('run_t  completed')
    expect(paid).toEqual([{ to: 'ann', amount: 10 }])
    terminal.press('q')
    expect(await terminal.ended).toBe(0)
    expect(terminal.out.endsWith(givenBack)).toBe(true)
    expect(terminal.err).toContain('restored True')
    // eslint-disable-next-line no-control-regex
    expect(terminal.out).not.toMatch(/\u001b\[\d*m/)
  })

  const waiting = async (runtime: Runtime, runId: string) => {
    const run = await runtime.start(clerk, 'Go', { runId })
    await run.until('waiting')
    return run
  }
  const watching = async (runId: string, env?: Readonly<Record<string, string>>): Promise<AtTerminal> => {
    const terminal = new AtTerminal(['watch', runId, '--store', storeHere()], env)
    await terminal.shows('amount: 10')
    return terminal
  }

  test('arguments are edited in the last line, or in $EDITOR', { timeout: 60_000 }, async () => {
    paid.length = 0
    await using runtime = await opened()
    const edited = await waiting(runtime, 'run_e')
    const line = await watching('run_e')
    await line.openPrompt('e', 'Edit the arguments')
    line.press('\u007f'.repeat(3))
    await line.shows('"amount": _')
    line.press('25}')
    await line.shows('"amount": 25}_')
    line.press('\r')
    await line.shows('run_e  completed')
    expect(await edited.outcome()).toMatchObject({ status: 'completed' })
    line.press('q')
    expect(await line.ended).toBe(0)

    const script = join(folder, 'editor.sh')
    await writeFile(script, `sed -i 's/10/30/' "$1"\n`)
    const inEditor = await waiting(runtime, 'run_f')
    const editor = await watching('run_f', { EDITOR: `sh ${script}` })
    await editor.pressUntil('e', 'Approved with edited arguments')
    expect(await inEditor.outcome()).toMatchObject({ status: 'completed' })
    editor.press('q')
    await editor.ended
    expect(paid).toEqual([
      { to: 'ann', amount: 25 },
      { to: 'ann', amount: 30 },
    ])
  })

  test('a request is rejected with a reason', { timeout: 60_000 }, async () => {
    await using runtime = await opened()
    const run = await waiting(runtime, 'run_r')
    const terminal = await watching('run_r')
    await terminal.openPrompt('r', 'Reject. Reason')
    terminal.press('too much')
    await terminal.shows('> too much_')
    terminal.press('\r')
    await terminal.shows('Rejected apr_')
    await run.outcome()
    expect((await run.view()).approvals).toMatchObject([{ resolution: 'rejected' }])
    expect(JSON.stringify(await runtime.audit(run.id))).toContain('too much')
    terminal.press('q')
    await terminal.ended
  })

  test('a run is paused, resumed, and cancelled once that is confirmed', { timeout: 60_000 }, async () => {
    paid.length = 0
    await using runtime = await opened()
    const run = await waiting(runtime, 'run_c')
    const terminal = await watching('run_c')
    terminal.press('p')
    await terminal.shows('Asked the run to pause.')
    await expect.poll(async () => (await run.view()).pause, { timeout: 10_000 }).toBeDefined()
    terminal.press('u')
    await terminal.shows('Asked the run to resume.')
    for (const [said, shown] of [
      ['no', 'Not cancelled.'],
      ['yes', 'run_c  cancelled'],
    ] as const) {
      terminal.press('c')
      await terminal.shows('Type yes:')
      terminal.press(said)
      await terminal.shows(`> ${said}_`)
      terminal.press('\r')
      await terminal.shows(shown)
    }
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    terminal.press('q')
    expect(await terminal.ended).toBe(4)
    expect(paid).toEqual([])
  })

  test('a signal gives the terminal back; a paste decides nothing', { timeout: 60_000 }, async () => {
    await using runtime = await opened()
    const run = await runtime.start(clerk, 'Go', { runId: 'run_k' })
    await run.until('waiting')
    const terminal = new AtTerminal(['watch', 'run_k', '--store', storeHere()])
    await terminal.shows('amount: 10')
    terminal.press('aaaa')
    for (const piece of ['\u001b[200~yes, ', 'a', '\u001b[201~']) terminal.press(piece)
    await terminal.openPrompt('r', 'Reject. Reason')
    for (const piece of ['\u001b[200~too\r', 'much\u001b[20', '1~!']) terminal.press(piece)
    await terminal.shows('> too much!_')
    await runtime.start(asks, 'Go', { runId: 'run_other' })
    terminal.kill('SIGTERM')
    expect(await terminal.ended).toBe(130)
    expect(terminal.out).toContain(givenBack)
    expect(terminal.err).toContain('restored True')
    expect(await runtime.approvals()).toHaveLength(1)
  })
})

describe('a request whose end was not shown', () => {
  const long = agent({
    name: 'long',
    tools: [pay],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'done'
        : {
            calls: [
              {
                name: 'pay',
                input: { wide: 'x'.repeat(100), text: Array.from({ length: 50 }, (_, i) => `line ${i}`).join('\n') },
              },
            ],
          },
  })

  test('is not approved, though it was chosen in the list; PgDn shows it', { timeout: 60_000 }, async () => {
    await using runtime = await createRuntime({ store: storeHere(), agents: [long] })
    const run = await runtime.start(long, 'Go', { runId: 'run_long' })
    await run.until('waiting')
    const terminal = new AtTerminal(['watch', '--store', storeHere()])
    await terminal.shows('> ? long asks to run pay')
    terminal.press('\r')
    await terminal.shows('line 1')
    // the last column, too
    expect(terminal.screen).toContain(`  wide: "${'x'.repeat(71)}`)
    await terminal.pressUntil('a', 'scroll to its end first')
    expect((await runtime.approvals())[0]).not.toHaveProperty('answered')
    expect((await run.view()).outcome).toBeUndefined()
    await terminal.pressUntil('\u001b[6~', 'line 49')
    await terminal.pressUntil('\u001b[6~', '── request ──')
    await terminal.pressUntil('a', '✓ Approved')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    // what is typed to continue it finds the store again
    expect(terminal.screen.join('').replaceAll(/\s*│ /g, '')).toContain(`--store ${storeHere()}`)
    terminal.press('q')
    await terminal.ended
  })
})

describe('signals of a terminal', () => {
  test('Ctrl-Z stops it and gives the terminal back; fg goes on', { timeout: 60_000 }, async () => {
    await using runtime = await opened()
    const run = await runtime.start(clerk, 'Go', { runId: 'run_z' })
    await run.until('waiting')
    const shell = new AtTerminal([], { PS1: '$ ' }, ['bash', '--norc', '--noprofile', '-i'])
    shell.press(`${reeve.join(' ')} watch run_z --store ${storeHere()}\n`)
    await shell.shows('amount: 10')
    shell.press('\u001a')
    await vi.waitFor(() => expect(shell.out).toContain('Stopped'), { timeout: 20_000 })
    const stopped = shell.out.lastIndexOf('Stopped')
    expect(shell.out.slice(0, stopped)).toContain(givenBack)
    shell.press('fg\n')
    await vi.waitFor(() => expect(shell.out.slice(stopped)).toContain('amount: 10'), { timeout: 20_000 })
    await shell.pressUntil('a', '✓ Approved apr_')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    shell.press('q')
    await vi.waitFor(() => expect(shell.out.slice(stopped)).toContain(givenBack), { timeout: 20_000 })
    shell.press('exit\n')
    await shell.ended
    expect(shell.err).toContain('restored True')
  })

  test('Ctrl-C in the editor is the editor’s', { timeout: 60_000 }, async () => {
    await using runtime = await opened()
    const run = await runtime.start(clerk, 'Go', { runId: 'run_i' })
    await run.until('waiting')
    const script = join(folder, 'editor.sh')
    await writeFile(script, `trap 'sed -i s/10/77/ "$1"; exit 0' INT\necho editing\nwhile :; do sleep 0.1; done\n`)
    const terminal = new AtTerminal(['watch', 'run_i', '--store', storeHere()], { EDITOR: `sh ${script}` })
    await terminal.shows('amount: 10')
    paid.length = 0
    await terminal.pressUntil('e', 'editing')
    terminal.press('\u0003')
    await terminal.shows('Approved with edited arguments')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toEqual([{ to: 'ann', amount: 77 }])
    terminal.press('\u0003')
    expect(await terminal.ended).toBe(0)
  })
})

test('a store that is away for a moment does not end the watch', async () => {
  await using runtime = await opened()
  await (await runtime.start(asks, 'Go', { runId: 'run_away' })).until('waiting')
  let isAway = false
  const bound = new Proxy(runtime, {
    get(_, name) {
      if (isAway) throw new ReeveError('store.unavailable', 'the database is starting', { retryable: true })
      const value: unknown = Reflect.get(runtime, name)
      return typeof value === 'function' ? (value.bind(runtime) as unknown) : value
    },
  })
  let last = ''
  const stop = new AbortController()
  const session = new ConsoleSession(bound, undefined, {
    terminal: {
      ...fakeTerminal({ isLive: true }),
      takeScreen: () => ({
        draw: (lines: readonly string[]) => void (last = lines.join('\n')),
        leave: () => undefined,
      }),
    },
    interrupted: stop.signal,
    editor: undefined,
    where: '',
    undrivenLine: () => Promise.resolve('no process drives it: reeve resume'),
  })
  const shown = session.show()
  await expect.poll(() => last).toContain('1 waiting')
  isAway = true
  await expect.poll(() => last, { timeout: 10_000 }).toContain('the database is starting')
  isAway = false
  await expect.poll(() => last, { timeout: 10_000 }).not.toContain('the database is starting')
  stop.abort()
  expect(await shown).toBe(130)
})

describe('two approvers at once', () => {
  test('the one who is second is told who was first, and nothing of theirs counts', async () => {
    await using runtime = await opened()
    const run = await runtime.start(clerk, 'Go', { runId: 'run_2' })
    await run.until('waiting')
    const drawn: string[] = []
    let press: (key: string) => void = () => undefined
    const terminal = {
      ...fakeTerminal({ isLive: true }),
      columns: 200,
      rows: 24,
      takeScreen: (hear: (key: string) => void) => {
        press = hear
        return { draw: (lines: readonly string[]) => void drawn.push(lines.join('\n')), leave: () => undefined }
      },
    }
    // bob is faster by a moment, from another process
    const decide: Runtime['decide'] = async (decision) => {
      await runtime.decide({ approvalId: decision.approvalId, decision: 'reject', approver: 'bob' })
      await runtime.decide(decision)
    }
    const bound = new Proxy(runtime, {
      get(_, name) {
        if (name === 'decide') return decide
        const value: unknown = Reflect.get(runtime, name)
        return typeof value === 'function' ? (value.bind(runtime) as unknown) : value
      },
    })
    const session = new ConsoleSession(bound, 'run_2', {
      terminal,
      interrupted: new AbortController().signal,
      editor: undefined,
      where: '',
      undrivenLine: () => Promise.resolve('no process drives it: reeve resume'),
    })
    const shown = session.show()
    await expect
      .poll(() => (drawn.some((each) => each.includes('already decided')) ? true : (press('a'), false)), {
        timeout: 10_000,
        interval: 200,
      })
      .toBe(true)
    expect(drawn.find((each) => each.includes('already decided'))).toMatch(/already decided.*bob/)
    press('q')
    await shown
    await run.outcome()
    expect((await run.view()).approvals).toMatchObject([{ resolution: 'rejected', approver: 'bob' }])
  })
})

describe('without a terminal', () => {
  const context = (signal: AbortSignal) => ({
    terminal: fakeTerminal(),
    cwd: folder,
    options: { store: storeHere() },
    interrupted: signal,
  })

  test('of one run: a line for each change, until its end, with its code', async () => {
    await using runtime = await opened()
    const run = await runtime.start(clerk, 'Go', { runId: 'run_l' })
    await run.until('waiting')
    const at = context(new AbortController().signal)
    const watched = watch(at, 'run_l')
    await expect.poll(() => at.terminal.written).toContain('pay')
    const [approval] = await runtime.approvals()
    await runtime.decide({ approvalId: approval!.id, decision: 'approve', approver: 'ann' })
    expect(await watched).toBe(0)
    expect(at.terminal.written).toContain('clerk started')
    expect(at.terminal.written).toContain('clerk completed')
    expect(at.terminal.written).not.toContain('\u001b')
  })

  test('of all runs: what waits and runs now, then each change of any run, until Ctrl-C', async () => {
    await using runtime = await opened()
    await (await runtime.start(asks, 'Go', { runId: 'run_old' })).until('waiting')
    const stop = new AbortController()
    const at = context(stop.signal)
    const watched = watch(at, undefined)
    await expect.poll(() => at.terminal.written).toContain('run_old  waits: interrupt int_')
    await runtime.start(clerk, 'Go', { runId: 'run_new' })
    await expect.poll(() => at.terminal.written).toMatch(/run_new {2}\d\d:\d\d:\d\d {2}clerk started/)
    const [interruption] = await runtime.questions({ run: 'run_old' })
    await runtime.answer({ interruptId: interruption!.id, value: 4 })
    await expect.poll(() => at.terminal.written).toMatch(/run_old {2}\S+ {2}asks completed/)
    stop.abort()
    expect(await watched).toBe(130)
  })
})

test('an unknown run is an error with its code, and no screen', async () => {
  await (await opened()).close()
  const terminal = new AtTerminal(['watch', 'run_none', '--store', storeHere()])
  expect(await terminal.ended).toBe(2)
  expect(terminal.out).toContain('run_none')
  expect(terminal.out).not.toContain('?1049h')
  await readFile(storeHere())
}, 30_000)
