/**
 * Property: threads of workers, with every read and write in any order, as between processes that know nothing of each
 * other. Random trees of delegations; some are stopped while they wait, some of their leaders are cancelled, some end
 * without leaving. M2: one delegation at a time has a thread. M3: all end. S2: each is told; S4: looking is only for
 * those behind somebody who is gone.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  detached,
  childActivation,
  completed,
  isObject,
  rootActivation,
  runId,
  runOf,
  type ActivationId,
  type Json,
  type RunId,
} from '@reeve/core'
import { Cancelled, type Arrival, type Context } from '@reeve/engine'
import { withMemory, Threads, type MemoryJob } from '../../packages/supervisor/src/delegation/worker-memory.ts'

/** What an activation delegates: groups one after the other, each side by side. */
type Plan = readonly (readonly { readonly thread: number; readonly plan: Plan }[])[]

/** What may happen besides: each the chance of one delegation, or of one activation. */
interface Mishaps {
  readonly stopped?: number
  readonly cancelled?: number
  /** It ends with its work still open. */
  readonly gone?: number
}

type Values = ReadonlyMap<string, { readonly version: number; readonly value: Json }>

/**
 * One store and one clock. What happens next is drawn. */ /** What goes wrong beside everything else ends the test
 * process as an unhandled rejection.
 */
const loud = (thrown: unknown): never => {
  throw thrown as Error
}

class World {
  readonly members = new Map<ActivationId, Activation>()
  /** Who has a thread, by the thread. */
  readonly holders = new Map<string, ActivationId>()
  /** Why delegations were refused. */
  readonly refused: string[] = []
  readonly #values = new Map<string, { readonly version: number; readonly value: Json }>()
  readonly #timers = new Map<string, { readonly at: number; readonly ring: () => void }>()
  readonly #ready: (() => void)[] = []
  readonly #ended = new Set<RunId>()
  #drawn: number
  #ids = 0
  now = 0

  constructor(seed: number) {
    this.#drawn = seed
  }

  get values(): Values {
    return this.#values
  }

