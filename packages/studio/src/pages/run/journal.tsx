/** Journal: every entry of a run, by number, filtered and searched by the server; a whole event, a fork from it, a diff. */
import { useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { JournalRow } from '@reeve/server/wire'
import { Link, runPath } from '../../router.tsx'
import type { Json, JsonObject } from '../../data/json.ts'
import { filled } from '../../data/server.ts'
import { countText } from '../../ui/amounts.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Select, TextInput } from '../../ui/field.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Facts } from '../../ui/panel.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { clockTime, exactTime } from '../../ui/time.tsx'
import { showRow, useRowWindow } from '../../ui/virtual-rows.ts'
import { VisibleText } from '../../ui/visible-text.tsx'
import { AgentOptions } from './agent-options.tsx'
import { agentRows } from './agent-tree.ts'
import { ForkDialog } from './fork-dialog.tsx'
import { TryDialog } from './try-dialog.tsx'
import { familyOf } from './journal-lines.ts'
import { JournalPages } from './journal-pages.ts'
import { RunDiffView } from './run-diff.tsx'
import { useRun } from './run-context.tsx'
import { decodedAddress } from './step-names.ts'

const rowHeight = 30
const none: ReadonlySet<string> = new Set()

/** The families of events, as the server filters by them. */
const families = [
  ['activation', 'Agents'],
  ['model', 'Model calls'],
  ['tool', 'Tool calls'],
  ['step', 'Steps'],
  ['worker', 'Workers'],
  ['approval', 'Approvals'],
  ['interrupt', 'Questions'],
  ['message', 'Messages'],
  ['plan', 'Plans'],
  ['task', 'Tasks'],
  ['mail', 'Mail'],
  ['budget', 'Budget'],
  ['run', 'Control'],
] as const

export function Journal() {
  const { live, selection, go } = useRun()
  const [typed, setTyped] = useState(selection.search ?? '')
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed !== (selection.search ?? ''))
        go(undefined, { search: typed === '' ? undefined : typed, row: undefined })
    }, 250)
    return () => clearTimeout(timer)
    // what was typed is looked for once the typing rests
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [typed])
  const agents = useMemo(() => agentRows(live.activations, none), [live.activations])
  if (selection.with !== undefined) return <RunDiffView other={selection.with} />
  const { filter, family, search } = selection
  return (
    <div className="run-fill">
      <div className="run-bar">
        <Select
          aria-label="Agent"
          value={filter ?? ''}
          onChange={({ target }) => go(undefined, { filter: target.value || undefined, row: undefined })}
        >
          <option value="">All agents</option>
          <AgentOptions
            agents={agents}
            at={agents.findIndex(({ view }) => view.activation === (selection.filter ?? selection.agent))}
          />
        </Select>
        <Select
          aria-label="Kind of entry"
          value={family ?? ''}
          onChange={({ target }) => go(undefined, { family: target.value || undefined, row: undefined })}
        >
          <option value="">All entries</option>
          {families.map(([name, word]) => (
            <option key={name} value={name}>
              {word}
            </option>
          ))}
        </Select>
        <TextInput
          aria-label="Search in the journal"
          type="search"
          placeholder="Search"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <CompareForm />
      </div>
      <List key={`${filter}\n${family}\n${search}`} />
    </div>
  )
}

/** Origin, and any other run, side by side with this one. */
function CompareForm() {
  const { live, go } = useRun()
  const { origin } = live.head
  const [other, setOther] = useState('')
  const [open, setOpen] = useState(false)
  if (!open)
    return (
      <span className="row">
        {origin !== undefined && (
          <Button small onClick={() => go(undefined, { with: origin.run })}>
            Compare with its origin
          </Button>
        )}
        <Button small onClick={() => setOpen(true)}>
          Compare…
        </Button>
      </span>
    )
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault()
        if (other.trim() !== '') go(undefined, { with: other.trim() })
      }}
    >
      <TextInput
        aria-label="The other run"
        placeholder="run_…"
        value={other}
        onChange={({ target }) => setOther(target.value)}
      />
      <Button small type="submit" tone="accent" disabled={other.trim() === ''}>
        Compare
      </Button>
    </form>
  )
}

