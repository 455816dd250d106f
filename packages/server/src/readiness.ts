/**
 * Readiness: whether a process can take requests, or work, now. What probes of orchestrators and load balancers ask.
 *
 * Owns: what makes a process not ready, and that many probes cost one look at the store. Does not own: where it is
 * asked (routes/probes.ts, the probe port of `reeve work`), the end of the process.
 * Holds: an answer comes within a second, whatever the store does, and tells nothing but a reason of one word.
 */
import { delay, ReeveError, stopwatch } from '@reeve/core'
import type { Runtime } from '@reeve/runtime'

/** Why a process is not ready: it closes, its store does not answer, or it does what is due too late. */
export type NotReady = 'closing' | 'store' | 'event-loop'

/** What a probe is answered. `ok` is false with a status of 503, and then there is a reason. */
export interface ProbeAnswer {
  readonly ok: boolean
  readonly reason?: NotReady
}

/** A look at the store holds for this long, so that probes cost it nothing. Milliseconds. */
const lookEveryMs = 1_000
/** How long the store may take; a kubelet waits a second by default. Milliseconds. */
const storeWithinMs = 700
/** A timer that is due now may be this late. Milliseconds. */
const lateMs = 500

/** Whether one server, and what it serves, is ready. */
export class Readiness {
  readonly #runtime: Pick<Runtime, 'runs'>
  #isClosing = false
  #look: { readonly at: number; readonly found: Promise<NotReady | undefined> } | undefined

  constructor(runtime: Pick<Runtime, 'runs'>) {
    this.#runtime = runtime
  }

  /** From now on it is not ready, because it is about to end. */
  retire(): void {
    this.#isClosing = true
  }

  /** That the process answers at all is the answer. */
  live(): Response {
    return answered({ ok: true })
  }

  async ready(): Promise<Response> {
    const reason = this.#isClosing ? 'closing' : ((await this.#store()) ?? (await isLate()))
    return answered(reason === undefined ? { ok: true } : { ok: false, reason })
  }

  #store(): Promise<NotReady | undefined> {
    const now = stopwatch()
    if (this.#look === undefined || now - this.#look.at >= lookEveryMs)
      this.#look = { at: now, found: storeProblem(this.#runtime) }
    return this.#look.found
  }
}

async function storeProblem(runtime: Pick<Runtime, 'runs'>): Promise<NotReady | undefined> {
  const asked = runtime.runs({ limit: 1 }).then(
    () => undefined,
    (thrown: unknown): NotReady => (ReeveError.is(thrown, 'engine.closed') ? 'closing' : 'store'),
  )
  return Promise.race([asked, delay(storeWithinMs).then((): NotReady => 'store')])
}

async function isLate(): Promise<NotReady | undefined> {
  const begun = stopwatch()
  // holds the process, as whoever asks waits: without a port there may be nothing else that does
  await new Promise((resolve) => setTimeout(resolve))
  return stopwatch() - begun >= lateMs ? 'event-loop' : undefined
}

const answered = (answer: ProbeAnswer): Response =>
  Response.json(answer, { status: answer.ok ? 200 : 503, headers: { 'Cache-Control': 'no-store' } })
