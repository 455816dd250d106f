/**
 * Work named: the open work that an operator means who finishes it by hand.
 *
 * Owns: which open work it is, the error where it is none, several, or has ended. Does not own: what its name means
 * (find-work.ts), what becomes of it (takeover.ts).
 * K1: the journal alone knows. Pure.
 */
import { ReeveError, type ActivationId } from '../../core/index.ts'
import type { Recorded } from '../../journal/index.ts'
import { find, type PlannedTask } from './find-work.ts'

/** Work that has not ended. */
export type OpenWork =
  /** A worker has begun it. */
  | { readonly type: 'at-work'; readonly activation: ActivationId }
  /** A task of a plan that no member works on. */
  | { readonly type: 'pending'; readonly team: ActivationId; readonly task: string }

/**
 * The work of this name. `as`: what the name is meant to be of. Throws `delegation.unknown`, `delegation.ended` and,
 * where several are called so, `input.invalid`.
 */
export function workNamed(events: readonly Recorded[], name: string, as: 'task' | 'delegation'): OpenWork {
  const found = find(events, name)
  const { view, works } = found
  const tasks = as === 'task' ? found.tasks('task') : found.tasks('task', 'member')
  const rows = as === 'task' ? [] : found.delegations('call', 'label')
  const named = as === 'delegation' && works(name as ActivationId) ? [name as ActivationId] : []
  const atWork = [...new Set([...named, ...rows.map(({ activation }) => activation), ...tasks.map(at)])].filter(works)
  if (atWork.length > 1) throw several(name, atWork)
  const [activation] = atWork
  if (activation !== undefined) return { type: 'at-work', activation }
  const open = tasks.filter(({ endedAt, team }) => endedAt === undefined && works(team))
  if (open.length > 1)
    throw several(
      name,
      open.map(({ team, task }) => `${team} ${task}`),
    )
  const [pending] = open
  if (pending !== undefined) return { type: 'pending', team: pending.team, task: pending.task }
  if (rows.some(({ status }) => status === 'pending'))
    throw new ReeveError('delegation.unknown', `nobody works on the delegation "${name}" so far`, {
      hint: 'It waits for others to end; run.control.stop(), or reeve stop <run> <delegation>, calls it off. Nothing was changed.',
    })
  const hasEnded = tasks.length + rows.length > 0 || found.isActivation
  if (hasEnded)
    throw new ReeveError('delegation.ended', `the work of "${name}" has ended`, {
      hint: 'Its outcome is final; nothing was changed.',
    })
  throw new ReeveError('delegation.unknown', `there is no work called "${name}" in the run "${view.run}"`, {
    hint: 'Name it as reeve show <run> and run.delegations() do. Nothing was changed.',
  })
}

/** The activation that works on a task now. */
const at = ({ status, activation }: PlannedTask): ActivationId | undefined =>
  status === 'running' || status === 'awaiting_approval' ? activation : undefined

const several = (name: string, which: readonly string[]): ReeveError =>
  new ReeveError('input.invalid', `several are called "${name}": ${which.join(', ')}`, {
    hint: 'Name the activation of whoever works on it. Nothing was changed.',
  })
