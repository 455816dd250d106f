/** Pieces of forms: a label, a hint and a problem belong to their control, for eyes and for screen readers. */
import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'
import { Icon } from './icon.tsx'

/** What ties a control to its label, hint and problem. */
export interface FieldControl {
  readonly id: string
  readonly 'aria-describedby'?: string
  readonly 'aria-invalid'?: true
  readonly 'aria-required'?: true
}

export function Field(props: {
  readonly label: ReactNode
  /** Of which type a value is, in a word, beside the label. */
  readonly type?: string
  readonly hint?: ReactNode
  readonly problem?: ReactNode
  readonly required?: boolean
  readonly children: (control: FieldControl) => ReactNode
}) {
  const { label, type, hint, problem, required, children } = props
  const id = useId()
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
        {type !== undefined && <span className="type">{type}</span>}
      </label>
      {children({
        id,
        ...(described !== '' ? { 'aria-describedby': described } : undefined),
        ...(problem ? { 'aria-invalid': true } : undefined),
        ...(required ? { 'aria-required': true } : undefined),
      })}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {problem && (
        <span className="problem" id={`${id}-problem`} role="alert">
          <Icon name="warn" />
          {problem}
        </span>
      )}
    </div>
  )
}

export function TextInput(
  props: Omit<InputHTMLAttributes<HTMLInputElement>, 'className'> & { readonly ref?: Ref<HTMLInputElement> },
) {
  return <input type="text" autoComplete="off" spellCheck={false} {...props} className="input" />
}

export function TextArea({
  code,
  ...props
}: Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'className'> & { readonly code?: boolean }) {
  return <textarea spellCheck={false} {...props} className={`input${code ? ' code' : ''}`} />
}

export function Select(props: Omit<SelectHTMLAttributes<HTMLSelectElement>, 'className'>) {
  return <select {...props} className="input" />
}

export function Checkbox({
  children,
  ...props
}: Omit<InputHTMLAttributes<HTMLInputElement>, 'className' | 'type'> & { readonly children: ReactNode }) {
  return (
    <label className="check">
      <input type="checkbox" {...props} />
      <span>{children}</span>
    </label>
  )
}
