/** Which rows of a long list are in sight. Owns: the window of rows that are drawn, of equal height. */
import { useLayoutEffect, useState, type RefObject } from 'react'

export interface RowWindow {
  readonly from: number
  /** Not included. */
  readonly to: number
}

const margin = 8

/** Follows the scrolling of `scroller`. `head`: pixels above the first row that scroll with it or stick. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, count: number, rowHeight: number): RowWindow {
  const [view, setView] = useState({ top: 0, height: 800 })
  // a list that is loaded first is drawn later than its component
  const hasRows = count > 0
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
  const from = Math.max(0, Math.min(count, Math.floor(view.top / rowHeight) - margin))
  return { from, to: Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + margin) }
}

/** Scrolls so that a row is whole in sight, below a head that sticks. */
export function showRow(scroller: HTMLElement, index: number, rowHeight: number, head = 0): void {
  const top = index * rowHeight
  const bottom = top + rowHeight + head
  if (top < scroller.scrollTop) scroller.scrollTop = top
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight
}
