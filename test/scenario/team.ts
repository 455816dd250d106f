/**
 * What the scenarios are told with: scripted models that keep their prompts, runtimes that close themselves, a clock
 * that runs fast.
 */
import { afterEach, beforeEach } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copy, failure, FailureError, type Clock, type Json } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import type { Message, ModelAnswerInput, ModelFunction, ModelRequest, ToolSpec } from '@reeve/model'
import type { Run, RunOutcome, Runtime, RuntimeOptions, RunWaiting } from '@reeve/runtime'
import { runtimeUnderTest } from '../engine-under-test.ts'

type Said =
  | ModelAnswerInput
  | string
  | Error
  | ((request: ModelRequest) => ModelAnswerInput | string | Promise<ModelAnswerInput | string>)

/** A model that says one thing after the other; past the end it says the last again. */
export interface Scripted extends ModelFunction {
  /** Copies of what it was shown, one per call. */
  readonly prompts: Message[][]
  readonly tools: (readonly ToolSpec[])[]
}

export function scripted(...script: Said[]): Scripted {
  const prompts: Message[][] = []
  const tools: (readonly ToolSpec[])[] = []
  const rule: ModelFunction = (request) => {
    const said = script[Math.min(prompts.length, script.length - 1)]!
    prompts.push(copy(request.messages as unknown as Json) as unknown as Message[])
    tools.push(request.tools)
    if (said instanceof Error) throw said
    return typeof said === 'function' ? said(request) : said
  }
  return Object.assign(rule, { prompts, tools })
}

/** A turn that calls. */
export const calls = (...list: (readonly [name: string, input: Json, id?: string])[]): ModelAnswerInput => ({
  calls: list.map(([name, input, id]) => ({ name, input, ...(id === undefined ? {} : { id }) })),
})
/** A turn that delegates. */
export const delegates = (
  ...list: (readonly [worker: string, instructions: string, id?: string])[]
): ModelAnswerInput =>
  calls(
    ...list.map(
      ([worker, instructions, id]) =>
        ['delegate', { worker, instructions }, ...(id === undefined ? [] : [id])] as unknown as readonly [string, Json],
    ),
  )

/** A failure that is not tried again. */
export const fatal = (message: string): Error => new FailureError(failure('model.bad-request', message, 'validation'))

/** What the tool messages at the end of a prompt say, in order. */
export function told(prompt: readonly Message[] | undefined): Json[] {
  const list: Json[] = []
  for (const message of prompt ?? []) {
    if (message.role === 'tool') list.push(message.content)
    else list.length = 0
  }
  return list
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A clock on which a second passes in a millisecond. */
export function fastClock(): Clock {
  const base = Date.now()
  const now = (): number => base + (Date.now() - base) * 1_000
  return {
    now,
    timer(at, callback) {
      const handle = setTimeout(callback, Math.max(0, Math.ceil((at - now()) / 1_000)))
      return () => clearTimeout(handle)
    },
  }
}

const open: Runtime[] = []
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-scenario-'))
})
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close({ graceMs: 0 })
  rmSync(folder, { recursive: true, force: true })
})

/** A file for a store that outlives a runtime. */
export const store = (): string => join(folder, 'reeve.db')

/** A strict runtime that is closed after the test. */
export async function runtimeOf(
  agents: NonNullable<RuntimeOptions['agents']>,
  options: Omit<RuntimeOptions, 'agents'> = {},
): Promise<Runtime> {
  const runtime = await runtimeUnderTest({ strict: true, agents, ...options })
  open.push(runtime)
  return runtime
}

/** The events of an ended run. */
export async function eventsOf(run: { events(): AsyncIterable<Recorded> }): Promise<readonly JournalEvent[]> {
  const list: JournalEvent[] = []
  for await (const { event } of run.events()) list.push(event)
  return list
}

/** The open approvals of a run that waits. */
export async function waiting(run: Run<never> | Run<unknown> | Run): Promise<RunWaiting> {
  const state = (await run.until('waiting')) as RunWaiting | RunOutcome
  if (!('waiting' in state)) throw new Error(`it did not wait: ${JSON.stringify(state)}`)
  return state
}
