/** What events about humans say to people who read them as lines. */
import { expect, test } from 'vitest'
import type { JournalEvent, Recorded } from '@reeve/runtime'
import { eventLines } from '../src/event-lines.ts'

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
    'run taken over by ann: I know them',
    'run taken over by a human',
    'resume by bob had no effect: a human has taken it over',
    'run handed back by ann: done',
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
    'the plan of crew was edited by ann: added c; replaced b; removed d; done by hand a; concurrency 2 (cheaper)',
    'an edit of the plan of crew by ann was refused: no such task; a cycle',
    'a was done by hand (ann)',
    'a was sent back by ann (round 2): shorter',
    'crew is finished by ann: by phone',
    'crew is cancelled: enough',
    String.raw`crew completed: done by hand (ann\u001b[2J)`,
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
    'crew: the result crew is escalated: low_confidence (low): 0.3 is less than 0.6',
    'crew: the action pay is escalated (no approval needed)',
    'crew assesses its result: confidence 0.3, costs $2, proposes pay, with 1, cannot be done: no key',
    'trust in analysts: novice, 2 of 3 succeeded: 2 of 50',
  ])
})

test('an effect by the name of its tool: failed attempts, the last failure, and the settlement of a doubt', () => {
  const failure = { code: 'tool.failed', message: 'disk on fire', class: 'unknown', retryable: true } as const
  const call = (address: string, tool: string): JournalEvent => ({
    type: 'tool.called',
    op: 'step',
    address,
    tool,
    effect: 'once',
    contentKey: 'k',
  })
  const done = { status: 'completed', output: 'paid' } as const
  expect(
    said(
      call('turn/call/bad', 'bad'),
      { type: 'step.attempt-failed', address: 'turn/call/bad', attempt: 1, failure, delayMs: 5 },
      { type: 'step.settled', address: 'turn/call/bad', outcome: { status: 'failed', failure }, attempts: 2 },
      call('turn/call/pay', 'pay'),
      { type: 'effect.in-doubt', address: 'turn/call/pay', id: 'int_1', round: 1 },
      { type: 'step.settled', address: 'turn/call/pay', outcome: done },
      { type: 'step.settled', address: 'turn/call/pay', outcome: done },
    ),
  ).toEqual([
    'crew calls bad',
    'crew: attempt 1 of bad failed: disk on fire',
    'crew: bad failed: disk on fire (attempt 2, the last)',
    'crew calls pay',
    'crew: unknown whether pay happened (int_1)',
    'crew: pay is settled as happened: "paid"',
    undefined,
  ])
})
