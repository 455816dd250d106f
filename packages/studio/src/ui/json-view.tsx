/** A JSON value, collapsible; every text in it through `visible`. Long lists and texts are shown in parts. */
import { useState } from 'react'
import type { Json } from '../data/json.ts'
import { Icon } from './icon.tsx'
import { VisibleText } from './visible-text.tsx'

const page = 100
const longText = 2_000

/** `depth`: down to which level it is open at first. */
export function JsonView({ value, depth = 2 }: { readonly value: Json; readonly depth?: number }) {
  return (
    <div className="json">
      <div className="top">
        <Value value={value} depth={depth} />
      </div>
    </div>
  )
}

function Value({ value, name, depth }: { readonly value: Json; readonly name?: string; readonly depth: number }) {
  const [open, setOpen] = useState(depth > 0)
  const [shown, setShown] = useState(page)
  const label = name === undefined ? null : <Key name={name} />
  if (typeof value !== 'object' || value === null)
    return (
      <>
        {label}
        <Scalar value={value} />
      </>
    )
  const entries = Array.isArray(value)
    ? value.map((item, i) => [`${i}`, item as Json] as const)
    : Object.entries(value as Readonly<Record<string, Json>>)
  const [begin, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0)
    return (
      <>
        {label}
        {begin}
        {end}
      </>
    )
  // what is read at a glance needs no lines of its own
  if (isShort(value, entries))
    return (
      <>
        {label}
        {begin}{' '}
        {entries.map(([key, member], i) => (
          <span key={key}>
            {i > 0 && ', '}
            <Value value={member} depth={0} {...(Array.isArray(value) ? {} : { name: key })} />
          </span>
        ))}{' '}
        {end}
      </>
    )
  return (
    <>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="right" />
        {label}
        {begin}
        {!open && (
          <span className="muted">
            {' '}
            {entries.length} {Array.isArray(value) ? 'items' : 'members'} {end}
          </span>
        )}
      </button>
      {open && (
        <>
          <ul>
            {entries.slice(0, shown).map(([key, member]) => (
              <li key={key}>
                <Value value={member} depth={depth - 1} {...(Array.isArray(value) ? {} : { name: key })} />
              </li>
            ))}
            {entries.length > shown && (
              <li>
                <button type="button" className="more" onClick={() => setShown(shown + page * 5)}>
                  Show more ({entries.length - shown} left)
                </button>
              </li>
            )}
          </ul>
          {end}
        </>
      )}
    </>
  )
}

const shortMembers = 6
const shortCharacters = 72

const isShort = (value: Json, entries: readonly (readonly [string, Json])[]): boolean =>
  entries.length <= shortMembers &&
  entries.every(([, member]) => typeof member !== 'object' || member === null) &&
  JSON.stringify(value).length <= shortCharacters

function Key({ name }: { readonly name: string }) {
  return (
    <span className="key">
      <VisibleText json>{JSON.stringify(name)}</VisibleText>
      {': '}
    </span>
  )
}

function Scalar({ value }: { readonly value: string | number | boolean | null }) {
  const [whole, setWhole] = useState(false)
  if (typeof value !== 'string')
    return <span className={typeof value === 'number' ? 'number' : 'literal'}>{`${value}`}</span>
  const cut = !whole && value.length > longText
  return (
    <span className="string">
      <VisibleText json>{JSON.stringify(cut ? value.slice(0, longText) : value)}</VisibleText>
      {cut && (
        <button type="button" className="more" onClick={() => setWhole(true)}>
          Show {value.length - longText} more characters
        </button>
      )}
    </span>
  )
}
