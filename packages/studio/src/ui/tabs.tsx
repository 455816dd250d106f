/** Tabs: arrow keys, Home and End move and select; only the selected one is in the tab order. */
import { useEffect, useId, useRef, type KeyboardEvent, type ReactNode } from 'react'

export interface Tab<Id extends string> {
  readonly id: Id
  readonly label: string
  readonly count?: number
}

export function Tabs<Id extends string>(props: {
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly current: Id
  readonly onSelect: (id: Id) => void
  /** The panel of the selected tab. */
  readonly children: ReactNode
}) {
  const { label, tabs, current, onSelect, children } = props
  const base = useId()
  const list = useRef<HTMLDivElement>(null)
  // at phone width not all of them are in sight
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  const move = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(({ id }) => id === current)
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }
    const next = steps[event.key]
    if (next === undefined) return
    event.preventDefault()
    onSelect(tabs[next]!.id)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ id, label: word, count }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${base}-${id}`}
            aria-selected={id === current}
            aria-controls={`${base}-panel`}
            tabIndex={id === current ? 0 : -1}
            onClick={() => onSelect(id)}
          >
            {word}
            {count !== undefined && <span className="count">{count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" className="tab-panel" id={`${base}-panel`} aria-labelledby={`${base}-${current}`}>
        {children}
      </div>
    </>
  )
}
