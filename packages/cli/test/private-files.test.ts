/** What other users of a machine see: files, lists of processes, logs. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRuntime } from '@reeve/public'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '..', '..', '..')
const index = JSON.stringify(join(root, 'packages', 'public', 'src', 'index.ts'))
const entry = join(root, 'packages', 'cli', 'src', 'main.ts')
let folder = ''
const children = new Set<ChildProcess>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-private-'))
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  rmSync(folder, { recursive: true, force: true })
})
/** A store that the commands find. */
const makeStore = async (): Promise<void> => (await createRuntime({ store: join(folder, 'own.db') })).close()
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe.skipIf(process.platform === 'win32')('files', () => {
  test('a store, and what stands beside it, are of their owner alone, whatever the umask', () => {
    const code = `import { agent, createRuntime } from ${index}
import { statSync } from 'node:fs'
const runtime = await createRuntime({ store: process.argv[1], agents: [agent({ name: 'a', model: () => 'hi' })] })
await runtime.run('a', 'go')
for (const end of ['', '-wal', '-shm']) console.log((statSync(process.argv[1] + end).mode & 0o777).toString(8))
await runtime.close()`
    for (const umask of ['000', '022', '077']) {
      const store = join(folder, `of-${umask}.db`)
      const { stdout, stderr } = spawnSync(
        'sh',
        ['-c', `umask ${umask}; exec "$0" --input-type=module -e "$1" "$2"`, process.execPath, code, store],
        { encoding: 'utf8' },
      )
      expect(stdout, stderr).toBe('600\n600\n600\n')
    }
  })

  test('so is a store that is named by a `file:` address', () => {
    const path = join(folder, 'a name.db')
    const given = [`file:${path.replace(' ', '%20')}?cache=private`, 'file:./beside.db']
    const code = `import { createRuntime } from ${index}
for (const store of process.argv.slice(1)) await (await createRuntime({ store })).close()`
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', `umask 022; exec "$0" --input-type=module -e "$@"`, process.execPath, code, ...given],
      { cwd: folder, encoding: 'utf8' },
    )
    expect(status, stderr).toBe(0)
    expect(readdirSync(folder)).toEqual(['a name.db', 'beside.db'])
    for (const each of readdirSync(folder)) expect(modeOf(join(folder, each))).toBe('600')
  })

  test('a store that is there keeps its mode, and doctor says that others can use it', async () => {
    const store = join(folder, '.reeve', 'reeve.db')
    mkdirSync(join(folder, '.reeve'), { mode: 0o755 })
    writeFileSync(store, '')
    writeFileSync(join(folder, '.token'), 'a-token-that-others-can-read-now')
    for (const each of [store, join(folder, '.token')]) chmodSync(each, 0o644)
    chmodSync(join(folder, '.reeve'), 0o755)
    const { out } = await reeve(folder, 'doctor', '--store', store, '--json')
    expect(modeOf(store)).toBe('644')
    const { findings } = JSON.parse(out) as { readonly findings: readonly { check: string; message: string }[] }
    const told = findings.filter(({ check }) => check === 'files').map(({ message }) => message)
    expect(told).toEqual([
      expect.stringContaining(`${store} can be used by other users of this machine (mode 644)`),
      expect.stringContaining(`.reeve can be used by other users of this machine (mode 755)`),
      expect.stringContaining('.token can be used by other users'),
    ])
    for (const each of [store, join(folder, '.token')]) chmodSync(each, 0o600)
    chmodSync(join(folder, '.reeve'), 0o700)
    expect((await reeve(folder, 'doctor', '--store', store, '--json')).out).not.toContain('"files"')
  })

  test('a token file is of its owner alone, and its token is in no log; who was denied is', async () => {
    await makeStore()
    let url = ''
    const served = begin(
      folder,
      ['serve', '--port', '0', '--store', './own.db', '--token-file', './token'],
      (out, child) => {
        children.add(child)
        url = /API +(\S+)/.exec(out)?.[1] ?? url
      },
    )
    await vi.waitFor(() => expect(url).not.toBe(''), 25_000)
    const token = readFileSync(join(folder, 'token'), 'utf8').trim()
    expect(modeOf(join(folder, 'token'))).toBe('600')
    const ask = (authorization: string): Promise<Response> =>
      fetch(`${url}/runs?x=secret`, { headers: { authorization } })
    expect((await ask(`Bearer ${token}`)).status).toBe(400)
    expect((await ask('Bearer wrong-and-long-enough-to-be-one')).status).toBe(401)
    for (const child of children) child.kill('SIGTERM')
    const { out, err } = await served
    expect(out + err).not.toContain(token)
    expect(out).toContain(`token  in ${join(folder, 'token')}`)
    expect(err).toMatch(/denied \S+ 401 request\.not-authenticated GET \/api\/runs from 127\.0\.0\.1/)
    expect(err).not.toMatch(/wrong-and-long|secret/)
  })
})

/** A terminal for a process: `script` of util-linux. */
const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

test.skipIf(!hasTerminal || !existsSync(join(root, 'dist', 'studio', 'index.html')))(
  'the studio opens a browser without its token in the list of processes',
  async () => {
    await makeStore()
    const opened = join(folder, 'opened')
    const shim = join(folder, 'bin')
    mkdirSync(shim)
    writeFileSync(
      join(shim, 'xdg-open'),
      `#!/bin/sh\n{ echo "$@"; stat -c %a "$1" "$(dirname "$1")"; cat "$1"; } > ${opened}.part\nmv ${opened}.part ${opened}\n`,
    )
    chmodSync(join(shim, 'xdg-open'), 0o755)
    const child = spawn(
      'script',
      ['-qec', `${process.execPath} ${entry} studio --port 0 --store ./own.db`, '/dev/null'],
      {
        cwd: folder,
        env: { ...process.env, PATH: `${shim}:${process.env['PATH']}`, TERM: 'xterm' },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    )
    children.add(child)
    let said = ''
    child.stdout.on('data', (piece: Buffer) => (said += piece.toString()))
    await vi.waitFor(() => expect(existsSync(opened), said).toBe(true), 25_000)
    const address = /http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+/.exec(said)![0]
    const [args = '', file, above, ...page] = readFileSync(opened, 'utf8').split('\n')
    expect(args).not.toContain('token')
    expect([file, above]).toEqual(['600', '700'])
    expect(page.join('\n')).toContain(`url=${address}"`)
    child.stdin.write('\u0003')
    await once(child, 'exit')
    await vi.waitFor(() => expect(existsSync(args)).toBe(false))
  },
)
