/**
 * Runs that are killed with SIGKILL, in Reeve and in its peers: `npm run killed`, or `npm run killed -- mastra eve`. In
 * each the same supervisor delegates to the same worker, which has one tool; the model is the same, over HTTP. Prints
 * what was seen as rows of a table. `--times` (default 2) is how often each case is run, `--watch` (default 120) how
 * many seconds one looks at a new process, `--in` a folder whose installed packages are used again, `--verbose` prints
 * what the programs print.
 *
 * Owns the order of each case and the verdict. Does not own what a framework needs for it: that is its program, in
 * `programs/`, which takes a verb (`start`; `open`: a new process, and no call about the run; `continue` and `approve`: the
 * call of an operator in a new process) and prints lines: `asks <tool> <input>`, `doubts <call>`, `anew <why>`, `ends <text>`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { frameworks, type Framework } from './frameworks.ts'
import { install, versionOf } from './install.ts'
import { startModel } from './model.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: 'string', default: '2' },
    watch: { type: 'string', default: '120' },
    in: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
})
const programs = join(import.meta.dirname, 'programs')
const watchMs = Number(values.watch) * 1_000
const unknown = positionals.filter((name) => frameworks.every(({ folder }) => folder !== name))
if (unknown.length > 0)
  throw new Error(`unknown: ${unknown.join(', ')}; known: ${frameworks.map(({ folder }) => folder).join(', ')}`)
const root = values.in ?? mkdtempSync(join(tmpdir(), 'reeve-killed-'))
mkdirSync(root, { recursive: true })

const atWork = new Set<Program>()
process.on('exit', () => atWork.forEach((program) => program.signal()))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

/** A program of a framework at work on one case, in a process group of its own. */
class Program {
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #isGone = false

