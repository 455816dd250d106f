/** The fields by which runs are found. Owns: what is always in sight, what is folded away, and the parts that are set. */
import { useEffect, useRef, useState, type RefObject } from 'react'
import { visible } from '@reeve/core/visible'
import { useMe } from '../../data/me.ts'
import { useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select, TextInput, type FieldControl } from '../../ui/field.tsx'
import { Icon } from '../../ui/icon.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import {
  conditions,
  conditionText,
  filterLabels,
  noParams,
  spans,
  statusGroups,
  statusLabels,
  type FilterName,
  type RunParams,
} from './run-filter.ts'

type SetParams = (changes: Readonly<Record<string, string>>) => void

/** Typing is searched for when it has paused for so long. Milliseconds. */
const searchAfterMs = 250

export function FilterFields(props: {
  readonly given: RunParams
  readonly onSet: SetParams
  readonly search: RefObject<HTMLInputElement | null>
}) {
  const { given, onSet, search } = props
  const [isOpen, setOpen] = useState(false)
  const agents = useQuery('agents', ['versions'], (signal) => server.agents({ signal }))
  const names = [...new Set([...(agents.data ?? []).map(({ name }) => name), given.agent])].filter(
    (name) => name !== '',
  )
  return (
    <search className="run-filters" aria-label="Filters">
      <div className="always">
        <SearchField value={given.text} onSet={(text) => onSet({ text })} search={search} />
        <Select aria-label="Status" value={given.status} onChange={({ target }) => onSet({ status: target.value })}>
          <option value="">Any status</option>
          {Object.entries(statusGroups).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          {Object.entries(statusLabels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          {given.status.includes(',') && <option value={given.status}>{conditionText('status', given.status)}</option>}
        </Select>
        <Select aria-label="Agent" value={given.agent} onChange={({ target }) => onSet({ agent: target.value })}>
          <option value="">Any agent</option>
          {names.toSorted().map((name) => (
            <option key={name} value={name}>
              {visible(name)}
            </option>
          ))}
        </Select>
        <Select aria-label="Begun" value={given.span} onChange={({ target }) => onSet({ span: target.value })}>
          <option value="">At any time</option>
          {Object.entries(spans).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
        <Button icon="filter" aria-expanded={isOpen} aria-controls="run-filters-more" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Fewer filters' : 'More filters'}
        </Button>
      </div>
      {isOpen && <MoreFields given={given} onSet={onSet} />}
      <Conditions given={given} onSet={onSet} />
    </search>
  )
}

function SearchField(props: {
  readonly value: string
  readonly onSet: (text: string) => void
  readonly search: RefObject<HTMLInputElement | null>
}) {
  const { value, onSet, search } = props
  const [typed, setTyped] = useState<string>()
  const latest = useRef(onSet)
  useEffect(() => {
    latest.current = onSet
  })
  useEffect(() => {
    if (typed === undefined) return undefined
    const timer = setTimeout(() => latest.current(typed.trim()), searchAfterMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <TextInput
      ref={search}
      type="search"
      aria-label="Search inputs, outputs and failures"
      aria-keyshortcuts="/"
      placeholder="Search inputs, outputs and failures  /"
      maxLength={1_000}
      value={typed ?? value}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={() => {
        if (typed !== undefined) onSet(typed.trim())
        setTyped(undefined)
      }}
      onKeyDown={({ key }) => {
        if (key === 'Enter' && typed !== undefined) onSet(typed.trim())
        if (key === 'Escape') setTyped('')
      }}
    />
  )
}

const texts: readonly (readonly [name: FilterName, hint: string, kind?: 'datetime-local' | 'number'])[] = [
  ['version', 'of the agent'],
  ['user', 'for whom it runs'],
  ['session', ''],
  ['code', 'such as model.failed'],
  ['metadata', 'key=value'],
  ['usdFrom', 'in US dollars', 'number'],
  ['since', '', 'datetime-local'],
  ['before', '', 'datetime-local'],
]

function MoreFields({ given, onSet }: { readonly given: RunParams; readonly onSet: SetParams }) {
  const tenant = useMe()?.tenant
  const shown = tenant === undefined ? texts.toSpliced(3, 0, ['tenant', '']) : texts
  return (
    <div className="more" id="run-filters-more">
      {shown.map(([name, hint, kind]) => (
        <Field key={name} label={filterLabels[name]} {...(hint === '' ? undefined : { type: hint })}>
          {(control) => (
            <FieldText
              key={given[name]}
              control={control}
              kind={kind}
              value={given[name]}
              onSet={(value) =>
                onSet({ [name]: name === 'metadata' && value !== '' && !value.includes('=') ? '' : value })
              }
            />
          )}
        </Field>
      ))}
    </div>
  )
}

/** A text that filters when it is finished: by Enter, or when the field is left. */
function FieldText(props: {
  readonly control: FieldControl
  readonly kind: 'datetime-local' | 'number' | undefined
  readonly value: string
  readonly onSet: (value: string) => void
}) {
  const { control, kind, value, onSet } = props
  const finish = (text: string): void => {
    if (text.trim() !== value) onSet(text.trim())
  }
  return (
    <TextInput
      {...control}
      {...(kind === 'number' ? { type: 'number', min: 0, step: 'any' } : { type: kind ?? 'text' })}
      defaultValue={value}
      onBlur={({ target }) => finish(target.value)}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && finish(currentTarget.value)}
    />
  )
}

/** The parts that are set and have no field in sight, and taking one away. */
function Conditions({ given, onSet }: { readonly given: RunParams; readonly onSet: SetParams }) {
  const all = conditions(given)
  if (all.length === 0) return null
  return (
    <ul className="conditions" aria-label="The filter">
      {all.map(([name, value]) => (
        <li key={name}>
          <span className="muted">{filterLabels[name]}</span>{' '}
          <b className="truncate">
            <VisibleText>{conditionText(name, value)}</VisibleText>
          </b>
          <button type="button" aria-label={`Take away ${filterLabels[name]}`} onClick={() => onSet({ [name]: '' })}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
      <li className="clear">
        <Button small tone="quiet" onClick={() => onSet(noParams)}>
          Clear filters
        </Button>
      </li>
    </ul>
  )
}
