/**
 * The sweeper: looks for activations that nobody moves, and sees to it that somebody does.
 *
 * Owns: invocations that were killed, lost, paused by the server, or are stuck on a deployment that is gone; births and calls whose sender died before it
 * could tell Restate; runs that are old enough to be removed. Does not own: what activations do. Idempotent: any number of processes may sweep.
 */
import { ReeveError, systemClock, type Clock } from '../../core/index.ts'
import { holderOf, type EventStore, type Sentinel } from '../eventstore/index.ts'
import type { InvocationInfo, RestateClient } from './client.ts'
import { answers } from './known.ts'
import { keyOf, serviceNames, type ServiceNames } from './names.ts'

const atOnce = 200
/** Attempts that fail in a row, before it is asked whether the deployment is still there. */
const enough = 5

export interface SweeperOptions {
  readonly store: EventStore
  readonly client: RestateClient
  readonly names: ServiceNames
  readonly namespace: string
  readonly build: string | undefined
  readonly clock: Clock
  readonly everyMs: number
  readonly retentionMs: number | undefined
  /** Sees to it that Restate knows somebody who serves. */
  readonly stayKnown: () => Promise<void>
  /** Tells invocations to look again. */
  readonly ring: (calls: readonly string[]) => Promise<void>
  readonly warn: (code: string, message: string) => void
}

export class Sweeper {
  readonly #options: SweeperOptions
  #after = ''
  #callOff: (() => void) | undefined
  #stopped = false

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#stopped) return
    this.#callOff = systemClock.timer(systemClock.now() + this.#options.everyMs, () => {
      this.sweep()
        .catch(() => undefined)
        .finally(() => this.start())
    })
  }

  stop(): void {
    this.#stopped = true
    this.#callOff?.()
  }

  /** One look at the next few. Rejects if the store or Restate cannot be asked: the next look comes anyway. */
  async sweep(): Promise<void> {
    const { store, clock, everyMs, retentionMs, stayKnown } = this.#options
    await stayKnown()
    const found = await store.sentinels(this.#after, clock.now() - everyMs, atOnce)
    this.#after = found.length < atOnce ? '' : found.at(-1)!.id
    await this.#unborn(found.filter(({ invocation }) => invocation === null))
    await this.#known(found.filter(({ invocation }) => invocation !== null))
    if (retentionMs !== undefined) for (const run of await store.endedBefore(clock.now() - retentionMs, atOnce)) await store.remove(run)
  }

  /** Begins an activation's workflow, with its own build if a worker of that is there. The same generation again is the same workflow. */
  async #begin({ id, generation, build }: Pick<Sentinel, 'id' | 'generation' | 'build'>): ReturnType<RestateClient['send']> {
    const { client, names, namespace } = this.#options
    const summons = { activation: id, generation }
    const send = (service: string): ReturnType<RestateClient['send']> => client.send(service, 'run', summons, { key: keyOf(summons) })
    const its = build === null ? names.activation : serviceNames(namespace, build).activation
    if (its === names.activation) return await send(its)
    try {
      return await send(its)
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'engine.no-worker')) throw thrown
      return await send(names.activation)
    }
  }

  /** They are begun again under the same name, which changes nothing if they are only waiting for their turn. */
  async #unborn(found: readonly Sentinel[]): Promise<void> {
    for (const sentinel of found) {
      const { invocationId, isNew } = await this.#begin(sentinel)
      if (isNew) continue
      const invocation = (await this.#options.client.invocations([invocationId])).get(invocationId)
      // It ended before it had claimed the activation, and Restate remembers that: only under another name will one begin.
      await this.#judge(sentinel, invocation)
    }
  }

  async #known(found: readonly Sentinel[]): Promise<void> {
    const known = await this.#options.client.invocations(found.map(({ invocation }) => holderOf(invocation!)))
    const calls: string[] = []
    for (const sentinel of found) {
      const invocation = known.get(holderOf(sentinel.invocation!))
      const moves = await this.#judge(sentinel, invocation)
      // Suspended in the middle of something: its last release has never come to Restate.
      if (moves && (sentinel.unread || invocation?.status === 'suspended')) calls.push(sentinel.invocation!)
    }
    if (calls.length > 0) await this.#options.ring(calls)
  }

  /** False if something had to be done for it to move on. */
  async #judge(sentinel: Sentinel, invocation: InvocationInfo | undefined): Promise<boolean> {
    if (invocation === undefined || invocation.status === 'completed') await this.#revive(sentinel)
    else if (invocation.status === 'paused') await this.#options.client.resume(invocation.id)
    else if (invocation.status === 'backing-off' && (invocation.retry_count ?? 0) >= enough) await this.#rescue(sentinel, invocation)
    else return true
    return false
  }

  /**
   * A worker has come, perhaps with what these wait for: they look again. Those that a worker of another build has taken over meanwhile, and whose code is
   * here, come to this one. What cannot be told now is looked at again when it is told something, or when another worker comes.
   */
  async welcome(stuck: readonly Sentinel[], isHere: (sentinel: Sentinel) => boolean): Promise<void> {
    const { client, names, ring, warn } = this.#options
    try {
      const known = await this.#options.client.invocations(
        stuck.flatMap(({ invocation }) => (invocation === null ? [] : [holderOf(invocation)])),
      )
      for (const sentinel of stuck) {
        const invocation = sentinel.invocation === null ? undefined : known.get(holderOf(sentinel.invocation))
        if (invocation === undefined || invocation.target_service_name === names.activation || !isHere(sentinel)) continue
        // taken before it is killed: else the worker that has it could see it gone and begin it again
        await this.#revive({ ...sentinel, build: this.#options.build ?? null })
        await client.kill(invocation.id).catch(() => undefined)
      }
    } catch (thrown) {
      if (ReeveError.is(thrown)) warn(thrown.code, thrown.message)
    }
    await ring(stuck.flatMap(({ invocation }) => (invocation === null ? [] : [invocation])))
  }

  /** Its invocation is no more, and it has not settled: it goes on in another one. */
  async #revive(sentinel: Sentinel): Promise<void> {
    const generation = await this.#options.store.bury(sentinel.id, sentinel.invocation, sentinel.build ?? '')
    if (generation === undefined) return
    this.#options.warn('engine.invocation-lost', `the invocation of ${sentinel.id} has ended without it; it goes on in a new one`)
    await this.#begin({ ...sentinel, generation })
  }

  /** Its deployment may be gone for good: what it was doing is in the store, so it can go on in the newest. */
  async #rescue(sentinel: Sentinel, { id, pinned_deployment_id: pinned }: InvocationInfo): Promise<void> {
    const { client, warn } = this.#options
    const deployment = (await client.deployments()).find((one) => one.id === pinned)
    if (deployment !== undefined && (await answers(client, deployment.uri))) return
    warn('engine.deployment-gone', `the deployment of ${sentinel.id} (${deployment?.uri ?? pinned}) is gone; it goes on in the newest`)
    await client.kill(id)
    await this.#revive({ ...sentinel, build: this.#options.build ?? null })
  }
}
