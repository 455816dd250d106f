/** An effect that a trial holds back: a person lets it out, or says what came of it instead. */
import { useState } from 'react'
import type { SettleBody } from '@reeve/server/wire'
import { parsedJson } from '../../data/json-input.ts'
import { Button } from '../../ui/button.tsx'
import { Field, TextArea } from '../../ui/field.tsx'

export function HeldEffectForm(props: { readonly busy: boolean; readonly onSettle: (settlement: SettleBody) => void }) {
  const { busy, onSettle } = props
  const [typed, setTyped] = useState('')
  const parsed = parsedJson(typed)
  const problem = 'problem' in parsed ? parsed.problem : undefined
  return (
    <>
      <p>This run is a trial: nothing has been made. The agent waits for what comes of it.</p>
      <Field label="Result to give the agent instead" hint="A text, or JSON." problem={problem}>
        {(control) => (
          <TextArea {...control} rows={2} value={typed} onChange={({ target }) => setTyped(target.value)} />
        )}
      </Field>
      <div className="row wrap">
        <Button
          tone="accent"
          icon="check"
          busy={busy}
          disabled={problem !== undefined || typed.trim() === ''}
          onClick={() => 'value' in parsed && onSettle({ happened: true, value: parsed.value })}
        >
          Give this result
        </Button>
        <Button tone="danger" icon="send" busy={busy} onClick={() => onSettle({ happened: false })}>
          Really do it
        </Button>
      </div>
    </>
  )
}
