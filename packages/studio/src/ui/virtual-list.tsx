/** A list of any length of which only what is in sight is drawn. All rows have one height. */
import { useEffect, useRef, type ReactNode } from 'react'
import { useRowWindow } from './virtual-rows.ts'

export function VirtualList(props: {
  readonly label: string
  readonly count: number
  readonly rowHeight: number
  readonly render: (index: number) => ReactNode
  readonly rowKey?: (index: number) => string | number
  /** The end came in sight: read more. */
  readonly onEnd?: () => void
  /** Stays at the end while the reader is there: logs. */
  readonly follow?: boolean
  /** What is drawn: to read the pages of it. */
  readonly onWindow?: (from: number, to: number) => void
}) {
  const { label, count, rowHeight, render, rowKey, onEnd, follow, onWindow } = props
  const scroller = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const { from, to } = useRowWindow(scroller, count, rowHeight)
  useEffect(() => {
    if (to >= count) onEnd?.()
  }, [to, count, onEnd])
  useEffect(() => onWindow?.(from, to), [from, to, onWindow])
  useEffect(() => {
    const element = scroller.current
    if (follow && atEnd.current && element !== null) element.scrollTop = element.scrollHeight
  }, [follow, count])
  return (
    <div
      className="virtual"
      role="list"
      aria-label={label}
      tabIndex={0}
      ref={scroller}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        atEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight
      }}
    >
      <div className="rows" role="presentation" style={{ height: count * rowHeight }}>
        {Array.from({ length: Math.max(0, to - from) }, (_, i) => (
          <div
            role="listitem"
            aria-setsize={count}
            aria-posinset={from + i + 1}
            key={rowKey?.(from + i) ?? from + i}
            style={{ top: (from + i) * rowHeight, height: rowHeight }}
          >
            {render(from + i)}
          </div>
        ))}
      </div>
    </div>
  )
}
