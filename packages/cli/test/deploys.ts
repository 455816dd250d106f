/** Deploys: workers that replace one another, as an orchestrator does it: the next one starts, then the last one is told to end. */
import { expect } from 'vitest'
import type { ChildProcess } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '@reeve/public'
import { begin, type Ended } from './command.ts'

const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))

/**
 * A team whose model calls and tools take their time and note that they have begun: so many turns, each with a tool
 * that may be repeated. `gated`: a model call waits for a file.
 */
export const configOf = (store: string): string => `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { agent, tool } from ${source}
const note = (text: string) => appendFileSync(new URL('./notes', import.meta.url), text + '\\n')
const may = (name: string) => existsSync(new URL('./' + name, import.meta.url))
export const store = ${JSON.stringify(store)}
const work = tool({ name: 'work', description: 'Works.', effect: 'idempotent', execute: async () => {
  note('tool')
  await later(300)
  return 'worked'
} })
export const agents = [
  agent({ name: 'steady', tools: [work], model: async ({ messages, signal }) => {
    note('model')
    await later(600, undefined, { signal })
    return messages.filter(({ role }) => role === 'tool').length < 5 ? { calls: [{ name: 'work', input: {} }] } : 'done'
  } }),
  agent({ name: 'gated', model: async ({ signal }) => {
    note('model')
    while (!may('answer')) await later(5, undefined, { signal })
    return 'answered'
  } }),
]
`

/** A worker that has said what it drives. */
export interface Worker {
  readonly child: ChildProcess
  readonly out: string
  readonly ended: Promise<Ended>
  /** Resolves when it has written this to standard error. */
  readonly said: (what: string) => Promise<void>
}

const children = new Set<ChildProcess>()

/** Kills what a test has left. */
export function killWorkers(): void {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
}

/** Starts a worker in a folder. */
export function worker(folder: string, ...args: readonly string[]): Promise<Worker> {
  return new Promise((resolve, reject) => {
    let written = ''
    let heard: (() => void)[] = []
    const ended = begin(folder, ['work', ...args], (out, child, err) => {
      children.add(child)
      written = err
      for (const hear of heard) hear()
      if (!out.includes('Ctrl-C')) return
      const said = (what: string): Promise<void> =>
        new Promise((done) => {
          const hear = (): void => {
            if (!written.includes(what)) return
            heard = heard.filter((each) => each !== hear)
            done()
          }
          heard.push(hear)
          hear()
        })
      resolve({ child, out, ended, said })
    })
    ended.then(({ out, err }) => reject(new Error(`it ended: ${out}${err}`)), reject)
  })
}

/** How often each effect has begun. */
export type Begun = Readonly<Record<'model' | 'tool', number>>

/** The same, in all processes. */
export async function begun(folder: string): Promise<Begun> {
  const notes = (await readFile(join(folder, 'notes'), 'utf8').catch(() => '')).split('\n')
  return {
    model: notes.filter((note) => note === 'model').length,
    tool: notes.filter((note) => note === 'tool').length,
  }
}

/** A process that starts runs and drives none. */
export async function starter(folder: string, store: string): Promise<Runtime> {
  const { agents } = (await import(join(folder, 'reeve.config.ts'))) as { agents: never[] }
  return createRuntime({ store, agents, drive: false })
}

/** Five deploys while a run works: every worker ends in order. Six model calls and five tools are needed. */
export async function fiveDeploys(folder: string, store: string): Promise<Begun> {
  await writeFile(join(folder, 'reeve.config.ts'), configOf(store))
  let current = await worker(folder)
  await using runtime = await starter(folder, store)
  const run = await runtime.start('steady', 'go')
  const ends: Promise<Ended>[] = []
  for (let deploy = 0; deploy < 5; deploy++) {
    const next = await worker(folder)
    current.child.kill('SIGTERM')
    ends.push(current.ended)
    current = next
  }
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  expect((await Promise.all(ends)).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  current.child.kill('SIGTERM')
  await current.ended
  return await begun(folder)
}

/**
 * A worker ends while its model answers: the next one leaves it the call, and goes on with the run when it is over.
 * One model call is needed, and those of another run: six, with five tools.
 */
export async function endsInOrder(folder: string, store: string): Promise<Begun> {
  await writeFile(join(folder, 'reeve.config.ts'), configOf(store))
  const old = await worker(folder)
  await using runtime = await starter(folder, store)
  const run = await runtime.start('gated', 'go')
  await expect.poll(() => begun(folder), { timeout: 25_000 }).toMatchObject({ model: 1 })
  old.child.kill('SIGTERM')
  await old.said('Waiting for 1 model call, 25 s at most; Ctrl-C again ends it at once.')
  const next = await worker(folder)
  // the next worker is there, takes up what is free, and not this
  const other = await runtime.start('steady', 'go')
  await expect.poll(() => begun(folder), { timeout: 25_000 }).toMatchObject({ model: 2 })
  expect(await run.summary()).toMatchObject({ status: 'running' })
  await writeFile(join(folder, 'answer'), '')
  const { code, signal } = await old.ended
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'answered' })
  expect(await other.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  next.child.kill('SIGTERM')
  await next.ended
  return await begun(folder)
}
