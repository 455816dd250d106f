/**
 * The plan as a picture in a terminal: levels, signs, bars, what else there is to know; and the command that shows it.
 */
import { describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, parallel, team } from '@reeve/public'
import { failed, failure } from '@reeve/core'
import { runView, type Recorded } from '@reeve/journal'
import { graphLines } from '../src/graph.ts'
import { eventLines } from '../src/event-lines.ts'
import { main } from '../src/program.ts'
import { treeLines } from '../src/tree.ts'
import { broken, marketAnalysis, root, workerOf, Writer } from '../../journal/test/market.ts'
import { fakeTerminal } from './fake-terminal.ts'

const picture = (events: readonly Recorded[], second: number, columns = 100): string =>
  graphLines(runView(events).teams[0]!, { now: second * 1_000, columns }).join('\n')
/** Between the two lines about the whole and the remarks. */
const tasksOf = (text: string): string[] => text.split('\n\n')[1]!.split('\n')

describe('the picture', () => {
  test('levels from the top, recruits below their requester, bars by working time', () => {
    expect(picture(marketAnalysis().events, 45))
      .toBe(`analysts  team: 6 tasks are more than 5; tasks depend on each other
completed: 6 of 6 tasks succeeded, 1 recruit; up to 5 at once; 45s

  ✓ market-research               researcher_1                       15s  ━━━━━━━━━
  ✓ competitor-scan               analyst_1                          12s  ━━━━━━━
  ✓ product-compare               product_expert_1                   18s  ━━━━━━━━━━
  ╰╌ ✓ dynamic_pricing_analyst_1  recruited by product_expert_1      10s        ━━━━━━
  ✓ tech-trend                    tech_expert_1                      15s  ━━━━━━━━━
  ↓
  ✓ swot                          strategist_1                       15s              ━━━━━━━━
    after market-research, competitor-scan, product-compare, tech-trend, dynamic_pricing_analyst_1
  ↓
  ✓ report                        writer_1                           10s                      ━━━━━━
    after swot

mail: 1 message
answer: 6 results, concatenated`)
  })

  test('while it goes on: who works, what is waited for', () => {
    const text = picture(marketAnalysis().until(17), 17)
    expect(text).toContain('running: 3 of 6 tasks succeeded, 2 running, 2 pending, 1 recruit; up to 5 at once; 17s')
    expect(text).toContain('  ● product-compare               product_expert_1                   17s')
    expect(text).toContain('  ○ swot                          strategist_1\n')
    expect(text).toContain('    waits for product-compare, dynamic_pricing_analyst_1')
    expect(text).toContain('mail: 1 message, unread: strategist_1 1')
  })

  test('fits any terminal: what is long is cut or goes on in the next line', () => {
    for (const columns of [100, 80, 60, 40, 30]) {
      const text = picture(marketAnalysis().events, 45, columns)
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns)
      expect(text.match(/[✓]/g)).toHaveLength(7)
    }
    const wide = new Writer()
      .plan([...Array(120).keys()].map((i) => ({ task: `t${i}` })))
      .plan([{ task: 'all', dependencies: [...Array(120).keys()].map((i) => `t${i}`) }])
    const lines = tasksOf(picture(wide.events, 1, 60))
    expect(lines.filter((line) => line.includes('○'))).toHaveLength(121)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
    expect(lines.join(' ').match(/\bt119\b/g)).toHaveLength(3)
  })

  test('what went wrong is told with its task, and why it was given up', () => {
    const writer = new Writer()
      .plan(
        [
          { task: 'a', critical: true },
          { task: 'b', dependencies: ['a'], produces: ['p'] },
          { task: 'c', consumes: ['p'] },
        ],
        { maxFailures: 2, warnings: ['a doubt'] },
      )
      .begin(0, 'a', 'worker_a')
      .settle(3, 'a', 'worker_a', { status: 'failed', attempts: 3, failure: broken })
      .fact(3, { type: 'plan.aborted', reason: 'critical', failed: 1, total: 3, maxFailures: 2, failures: [] })
      .settle(3, 'b', 'worker_b', { status: 'skipped', attempts: 0, reason: '"a" did not succeed' })
      .settle(3, 'c', 'worker_c', { status: 'cancelled', attempts: 0, reason: 'the plan was given up' })
      .fact(3, { type: 'mail.refused', from: 'worker_a', to: '*', reason: 'too_large' })
      .end(3, failed(broken))
    expect(picture(writer.events, 3, 70)).toBe(`analysts  team: tasks depend on each other
failed: 0 of 3 tasks succeeded, 1 failed (aborts at 2), 1 skipped, 1
  cancelled; up to 5 at once; 3.0s

  ✗ a  worker_a     3.0s  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    critical: its failure aborts the plan
    3 attempts: the exchange does not answer
  ↓
  – b  worker_b
    after a
    adds to p
    "a" did not succeed
  ↓
  – c  worker_c
    needs p
    the plan was given up

aborted: 1 of 3 tasks failed, one of them critical
warning: a doubt
mail: 0 messages, 1 refused (too large)`)
  })

  test('tasks that were retried, reassigned, continued without an input or wait for a human', () => {
    const writer = new Writer()
      .plan([{ task: 'a' }, { task: 'b', dependencies: ['a'] }, { task: 'c' }])
      .begin(0, 'a', 'worker_a')
      .fact(1, { type: 'task.retried', task: 'a', attempt: 1, failure: broken, delayMs: 1_000 })
      .fact(1, { type: 'teammate.retired', member: 'worker_a', mode: 'force' })
      .fact(1, { type: 'teammate.joined', member: 'worker_2', role: 'worker', task: 'a' })
      .fact(1, { type: 'task.reassigned', task: 'a', from: 'worker_a', to: 'worker_2' })
      .begin(2, 'a', 'worker_2', 2)
      .begin(2, 'c', 'worker_c')
    writer.event(2, workerOf('c'), { type: 'activation.started', agent: 'worker', version: '1', input: null })
    writer.event(3, workerOf('c'), {
      type: 'interrupt.raised',
      op: 'ask',
      address: 'ask',
      id: 'int_1',
      path: [],
      question: 'Which?',
    })
    expect(picture(writer.events, 4)).toContain(
      'reassigned from worker_a\n    2 attempts: the exchange does not answer',
    )
    expect(picture(writer.events, 4)).toContain('? c  worker_c     2.0s')
    expect(picture(writer.events, 4)).toContain('    waits for approval')
    writer
      .settle(5, 'a', 'worker_2', { status: 'succeeded', attempts: 2 })
      .settle(6, 'b', 'worker_b', { missing: ['a'] })
    expect(picture(writer.events, 6)).toContain('    2 attempts\n')
    expect(picture(writer.events, 6)).toContain('    without a')
  })

  test('a recruit requested from outside stands alone; recruits of recruits are indented further', () => {
    const joins = (writer: Writer, member: string, by: string): Writer =>
      writer.fact(1, { type: 'teammate.joined', member, role: 'x', task: member, recruited: true, by, join: 'run' })
    const text = picture(
      joins(joins(joins(new Writer().plan([{ task: 'a' }]), 'r1', 'worker_a'), 'r2', 'r1'), 'r3', 'operator').events,
      1,
    )
    expect(tasksOf(text)).toEqual([
      '  ○ a         worker_a',
      '  ╰╌ ○ r1     recruited by worker_a',
      '     ╰╌ ○ r2  recruited by r1',
      '  ○ r3        recruited by operator',
    ])
  })

  test('a text cannot redraw the terminal', () => {
    const writer = new Writer(root, 'evil\u001b[2J').plan([{ task: 'x\u001b[31m\ny', role: 'r\u0007' }])
    writer.settle(1, 'x\u001b[31m\ny', 'r\u0007_x\u001b[31m\ny', {
      status: 'failed',
      failure: { ...broken, message: 'no\u001b[0m' },
    })
    const text = picture(writer.events, 1)
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(text).toContain(String.raw`x\u001b[31m y`)
  })

  test('plans of any size: a chain of two thousand, all at once, and one with a circle', () => {
    const chain = [...Array(2_000).keys()].map((i) => ({ task: `t${i}`, dependencies: i === 0 ? [] : [`t${i - 1}`] }))
    const lines = tasksOf(picture(new Writer().plan(chain.toReversed()).events, 0))
    expect(lines.filter((line) => line.includes('○')).map((line) => line.trim().split(/\s+/)[1])).toEqual(
      chain.map(({ task }) => task),
    )
    expect(
      tasksOf(
        picture(
          new Writer().plan([
            { task: 'a', dependencies: ['b'] },
            { task: 'b', dependencies: ['a'] },
          ]).events,
          0,
        ),
      ).filter((line) => line.includes('○')),
    ).toHaveLength(2)
    expect(picture(new Writer().plan([]).events, 0)).toContain('0 of 0 tasks succeeded')
  })

  test('what else there is to know', () => {
    const writer = new Writer()
      .fact(0, {
        type: 'strategy.advised',
        strategy: 'sequential',
        confidence: 0.9,
        overrides: true,
        warnings: ['mind the rate limit'],
      })
      .fact(0, { type: 'plan.rejected', problems: ['a > a', 'b is unknown'], warnings: [], repair: true })
      .plan([{ task: 'a' }], { fallback: broken })
      .fact(1, { type: 'recruit.requested', request: 'r', role: 'writer', description: 'Write.', by: 'worker_a' })
      .fact(1, {
        type: 'recruit.decided',
        request: 'r',
        admitted: false,
        reason: 'team_size',
        message: 'there are 10 of 10',
      })
      .fact(1, { type: 'budget.set', limits: { tokens: 1_000, usd: 2 }, mode: 'soft' })
      .fact(1, {
        type: 'budget.moved',
        task: 'a',
        move: 'reserved',
        tokens: 188,
        usd: 0,
        spent: { tokens: 812, usd: 0.5 },
        reserved: { tokens: 188, usd: 0 },
        unknown: 2,
      })
      .fact(1, { type: 'budget.warned', task: 'a', of: 'tokens', wanted: 300, left: 188 })
      .fact(2, { type: 'deadlock.found', kind: 'livelock', cycle: ['a', 'b'], message: 'a and b reply to each other' })
      .fact(2, { type: 'memory.unavailable', wanted: 'record', failure: broken })
      .fact(3, {
        type: 'results.synthesised',
        by: 'model',
        used: ['a'],
        dropped: [
          { task: 'b', reason: 'it says the same as a' },
          { task: 'c', reason: 'not-succeeded' },
        ],
        fallback: broken,
      })
    expect(picture(writer.events, 3, 200).split('\n\n')[2])
      .toBe(`planning failed, so the whole question is one task: the exchange does not answer
rejected plan: a > a; b is unknown
livelock: a and b reply to each other
no writer joined for worker_a: there are 10 of 10
budget: 812 of 1000 tokens used, 188 reserved; 0.5 of 2 usd used
budget: the usage of 2 calls is unknown
budget: may not be enough for a
advice: sequential (0.9, binding)
advice: mind the rate limit
memory: recording failed: the exchange does not answer
answer: 1 result, combined by a model
combining the results failed: the exchange does not answer
left out: b (it says the same as a)
left out: c (did not succeed)`)
  })
})

