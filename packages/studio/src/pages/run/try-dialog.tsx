/**
 * Trying a model call again with a change: another prompt, model, version or message of its agent. A trial begins before
 * that call, and no effect of it leaves unasked.
 */
import { useState } from 'react'
import type { ConversationPage } from '@reeve/server/wire'
import { useQuery } from '../../data/queries.ts'
import { navigate, runPath } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, TextArea } from '../../ui/field.tsx'
import { ErrorState, Loading } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { parsedJson } from '../../data/json-input.ts'
import type { Json } from '../../data/json.ts'
import {
  changeOf,
  instructionsOf,
  noChange,
  TrialFields,
  useTrialOptions,
  type TrialDraft,
} from '../agents/trial-fields.tsx'
import { errorText } from './control-bar.tsx'
import { ReasonField } from './reason-field.tsx'
import { useRun } from './run-context.tsx'

const asTyped = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

interface TryProps {
  readonly activation: string
  /** The position of the model call, or of its end. */
  readonly call: number
  readonly onClose: () => void
}

export function TryDialog(props: TryProps) {
  const { activation } = props
  const { api } = useRun()
  const { data, error, reload } = useQuery(`try:${activation}`, [], (signal) =>
    api.conversation({ activation, limit: 1, signal }),
  )
  if (data !== undefined) return <TryForm {...props} asked={data} />
  return (
    <Dialog title={title} onClose={props.onClose}>
      {error === undefined ? (
        <Loading what="what the model was shown" />
      ) : (
        <ErrorState error={error} onRetry={reload} />
      )}
    </Dialog>
  )
}

const title = 'Try this model call again with a change'

function TryForm({ call, onClose, asked }: TryProps & { readonly asked: ConversationPage }) {
  const { api } = useRun()
  const toast = useToast()
  const { instructions = '', input, agent } = asked
  const [draft, setDraft] = useState<TrialDraft>({ ...noChange, instructions })
  const [message, setMessage] = useState(() => asTyped(input))
  const [reason, setReason] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const { versions } = useTrialOptions(agent)
  const change = changeOf(draft, instructionsOf(draft.version, versions, instructions))
  const isOther = message !== asTyped(input)
  const parsed = parsedJson(message)
  const send = async (): Promise<void> => {
    // a text stays the text that it is, unless the agent is asked by a value
    const isText = typeof input === 'string'
    if (isOther && !isText && 'problem' in parsed) return setProblem(parsed.problem)
    setBusy(true)
    setProblem(undefined)
    const other = isText ? message : 'value' in parsed ? parsed.value : message
    const edit = { type: 'trial', call, ...change, ...(isOther ? { input: other } : {}) } as const
    try {
      const { id } = await api.fork({ edit, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) })
      toast.done('The trial has begun. This is it, beside its origin.')
      onClose()
      navigate(`${runPath(id, 'journal')}?with=${encodeURIComponent(api.id)}`)
    } catch (thrown) {
      setProblem(errorText(thrown))
      setBusy(false)
    }
  }
  return (
    <Dialog
      wide
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
          <Button
            tone="accent"
            icon="fork"
            busy={busy}
            disabled={Object.keys(change).length === 0 && !isOther}
            onClick={() => void send()}
          >
            Try it
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          A trial begins before this call of <VisibleText>{agent}</VisibleText>. What was done before is kept, and this
          run is not touched. Nothing that the trial does outside happens before you say so; nobody is notified.
        </p>
        <TrialFields agent={agent} own={instructions} draft={draft} onChange={setDraft} rows={8} />
        <Field label="What the agent was asked">
          {(field) => (
            <TextArea {...field} rows={3} value={message} onChange={({ target }) => setMessage(target.value)} />
          )}
        </Field>
        <ReasonField reason={reason} onChange={setReason} problem={problem} />
      </div>
    </Dialog>
  )
}
