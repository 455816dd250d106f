/** What events about humans say to people who read them as lines. */
import { expect, test } from 'vitest'
import type { JournalEvent, Recorded } from '../../src/runtime/index.ts'
import { eventLines } from '../../src/cli/lines.ts'

const fact = { op: 'fact', address: 'f' } as const
const task = (name: string) => ({ task: name, description: name, member: `${name}_1`, role: 'r', dependencies: [] })

/** What each event says, without its time. */
function said(...events: JournalEvent[]): (string | undefined)[] {
  const lineOf = eventLines()
  const all: JournalEvent[] = [{ type: 'activation.started', agent: 'crew', version: '1', input: null }, ...events]
  return all
    .map((event, i): Recorded => ({
      run: 'r' as never,
      activation: 'act_r' as never,
      seq: i,
      position: i + 1,
      at: 0,
      event,
    }))
    .map((recorded) => lineOf(recorded)?.slice('00:00:00  '.length))
    .slice(1)
}

test('who has a run, why, and what changed nothing', () => {
  expect(
    said(
      { type: 'run.pausing', at: 'next', by: 'ann', reason: 'lunch' },
      { type: 'run.taken-over', by: 'ann', reason: 'I know\nthem' },
      { type: 'run.taken-over' },
      { type: 'control.ignored', command: 'resume', by: 'bob', why: 'a human has taken it over' },
      { type: 'run.handed-back', by: 'ann', reason: 'done' },
      { type: 'run.resumed' },
      { type: 'run.forked', run: 'o' as never, at: 4, done: [], by: 'ann' },
    ),
  ).toEqual([
    'run pausing by ann: lunch',
    'ann takes the run over: I know them',
    'a human takes the run over',
    'resume by bob changes nothing: a human has taken it over',
    'ann hands the run back: done',
    'run resumed',
    'forked from o at 4 by ann',
  ])
})

test('what was done by hand, and what became of a plan', () => {
  const edit = {
    ...fact,
    type: 'plan.edited',
    request: 'e',
    warnings: [],
    added: [],
    replaced: [],
    removed: [],
    settled: [],
  } as const
  expect(
    said(
      {
        ...edit,
        by: 'ann',
        reason: 'cheaper',
        added: [task('c')],
        replaced: [task('b')],
        removed: ['d'],
        settled: ['a'],
        concurrency: 2,
      },
      { ...fact, type: 'plan.edit-refused', request: 'e', by: 'ann', problems: ['no such task', 'a cycle'] },
      { ...fact, type: 'task.settled', task: 'a', member: 'a_1', status: 'succeeded', attempts: 1, by: 'ann' },
      { ...fact, type: 'task.reopened', task: 'a', round: 2, feedback: 'shorter', by: 'ann' },
      {
        type: 'cancel.received',
        reason: 'finished by ann: by phone',
        outcome: { status: 'completed', output: 1, by: 'ann' },
      },
      { type: 'cancel.received', reason: 'enough' },
      { type: 'activation.settled', outcome: { status: 'completed', output: 1, by: 'ann\u001b[2J' } },
    ),
  ).toEqual([
    'the plan of crew is edited by ann: added c; replaced b; removed d; done by hand a; concurrency 2 (cheaper)',
    'the plan of crew is not edited by ann: no such task; a cycle',
    'a is done by hand by ann',
    'a is to be done again by ann (round 2): shorter',
    'crew is finished by ann: by phone',
    'crew is cancelled: enough',
    String.raw`crew completed: done by hand by ann\u001b[2J`,
  ])
})

test('what a human is to look at, and what became of trust', () => {
  const hits = [{ code: 'low_confidence', priority: 'low', detail: '0.3 is less than 0.6' }] as const
  expect(
    said(
      { ...fact, type: 'escalation.raised', subject: 'result', name: 'crew', mode: 'in-the-loop', hits, asks: true },
      {
        ...fact,
        type: 'escalation.raised',
        subject: 'action',
        name: 'pay',
        mode: 'on-the-loop',
        hits: [],
        asks: false,
      },
      {
        ...fact,
        type: 'result.assessed',
        confidence: 0.3,
        costUsd: 2,
        proposedAction: { name: 'pay', input: 1 },
        cannotDo: 'no key',
      },
      { ...fact, type: 'trust.updated', trust: 'analysts', level: 'novice', tasks: 3, succeeded: 2, reason: '2 of 50' },
    ),
  ).toEqual([
    'crew: a human is to look at the result crew: low_confidence (low): 0.3 is less than 0.6',
    'crew: a human could look at the action pay',
    'crew says of its result: confidence 0.3, costs $2, proposes pay, with 1, cannot be done: no key',
    'trust in analysts: novice, 2 of 3 succeeded: 2 of 50',
  ])
})
