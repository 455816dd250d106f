/** A program of a framework with its pinned packages, in a folder of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import type { Framework } from './frameworks.ts'

/** Runs a command, and throws with its output where it fails. */
async function command(folder: string, [name = '', ...args]: readonly string[]): Promise<void> {
  const child = spawn(name, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void output.push(chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${name} ${args.join(' ')}: ended with ${code}\n${output.join('').slice(-2_000)}`)
}

/** Puts the program and its packages into the folder. What is installed there is used again if it is the same. */
export async function install(framework: Framework, program: string, at: string): Promise<void> {
  const { folder, packages, native, build } = framework
  cpSync(program, at, { recursive: true })
  const wanted = JSON.stringify({ name: `bench-${folder}`, private: true, type: 'module', dependencies: packages })
  const path = join(at, 'package.json')
  if (!existsSync(path) || readFileSync(path, 'utf8') !== wanted || !existsSync(join(at, 'node_modules'))) {
    console.error(`${framework.name}: installing ${Object.keys(packages).length} packages into ${at}`)
    writeFileSync(path, wanted)
    await command(at, ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts'])
    if (native !== undefined) await command(at, ['npm', 'rebuild', native])
  }
  if (build !== undefined) await command(at, build)
}

/** The version of its main package; of Reeve, that of this repository. */
export const versionOf = ({ packages }: Framework): string => Object.values(packages)[0] ?? manifest.version
