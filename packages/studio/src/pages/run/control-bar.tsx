/** The controls of a run: buttons that make sense in its state, each with a dialog that says what will happen. */
import { useState } from 'react'
import { navigate, runPath } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field, Select, TextArea } from '../../ui/field.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import { controlsOf, type Control, type ControlInput } from './controls.ts'
import { useRun } from './run-context.tsx'

export function ControlBar({ onFork }: { readonly onFork: () => void }) {
  const { live, go, mayOperate } = useRun()
  const [open, setOpen] = useState<Control>()
  if (!mayOperate) return null
  const press = (control: Control): void => {
    if (control.name === 'fork') onFork()
    // the plan is changed, and the change is shown, before it is handed back
    else if (control.name === 'hand-back') go('take-over')
    else setOpen(control)
  }
  return (
    <div className="run-controls" role="toolbar" aria-label="Control of this run">
      {controlsOf(live.head).map((control, i) => (
        <Button
          key={control.name}
          icon={control.icon}
          tone={
            control.danger
              ? 'danger'
              : control.name === 'hand-back' || (i === 0 && control.name === 'resume')
                ? 'accent'
                : 'plain'
          }
          onClick={() => press(control)}
        >
          {control.label}
        </Button>
      ))}
      {open && <ControlDialog control={open} onClose={() => setOpen(undefined)} />}
    </div>
  )
}

function ControlDialog({ control, onClose }: { readonly control: Control; readonly onClose: () => void }) {
  const { api, go, live } = useRun()
  const toast = useToast()
  const [reason, setReason] = useState('')
  const [at, setAt] = useState<'next' | 'now'>('next')
  const [keeps, setKeeps] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const { name, label, effect, danger, dialog } = control
  const asks = (what: keyof ControlInput): boolean => dialog?.asks.includes(what) === true
  const send = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      const other = await dialog?.send(api, {
        reason: reason.trim() === '' ? {} : { reason: reason.trim() },
        at,
        keeps,
      })
      if (other !== undefined) navigate(runPath(other))
      else if (dialog?.next !== undefined) go(dialog.next)
      toast.done(dialog?.done)
      onClose()
    } catch (thrown) {
      setError(thrown)
      setBusy(false)
    }
  }
  const questions = Object.values(live.approvals).filter((each) => each.open).length
  return (
    <Dialog
      title={`${label} this run`}
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
          <Button tone={danger ? 'danger-solid' : 'accent'} busy={busy} onClick={() => void send()}>
            {label} the run
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>{effect}</p>
        {name === 'cancel' && questions > 0 && (
          <Notice tone="wait">
            {questions === 1 ? 'One open question is' : `${questions} open questions are`} closed without an answer.
          </Notice>
        )}
        {asks('at') && (
          <Field label="What is under way">
            {(field) => (
              <Select {...field} value={at} onChange={({ target }) => setAt(target.value === 'now' ? 'now' : 'next')}>
                <option value="next">may end first</option>
                <option value="now">is stopped now, and done again later</option>
              </Select>
            )}
          </Field>
        )}
        {asks('keeps') && (
          <Checkbox checked={keeps} onChange={({ target }) => setKeeps(target.checked)}>
            What was done stays: nothing is undone
          </Checkbox>
        )}
        {asks('reason') && (
          <Field label="Reason" hint="Recorded with your name in the journal and the audit.">
            {(field) => (
              <TextArea
                {...field}
                data-autofocus
                rows={2}
                value={reason}
                onChange={({ target }) => setReason(target.value)}
              />
            )}
          </Field>
        )}
        {error !== undefined && <Notice tone="bad">{errorText(error)}</Notice>}
      </div>
    </Dialog>
  )
}

/** The message and hint of an error as one text. */
export function errorText(error: unknown): string {
  const { message, hint } = sentences(error)
  return hint === undefined ? message : `${message} ${hint}`
}
