/**
 * The market analysis of spec team 2.4, second by second: publishing its report is an action of its own, and humans
 * decide on it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { sleep, step, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Subtask, type TeamOptions } from '../src/index.ts'
import { manualStart } from '@reeve/testing'
import { played, staged, worker, type Doings, type Line, type Staged } from './trace.ts'

const subtasks = (publish: Partial<Subtask> = {}, e: Partial<Subtask> = {}): readonly Subtask[] => [
  { id: 'A', description: 'A' },
  { id: 'B', description: 'B' },
  { id: 'C', description: 'C' },
  { id: 'D', description: 'D' },
  { id: 'E', description: 'E', dependencies: ['A', 'B', 'C', 'D'], ...e },
  { id: 'F', description: 'F', dependencies: ['E'] },
  { id: 'publish', description: 'publish', action: 'publish_report', dependencies: ['F'], ...publish },
]

interface Market {
  readonly team: Agent
  /** Briefs of the report, and how often it was published. */
  readonly briefs: string[]
  readonly published: () => number
}

/** The market analysis; by default in the loop. */
function market(publish?: Partial<Subtask>, options: Partial<TeamOptions<string>> = {}, e?: Partial<Subtask>): Market {
  const briefs: string[] = []
  let published = 0
  const doings: Doings = {
    A: 15,
    B: 12,
    C: 18,
    D: 15,
    E: 15,
    F: async (ctx: Context, brief: string): Promise<Json> => {
      briefs.push(brief)
      await sleep(ctx, 10_000)
      return `report ${new Set(briefs).size}`
    },
    publish: async (ctx: Context): Promise<Json> => {
      return step(ctx, 'publish', () => (published++, 'published'), { effect: 'once' })
    },
  }
  const made = team({
    name: 'analysts',
    roles: { generalist: worker(doings) },
    planner: { subtasks: subtasks(publish, e), complexity: 0.7 },
    oversight: { mode: 'in-the-loop' },
    ...options,
  })
  return { team: made, briefs, published: () => published }
}

const untilE: readonly Line[] = [
  ...['A', 'B', 'C', 'D'].map((task): Line => [0, `${task} begins`]),
  [12, 'B succeeded'],
  [15, 'A succeeded'],
  [15, 'D succeeded'],
  [18, 'C succeeded'],
  [18, 'E is unblocked'],
  [18, 'E begins'],
]
const untilAsked: readonly Line[] = [
  ...untilE,
  [33, 'E succeeded'],
  [33, 'F is unblocked'],
  [33, 'F begins'],
  [43, 'F succeeded'],
  [43, 'publish is unblocked'],
  [43, 'publish: sensitive_action, asks'],
  [43, 'a human is asked about publish'],
]
/** After everybody has joined. */
const worked = (lines: readonly Line[]): readonly Line[] => lines.slice(8)

const open = async ({ run }: Staged) => (await run.view()).approvals.filter((each) => each.open)
const only = async (stage: Staged) => {
  const all = await open(stage)
  expect(all).toHaveLength(1)
  return all[0]!
}
/** What somebody says in this second of the only thing that is open then. */
async function says(
  stage: Staged,
  second: number,
  decision: 'approve' | 'reject' | 'retry',
  comment?: string,
): Promise<string> {
  await stage.until(second)
  const { id } = await only(stage)
  await stage.run.decide({
    approvalId: id,
    decision,
    approver: 'anna',
    ...(comment === undefined ? undefined : { comment }),
  })
  await stage.rests()
  return id
}
const at = (second: number): number => manualStart + second * 1_000

