/** Take over: where the run stands, for a person who has it; completing steps, changing the plan, finishing, handing back. */
import { useState, type ReactNode } from 'react'
import type { TakeoverContext } from '@reeve/server/wire'
import type { Json } from '../../data/json.ts'
import { orRecorded } from '../../data/server.ts'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, TextArea } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { ErrorState, Loading, Notice } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { errorText } from './control-bar.tsx'
import { hasEnded } from './controls.ts'
import { parsedJson } from '../../data/json-input.ts'
import { ValueView } from '../../ui/value-view.tsx'
import { PlanEditor } from './plan-editor.tsx'
import { changesOf, draftOf, editOf, type PlanAsIs, type PlanDraft } from './plan-draft.ts'
import { usePolled } from '../../data/polled.ts'
import { useRun } from './run-context.tsx'
import { ReasonField } from './reason-field.tsx'

type TakeoverStep = TakeoverContext['completed'][number]

export function TakeOver() {
  const { api, live } = useRun()
  const { data, error, reload } = usePolled(() => api.control.context(), live.head.position, api.id)
  if (data === undefined)
    return error === undefined ? <Loading what="where the run stands" /> : <ErrorState error={error} onRetry={reload} />
  return <Context context={data} />
}

/** The plan as the editor takes it, with the gates that the tasks have. */
function planOf({ plan, teams }: TakeoverContext): PlanAsIs | undefined {
  if (plan === undefined) return undefined
  const tasks = new Map(
    teams.find(({ activation }) => activation === plan.team)?.plan.tasks.map((task) => [task.task, task]),
  )
  return {
    ...plan,
    subtasks: plan.subtasks.map((step) => {
      const { action, risk, optional, requiresApproval, review, mode } = tasks.get(step.id) ?? { task: step.id }
      return {
        ...step,
        gates: {
          ...(action === undefined ? {} : { action }),
          ...(risk === undefined ? {} : { risk }),
          ...(optional === true ? { required: false as const } : {}),
          ...(requiresApproval === true ? { requiresApproval } : {}),
          ...(review === true ? { review } : {}),
          ...(mode === undefined ? {} : { mode }),
        },
      }
    }),
  }
}

function Context({ context }: { readonly context: TakeoverContext }) {
  const { live, mayOperate } = useRun()
  const { head } = live
  const has = head.takeover !== undefined
  const [completing, setCompleting] = useState<TakeoverStep>()
  const [handing, setHanding] = useState<'back' | 'finish'>()
  const [draft, setDraft] = useState<PlanDraft>()
  const asIs = planOf(context)
  const ended = hasEnded(head.status)
  // a step that is no task is called by its activation
  const nameOf = (step: string): string =>
    Object.hasOwn(live.activations, step) ? live.activations[step]!.agent : step
  return (
    <div className="stack run-scroll" role="region" aria-label="Take over" tabIndex={0}>
      <div className="run-takeover">
        <div className="grow">
          {has ? (
            <p>
              <b>
                <VisibleText>{head.takeover.by ?? 'An operator'}</VisibleText>
              </b>{' '}
              has had this run for <Time at={head.takeover.since} form="since" />. Nothing new begins until it is handed
              back.
              {head.takeover.reason !== undefined && (
                <span className="muted">
                  {' '}
                  <VisibleText>{head.takeover.reason}</VisibleText>
                </span>
              )}
            </p>
          ) : (
            <p>
              {ended
                ? `The run has ended, so there is nothing to take over. This is where it stood. To go on from it, ${head.status === 'completed' ? 'fork it' : 'retry or fork it'}.`
                : mayOperate
                  ? 'The agents have this run. Take it over to complete steps by hand, change the plan, or finish it yourself.'
                  : 'The agents have this run. An operator may take it over.'}
            </p>
          )}
          <p className="muted">
            {ended
              ? `${context.completed.length} of ${context.totalSteps} steps were done.`
              : `Step ${context.currentStep} of ${context.totalSteps}.`}{' '}
            {!ended && suggested(context.suggestedNextAction, has, nameOf)}
            {context.unreadMail > 0 && ` ${context.unreadMail} unread messages.`}
          </p>
        </div>
        {has && mayOperate && (
          <div className="row wrap">
            <Button onClick={() => setHanding('finish')}>Finish by hand</Button>
            <Button tone="accent" icon="send" onClick={() => setHanding('back')}>
              Hand back
            </Button>
          </div>
        )}
      </div>
      {context.failureReason !== undefined && !ended && (
        <Notice tone="bad">
          <VisibleText>{context.failureReason}</VisibleText>
        </Notice>
      )}
      <div className="run-columns">
        <Steps
          title="In flight"
          steps={context.inFlight}
          empty={ended ? 'Nothing was under way.' : 'Nothing is under way.'}
        >
          {(step) => mayOperate && !ended && <CompleteButton step={step} onPress={setCompleting} />}
        </Steps>
        <Steps
          title="Still to do"
          steps={context.pending}
          empty={ended ? 'Nothing was left to do.' : 'Nothing is left to do.'}
        >
          {(step) => mayOperate && !ended && <CompleteButton step={step} onPress={setCompleting} />}
        </Steps>
      </div>
      <div className="run-columns">
        <Steps
          title="Done"
          steps={context.completed}
          empty={ended ? 'Nothing was done.' : 'Nothing is done yet.'}
          results={context.results}
        />
        <Steps title="Failed or left out" steps={[...context.failed, ...context.skipped]} empty="Nothing has failed." />
      </div>
      {asIs !== undefined && (
        <PlanEditor
          plan={asIs}
          draft={draft ?? draftOf(asIs)}
          canEdit={has && mayOperate}
          onChange={setDraft}
          onDiscard={draft === undefined ? undefined : () => setDraft(undefined)}
        />
      )}
      {completing && <CompleteDialog step={completing} onClose={() => setCompleting(undefined)} />}
      {handing === 'finish' && <FinishDialog onClose={() => setHanding(undefined)} />}
      {handing === 'back' && (
        <HandBackDialog
          plan={asIs}
          team={context.plan?.team}
          draft={draft}
          onClose={() => setHanding(undefined)}
          onDone={() => setDraft(undefined)}
        />
      )}
    </div>
  )
}

