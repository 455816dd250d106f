/**
 * Timeline: when each agent asked models, ran tools and waited, on a canvas; the same as a table beside it.
 *
 * The canvas draws rows in sight alone, and bars as wide as a pixel allows: 30,000 spans cost as much as a screen full.
 */
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
} from 'react'
import { visible } from '@reeve/core/visible'
import type { LiveActivation, Span } from '@reeve/server/wire'
import { moneyText, countText } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { clockTime, durationText, serverNow } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { agentRows } from './agent-tree.ts'
import { useRun } from './run-context.tsx'
import {
  barsOf,
  panned,
  ticksOf,
  zoomed,
  type Bar,
  type LaneRow,
  type TimeWindow,
  type Timeline,
} from './timeline-layout.ts'
import { isOfEngine, spanLabel } from './step-names.ts'
import { useTimeline } from './timeline-source.ts'

const rowHeight = 24
const scaleHeight = 28
const none: ReadonlySet<string> = new Set()

export function TimelineTab() {
  const { live } = useRun()
  const { timeline, version, isWhole, error, reload } = useTimeline()
  const [asTable, setAsTable] = useState(false)
  if (timeline.count === 0)
    return error !== undefined ? (
      <ErrorState error={error} onRetry={reload} />
    ) : isWhole ? (
      <Empty title="Nothing has begun yet" icon="clock">
        Each agent, model call, tool and wait is a bar here, from its beginning to its end, once the run works.
      </Empty>
    ) : (
      <Loading what="the timeline" />
    )
  return (
    <div className="run-fill">
      <Chart
        timeline={timeline}
        version={version}
        isOpen={live.head.endedAt === undefined}
        asTable={asTable}
        onTable={() => setAsTable(!asTable)}
        loading={!isWhole}
      />
    </div>
  )
}

/** Members of a team are told apart by their tasks. */
const laneName = ({ agent, member, task }: LiveActivation): string =>
  task !== undefined ? `${task} · ${agent}` : member !== undefined && member !== agent ? `${agent} · ${member}` : agent

