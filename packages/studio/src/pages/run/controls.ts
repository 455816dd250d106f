/**
 * Controls: what an operator can do to a run in its state, one row for each: its words, what it asks for, what it tells
 * the server.
 *
 * Owns: which buttons there are, the sentences of their dialogs. Does not own: how they look (control-bar.tsx). The server
 * checks again: a button that is shown too long is refused there.
 */
import type { RemoteRun } from '@reeve/client'
import type { LiveRun, RunHead } from '@reeve/server/wire'
import { orRecorded } from '../../data/server.ts'

export type ControlName = 'pause' | 'resume' | 'take-over' | 'hand-back' | 'cancel' | 'fork' | 'retry'

/** What a dialog asks for. */
export interface ControlInput {
  readonly reason: { readonly reason?: string }
  /** When what is under way ends. */
  readonly at: 'next' | 'now'
  /** What was done stays. */
  readonly keeps: boolean
}

export interface Control {
  readonly name: ControlName
  readonly label: string
  readonly icon: 'pause' | 'play' | 'hand' | 'send' | 'stop' | 'fork' | 'back'
  /** What happens, in one or two sentences. */
  readonly effect: string
  readonly danger?: true
  /** Its dialog. Absent: it has a page, or a dialog of its own. */
  readonly dialog?: {
    readonly asks: readonly (keyof ControlInput)[]
    /** Resolves to the id of the run that goes on from here, if that is another one. */
    readonly send: (api: RemoteRun, given: ControlInput) => Promise<string | undefined>
    /** What is said when that is done. */
    readonly done: string
    /** Where that leads. */
    readonly next?: TabName
  }
}

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'limited', 'timed-out', 'cancelled', 'bailed'])

/** The run will not change any more. */
export const hasEnded = (status: string): boolean => ended.has(status)

/** Since when nothing new begins: the run is paused, or an operator has it. */
export const heldSince = ({
  pause,
  takeover,
  endedAt,
}: Pick<RunHead, 'pause' | 'takeover' | 'endedAt'>): number | undefined =>
  endedAt === undefined ? (pause?.since ?? takeover?.since) : undefined

/** What can be done to a run in this state, the most likely first. */
export function controlsOf(head: Pick<RunHead, 'status' | 'takeover' | 'cancel' | 'pause'>): readonly Control[] {
  const { status, takeover } = head
  if (hasEnded(status)) return [...(status === 'completed' ? [] : [controls.retry]), controls.fork]
  const cancel = head.cancel === undefined ? [controls.cancel] : []
  if (takeover !== undefined || status === 'human_control') return [controls['hand-back'], ...cancel, controls.fork]
  if (status === 'paused' || status === 'pausing')
    return [controls.resume, controls['take-over'], ...cancel, controls.fork]
  if (status === 'stuck') return [controls.resume, controls['take-over'], ...cancel, controls.fork]
  return [controls.pause, controls['take-over'], ...cancel, controls.fork]
}

const here = (): undefined => undefined

const controls: Readonly<Record<ControlName, Control>> = {
  pause: {
    name: 'pause',
    icon: 'pause',
    label: 'Pause',
    effect: 'Nothing new begins until you resume the run. Model calls and tools that are under way may end.',
    dialog: {
      asks: ['at', 'reason'],
      send: ({ control }, { at, reason }) => control.pause({ ...reason, at }).then(here),
      done: 'The run pauses.',
    },
  },
  resume: {
    name: 'resume',
    icon: 'play',
    label: 'Resume',
    effect: 'The run goes on from where it stands. Nothing that is done is done again.',
    dialog: {
      asks: ['reason'],
      send: ({ control }, { reason }) => control.resume(reason).then(here),
      done: 'The run goes on.',
    },
  },
  'take-over': {
    name: 'take-over',
    icon: 'hand',
    label: 'Take over',
    effect:
      'You have the run until you hand it back: nothing new begins. You can complete steps by hand, change the plan of a team, or finish the run with your own result.',
    dialog: {
      asks: ['at', 'reason'],
      async send({ control }, { at, reason }) {
        const taken = await orRecorded((signal) => control.takeOver({ ...reason, at, signal }))
        if (taken?.takenOver === false)
          throw new Error(`${taken.owner ?? 'Another operator'} has this run already, and keeps it.`)
        return undefined
      },
      done: 'You have the run.',
      next: 'take-over',
    },
  },
  'hand-back': {
    name: 'hand-back',
    icon: 'send',
    label: 'Hand back',
    effect: 'The agents go on with what you have completed and with the plan as you have changed it.',
  },
  cancel: {
    name: 'cancel',
    icon: 'stop',
    label: 'Cancel',
    effect:
      'The run and all its workers end. What can be undone is undone, unless you say that it stays. This cannot be taken back.',
    danger: true,
    dialog: {
      asks: ['keeps', 'reason'],
      send: ({ control }, { reason: { reason }, keeps }) =>
        control.cancel(reason, keeps ? { undo: false } : {}).then(here),
      done: 'The run is cancelled.',
    },
  },
  fork: {
    name: 'fork',
    icon: 'fork',
    label: 'Fork',
    effect:
      'A new run begins with everything this one did so far. This run is not touched. Effects that were made are not made again.',
  },
  retry: {
    name: 'retry',
    icon: 'back',
    label: 'Retry',
    effect:
      'A new run begins with everything that this one did before the cause of its end. The cause is done again: an effect, an answer of a model, a decision. This run stays as it is. What it used counts against the same limits.',
    dialog: {
      asks: ['reason'],
      send: async (run, { reason }) => (await run.retry(reason)).id,
      done: 'The retry has begun. This is it.',
    },
  },
}

/** The tabs of a run, in their order: 1 to 8 on the keyboard. */
export const tabs = [
  { name: 'overview', label: 'Overview' },
  { name: 'timeline', label: 'Timeline' },
  { name: 'conversation', label: 'Conversation' },
  { name: 'team', label: 'Team' },
  { name: 'cost', label: 'Cost' },
  { name: 'journal', label: 'Journal' },
  { name: 'audit', label: 'Audit' },
  { name: 'take-over', label: 'Take over' },
] as const
export type TabName = (typeof tabs)[number]['name']
export const isTab = (name: string | undefined): name is TabName => tabs.some((tab) => tab.name === name)

/** How many questions of a run wait for a person. */
export const openQuestions = ({
  approvals,
  interrupts,
  doubts,
}: Pick<LiveRun, 'approvals' | 'interrupts' | 'doubts'>): number =>
  Object.values(approvals).filter(({ open }) => open).length +
  Object.values(interrupts).filter(({ open }) => open).length +
  Object.keys(doubts).length