/** What is next: for a person who has the run, or of the agents. */
function suggested(
  next: TakeoverContext['suggestedNextAction'],
  has: boolean,
  nameOf: (step: string) => string,
): ReactNode {
  switch (next.type) {
    case 'task':
      return (
        <>
          Next: do <VisibleText>{next.task}</VisibleText>.
        </>
      )
    case 'approval':
      return (
        <>
          Next: decide whether <VisibleText>{next.tool}</VisibleText> may run.
        </>
      )
    case 'wait':
      return (
        <>
          {has ? 'Next: wait for' : 'Under way:'} <VisibleText>{next.for.map(nameOf).join(', ')}</VisibleText>
          {has && ', or complete it by hand'}.
        </>
      )
    case 'synthesise':
      return has
        ? 'All steps have ended: hand the run back for the answer, or finish it with yours.'
        : 'All steps have ended: the answer is made of them.'
  }
}

function CompleteButton({
  step,
  onPress,
}: {
  readonly step: TakeoverStep
  readonly onPress: (step: TakeoverStep) => void
}) {
  return (
    <Button small onClick={() => onPress(step)}>
      Complete by hand
    </Button>
  )
}

/** A run may have thousands: these are drawn at first. */
const shownSteps = 30

function Steps(props: {
  readonly title: string
  readonly steps: readonly TakeoverStep[]
  readonly empty: string
  readonly results?: Readonly<Record<string, Json>>
  readonly children?: (step: TakeoverStep) => ReactNode
}) {
  const { title, steps, empty, results, children } = props
  const { live } = useRun()
  const [shown, setShown] = useState(shownSteps)
  return (
    <Panel title={`${title} (${steps.length})`} flush>
      {steps.length === 0 ? (
        <p className="run-none muted">{empty}</p>
      ) : (
        <ul className="run-list">
          {steps.slice(0, shown).map((step) => (
            <li key={step.id}>
              <div className="grow">
                <div className="row wrap">
                  <b>
                    <VisibleText>{Object.hasOwn(live.activations, step.id) ? step.worker : step.id}</VisibleText>
                  </b>
                  {!Object.hasOwn(live.activations, step.id) && (
                    <span className="muted">
                      <VisibleText>{step.worker}</VisibleText>
                    </span>
                  )}
                  <StatusBadge status={step.status} />
                  {step.by !== undefined && (
                    <span className="run-mark">
                      by <VisibleText>{step.by}</VisibleText>
                    </span>
                  )}
                </div>
                <ValueView value={step.description} />
                {(step.failure ?? step.reason) !== undefined && (
                  <p className="run-problem">
                    <VisibleText>{step.failure?.message ?? step.reason ?? ''}</VisibleText>
                  </p>
                )}
                {step.waitsFor !== undefined && step.waitsFor.length > 0 && (
                  <p className="muted">
                    Waits for <VisibleText>{step.waitsFor.join(', ')}</VisibleText>
                  </p>
                )}
                {step.partial !== undefined && (
                  <details>
                    <summary>Its latest text</summary>
                    <ValueView value={step.partial} />
                  </details>
                )}
                {results !== undefined && Object.hasOwn(results, step.id) && (
                  <details>
                    <summary>Result</summary>
                    <ValueView value={results[step.id]!} />
                  </details>
                )}
              </div>
              {children?.(step)}
            </li>
          ))}
          {steps.length > shown && (
            <li>
              <Button small onClick={() => setShown(shown + 200)}>
                Show more ({steps.length - shown} left)
              </Button>
            </li>
          )}
        </ul>
      )}
    </Panel>
  )
}