describe('publishing the report', () => {
  test('team C98: S2: at 0 exactly the sensitive action is marked high risk; at 43 it is asked with its reason', async () => {
    const stage = await staged(market().team)
    await stage.until(42)
    const [planned] = (await stage.run.view()).teams
    expect(planned!.plan.tasks.map(({ task, action, risk }) => [task, action, risk])).toEqual([
      ...['A', 'B', 'C', 'D', 'E', 'F'].map((each) => [each, undefined, undefined]),
      ['publish', 'publish_report', 'high'],
    ])
    await stage.until(100)
    expect(await only(stage)).toMatchObject({
      tool: 'publish_report',
      kind: 'task',
      task: 'publish',
      risk: 'high',
      askedAt: at(43),
      until: at(1_843),
      onTimeout: 'reject',
      context: { F: 'report 1' },
      options: ['approve', 'reject', 'edit', 'retry'],
    })
    const [waiting] = (await stage.run.view()).teams
    expect(waiting!.plan.tasks.at(-1)).toMatchObject({ status: 'awaiting_approval', waitsFor: [] })
  })

  test('team C98: S2a: approved at 163 it is published once, and the run completes', async () => {
    const { team: analysts, published } = market()
    const stage = await staged(analysts)
    await says(stage, 163, 'approve')
    const { lines, outcome } = await stage.end()
    expect(worked(lines)).toEqual([
      ...untilAsked,
      [163, 'publish is approved'],
      [163, 'publish begins'],
      [163, 'publish succeeded'],
      [163, 'answer of A B C D E F publish'],
      [163, 'the run completed'],
    ])
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 7, planned: 7 }, partial: false },
    })
    expect(published()).toBe(1)
  })

  test('team C98: S2b: rejected with a comment, the run fails with reason and comment, and keeps the report', async () => {
    const { team: analysts, published } = market()
    const stage = await staged(analysts)
    await says(stage, 163, 'reject', 'the numbers are old')
    const { lines, outcome } = await stage.end()
    expect(worked(lines)).toEqual([
      ...untilAsked,
      [163, 'publish is rejected'],
      [163, 'publish failed: task.rejected'],
      [163, 'aborted 1/7: rejected'],
      [163, 'the run failed'],
    ])
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: {
        code: 'task.rejected',
        class: 'rejected',
        message: 'Required task rejected: "publish_report" is sensitive: publish: the numbers are old',
        details: { task: 'publish', approver: 'anna', comment: 'the numbers are old' },
      },
    })
    expect(outcome.results?.tasks.find(({ task }) => task === 'F')).toMatchObject({ output: 'report 1' })
    expect(published()).toBe(0)
  })

  test('team C98: S2c: where it is optional it is skipped, and the run completes in part', async () => {
    const { team: analysts, published } = market({ required: false })
    const stage = await staged(analysts)
    await says(stage, 163, 'reject', 'not now')
    const { lines, outcome } = await stage.end()
    expect(worked(lines).slice(untilAsked.length)).toEqual([
      [163, 'publish is rejected'],
      [163, 'publish skipped: rejected by anna: not now'],
      [163, 'answer of A B C D E F'],
      [163, 'the run completed'],
    ])
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 6, planned: 7 }, partial: true },
    })
    expect(published()).toBe(0)
  })

  test('team C98: S2d: unanswered, it times out at 1843; an approving deadline is refused before any start', async () => {
    const { team: analysts, published } = market()
    const { lines, outcome } = await played(analysts)
    // a decision at 1843 would have counted
    expect(worked(lines).slice(untilAsked.length)).toEqual([
      [1_843.001, 'publish is timed-out-rejected'],
      [1_843.001, 'publish failed: task.unanswered'],
      [1_843.001, 'aborted 1/7: rejected'],
      [1_843.001, 'the run failed'],
    ])
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'task.unanswered', class: 'timeout' } })
    expect(published()).toBe(0)
    const eager = await played(market({ approval: { onTimeout: 'approve' } }).team)
    expect(eager.outcome).toMatchObject({ status: 'failed', failure: { code: 'plan.invalid' } })
    expect(eager.lines).toEqual([[0, 'the run failed']])
  })

  test('team C98: S2e: an answer at 1900 comes too late, and nothing is published', async () => {
    const { team: analysts, published } = market()
    const stage = await staged(analysts)
    await stage.until(44)
    const { id } = await only(stage)
    await stage.until(1_900)
    await expect(stage.run.decide({ approvalId: id, decision: 'approve', approver: 'anna' })).rejects.toThrow(
      /deadline|late|expired/u,
    )
    expect((await stage.run.view()).approvals).toMatchObject([{ resolution: 'timed-out-rejected' }])
    expect(published()).toBe(0)
  })

  test('team C98: S2f: sent back at 100, the report is rewritten with the feedback and asked anew', async () => {
    const { team: analysts, briefs, published } = market()
    const stage = await staged(analysts)
    const first = await says(stage, 100, 'retry', 'shorter, please')
    await stage.until(111)
    const second = await only(stage)
    expect(second.id).not.toBe(first)
    expect(second).toMatchObject({ askedAt: at(110), until: at(1_910), context: { F: 'report 2' } })
    await says(stage, 163, 'approve')
    const { lines, outcome } = await stage.end()
    expect(worked(lines).slice(untilAsked.length)).toEqual([
      [100, 'publish is retry'],
      [100, 'F is to be done again: shorter, please'],
      [100, 'F begins again (2)'],
      [110, 'F succeeded after 2'],
      [110, 'publish is unblocked'],
      [110, 'publish: sensitive_action, asks'],
      [110, 'a human is asked about publish'],
      [163, 'publish is approved'],
      [163, 'publish begins'],
      [163, 'publish succeeded'],
      [163, 'answer of A B C D E F publish'],
      [163, 'the run completed'],
    ])
    expect(briefs.at(-1)).toContain('shorter, please')
    expect(briefs.at(-1)).toContain('report 1')
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 7, planned: 7 } } })
    const [view] = (await stage.run.view()).teams
    expect([view!.plan.failed, view!.members.length]).toEqual([0, 7])
    expect(published()).toBe(1)
  })

  test('team C98: S2g: a result that a human reviews does not count before they approve of it', async () => {
    const { team: analysts } = market({}, {}, { review: true })
    const stage = await staged(analysts)
    await says(stage, 40, 'approve')
    await says(stage, 60, 'approve')
    const { lines, outcome } = await stage.end()
    expect(worked(lines)).toEqual([
      ...untilE,
      [33, 'a human is asked about the result of E'],
      [40, 'E is approved'],
      [40, 'E succeeded'],
      [40, 'F is unblocked'],
      [40, 'F begins'],
      [50, 'F succeeded'],
      [50, 'publish is unblocked'],
      [50, 'publish: sensitive_action, asks'],
      [50, 'a human is asked about publish'],
      [60, 'publish is approved'],
      [60, 'publish begins'],
      [60, 'publish succeeded'],
      [60, 'answer of A B C D E F publish'],
      [60, 'the run completed'],
    ])
    expect(outcome.status).toBe('completed')
  })

  test('team C98: S2h: on the loop what always requires an approval is asked; unmarked it is only noted', async () => {
    const oversight = { mode: 'on-the-loop' } as const
    const marked = await staged(market({ requiresApproval: true }, { oversight }).team)
    await marked.until(50)
    expect(await only(marked)).toMatchObject({ task: 'publish', until: at(1_843) })
    const { team: analysts, published } = market({}, { oversight })
    const { lines, outcome } = await played(analysts)
    expect(worked(lines).slice(untilAsked.length - 2)).toEqual([
      [43, 'publish: sensitive_action, noted'],
      [43, 'publish begins'],
      [43, 'publish succeeded'],
      [43, 'answer of A B C D E F publish'],
      [43, 'the run completed'],
    ])
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })

  test('team C98: S2i: paused at 20 and resumed at 60, E ends at 33, and F begins at 60', async () => {
    const stage = await staged(market().team)
    await stage.until(20)
    await stage.run.control.pause({ reason: 'lunch' })
    await stage.until(60)
    await stage.run.control.resume()
    await says(stage, 163, 'approve')
    const { lines } = await stage.end()
    const ofEAndF = worked(lines).filter(([, what]) => /^[EF] /u.test(what))
    expect(ofEAndF).toEqual([
      [18, 'E is unblocked'],
      [18, 'E begins'],
      [33, 'E succeeded'],
      [60, 'F is unblocked'],
      [60, 'F begins'],
      [70, 'F succeeded'],
    ])
    expect(lines).toContainEqual([70, 'a human is asked about publish'])
  })

  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  test('team C98: S2k: over a crash at 44 it is one approval, with its id and its deadline', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-s2-'))
    folders.push(folder)
    const file = join(folder, 'market.db')
    const { team: analysts, published } = market()
    const first = await staged(analysts, 'Go', file)
    await first.until(44)
    const before = await only(first)
    await first.runtime.close()
    const next = await staged(analysts, 'Go', file)
    next.clock.advance(44_000)
    await next.rests()
    expect(await only(next)).toEqual(before)
    expect(before.until).toBe(at(1_843))
    await next.run.decide({ approvalId: before.id, decision: 'approve', approver: 'anna' })
    const { lines, outcome } = await next.end()
    expect(lines.filter(([, what]) => what === 'a human is asked about publish')).toEqual([
      [43, 'a human is asked about publish'],
    ])
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })
})
