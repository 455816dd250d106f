/** A panel: one subject with a heading. */
import { useId, type ReactNode } from 'react'

export function Panel(props: {
  readonly title: ReactNode
  readonly actions?: ReactNode
  /** Its content touches its border: tables, lists. */
  readonly flush?: boolean
  readonly children: ReactNode
}) {
  const id = useId()
  return (
    <section className={`panel${props.flush ? ' flush' : ''}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.actions}
      </header>
      <div className="body">{props.children}</div>
    </section>
  )
}

/** Names and values. Facts without a value are left out. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value === undefined || value === null || value === false ? null : (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  )
}
