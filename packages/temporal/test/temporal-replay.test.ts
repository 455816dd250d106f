/**
 * The workflow of the mover on Temporal is a wire format: workflows that are open were begun by earlier code. Every
 * history that a release has written is replayed by the code as it is now, each of its beginnings too (K12). Needs no
 * server. Recorded by packages/temporal/test/server/record.ts; one case, which would take a day to record, is made of another one by
 * hand.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporal } from '@temporalio/proto'
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker'
import { beforeAll, describe, expect, test } from 'vitest'

const { History } = temporal.api.history.v1
type Recorded = { events: ({ eventId: string; eventType: string } & Record<string, unknown>)[] }

const folder = join(import.meta.dirname, 'server', 'histories')
const source = join(import.meta.dirname, '..', 'src', 'workflow.ts')
const read = (release: string, file: string): Recorded =>
  JSON.parse(readFileSync(join(folder, release, file), 'utf8')) as Recorded
const kinds = (history: Recorded): string[] =>
  history.events.map(({ eventType }) => eventType.replace('EVENT_TYPE_', ''))

let workflowBundle: WorkflowBundle

beforeAll(async () => {
  const logger = new DefaultLogger('ERROR', () => {})
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { filter: 'OFF' } } })
  workflowBundle = await bundleWorkflowCode({ workflowsPath: source, logger })
}, 60_000)

/** Undefined: the code does now what it did then. */
async function replay(...histories: readonly Recorded[]): Promise<readonly (Error | undefined)[]> {
  const named = histories.map((history, i) => ({
    workflowId: `reeve:sto_hand:${i}`,
    history: History.fromObject(history),
  }))
  const seen: (Error | undefined)[] = []
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, named)) seen.push(error)
  return seen
}

/** The histories as they were each time when the workflow had been given something to do. */
function beginnings(whole: Recorded): Recorded[] {
  return whole.events.flatMap(({ eventType }, i) =>
    eventType === 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED' ? [{ events: whole.events.slice(0, i + 1) }] : [],
  )
}

for (const release of readdirSync(folder)) {
  describe(`histories of ${release}`, () => {
    test.each(readdirSync(join(folder, release)))('K12: %s is replayed', async (file) => {
      const whole = read(release, file)
      const all = [whole, ...beginnings(whole)]
      expect(await replay(...all)).toEqual(all.map(() => undefined))
    })
  })
}

describe('what is replayed', () => {
  test('has signals while the run moves, cancels, and both ways to continue as new', () => {
    const woken = kinds(read('0.2', 'woken-while-it-moves.json'))
    const during = woken.slice(woken.indexOf('ACTIVITY_TASK_SCHEDULED'), woken.indexOf('ACTIVITY_TASK_COMPLETED'))
    expect(during.filter((kind) => kind === 'WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(2)
    expect(woken.filter((kind) => kind === 'ACTIVITY_TASK_SCHEDULED')).toHaveLength(2)
    expect(kinds(read('0.2', 'cancelled-while-it-waits.json')).at(-1)).toBe('WORKFLOW_EXECUTION_CANCELED')
    expect(kinds(read('0.2', 'cancelled-while-it-moves.json')).at(-1)).toBe('WORKFLOW_EXECUTION_CANCELED')
    for (const file of ['continued-as-new.json', 'continued-while-it-moves.json'])
      expect(kinds(read('0.2', file)).at(-1)).toBe('WORKFLOW_EXECUTION_CONTINUED_AS_NEW')
    expect(kinds(read('0.2', 'continued-while-it-moves.json'))).not.toContain('ACTIVITY_TASK_COMPLETED')
  })

  test('K12: a day after it has parked, a run is looked at again', async () => {
    const parked = read('0.2', 'parked-and-answered.json')
    const asleep = parked.events.findIndex(({ eventType }) => eventType === 'EVENT_TYPE_TIMER_STARTED')
    const started = parked.events[asleep]!
    const from = asleep + 1
    const task = (kind: string): Record<string, unknown> =>
      parked.events.find(({ eventType }) => eventType === `EVENT_TYPE_${kind}`)!
    const event = (i: number, kind: string, more: Record<string, unknown>): Recorded['events'][number] => ({
      ...task(kind === 'TIMER_FIRED' ? 'TIMER_STARTED' : kind),
      eventId: `${from + i}`,
      eventType: `EVENT_TYPE_${kind}`,
      ...more,
    })
    const { timerId } = started['timerStartedEventAttributes'] as { timerId: string }
    const scheduled = parked.events.filter(({ eventType }) => eventType === 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED')[1]!
    const day = [
      event(1, 'TIMER_FIRED', {
        timerStartedEventAttributes: undefined,
        timerFiredEventAttributes: { timerId, startedEventId: started.eventId },
      }),
      event(2, 'WORKFLOW_TASK_SCHEDULED', {}),
      event(3, 'WORKFLOW_TASK_STARTED', { workflowTaskStartedEventAttributes: { scheduledEventId: `${from + 2}` } }),
      event(4, 'WORKFLOW_TASK_COMPLETED', {
        workflowTaskCompletedEventAttributes: { scheduledEventId: `${from + 2}`, startedEventId: `${from + 3}` },
      }),
      { ...scheduled, eventId: `${from + 5}` },
    ]
    expect(await replay({ events: [...parked.events.slice(0, from), ...day] })).toEqual([undefined])
  })

  test('a history of other code is not taken for this one', async () => {
    const history = read('0.2', 'parked-and-answered.json')
    const other = structuredClone(history)
    for (const event of other.events) {
      const timer = event['timerStartedEventAttributes'] as { timerId: string } | undefined
      if (timer !== undefined)
        Object.assign(event, {
          eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED',
          timerStartedEventAttributes: undefined,
          workflowExecutionSignaledEventAttributes: { signalName: 'other' },
        })
    }
    const [error] = await replay(other)
    expect(error?.message).toMatch(/TMPRL1100|[Nn]ondeterminism/)
  })
})
