/**
 * The gate of a team at work: every beginning is behind an effect. A pause delays effects and is invisible to
 * orchestration, so it holds back all pending tasks (spec team R-13, C65, C66), while those who work already go on.
 *
 * Owns: the recorded permission to begin, one per start. Does not own: which task begins then: the first at that moment
 * (task-queue.ts), not the one that was first when the gate was asked.
 * Holds: K8 (control is looked at before every beginning), K3 (leave is a recorded arrival).
 */
import { step } from '@reeve/agent'
import type { Context } from '@reeve/engine'

/**
 * By which rules the work goes on: what leave to begin says. Older journals have `null`: there, a task that does not
 * fit into the budget right away is refused.
 */
const rules = 1

export interface StartGateHandlers {
  /** One task may begin. `waits`: it may wait for budget. */
  readonly open: (waits: boolean) => void
  /** Keeps the work from ending while leave is asked for. What it returns lets go. */
  readonly hold: () => () => void
  /** The team is cancelled. */
  readonly leave: (thrown: unknown) => void
}

export class StartGate {
  readonly #ctx: Context
  readonly #handlers: StartGateHandlers
  #asked = 0

  constructor(ctx: Context, handlers: StartGateHandlers) {
    this.#ctx = ctx
    this.#handlers = handlers
  }

  /** So many may begin: asks once for each. */
  ask(count: number): void {
    while (this.#asked < count) this.#askOnce()
  }

  #askOnce(): void {
    const { open, hold, leave } = this.#handlers
    this.#asked++
    const letGo = hold()
    const opened = (said: number | null): void => {
      this.#asked--
      open(said === rules)
      letGo()
    }
    step(this.#ctx.scope('begin'), 'gate', (): number | null => rules, { effect: 'read' })
      .then(opened)
      .catch(leave)
  }
}
