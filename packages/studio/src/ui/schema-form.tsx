/**
 * A form for a value of a JSON Schema: texts, numbers, yes or no, choices, objects, lists. What it cannot show as a form
 * is edited as JSON.
 *
 * Owns: the controls. Does not own: whether the value is right; the run checks it and its sentence is `problem`.
 * Holds: members that the schema does not name stay as they are.
 */
import { useState } from 'react'
import { jsonAsTyped } from '../data/json-input.ts'
import { isObject, member, textMember, type Json, type JsonObject } from '../data/json.ts'
import { Button, IconButton } from './button.tsx'
import { Checkbox, Field, Select, TextArea, TextInput } from './field.tsx'
import { VisibleText } from './visible-text.tsx'

interface FormPart {
  readonly schema: Json | undefined
  readonly value: Json | undefined
  /** `undefined`: the member is left out. */
  readonly onChange: (value: Json | undefined) => void
}

export function SchemaForm(props: {
  readonly schema: JsonObject
  readonly value: Json
  readonly onChange: (value: Json) => void
  /** Why it was not accepted. */
  readonly problem?: string
}) {
  const { schema, value, onChange, problem } = props
  return (
    <div className="stack">
      {isFormable(schema, 0) && fits(schema, value) ? (
        <Part schema={schema} value={value} name="value" top required onChange={(next) => onChange(next ?? null)} />
      ) : (
        <JsonEditor label="Value" value={value} onChange={onChange} />
      )}
      {problem !== undefined && (
        <p className="field">
          <span className="problem" role="alert">
            {problem}
          </span>
        </p>
      )}
    </div>
  )
}

const typeOf = (schema: Json | undefined): string | undefined => {
  const type = member(schema, 'type')
  if (typeof type === 'string') return type
  // a nullable type
  if (Array.isArray(type)) return type.find((each): each is string => typeof each === 'string' && each !== 'null')
  return Array.isArray(member(schema, 'enum')) ? 'enum' : undefined
}

const propertiesOf = (schema: Json | undefined): readonly (readonly [string, Json])[] => {
  const properties = member(schema, 'properties')
  return isObject(properties) ? Object.entries(properties) : []
}

/** Whether it can be shown as a form. Pure. */
function isFormable(schema: Json | undefined, depth: number): boolean {
  if (!isObject(schema) || depth > 5) return false
  if (['$ref', 'anyOf', 'oneOf', 'allOf', 'not'].some((key) => member(schema, key) !== undefined)) return false
  const type = typeOf(schema)
  if (type === 'object') return propertiesOf(schema).length > 0
  if (type === 'array') return isObject(member(schema, 'items'))
  return type !== undefined && ['string', 'number', 'integer', 'boolean', 'enum'].includes(type)
}

/** A value that is of another type than its schema is edited as JSON, so that nothing of it is lost. */
function fits(schema: Json | undefined, value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  const type = typeOf(schema)
  if (type === 'object') return isObject(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'number' || type === 'integer') return typeof value === 'number'
  return type === 'enum' || typeof value === type
}

/** The value with which a new member or item begins. */
function initial(schema: Json | undefined): Json {
  const given = member(schema, 'default')
  if (given !== undefined) return given
  const choices = member(schema, 'enum')
  if (Array.isArray(choices)) return (choices[0] as Json) ?? null
  const type = typeOf(schema)
  if (type === 'object') {
    const required = member(schema, 'required')
    const names: readonly Json[] = Array.isArray(required) ? (required as readonly Json[]) : []
    return Object.fromEntries(
      propertiesOf(schema).flatMap(([name, each]) => (names.includes(name) ? [[name, initial(each)]] : [])),
    )
  }
  if (type === 'array') return []
  return type === 'boolean' ? false : type === 'string' ? '' : type === 'number' || type === 'integer' ? 0 : null
}

