/** The view of a planned team is a pure fold of its facts: K1; spec team 1.9, 1.21. */
import { describe, expect, test } from 'vitest'
import { cancelled, failed, failure, type ActivationId, type MessageId } from '@reeve/core'
import {
  foldRun,
  newRunFold,
  planGraph,
  runView,
  viewOf,
  type MemberView,
  type Recorded,
  type TaskView,
  type TeamView,
} from '../src/index.ts'
import { broken, marketAnalysis, root, workerOf, Writer } from './market.ts'

const teamIn = (events: readonly Recorded[]): TeamView => runView(events).teams[0]!
const statuses = (team: TeamView): Record<string, string> =>
  Object.fromEntries(team.plan.tasks.map(({ task, status }) => [task, status]))
const members = (team: TeamView): Record<string, string> =>
  Object.fromEntries(team.members.map(({ member, status }) => [member, status]))
const taskOf = (team: TeamView, id: string): TaskView => team.plan.tasks.find(({ task }) => task === id)!
const memberOf = (team: TeamView, id: string): MemberView => team.members.find(({ member }) => member === id)!

describe('plan and members', () => {
  test('a run without a plan has no teams', () => {
    expect(runView(new Writer().end(1).events).teams).toEqual([])
  })

  test('team C13: at 0 s all tasks are pending; at 13 s one completed, others work, two are pending', () => {
    const { events } = marketAnalysis()
    const planned = teamIn(
      events.slice(
        0,
        events.findIndex(({ event }) => event.type === 'task.started'),
      ),
    )
    expect(planned.members.map(({ status }) => status)).toEqual(Array(6).fill('pending'))
    expect(Object.values(statuses(planned))).toEqual(['pending', 'pending', 'pending', 'pending', 'waiting', 'waiting'])
    const at13 = teamIn(marketAnalysis().until(13))
    expect(members(at13)).toEqual({
      researcher_1: 'running',
      analyst_1: 'completed',
      product_expert_1: 'running',
      tech_expert_1: 'running',
      strategist_1: 'pending',
      writer_1: 'pending',
      dynamic_pricing_analyst_1: 'running',
    })
    expect(taskOf(at13, 'swot').waitsFor).toEqual([
      'market-research',
      'product-compare',
      'tech-trend',
      'dynamic_pricing_analyst_1',
    ])
    expect(taskOf(at13, 'competitor-scan')).toMatchObject({
      status: 'succeeded',
      startedAt: 0,
      endedAt: 12_000,
      attempts: 1,
    })
  })

  test('team C34: a recruit is a task and a member, with who asked, what for, and who waits for it', () => {
    const team = teamIn(marketAnalysis().events)
    expect(team.plan.tasks.at(-1)).toMatchObject({
      task: 'dynamic_pricing_analyst_1',
      description: 'Deep analysis of the pricing strategy of each product',
      role: 'pricing_analyst',
      status: 'succeeded',
      startedAt: 10_000,
      endedAt: 20_000,
      recruit: { by: 'product_expert_1', parent: 'product-compare', join: 'parent' },
    })
    expect(taskOf(team, 'swot').joined).toEqual(['dynamic_pricing_analyst_1'])
    expect(taskOf(team, 'report').joined).toEqual([])
    expect(memberOf(team, 'dynamic_pricing_analyst_1')).toMatchObject({
      recruited: true,
      requestedBy: 'product_expert_1',
      resolved: 'generalist',
      joinedAt: 10_000,
    })
    expect(team.recruiting).toMatchObject([
      { request: 'r1', admitted: true, member: 'dynamic_pricing_analyst_1', at: 10_000 },
    ])
    expect(team.coverage).toEqual({ succeeded: 6, planned: 6 })
    expect(team).toMatchObject({
      state: 'completed',
      startedAt: 0,
      endedAt: 45_000,
      answer: { by: 'concatenation', at: 45_000 },
    })
  })

  test('who begins before the recruit comes does not wait for it; recruits of recruits are waited for', () => {
    const joins = (writer: Writer, member: string, parent: string): Writer =>
      writer.fact(2, {
        type: 'teammate.joined',
        member,
        role: 'x',
        task: member,
        recruited: true,
        by: 'lead',
        parent,
        join: 'parent',
      })
    const writer = new Writer()
      .plan([{ task: 'a' }, { task: 'b', dependencies: ['a'] }, { task: 'c', dependencies: ['a'] }])
      .settle(1, 'a', 'worker_a')
      .begin(1, 'b', 'worker_b')
    const team = teamIn(joins(joins(writer, 'r1', 'a'), 'r2', 'r1').events)
    expect(taskOf(team, 'b').joined).toEqual([])
    expect(taskOf(team, 'c')).toMatchObject({ joined: ['r1', 'r2'], waitsFor: ['r1', 'r2'], status: 'waiting' })
  })

  test('team C15: three tries, then failed, with the last error; nothing changes afterwards', () => {
    const writer = new Writer().plan([{ task: 'a' }])
    for (const attempt of [1, 2, 3]) {
      writer.begin(attempt, 'a', 'worker_a', attempt)
      if (attempt < 3)
        writer.fact(attempt, { type: 'task.retried', task: 'a', attempt, failure: broken, delayMs: 1_000 })
    }
    const between = teamIn(writer.until(2))
    expect([taskOf(between, 'a').status, memberOf(between, 'worker_a').status]).toEqual(['pending', 'pending'])
    writer.settle(3, 'a', 'worker_a', { status: 'failed', attempts: 3, failure: broken })
    const end = { status: 'failed', attempts: 3, endedAt: 3_000, startedAt: 1_000 }
    const ended = teamIn(writer.events)
    expect(memberOf(ended, 'worker_a')).toMatchObject({ ...end, lastError: broken })
    expect(taskOf(ended, 'a')).toMatchObject({ ...end, failure: broken, activation: workerOf('a', 3) })
    writer
      .begin(4, 'a', 'worker_a', 4)
      .settle(5, 'a', 'worker_a')
      .fact(6, { type: 'teammate.retired', member: 'worker_a', mode: 'force' })
    const later = teamIn(writer.events)
    expect(memberOf(later, 'worker_a')).toEqual(memberOf(ended, 'worker_a'))
    expect(taskOf(later, 'a')).toEqual(taskOf(ended, 'a'))
  })

  test('attempts of a step count for the task that made them', () => {
    const team = teamIn(
      new Writer()
        .plan([{ task: 'a' }])
        .begin(1, 'a', 'worker_a')
        .settle(2, 'a', 'worker_a', { status: 'failed', attempts: 3, failure: broken }).events,
    )
    expect([taskOf(team, 'a').attempts, memberOf(team, 'worker_a').attempts]).toEqual([3, 3])
  })

  test('team C44: graceful retirement ends with the task, a forced one at once, and the task is reassigned', () => {
    const graceful = new Writer()
      .plan([{ task: 'a' }])
      .begin(1, 'a', 'worker_a')
      .fact(2, { type: 'teammate.retired', member: 'worker_a', mode: 'graceful', by: 'lead' })
    expect(members(teamIn(graceful.events))).toEqual({ worker_a: 'running' })
    const left = teamIn(graceful.settle(3, 'a', 'worker_a').events)
    expect([statuses(left), members(left)]).toEqual([{ a: 'succeeded' }, { worker_a: 'retired' }])
    expect(memberOf(left, 'worker_a').retirement).toEqual({ mode: 'graceful', by: 'lead', at: 2_000 })

    const forced = new Writer()
      .plan([{ task: 'a' }])
      .begin(1, 'a', 'worker_a')
      .fact(2, { type: 'teammate.retired', member: 'worker_a', mode: 'force' })
      .fact(2, { type: 'teammate.joined', member: 'worker_2', role: 'worker', task: 'a' })
      .fact(2, { type: 'task.reassigned', task: 'a', from: 'worker_a', to: 'worker_2' })
    expect([statuses(teamIn(forced.events)), members(teamIn(forced.events))]).toEqual([
      { a: 'pending' },
      { worker_a: 'retired', worker_2: 'pending' },
    ])
    const done = teamIn(forced.begin(3, 'a', 'worker_2', 2).settle(4, 'a', 'worker_2', { attempts: 2 }).events)
    expect(taskOf(done, 'a')).toMatchObject({ member: 'worker_2', status: 'succeeded', startedAt: 1_000 })
    expect(memberOf(done, 'worker_2')).toMatchObject({ status: 'completed', attempts: 1 })
    expect(memberOf(done, 'worker_a')).toMatchObject({ status: 'retired', endedAt: 2_000, attempts: 1 })
  })

  test('while the run is paused, only working members are paused', () => {
    const writer = new Writer().plan([{ task: 'a' }, { task: 'b', dependencies: ['a'] }]).begin(1, 'a', 'worker_a')
    writer.event(2, root, { type: 'run.pausing', at: 'now' })
    expect(members(teamIn(writer.events))).toEqual({ worker_a: 'running', worker_b: 'pending' })
    writer.event(3, root, { type: 'run.paused' })
    expect(members(teamIn(writer.events))).toEqual({ worker_a: 'paused', worker_b: 'pending' })
    expect(statuses(teamIn(writer.events))['a']).toBe('running')
    writer.event(4, root, { type: 'run.resumed' })
    expect(members(teamIn(writer.events))).toEqual({ worker_a: 'running', worker_b: 'pending' })
  })

  test('a task waits for approval if its worker, or one below it, asks a human', () => {
    const below = `${workerOf('a')}>call/delegate` as ActivationId
    const writer = new Writer()
      .plan([{ task: 'a' }, { task: 'b' }])
      .begin(1, 'a', 'worker_a')
      .begin(1, 'b', 'worker_b')
    for (const at of [workerOf('a'), below])
      writer.event(1, at, { type: 'activation.started', agent: 'worker', version: '1', input: null })
    writer.event(2, below, {
      type: 'interrupt.raised',
      op: 'ask',
      address: 'ask',
      id: 'int_1',
      path: ['worker'],
      question: 'Which?',
    })
    expect(statuses(teamIn(writer.events))).toEqual({ a: 'awaiting_approval', b: 'running' })
    writer.event(3, below, { type: 'ask.settled', address: 'ask', outcome: { status: 'completed', output: 'this' } })
    expect(statuses(teamIn(writer.events))).toEqual({ a: 'running', b: 'running' })
  })

  test('topics are awaited while a member may still add to them', () => {
    const writer = new Writer().plan([
      { task: 'a', produces: ['prices'] },
      { task: 'b', consumes: ['prices', 'nobody-makes-this'] },
    ])
    expect(taskOf(teamIn(writer.events), 'b')).toMatchObject({ status: 'waiting', waitsFor: ['prices'] })
    const published = teamIn(
      writer
        .begin(1, 'a', 'worker_a')
        .fact(2, { type: 'topic.published', topic: 'prices', seq: 1, task: 'a', bytes: 12 }).events,
    )
    expect(taskOf(published, 'b')).toMatchObject({ status: 'pending', waitsFor: [] })
    writer.fact(3, { type: 'topic.refused', topic: 'prices', task: 'a', reason: 'too_large' })
    expect(teamIn(writer.events).topics).toEqual([
      {
        topic: 'prices',
        producers: ['a'],
        consumers: ['b'],
        entries: 1,
        bytes: 12,
        publishedBy: ['a'],
        refused: 1,
        lastAt: 2_000,
      },
      {
        topic: 'nobody-makes-this',
        producers: [],
        consumers: ['b'],
        entries: 0,
        bytes: 0,
        publishedBy: [],
        refused: 0,
      },
    ])
    const failedProducer = new Writer()
      .plan([
        { task: 'a', produces: ['p'] },
        { task: 'b', consumes: ['p'] },
      ])
      .settle(1, 'a', 'worker_a', { status: 'failed' })
    expect(taskOf(teamIn(failedProducer.events), 'b')).toMatchObject({ status: 'pending', waitsFor: [] })
  })

  test('tasks that were added stand before those of recruits', () => {
    const added = { task: 'c', description: 'C', member: 'worker_c', role: 'worker', dependencies: ['a'] }
    const writer = new Writer()
      .plan([{ task: 'a' }])
      .fact(1, { type: 'teammate.joined', member: 'r', role: 'x', task: 'r', recruited: true, join: 'run' })
      .fact(2, { type: 'plan.revised', added: [added], by: 'lead' })
      .fact(2, { type: 'teammate.joined', member: 'worker_c', role: 'worker', task: 'c' })
    expect(teamIn(writer.events).plan.tasks.map(({ task }) => task)).toEqual(['a', 'c', 'r'])
    expect(teamIn(writer.events).coverage.planned).toBe(2)
  })
})

