/**
 * The list while a person chooses from it: nothing moves under the pointer, and nothing is hidden for it.
 *
 * Owns: when the list is held, what came and went meanwhile, the word about what was answered elsewhere.
 */
import { useCallback, useEffect, useRef, useState, type UIEvent } from 'react'
import type { QuestionView } from '@reeve/server/wire'
import { heldList, type HeldList } from './question-groups.ts'

/** A pointer that has not moved for so long is not about to press. Milliseconds. */
const restMs = 5_000

/** Whether someone is about to press something in the list: a pointer that moves there, or a list that is scrolled. */
export function useNear(): {
  readonly isNear: boolean
  readonly props: {
    readonly onPointerMove: () => void
    readonly onPointerDown: () => void
    readonly onPointerLeave: () => void
    readonly onScrollCapture: (event: UIEvent) => void
  }
} {
  const [isMoving, setMoving] = useState(false)
  const [isScrolled, setScrolled] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const rest = useCallback(() => {
    clearTimeout(timer.current)
    setMoving(false)
  }, [])
  const move = useCallback(() => {
    clearTimeout(timer.current)
    timer.current = setTimeout(rest, restMs)
    setMoving(true)
  }, [rest])
  useEffect(() => () => clearTimeout(timer.current), [])
  return {
    isNear: isMoving || isScrolled,
    props: {
      onPointerMove: move,
      onPointerDown: move,
      onPointerLeave: rest,
      onScrollCapture: ({ target }) => setScrolled((target as Element).scrollTop > 0),
    },
  }
}

export interface HeldQuestions extends HeldList {
  /** Shows what has come and takes away what has gone, now. */
  readonly release: () => void
  /** These were decided here: they go at once. */
  readonly drop: (ids: readonly string[]) => void
}

/** `open`: what is open now, in order. `key`: another list, of which nothing is held, such as after a filter. */
export function useHeldQuestions(open: readonly QuestionView[], isHeld: boolean, key: string): HeldQuestions {
  const [kept, setKept] = useState({ key, shown: open })
  const latest = isHeld && kept.key === key ? kept.shown : open
  if (kept.shown !== latest || kept.key !== key) setKept({ key, shown: latest })
  const release = useCallback(() => setKept({ key, shown: open }), [key, open])
  const drop = useCallback((ids: readonly string[]) => {
    const gone = new Set(ids)
    setKept((was) => ({ ...was, shown: was.shown.filter(({ id }) => !gone.has(id)) }))
  }, [])
  return { ...heldList(latest, open), release, drop }
}

const shownMs = 8_000

/** How many questions were answered or withdrawn elsewhere in the last seconds. `mine`: those that were answered here. */
export function useAnsweredElsewhere(
  open: readonly QuestionView[] | undefined,
  mine: { readonly current: ReadonlySet<string> },
): number {
  const [count, setCount] = useState(0)
  const before = useRef<readonly QuestionView[]>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  useEffect(() => {
    if (open === undefined) return
    const now = new Set(open.map(({ id }) => id))
    const gone = (before.current ?? []).filter(({ id }) => !now.has(id) && !mine.current.has(id)).length
    before.current = open
    if (gone === 0) return
    setCount((was) => was + gone)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setCount(0), shownMs)
  }, [open, mine])
  return count
}
