/** A run's view is a pure fold of its events: K1, K7, K11. */
import { describe, expect, test } from 'vitest'
import {
  childActivation,
  completed,
  failed,
  failure,
  rootActivation,
  runId,
  usageRow,
  type ActivationId,
  type MessageId,
} from '@reeve/core'
import {
  foldRun,
  newRunFold,
  runView,
  viewOf,
  type ApprovalRequested,
  type JournalEvent,
  type Recorded,
} from '../src/index.ts'

const run = runId('r1')
const root = rootActivation(run)
const worker = childActivation(root, 'delegate/researcher')

/** Writes events down as an engine would: one position after the other, a second apart. */
function journal(...entries: readonly (readonly [ActivationId, JournalEvent])[]): Recorded[] {
  const seqs = new Map<ActivationId, number>()
  return entries.map(([activation, event], i) => {
    const seq = seqs.get(activation) ?? 0
    seqs.set(activation, seq + 1)
    return { position: i + 1, run, activation, seq, at: (i + 1) * 1000, event }
  })
}

const started = (agent: string): JournalEvent => ({
  type: 'activation.started',
  agent,
  version: '1+x',
  input: { brief: { instructions: 'go' } },
})
const model = (address: string): JournalEvent => ({
  type: 'model.requested',
  op: 'step',
  address,
  effect: 'model',
  model: 'm1',
  messages: 1,
})
const tool = (address: string): JournalEvent => ({
  type: 'tool.called',
  op: 'step',
  address,
  effect: 'read',
  tool: 'search',
})
const stepEnd = (address: string, agent?: string): JournalEvent => ({
  type: 'step.settled',
  address,
  outcome: completed('ok'),
  ...(agent === undefined ? {} : { usage: [usageRow(agent, 'm1', { input: 10, output: 5 })] }),
})
const approval: ApprovalRequested = {
  type: 'approval.requested',
  op: 'ask',
  address: 'call/approval',
  id: 'apr_1',
  path: ['lead', 'researcher'],
  tool: 'pay',
  toolVersion: '1',
  input: { usd: 3 },
  inputHash: 'hash',
  reason: 'sensitive',
  risk: 'high',
  onTimeout: 'reject',
  until: 99_000,
}
const answered = (address: string): JournalEvent => ({
  type: 'ask.settled',
  address,
  outcome: completed({ decision: 'approve' }),
})

const delegation = journal(
  [root, { ...started('lead'), caller: { user: 'ann' } } as JournalEvent],
  [root, model('turn/model')],
  [root, stepEnd('turn/model', 'lead')],
  [root, { type: 'worker.started', op: 'worker', address: 'delegate/researcher', agent: 'researcher' }],
  [worker, started('researcher')],
  [worker, model('turn/model')],
  [worker, stepEnd('turn/model', 'researcher')],
  [worker, tool('call/search')],
)

