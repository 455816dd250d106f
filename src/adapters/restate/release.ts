/**
 * A release: what a commit has set free. It is all that Restate's journal holds of an activation's work, and all that its workflow acts upon.
 *
 * Owns: the shape, and joining two of them. Does not own: what is in a commit (draft.ts), what is done with a release (workflow.ts).
 * Persistent format: it stands in Restate's journal of every run in flight. Members may be added, none may change its meaning.
 */
import type { Birth } from '../eventstore/index.ts'

export interface Release {
  /** When it was made, in milliseconds since 1970: durations are counted from here, so that a replay counts the same. */
  readonly now: number
  /** Addresses of effects that may leave now. */
  readonly effects?: readonly string[]
  /** Workers whose workflows are to begin. */
  readonly births?: readonly Birth[]
  /** Invocations that have mail. */
  readonly wakes?: readonly string[]
  /** When to look again though nobody calls. */
  readonly due?: number
  /** Its last word is recorded: nothing is to come. */
  readonly over?: true
  /** Another attempt has taken it: it is to be claimed again, if Restate still wants this one. */
  readonly again?: true
}

/** Nothing is set free. */
export const nothing = (now: number): Release => ({ now })

/** True if it is more than a word on time. */
const isMore = ({ effects = [], births = [], wakes = [], over }: Release): boolean =>
  effects.length + births.length + wakes.length > 0 || over !== undefined

/** Quick effects that follow one another share one entry of Restate's journal for so long. Milliseconds. */
export const entryMs = 250

/** The only thing that is set free, if that is one effect. */
export const onlyEffect = ({ effects = [], births = [], wakes = [], due, over, again }: Release): string | undefined =>
  effects.length === 1 && births.length + wakes.length === 0 && (due ?? over ?? again) === undefined ? effects[0] : undefined

/** Both, the later one's word on time. */
export function join(a: Release, b: Release): Release {
  const effects = [...new Set([...(a.effects ?? []), ...(b.effects ?? [])])]
  const births = [...(a.births ?? []), ...(b.births ?? [])]
  const wakes = [...new Set([...(a.wakes ?? []), ...(b.wakes ?? [])])]
  const due = b.due ?? a.due
  return {
    now: b.now,
    ...(effects.length === 0 ? {} : { effects }),
    ...(births.length === 0 ? {} : { births }),
    ...(wakes.length === 0 ? {} : { wakes }),
    ...(due === undefined ? {} : { due }),
    ...(a.over === true || b.over === true ? { over: true } : {}),
    ...(a.again === true || b.again === true ? { again: true } : {}),
  }
}

/** Without what is empty, so that it takes little room in Restate's journal. */
export function released(now: number, { effects = [], births = [], wakes = [] }: Partial<Release>): Release {
  return {
    now,
    ...(effects.length === 0 ? {} : { effects }),
    ...(births.length === 0 ? {} : { births }),
    ...(wakes.length === 0 ? {} : { wakes }),
  }
}

/** What has been set free and has not been told to Restate. */
export class Owed {
  #release: Release | undefined

  add(release: Release): void {
    this.#release = this.#release === undefined ? release : join(this.#release, release)
  }
  /** More than a word on time. */
  get matters(): boolean {
    return this.#release !== undefined && isMore(this.#release)
  }
  take(now: number): Release {
    const release = this.#release ?? nothing(now)
    this.#release = undefined
    return release
  }
}
