/**
 * Run store: one run as the server streams it, for every part of its page.
 *
 * Owns: the snapshot with its patches, the streamed texts, how the stream fares. Does not own: the stream and its
 * reconnects (run-stream.ts). Holds: pieces of text are taken in at once and shown once for each frame, so 500 pieces in a
 * second are 60 drawings; a patch changes only the records that it names.
 */
import type { LiveMessage, LivePatch, LiveRun } from '@reeve/server/wire'
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

  take(message: LiveMessage): void {
    const before = this.#state.run
    if (message.type === 'parts') {
      // a piece comes after the patch that shows its call open: what is not open has ended
      const open = message.parts.filter(({ activation, address }) => isUnderWay(before, activation, address))
      if (this.texts.add(open)) this.#show('texts')
      return
    }
    if (message.type === 'patch' && before === undefined) return
    this.#changes++
    const run = message.type === 'snapshot' ? message.run : patched(before!, message.patch)
    // what streamed before a reconnect may have holes
    if (message.type === 'snapshot') this.texts.clear()
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

const isUnderWay = (run: LiveRun | undefined, activation: string, address: string): boolean =>
  run !== undefined &&
  Object.hasOwn(run.activations, activation) &&
  run.activations[activation]!.open.some((each) => each.address === address)

/** A run with what has changed. What a patch does not name is the same object as before. */
function patched(run: LiveRun, patch: LivePatch): LiveRun {
  const { head = run.head, ...parts } = patch
  const next: Record<string, unknown> = { ...run, head }
  for (const [part, changes] of Object.entries(parts)) {
    if (!Object.hasOwn(run, part) || changes === undefined) continue
    const records: Record<string, unknown> = { ...(run[part as keyof LiveRun] as object) }
    for (const [key, value] of Object.entries(changes)) {
      if (value === null) delete records[key]
      else records[key] = value
    }
    next[part] = records
  }
  return next as unknown as LiveRun
}
