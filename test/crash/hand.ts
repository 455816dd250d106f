/** What the tests of bad surroundings share: a folder of their own, small agents, processes that can be killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'
import { completed, ReeveError, rootActivation, type Json, type Outcome, type RunId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { decode } from '@reeve/journal'
import { createEmbeddedEngine, type EmbeddedEngine, type EmbeddedOptions } from '@reeve/sqlite'

const folders: string[] = []
const engines: EmbeddedEngine[] = []
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const engine of engines.splice(0)) await engine.close({ graceMs: 0 }).catch(() => undefined)
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A path in a folder that is removed after the test. */
export function inFolder(name = 'store.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-crash-'))
  folders.push(folder)
  return join(folder, name)
}

/** Warnings are part of what is tested. */
export interface Opened extends EmbeddedEngine {
  readonly warnings: string[]
}

/** An engine that is closed after the test. */
export function open(file: string, options: Partial<EmbeddedOptions> = {}): Opened {
  const warnings: string[] = []
  const engine = createEmbeddedEngine({ file, strict: true, onWarning: (code) => warnings.push(code), ...options })
  engines.push(engine)
  return Object.assign(engine, { warnings })
}

export { registry, step, type Agent } from './agents.ts'

/** A question to the outside. */
export async function ask(ctx: Context): Promise<Json> {
  const asked = ctx.ask('question', {
    as: { type: 'interrupt.raised', id: ctx.id('int'), question: 'well?', path: [] },
  })
  return (await ctx.next(asked)).outcome as unknown as Json
}

export const begin = (
  engine: EmbeddedEngine,
  run: string,
  agent: string,
  input: Json = null,
): Promise<{ readonly created: boolean }> => engine.start({ run: run as RunId, agent, version: '1', input })
export const outcome = async (engine: EmbeddedEngine, run: string): Promise<Outcome> =>
  (await engine.outcome(run as RunId)).outcome
export const answer = (engine: EmbeddedEngine, run: string, value: Json) =>
  engine.post({
    type: 'answer',
    activation: rootActivation(run as RunId),
    address: 'question',
    outcome: completed(value),
  })

/** Resolves when the condition holds; fails with `what` if it does not within `ms`. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 5_000): Promise<void> {
  for (const end = Date.now() + ms; !(await condition()); await new Promise((resolve) => setTimeout(resolve, 2))) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`)
  }
}

/** What a call throws or rejects with, as far as it matters here. */
export async function errorOf(
  call: () => unknown,
): Promise<{ code: string; hint: string | undefined; retryable: boolean; message: string }> {
  try {
    await call()
  } catch (thrown) {
    if (!ReeveError.is(thrown)) throw new Error('not a ReeveError', { cause: thrown })
    const { code, hint, retryable, message } = thrown
    return { code, hint, retryable, message }
  }
  throw new Error('nothing was thrown')
}

/** Reads or changes a store behind the engine's back. */
export function behind<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    return work(db)
  } finally {
    db.close()
  }
}

/** Every recorded step by `activation address`, and how often its end stands in the journal. */
export function settledSteps(file: string): Map<string, number> {
  const rows = behind(file, (db) =>
    db.prepare('SELECT a.id, l.body FROM log l JOIN activation a ON a.num = l.act ORDER BY l.position').all(),
  ) as { id: string; body: string }[]
  const steps = new Map<string, number>()
  for (const { id, body } of rows) {
    const event = decode(body)
    if (event.type === 'step.settled')
      steps.set(`${id} ${event.address}`, (steps.get(`${id} ${event.address}`) ?? 0) + 1)
  }
  return steps
}

/** Starts `processes.ts` with a role; its lines come one by one. */
export function launch(
  role: string,
  ...args: string[]
): { child: ChildProcess; line: (text: string) => Promise<void>; lines: string[]; gone: Promise<unknown> } {
  const child = spawn(
    process.execPath,
    ['--no-warnings', fileURLToPath(new URL('./processes.ts', import.meta.url)), role, ...args],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  children.push(child)
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const all = (rest + text).split('\n')
    rest = all.pop()!
    lines.push(...all)
  })
  return {
    child,
    lines,
    gone: once(child, 'exit'),
    line: (text) => until(`${role} says "${text}"`, () => lines.includes(text), 8_000),
  }
}
