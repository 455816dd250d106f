/** The machine that it runs on: other users of it, lists of processes, files. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { area, holds, Skipped } from '../attack.ts'
import { until, type World } from '../world.ts'

const cli = join(import.meta.dirname, '../../../packages/cli/src/main.ts')

/** Runs a command until it has said this, then stops it. What it said. */
async function reeve(
  world: World,
  args: readonly string[],
  says: RegExp,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  let said = ''
  const child = spawn(process.execPath, ['--no-warnings', cli, ...args], {
    cwd: world.folder,
    env: { ...process.env, ...env },
  })
  world.after(() => child.kill('SIGKILL'))
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (said += String(piece)))
  await until(() => says.test(said) || child.exitCode !== null, `${args.join(' ')} says ${says.source}: ${said}`)
  child.kill('SIGTERM')
  await until(() => child.exitCode !== null || child.signalCode !== null, 'it ends')
  return said
}

const studio = join(import.meta.dirname, '../../../dist/studio')
const others = 0o077

export const machine = area('The machine that it runs on', [
  {
    id: 'machine-store-mode',
    holds: 'A store and what lies beside it is readable by its owner alone.',
    async run(world) {
      await world.say('http', 'alice', 'echo')
      for (const name of readdirSync(world.folder).filter((each) => each.startsWith('reeve.db'))) {
        const { mode } = statSync(join(world.folder, name))
        holds((mode & others) === 0, `${name}: ${(mode & 0o777).toString(8)}`)
      }
    },
  },
  {
    id: 'machine-folder-mode',
    holds: 'A folder that a command makes for its store is its owner’s alone.',
    async run(world) {
      await reeve(world, ['serve', '--port', '0'], /token|error|cannot/i)
      const folder = join(world.folder, '.reeve')
      if (!existsSync(folder)) return
      const { mode } = statSync(folder)
      holds((mode & others) === 0, (mode & 0o777).toString(8))
    },
  },
  {
    id: 'machine-token-file-printed',
    holds: 'A token that is kept in a file is not printed as well.',
    async run(world) {
      const said = await reeve(world, ['serve', '--port', '0', '--token-file', 't'], /Ctrl-C|error/i)
      const token = readFileSync(join(world.folder, 't'), 'utf8').trim()
      holds(!said.includes(token), 'it stands in the output')
      holds((statSync(join(world.folder, 't')).mode & others) === 0, 'others may read the file')
    },
  },
  {
    id: 'machine-token-in-arguments',
    holds: 'The token of the studio stands in the arguments of no process.',
    async run(world) {
      if (!existsSync(studio)) throw new Skipped('the studio is not built')
      const bin = join(world.folder, 'bin')
      mkdirSync(bin)
      const file = join(world.folder, 'opened')
      for (const name of ['xdg-open', 'open']) {
        writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' "$@" > ${file}\n`)
        chmodSync(join(bin, name), 0o755)
      }
      // it opens a browser at a terminal alone: `script` is one
      let said = ''
      const child = spawn('script', ['-qec', `${process.execPath} --no-warnings ${cli} studio --port 0`, '/dev/null'], {
        cwd: world.folder,
        env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
      })
      world.after(() => child.kill('SIGKILL'))
      child.stdout.on('data', (piece) => (said += String(piece)))
      let isMissing = false
      child.on('error', () => (isMissing = true))
      await until(() => isMissing || /Ctrl-C|error/i.test(said), `the studio begins: ${said}`)
      if (isMissing) throw new Skipped('there is no command `script`')
      await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'a browser is opened')
      child.stdin.write('\u0003')
      const opened = readFileSync(file, 'utf8')
      holds(!/token=/.test(opened), opened.replace(/token=.*/, 'token=…'))
    },
  },
])