function Chart(props: {
  readonly timeline: Timeline
  readonly version: number
  readonly isOpen: boolean
  readonly asTable: boolean
  readonly onTable: () => void
  readonly loading: boolean
}) {
  const { timeline, version, isOpen, asTable, onTable, loading } = props
  const { live, selection, go } = useRun()
  const [chosenWindow, setWindow] = useState<TimeWindow>()
  const [hovered, setHovered] = useState<Bar>()
  const [internal, setInternal] = useState(false)
  const agents = useMemo(() => agentRows(live.activations, none), [live.activations])
  const order = agents.map(({ view }) => view.activation).join(' ')
  const rows = useMemo(
    () => timeline.rows(order === '' ? [] : order.split(' '), internal),
    // the timeline is one object: its version says that it has grown
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [timeline, version, order, internal],
  )
  const names = useMemo(
    () => new Map(agents.map(({ view, level }) => [view.activation as string, { name: laneName(view), level }])),
    [agents],
  )
  const boundsNow = useCallback(() => timeline.bounds(isOpen ? serverNow() : undefined), [timeline, isOpen])
  const bounds = boundsNow()
  const window_ = chosenWindow ?? bounds
  const zoom = (factor: number, about = (window_.from + window_.to) / 2): void => {
    const next = zoomed(window_, factor, about, bounds)
    // the whole run: it grows with it again
    setWindow(next.to - next.from >= bounds.to - bounds.from - 1 ? undefined : next)
  }
  const chosen = useMemo(() => {
    const [activation, id] = [selection.agent, selection.span]
    return id === undefined || activation === undefined ? undefined : timeline.find(id, activation)
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [timeline, version, selection.agent, selection.span])
  const choose = (span: Span): void => go(undefined, { agent: span.activation, span: span.id })
  const open = (span: Span): void =>
    go('conversation', {
      agent: span.activation,
      span: undefined,
      entry: String(span.kind === 'model' || span.kind === 'tool' ? (span.to ?? span.from) : span.from),
    })
  const shown = hovered?.span ?? chosen
  return (
    <>
      <div className="run-bar">
        <span className="muted">
          {countText(timeline.count - (internal ? 0 : timeline.internal))} bars{loading ? ', loading more…' : ''}
        </span>
        <Legend internal={internal} />
        <span className="grow" />
        {timeline.internal > 0 && (
          <Button small aria-pressed={internal} onClick={() => setInternal(!internal)}>
            {internal ? 'Hide internal steps' : `Internal steps (${countText(timeline.internal)})`}
          </Button>
        )}
        {!asTable && (
          <>
            <IconButton small icon="plus" label="Zoom in" onClick={() => zoom(0.5)} />
            <IconButton small icon="minus" label="Zoom out" onClick={() => zoom(2)} />
            <Button small onClick={() => setWindow(undefined)} disabled={chosenWindow === undefined}>
              Whole run
            </Button>
          </>
        )}
        <Button small aria-pressed={asTable} onClick={onTable}>
          {asTable ? 'Chart' : 'Table'}
        </Button>
      </div>
      {asTable ? (
        <SpanTable
          timeline={timeline}
          version={version}
          internal={internal}
          onOpen={open}
          names={names}
          begin={bounds.from}
        />
      ) : (
        <Canvas
          rows={rows}
          names={names}
          version={version}
          window={chosenWindow}
          bounds={boundsNow}
          isOpen={isOpen}
          chosen={chosen}
          onWindow={setWindow}
          onHover={setHovered}
          onChoose={choose}
          onOpen={open}
        />
      )}
      {!asTable && (
        <div className="run-span-detail" aria-live="polite">
          {shown === undefined ? (
            <span className="muted">
              Scroll with Ctrl to zoom, drag to move. With the keyboard: arrows choose, + and − zoom, Enter opens the
              conversation.
            </span>
          ) : (
            <SpanDetail span={shown} count={hovered?.count ?? 1} begin={bounds.from} onOpen={() => open(shown)} />
          )}
        </div>
      )}
    </>
  )
}

const kindLabels: Readonly<Record<Span['kind'], string>> = {
  agent: 'Agent',
  model: 'Model',
  tool: 'Tool',
  step: 'Step',
  approval: 'Approval',
  interrupt: 'Question',
  timer: 'Timer',
}

const legend = [
  ['agent', 'Agents'],
  ['model', 'Models'],
  ['tool', 'Tools'],
  ['step', 'Steps'],
  ['approval', 'People'],
  ['timer', 'Waits'],
] as const

function Legend({ internal }: { readonly internal: boolean }) {
  return (
    <span className="run-legend" aria-hidden="true">
      {legend.map(([kind, name]) => (
        <span key={kind}>
          <i className={`run-kind ${kind}`} />
          {name}
        </span>
      ))}
      {internal && (
        <span>
          <i className="run-kind engine" />
          Internal
        </span>
      )}
      <span>
        <i className="run-kind failed" />
        Failed
      </span>
    </span>
  )
}

function SpanDetail(props: {
  readonly span: Span
  readonly count: number
  readonly begin: number
  readonly onOpen: () => void
}) {
  const { span, count, begin, onOpen } = props
  const tokens = (span.input ?? 0) + (span.output ?? 0)
  return (
    <div className="row wrap">
      <b>
        {kindLabels[span.kind]}: <VisibleText>{spanLabel(span)}</VisibleText>
      </b>
      {spanLabel(span) !== span.name && (
        <code className="muted">
          <VisibleText>{span.name}</VisibleText>
        </code>
      )}
      <StatusBadge status={span.status === 'open' ? 'running' : span.status} />
      <span>{durationText((span.to ?? serverNow()) - span.from)}</span>
      <span className="muted">
        at {clockTime(span.from)}, {durationText(span.from - begin)} after the beginning
      </span>
      {span.attempts > 1 && <span>{span.attempts} attempts</span>}
      {tokens > 0 && <span className="muted">{countText(tokens)} tokens</span>}
      {span.usd !== undefined && <span className="muted">{moneyText(span.usd)}</span>}
      {count > 1 && <span className="muted">and {count - 1} more here: zoom in</span>}
      <Button small tone="quiet" onClick={onOpen}>
        Conversation
      </Button>
    </div>
  )
}

interface Palette {
  readonly [name: string]: string
}

function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element)
  const colours: Record<string, string> = {}
  // a custom property holds light-dark() as it was written; a colour that it is used for is resolved
  const probe = document.createElement('span')
  element.append(probe)
  for (const name of [
    'ink',
    'ink-2',
    'ink-3',
    'line',
    'surface',
    'sunken',
    'accent',
    'focus',
    'run-agent',
    'run-model',
    'run-tool',
    'run-step',
    'run-engine',
    'run-human',
    'run-timer',
    'bad',
    'wait',
  ]) {
    probe.style.color = `var(--${name})`
    colours[name] = getComputedStyle(probe).color
  }
  probe.remove()
  colours['font'] = style.fontFamily
  return colours
}

