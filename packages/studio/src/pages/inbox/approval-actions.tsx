/**
 * Deciding one approval: approve, edit, reject, ask for changes.
 *
 * Holds: what is decided is what was shown: every decision carries the hash of the arguments on the screen. High and
 * critical risk needs a second press, on a button that names the tool.
 */
import { useState } from 'react'
import type { DecisionBody, QuestionView } from '@reeve/server/wire'
import type { Json } from '../../data/json.ts'
import { useMe } from '../../data/me.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ValueDiff } from '../../ui/diff.tsx'
import { Checkbox, Field, Select, TextArea } from '../../ui/field.tsx'
import { sortedJson } from '../../ui/json-text.ts'
import { JsonEditor, SchemaForm } from '../../ui/schema-form.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { mayDecide, type Decision } from './decisions.ts'
import { ExactBytes } from './exact-bytes.tsx'

type Asking = 'confirm' | 'edit' | 'reject' | 'retry'

const doneLabels = {
  approve: 'Approved',
  edit: 'Approved with your edit',
  reject: 'Rejected',
  retry: 'Changes asked for',
} as const
const grants = {
  once: 'This call only',
  session: 'This tool, in this session',
  same: 'This tool with these arguments, in this session',
} as const

export function ApprovalActions(props: {
  readonly question: QuestionView
  /** Single keys decide. Not where several questions are shown at once. Default true. */
  readonly keys?: boolean
  readonly onDone: () => void
}) {
  const { question, keys = true, onDone } = props
  const approval = question.approval!
  const toast = useToast()
  const [asking, setAsking] = useState<Asking>()
  const [grant, setGrant] = useState<keyof typeof grants>('once')
  const { run, busy, error, reset } = useMutation(
    (body: DecisionBody) =>
      server.questions.decide({ ...body, approvalId: question.id, inputHash: approval.inputHash }),
    {
      done(_answer, { decision }) {
        setAsking(undefined)
        toast.done(
          <>
            {doneLabels[decision]}: <VisibleText>{approval.tool}</VisibleText>
          </>,
        )
        onDone()
        changed(['questions', `run:${question.run}`])
      },
      failed: () => changed(['questions', `run:${question.run}`]),
    },
  )
  const me = useMe()
  const may = (decision: Decision): boolean => mayDecide(question, decision, me?.name)
  const grave = approval.risk === 'high' || approval.risk === 'critical'
  const approve = (): void =>
    run({
      decision: 'approve',
      ...(grant === 'once'
        ? undefined
        : { grant: grant === 'session' ? 'session' : { for: 'session', input: approval.input } }),
    })
  const ask = (what: Asking): void => {
    reset()
    setAsking(what)
  }
  const pressApprove = (): void => (grave ? ask('confirm') : approve())
  const decisionKeys = {
    a: () => may('approve') && pressApprove(),
    e: () => may('edit') && ask('edit'),
    r: () => may('reject') && ask('reject'),
    s: () => may('retry') && ask('retry'),
  }
  useHotkeys(keys ? decisionKeys : {})
  const close = (): void => setAsking(undefined)
  return (
    <>
      <div className="actions" role="group" aria-label="Decision">
        {asking === undefined && error !== undefined && (
          <div style={{ flexBasis: '100%' }}>
            <Failure error={error} />
          </div>
        )}
        <Button
          tone="accent"
          icon="check"
          {...(keys ? { hotkey: 'a' } : {})}
          busy={busy}
          disabled={!may('approve')}
          onClick={pressApprove}
        >
          Approve
        </Button>
        <Button
          icon="edit"
          {...(keys ? { hotkey: 'e' } : {})}
          disabled={!may('edit') || busy}
          onClick={() => ask('edit')}
        >
          Edit
        </Button>
        <Button
          icon="back"
          {...(keys ? { hotkey: 's' } : {})}
          disabled={!may('retry') || busy}
          onClick={() => ask('retry')}
        >
          Ask for changes
        </Button>
        <Button
          tone="danger"
          icon="cross"
          {...(keys ? { hotkey: 'r' } : {})}
          disabled={!may('reject') || busy}
          onClick={() => ask('reject')}
        >
          Reject
        </Button>
        {approval.grantable && may('approve') && (
          <span className="covers">
            <Select
              aria-label="What the approval covers"
              value={grant}
              onChange={({ target }) => setGrant(target.value as keyof typeof grants)}
            >
              {Object.entries(grants).map(([value, word]) => (
                <option key={value} value={value}>
                  {word}
                </option>
              ))}
            </Select>
          </span>
        )}
      </div>
      {asking === 'confirm' && (
        <Dialog
          title={`Approve: ${approval.risk} risk`}
          onClose={close}
          footer={
            <>
              <Button onClick={close}>Back</Button>
              <Button tone="danger-solid" busy={busy} data-autofocus onClick={approve}>
                <span>
                  Run <VisibleText>{approval.tool}</VisibleText>
                </span>
              </Button>
            </>
          }
        >
          <div className="stack">
            <p>This will run, with exactly these arguments:</p>
            <ExactBytes value={approval.input} hash={approval.inputHash} />
            <Failure error={error} />
          </div>
        </Dialog>
      )}
      {asking === 'edit' && (
        <EditDialog
          question={question}
          busy={busy}
          error={error}
          onClose={close}
          onRun={(input, comment) => run({ decision: 'edit', input, ...(comment === '' ? undefined : { comment }) })}
        />
      )}
      {(asking === 'reject' || asking === 'retry') && (
        <ReasonDialog
          key={asking}
          title={asking === 'reject' ? 'Reject' : 'Ask for changes'}
          label={asking === 'reject' ? 'Reason, which the agent is told' : 'What the agent should do differently'}
          button={asking === 'reject' ? 'Reject' : 'Ask for changes'}
          required={asking === 'retry'}
          danger={asking === 'reject'}
          busy={busy}
          error={error}
          onClose={close}
          onRun={(comment) => run({ decision: asking, ...(comment === '' ? undefined : { comment }) })}
        />
      )}
    </>
  )
}

