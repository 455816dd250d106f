/**
 * A list of rows of any height, of which only what is in sight is drawn. Heights are learned as rows are drawn; what the
 * reader looks at stays where it is. Of other rows it is another list: give it a key.
 */
import { useCallback, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { RowOffsets } from './row-window.ts'

const beyond = 4

export function VirtualRows(props: {
  readonly label: string
  readonly count: number
  readonly estimate: number
  readonly rowKey: (row: number) => string
  readonly render: (row: number) => ReactNode
  /** Stays at the end while the reader is there. */
  readonly follow?: boolean
  /** Scrolls to this row when it changes. */
  readonly show?: number
}) {
  const { label, count, estimate, rowKey, render, follow = false, show } = props
  const [offsets] = useState(() => new RowOffsets(estimate))
  const [, redraw] = useState(0)
  const [view, setView] = useState({ top: 0, height: 800 })
  const scroller = useRef<HTMLDivElement>(null)
  const atEnd = useRef(follow)
  offsets.resize(count)

  const read = useCallback((): void => {
    const element = scroller.current
    if (element === null) return
    atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 24
    setView((was) =>
      was.top === element.scrollTop && was.height === element.clientHeight
        ? was
        : { top: element.scrollTop, height: element.clientHeight },
    )
  }, [])
  const measured = useCallback(
    (entries: readonly ResizeObserverEntry[]): void => {
      const element = scroller.current
      if (element === null) return
      let [shift, changed] = [0, false]
      for (const { target } of entries) {
        const row = Number((target as HTMLElement).dataset['row'])
        const height = (target as HTMLElement).offsetHeight
        if (height === 0) continue
        const before = offsets.heightOf(row)
        const isAbove = offsets.offsetOf(row) + before <= element.scrollTop
        if (!offsets.measure(row, height)) continue
        changed = true
        if (isAbove) shift += height - before
      }
      if (!changed) return
      if (shift !== 0 && !atEnd.current) element.scrollTop += shift
      redraw((n) => n + 1)
    },
    [offsets],
  )
  const observer = useRef<ResizeObserver>(undefined)
  const observed = useCallback(
    (element: HTMLElement | null) => {
      if (element === null) return undefined
      observer.current ??= new ResizeObserver(measured)
      observer.current.observe(element)
      return () => observer.current?.unobserve(element)
    },
    [measured],
  )
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    const size = new ResizeObserver(read)
    size.observe(element)
    return () => size.disconnect()
  }, [read])
  // after every drawing: whoever is at the end stays there
  useLayoutEffect(() => {
    const element = scroller.current
    if (element !== null && follow && atEnd.current && show === undefined) element.scrollTop = element.scrollHeight
  })
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null || show === undefined || show < 0) return
    atEnd.current = false
    element.scrollTop = offsets.offsetOf(show)
    // its neighbours are measured only now
    const again = requestAnimationFrame(() => {
      element.scrollTop = offsets.offsetOf(show)
    })
    return () => cancelAnimationFrame(again)
  }, [show, offsets])

  const { first, end } = offsets.range(view.top, view.height, beyond)
  return (
    // A region that scrolls must be reachable by the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="run-rows" role="list" aria-label={label} tabIndex={0} ref={scroller} onScroll={read}>
      <div role="presentation" style={{ height: offsets.total, position: 'relative' }}>
        {Array.from({ length: Math.max(0, end - first) }, (_, i) => (
          <div
            key={rowKey(first + i)}
            role="listitem"
            aria-setsize={count}
            aria-posinset={first + i + 1}
            data-row={first + i}
            className="run-row"
            style={{ top: offsets.offsetOf(first + i) }}
            ref={observed}
          >
            {render(first + i)}
          </div>
        ))}
      </div>
    </div>
  )
}