describe('ends', () => {
  test('a plan that was given up says why, and the view after the end still answers', () => {
    const failures = ['a', 'b'].map((task) => ({ task, failure: broken }))
    const writer = new Writer().plan([{ task: 'a' }, { task: 'b' }, { task: 'c', dependencies: ['a'] }], {
      maxFailures: 2,
    })
    for (const task of ['a', 'b'])
      writer.begin(1, task, `worker_${task}`).settle(2, task, `worker_${task}`, { status: 'failed', failure: broken })
    writer
      .fact(2, { type: 'plan.aborted', reason: 'failures', failed: 2, total: 3, maxFailures: 2, failures })
      .settle(2, 'c', 'worker_c', { status: 'cancelled', reason: 'the plan was given up', attempts: 0 })
      .end(2, failed(failure('team.too-many-failures', 'Too many subtask failures (2/3)', 'policy')))
    const team = teamIn(writer.events)
    expect(team.plan).toMatchObject({
      failed: 2,
      maxFailures: 2,
      aborted: { reason: 'failures', failed: 2, total: 3, at: 2_000 },
    })
    expect(team.plan.aborted?.failures).toEqual(failures)
    expect(statuses(team)).toEqual({ a: 'failed', b: 'failed', c: 'cancelled' })
    expect(team).toMatchObject({ state: 'failed', coverage: { succeeded: 0, planned: 3 } })
  })

  test('who had not ended when the team did was called off with it', () => {
    const writer = new Writer()
      .plan([{ task: 'a' }, { task: 'b', dependencies: ['a'] }])
      .begin(1, 'a', 'worker_a')
      .end(5, cancelled('enough'))
    const team = teamIn(writer.events)
    expect(statuses(team)).toEqual({ a: 'cancelled', b: 'cancelled' })
    expect(members(team)).toEqual({ worker_a: 'cancelled', worker_b: 'cancelled' })
    expect(team.members.map(({ endedAt }) => endedAt)).toEqual([5_000, 5_000])
  })

  test('what was advised, refused, warned of and could not be remembered', () => {
    const writer = new Writer()
      .fact(0, {
        type: 'strategy.advised',
        strategy: 'sequential',
        confidence: 0.9,
        overrides: true,
        warnings: ['urgent'],
      })
      .fact(0, { type: 'plan.rejected', problems: ['a > a'], warnings: [], repair: true })
    expect(runView(writer.events).teams).toEqual([])
    writer
      .plan([{ task: 'a' }], { warnings: ['nobody produces "x"'], fallback: broken })
      .fact(0, { type: 'budget.set', limits: { tokens: 1_000 }, mode: 'soft' })
      .fact(1, {
        type: 'budget.moved',
        task: 'a',
        move: 'reserved',
        tokens: 300,
        usd: 0,
        spent: { tokens: 500, usd: 0 },
        reserved: { tokens: 300, usd: 0 },
        unknown: 1,
      })
      .fact(1, { type: 'budget.crossed', percent: 50, of: 'tokens', spent: 500, limit: 1_000 })
      .fact(1, { type: 'budget.warned', task: 'a', of: 'usd', wanted: 2, left: 1 })
      .fact(1, { type: 'deadlock.found', kind: 'deadlock', cycle: ['a', 'b'], message: 'a waits for b, b for a' })
      .fact(2, { type: 'memory.unavailable', wanted: 'record', failure: broken })
    const { advice, plan, budget, waits, memory } = teamIn(writer.events)
    expect(advice).toEqual({ strategy: 'sequential', confidence: 0.9, overrides: true, warnings: ['urgent'], at: 0 })
    expect(plan).toMatchObject({
      rejected: [{ problems: ['a > a'], repair: true, at: 0 }],
      warnings: ['nobody produces "x"'],
      fallback: broken,
    })
    expect(budget).toEqual({
      waiting: [],
      limits: { tokens: 1_000 },
      mode: 'soft',
      spent: { tokens: 500, usd: 0 },
      reserved: { tokens: 300, usd: 0 },
      unknown: 1,
      crossed: [{ percent: 50, of: 'tokens', spent: 500, limit: 1_000, at: 1_000 }],
      warned: [{ task: 'a', of: 'usd', wanted: 2, left: 1, at: 1_000 }],
    })
    expect(waits).toEqual([{ kind: 'deadlock', cycle: ['a', 'b'], message: 'a waits for b, b for a', at: 1_000 }])
    expect(memory).toEqual([{ wanted: 'record', failure: broken, at: 2_000 }])
  })

  test('every team of a run has a view of its own, also one that is a member of another', () => {
    const inner = workerOf('a')
    const outer = new Writer().plan([{ task: 'a' }]).begin(1, 'a', 'worker_a')
    const nested = new Writer(inner, 'inner').plan([{ task: 'x' }, { task: 'y' }]).end(3)
    for (const { at, activation, event } of nested.events) outer.event(1 + at / 1_000, activation, event)
    const { teams, activations } = runView(outer.events)
    expect(teams.map(({ activation, agent, path, plan }) => [activation, agent, path, plan.tasks.length])).toEqual([
      [root, 'analysts', ['analysts'], 1],
      [inner, 'inner', ['analysts', 'inner'], 2],
    ])
    expect(teams.map(({ state }) => state)).toEqual(['running', 'completed'])
    expect(activations.map(({ task, member }) => [task, member])).toEqual([
      [undefined, undefined],
      ['a', 'worker_a'],
    ])
  })
})