function OutputForm(props: {
  readonly title: ReactNode
  readonly explanation: string
  readonly label: string
  readonly onClose: () => void
  readonly send: (output: Json, reason: string | undefined) => Promise<unknown>
  readonly done: string
}) {
  const { title, explanation, label, onClose, send, done } = props
  const toast = useToast()
  const [value, setValue] = useState('')
  const [reason, setReason] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const press = async (): Promise<void> => {
    const parsed = parsedJson(value)
    if ('problem' in parsed) {
      setProblem(parsed.problem)
      return
    }
    setBusy(true)
    setProblem(undefined)
    try {
      await send(parsed.value, reason.trim() === '' ? undefined : reason.trim())
      toast.done(done)
      onClose()
    } catch (error) {
      setProblem(errorText(error))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
          <Button tone="accent" busy={busy} disabled={value.trim() === ''} onClick={() => void press()}>
            {label}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>{explanation}</p>
        <Field label="Result" hint="JSON, or a text. The server checks it against the output of the agent." required>
          {(field) => (
            <TextArea
              {...field}
              data-autofocus
              code
              rows={6}
              value={value}
              onChange={({ target }) => setValue(target.value)}
            />
          )}
        </Field>
        <ReasonField reason={reason} onChange={setReason} problem={problem} />
      </div>
    </Dialog>
  )
}

const because = (reason: string | undefined): { readonly reason?: string } => (reason === undefined ? {} : { reason })

function CompleteDialog({ step, onClose }: { readonly step: TakeoverStep; readonly onClose: () => void }) {
  const { api, live } = useRun()
  const isTask = Object.values(live.teams).some(({ plan }) => plan.tasks.some(({ task }) => task === step.id))
  return (
    <OutputForm
      title={
        <>
          Complete <VisibleText>{step.id}</VisibleText> by hand
        </>
      }
      explanation="Its leader goes on with your result, as if the worker had given it. Nothing that was done for it is undone."
      label="Complete the step"
      done="The step is completed."
      onClose={onClose}
      send={(output, reason) =>
        api.control.complete({
          ...(isTask ? { task: step.id } : { delegation: step.activation ?? step.id }),
          output,
          ...because(reason),
        })
      }
    />
  )
}

function FinishDialog({ onClose }: { readonly onClose: () => void }) {
  const { api } = useRun()
  return (
    <OutputForm
      title="Finish the run by hand"
      explanation="The run ends with your result. What is open is stopped; nothing is undone. This cannot be taken back."
      label="Finish the run"
      done="The run is finished."
      onClose={onClose}
      send={(output, reason) => api.control.finish({ output, ...because(reason) })}
    />
  )
}

function HandBackDialog(props: {
  readonly plan: PlanAsIs | undefined
  readonly team: string | undefined
  readonly draft: PlanDraft | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { plan, team, draft, onClose, onDone } = props
  const { api, go } = useRun()
  const toast = useToast()
  const [reason, setReason] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const edit = plan === undefined || draft === undefined ? undefined : editOf(plan, draft)
  const changes = plan === undefined || draft === undefined ? [] : changesOf(plan, draft)
  const press = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await orRecorded((signal) =>
        api.control.handBack({
          ...(edit === undefined ? {} : { plan: edit, ...(team === undefined ? {} : { team }) }),
          ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
          signal,
        }),
      )
      toast.done('The run is handed back. The agents go on.')
      onDone()
      onClose()
      go('overview')
    } catch (error) {
      setProblem(errorText(error))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title="Hand the run back"
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Keep it
          </Button>
          <Button tone="accent" icon="send" busy={busy} onClick={() => void press()}>
            {edit === undefined ? 'Hand back' : 'Hand back with this plan'}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>The agents go on with everything that is done, also by hand.</p>
        {changes.length > 0 && (
          <section>
            <h3>The plan changes</h3>
            <ul className="run-changes">
              {changes.map((change) => (
                <li key={change}>
                  <VisibleText>{change}</VisibleText>
                </li>
              ))}
            </ul>
            <p className="muted">All of it is done, or nothing: the server checks the plan as a whole.</p>
          </section>
        )}
        <ReasonField reason={reason} onChange={setReason} problem={problem} />
      </div>
    </Dialog>
  )
}
