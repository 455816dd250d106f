/** Which rows of a long list are in sight. Owns: the window of rows that are drawn, of equal or of known heights. */
import { useLayoutEffect, useState, type RefObject } from 'react'

export interface RowWindow {
  readonly from: number
  /** Not included. */
  readonly to: number
}

const margin = 8

/** Which part of `scroller` is in sight, in pixels. */
function useView(
  scroller: RefObject<HTMLElement | null>,
  hasRows: boolean,
): { readonly top: number; readonly height: number } {
  const [view, setView] = useState({ top: 0, height: 800 })
  // a list that is loaded first is drawn later than its component
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null || !hasRows) return undefined
    const read = (): void =>
      setView((was) =>
        was.top === element.scrollTop && was.height === element.clientHeight
          ? was
          : { top: element.scrollTop, height: element.clientHeight },
      )
    read()
    const observer = new ResizeObserver(read)
    observer.observe(element)
    element.addEventListener('scroll', read, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', read)
    }
  }, [scroller, hasRows])
  return view
}

/** Follows the scrolling of `scroller`, over rows of one height. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, count: number, rowHeight: number): RowWindow {
  const view = useView(scroller, count > 0)
  const from = Math.max(0, Math.min(count, Math.floor(view.top / rowHeight) - margin))
  return { from, to: Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + margin) }
}

/** Where rows of these heights begin, and last where they all end. Pure. */
export function rowOffsets(heights: readonly number[]): readonly number[] {
  let end = 0
  return [0, ...heights.map((height) => (end += height))]
}

/** The row at a height, by where rows begin. Pure. */
export function rowAt(offsets: readonly number[], top: number): number {
  let [low, high] = [0, Math.max(0, offsets.length - 2)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (offsets[middle]! <= top) low = middle
    else high = middle - 1
  }
  return low
}

/** The same over rows of known heights. `offsets`: where they begin and end. */
export function useOffsetWindow(scroller: RefObject<HTMLElement | null>, offsets: readonly number[]): RowWindow {
  const count = offsets.length - 1
  const view = useView(scroller, count > 0)
  return {
    from: Math.max(0, rowAt(offsets, view.top) - margin),
    to: Math.min(count, rowAt(offsets, view.top + view.height) + 1 + margin),
  }
}

/** Scrolls so that a row is whole in sight, below a head that sticks. */
export function showRow(scroller: HTMLElement, index: number, rowHeight: number, head = 0): void {
  const top = index * rowHeight
  const bottom = top + rowHeight + head
  if (top < scroller.scrollTop) scroller.scrollTop = top
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight
}