  constructor(path: string, verb: string, folder: string, env: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, ['--no-warnings', path, verb], {
      cwd: folder,
      env: { ...process.env, ...env, CASE_FOLDER: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child = child
    atWork.add(this)
    this.#ended = once(child, 'exit').then(() => (this.#isGone = true))
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on('line', (line) => {
        this.lines.push(line)
        if (values.verbose) console.error(`  ${verb}: ${line.slice(0, 300)}`)
      })
  }

  said(word: string): string | undefined {
    return this.lines.find((line) => line.startsWith(`${word} `))?.slice(word.length + 1)
  }

  /** Looks until `seen` holds, the process has ended, or the time is over. */
  async until(seen: () => boolean, ms: number): Promise<void> {
    const end = performance.now() + ms
    while (!seen() && !this.#isGone && performance.now() < end) await setTimeout(100)
    await setTimeout(100) // the last lines of a process that has ended
  }

  /** SIGKILL to it and to the processes that it started. */
  async kill(): Promise<void> {
    this.signal()
    await this.#ended
    atWork.delete(this)
  }

  signal(): void {
    try {
      process.kill(-this.#child.pid!, 'SIGKILL')
    } catch {
      // the whole group has ended
    }
  }
}

/** What is the same in every process of one case. */
interface Case {
  readonly folder: string
  readonly open: (verb: string) => Program
  readonly effects: () => number
}

const programOf = ({ folder, packages }: Framework): string =>
  join(Object.keys(packages).length === 0 ? programs : root, folder, 'desk.mjs')

function begin(framework: Framework, name: string, env: NodeJS.ProcessEnv): Case {
  const folder = mkdtempSync(join(root, `case-${framework.folder}-${name}-`))
  const effects = join(folder, 'effects')
  return {
    folder,
    open: (verb) => new Program(programOf(framework), verb, folder, env),
    effects: () => (existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n').length : 0),
  }
}

/** Runs one program until it says one of `words`, ends, or is watched long enough; then it is killed. */
async function look(program: Program, words: readonly string[]): Promise<Program> {
  await program.until(() => words.some((word) => program.said(word) !== undefined), watchMs)
  await program.kill()
  return program
}

const times = (count: number): string => ['not run', 'run once', 'run twice'][count] ?? `run ${count} times`

/** Killed inside of the tool: does the run go on, and how often was the tool run? */
async function killedInStep(framework: Framework, env: NodeJS.ProcessEnv): Promise<string> {
  const { folder, open, effects } = begin(framework, 'step', env)
  writeFileSync(join(folder, 'hang'), '')
  const first = open('start')
  await first.until(() => effects() > 0, watchMs)
  await setTimeout(1_000) // a checkpoint that is written behind the work may still land
  await first.kill()
  if (effects() === 0) return `not reached: ${first.lines.at(-1)}`
  rmSync(join(folder, 'hang'))
  const opened = await look(open('open'), ['ends', 'doubts'])
  const tool = (): string => `tool ${times(effects())}`
  if (opened.said('ends') !== undefined) return `goes on by itself; ${tool()}`
  const doubt = opened.said('doubts')
  const called = await look(open('continue'), ['ends'])
  if (doubt !== undefined) {
    const asks = `goes on by itself, and asks whether the call happened; ${tool()}`
    return called.said('ends') === undefined ? `${asks}; does not end with the answer` : asks
  }
  if (called.said('ends') === undefined) return `does not end, neither by itself nor after a call; ${tool()}`
  return called.said('anew') === undefined
    ? `goes on after a call; ${tool()}`
    : `is lost; a call starts it over; ${tool()}`
}

/** Killed while a call of the worker waits for a decision: was somebody asked, and can it be decided in a new process? */
async function killedWaiting(framework: Framework, env: NodeJS.ProcessEnv): Promise<string> {
  const { open, effects } = begin(framework, 'approval', { ...env, APPROVAL: 'yes' })
  const first = open('start')
  await first.until(() => first.said('asks') !== undefined || first.said('ends') !== undefined, watchMs)
  await setTimeout(1_000)
  await first.kill()
  const asked = first.said('asks')
  if (asked === undefined) {
    const end = first.said('ends') === undefined ? 'the run does not end' : 'the run ends'
    return `nobody is asked; ${end}; tool ${times(effects())}`
  }
  const before = effects()
  const decided = await look(open('approve'), ['ends'])
  const end = decided.said('ends') === undefined ? 'cannot be decided' : 'decided in a new process'
  const what = asked === 'refund {"order":7,"dollars":40}' ? 'with the arguments' : `about ${asked}`
  return `asks ${what}; ${end}; tool ${times(effects())}${before > 0 ? ', before the decision' : ''}`
}

/** Equal results with their count: `text (2 of 2)`. */
function counted(results: readonly string[]): string {
  const total = results.length
  const counts = [...new Set(results)].map((text) => [text, results.filter((other) => other === text).length] as const)
  return counts.map(([text, count]) => `${text} (${count} of ${total})`).join('<br>')
}

const model = await startModel()
const env = {
  OPENAI_BASE_URL: model.url,
  OPENAI_CHAT_BASE_URL: model.url,
  OPENAI_API_KEY: 'no-key',
  OPENAI_CHAT_API_KEY: 'no-key',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  MASTRA_TELEMETRY_DISABLED: '1',
  EVE_TELEMETRY_DISABLED: '1',
}
console.log("| | killed inside the worker's tool | killed while the worker's call waits for an approval | reproduce |")
console.log('|---|---|---|---|')
for (const framework of frameworks) {
  if (positionals.length > 0 && !positionals.includes(framework.folder)) continue
  const title = `${framework.name} ${versionOf(framework)}`
  try {
    if (Object.keys(framework.packages).length > 0) {
      cpSync(join(programs, 'refund.mjs'), join(root, 'refund.mjs'))
      await install(framework, join(programs, framework.folder), join(root, framework.folder))
    }
  } catch (error) {
    console.error(error)
    console.log(`| ${title} | not installed here | not installed here | \`npm run killed -- ${framework.folder}\` |`)
    continue
  }
  const seen = { step: [] as string[], waiting: [] as string[] }
  for (let nth = 0; nth < Number(values.times); nth++) {
    seen.step.push(await killedInStep(framework, env))
    seen.waiting.push(await killedWaiting(framework, env))
  }
  console.log(
    `| ${title} | ${counted(seen.step)} | ${counted(seen.waiting)} | \`npm run killed -- ${framework.folder}\` |`,
  )
}
console.log(`\nSeen on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}.`)
model.stop()
if (values.in === undefined) rmSync(root, { recursive: true, force: true })
