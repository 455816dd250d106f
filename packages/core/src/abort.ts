/**
 * Abort: an `AbortController` whose signal is made when it is first asked for. Most functions never look at theirs.
 *
 * Owns: that controller, and finding it behind the `signal` of an object, so that asking makes none.
 */

/** What Reeve's own code asks of an abort: an `AbortSignal`, or the controller of one that nothing has asked for. */
export interface AbortState {
  readonly aborted: boolean
  readonly reason: Error | undefined
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

const none: readonly (() => void)[] = []

export class LazyAbortController implements AbortState {
  aborted = false
  reason: Error | undefined
  #controller: AbortController | undefined
  #listeners = none

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.aborted) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#controller?.abort(reason)
    for (const listener of this.#listeners) listener()
  }

  throwIfAborted(): void {
    if (this.reason !== undefined) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.concat(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener)
  }
}

interface HasSignal {
  readonly signal: AbortSignal
}

const controllers = new WeakMap<HasSignal, LazyAbortController>()

/** The abort behind the `signal` of this object. */
export const abortOf = (of: HasSignal): AbortState => controllers.get(of) ?? of.signal

/** Its controller, found through a proxy and by what inherits from the object, too. */
const controllerOf = Symbol('controller')

/** One for all objects, whose forms stay alike. Own and enumerable: who copies the object has the signal itself. */
const lazySignal = {
  enumerable: true,
  configurable: true,
  get(this: { readonly [controllerOf]: LazyAbortController }): AbortSignal {
    return this[controllerOf].signal
  },
}

/** Gives an object the `signal` of this controller, without making it. */
export function setController<T extends object>(to: T, controller: LazyAbortController): T & HasSignal {
  ;(to as { [controllerOf]?: LazyAbortController })[controllerOf] = controller
  Object.defineProperty(to, 'signal', lazySignal)
  controllers.set(to as T & HasSignal, controller)
  return to as T & HasSignal
}

/** Gives an object the `signal` of another one, without making it. */
export function withSignalOf<T extends object>(from: HasSignal, to: T): T & HasSignal {
  const controller = controllers.get(from)
  return controller === undefined ? Object.assign(to, { signal: from.signal }) : setController(to, controller)
}
