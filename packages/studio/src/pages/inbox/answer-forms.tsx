/** Answering a question of an agent, and saying what became of something that is in doubt or has diverged. */
import { useState } from 'react'
import type { QuestionView, SettleBody } from '@reeve/server/wire'
import { isObject, member, type Json } from '../../data/json.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Field, Select, TextArea } from '../../ui/field.tsx'
import { JsonEditor, SchemaForm } from '../../ui/schema-form.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { HeldEffectForm } from './held-effect.tsx'

interface FormProps {
  readonly question: QuestionView
  readonly onDone: () => void
}

export function InterruptForm({ question, onDone }: FormProps) {
  const schema = question.interrupt?.schema
  const [asJson, setAsJson] = useState(false)
  const isText = schema === undefined || (member(schema, 'type') === 'string' && member(schema, 'enum') === undefined)
  const [value, setValue] = useState<Json>(() =>
    isText ? '' : isObject(schema) && member(schema, 'type') === 'object' ? {} : null,
  )
  const toast = useToast()
  const { run, busy, error } = useMutation(
    (given: Json) => server.questions.answer({ interruptId: question.id, value: given }),
    {
      done() {
        toast.done('Answered')
        onDone()
        changed(['questions', `run:${question.run}`])
      },
      failed: () => changed(['questions']),
    },
  )
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        run(value)
      }}
    >
      {isText && (
        <Checkbox checked={asJson} onChange={({ target }) => setAsJson(target.checked)}>
          The answer is JSON
        </Checkbox>
      )}
      {isText && asJson ? (
        <JsonEditor label="Answer" value={value} onChange={setValue} rows={4} />
      ) : isText ? (
        <Field label="Answer">
          {(control) => (
            <TextArea
              {...control}
              rows={4}
              value={typeof value === 'string' ? value : ''}
              onChange={({ target }) => setValue(target.value)}
            />
          )}
        </Field>
      ) : (
        <SchemaForm
          schema={schema}
          value={value}
          onChange={setValue}
          {...(error === undefined ? undefined : { problem: sentences(error).message })}
        />
      )}
      {isText && error !== undefined && <Notice tone="bad">{sentences(error).message}</Notice>}
      <div>
        <Button type="submit" tone="accent" icon="send" busy={busy} disabled={isText && value === ''}>
          Answer
        </Button>
      </div>
    </form>
  )
}

export function DoubtForm({ question, onDone }: FormProps) {
  const { id, run: of, kind, doubt } = question
  const [value, setValue] = useState<Json>(null)
  const [to, setTo] = useState(doubt?.unclaimed[0] ?? '')
  const toast = useToast()
  const { run, busy, error } = useMutation((body: SettleBody) => server.questions.settle(id, body), {
    done() {
      toast.done('Settled: the run goes on')
      onDone()
      changed(['questions', `run:${of}`])
    },
    failed: () => changed(['questions']),
  })
  return (
    <div className="stack">
      {doubt?.trial === true ? (
        <HeldEffectForm busy={busy} onSettle={run} />
      ) : kind === 'in-doubt' ? (
        <>
          <JsonEditor label="Its result, if it has happened" value={value} onChange={setValue} rows={3} />
          <div className="row wrap">
            <Button icon="check" busy={busy} onClick={() => run({ happened: true, value })}>
              It has happened
            </Button>
            <Button icon="cross" busy={busy} onClick={() => run({ happened: false })}>
              It has not happened
            </Button>
          </div>
          <p className="muted">If it has not happened, the run does it now.</p>
        </>
      ) : (
        <>
          {(doubt?.unclaimed.length ?? 0) > 0 && (
            <Field label="Recorded step that this is" hint="Recorded steps that nothing in the code has asked for yet.">
              {(control) => (
                <Select {...control} value={to} onChange={({ target }) => setTo(target.value)}>
                  {doubt!.unclaimed.map((address) => (
                    <option key={address}>{address}</option>
                  ))}
                </Select>
              )}
            </Field>
          )}
          <div className="row wrap">
            {(doubt?.unclaimed.length ?? 0) > 0 && (
              <Button icon="link" busy={busy} onClick={() => run({ action: 'map', to })}>
                It is that step
              </Button>
            )}
            <Button icon="play" busy={busy} onClick={() => run({ action: 'execute' })}>
              Execute it
            </Button>
            <Button icon="cross" tone="danger" busy={busy} onClick={() => run({ action: 'drop' })}>
              Drop it
            </Button>
          </div>
        </>
      )}
      {error !== undefined && (
        <Notice tone="bad">
          <VisibleText>{sentences(error).message}</VisibleText>
        </Notice>
      )}
    </div>
  )
}
