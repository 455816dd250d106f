/** Changing trust: setting a level with a reason, recording an incident. Both say what will happen. */
import { useState } from 'react'
import { levelModes, oversightModeRules } from '@reeve/core/oversight-mode'
import type { TrustView } from '@reeve/server/wire'
import { changed, useMutation } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { navigate, trustPath } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field, Select, TextArea, TextInput } from '../../ui/field.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import { levels, levelWords, type Level } from './trust-words.ts'

/** `record`: the one to change. Absent: one that is named in the dialog. */
export function LevelDialog({ record, onClose }: { readonly record?: TrustView; readonly onClose: () => void }) {
  const toast = useToast()
  const [name, setName] = useState(record?.name ?? '')
  const [level, setLevel] = useState<Level>(record?.level ?? 'novice')
  const [reason, setReason] = useState('')
  const [create, setCreate] = useState(false)
  const { run, busy, error } = useMutation(
    () => server.trust.set({ trust: name.trim(), level, reason: reason.trim(), ...(create ? { create } : {}) }),
    {
      done(view) {
        toast.done(`${view.name} is ${view.level} now`)
        changed(['trust'])
        onClose()
        if (record === undefined) navigate(trustPath(view.name))
      },
    },
  )
  return (
    <Dialog
      title={record === undefined ? 'Set a level' : `Set the level of ${record.name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone="accent"
            busy={busy}
            disabled={name.trim() === '' || reason.trim() === ''}
            onClick={() => run(undefined)}
          >
            Set the level
          </Button>
        </>
      }
    >
      <div className="stack">
        {record === undefined && (
          <>
            <Field label="Name" hint="As agents name it: oversight: { trust: 'name' }." required>
              {(field) => <TextInput {...field} value={name} onChange={({ target }) => setName(target.value)} />}
            </Field>
            <Checkbox checked={create} onChange={({ target }) => setCreate(target.checked)}>
              No agent needs to use this name yet
            </Checkbox>
          </>
        )}
        <Field label="Level" hint={oversightModeRules[levelModes[level]].title}>
          {(field) => (
            <Select {...field} value={level} onChange={({ target }) => setLevel(target.value as Level)}>
              {levels.map((each) => (
                <option key={each} value={each}>
                  {levelWords[each]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Reason" hint="Kept in the record, with your name." required>
          {(field) => (
            <TextArea
              {...field}
              rows={2}
              {...(record === undefined ? {} : { 'data-autofocus': true })}
              value={reason}
              onChange={({ target }) => setReason(target.value)}
            />
          )}
        </Field>
        <p className="muted">Runs that are under way follow at their next approval gate. The counts stay.</p>
        {error !== undefined && <Problem error={error} />}
      </div>
    </Dialog>
  )
}

const severities = {
  minor: 'Minor: the level stays, and does not rise for a while.',
  serious: 'Serious: back to novice at once, all counts restart.',
} as const

export function IncidentDialog({ record, onClose }: { readonly record: TrustView; readonly onClose: () => void }) {
  const toast = useToast()
  const [severity, setSeverity] = useState<keyof typeof severities>('minor')
  const [note, setNote] = useState('')
  const [runId, setRunId] = useState('')
  const { run, busy, error } = useMutation(
    () =>
      server.trust.incident({
        trust: record.name,
        severity,
        ...(note.trim() === '' ? {} : { note: note.trim() }),
        ...(runId.trim() === '' ? {} : { run: runId.trim() }),
      }),
    {
      done(view) {
        toast.done(`The incident is recorded; ${view.name} is ${view.level}`)
        changed(['trust'])
        onClose()
      },
    },
  )
  return (
    <Dialog
      title={`Record an incident of ${record.name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone={severity === 'serious' ? 'danger-solid' : 'accent'} busy={busy} onClick={() => run(undefined)}>
            Record the incident
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field label="Severity" hint={severities[severity]}>
          {(field) => (
            <Select
              {...field}
              value={severity}
              onChange={({ target }) => setSeverity(target.value === 'serious' ? 'serious' : 'minor')}
            >
              <option value="minor">Minor</option>
              <option value="serious">Serious</option>
            </Select>
          )}
        </Field>
        <Field label="What happened">
          {(field) => <TextArea {...field} rows={3} value={note} onChange={({ target }) => setNote(target.value)} />}
        </Field>
        <Field label="Run" hint="The id of the run in which it happened, if it was one.">
          {(field) => <TextInput {...field} value={runId} onChange={({ target }) => setRunId(target.value)} />}
        </Field>
        <p className="muted">
          It takes effect at once, in running runs at their next approval gate. An incident cannot be taken back.
        </p>
        {error !== undefined && <Problem error={error} />}
      </div>
    </Dialog>
  )
}

function Problem({ error }: { readonly error: unknown }) {
  const { message, hint } = sentences(error)
  return (
    <Notice tone="bad">
      {message}
      {hint !== undefined && <span className="muted"> {hint}</span>}
    </Notice>
  )
}
