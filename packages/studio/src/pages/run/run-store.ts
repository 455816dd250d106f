/**
 * Run store: one run as the server streams it, for every part of its page.
 *
 * Owns: the state, the streamed texts, how the stream fares. Does not own: the stream and its reconnects
 * (run-stream.ts), its patches (the client). Holds: pieces of text are taken in at once and shown once for each frame, so 500 pieces in a
 * second are 60 drawings; a patch changes only the records that it names.
 */
import type { LiveState } from '@reeve/client'
import type { LiveRun } from '@reeve/server/wire'
import { LiveTexts } from './live-text.ts'

/** How the stream fares. `lost`: it is being opened again; what is shown is of before. */
export type Connection = 'connecting' | 'live' | 'lost' | 'failed'

export interface RunState {
  readonly run?: LiveRun
  readonly connection: Connection
  readonly error?: unknown
}

export class RunStore {
  readonly #atNextFrame: (draw: () => void) => void
  readonly texts = new LiveTexts()
  #state: RunState = { connection: 'connecting' }
  #version = 0
  #changes = 0
  readonly #listeners = new Set<() => void>()
  readonly #textListeners = new Set<() => void>()
  #awaitsFrame = false
  #stateChanged = false
  #textsChanged = false

  /** `atNextFrame`: calls once, when the page is drawn next. */
  constructor(atNextFrame: (draw: () => void) => void) {
    this.#atNextFrame = atNextFrame
  }

  readonly state = (): RunState => this.#state
  /** Rises when a streamed text has changed. */
  readonly version = (): number => this.#version

  /** How many snapshots and patches were taken in. */
  readonly changes = (): number => this.#changes

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly subscribeTexts = (listener: () => void): (() => void) => {
    this.#textListeners.add(listener)
    return () => this.#textListeners.delete(listener)
  }

  /** `isSnapshot`: the first state of a connection. */
  take({ run, parts }: LiveState, isSnapshot: boolean): void {
    const before = this.#state.run
    if (run === before && !isSnapshot) {
      // a piece comes after the patch that shows its call open: what is not open has ended
      const open = parts.filter(({ activation, address }) => isUnderWay(run, activation, address))
      if (this.texts.add(open)) this.#show('texts')
      return
    }
    this.#changes++
    // what streamed before a reconnect may have holes
    if (isSnapshot) this.texts.clear()
    this.#state = { run, connection: 'live' }
    if (this.texts.keep((activation, address) => isUnderWay(run, activation, address))) this.#show('texts')
    this.#show('state')
  }

  fares(connection: Connection, error?: unknown): void {
    if (this.#state.connection === connection) return
    this.#state = {
      ...(this.#state.run === undefined ? {} : { run: this.#state.run }),
      connection,
      ...(error === undefined ? {} : { error }),
    }
    this.#show('state')
  }

  #show(what: 'state' | 'texts'): void {
    if (what === 'state') this.#stateChanged = true
    else this.#textsChanged = true
    if (this.#awaitsFrame) return
    this.#awaitsFrame = true
    this.#atNextFrame(() => {
      this.#awaitsFrame = false
      const [state, texts] = [this.#stateChanged, this.#textsChanged]
      this.#stateChanged = false
      this.#textsChanged = false
      if (texts) {
        this.#version++
        for (const listener of this.#textListeners) listener()
      }
      if (state) for (const listener of this.#listeners) listener()
    })
  }
}

const isUnderWay = (run: LiveRun, activation: string, address: string): boolean =>
  Object.hasOwn(run.activations, activation) &&
  run.activations[activation]!.open.some((each) => each.address === address)
