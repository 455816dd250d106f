/** The plan of a team in an editor: tasks are added, changed, given to other roles, made to wait for others, removed. */
import { Button, IconButton } from '../../ui/button.tsx'
import { Checkbox, Field, Select, TextArea, TextInput } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import {
  changesOf,
  moved,
  possibleDependencies,
  withChange,
  withoutTask,
  withTask,
  type DraftTask,
  type PlanAsIs,
  type PlanDraft,
} from './plan-draft.ts'

export function PlanEditor(props: {
  readonly plan: PlanAsIs
  readonly draft: PlanDraft
  readonly canEdit: boolean
  readonly onChange: (draft: PlanDraft) => void
  readonly onDiscard: (() => void) | undefined
}) {
  const { plan, draft, canEdit, onChange, onDiscard } = props
  const roles = [...new Set(plan.subtasks.map(({ role }) => role))]
  const changes = changesOf(plan, draft)
  const number = (typed: string, before: number): number => {
    const value = Number(typed)
    return Number.isInteger(value) && value >= 1 ? value : before
  }
  return (
    <Panel
      title="Plan"
      actions={
        canEdit ? (
          <>
            {changes.length > 0 && onDiscard !== undefined && (
              <Button small tone="quiet" onClick={onDiscard}>
                Discard {changes.length === 1 ? 'the change' : `${changes.length} changes`}
              </Button>
            )}
            <Button small icon="plus" onClick={() => onChange(withTask(draft, roles[0] ?? ''))}>
              Add a task
            </Button>
          </>
        ) : (
          <span className="muted">Take the run over to change it</span>
        )
      }
    >
      <div className="stack">
        <div className="row wrap">
          <Field label="At once">
            {(field) => (
              <TextInput
                {...field}
                type="number"
                min={1}
                disabled={!canEdit}
                value={draft.concurrency}
                onChange={({ target }) => onChange({ ...draft, concurrency: number(target.value, draft.concurrency) })}
              />
            )}
          </Field>
          <Field label="Give up at failures">
            {(field) => (
              <TextInput
                {...field}
                type="number"
                min={1}
                disabled={!canEdit}
                value={draft.maxFailures}
                onChange={({ target }) => onChange({ ...draft, maxFailures: number(target.value, draft.maxFailures) })}
              />
            )}
          </Field>
        </div>
        <ol className="run-plan">
          {draft.tasks.map((task) => (
            <li key={task.key}>
              {task.begun || !canEdit ? (
                <ReadTask task={task} />
              ) : (
                <EditTask task={task} draft={draft} roles={roles} onChange={onChange} />
              )}
            </li>
          ))}
        </ol>
        {draft.removed.length > 0 && (
          <p className="muted">
            Removed: <VisibleText>{draft.removed.join(', ')}</VisibleText>
          </p>
        )}
      </div>
    </Panel>
  )
}

function ReadTask({ task }: { readonly task: DraftTask }) {
  return (
    <div className="run-plan-task">
      <div className="row wrap">
        <b>
          <VisibleText>{task.id}</VisibleText>
        </b>
        <span className="muted">
          <VisibleText>{task.role}</VisibleText>
        </span>
        <StatusBadge bare status={task.status} />
      </div>
      <div>
        <VisibleText>{task.description}</VisibleText>
      </div>
      {task.dependencies.length > 0 && (
        <div className="muted">
          After <VisibleText>{task.dependencies.join(', ')}</VisibleText>
        </div>
      )}
    </div>
  )
}

function EditTask(props: {
  readonly task: DraftTask
  readonly draft: PlanDraft
  readonly roles: readonly string[]
  readonly onChange: (draft: PlanDraft) => void
}) {
  const { task, draft, roles, onChange } = props
  const change = (to: Parameters<typeof withChange>[2]): void => onChange(withChange(draft, task.key, to))
  const possible = possibleDependencies(draft, task.key)
  const isNew = task.origin === undefined
  const at = draft.tasks.indexOf(task)
  return (
    <fieldset className="run-plan-task edited">
      <legend className="sr-only">{task.id}</legend>
      <div className="run-plan-fields">
        <Field label="Task" problem={task.id.trim() === '' ? 'It needs a name.' : undefined}>
          {(field) => (
            <TextInput
              {...field}
              disabled={!isNew}
              value={task.id}
              onChange={({ target }) => change({ id: target.value })}
            />
          )}
        </Field>
        <Field label="Role">
          {(field) => (
            <Select {...field} value={task.role} onChange={({ target }) => change({ role: target.value })}>
              {[...new Set([...roles, task.role])].map((role) => (
                <option key={role}>{role}</option>
              ))}
            </Select>
          )}
        </Field>
        <div className="row run-plan-tools">
          {isNew && (
            <>
              <IconButton
                small
                icon="up"
                label={`Move ${task.id} up`}
                disabled={draft.tasks[at - 1]?.origin !== undefined}
                onClick={() => onChange(moved(draft, task.key, -1))}
              />
              <IconButton
                small
                icon="down"
                label={`Move ${task.id} down`}
                disabled={at === draft.tasks.length - 1}
                onClick={() => onChange(moved(draft, task.key, 1))}
              />
            </>
          )}
          <IconButton
            small
            icon="cross"
            label={`Remove ${task.id}`}
            onClick={() => onChange(withoutTask(draft, task.key))}
          />
        </div>
      </div>
      <Field
        label="What is to be done"
        problem={task.description.trim() === '' ? 'Say what is to be done.' : undefined}
      >
        {(field) => (
          <TextArea
            {...field}
            rows={2}
            value={task.description}
            onChange={({ target }) => change({ description: target.value })}
          />
        )}
      </Field>
      {possible.length > 0 && (
        <div className="run-plan-after" role="group" aria-label={`What ${task.id} waits for`}>
          <span className="muted">After</span>
          {possible.map((id) => (
            <Checkbox
              key={id}
              checked={task.dependencies.includes(id)}
              onChange={({ target }) =>
                change({
                  dependencies: target.checked
                    ? [...task.dependencies, id]
                    : task.dependencies.filter((each) => each !== id),
                })
              }
            >
              <VisibleText>{id}</VisibleText>
            </Checkbox>
          ))}
        </div>
      )}
      <Checkbox checked={task.critical} onChange={({ target }) => change({ critical: target.checked })}>
        Critical: its failure ends the plan
      </Checkbox>
    </fieldset>
  )
}