test('the tree names the task of each member', () => {
  const writer = new Writer().plan([{ task: 'look it\nup' }]).begin(0, 'look it\nup', 'worker_1')
  writer.event(0, workerOf('look it\nup'), { type: 'activation.started', agent: 'worker', version: '1', input: null })
  writer
    .fact(1, { type: 'teammate.joined', member: 'r', role: 'x', task: 'r', recruited: true, join: 'run' })
    .begin(1, 'r', 'r')
  writer.event(1, workerOf('r'), { type: 'activation.started', agent: 'worker', version: '1', input: null })
  expect(
    treeLines(runView(writer.events), { now: 2_000, columns: 100 }).map((line) =>
      line.replace(/^.*?(?=analysts|worker)/, ''),
    ),
  ).toEqual(['analysts  2.0s', 'worker [look it up]  2.0s', 'worker [r] (recruited)  1.0s'])
})

describe('reeve events', () => {
  test('team R-21: every fact of a team has a line', () => {
    const lineOf = eventLines()
    const lines = marketAnalysis().events.map((each) => lineOf(each)?.slice(10))
    expect(lines.filter((line) => line !== undefined)).toHaveLength(lines.length - 1) // the message that brought the mail
    expect(lines).toContain(
      'analysts has a plan of 6 tasks (team): market-research, competitor-scan, product-compare, tech-trend, swot, report',
    )
    expect(lines).toContain(
      'product_expert_1 asks for a pricing_analyst: Deep analysis of the pricing strategy of each product',
    )
    expect(lines).toContain(
      'dynamic_pricing_analyst_1 joins analysts, recruited by product_expert_1, a generalist in place of a pricing_analyst',
    )
    expect(lines).toContain('mail 1 from researcher_1 to strategist_1')
    expect(lines).toContain('strategist_1 reads mail 1')
    expect(lines).toContain('swot is ready')
  })

  test('the rarer ones', () => {
    const long = 'x'.repeat(500)
    const none = { tokens: 0, usd: 0 }
    const facts = new Writer()
      .fact(0, { type: 'plan.rejected', problems: ['a > a'], warnings: [], repair: true })
      .fact(0, {
        type: 'plan.revised',
        added: [{ task: 'g', description: 'G', member: 'm', role: 'r', dependencies: [] }],
        by: 'lead',
      })
      .fact(0, { type: 'plan.aborted', reason: 'failures', failed: 4, total: 6, maxFailures: 4, failures: [] })
      .fact(0, { type: 'task.started', task: 'a', member: 'm', attempt: 2, activation: workerOf('a') })
      .fact(0, {
        type: 'task.retried',
        task: 'a',
        attempt: 2,
        failure: failure('tool.failed', long, 'transport'),
        delayMs: 2_000,
      })
      .fact(0, { type: 'task.reassigned', task: 'a', from: 'm', to: 'n' })
      .fact(0, {
        type: 'task.settled',
        task: 'a',
        member: 'n',
        status: 'failed',
        attempts: 3,
        failure: broken,
        missing: ['b'],
      })
      .fact(0, { type: 'task.settled', task: 'b', member: 'n', status: 'skipped', attempts: 0, reason: 'not needed' })
      .fact(0, { type: 'teammate.retired', member: 'm', mode: 'force', by: 'lead', reason: 'idle' })
      .fact(0, { type: 'retire.refused', request: 'r', member: 'm', reason: 'ended', message: 'm has ended' })
      .fact(0, { type: 'recruit.decided', request: 'r', admitted: true, member: 'm', duplicate: true })
      .fact(0, { type: 'recruit.decided', request: 'r', admitted: false, reason: 'policy', message: 'not now' })
      .fact(0, {
        type: 'mail.accepted',
        seq: 2,
        from: 'operator',
        by: 'ada',
        to: 'role:none',
        recipients: [],
        kind: 'info',
      })
      .fact(0, { type: 'mail.refused', from: 'm', to: '*', reason: 'quota', message: '20 of 20' })
      .fact(0, { type: 'mail.truncated', from: 7, dropped: 6, total: 6 })
      .fact(0, { type: 'mail.truncated', member: 'm', dropped: 1, total: 7 })
      .fact(0, { type: 'mail.forwarded', member: 'm', seqs: [2] })
      .fact(0, { type: 'mail.unread', member: 'm', seqs: [1, 2, 3, 4, 5, 6, 7, 8, 9] })
      .fact(0, { type: 'topic.published', topic: 'p', seq: 1, task: 'a', bytes: 1 })
      .fact(0, { type: 'topic.refused', topic: 'p', task: 'a', reason: 'too_large' })
      .fact(0, { type: 'budget.set', limits: { tokens: 1_000, usd: 2 }, mode: 'hard' })
      .fact(0, { type: 'budget.set', limits: { tokens: 1_500 }, mode: 'hard', raised: { of: 'tokens', by: 500 } })
      .fact(0, { type: 'budget.moved', task: 'a', move: 'reserved', tokens: 200, usd: 0, spent: none, reserved: none })
      .fact(0, {
        type: 'budget.moved',
        task: 'a',
        move: 'settled',
        tokens: 180,
        usd: 0.25,
        spent: none,
        reserved: none,
      })
      .fact(0, { type: 'budget.moved', task: 'b', move: 'waiting', tokens: 180, usd: 0, spent: none, reserved: none })
      .fact(0, { type: 'budget.moved', task: 'a', move: 'settled', tokens: 0, usd: 0, spent: none, reserved: none })
      .fact(0, { type: 'budget.crossed', percent: 100, of: 'usd', spent: 2.5, limit: 2 })
      .fact(0, { type: 'budget.warned', task: 'a', of: 'usd', wanted: 2, left: 1 })
      .fact(0, { type: 'strategy.advised', strategy: 'parallel', confidence: 0.5, overrides: false, warnings: [] })
      .fact(0, { type: 'memory.unavailable', wanted: 'recall', failure: broken })
      .fact(0, { type: 'results.synthesised', by: 'function', used: ['a'], dropped: [{ task: 'b', reason: 'empty' }] })
      .fact(0, { type: 'deadlock.found', kind: 'deadlock', cycle: ['a'], message: 'a waits for b' })
    const lineOf = eventLines()
    expect(facts.events.map((each) => lineOf(each)?.slice(10)).slice(1)).toEqual([
      'analysts rejects a plan and asks once more: a > a',
      'analysts adds to its plan by lead: g',
      'analysts aborts its plan (failures): 4 of 6 failed',
      'm begins a (attempt 2)',
      `a: attempt 2 failed, the next starts in 2000 ms: ${'x'.repeat(115)}…+385`,
      'a is reassigned from m to n',
      'a failed after 3 attempts: the exchange does not answer (without b)',
      'b skipped: not needed',
      'm retires at once by lead: idle',
      'm is not retired (ended): m has ended',
      'm already does that',
      'recruit refused (policy): not now',
      'mail 2 from ada to role:none (info): no such member',
      'mail from m to * was refused (quota): 20 of 20',
      '6 messages dropped: the inbox is full (6 in all)',
      '1 message to m dropped: the inbox is full (7 in all)',
      'm receives mail 2',
      'm never read 9 messages',
      'a adds entry 1 to p (1 byte)',
      'an entry of a to p was refused (too_large)',
      'analysts may use 1000 tokens, 2 usd',
      'analysts may use 500 tokens more',
      '200 tokens reserved for a',
      'a used 180 tokens, 0.25 usd',
      'b waits for budget that others have reserved',
      'a used nothing',
      'analysts used 100% of its usd (2.5 of 2)',
      'a begins with 1 usd left, though it may need 2',
      'learning advises parallel (0.5)',
      'the memory of analysts failed to recall: the exchange does not answer',
      'analysts combines 1 result into its answer (function), without b',
      'deadlock: a waits for b',
    ])
  })
})