describe('mail', () => {
  test('team C29: mail is in the inbox until it is read; its content is that of the message that brought it', () => {
    const before = teamIn(marketAnalysis().until(20)).mailbox
    const mail = {
      seq: 1,
      from: 'researcher_1',
      to: 'strategist_1',
      recipients: ['strategist_1'],
      content: 'Competitor X has launched Y.',
      at: 15_000,
    }
    expect(before).toEqual({
      accepted: 1,
      dropped: 0,
      refused: {},
      unread: { strategist_1: 1 },
      messages: [{ ...mail, unread: ['strategist_1'] }],
    })
    const after = teamIn(marketAnalysis().events).mailbox
    expect(after).toMatchObject({ unread: {}, messages: [{ ...mail, unread: [] }] })
  })

  test('team C26: what was given up is counted and gone; what never found its reader is still unread', () => {
    const writer = new Writer().plan([{ task: 'a' }, { task: 'b' }])
    for (let seq = 1; seq <= 11; seq++)
      writer.fact(seq, {
        type: 'mail.accepted',
        seq,
        from: 'worker_b',
        to: 'worker_a',
        recipients: ['worker_a'],
        content: seq,
      })
    writer
      .fact(11, { type: 'mail.truncated', from: 7, dropped: 6, total: 6 })
      .fact(12, { type: 'mail.delivered', member: 'worker_a', seqs: [7] })
      .fact(13, { type: 'mail.unread', member: 'worker_a', seqs: [8, 9, 10, 11] })
      .fact(14, { type: 'mail.refused', from: 'worker_b', to: 'worker_a', reason: 'quota' })
      .fact(14, { type: 'mail.refused', from: 'worker_b', to: 'worker_a', reason: 'quota' })
      .fact(14, { type: 'mail.refused', from: 'worker_b', to: '*', reason: 'too_large' })
    const { accepted, dropped, refused, unread, messages } = teamIn(writer.events).mailbox
    expect({ accepted, dropped, refused, unread }).toEqual({
      accepted: 11,
      dropped: 6,
      refused: { quota: 2, too_large: 1 },
      unread: { worker_a: 4 },
    })
    expect(messages.map(({ seq, content, unread: by }) => [seq, content, by.length])).toEqual([
      [7, 7, 0],
      [8, 8, 1],
      [9, 9, 1],
      [10, 10, 1],
      [11, 11, 1],
    ])
  })

  test('a full inbox loses only its owner’s mail; mail for a recruit is delivered when it joins', () => {
    const writer = new Writer().plan([{ task: 'a' }, { task: 'b' }])
    const to = (seq: number, recipients: string[]): Writer =>
      writer.fact(seq, {
        type: 'mail.accepted',
        seq,
        from: 'lead',
        to: recipients.length === 2 ? '*' : 'role:late',
        recipients,
        content: seq,
      })
    to(1, ['worker_a', 'worker_b'])
    to(2, ['worker_a', 'worker_b'])
    to(3, [])
    writer.fact(4, { type: 'mail.truncated', member: 'worker_a', from: 2, dropped: 1, total: 1 })
    expect(teamIn(writer.events).mailbox).toMatchObject({ dropped: 1, unread: { worker_a: 1, worker_b: 2 } })
    expect(teamIn(writer.events).mailbox.messages.map(({ unread }) => unread)).toEqual([
      ['worker_b'],
      ['worker_a', 'worker_b'],
      [],
    ])
    writer
      .fact(5, {
        type: 'teammate.joined',
        member: 'late_1',
        role: 'late',
        task: 'late_1',
        recruited: true,
        join: 'run',
      })
      .fact(5, { type: 'mail.forwarded', member: 'late_1', seqs: [3] })
    expect(teamIn(writer.events).mailbox.messages[2]).toMatchObject({ recipients: ['late_1'], unread: ['late_1'] })
    writer.fact(6, { type: 'mail.truncated', dropped: 3, total: 4 })
    expect(teamIn(writer.events).mailbox).toMatchObject({ dropped: 4, unread: {}, messages: [] })
  })

  test('mail without a known message or content shows no content', () => {
    const writer = new Writer().plan([{ task: 'a' }])
    writer.fact(1, {
      type: 'mail.accepted',
      seq: 1,
      from: 'lead',
      to: 'worker_a',
      recipients: [],
      message: 'msg_none' as MessageId,
    })
    expect(teamIn(writer.events).mailbox.messages[0]?.content).toBe(null)
  })

  test('a hundred thousand messages cost a hundred thousand steps, and the view shows the newest thousand', () => {
    const writer = new Writer().plan([{ task: 'a' }])
    const fold = newRunFold()
    for (const each of writer.events) foldRun(fold, each)
    const template = new Writer().fact(1, {
      type: 'mail.accepted',
      seq: 1,
      from: 'x',
      to: 'worker_a',
      recipients: ['worker_a'],
      content: 'text',
    }).events[1]!
    for (let seq = 1; seq <= 100_000; seq++) {
      const event = { ...template.event, seq } as unknown as Recorded['event']
      foldRun(fold, { ...template, position: 100 + 3 * seq, event })
      if (seq % 200 === 0) {
        const gone = {
          ...event,
          type: 'mail.truncated',
          from: seq - 99,
          dropped: 100,
          total: seq - 100,
        } as unknown as Recorded['event']
        foldRun(fold, { ...template, position: 101 + 3 * seq, event: gone })
      }
    }
    const { mailbox } = viewOf(fold).teams[0]!
    expect([mailbox.accepted, mailbox.messages.length, mailbox.unread['worker_a']]).toEqual([100_000, 100, 100])
    // without a bound of its own, the list has one nevertheless
    for (let seq = 100_001; seq <= 105_000; seq++)
      foldRun(fold, {
        ...template,
        position: 300_100 + seq,
        event: { ...template.event, seq } as unknown as Recorded['event'],
      })
    const shown = viewOf(fold).teams[0]!.mailbox
    expect([shown.messages.length, shown.messages[0]?.seq, shown.messages.at(-1)?.seq]).toEqual([
      1_000, 104_001, 105_000,
    ])
  })

  test('refused wishes have a bound, admitted ones are kept', () => {
    const writer = new Writer().plan([{ task: 'a' }])
    const wish = (request: string, admitted: boolean): void => {
      writer.fact(1, { type: 'recruit.requested', request, role: 'x', description: request })
      writer.fact(1, {
        type: 'recruit.decided',
        request,
        admitted,
        ...(admitted ? { member: 'm' } : { reason: 'team_size' }),
      })
    }
    wish('first', true)
    for (let i = 0; i < 1_500; i++) wish(`r${i}`, false)
    const { recruiting } = teamIn(writer.events)
    expect([recruiting.length, recruiting[0]?.request, recruiting[1]?.request, recruiting.at(-1)?.request]).toEqual([
      1_000,
      'first',
      'r501',
      'r1499',
    ])
  })
})

