/** A new version of an agent: what it says differently from the code; kept as a draft, or published at once. */
import { useState } from 'react'
import type { AgentDocument, KeptRevision, Revision } from '@reeve/server/wire'
import { jsonAsTyped } from '../../data/json-input.ts'
import { server } from '../../data/server.ts'
import { isObject } from '../../data/json.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field, TextArea, TextInput } from '../../ui/field.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { nextVersion } from './version-use.ts'

/** An object as it was typed; undefined for an empty text. */
function objectIn(typed: string): { readonly value?: object; readonly problem?: string } {
  if (typed.trim() === '') return {}
  const read = jsonAsTyped(typed)
  if ('problem' in read) return read
  return isObject(read.value) ? { value: read.value } : { problem: 'Expected a JSON object.' }
}

export function NewVersionDialog(props: {
  readonly agent: AgentDocument
  readonly kept: readonly KeptRevision[]
  readonly onClose: () => void
}) {
  const { agent, kept, onClose } = props
  const last = kept.at(-1)?.revision
  const toast = useToast()
  const [version, setVersion] = useState(() => nextVersion(kept))
  const [instructions, setInstructions] = useState(last?.instructions ?? '')
  const [model, setModel] = useState(last?.model ?? '')
  const [tools, setTools] = useState<readonly string[] | undefined>(last?.tools)
  const [settings, setSettings] = useState(asText(last?.settings))
  const [limits, setLimits] = useState(asText(last?.limits))
  const parsed = { settings: objectIn(settings), limits: objectIn(limits) }
  const names = agent.tools.map(({ name }) => name)
  const revision = {
    version: version.trim(),
    ...(instructions.trim() === '' ? {} : { instructions }),
    ...(model.trim() === '' ? {} : { model: model.trim() }),
    ...(tools === undefined ? {} : { tools }),
    ...(parsed.settings.value === undefined ? {} : { settings: parsed.settings.value }),
    ...(parsed.limits.value === undefined ? {} : { limits: parsed.limits.value }),
    ...(last?.base === undefined ? {} : { base: last.base }),
  } as Revision
  const { run, busy, error } = useMutation(
    (status: 'draft' | 'published') =>
      status === 'draft' ? server.versions.draft(agent.name, revision) : server.versions.publish(agent.name, revision),
    {
      done(_answer, status) {
        toast.done(`${revision.version} of ${agent.name} is ${status === 'draft' ? 'kept as a draft' : 'published'}`)
        changed(['versions'])
        onClose()
      },
    },
  )
  const isWrong =
    revision.version === '' || parsed.settings.problem !== undefined || parsed.limits.problem !== undefined
  return (
    <Dialog
      wide
      title={`New version of ${agent.name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button busy={busy} disabled={isWrong} onClick={() => run('draft')}>
            Keep as a draft
          </Button>
          <Button tone="accent" busy={busy} disabled={isWrong} onClick={() => run('published')}>
            Publish
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="muted">
          {last === undefined
            ? 'What is left empty stays as the code says.'
            : `It begins as ${last.version}. What is left empty stays as the code says.`}
        </p>
        <div className="version-choices">
          <Field label="Name" required>
            {(field) => <TextInput {...field} value={version} onChange={({ target }) => setVersion(target.value)} />}
          </Field>
          <Field label="Model" hint="Its id: anthropic/…, openai/….">
            {(field) => <TextInput {...field} value={model} onChange={({ target }) => setModel(target.value)} />}
          </Field>
        </div>
        <Field label="Instructions">
          {(field) => (
            <TextArea
              {...field}
              rows={8}
              value={instructions}
              onChange={({ target }) => setInstructions(target.value)}
            />
          )}
        </Field>
        {names.length > 0 && (
          <fieldset className="field">
            <legend>Tools</legend>
            <Checkbox
              checked={tools === undefined}
              onChange={({ target }) => setTools(target.checked ? undefined : names)}
            >
              All that the code has
            </Checkbox>
            {tools !== undefined &&
              names.map((name) => (
                <Checkbox
                  key={name}
                  checked={tools.includes(name)}
                  onChange={({ target }) =>
                    setTools(target.checked ? [...tools, name] : tools.filter((each) => each !== name))
                  }
                >
                  <VisibleText>{name}</VisibleText>
                </Checkbox>
              ))}
          </fieldset>
        )}
        <div className="version-choices">
          <Field label="Settings of the model" type="JSON" problem={parsed.settings.problem}>
            {(field) => (
              <TextArea
                {...field}
                code
                rows={3}
                value={settings}
                onChange={({ target }) => setSettings(target.value)}
              />
            )}
          </Field>
          <Field label="Limits" type="JSON" hint='As {"turns": 20, "usd": 2}.' problem={parsed.limits.problem}>
            {(field) => (
              <TextArea {...field} code rows={3} value={limits} onChange={({ target }) => setLimits(target.value)} />
            )}
          </Field>
        </div>
        {error !== undefined && (
          <Notice tone="bad">
            {sentences(error).message} <span className="muted">{sentences(error).hint}</span>
          </Notice>
        )}
      </div>
    </Dialog>
  )
}

const asText = (value: object | undefined): string => (value === undefined ? '' : JSON.stringify(value, null, 2))