describe('reeve show --graph', () => {
  const planned = (name: string, ...tasks: string[]) =>
    team({
      name,
      description: 'Works.',
      roles: { generalist: agent({ name: `${name}_worker`, description: 'Works.', run: (_ctx, brief) => brief }) },
      planner: { subtasks: tasks.map((id) => ({ id, description: id })) },
    })
  const both = parallel({ name: 'both', agents: [planned('left', 'a', 'b'), planned('right', 'c')] })
  const alone = agent({ name: 'alone', run: () => 'done' })

  async function reeve(
    ...args: string[]
  ): Promise<{ readonly exit: number; readonly out: string; readonly notes: string }> {
    const terminal = fakeTerminal()
    const exit = await main(args, { terminal, cwd: folder, interrupted: new AbortController().signal, version: '0' })
    return { exit, out: terminal.written, notes: terminal.notes }
  }
  const folder = mkdtempSync(join(tmpdir(), 'reeve-graph-'))
  const store = join(folder, 'reeve.db')

  test('all teams of a run, as pictures, as Mermaid, or a word that there is none', async () => {
    {
      await using runtime = await createRuntime({ store, agents: [both, alone] })
      await (await runtime.start(both, 'Go', { runId: 'run_both' })).outcome()
      await (await runtime.start(alone, 'Go', { runId: 'run_alone' })).outcome()
    }
    const show = (...args: string[]): ReturnType<typeof reeve> => reeve('--store', store, 'show', ...args)
    const pictures = await show('run_both', '--graph')
    expect(pictures).toMatchObject({ exit: 0, notes: '' })
    expect(pictures.out.match(/^(left|right) .*$|✓ [abc]/gm)).toEqual([
      'left  dag: 2 tasks, and nothing that needs a team',
      '✓ a',
      '✓ b',
      'right  dag: 1 task, and nothing that needs a team',
      '✓ c',
    ])
    const mermaid = await show('run_both', '--graph', 'mermaid')
    expect(mermaid.out.match(/flowchart LR/g)).toHaveLength(2)
    expect(mermaid.out).toContain('t0["a<br/>generalist · succeeded"]:::succeeded')
    expect(await show('run_alone', '--graph')).toEqual({
      exit: 0,
      out: '',
      notes: 'the run "run_alone" has no plan\n',
    })
    expect((await show('run_both')).out).toContain('left_worker [a]')
    expect((await show('run_both', '--graph', 'png')).exit).toBe(2)
    expect((await show('run_both', '--graph', '--json')).exit).toBe(2)
    const { teams } = JSON.parse((await show('run_both', '--json')).out) as { teams: { agent: string }[] }
    expect(teams.map(({ agent: name }) => name)).toEqual(['left', 'right'])
    rmSync(folder, { recursive: true, force: true })
  })
})