function Part(props: FormPart & { readonly name: string; readonly required: boolean; readonly top?: boolean }) {
  const { schema, value, onChange, name, required, top } = props
  const label = <VisibleText>{textMember(schema, 'title') ?? name}</VisibleText>
  const hint = textMember(schema, 'description')
  const type = typeOf(schema)
  const common = { label, required, hint: hint && <VisibleText>{hint}</VisibleText> }
  if (!isFormable(schema, 0) || !fits(schema, value))
    return <JsonEditor label={name} value={value ?? null} onChange={onChange} />
  const choices = member(schema, 'enum')
  if (Array.isArray(choices)) {
    const texts = choices.map((each) => JSON.stringify(each))
    return (
      <Field {...common} type={required ? 'one of' : 'one of, optional'}>
        {(control) => (
          <Select
            {...control}
            value={value === undefined ? '' : JSON.stringify(value)}
            onChange={({ target }) => onChange(target.value === '' ? undefined : (JSON.parse(target.value) as Json))}
          >
            {!texts.includes(JSON.stringify(value)) && (
              <option value={value === undefined ? '' : JSON.stringify(value)}>
                {value === undefined ? 'not given' : JSON.stringify(value)}
              </option>
            )}
            {choices.map((each, i) => (
              <option key={texts[i]} value={texts[i]}>
                {typeof each === 'string' ? each : texts[i]}
              </option>
            ))}
          </Select>
        )}
      </Field>
    )
  }
  if (type === 'boolean')
    return (
      <div className="field">
        <Checkbox checked={value === true} onChange={({ target }) => onChange(target.checked)}>
          {label}
        </Checkbox>
        {hint !== undefined && <span className="hint">{common.hint}</span>}
      </div>
    )
  if (type === 'number' || type === 'integer')
    return <NumberPart {...props} label={label} hint={common.hint} type={type} />
  if (type === 'object') {
    const object = isObject(value) ? value : {}
    const names = member(schema, 'required')
    const fields = propertiesOf(schema).map(([each, of]) => (
      <Part
        key={each}
        name={each}
        schema={of}
        value={member(object, each)}
        required={Array.isArray(names) && (names as readonly Json[]).includes(each)}
        onChange={(next) => onChange(withMember(object, each, next))}
      />
    ))
    const others = Object.keys(object).filter((each) => !propertiesOf(schema).some(([known]) => known === each))
    const rest =
      others.length > 0 ? (
        <p className="muted">
          Members that the schema does not name stay as they are: <VisibleText>{others.join(', ')}</VisibleText>
        </p>
      ) : null
    return top ? (
      <div className="stack">
        {fields}
        {rest}
      </div>
    ) : (
      <fieldset className="field">
        <legend>{label}</legend>
        <div className="nested stack">
          {fields}
          {rest}
        </div>
      </fieldset>
    )
  }
  if (type === 'array') {
    const items = Array.isArray(value) ? (value as readonly Json[]) : []
    const of = member(schema, 'items')
    return (
      <fieldset className="field">
        <legend>
          {label}
          <span className="type">{items.length === 1 ? '1 item' : `${items.length} items`}</span>
        </legend>
        <div className="nested stack">
          {items.map((item, i) => (
            // items have no identity but their place
            // oxlint-disable-next-line react/no-array-index-key
            <div className="row" key={i}>
              <div className="grow">
                <Part
                  name={`${name} ${i + 1}`}
                  schema={of}
                  value={item}
                  required
                  onChange={(next) => onChange(items.with(i, next ?? null))}
                />
              </div>
              <IconButton
                small
                icon="cross"
                label={`Remove ${name} ${i + 1}`}
                onClick={() => onChange(items.toSpliced(i, 1))}
              />
            </div>
          ))}
          <div>
            <Button small icon="plus" onClick={() => onChange([...items, initial(of)])}>
              Add
            </Button>
          </div>
        </div>
      </fieldset>
    )
  }
  const text = typeof value === 'string' ? value : ''
  const long = text.length > 80 || text.includes('\n')
  return (
    <Field {...common} type={required ? 'text' : 'text, optional'}>
      {(control) =>
        long ? (
          <TextArea
            {...control}
            rows={Math.min(16, text.split('\n').length + 2)}
            value={text}
            onChange={({ target }) => onChange(target.value)}
          />
        ) : (
          <TextInput
            {...control}
            value={text}
            onChange={({ target }) => onChange(target.value === '' && !required ? undefined : target.value)}
          />
        )
      }
    </Field>
  )
}

function NumberPart(
  props: FormPart & {
    readonly label: React.ReactNode
    readonly hint: React.ReactNode
    readonly type: string
    readonly required: boolean
  },
) {
  const { value, onChange, label, hint, type, required } = props
  // a number that is half typed is a text
  const [typed, setTyped] = useState<string>()
  const problem =
    typed === undefined
      ? undefined
      : `"${typed}" is not ${type === 'integer' ? 'a whole number' : 'a number'} that can be kept exactly`
  return (
    <Field label={label} hint={hint} type={required ? type : `${type}, optional`} required={required} problem={problem}>
      {(control) => (
        <TextInput
          {...control}
          inputMode="decimal"
          value={typed ?? (typeof value === 'number' ? `${value}` : '')}
          onChange={({ target: { value: text } }) => {
            const number = Number(text)
            const isRounded =
              /^\s*[-+]?\d+\s*$/.test(text) && !('value' in jsonAsTyped(text.trim().replace(/^\+|\b0+(?=\d)/g, '')))
            const fine = text.trim() !== '' && Number.isFinite(number) && !/[.]$/.test(text) && !isRounded
            if (text.trim() === '' && !required) {
              setTyped(undefined)
              onChange(undefined)
            } else if (fine && (type !== 'integer' || Number.isInteger(number))) {
              setTyped(undefined)
              onChange(number)
            } else setTyped(text)
          }}
        />
      )}
    </Field>
  )
}

function withMember(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const rest = Object.entries(object).filter(([each]) => each !== name)
  if (value === undefined) return Object.fromEntries(rest)
  // in its old place, so that a form does not move what it does not touch
  return Object.fromEntries(
    Object.hasOwn(object, name)
      ? Object.entries(object).map(([each, of]) => [each, each === name ? value : of])
      : [...rest, [name, value]],
  )
}

/** A value as JSON text. Reports only what can be read. */
export function JsonEditor(props: {
  readonly label: string
  readonly value: Json
  readonly onChange: (value: Json) => void
  readonly rows?: number
}) {
  const { label, value, onChange, rows } = props
  const [text, setText] = useState(() => JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState<string>()
  return (
    <Field label={label} type="JSON" problem={problem}>
      {(control) => (
        <TextArea
          {...control}
          code
          rows={rows ?? Math.min(20, text.split('\n').length + 1)}
          value={text}
          onChange={({ target }) => {
            setText(target.value)
            const read = jsonAsTyped(target.value)
            if ('value' in read) onChange(read.value)
            setProblem('value' in read ? undefined : read.problem)
          }}
        />
      )}
    </Field>
  )
}
