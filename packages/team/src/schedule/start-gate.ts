/**
 * The gate of a team at work: every beginning is behind an effect. A pause delays effects and is invisible to
 * orchestration, so it holds back all pending tasks (spec team R-13, C65, C66), while those who work already go on.
 *
 * Owns: asking for leave to begin, once per start. Does not own: which task begins then: the first at that moment
 * (task-queue.ts), not who was when it was asked.
 * Holds: K8 (control is looked at before every beginning), K3 (leave is a recorded arrival).
 */
import { step } from '@reeve/agent'
import type { Context } from '@reeve/engine'

/** By which rules the work goes on, recorded as the leave to begin: they may differ in a later release (K12). */
const rules = 1

/** Who has to do with it. */
export interface GateKeepers {
  /** One may begin. */
  readonly open: () => void
  /** Keeps the work from ending while leave is asked for. What it returns lets go. */
  readonly hold: () => () => void
  /** The team is cancelled. */
  readonly leave: (thrown: unknown) => void
}

export class Gate {
  readonly #ctx: Context
  readonly #keepers: GateKeepers
  #asked = 0

  constructor(ctx: Context, keepers: GateKeepers) {
    this.#ctx = ctx
    this.#keepers = keepers
  }

  /** So many may begin: asks once for each. */
  ask(count: number): void {
    while (this.#asked < count) this.#askOnce()
  }

  #askOnce(): void {
    const { open, hold, leave } = this.#keepers
    this.#asked++
    const letGo = hold()
    const opened = (): void => {
      this.#asked--
      open()
      letGo()
    }
    step(this.#ctx.scope('begin'), 'gate', () => rules, { effect: 'read' })
      .then(opened)
      .catch(leave)
  }
}
