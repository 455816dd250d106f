/**
 * A table of any length: its head stays, only rows in sight are drawn, arrow keys move, Enter opens. It is as high as its
 * rows. At phone width each row is a card: the first column its title, the others with their names.
 *
 * An ARIA grid with one place in the tab order; the active row is its active descendant.
 */
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { useNarrow } from './narrow.ts'
import { showRow, useRowWindow } from './virtual-rows.ts'

export interface Column<Row> {
  readonly id: string
  readonly head: ReactNode
  /** A track of CSS grid: `120px`, `minmax(160px, 1fr)`. */
  readonly width: string
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'right'
  /** Of a card: `line` takes a line of its own, `unnamed` one without its name, `last` one at the end; `hidden` is left out. */
  readonly card?: 'line' | 'unnamed' | 'last' | 'hidden'
}

const tableRowHeight = 36
const tableHeadHeight = 32
/** Of a card: a line, and the space around all lines. */
const cardLine = 24
const cardSpace = 20
/** Between columns, and at both ends. */
const gap = 16

/** The columns as a card has them. */
const cardColumns = <Row,>(columns: readonly Column<Row>[]): readonly Column<Row>[] => [
  ...columns.filter(({ card }) => card !== 'hidden' && card !== 'last'),
  ...columns.filter(({ card }) => card === 'last'),
]

/** The lines of a card: its title, the columns with a line of their own, and the others in pairs. */
function cardLines<Row>([, ...rest]: readonly Column<Row>[]): number {
  let [lines, half] = [1, false]
  for (const { card } of rest) {
    if (card !== undefined || !half) lines += 1
    half = card === undefined && !half
  }
  return lines
}

export function DataTable<Row>(props: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly onOpen?: (row: Row) => void
  /** The end came in sight: read the next page. */
  readonly onEnd?: () => void
  /** The row that is open beside the table. */
  readonly selected?: string
}) {
  const { label, columns, rows, rowKey, onOpen, onEnd, selected } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState<number>()
  const asCards = useNarrow() && columns.length > 2
  const headHeight = asCards ? 0 : tableHeadHeight
  const shown = asCards ? cardColumns(columns) : columns
  const rowHeight = asCards ? cardSpace + cardLine * cardLines(shown) : tableRowHeight
  const { from, to } = useRowWindow(scroller, rows.length, rowHeight)
  const tracks = asCards
    ? undefined
    : {
        gridTemplateColumns: columns.map(({ width }) => width).join(' '),
        minWidth: columns.reduce((sum, { width }) => sum + Number(/\d+/.exec(width)?.[0] ?? 0) + gap, gap),
      }
  useEffect(() => {
    if (to >= rows.length) onEnd?.()
  }, [to, rows.length, onEnd])
  const press = (event: KeyboardEvent): void => {
    const now = active ?? -1
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2)
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: rows.length - 1,
    }
    const next = moves[event.key]
    if (next !== undefined) {
      event.preventDefault()
      const to = Math.max(0, Math.min(rows.length - 1, next))
      setActive(to)
      if (scroller.current !== null) showRow(scroller.current, to, rowHeight, headHeight)
    } else if (event.key === 'Enter' && active !== undefined && rows[active] !== undefined) {
      event.preventDefault()
      onOpen?.(rows[active])
    }
  }
  const activeRow = active === undefined ? undefined : rows[active]
  return (
    <div className={`table${asCards ? ' cards' : ''}`}>
      <div
        className="scroll"
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={activeRow && `${id}-${rowKey(activeRow)}`}
        tabIndex={0}
        ref={scroller}
        onKeyDown={press}
        onFocus={() => setActive((was) => was ?? (rows.length > 0 ? 0 : undefined))}
      >
        <div className="head" role="row" aria-rowindex={1} style={tracks}>
          {shown.map(({ id: column, head, align }) => (
            <div key={column} role="columnheader" className={align === 'right' ? 'num' : undefined}>
              {head}
            </div>
          ))}
        </div>
        <div className={`rows${onOpen ? ' opens' : ''}`} role="rowgroup" style={{ height: rows.length * rowHeight }}>
          {rows.slice(from, to).map((row, i) => {
            const key = rowKey(row)
            return (
              <div
                key={key}
                id={`${id}-${key}`}
                role="row"
                tabIndex={-1}
                aria-rowindex={from + i + 2}
                aria-selected={key === selected}
                className={row === activeRow || key === selected ? 'active' : undefined}
                style={{ ...tracks, top: (from + i) * rowHeight, height: rowHeight }}
                onKeyDown={undefined}
                onClick={() => {
                  setActive(from + i)
                  onOpen?.(row)
                }}
              >
                {shown.map(({ id: column, head, cell, align, card }, at) => (
                  <div
                    key={column}
                    role="gridcell"
                    className={[align === 'right' && 'num', card !== undefined && 'line'].filter(Boolean).join(' ')}
                  >
                    {asCards && at > 0 && card !== 'unnamed' && card !== 'last' && (
                      <span className="name" aria-hidden="true">
                        {head}
                      </span>
                    )}
                    {cell(row)}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}