function List() {
  const { api, live, selection, go } = useRun()
  const { filter, family, search, row: chosen } = selection
  const id = useId()
  const [, redraw] = useState(0)
  const [pages] = useState(
    () =>
      new JournalPages(
        (from, limit) => api.journal(filled({ from, limit, activation: filter, family, find: search })),
        () => redraw((n) => n + 1),
      ),
  )
  const scroller = useRef<HTMLDivElement>(null)
  const total = pages.total ?? 0
  const { from, to } = useRowWindow(scroller, total, rowHeight)
  useEffect(() => pages.need(from, to), [pages, from, to])
  const { position } = live.head
  useEffect(() => {
    if (pages.total === undefined) return undefined
    const timer = setTimeout(() => pages.grow(), 500)
    return () => clearTimeout(timer)
  }, [pages, position])
  const at = chosen === undefined ? undefined : Number(chosen)
  const choose = useCallback((place: number) => go(undefined, { row: String(place) }), [go])
  const isThere = pages.total !== undefined
  useEffect(() => {
    if (isThere && at !== undefined && scroller.current !== null) showRow(scroller.current, at, rowHeight)
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isThere, at])
  if (pages.total === undefined)
    return pages.error === undefined ? (
      <Loading what="the journal" />
    ) : (
      <ErrorState error={pages.error} onRetry={() => pages.need(0, 1)} />
    )
  if (total === 0)
    return (
      <Empty icon="search" title="No entry is like that">
        The search looks for a text in whole entries. Take a filter away to see more.
      </Empty>
    )
  const press = (event: KeyboardEvent): void => {
    const now = at ?? -1
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2)
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: total - 1,
    }
    const next = moves[event.key]
    if (next === undefined) return
    event.preventDefault()
    choose(Math.max(0, Math.min(total - 1, next)))
  }
  const row = at === undefined ? undefined : pages.row(at)
  return (
    <div className={`run-journal${row === undefined ? '' : ' detail'}`}>
      <div
        className="virtual"
        role="grid"
        aria-label={`Journal, ${countText(total)} entries`}
        aria-rowcount={total}
        tabIndex={0}
        aria-activedescendant={at !== undefined && at >= from && at < to ? `${id}-${at}` : undefined}
        ref={scroller}
        onKeyDown={press}
      >
        <div className="rows" role="rowgroup" style={{ height: total * rowHeight }}>
          {Array.from({ length: Math.max(0, to - from) }, (_, i) => {
            const place = from + i
            const entry = pages.row(place)
            return (
              <Line
                key={place}
                id={`${id}-${place}`}
                place={place}
                row={entry}
                text={entry === undefined ? '' : pages.lineOf(entry)}
                isChosen={place === at}
                onChoose={choose}
              />
            )
          })}
        </div>
      </div>
      {row !== undefined && <Detail key={row.index} row={row} onClose={() => go(undefined, { row: undefined })} />}
    </div>
  )
}

function Line(props: {
  readonly id: string
  readonly place: number
  readonly row: JournalRow | undefined
  readonly text: string
  readonly isChosen: boolean
  readonly onChoose: (place: number) => void
}) {
  const { id, place, row, text, isChosen, onChoose } = props
  return (
    // The grid itself has the focus and hears the keys.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={id}
      role="row"
      aria-rowindex={place + 1}
      aria-selected={isChosen}
      className={`run-line${isChosen ? ' active' : ''}`}
      style={{ top: place * rowHeight, height: rowHeight }}
      onClick={() => onChoose(place)}
    >
      {row === undefined ? (
        <span role="gridcell" className="muted">
          …
        </span>
      ) : (
        <>
          <span role="gridcell" className="num muted">
            {row.index}
          </span>
          <span role="gridcell" className="muted">
            {clockTime(row.at)}
          </span>
          <span role="gridcell" className="truncate">
            <VisibleText>{row.agent}</VisibleText>
          </span>
          <span role="gridcell" className={`run-type ${familyOf(row.event.type)}`}>
            {row.event.type}
          </span>
          <span role="gridcell" className="truncate">
            <VisibleText>{text}</VisibleText>
          </span>
        </>
      )}
    </div>
  )
}

/** What an event says, without what stands above it. The button that copies it gives all of it. */
function contentOf({ type: _type, ...event }: JournalRow['event']): Json {
  const { address: _address, op: _op, v: _v, ...content } = event as unknown as JsonObject
  return content
}

function Detail({ row, onClose }: { readonly row: JournalRow; readonly onClose: () => void }) {
  const { go, mayOperate, api } = useRun()
  const [forks, setForks] = useState(false)
  const [tries, setTries] = useState(false)
  const forked = row.event.type === 'run.forked' ? row.event : undefined
  return (
    <aside className="run-side" aria-label={`Entry ${row.index}`}>
      <header>
        <h2>
          {row.index} · {row.event.type}
        </h2>
        <CopyButton text={JSON.stringify(row, null, 2)} what="the entry" />
        <IconButton small icon="cross" label="Close the entry" onClick={onClose} />
      </header>
      <div className="stack run-scroll" role="region" aria-label="The whole entry" tabIndex={0}>
        <Facts
          facts={[
            ['Agent', <VisibleText key="a">{row.agent}</VisibleText>],
            ['At', exactTime(row.at)],
            ['Position', String(row.position)],
            [
              'Activation',
              <code key="c">
                <VisibleText>{row.activation}</VisibleText>
              </code>,
            ],
            [
              'Address',
              'address' in row.event && (
                <code key="d">
                  <VisibleText>{decodedAddress(row.event.address)}</VisibleText>
                </code>
              ),
            ],
            [
              'Origin',
              forked && (
                <Link key="v" to={runPath(forked.run)}>
                  {forked.run}
                </Link>
              ),
            ],
          ]}
        />
        <div className="row wrap">
          {mayOperate && (
            <Button small icon="fork" onClick={() => setForks(true)}>
              Fork from here
            </Button>
          )}
          {mayOperate && row.event.type === 'model.requested' && (
            <Button small icon="edit" onClick={() => setTries(true)}>
              Try again with a change
            </Button>
          )}
          <Button
            small
            tone="quiet"
            onClick={() => go('conversation', { agent: row.activation, entry: String(row.at), row: undefined })}
          >
            Conversation
          </Button>
        </div>
        <JsonView value={contentOf(row.event)} depth={4} />
      </div>
      {tries && <TryDialog activation={row.activation} call={row.position} onClose={() => setTries(false)} />}
      {forks && <ForkDialog run={api.id} row={row} onClose={() => setForks(false)} />}
    </aside>
  )
}
