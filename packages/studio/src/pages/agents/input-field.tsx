/** What an agent is asked: a text, or a form from its input schema. */
import { useState } from 'react'
import type { AgentDocument } from '@reeve/server/wire'
import { member, type Json } from '../../data/json.ts'
import { Field, TextArea } from '../../ui/field.tsx'
import { SchemaForm } from '../../ui/schema-form.tsx'


/** The value with which its form begins. */
const firstValue = ({ inputSchema }: Pick<AgentDocument, 'inputSchema'>): Json => {
  if (inputSchema === undefined) return ''
  const type = member(inputSchema, 'type')
  return type === 'object' ? {} : type === 'array' ? [] : type === 'string' ? '' : null
}

/** The input of an agent while it is written. */
export function useAgentInput(agent: Pick<AgentDocument, 'inputSchema'>): {
  readonly value: Json
  readonly set: (value: Json) => void
  readonly clear: () => void
  readonly isEmpty: boolean
} {
  const [value, set] = useState<Json>(() => firstValue(agent))
  return {
    value,
    set,
    clear: () => set(firstValue(agent)),
    isEmpty: typeof value === 'string' && value.trim() === '',
  }
}

export function InputField(props: {
  readonly agent: Pick<AgentDocument, 'name' | 'inputSchema'>
  readonly value: Json
  readonly onChange: (value: Json) => void
  /** Enter was pressed in a text. */
  readonly onEnter?: () => void
}) {
  const { agent, value, onChange, onEnter } = props
  if (agent.inputSchema !== undefined)
    return <SchemaForm schema={agent.inputSchema} value={value} onChange={onChange} />
  return (
    <Field label={`Message to ${agent.name}`}>
      {(field) => (
        <TextArea
          {...field}
          rows={2}
          value={typeof value === 'string' ? value : ''}
          onChange={({ target }) => onChange(target.value)}
          onKeyDown={(event) => {
            if (onEnter === undefined || event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing)
              return
            event.preventDefault()
            onEnter()
          }}
        />
      )}
    </Field>
  )
}
