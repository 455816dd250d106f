/**
 * The operator: decides from outside what runs ask, through an engine that drives nothing. Approves, cancels, and says
 * truthfully whether a `once` in doubt has happened.
 */
import { completed, ReeveError, type RunId } from '@reeve/core'
import type { Post, PostResult, Question } from '@reeve/engine'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import type { Durability } from '@reeve/sqlite/store'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { team } from './team.ts'
import { valueOf, type World } from './world.ts'

export class Operator {
  readonly engine: EmbeddedEngine
  readonly problems: string[] = []
  doubts = 0
  decided = 0
  readonly #world: World
  readonly #answered = new Set<string>()
  /** For what users do through a runtime. */
  readonly #runtime: Promise<Runtime>

  constructor(file: string, world: World, durability: Durability) {
    this.#world = world
    this.engine = createEmbeddedEngine({
      file,
      durability,
      busyMs: 100,
      pollMs: 5,
      onWarning: () => undefined,
    })
    this.#runtime = createRuntime({
      engine: this.engine,
      drive: false,
      agents: [team(() => Promise.reject(new Error('the operator runs nothing')))],
    })
  }

  async start(run: string, agent: 'leader' | 'traveller' | 'team'): Promise<void> {
    if (agent === 'team')
      await patiently(async () => (await this.#runtime).start('team', 'A report on ravens, please.', { runId: run }))
    else await patiently(() => this.engine.start({ run: run as RunId, agent, version: '1', input: null }))
  }

  /** Answers everything that is asked now. */
  async look(): Promise<void> {
    for (const question of await patiently(() => this.engine.questions())) {
      if (this.#answered.has(question.id)) continue
      this.#answered.add(question.id)
      await (question.kind === 'in-doubt' ? this.#settle(question) : this.#decide(question))
    }
  }

  /** Twice at once: exactly one may be taken. */
  async #decide(question: Question): Promise<void> {
    this.decided++
    if (question.address === 'cancel-me') {
      const first = await this.#post({ type: 'cancel', run: question.run, reason: 'changed my mind', by: 'operator' })
      if (first !== 'accepted') this.problems.push(`cancelling ${question.run}: ${first}`)
      return
    }
    if (question.activation.endsWith('publisher')) return this.#approve(question.id)
    const answer = (by: string): Promise<PostResult> =>
      this.#post({
        type: 'answer',
        activation: question.activation,
        address: question.address,
        outcome: completed({ approved: true, by }),
      })
    const results = [await answer('ann'), await answer('bob')]
    if (results[0] !== 'accepted' || results[1] === 'accepted')
      this.problems.push(`deciding ${question.id} twice: ${results.join(', ')}`)
  }

  /** Through the runtime: who comes second is told so. */
  async #approve(approvalId: string): Promise<void> {
    const runtime = await this.#runtime
    const decide = (approver: string): Promise<void> =>
      patiently(() => runtime.decide({ approvalId, decision: 'approve', approver }))
    await decide('ann').catch((thrown: unknown) => this.problems.push(`approving ${approvalId}: ${String(thrown)}`))
    await decide('bob').then(
      () => this.problems.push(`${approvalId} was approved twice`),
      () => undefined,
    )
  }

  /** From this moment on nothing older gets through, so the answer stays true. */
  async #settle(question: Question): Promise<void> {
    this.doubts++
    const { epoch } = this.engine.store.reader.run(question.run)!
    this.#world.fence(question.run, epoch)
    const deed = this.#world.happened(`${question.activation}:${question.address}`)
    const word = {
      type: 'settle-doubt',
      activation: question.activation,
      address: question.address,
      by: 'operator',
    } as const
    const result = await this.#post(
      deed === undefined ? { ...word, happened: false } : { ...word, happened: true, value: valueOf(deed) },
    )
    // Closed: the process that had it in flight was only slow, and recorded its end first.
    if (result !== 'accepted' && result !== 'closed') this.problems.push(`settling ${question.id}: ${result}`)
  }

  #post(post: Post): Promise<PostResult> {
    return patiently(() => this.engine.post(post))
  }
}

/** A process may be frozen while it holds the file: then the file is busy, and nothing was taken. */
export async function patiently<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'store.busy')) throw thrown
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
