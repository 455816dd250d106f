/** The end of a dialog about a run: why it is done, and what was wrong the last time. */
import { Field, TextArea } from '../../ui/field.tsx'
import { Notice } from '../../ui/states.tsx'

interface ReasonFieldProps {
  readonly reason: string
  readonly onChange: (reason: string) => void
  readonly problem: string | undefined
}

export function ReasonField({ reason, onChange, problem }: ReasonFieldProps) {
  return (
    <>
      <Field label="Reason">
        {(field) => <TextArea {...field} rows={2} value={reason} onChange={({ target }) => onChange(target.value)} />}
      </Field>
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
    </>
  )
}
