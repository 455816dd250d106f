/**
 * What happens to a store before and after the power fails: three runs (a real team, a leader with workers by hand, one
 * that is cancelled and undoes its work), an approver, mail from outside, a shared value, watchers of the feed. What the
 * outside sees of it stands in the witness, which loses nothing.
 */
import { appendFileSync } from 'node:fs'
import { completed, ReeveError, rootActivation, type Json, type RunId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import { SqliteStore, type Durability } from '@reeve/sqlite/store'
import type { Post, Question } from '@reeve/engine'
import type { Recorded } from '@reeve/journal'
import { createRuntime, type Runtime } from '@reeve/runtime'
import type { Reach, Rule } from '../kill/scenario.ts'
import { everything, team } from '../kill/team.ts'

/** What the outside has seen. `part`: of which play it is. */
export type Seen = { readonly part: string } & (
  | { readonly saw: 'effect'; readonly kind: 'model' | 'tool' | 'once'; readonly key: string; readonly what: string }
  | { readonly saw: 'started' | 'cancelled'; readonly run: string }
  | { readonly saw: 'decided' | 'settled'; readonly question: string }
  | { readonly saw: 'posted' }
  | { readonly saw: 'value'; readonly value: number }
  | { readonly saw: 'event'; readonly run: string; readonly event: Recorded }
  | { readonly saw: 'outcome'; readonly run: string; readonly outcome: Json }
  | { readonly saw: 'gave up'; readonly code: string; readonly message: string }
  | { readonly saw: 'the end' }
)
type Sight = Seen extends infer Each ? (Each extends Seen ? Omit<Each, 'part'> : never) : never

export const seenIn = (text: string): Seen[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Seen)

export const runs = ['team', 'leader', 'traveller', 'hearer'] as const
const values = 3
const checkpointPages = 60
const mail = 'm1'
const stream = 'ses_outside'

/** What partial.ts writes: all of it is synced and told. */
export const partialStream = 'ses_partial'
const keysOf = (first: string): string[] => Array.from({ length: 20 }, (_, i) => `${first}${i}`)
export const partialKeys = { a: keysOf('a'), b: keysOf('b'), c: keysOf('c') } as const

/** Waits for mail, and passes on what it says. */
const hearer: Rule = async (ctx, reach) => {
  const heard = await ctx.next((arrival) => arrival.type === 'message')
  const { outcome } = await ctx.next(ctx.begin('pass on', (io) => reach(io, 'once', 'pass on'), { effect: 'once' }))
  // what was done, not who settled a doubt about it
  return [
    heard.type === 'message' ? heard.body : null,
    outcome.status === 'completed' ? outcome.output : outcome.status,
  ]
}

export interface Play {
  readonly store: string
  readonly witness: string
  readonly part: string
  readonly durability?: Durability
  /** Whether this process shows the feed to a watcher. */
  readonly isWatched?: boolean
}

/** Begins what has not begun, goes on with the rest, and returns when all runs have ended or the store is given up. */
export class Player {
  readonly #play: Play
  #engine!: EmbeddedEngine
  #runtime!: Runtime
  readonly #open = new Set<string>(runs)
  readonly #left = new AbortController()
  /** What has been seen of this store, now or before. */
  readonly seen: Seen[]

  constructor(play: Play, before: readonly Seen[] = []) {
    this.#play = play
    this.seen = [...before]
  }

  see(sight: Sight): void {
    const seen = { part: this.#play.part, ...sight } as Seen
    appendFileSync(this.#play.witness, `${JSON.stringify(seen)}\n`)
    this.seen.push(seen)
  }

  readonly #reach: Reach = async (io, kind, what) => {
    this.see({ saw: 'effect', kind, key: io.key, what })
    // the end of an effect comes some time after its deed
    await new Promise((resolve) => setTimeout(resolve, 1))
    return what
  }

  async play(): Promise<void> {
    try {
      this.#engine = createEmbeddedEngine({
        file: this.#play.store,
        pollMs: 5,
        onWarning: () => undefined,
        ...(this.#play.durability && { durability: this.#play.durability }),
      })
      // so short a play would end before the first checkpoint
      if (this.#engine.store instanceof SqliteStore) this.#engine.store.log.checkpointPages = checkpointPages
      this.#engine.drive(everything(this.#reach, { hearer }))
      this.#runtime = await createRuntime({ engine: this.#engine, drive: false, agents: [team(this.#reach)] })
      await Promise.all([...runs.map((run) => this.#follow(run)), this.#post(), this.#count(), this.#operate()])
    } catch (thrown) {
      if (!ReeveError.is(thrown)) throw thrown
      this.see({ saw: 'gave up', code: thrown.code, message: thrown.message })
    }
    this.#left.abort()
  }

  async close(): Promise<void> {
    await this.#engine?.close()
  }

  /** Whoever is told that a call has failed and may be repeated repeats it. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (thrown) {
        if (!ReeveError.is(thrown) || !thrown.retryable) throw thrown
        await pause(5)
      }
    }
  }

  async #follow(run: (typeof runs)[number]): Promise<void> {
    const id = run as RunId
    await this.#patiently(async () =>
      run === 'team'
        ? this.#runtime.start('team', 'A report on ravens, please.', { runId: run })
        : this.#engine.start({ run: id, agent: run, version: '1', input: null }),
    )
    this.see({ saw: 'started', run })
    if (this.#play.isWatched === true) watch(this.#engine, id, (sight) => this.see(sight), this.#left.signal)
    const { outcome } = await this.#patiently(() => this.#engine.outcome(id))
    this.see({ saw: 'outcome', run, outcome: outcome as unknown as Json })
    this.#open.delete(run)
  }

  async #say(post: Post): Promise<void> {
    await this.#patiently(() => this.#engine.post(post))
  }

  async #post(): Promise<void> {
    if (this.seen.some(({ saw }) => saw === 'posted')) return
    await this.#until(() => this.#engine.read('hearer' as RunId, 0, 1).then((feed) => feed.length > 0))
    await this.#say({
      type: 'message',
      activation: rootActivation('hearer' as RunId),
      id: mail,
      body: 'hello',
    })
    this.see({ saw: 'posted' })
  }

  async #count(): Promise<void> {
    const mine = this.#engine.stream(stream)
    for (let now = (await this.#patiently(() => mine.get('count'))) as number | null; (now ?? 0) < values;) {
      now = (await this.#patiently(() =>
        mine.update('count', (before) => ((before as number | null) ?? 0) + 1),
      )) as number
      this.see({ saw: 'value', value: now })
    }
  }

  /** Answers everything that is asked, until all runs have ended. */
  async #operate(): Promise<void> {
    const answered = new Set<string>()
    while (this.#open.size > 0 && !this.#left.signal.aborted) {
      for (const question of await this.#patiently(() => this.#engine.questions({ unanswered: true }))) {
        if (answered.has(question.id)) continue
        answered.add(question.id)
        if (question.kind === 'in-doubt') await this.#settle(question)
        else await this.#decide(question)
      }
      await pause(20)
    }
  }

  async #decide({ id, run, activation, address }: Question): Promise<void> {
    if (address === 'cancel-me') {
      await this.#say({ type: 'cancel', run, reason: 'changed my mind', by: 'operator' })
      return this.see({ saw: 'cancelled', run })
    }
    if (activation.endsWith('publisher'))
      await this.#patiently(() => this.#runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' }))
    else await this.#say({ type: 'answer', activation, address, outcome: completed({ approved: true, by: 'ann' }) })
    this.see({ saw: 'decided', question: `${activation}:${address}` })
  }

  /** Looks at what has happened, and says so. */
  async #settle({ activation, address }: Question): Promise<void> {
    const key = `${activation}:${address}`
    const deed = this.seen.find((each) => each.saw === 'effect' && each.key === key)
    const word = { type: 'settle-doubt', activation, address, by: 'operator' } as const
    await this.#say(
      deed?.saw === 'effect' ? { ...word, happened: true, value: deed.what } : { ...word, happened: false },
    )
    this.see({ saw: 'settled', question: key })
  }

  async #until(condition: () => Promise<boolean>): Promise<void> {
    while (!(await this.#patiently(condition))) await pause(2)
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Shows a run's feed as it grows, until the store is given up. */
export function watch(engine: EmbeddedEngine, run: RunId, see: (sight: Sight) => void, signal: AbortSignal): void {
  const show = async (): Promise<void> => {
    for (let from = 0; !signal.aborted;) {
      for (const event of await engine.read(run, from)) {
        see({ saw: 'event', run, event })
        from = event.position
        // an ended run has news for ever
        if (event.activation === rootActivation(run) && event.event.type === 'activation.settled') return
      }
      await engine.changed(run, from, signal)
    }
  }
  show().catch(() => undefined)
}
