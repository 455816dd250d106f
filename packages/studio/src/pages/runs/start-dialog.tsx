/** Starting a run: of an agent that is chosen here, or of one that is pinned to a version, as code does it by `versions`. */
import { useState } from 'react'
import { parsedJson } from '../../data/json-input.ts'
import { changed, useMutation, useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { navigate, runPath } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx'
import { ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import type { AgentDocument } from '@reeve/server/wire'

/** `version`: the agent works by it in this run. Without `agent` one is chosen. */
export function StartDialog(props: {
  readonly agent?: string
  readonly version?: string
  readonly onClose: () => void
}) {
  const { version, onClose } = props
  const toast = useToast()
  const agents = useQuery(props.agent === undefined ? 'agents' : '', ['versions'], (signal) =>
    server.agents({ signal }),
  )
  const choices = (agents.data ?? []).toSorted(byPlace(agents.data ?? []))
  const [chosen, setChosen] = useState<string>()
  const agent = props.agent ?? chosen ?? choices[0]?.name
  const [input, setInput] = useState('')
  const [session, setSession] = useState('')
  const parsed = parsedJson(input)
  const { run, busy, error } = useMutation(
    (name: string) =>
      server.runs.start(name, 'value' in parsed ? parsed.value : input, {
        ...(version === undefined ? {} : { versions: { [name]: version } }),
        ...(session.trim() === '' ? {} : { session: session.trim() }),
      }),
    {
      done({ id }) {
        toast.done(`A run${version === undefined ? '' : ` with ${version}`} has begun. This is it.`)
        changed(['runs', 'versions'])
        onClose()
        navigate(runPath(id))
      },
    },
  )
  const problem = 'problem' in parsed && input.trim() !== '' ? parsed.problem : undefined
  const description = choices.find(({ name }) => name === agent)?.description
  return (
    <Dialog
      title={version === undefined ? 'Start a run' : `Start a run with ${version}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone="accent"
            icon="play"
            busy={busy}
            disabled={agent === undefined || input.trim() === '' || problem !== undefined}
            onClick={() => agent !== undefined && run(agent)}
          >
            Start the run
          </Button>
        </>
      }
    >
      <div className="stack">
        {props.agent !== undefined ? (
          <p>
            {agent} works by {version} in this run, whatever is published meanwhile. It runs for you.
          </p>
        ) : agents.data === undefined ? (
          agents.error === undefined ? (
            <Loading what="agents" />
          ) : (
            <ErrorState error={agents.error} onRetry={agents.reload} />
          )
        ) : (
          <Field label="Agent" hint={description} required>
            {(field) => (
              <Select {...field} value={agent} onChange={({ target }) => setChosen(target.value)}>
                {choices.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
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
        <Field label="Session, optional" hint="The name of a conversation of yours that the run continues, or begins.">
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

/** Leaders before those who work for one, then by name. */
const byPlace = (all: readonly AgentDocument[]): ((a: AgentDocument, b: AgentDocument) => number) => {
  const led = new Set(all.flatMap(({ workers }) => workers))
  return (a, b) => Number(led.has(a.name)) - Number(led.has(b.name)) || a.name.localeCompare(b.name)
}