const colourOf = (span: Span): string => {
  const { kind, status } = span
  if (status === 'failed' || status === 'in-doubt' || status === 'timed-out') return 'bad'
  if (kind === 'approval' || kind === 'interrupt') return 'run-human'
  if (isOfEngine(span)) return 'run-engine'
  if (kind === 'timer') return 'run-timer'
  if (kind === 'model') return 'run-model'
  return kind === 'agent' ? 'run-agent' : kind === 'step' ? 'run-step' : 'run-tool'
}

/** What stands on a bar: what it is, how long it took, and what it used. */
function barText({ span, count }: Bar, now: number): string {
  if (count > 1) return `${visible(spanLabel(span).slice(0, 60))} +${count - 1}`
  const tokens = (span.input ?? 0) + (span.output ?? 0)
  return [
    visible(spanLabel(span).slice(0, 60)),
    durationText((span.to ?? now) - span.from),
    ...(tokens > 0 ? [`${countText(tokens)} tokens`] : []),
    ...(span.usd === undefined ? [] : [moneyText(span.usd)]),
  ].join(' · ')
}

function Canvas(props: {
  readonly rows: readonly LaneRow[]
  readonly names: ReadonlyMap<string, { readonly name: string; readonly level: number }>
  readonly version: number
  readonly window: TimeWindow | undefined
  readonly bounds: () => TimeWindow
  readonly isOpen: boolean
  readonly chosen: Span | undefined
  readonly onWindow: (window: TimeWindow | undefined) => void
  readonly onHover: (bar: Bar | undefined) => void
  readonly onChoose: (span: Span) => void
  readonly onOpen: (span: Span) => void
}) {
  const { rows, names, window: chosenWindow, bounds, isOpen, chosen, onWindow, onHover, onChoose, onOpen } = props
  const scroller = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const bars = useRef<readonly Bar[]>([])
  const palette = useRef<Palette>(undefined)
  const [view, setView] = useState({ top: 0, width: 0, height: 0 })
  const drag = useRef<{ readonly x: number; readonly window: TimeWindow; moved: boolean }>(undefined)
  const labelWidth = view.width < 560 ? 96 : 200

  const read = useCallback((): void => {
    const element = scroller.current
    if (element === null) return
    setView((was) =>
      was.top === element.scrollTop && was.width === element.clientWidth && was.height === element.clientHeight
        ? was
        : { top: element.scrollTop, width: element.clientWidth, height: element.clientHeight },
    )
  }, [])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    read()
    const size = new ResizeObserver(read)
    size.observe(element)
    return () => size.disconnect()
  }, [read])

  const first = Math.max(0, Math.floor(view.top / rowHeight))
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + 1)

  const draw = useCallback((): void => {
    const [element, box] = [canvas.current, scroller.current]
    const context = element?.getContext('2d')
    if (element === null || box === null || !context || view.width === 0) return
    palette.current ??= paletteOf(box)
    const colours = palette.current
    const ratio = window.devicePixelRatio
    const [width, height] = [view.width - labelWidth, view.height]
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio)
      element.height = Math.round(height * ratio)
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    const whole = bounds()
    const shown = chosenWindow ?? whole
    const now = serverNow()
    const drawn: Bar[] = []
    const ticks = ticksOf(shown, width, whole.from)
    context.strokeStyle = colours['line']!
    context.beginPath()
    for (const { x } of ticks) {
      context.moveTo(Math.round(x) + 0.5, scaleHeight)
      context.lineTo(Math.round(x) + 0.5, height)
    }
    context.stroke()
    context.font = `11px ${colours['font']}`
    context.textBaseline = 'middle'
    for (let row = first; row < end; row++) {
      const top = scaleHeight + row * rowHeight - view.top
      for (const bar of barsOf(rows[row]!, row, shown, width, now)) {
        drawn.push(bar)
        const { span, x } = bar
        const isAgent = span.kind === 'agent'
        const [y, h] = isAgent ? [top + 9, 6] : [top + 4, 16]
        context.fillStyle = colours[colourOf(span)]!
        context.globalAlpha = span.status === 'open' ? 0.7 : 1
        context.fillRect(x, y, bar.width, h)
        context.globalAlpha = 1
        if (span.id === chosen?.id) {
          context.strokeStyle = colours['ink']!
          context.lineWidth = 2
          context.strokeRect(x - 1, y - 1, bar.width + 2, h + 2)
          context.lineWidth = 1
        }
        if (!isAgent && bar.width > 44) {
          context.fillStyle = colours['surface']!
          context.save()
          context.beginPath()
          context.rect(x, y, bar.width - 4, h)
          context.clip()
          context.fillText(barText(bar, now), x + 5, y + h / 2 + 0.5)
          context.restore()
        }
      }
    }
    // the scale stands above the rows
    context.fillStyle = colours['sunken']!
    context.fillRect(0, 0, width, scaleHeight)
    context.fillStyle = colours['ink-2']!
    for (const { x, text } of ticks) if (x < width - 48) context.fillText(text, x + 4, scaleHeight / 2)
    bars.current = drawn
  }, [rows, first, end, view, labelWidth, chosenWindow, bounds, chosen])

  useLayoutEffect(draw, [draw])
  // open spans grow
  useEffect(() => {
    if (!isOpen) return undefined
    const timer = setInterval(() => requestAnimationFrame(draw), 250)
    return () => clearInterval(timer)
  }, [draw, isOpen])
  // other colours
  useEffect(() => {
    const again = (): void => {
      palette.current = undefined
      draw()
    }
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', again)
    const theme = new MutationObserver(again)
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => {
      scheme.removeEventListener('change', again)
      theme.disconnect()
    }
  }, [draw])

  const width = Math.max(1, view.width - labelWidth)
  const timeAt = (x: number): number => {
    const shown = chosenWindow ?? bounds()
    return shown.from + (x / width) * (shown.to - shown.from)
  }
  const place = (event: {
    readonly clientX: number
    readonly clientY: number
  }): { readonly x: number; readonly y: number } => {
    const box = canvas.current!.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  const barAt = ({ x, y }: { readonly x: number; readonly y: number }): Bar | undefined => {
    const row = Math.floor((y - scaleHeight + view.top) / rowHeight)
    return y < scaleHeight
      ? undefined
      : bars.current.find((bar) => bar.row === row && x >= bar.x - 2 && x <= bar.x + bar.width + 2)
  }
  // a listener of React cannot keep the page from zooming
  const onWheel = (event: WheelEvent): void => {
    const shown = chosenWindow ?? bounds()
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      const whole = bounds()
      const next = zoomed(shown, Math.exp(event.deltaY * 0.004), timeAt(place(event).x), whole)
      onWindow(next.to - next.from >= whole.to - whole.from - 1 ? undefined : next)
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault()
      const by = ((event.deltaX || event.deltaY) / width) * (shown.to - shown.from)
      if (chosenWindow !== undefined) onWindow(panned(shown, by, bounds()))
    }
  }
  const wheel = useRef(onWheel)
  useEffect(() => {
    wheel.current = onWheel
  })
  useEffect(() => {
    const element = canvas.current
    const hear = (event: WheelEvent): void => wheel.current(event)
    element?.addEventListener('wheel', hear, { passive: false })
    return () => element?.removeEventListener('wheel', hear)
  }, [])
  const down = (event: PointerEvent<HTMLCanvasElement>): void => {
    if (event.button !== 0) return
    event.currentTarget.setPointerCapture(event.pointerId)
    drag.current = { x: event.clientX, window: chosenWindow ?? bounds(), moved: false }
  }
  const move = (event: PointerEvent<HTMLCanvasElement>): void => {
    const from = drag.current
    if (from === undefined) {
      onHover(barAt(place(event)))
      return
    }
    const by = event.clientX - from.x
    if (Math.abs(by) > 3) from.moved = true
    if (!from.moved || chosenWindow === undefined) return
    onWindow(panned(from.window, (-by / width) * (from.window.to - from.window.from), bounds()))
  }
  const up = (event: PointerEvent<HTMLCanvasElement>): void => {
    const from = drag.current
    drag.current = undefined
    if (from === undefined || from.moved) return
    const bar = barAt(place(event))
    if (bar === undefined) return
    if (bar.count > 1) {
      const shown = chosenWindow ?? bounds()
      onWindow(zoomed(shown, 0.2, timeAt(bar.x + bar.width / 2), bounds()))
    } else onOpen(bar.span)
  }
  const press = (event: KeyboardEvent): void => {
    const shown = chosenWindow ?? bounds()
    const middle = chosen === undefined ? (shown.from + shown.to) / 2 : chosen.from
    const zoomBy = (factor: number): void => {
      const next = zoomed(shown, factor, middle, bounds())
      const whole = bounds()
      onWindow(next.to - next.from >= whole.to - whole.from - 1 ? undefined : next)
    }
    const acts: Readonly<Record<string, () => void>> = {
      '+': () => zoomBy(0.5),
      '=': () => zoomBy(0.5),
      '-': () => zoomBy(2),
      '0': () => onWindow(undefined),
      ArrowRight: () => (event.shiftKey ? onWindow(panned(shown, (shown.to - shown.from) / 4, bounds())) : step(1)),
      ArrowLeft: () => (event.shiftKey ? onWindow(panned(shown, (shown.from - shown.to) / 4, bounds())) : step(-1)),
      ArrowDown: () => lane(1),
      ArrowUp: () => lane(-1),
      Enter: () => chosen && onOpen(chosen),
    }
    const act = acts[event.key]
    if (act === undefined || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
  const rowOfChosen = (): number =>
    chosen === undefined
      ? -1
      : rows.findIndex((row) => row.activation === chosen.activation && row.spans.includes(chosen))
  const step = (by: number): void => {
    const row = rows[Math.max(0, rowOfChosen())]
    const at = chosen === undefined ? (by > 0 ? -1 : 0) : (row?.spans.indexOf(chosen) ?? -1)
    const next = row?.spans[at + by]
    if (next !== undefined) onChoose(next)
  }
  const lane = (by: number): void => {
    for (let row = rowOfChosen() + by; row >= 0 && row < rows.length; row += by) {
      const { spans } = rows[row]!
      const from = chosen?.from ?? 0
      const nearest = spans.find((span) => (span.to ?? Infinity) >= from) ?? spans.at(-1)
      if (nearest === undefined) continue
      onChoose(nearest)
      const box = scroller.current
      if (box !== null) {
        const top = row * rowHeight
        if (top < box.scrollTop) box.scrollTop = top
        else if (top + rowHeight + scaleHeight > box.scrollTop + box.clientHeight)
          box.scrollTop = top + rowHeight + scaleHeight - box.clientHeight
      }
      return
    }
  }
  return (
    // A canvas has no parts that could have the focus: the whole chart has it. The same is there as a table.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      className="run-timeline"
      ref={scroller}
      onScroll={read}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="group"
      aria-label="Timeline of the run. The button Table shows the same as a table."
      onKeyDown={press}
    >
      <div style={{ height: rows.length * rowHeight + scaleHeight + 8 }}>
        <div className="run-timeline-view" style={{ height: view.height }}>
          <div className="run-lanes" style={{ width: labelWidth }}>
            {rows.slice(first, end).map((row, i) => {
              const { name, level } = names.get(row.activation) ?? { name: '?', level: 1 }
              return row.track > 0 ? null : (
                <div
                  key={row.activation}
                  className="run-lane truncate"
                  style={{
                    top: scaleHeight + (first + i) * rowHeight - view.top,
                    height: rowHeight,
                    paddingLeft: 8 + Math.min(level - 1, 8) * 10,
                  }}
                >
                  <VisibleText>{name}</VisibleText>
                </div>
              )
            })}
          </div>
          <canvas
            ref={canvas}
            aria-hidden="true"
            style={{ width: Math.max(0, view.width - labelWidth), height: view.height, left: labelWidth }}
            onPointerDown={down}
            onPointerMove={move}
            onPointerUp={up}
            onPointerLeave={() => onHover(undefined)}
          />
        </div>
      </div>
    </div>
  )
}

function SpanTable(props: {
  readonly timeline: Timeline
  readonly version: number
  readonly internal: boolean
  readonly onOpen: (span: Span) => void
  readonly names: ReadonlyMap<string, { readonly name: string }>
  readonly begin: number
}) {
  const { timeline, version, internal, onOpen, names, begin } = props
  const rows = useMemo(
    () =>
      [...timeline.spans()].filter((span) => internal || !isOfEngine(span)).sort((one, other) => one.from - other.from),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [timeline, version, internal],
  )
  const columns: readonly Column<Span>[] = [
    { id: 'from', head: 'After', width: '90px', align: 'right', cell: ({ from }) => durationText(from - begin) },
    {
      id: 'agent',
      head: 'Agent',
      width: 'minmax(100px, 1fr)',
      cell: ({ activation }) => <VisibleText>{names.get(activation)?.name ?? '?'}</VisibleText>,
    },
    { id: 'kind', head: 'What', width: '90px', cell: ({ kind }) => kindLabels[kind] },
    {
      id: 'name',
      head: 'Name',
      width: 'minmax(140px, 2fr)',
      cell: (span) => (
        <span title={spanLabel(span) === span.name ? undefined : visible(span.name)}>
          <VisibleText>{spanLabel(span)}</VisibleText>
        </span>
      ),
    },
    {
      id: 'status',
      head: 'State',
      width: '130px',
      cell: ({ status }) => <StatusBadge bare status={status === 'open' ? 'running' : status} />,
    },
    {
      id: 'took',
      head: 'Took',
      width: '90px',
      align: 'right',
      cell: ({ from, to }) => (to === undefined ? '' : durationText(to - from)),
    },
    {
      id: 'tokens',
      head: 'Tokens',
      width: '80px',
      align: 'right',
      cell: ({ input, output }) =>
        input === undefined && output === undefined ? '' : countText((input ?? 0) + (output ?? 0)),
    },
    {
      id: 'usd',
      head: 'Cost',
      width: '80px',
      align: 'right',
      cell: ({ usd }) => (usd === undefined ? '' : moneyText(usd)),
    },
  ]
  return (
    <div className="run-fill run-framed">
      <DataTable label="Timeline" columns={columns} rows={rows} rowKey={({ id }) => id} onOpen={onOpen} />
    </div>
  )
}
