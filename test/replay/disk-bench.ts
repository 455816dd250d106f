/**
 * A store on disk with engines over it, one after the other: what tests of the kernel need that let a process die,
 * close and come back.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { completed, runId, type ActivationId, type Json, type OpId, type Outcome } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine, type EmbeddedOptions } from '@reeve/sqlite'
import type { Arrival, Context, Orchestration, Registry, StepIO } from '@reeve/engine'

export type Body = (ctx: Context, input: Json) => Promise<Json | Outcome>
export const run = runId('run_e')
export const root = 'act_run_e' as ActivationId

export function registry(agents: Readonly<Record<string, Body>>): Registry {
  const find = (name: string): Orchestration | undefined => {
    const body = agents[name]
    return body === undefined
      ? undefined
      : { name, version: '1', run: async (ctx, input) => completed((await body(ctx, input)) as Json) }
  }
  return { onMissingVersion: 'move', find }
}

/** A store on disk, with engines over it one after the other. */
export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), 'reeve-endings-'))
  readonly file = join(this.folder, 'store.db')
  readonly #open: { engine: EmbeddedEngine; die: () => void }[] = []

  engine(agents: Readonly<Record<string, Body>>, options: Partial<EmbeddedOptions> = {}): EmbeddedEngine {
    let dead = false
    const engine = createEmbeddedEngine({
      file: this.file,
      strict: true,
      pollMs: 5,
      onWarning: () => {},
      crash: () => dead,
      ...options,
    })
    this.#open.push({ engine, die: () => (dead = true) })
    engine.drive(registry(agents))
    return engine
  }
  /** The last engine dies with everything that is not durable. */
  async kill(): Promise<void> {
    const { engine, die } = this.#open.pop()!
    die()
    engine.driver.stop()
    await engine.close({ graceMs: 0 })
    this.rows('DELETE FROM process')
  }
  rows(sql: string): readonly Record<string, unknown>[] {
    const db = new DatabaseSync(this.file)
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
  accounts(): readonly { spent: { tokens: number }; reserved: { tokens: number }; unknown: number }[] {
    return this.rows('SELECT body FROM account ORDER BY act').map(({ body }) => JSON.parse(body as string) as never)
  }
  async dispose(): Promise<void> {
    for (const { engine } of this.#open) await engine.close({ graceMs: 0 })
    rmSync(this.folder, { recursive: true })
  }
}

export const start = (
  engine: EmbeddedEngine,
  more: { limits?: { tokens?: number; minutes?: number }; input?: Json } = {},
): Promise<unknown> => engine.start({ run, agent: 'lead', version: '1', input: null, ...more })
export const types = async (engine: EmbeddedEngine): Promise<string[]> =>
  (await engine.read(run)).map(({ event }) => event.type)
export const ended = async (ctx: Context, id: OpId | ActivationId): Promise<Outcome> =>
  (await ctx.next(id as OpId)).outcome
export const isMessage = (arrival: Arrival): boolean => arrival.type === 'message'
/** Rejects as soon as it is told to stop. */
export const listening = (io: StepIO): Promise<Json> =>
  new Promise((_, reject) => io.signal.addEventListener('abort', () => reject(io.signal.reason as Error)))
export const never = (): Promise<Json> => new Promise<Json>(() => {})
export const calm = (ms = 60): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms))
