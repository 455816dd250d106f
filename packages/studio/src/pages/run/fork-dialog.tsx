/** A fork: a new run with everything up to an entry, and something different from there. */
import { useState } from 'react'
import type { ForkOptions, JournalRow } from '@reeve/server/wire'
import type { Json } from '../../data/json.ts'
import { navigate, runPath } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Select, TextArea } from '../../ui/field.tsx'
import { useToast } from '../../ui/toast.tsx'
import { errorText } from './control-bar.tsx'
import { entryLine, forkEdits } from './journal-lines.ts'
import { parsedJson } from '../../data/json-input.ts'
import { useRun } from './run-context.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { ReasonField } from './reason-field.tsx'

type EditType = 'none' | 'outcome' | 'input' | 'message'

const labels: Readonly<Record<EditType, string>> = {
  none: 'Nothing: decide and answer differently in it',
  outcome: 'What came out of this step',
  input: 'What the run was asked',
  message: 'Tell an agent something',
}

/** `row`: the last entry that the fork has. Absent: all of them. */
export function ForkDialog(props: { readonly run: string; readonly row?: JournalRow; readonly onClose: () => void }) {
  const { row, onClose } = props
  const { api, live } = useRun()
  const toast = useToast()
  const possible: readonly EditType[] = [
    'none',
    ...(row === undefined ? (['input', 'message'] as const) : forkEdits(row.event)),
  ]
  const [type, setType] = useState<EditType>('none')
  const [value, setValue] = useState('')
  const [to, setTo] = useState<string>(row?.activation ?? Object.keys(live.activations)[0] ?? '')
  const [reason, setReason] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const choose = (next: EditType): void => {
    setType(next)
    setProblem(undefined)
    const outcome = row !== undefined && 'outcome' in row.event ? row.event.outcome : undefined
    const begin: Json = next === 'input' ? live.head.input : next === 'outcome' ? ((outcome ?? null) as Json) : ''
    setValue(typeof begin === 'string' ? begin : JSON.stringify(begin, null, 2))
  }
  const send = async (): Promise<void> => {
    const parsed = parsedJson(value)
    if (type !== 'none' && 'problem' in parsed) {
      setProblem(parsed.problem)
      return
    }
    const given = 'value' in parsed ? parsed.value : null
    // the server says of an outcome or a name that it is none
    const edit = {
      none: undefined,
      outcome: { type: 'outcome', outcome: given },
      input: { type: 'input', input: given },
      message: { type: 'message', to, body: given },
    }[type] as ForkOptions['edit'] | undefined
    setBusy(true)
    setProblem(undefined)
    try {
      const { id } = await api.fork({
        // another input begins from the beginning
        ...(row === undefined || type === 'input' ? {} : { at: row.position }),
        ...(edit === undefined ? {} : { edit }),
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      })
      toast.done('The fork has begun. This is it.')
      onClose()
      navigate(runPath(id))
    } catch (error) {
      setProblem(errorText(error))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={row === undefined ? 'Fork this run' : `Fork from entry ${row.index}`}
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
          <Button tone="accent" icon="fork" busy={busy} onClick={() => void send()}>
            Fork the run
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          A new run begins with everything up to {row === undefined ? 'now' : 'this entry'}. This run is not touched.
          Effects that were made are not made again unless you say so.
        </p>
        {row !== undefined && (
          <p className="muted">
            {row.event.type}: <VisibleText>{entryLine(row)}</VisibleText>
          </p>
        )}
        <Field label="What is different">
          {(field) => (
            <Select {...field} value={type} onChange={({ target }) => choose(target.value as EditType)}>
              {possible.map((each) => (
                <option key={each} value={each}>
                  {labels[each]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {type === 'message' && (
          <Field label="Which agent">
            {(field) => (
              <Select {...field} value={to} onChange={({ target }) => setTo(target.value)}>
                {Object.values(live.activations).map(({ activation, path }) => (
                  <option key={activation} value={activation}>
                    {path.join(' › ')}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        {type !== 'none' && (
          <Field
            label={type === 'outcome' ? 'The outcome instead' : type === 'input' ? 'The input instead' : 'The message'}
            hint="JSON, or a text."
          >
            {(field) => (
              <TextArea {...field} code rows={8} value={value} onChange={({ target }) => setValue(target.value)} />
            )}
          </Field>
        )}
        <ReasonField reason={reason} onChange={setReason} problem={problem} />
      </div>
    </Dialog>
  )
}
