/** A list of any length of which only what is in sight is drawn. The height of every row is known. */
import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import { rowOffsets, useOffsetWindow } from './virtual-rows.ts'

/** Who is so near the end, in pixels, is at it. */
const nearEnd = 24

export function VirtualList(props: {
  readonly label: string
  readonly count: number
  /** Pixels: of all rows, or of each. */
  readonly rowHeight: number | readonly number[]
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
  const offsets = useMemo(
    () => rowOffsets(typeof rowHeight === 'number' ? Array.from({ length: count }, () => rowHeight) : rowHeight),
    [rowHeight, count],
  )
  const { from, to } = useOffsetWindow(scroller, offsets)
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
        atEnd.current = scrollTop + clientHeight >= scrollHeight - nearEnd
      }}
    >
      <div className="rows" role="presentation" style={{ height: offsets.at(-1) }}>
        {Array.from({ length: Math.max(0, to - from) }, (_, i) => (
          <div
            role="listitem"
            aria-setsize={count}
            aria-posinset={from + i + 1}
            key={rowKey?.(from + i) ?? from + i}
            style={{ top: offsets[from + i], height: offsets[from + i + 1]! - offsets[from + i]! }}
          >
            {render(from + i)}
          </div>
        ))}
      </div>
    </div>
  )
}
