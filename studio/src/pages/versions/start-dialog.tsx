/** Starting a run that is pinned to a version: by the option `versions` of a start, as code does it. */
import { useState } from 'react'
import { startRun } from '../../data/installation.ts'
import { parsedJson } from '../../data/json-input.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { navigate, runPath } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, TextArea, TextInput } from '../../ui/field.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'

export function StartDialog(props: { readonly agent: string; readonly version: string; readonly onClose: () => void }) {
  const { agent, version, onClose } = props
  const toast = useToast()
  const [input, setInput] = useState('')
  const [session, setSession] = useState('')
  const parsed = parsedJson(input)
  const { run, busy, error } = useMutation(
    () =>
      startRun({
        agent,
        input: 'value' in parsed ? parsed.value : input,
        versions: { [agent]: version },
        ...(session.trim() === '' ? {} : { session: session.trim() }),
      }),
    {
      done({ run: id }) {
        toast.done(`A run with ${version} has begun. This is it.`)
        changed(['runs', 'versions'])
        onClose()
        navigate(runPath(id))
      },
    },
  )
  const problem = 'problem' in parsed && input.trim() !== '' ? parsed.problem : undefined
  return (
    <Dialog
      title={`Start a run with ${version}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone="accent"
            icon="play"
            busy={busy}
            disabled={input.trim() === '' || problem !== undefined}
            onClick={() => run(undefined)}
          >
            Start the run
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          {agent} works by {version} in this run, whatever is published meanwhile. It runs for you.
        </p>
        <Field label="Input" hint="A text, or JSON." problem={problem} required>
          {(field) => (
            <TextArea
              {...field}
              data-autofocus
              rows={4}
              value={input}
              onChange={({ target }) => setInput(target.value)}
            />
          )}
        </Field>
        <Field label="Session" hint="Continues this conversation of yours, if one is named.">
          {(field) => <TextInput {...field} value={session} onChange={({ target }) => setSession(target.value)} />}
        </Field>
        {error !== undefined && (
          <Notice tone="bad">
            {sentences(error).message} <span className="muted">{sentences(error).hint}</span>
          </Notice>
        )}
      </div>
    </Dialog>
  )
}