export function Failure({ error }: { readonly error: unknown }) {
  return error === undefined ? null : (
    <Notice tone="bad">
      <ErrorText error={error} />
    </Notice>
  )
}

function ErrorText({ error }: { readonly error: unknown }) {
  const { message, hint } = sentences(error)
  return (
    <>
      <VisibleText>{message}</VisibleText>
      {hint !== undefined && (
        <span className="muted">
          {' '}
          <VisibleText>{hint}</VisibleText>
        </span>
      )}
    </>
  )
}

export function ReasonDialog(props: {
  readonly title: string
  readonly label: string
  readonly button: string
  readonly required: boolean
  readonly danger: boolean
  readonly busy: boolean
  readonly error: unknown
  readonly onClose: () => void
  readonly onRun: (comment: string) => void
}) {
  const { title, label, button, required, danger, busy, error, onClose, onRun } = props
  const [comment, setComment] = useState('')
  const ready = !required || comment.trim() !== ''
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone={danger ? 'danger-solid' : 'accent'}
            busy={busy}
            disabled={!ready}
            onClick={() => onRun(comment.trim())}
          >
            {button}
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field label={label} {...(required ? { required } : { hint: 'Optional. Ctrl Enter sends it.' })}>
          {(control) => (
            <TextArea
              {...control}
              data-autofocus
              rows={4}
              value={comment}
              onChange={({ target }) => setComment(target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && ready) onRun(comment.trim())
              }}
            />
          )}
        </Field>
        <Failure error={error} />
      </div>
    </Dialog>
  )
}

function EditDialog(props: {
  readonly question: QuestionView
  readonly busy: boolean
  readonly error: unknown
  readonly onClose: () => void
  readonly onRun: (input: Json, comment: string) => void
}) {
  const { question, busy, error, onClose, onRun } = props
  const approval = question.approval!
  const schema = question.inputSchema
  const [input, setInput] = useState<Json>(approval.input)
  const [comment, setComment] = useState('')
  const [asJson, setAsJson] = useState(schema === undefined)
  const isSame = sortedJson(input) === sortedJson(approval.input)
  return (
    <Dialog
      wide
      title={
        <>
          Edit the arguments of <VisibleText>{approval.tool}</VisibleText>
        </>
      }
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="accent" busy={busy} disabled={isSame} onClick={() => onRun(input, comment.trim())}>
            <span>
              Run <VisibleText>{approval.tool}</VisibleText> with these arguments
            </span>
          </Button>
        </>
      }
    >
      <div className="stack">
        {schema !== undefined && (
          <Checkbox checked={asJson} onChange={({ target }) => setAsJson(target.checked)}>
            Edit as JSON
          </Checkbox>
        )}
        {asJson || schema === undefined ? (
          <JsonEditor label="Arguments" value={input} onChange={setInput} />
        ) : (
          <SchemaForm schema={schema} value={input} onChange={setInput} />
        )}
        <Field label="Comment" hint="Optional. It is recorded with the decision.">
          {(control) => (
            <TextArea {...control} rows={2} value={comment} onChange={({ target }) => setComment(target.value)} />
          )}
        </Field>
        <h3>What you change</h3>
        <ValueDiff before={approval.input} after={input} label="What was asked for and what would run" />
        <h3>What will run</h3>
        <ExactBytes value={input} />
        <Failure error={error} />
      </div>
    </Dialog>
  )
}