describe('the view of a run', () => {
  test('shows the tree: who works, since when, at what', () => {
    const view = runView(delegation)
    expect(view).toMatchObject({
      run,
      status: 'running',
      agent: 'lead',
      caller: { user: 'ann' },
      startedAt: 1000,
      position: 8,
    })
    expect(view.activations.map(({ agent, path, state, parent }) => [agent, path.join('/'), state, parent])).toEqual([
      ['lead', 'lead', 'running', undefined],
      ['researcher', 'lead/researcher', 'running', root],
    ])
    expect(view.activations[1]).toMatchObject({
      startedAt: 5000,
      modelCalls: 1,
      toolCalls: 1,
      open: [{ kind: 'tool', name: 'search', since: 8000 }],
    })
  })

  test('adds usage up the tree, by agent and model', () => {
    const view = runView(delegation)
    expect(view.usage.map(({ agent, calls, input }) => [agent, calls, input])).toEqual([
      ['lead', 1, 10],
      ['researcher', 1, 10],
    ])
    expect(view.activations[1]?.usage.map(({ agent }) => agent)).toEqual(['researcher'])
  })

  test('waits when everything inside waits for something outside', () => {
    const waiting = journal(...asEntries(delegation), [worker, stepEnd('call/search')], [worker, approval])
    const view = runView(waiting)
    expect(view.status).toBe('waiting')
    expect(view.activations.map(({ state }) => state)).toEqual(['waiting', 'waiting'])
    expect(view.approvals).toMatchObject([
      { id: 'apr_1', agent: 'researcher', path: ['lead', 'researcher'], open: true, until: 99_000, askedAt: 10_000 },
    ])
  })

  test('says who decided what, and the run goes on', () => {
    const view = runView(
      journal(
        ...asEntries(delegation),
        [worker, approval],
        [worker, answered('call/approval')],
        [
          worker,
          {
            type: 'approval.resolved',
            op: 'fact',
            address: 'call/!approval.resolved',
            id: 'apr_1',
            resolution: 'approved',
            approver: 'bob',
          },
        ],
      ),
    )
    expect(view.approvals).toMatchObject([{ open: false, resolution: 'approved', approver: 'bob', resolvedAt: 10_000 }])
    expect(view.status).toBe('running')
  })

  test('ends once, and closes what was open', () => {
    const view = runView(
      journal(
        ...asEntries(delegation),
        [worker, approval],
        [worker, { type: 'activation.settled', outcome: { status: 'cancelled', reason: 'no' } }],
        [root, { type: 'cancel.received', reason: 'no', by: 'ann' }],
        [root, { type: 'activation.settled', outcome: { status: 'cancelled', reason: 'no' } }],
      ),
    )
    expect(view).toMatchObject({
      status: 'cancelled',
      endedAt: 12_000,
      cancel: { reason: 'no', by: 'ann' },
      outcome: { status: 'cancelled' },
    })
    expect(view.approvals).toMatchObject([{ open: false, resolution: 'cancelled' }])
    expect(view.activations.flatMap(({ open }) => open)).toEqual([])
  })

  test('says whose choice brought control to an agent, in any reading order of the logs', () => {
    const begun: readonly [ActivationId, JournalEvent] = [
      worker,
      { ...started('researcher'), path: ['lead', 'researcher'] } as JournalEvent,
    ]
    const handed = {
      type: 'agent.transferred',
      op: 'fact',
      address: '!transfer',
      from: 'lead',
      path: ['lead'],
      to: 'researcher',
    } as const
    const fact: readonly [ActivationId, JournalEvent] = [root, { ...handed, by: 'model', callId: 'c1' }]
    for (const order of [
      [fact, begun],
      [begun, fact],
    ]) {
      const view = runView(journal([root, started('lead')], ...order))
      expect(view.activations.map((each) => each.handed)).toEqual([undefined, 'model'])
    }
  })

  test('shows interrupts, messages, recruits, failed attempts', () => {
    const id = 'msg_1' as MessageId
    const view = runView(
      journal(
        ...asEntries(delegation),
        [
          root,
          { type: 'worker.recruited', op: 'fact', address: '!worker.recruited', worker: 'dba', reason: 'SQL found' },
        ],
        [root, { type: 'message.sent', op: 'send', address: '!send', to: worker, id }],
        [worker, { type: 'message.received', id, from: root, body: 'hi' }],
        [
          worker,
          {
            type: 'step.attempt-failed',
            address: 'call/search',
            attempt: 1,
            failure: failure('tool.failed', 'no net', 'transport'),
            delayMs: 1000,
          },
        ],
        [
          worker,
          {
            type: 'interrupt.raised',
            op: 'ask',
            address: 'q',
            id: 'int_1',
            question: 'which?',
            path: ['lead', 'researcher'],
          },
        ],
        [worker, { type: 'ask.settled', address: 'q', outcome: completed('both') }],
      ),
    )
    expect(view.recruits).toMatchObject([{ worker: 'dba', reason: 'SQL found', by: root }])
    expect(view.messages).toEqual([{ id, from: root, to: worker, sentAt: 10_000, state: 'received', body: 'hi' }])
    expect(view.failedAttempts).toMatchObject([{ address: 'call/search', attempt: 1, failure: { message: 'no net' } }])
    expect(view.activations[1]).toMatchObject({ failedAttempts: 1, open: [{ failedAttempts: 1 }] })
    expect(view.interrupts).toMatchObject([{ id: 'int_1', open: false, outcome: completed('both') }])
  })

  test('shows pause and resume, doubt and divergence', () => {
    const pausing = journal(...asEntries(delegation), [
      root,
      { type: 'run.pausing', at: 'now', reason: 'lunch', by: 'ann' },
    ])
    expect(runView(pausing)).toMatchObject({ status: 'pausing', pause: { at: 'now', reason: 'lunch', by: 'ann' } })
    const paused = journal(...asEntries(pausing), [root, { type: 'run.paused' }])
    expect(runView(paused).status).toBe('paused')
    expect(runView(journal(...asEntries(paused), [root, { type: 'run.resumed' }])).status).toBe('running')
    const doubt = journal(...asEntries(delegation), [
      worker,
      { type: 'effect.in-doubt', address: 'call/search', id: 'dbt_1', round: 1 },
    ])
    expect(runView(doubt)).toMatchObject({ status: 'waiting', doubts: [{ kind: 'in-doubt', address: 'call/search' }] })
    const cleared = journal(...asEntries(doubt), [worker, { type: 'effect.cleared', address: 'call/search' }])
    expect(runView(cleared)).toMatchObject({ status: 'running', doubts: [] })
    expect(
      runView(
        journal(
          ...asEntries(delegation),
          [worker, stepEnd('call/search')],
          [worker, { type: 'replay.diverged', address: 'x', unclaimed: ['y'] }],
        ),
      ).status,
    ).toBe('stuck')
  })

  test('a new segment closes its steps and keeps its workers', () => {
    const view = runView(
      journal(
        ...asEntries(delegation),
        [root, tool('call/t')],
        [
          root,
          {
            type: 'activation.restarted',
            state: {},
            segment: 1,
            open: [{ address: 'delegate/researcher', op: 'worker' }],
            unread: [],
            before: { begun: [] },
          },
        ],
      ),
    )
    expect(view.activations[0]?.open.map(({ kind }) => kind)).toEqual(['worker'])
  })

  test('folds event by event to the same view, and events twice change nothing', () => {
    const events = journal(
      ...asEntries(delegation),
      [worker, stepEnd('call/search')],
      [worker, approval],
      [worker, { type: 'activation.settled', outcome: failed(failure('tool.failed', 'x', 'internal')) }],
    )
    const fold = newRunFold()
    for (const recorded of events) foldRun(foldRun(fold, recorded), recorded)
    expect(viewOf(fold)).toEqual(runView(events))
  })

  test('hands out copies', () => {
    const fold = newRunFold()
    for (const recorded of delegation) foldRun(fold, recorded)
    const view = viewOf(fold)
    ;(view.activations[0] as { agent: string }).agent = 'changed'
    ;(view.activations[1]!.open as unknown[]).length = 0
    expect(viewOf(fold)).toEqual(runView(delegation))
  })

  test('folds 20,000 steps in linear time', () => {
    const steps = Array.from({ length: 20_000 }, (_, i): [ActivationId, JournalEvent][] => [
      [root, tool(`call/${i}`)],
      [root, stepEnd(`call/${i}`)],
    ]).flat()
    const view = runView(journal([root, started('lead')], ...steps))
    expect(view.activations[0]).toMatchObject({ toolCalls: 20_000, open: [] })
  })
})

function asEntries(events: readonly Recorded[]): (readonly [ActivationId, JournalEvent])[] {
  return events.map(({ activation, event }) => [activation, event] as const)
}
