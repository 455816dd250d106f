/** Members of a team who write to each other, and what came of them. */
import type { Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { team, type MailboxOptions, type Subtask, type TeamOptions } from '../src/index.ts'
import { worker, type Doings } from './trace.ts'

/** A task whose role and description are its id. */
export const task = (id: string, role = id, more: Partial<Subtask> = {}): Subtask => ({
  id,
  description: id,
  role,
  ...more,
})
/** A team with a task for each of these, and a mailbox. */
export const members = (
  doings: Doings,
  mailbox: MailboxOptions = {},
  more: Partial<TeamOptions<string>> = {},
  tasks?: readonly Subtask[],
): Agent =>
  team({
    name: 'analysts',
    roles: { generalist: worker(doings) },
    planner: { subtasks: tasks ?? Object.keys(doings).map((id) => task(id)) },
    mailbox,
    ...more,
  })
/** The events of one type. */
export const of = <T extends JournalEvent['type']>(
  events: readonly Recorded[],
  type: T,
): Extract<JournalEvent, { readonly type: T }>[] =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<JournalEvent, { readonly type: T }>] : []))
/** What a task has come to. */
export const outputOf = (outcome: object, id: string): Json =>
  (
    outcome as { readonly results: { readonly tasks: readonly { readonly task: string; readonly output: Json }[] } }
  ).results.tasks.find((each) => each.task === id)!.output
