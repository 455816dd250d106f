/**
 * The mover on Restate: sends it the runs that have something to do, and takes up the runs that it names.
 *
 * Owns: one call for all runs that are woken together, one warning when Restate is away and one when it is back,
 * staying registered. Does not own: what moves a run (../../engine/host), how a worker is reached (endpoint.ts). A call
 * that cannot be made now is dropped: the host looks each second for runs that no process holds.
 */
import type * as RestateSdk from '@restatedev/restate-sdk'
import { isChildRun, jitter, messageOf, optionalPeer, ReeveError, systemClock, type RunId } from '@reeve/core'
import type { Mover, WorkerProcess } from '@reeve/engine/mover'
import { handler, runsPerCall, serviceOf } from './call.ts'
import { RestateClient } from './client.ts'
import { listen, type Endpoint } from './endpoint.ts'
import type { MoverSetup } from './options.ts'
import { register } from './registration.ts'

/** Runs that are woken within this time share a call. Milliseconds. */
const gatherMs = 2
/** At most this many calls to Restate at a time; runs woken meanwhile share the next ones. */
const callsAtOnce = 8
/** More runs than this are left to the next look of the host. */
const mostWaiting = 10_000
/** How long Restate has to accept a call: after that the host has woken the run again. Milliseconds. */
const takenWithinMs = 3_000
/** How often a worker looks whether it is still registered; sooner while it is not. Milliseconds. */
const lookEveryMs = 10_000
const lookSoonMs = 1_000
/**
 * How long Restate has to register a worker: a server under load may take its time, so it has longer with each attempt
 * that failed. The first one is short, because `createRuntime` waits for it. Milliseconds.
 */
const registeredWithinMs = [3_000, 10_000, 30_000, 60_000] as const

export class RestateMover implements Mover {
  readonly name = 'restate'
  readonly #setup: MoverSetup
  readonly #storeId: () => Promise<string>
  readonly #service: string
  readonly #client: RestateClient
  readonly #waiting = new Set<RunId>()
  readonly #calls = new Set<Promise<void>>()
  /** What is wrong with Restate at the moment, by the code of the error. */
  readonly #troubles = { calls: '', registration: '' }
  /** Registrations that have failed in a row. */
  #failures = 0
  readonly #stop = new AbortController()
  #gathering = false
  #isRetired = false
  #endpoint: Endpoint | undefined
  #callOff: (() => void) | undefined
  #closing: Promise<void> | undefined

