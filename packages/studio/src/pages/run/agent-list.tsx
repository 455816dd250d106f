/** The agents of a run as a tree: arrow keys move, open and close; Enter chooses. Only rows in sight are drawn. */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { LiveActivation } from '@reeve/server/wire'
import { Tokens, Money } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Time } from '../../ui/time.tsx'
import { useRowWindow, showRow } from '../../ui/virtual-rows.ts'
import { VisibleText } from '../../ui/visible-text.tsx'
import { agentRows, doingOf, type AgentRow } from './agent-tree.ts'
import { knownUsd, spendOf } from './spend.ts'

const rowHeight = 52

export function AgentList(props: {
  readonly activations: Readonly<Record<string, LiveActivation>>
  /** As of `doingOf`. */
  readonly heldSince: number | undefined
  readonly chosen: string | undefined
  readonly onChoose: (activation: string) => void
}) {
  const { activations, heldSince, chosen, onChoose } = props
  const id = useId()
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => agentRows(activations, collapsed), [activations, collapsed])
  const { from, to } = useRowWindow(scroller, rows.length, rowHeight)
  const at = Math.max(
    0,
    rows.findIndex(({ view }) => view.activation === chosen),
  )
  const toggle = (activation: string, close: boolean): void =>
    setCollapsed((was) => {
      const next = new Set(was)
      if (close) next.add(activation)
      else next.delete(activation)
      return next
    })
  useEffect(() => {
    if (scroller.current !== null) showRow(scroller.current, at, rowHeight)
    // where it scrolls to changes with the choice alone
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [chosen])
  const choose = (row: AgentRow | undefined): void => {
    if (row !== undefined) onChoose(row.view.activation)
  }
  const press = (event: KeyboardEvent): void => {
    const row = rows[at]
    if (row === undefined) return
    const { activation, parent } = row.view
    const acts: Readonly<Record<string, () => void>> = {
      ArrowDown: () => choose(rows[at + 1]),
      ArrowUp: () => choose(rows[at - 1]),
      Home: () => choose(rows[0]),
      End: () => choose(rows.at(-1)),
      ArrowRight: () => (row.expanded === false ? toggle(activation, false) : row.expanded && choose(rows[at + 1])),
      ArrowLeft: () =>
        row.expanded ? toggle(activation, true) : choose(rows.find(({ view }) => view.activation === parent)),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
  const active = rows[at]
  return (
    <div
      className="virtual run-agents"
      role="tree"
      aria-label="Agents"
      tabIndex={0}
      ref={scroller}
      style={{ height: rows.length * rowHeight }}
      aria-activedescendant={active && at >= from && at < to ? `${id}-${at}` : undefined}
      onKeyDown={press}
    >
      <div className="rows" role="presentation" style={{ height: rows.length * rowHeight }}>
        {rows.slice(from, to).map((row, i) => (
          <AgentItem
            key={row.view.activation}
            id={`${id}-${from + i}`}
            row={row}
            heldSince={heldSince}
            top={(from + i) * rowHeight}
            isChosen={from + i === at}
            onChoose={() => choose(row)}
            onToggle={() => toggle(row.view.activation, row.expanded === true)}
          />
        ))}
      </div>
    </div>
  )
}

function AgentItem(props: {
  readonly id: string
  readonly row: AgentRow
  readonly heldSince: number | undefined
  readonly top: number
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly onToggle: () => void
}) {
  const { id, row, heldSince, top, isChosen, onChoose, onToggle } = props
  const { view, level, position, size, expanded, hidden } = row
  const spend = useMemo(() => spendOf(view.usage), [view.usage])
  const doing = doingOf(view, heldSince)
  return (
    // The tree itself has the focus and hears the keys.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={size}
      aria-expanded={expanded}
      aria-selected={isChosen}
      className={`run-agent${isChosen ? ' active' : ''}`}
      style={{ top, height: rowHeight, paddingLeft: 4 + Math.min(level - 1, 12) * 18 }}
      onClick={onChoose}
    >
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions */}
      <span
        className={`twist${expanded ? ' open' : ''}`}
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation()
          if (expanded !== undefined) onToggle()
        }}
      >
        {expanded !== undefined && <Icon name="right" />}
      </span>
      <span className="grow run-agent-text">
        <span className="row">
          <span className="run-agent-name truncate">
            <VisibleText>{view.agent}</VisibleText>
          </span>
          {(view.task ?? view.member ?? view.agent) !== view.agent && (
            <span className="muted truncate">
              <VisibleText>{view.task ?? view.member ?? ''}</VisibleText>
            </span>
          )}
          {view.recruited && <span className="run-mark">recruit</span>}
          {hidden > 0 && <span className="run-mark">{hidden} hidden</span>}
        </span>
        <span className="run-agent-doing truncate">
          {doing === undefined ? (
            <StatusBadge bare status={view.state} />
          ) : (
            <span className={doing.kind}>
              <VisibleText>{doing.text}</VisibleText>
              {', '}
              <Time at={doing.since} form="since" />
            </span>
          )}
        </span>
      </span>
      <span className="run-agent-figures">
        {view.failedAttempts > 0 && (
          <span className="run-retries" title={`${view.failedAttempts} attempts failed and were followed by another`}>
            {view.failedAttempts} {view.failedAttempts === 1 ? 'retry' : 'retries'}
          </span>
        )}
        {spend.calls > 0 && (
          <span>
            {knownUsd(spend) === undefined ? (
              <>
                <Tokens tokens={spend.tokens} /> tokens
              </>
            ) : (
              <Money usd={spend.usd} />
            )}
          </span>
        )}
      </span>
    </div>
  )
}