test('team C31: a view shares nothing with the next', () => {
  const fold = newRunFold()
  for (const each of marketAnalysis().events) foldRun(fold, each)
  const before = viewOf(fold)
  const spoiled = viewOf(fold)
  const team = spoiled.teams[0]!
  ;(team.mailbox.messages as unknown[]).push('mine')
  ;(team.members as unknown[]).length = 0
  Object.assign(team.plan.tasks[0]!, { status: 'failed' })
  ;(team.plan.tasks[4]!.dependencies as string[]).push('mine')
  Object.assign(team.mailbox.messages[0]!, { content: 'changed' })
  expect(viewOf(fold)).toEqual(before)
})

test('K1: fed event by event or at once, the view is the same; and again changes nothing', () => {
  const { events } = marketAnalysis()
  const fold = newRunFold()
  for (const each of events) viewOf(foldRun(fold, each))
  for (const each of events) foldRun(fold, each)
  expect(viewOf(fold)).toEqual(runView(events))
})

describe('the plan as Mermaid', () => {
  test('boxes, arrows, a dashed recruit', () => {
    expect(planGraph(teamIn(marketAnalysis().until(17)))).toBe(`flowchart LR
  t0["market-research<br/>researcher · succeeded"]:::succeeded
  t1["competitor-scan<br/>analyst · succeeded"]:::succeeded
  t2["product-compare<br/>product_expert · running"]:::running
  t3["tech-trend<br/>tech_expert · succeeded"]:::succeeded
  t4["swot<br/>strategist · waiting"]:::waiting
  t5["report<br/>writer · waiting"]:::waiting
  t6["dynamic_pricing_analyst_1<br/>pricing_analyst · running<br/>recruited by product_expert_1"]:::running
  t0 --> t4
  t1 --> t4
  t2 --> t4
  t3 --> t4
  t6 --> t4
  t4 --> t5
  t2 -.->|"recruited by product_expert_1"| t6
  classDef succeeded fill:#dafbe1,stroke:#1a7f37,color:#24292f
  classDef running fill:#ddf4ff,stroke:#0969da,color:#24292f
  classDef waiting fill:#f6f8fa,stroke:#8c959f,color:#57606a
  classDef recruited stroke-dasharray:5 5
  class t6 recruited
`)
  })

  test('topics are dotted, once for each pair, and never self-pointing', () => {
    const graph = planGraph(
      teamIn(
        new Writer().plan([
          { task: 'a', produces: ['p'], consumes: ['p'] },
          { task: 'b', consumes: ['p', 'q'] },
        ]).events,
      ),
    )
    expect(graph.split('\n').filter((line) => line.includes('-.->'))).toEqual(['  t0 -.->|"p"| t1'])
  })

  test('no text of a plan can break it', () => {
    const nasty = [
      'end',
      '"]',
      'a --> b',
      '%%{init: {}}%%',
      '<b>',
      'x;y',
      '`md`',
      'a\nb',
      '\u0000',
      '\ud800',
      '#35;',
      '1. list',
      '_em_',
      'www.x.y',
      '日本語',
      '👩‍💻',
      '',
    ]
    const tasks = nasty.map((task) => ({ task, role: task, produces: [task] }))
    const graph = planGraph(teamIn(new Writer().plan(tasks).plan([{ task: 'all', consumes: nasty }]).events))
    for (const line of graph.split('\n').slice(1, -1)) {
      const [text] = /(?<=").*(?=")/.exec(line) ?? ['']
      const rest = line.replace(text, '')
      expect(rest).toMatch(/^ {2}(t\d+\[""\]:::\w+|t\d+ -\.->\|""\| t\d+|classDef \w+ [\w:#,]+)$/)
      expect(text.replaceAll(/#\d+;|<br\/>/g, '')).toMatch(/^[\p{L}\p{M}\p{N} _,/·�-]*$/u)
    }
    expect(graph).toContain('日本語')
    expect(graph).toContain('t11["1#46; list<br/>1#46; list · pending"]')
  })
})