  /** `storeId`: of the store beside it. A namespace belongs to one. */
  constructor(setup: MoverSetup, storeId: () => Promise<string>) {
    const { ingress, admin, tokens, namespace } = setup
    this.#setup = setup
    this.#storeId = storeId
    this.#service = serviceOf(namespace)
    this.#client = new RestateClient({
      ingress,
      admin,
      timeoutMs: takenWithinMs,
      ...(tokens.ingress === undefined ? {} : { ingressToken: tokens.ingress }),
      ...(tokens.admin === undefined ? {} : { adminToken: tokens.admin }),
    })
  }

  wake(runs: readonly RunId[]): void {
    if (this.#closing !== undefined) return
    for (const run of runs) if (this.#waiting.size < mostWaiting) this.#waiting.add(run)
    if (this.#gathering || this.#waiting.size === 0) return
    this.#gathering = true
    setTimeout(() => {
      this.#gathering = false
      this.#tell()
    }, gatherMs)
  }

  /** Makes as many calls as may be under way. */
  #tell(): void {
    while (this.#calls.size < callsAtOnce && this.#waiting.size > 0) {
      const runs: RunId[] = []
      for (const run of this.#waiting) {
        // a worker that is placed apart has a call of its own: Restate gives each to a worker of its choice
        const isApart = isChildRun(run)
        if (isApart && runs.length > 0) break
        if (runs.push(run) === runsPerCall || isApart) break
      }
      for (const run of runs) this.#waiting.delete(run)
      const call = this.#call(runs).finally(() => {
        this.#calls.delete(call)
        this.#tell()
      })
      this.#calls.add(call)
    }
  }

  async #call(runs: readonly RunId[]): Promise<void> {
    try {
      await this.#client.send(this.#service, handler, { store: await this.#storeId(), runs })
      this.#isWell('calls')
    } catch (thrown) {
      // The others that wait are not better off.
      this.#waiting.clear()
      this.#isNotWell('calls', thrown)
      if (ReeveError.is(thrown, 'engine.no-worker')) this.#lookIn(lookSoonMs)
    }
  }

  #isNotWell(what: 'calls' | 'registration', thrown: unknown): void {
    const code = ReeveError.is(thrown) ? thrown.code : 'engine.unreachable'
    const isKnown = Object.values(this.#troubles).includes(code)
    this.#troubles[what] = code
    if (isKnown || this.#closing !== undefined) return
    this.#setup.warn(code, `${messageOf(thrown)}; workers look for runs by themselves until it answers again`)
  }

  #isWell(what: 'calls' | 'registration'): void {
    if (this.#troubles[what] === '') return
    this.#troubles[what] = ''
    if (Object.values(this.#troubles).some((code) => code !== '')) return
    this.#setup.warn(
      'engine.reachable-again',
      `Restate moves the runs of ${this.#service} again (${this.#client.ingress})`,
    )
  }

  async open(workerProcess: WorkerProcess): Promise<void> {
    const { listen: where, identityKeys, warn } = this.#setup
    // one that only starts, reads and decides needs no SDK
    const sdk = await optionalPeer<typeof RestateSdk>('@restatedev/restate-sdk')
    const endpoint = await listen(
      where,
      { service: this.#service, store: await this.#storeId(), workerProcess, identityKeys, warn },
      sdk,
    )
    this.#endpoint = endpoint
    if (this.#closing !== undefined) return endpoint.close()
    if (this.#isRetired) return endpoint.retire()
    if (!this.#setup.register) return
    try {
      await this.#register('open')
      this.#lookIn(lookEveryMs)
    } catch (thrown) {
      // A worker is of use without Restate. A mistake in its set-up is not waited for; a late server is no mistake.
      if (!ReeveError.is(thrown) || !thrown.retryable) {
        await this.close([])
        throw thrown
      }
      this.#registerLater(thrown)
    }
  }

  /** Tries again for as long as this process lives, with longer and longer waits. */
  #registerLater(thrown: unknown): void {
    this.#isNotWell('registration', thrown)
    this.#lookIn(Math.min(lookEveryMs, lookSoonMs * 2 ** (this.#failures - 1)) * (0.75 + jitter() / 2))
  }

  async #register(why: 'open' | 'stay'): Promise<boolean> {
    const url = this.#setup.advertise ?? this.#endpoint!.url
    const timeoutMs = registeredWithinMs[Math.min(this.#failures, registeredWithinMs.length - 1)]!
    const what = { url, service: this.#service, store: await this.#storeId() }
    const patience = { timeoutMs, signal: this.#stop.signal }
    this.#failures++
    const isNew = await register(this.#client, what, why, patience)
    this.#failures = 0
    return isNew
  }

  #lookIn(ms: number): void {
    if (this.#endpoint === undefined || !this.#setup.register || this.#isRetired || this.#closing !== undefined) return
    this.#callOff?.()
    this.#callOff = systemClock.timer(systemClock.now() + ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    // A process that could not register when it began does so now.
    const isLate = this.#troubles.registration !== ''
    try {
      const isNew = await this.#register(isLate ? 'open' : 'stay')
      if (this.#closing !== undefined) return
      this.#isWell('registration')
      // Nothing may be woken for a while that would tell.
      if (this.#troubles.calls !== '') await this.#client.check().then(() => this.#isWell('calls'))
      if (isNew && !isLate)
        this.#setup.warn(
          'engine.registered-again',
          `no worker answered for ${this.#service} any more: this one has registered again`,
        )
      this.#lookIn(lookEveryMs)
    } catch (thrown) {
      this.#registerLater(thrown)
    }
  }

  /** Calls are refused from now on, so Restate makes them elsewhere. */
  retire(): void {
    this.#isRetired = true
    this.#callOff?.()
    this.#endpoint?.retire()
  }

  close(left: readonly RunId[]): Promise<void> {
    this.wake(left)
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#callOff?.()
    this.#stop.abort()
    const closed = this.#endpoint?.close()
    this.#tell()
    // Each is answered, or given up, within its time.
    while (this.#calls.size > 0) await Promise.all(this.#calls)
    await closed
  }
}