  roll(): number {
    this.#drawn = (this.#drawn + 0x6d2b79f5) | 0
    let t = Math.imul(this.#drawn ^ (this.#drawn >>> 15), 1 | this.#drawn)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  id(prefix: string): string {
    return `${prefix}_${++this.#ids}`
  }

  /** Anything else may come before. */
  soon(): Promise<void> {
    return new Promise((resolve) => this.#ready.push(resolve))
  }

  async read(key: string): Promise<Json> {
    await this.soon()
    return this.#values.get(key)?.value ?? null
  }

  /** Compare-and-set: between the look and the write there may be others. One whose run has ended writes no more. */
  async update(run: RunId, key: string, change: (value: Json) => Json): Promise<Json> {
    for (;;) {
      const { version, value } = this.#values.get(key) ?? { version: 0, value: null }
      const changed = JSON.parse(JSON.stringify(change(value))) as Json
      await this.soon()
      if (this.#ended.has(run)) await new Promise<never>(() => {})
      if ((this.#values.get(key)?.version ?? 0) !== version) continue
      this.#values.set(key, { version: version + 1, value: changed })
      return changed
    }
  }

  timer(at: number, ring: () => void): string {
    const id = this.id('timer')
    this.#timers.set(id, { at, ring })
    return id
  }

  stopTimer(id: string): void {
    this.#timers.delete(id)
  }

  /** Goes on until this has ended. Time passes only where nothing else can happen. */
  async drive(work: Promise<void>): Promise<void> {
    let isOver = false
    let broken: Error | undefined
    work.then(
      () => (isOver = true),
      (thrown: unknown) => (broken = thrown instanceof Error ? thrown : new Error(String(thrown))),
    )
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      if (broken !== undefined) throw broken
      if (isOver) return
      const [next] = this.#ready.splice(Math.floor(this.roll() * this.#ready.length), 1)
      if (next === undefined) this.#ring()
      else next()
    }
  }

  #ring(): void {
    const [id, timer] = [...this.#timers].toSorted(([, a], [, b]) => a.at - b.at)[0] ?? []
    if (id === undefined || timer === undefined || timer.at > 86_400_000) throw new Error('nobody gets on any more')
    this.#timers.delete(id)
    this.now = timer.at
    timer.ring()
  }

  /** Plays one run of the session to its end. */
  async play(run: string, plan: Plan, mishaps: Mishaps = {}): Promise<void> {
    const root = new Activation(this, rootActivation(runId(run)), [], mishaps)
    await this.drive(root.run(plan))
    this.#ended.add(runId(run))
  }

  /** Who is still in a line, or noted as waiting, of this run. */
  left(run: string): readonly Json[] {
    const lists = [...this.#values].flatMap(([key, { value }]) =>
      key.startsWith('$thread') ? [isObject(value) ? value['all']! : value] : [],
    )
    return (lists.flat() as { at: ActivationId }[]).filter(({ at }) => runOf(at) === run)
  }
}

/** One activation of a leader. */
class Activation {
  readonly id: ActivationId
  readonly #world: World
  readonly #above: readonly string[]
  readonly #mishaps: Mishaps
  readonly #threads = new Threads()
  readonly #kept: Arrival[] = []
  readonly #waiters: {
    readonly match: (arrival: Arrival) => boolean
    hear(arrival: Arrival): void
    reject(error: Error): void
  }[] = []
  readonly #undo: ((ctx: Context) => Promise<void>)[] = []
  readonly #below: { readonly child: Activation; readonly ended: Promise<void> }[] = []
  #vanished: (() => void) | undefined
  #state: 'works' | 'cancelled' | 'gone' | 'over' = 'works'

  constructor(world: World, id: ActivationId, above: readonly string[], mishaps: Mishaps) {
    this.id = id
    this.#world = world
    this.#above = above
    this.#mishaps = mishaps
    world.members.set(id, this)
  }

  /** Resolves when it, and everything below it, has ended. */
  async run(plan: Plan): Promise<void> {
    const gone = new Promise<void>((resolve) => (this.#vanished = resolve))
    const { cancelled = 0, gone: vanishing = 0 } = this.#mishaps
    const fate = this.#world.roll()
    if (fate < cancelled) this.#soon(() => this.cancel())
    else if (fate < cancelled + vanishing) this.#soon(() => this.#vanish())
    await Promise.race([this.#work(plan), gone])
    await Promise.all(this.#below.map(({ ended }) => ended))
    this.#state = 'over'
  }

  /** After some time, beside everything else. */
  #soon(act: () => unknown): void {
    detached(() => this.#someTime().then(act), loud)
  }

  async #work(plan: Plan): Promise<void> {
    for (const group of plan) {
      const all = await Promise.allSettled(group.map((each) => this.#delegate(each.thread, each.plan)))
      for (const each of all) if (each.status === 'rejected' && !(each.reason instanceof Cancelled)) throw each.reason
      if (this.#state === 'cancelled') break
    }
    if (this.#state === 'cancelled') for (const undo of this.#undo.toReversed()) await undo(this.#context(true))
  }

  cancel(): void {
    if (this.#state !== 'works') return
    this.#state = 'cancelled'
    for (const { child } of this.#below) child.cancel()
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Cancelled('enough'))
  }

  #vanish(): void {
    if (this.#state !== 'works') return
    this.#state = 'gone'
    for (const { child } of this.#below) child.cancel()
    this.#vanished?.()
  }

  async #someTime(): Promise<void> {
    for (let left = this.#world.roll() * 40; left > 0; left--) await this.#world.soon()
  }

  async #delegate(thread: number, plan: Plan): Promise<void> {
    const world = this.#world
    const label = world.id('d')
    const key = JSON.stringify([`t${thread}`, null])
    const job: MemoryJob = {
      ctx: this.#context(false),
      call: { id: label },
      state: {
        edge: { leader: this.#above.length === 0 ? {} : { threads: this.#above } } as MemoryJob['state']['edge'],
      },
      worker: { name: 'w' },
      policy: { memory: { thread: `t${thread}` } },
      entry: { label, leave: undefined },
      brief: { instructions: 'x' },
      grant: {},
    }
    if (world.roll() < (this.#mishaps.stopped ?? 0)) this.#soon(() => job.entry.leave?.())
    const work = async () => {
      expect(world.holders.get(key), `M2: ${key} at ${this.id}`).toBeUndefined()
      world.holders.set(key, this.id)
      const child = new Activation(world, childActivation(this.id, label), job.grant.threads!, this.#mishaps)
      const ended = child.run(plan)
      this.#below.push({ child, ended })
      await ended
      world.holders.delete(key)
      await this.#verb(false, async () => {})
      return { outcome: completed('x') }
    }
    const ended = await withMemory(job, this.#threads, work, async () => 'x')
    if (!('outcome' in ended)) world.refused.push(ended.message)
  }

  /** Nothing comes back to one that is gone; one that is cancelled only undoes. */
  async #verb<T>(undoing: boolean, work: () => Promise<T>): Promise<T> {
    const check = async (): Promise<void> => {
      if (this.#state === 'gone' || this.#state === 'over') await new Promise<never>(() => {})
      if (this.#state === 'cancelled' && !undoing) throw new Cancelled('enough')
    }
    await check()
    const result = await work()
    await check()
    return result
  }

  hear(arrival: Arrival): void {
    const i = this.#waiters.findIndex(({ match }) => match(arrival))
    if (i < 0) this.#kept.push(arrival)
    else this.#waiters.splice(i, 1)[0]!.hear(arrival)
  }

  get takesMessages(): boolean {
    return this.#state !== 'over'
  }

  #next(match: (arrival: Arrival) => boolean): Promise<Arrival> {
    const i = this.#kept.findIndex(match)
    if (i >= 0) return Promise.resolve(this.#kept.splice(i, 1)[0]!)
    return new Promise((resolve, reject) => this.#waiters.push({ match, hear: resolve, reject }))
  }

  async #send(to: ActivationId, id: string, body: Json): Promise<void> {
    await this.#world.soon()
    const other = this.#world.members.get(to)
    if (other?.takesMessages === true) other.hear({ type: 'message', id, from: this.id, body } as unknown as Arrival)
    else this.hear({ type: 'message.refused', id, reason: 'it has ended' } as unknown as Arrival)
  }

  #context(undoing: boolean): Context {
    const world = this.#world
    const verb = <T>(work: () => Promise<T>): Promise<T> => this.#verb(undoing, work)
    const context = {
      place: { run: runOf(this.id), activation: this.id, agent: 'lead', caller: {} },
      scope: () => context,
      wasAsked: () => false,
      id: (prefix: string) => world.id(prefix),
      now: () => new Date(world.now),
      emit: (event: unknown) => expect.fail(`nothing fails here: ${JSON.stringify(event)}`),
      onCancel: (_name: string, undo: (ctx: Context) => Promise<void>) => void this.#undo.push(undo),
      values: {
        get: (key: string) => verb(() => world.read(key)),
        getAll: (keys: readonly string[]) => verb(() => Promise.all(keys.map((key) => world.read(key)))),
        update: (key: string, change: (value: Json) => Json) => verb(() => world.update(runOf(this.id), key, change)),
      },
      ask: (_name: string, { until }: { until: Date }) => {
        const id = world.timer(until.getTime(), () =>
          this.hear({ type: 'ask.settled', id, outcome: completed(null) } as unknown as Arrival),
        )
        return id
      },
      stop: (id: string) => world.stopTimer(id),
      next: (match: (arrival: Arrival) => boolean) => verb(() => this.#next(match)),
      send: (to: ActivationId, body: Json) => {
        const id = world.id('msg')
        detached(() => this.#send(to, id, body), loud)
        return id
      },
    }
    return context as unknown as Context
  }
}

/** Trees in which threads come anyhow, or in the same order on every way down. */
function planOf(world: World, order: 'any' | 'same', least = 0, depth = 3): Plan {
  const size = (most: number): number => Math.floor(world.roll() * (most + 1))
  return Array.from({ length: depth === 0 ? 0 : size(2) }, () =>
    Array.from({ length: 1 + size(3) }, () => {
      const thread = least + size(3)
      return { thread, plan: planOf(world, order, order === 'same' ? thread + 1 : 0, depth - 1) }
    }),
  )
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const circles = ({ refused }: World): number =>
  refused.filter((why) => why.includes('that work waits for work that this is part of')).length

describe('threads, in any order of reads and writes', () => {
  test('M2, M3, S2: each run holds its thread alone, all end without a timed look, and none is left in the queue', async () => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const world = new World(seed)
        await world.play('one', planOf(world, 'any'), { stopped: 0.1, cancelled: 0.05 })
        expect(world.now).toBe(0)
        expect(world.left('one')).toEqual([])
        found += circles(world)
      }),
      { numRuns: 300 },
    )
    // else it would say nothing of circles
    expect(found).toBeGreaterThan(0)
  }, 120_000)

  test('M3: where no circle can be, none is found', async () => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const world = new World(seed)
        await world.play('one', planOf(world, 'same'), { stopped: 0.1, cancelled: 0.05 })
        expect(circles(world)).toBe(0)
        expect(world.now).toBe(0)
      }),
      { numRuns: 150 },
    )
  }, 120_000)

  test('S4: runs behind a dead one go on, and the session’s next run waits for none of them', async () => {
    let stayed = 0
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const world = new World(seed)
        await world.play('one', planOf(world, 'any'), { stopped: 0.05, cancelled: 0.05, gone: 0.2 })
        stayed += world.left('one').length
        const { now } = world
        await world.play('two', planOf(world, 'any'), { stopped: 0.1, cancelled: 0.05 })
        expect(world.now).toBe(now)
        expect(world.left('two')).toEqual([])
      }),
      { numRuns: 300 },
    )
    expect(stayed).toBeGreaterThan(0)
  }, 120_000)
})
