/**
 * Humans and the tasks of a plan, second by second, as an outsider tries them: held runs, deadlines in them, rework
 * with several before and after, failures in a row, a plan in command. Spec team 2.4, R-13 to R-16.
 */
import { describe, expect, test } from 'vitest'
import { agent, sleep, step, teammate, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Subtask, type TeamOptions } from '../src/index.ts'
import { manualStart } from '@reeve/testing'
import { crew, played, staged, task, worker, type Doings, type Line, type Staged } from './trace.ts'

const loopy = { mode: 'in-the-loop' } as const
const at = (second: number): number => manualStart + second * 1_000
const open = async ({ run }: Staged) => (await run.view()).approvals.filter((each) => each.open)
const about = async (stage: Staged, id: string) => {
  const found = (await open(stage)).find((each) => each.task === id)
  expect(found, `nobody asks about ${id}`).toBeDefined()
  return found!
}
/** What a command resolves with, once the run has done what it can. */
async function done<T>(stage: Staged, command: Promise<T>): Promise<T> {
  const settled = Promise.allSettled([command])
  await stage.rests()
  const [end] = await settled
  if (end.status === 'rejected') throw end.reason
  return end.value
}
type Said = 'approve' | 'reject' | 'retry' | 'edit'
async function says(stage: Staged, second: number, id: string, decision: Said, more: object = {}): Promise<string> {
  await stage.until(second)
  const { id: approvalId } = await about(stage, id)
  await stage.run.decide({ approvalId, decision, approver: 'anna', ...more } as never)
  await stage.rests()
  return approvalId
}
const after = (lines: readonly Line[], second: number): readonly Line[] => lines.filter(([when]) => when >= second)

/** A report of ten seconds, and what publishes it. */
function market(options: Partial<TeamOptions<string>> = {}, more: Partial<Subtask> = {}) {
  const briefs: string[] = []
  let published = 0
  const publish = (ctx: Context): Promise<Json> =>
    step(ctx, 'publish', () => (published++, 'published'), { effect: 'once' })
  const doings: Doings = {
    E: 15,
    F: async (ctx: Context, brief: string): Promise<Json> => {
      briefs.push(brief)
      await sleep(ctx, 10_000)
      return `report ${new Set(briefs).size}`
    },
    publish,
    'Publish to the board only.': publish,
  }
  const subtasks = [
    task('E'),
    task('F', { dependencies: ['E'] }),
    task('publish', { action: 'publish_report', dependencies: ['F'], ...more }),
  ]
  return { team: crew(subtasks, doings, { oversight: loopy, ...options }), briefs, published: () => published }
}

describe('while the run is held', () => {
  test('R-13: a decision in a pause counts when it is made, and acts when the run goes on', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    await stage.run.control.pause({ reason: 'lunch' })
    await says(stage, 60, 'publish', 'approve')
    await stage.until(99)
    expect(published()).toBe(0)
    expect((await stage.run.view()).approvals).toMatchObject([{ resolution: 'approved', resolvedAt: at(60) }])
    await stage.until(100)
    await stage.run.control.resume()
    const { lines, outcome } = await stage.end()
    expect(after(lines, 30)).toEqual([
      [60, 'publish is approved'],
      [100, 'publish begins'],
      [100, 'publish succeeded'],
      [100, 'answer of E F publish'],
      [100, 'the run completed'],
    ])
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })

  test('R-13: a deadline passes in a pause: later decisions are late, nothing begins, and it is no human no', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    const { id, until } = await about(stage, 'publish')
    expect(until).toBe(at(1_825))
    await stage.run.control.pause({ reason: 'holidays' })
    await stage.until(1_900)
    await expect(stage.run.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.expired',
    })
    const { outcome } = await stage.end()
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'task.unanswered', class: 'timeout' } })
    expect((await stage.run.view()).approvals).toMatchObject([{ resolution: 'timed-out-rejected', until: at(1_825) }])
    expect(published()).toBe(0)
  })

  test('R-13: a decision in a takeover counts, and acts after it is handed back', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    await stage.run.control.takeOver({ by: 'bob', reason: 'mine' })
    await says(stage, 60, 'publish', 'approve')
    await stage.until(99)
    expect(published()).toBe(0)
    await stage.until(100)
    await stage.run.control.handBack({ by: 'bob' })
    const { lines, outcome } = await stage.end()
    expect(after(lines, 61)[0]).toEqual([100, 'publish begins'])
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })

  const replaced = {
    id: 'publish',
    description: 'Publish to the board only.',
    action: 'publish_report',
    dependencies: ['F'],
  }

  test('R-13: an asked task is replaced in a takeover: its question is withdrawn, and the new task is asked about', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    const former = await about(stage, 'publish')
    await stage.run.control.takeOver({ by: 'bob' })
    await done(stage, stage.run.control.handBack({ by: 'bob', plan: { replace: [replaced] } }))
    const next = await about(stage, 'publish')
    expect(next).toMatchObject({ description: 'Publish to the board only.' })
    expect(next.id).not.toBe(former.id)
    await expect(stage.run.decide({ approvalId: former.id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.expired',
      message: `approval "${former.id}" was taken back before it was answered: replaced by bob`,
    })
    expect((await stage.run.view()).approvals.map(({ resolution }) => resolution)).toEqual(['cancelled', undefined])
    expect(published()).toBe(0)
    await says(stage, 60, 'publish', 'approve')
    const { lines, outcome } = await stage.end()
    expect(after(lines, 60)).toContainEqual([60, 'publish begins'])
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })

  test('R-13: a yes that came before the edit is for the task as it was: the new one is asked about', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    await stage.run.control.takeOver({ by: 'bob' })
    await says(stage, 40, 'publish', 'approve')
    await done(stage, stage.run.control.handBack({ by: 'bob', plan: { replace: [replaced] } }))
    await stage.until(50)
    expect(published()).toBe(0)
    await says(stage, 60, 'publish', 'reject')
    expect((await stage.end()).outcome).toMatchObject({ status: 'failed', failure: { code: 'task.rejected' } })
    expect(published()).toBe(0)
  })

  test('R-13: an edit and a yes at once: the yes for the task as it was never begins the new one', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    const { id } = await about(stage, 'publish')
    await stage.run.control.takeOver({ by: 'bob' })
    const [edit, yes] = await Promise.allSettled([
      done(stage, stage.run.control.handBack({ by: 'bob', plan: { replace: [replaced] } })),
      stage.run.decide({ approvalId: id, decision: 'approve', approver: 'anna' }),
    ])
    expect(edit.status).toBe('fulfilled')
    // one that is stored while the edit is being read is for the task as it was
    expect(yes).toMatchObject(
      yes.status === 'fulfilled' ? { status: 'fulfilled' } : { reason: { code: 'approval.expired' } },
    )
    await stage.until(50)
    expect(published()).toBe(0)
    expect(await about(stage, 'publish')).toMatchObject({ description: 'Publish to the board only.' })
  })

  test('R-13: a no that came before the edit has ended the task, and the edit is refused', async () => {
    const stage = await staged(market().team)
    await stage.until(30)
    await stage.run.control.takeOver({ by: 'bob' })
    await says(stage, 40, 'publish', 'reject')
    await expect(
      done(stage, stage.run.control.handBack({ by: 'bob', plan: { replace: [replaced] } })),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^(plan.invalid|run.ended)$/) as string })
  })

  test('R-13: an asked task is removed in a takeover, unless a task that stays depends on it', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    const { id } = await about(stage, 'publish')
    await stage.run.control.takeOver({ by: 'bob' })
    const later = { id: 'later', description: 'Look at it.', dependencies: ['publish'] }
    await expect(
      done(stage, stage.run.control.handBack({ by: 'bob', plan: { add: [later], remove: ['publish'] } })),
    ).rejects.toMatchObject({ code: 'plan.invalid' })
    expect(await about(stage, 'publish')).toMatchObject({ id })
    await done(stage, stage.run.control.handBack({ by: 'bob', plan: { remove: ['publish'] } }))
    await expect(stage.run.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.expired',
      message: `approval "${id}" was taken back before it was answered: removed by bob`,
    })
    expect((await stage.end()).outcome.status).toBe('completed')
    expect(published()).toBe(0)
  })

  test('R-13: an asked task gets another role in a takeover, and is asked about anew', async () => {
    const roles = { generalist: worker({}), editor: worker({}, 'editor') }
    const stage = await staged(crew([task('publish', { action: 'publish_report' })], {}, { oversight: loopy, roles }))
    await stage.until(30)
    const former = await about(stage, 'publish')
    await stage.run.control.takeOver({ by: 'bob' })
    await done(stage, stage.run.control.handBack({ by: 'bob', plan: { roles: { publish: 'editor' } } }))
    expect((await about(stage, 'publish')).id).not.toBe(former.id)
    await says(stage, 60, 'publish', 'approve')
    const tasks = (await stage.run.view()).teams[0]?.plan?.tasks ?? []
    expect(tasks.find((each) => each.task === 'publish')).toMatchObject({ role: 'editor' })
  })

  test('R-13: a task whose result waits for approval has begun: it stays, and the error says both', async () => {
    const stage = await staged(market({}, { review: true }).team)
    await says(stage, 30, 'publish', 'approve')
    await stage.until(40)
    await stage.run.control.takeOver({ by: 'bob' })
    await expect(done(stage, stage.run.control.handBack({ plan: { remove: ['publish'] } }))).rejects.toThrow(
      /task "publish" has begun and is waiting for approval: it stays as it is/,
    )
  })

  test('C73: an asked task finished by hand: the question is withdrawn, and the task is not repeated', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await stage.until(30)
    const { id } = await about(stage, 'publish')
    await stage.run.control.takeOver({ by: 'bob', reason: 'mine' })
    await stage.run.control.complete({ task: 'publish', output: 'by hand', by: 'bob' })
    await stage.run.control.handBack({ by: 'bob' })
    const { outcome } = await stage.end()
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 3, planned: 3 } } })
    expect((await stage.run.view()).approvals).toMatchObject([{ id, resolution: 'cancelled' }])
    expect(published()).toBe(0)
    await expect(stage.run.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
      code: /^approval\./u,
    })
  })

  test('C89: a cancel closes what is open as cancelled, also in a pause', async () => {
    for (const paused of [false, true]) {
      const { team: root, published } = market()
      const stage = await staged(root)
      await stage.until(30)
      const { id } = await about(stage, 'publish')
      if (paused) await stage.run.control.pause({ reason: 'lunch' })
      await stage.until(40)
      await stage.run.control.cancel('enough')
      const { outcome } = await stage.end()
      expect(outcome.status).toBe('cancelled')
      expect((await stage.run.view()).approvals).toMatchObject([{ resolution: 'cancelled' }])
      await expect(stage.run.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
        code: 'approval.expired',
      })
      expect(published()).toBe(0)
    }
  })
})

describe('a deadline', () => {
  test('C81: a decision at exactly the deadline counts', async () => {
    const { team: root, published } = market()
    const stage = await staged(root)
    await says(stage, 1_825, 'publish', 'approve')
    const { lines, outcome } = await stage.end()
    expect(after(lines, 100)[0]).toEqual([1_825, 'publish is approved'])
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })
  test('C83: of an optional task skips it, as a deadline and not as a no, and is no failure', async () => {
    const { team: root } = market({}, { required: false })
    const { outcome, lines } = await played(root)
    expect(lines).toContainEqual([1_825.001, 'publish skipped: not approved in time'])
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: true } })
  })
  test('of 0 ms: passes without a wait', async () => {
    const { team: root } = market({}, { approval: { timeoutMs: 0 } })
    const { outcome, lines } = await played(root)
    expect(
      after(lines, 25)
        .map(([when]) => when)
        .every((when) => when === 25),
    ).toBe(true)
    expect(outcome).toMatchObject({ failure: { code: 'task.unanswered' } })
  })
  test('C82: of low risk may approve: it begins, with no approver named', async () => {
    const { team: root, published } = market(
      { oversight: { mode: 'in-command', approval: { onTimeout: 'approve', timeoutMs: 5_000 } } },
      { action: 'print', risk: 'low' },
    )
    const { outcome, events } = await played(root)
    const ends = events.flatMap(({ event }) => (event.type === 'approval.resolved' ? [event] : []))
    expect(ends.map(({ resolution }) => resolution)).toEqual(Array.from({ length: 4 }, () => 'timed-out-approved'))
    expect(ends.every(({ approver }) => approver === undefined)).toBe(true)
    expect([outcome.status, published()]).toEqual(['completed', 1])
  })
})

describe('what is sent back', () => {
  /** Two make what is published, a third looks at one of them. */
  const wide = (
    more: Partial<TeamOptions<string>> = {},
    doings: Doings = {},
  ): { root: Agent; briefs: Record<string, string[]> } => {
    const briefs: Record<string, string[]> = {}
    const heard =
      (name: string, seconds: number) =>
      async (ctx: Context, brief: string): Promise<Json> => {
        ;(briefs[name] ??= []).push(brief)
        await sleep(ctx, seconds * 1_000)
        return `${name} ${new Set(briefs[name]).size}`
      }
    const root = crew(
      [
        task('text'),
        task('chart'),
        task('proof', { dependencies: ['text'] }),
        task('archive', { dependencies: ['chart'] }),
        task('publish', { action: 'publish', dependencies: ['text', 'chart'] }),
      ],
      {
        text: heard('text', 10),
        chart: heard('chart', 5),
        proof: heard('proof', 2),
        archive: heard('archive', 30),
        publish: heard('publish', 1),
        ...doings,
      },
      { oversight: loopy, ...more },
    )
    return { root, briefs }
  }

  test('R-16: all that depends on it is redone with the feedback; begun tasks go on; nothing counts as failure', async () => {
    const { root, briefs } = wide()
    const stage = await staged(root)
    const first = await says(stage, 20, 'publish', 'retry', { comment: 'in blue' })
    await stage.until(31)
    const second = await about(stage, 'publish')
    expect(second).toMatchObject({ askedAt: at(30), until: at(1_830), context: { text: 'text 2', chart: 'chart 2' } })
    expect(second.id).not.toBe(first)
    await says(stage, 50, 'publish', 'approve')
    const { lines, outcome } = await stage.end()
    expect(after(lines, 20)).toEqual([
      [20, 'publish is retry'],
      [20, 'text is to be done again: in blue'],
      [20, 'chart is to be done again: in blue'],
      [20, 'text begins again (2)'],
      [20, 'chart begins again (2)'],
      [25, 'chart succeeded after 2'],
      [30, 'text succeeded after 2'],
      [30, 'publish is unblocked'],
      [30, 'publish: sensitive_action, asks'],
      [30, 'a human is asked about publish'],
      [35, 'archive succeeded'],
      [50, 'publish is approved'],
      [50, 'publish begins'],
      [51, 'publish succeeded'],
      [51, 'answer of text chart proof archive publish'],
      [51, 'the run completed'],
    ])
    expect([briefs['proof'], briefs['archive']].map((all) => new Set(all).size)).toEqual([1, 1])
    for (const name of ['text', 'chart']) expect(briefs[name]!.at(-1)).toContain('in blue')
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 5, planned: 5 }, partial: false } })
    expect((await stage.run.view()).teams[0]!.plan.failed).toBe(0)
  })

  test('R-16: it consumes no attempt: what is done again may still fail as often as anything', async () => {
    let tries = 0
    const { root } = wide(
      { retry: { attempts: 2, backoffMs: 0 } },
      {
        text: async (ctx: Context): Promise<Json> => {
          const nth = await step(ctx, 'try', () => ++tries)
          await sleep(ctx, 10_000)
          return nth === 1 || nth === 3
            ? { success: false, error: { message: 'later', retryable: true } }
            : `text ${nth}`
        },
      },
    )
    const stage = await staged(root)
    await says(stage, 30, 'publish', 'retry', { comment: 'again' })
    await says(stage, 60, 'publish', 'approve')
    const { outcome } = await stage.end()
    expect(outcome.status).toBe('completed')
    expect(tries).toBe(4)
  })

  test('R-16: what fails when it is done again is missing, or ends the plan, as anything that fails', async () => {
    let tries = 0
    const { root } = wide(
      { dependencies: { policy: 'require' } },
      {
        text: (ctx: Context): Promise<Json> =>
          step(ctx, 'try', () => (++tries === 1 ? 'text' : { success: false, error: 'no luck' })),
      },
    )
    const stage = await staged(root)
    await says(stage, 10, 'publish', 'retry', { comment: 'again' })
    const { outcome, lines } = await stage.end()
    expect(lines.map(([, what]) => what)).toContain('publish skipped: "text", which it depends on, did not succeed')
    expect(outcome.status).toBe('completed')
  })

  test('C87: three times, each with a new question, then the choice is gone and refused', async () => {
    const { team: root, briefs } = market()
    const stage = await staged(root)
    const ids: string[] = []
    for (const round of [1, 2, 3])
      ids.push(await says(stage, round * 50, 'publish', 'retry', { comment: `change ${round}` }))
    await stage.until(200)
    const last = await about(stage, 'publish')
    expect(last.options).toEqual(['approve', 'reject', 'edit'])
    await expect(stage.run.decide({ approvalId: last.id, decision: 'retry', comment: 'x' })).rejects.toMatchObject({
      code: 'approval.invalid',
    })
    expect(new Set([...ids, last.id]).size).toBe(4)
    await stage.run.decide({ approvalId: last.id, decision: 'reject', approver: 'anna', comment: 'no' })
    const { outcome } = await stage.end()
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'task.rejected' } })
    expect(outcome.results?.tasks.find(({ task: id }) => id === 'F')).toMatchObject({
      status: 'succeeded',
      output: 'report 4',
    })
    expect([briefs.length, (await stage.run.view()).teams[0]!.plan.failed]).toEqual([4, 1])
  })

  test('R-16: with a recruit before it, the recruit’s work stands and only the plan’s tasks are done again', async () => {
    let recruits = 0
    const made = team({
      name: 'crew',
      roles: {
        generalist: worker({
          text: async (ctx: Context, brief: string): Promise<Json> => {
            if (!brief.includes('again')) await teammate(ctx).recruit({ role: 'generalist', description: 'scout' })
            await sleep(ctx, 5_000)
            return `text ${brief.includes('again') ? 2 : 1}`
          },
          scout: async (ctx: Context): Promise<Json> => {
            await step(ctx, 'count', () => ++recruits)
            return 'seen'
          },
        }),
      },
      planner: { subtasks: [task('text'), task('publish', { action: 'publish', dependencies: ['text'] })] },
      oversight: loopy,
    })
    const stage = await staged(made)
    const first = await (await stage.until(10), about(stage, 'publish'))
    expect(first.context).toMatchObject({ text: 'text 1' })
    await says(stage, 10, 'publish', 'retry', { comment: 'again' })
    await stage.until(20)
    expect((await about(stage, 'publish')).context).toMatchObject({ text: 'text 2' })
    await says(stage, 20, 'publish', 'approve')
    const { outcome } = await stage.end()
    expect([outcome.status, recruits]).toEqual(['completed', 1])
  })
})

describe('what is edited', () => {
  test('R-16: is carried out as it was edited, once, and the approval is of what is done', async () => {
    const root = crew([task('print', { requiresApproval: true })], { whisper: 1 }, { oversight: loopy })
    const stage = await staged(root)
    await says(stage, 5, 'print', 'edit', { input: { description: 'whisper' } })
    const { outcome } = await stage.end()
    expect(outcome.results?.tasks).toMatchObject([{ status: 'succeeded', output: 'whisper' }])
  })
  test('R-16: is looked at again where it is not what can be done, and after three times that is the answer', async () => {
    const root = crew([task('print', { requiresApproval: true, required: false })], {}, { oversight: loopy })
    const stage = await staged(root)
    for (const second of [5, 6, 7]) await says(stage, second, 'print', 'edit', { input: { description: '' } })
    const { outcome } = await stage.end()
    expect(outcome.results?.tasks).toMatchObject([{ status: 'skipped' }])
  })
})

describe('a plan in command', () => {
  test('C78: the plan and its six tasks are approved in plan order before any begins', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const root = crew(
      ids.map((id) => task(id)),
      Object.fromEntries(ids.map((id) => [id, 1])),
      { oversight: { mode: 'in-command' }, concurrency: 2 },
    )
    const stage = await staged(root)
    await stage.until(5)
    const [plan, ...none] = await open(stage)
    expect([plan!.kind, none.length]).toEqual(['plan', 0])
    await stage.run.decide({ approvalId: plan!.id, decision: 'approve' })
    await stage.until(10)
    expect((await open(stage)).map((each) => each.task)).toEqual(ids)
    for (const id of ids.toReversed()) await says(stage, 10, id, 'approve')
    const { outcome, lines } = await stage.end()
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 6 } } })
    expect(lines.filter(([, what]) => what.endsWith('begins')).map(([when]) => when)).toEqual([10, 10, 11, 11, 12, 12])
  })
  test('R-16: required ones, one rejected: the others are not asked about any more, and none begins', async () => {
    const root = crew(
      ['a', 'b', 'c'].map((id) => task(id)),
      {},
      { oversight: { mode: 'in-command' } },
    )
    const stage = await staged(root)
    await stage.until(5)
    const [plan] = await open(stage)
    await stage.run.decide({ approvalId: plan!.id, decision: 'approve' })
    await says(stage, 10, 'b', 'reject', { comment: 'not b' })
    const { outcome } = await stage.end()
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'task.rejected', message: expect.stringContaining('not b') as string },
    })
    expect(outcome.results?.tasks.map(({ status }) => status)).toEqual(['cancelled', 'failed', 'cancelled'])
    expect((await stage.run.view()).approvals.map(({ resolution }) => resolution)).toEqual([
      'approved',
      'cancelled',
      'rejected',
      'cancelled',
    ])
  })
})

describe('results that are reviewed', () => {
  test('C79: of tasks side by side: each has a question of its own, answered in any order', async () => {
    const root = crew(
      [task('a', { review: true }), task('b', { review: true }), task('c', { dependencies: ['a', 'b'] })],
      { a: 5, b: 5 },
    )
    const stage = await staged(root)
    await says(stage, 10, 'b', 'edit', { input: 'B' })
    await stage.until(20)
    await says(stage, 20, 'a', 'approve')
    const { lines, outcome } = await stage.end()
    expect(after(lines, 1).filter(([, what]) => !what.startsWith('answer'))).toEqual([
      [5, 'a human is asked about the result of a'],
      [5, 'a human is asked about the result of b'],
      [10, 'b is edited'],
      [10, 'b succeeded'],
      [20, 'a is approved'],
      [20, 'a succeeded'],
      [20, 'c is unblocked'],
      [20, 'c begins'],
      [20, 'c succeeded'],
      [20, 'the run completed'],
    ])
    expect(outcome.results?.tasks).toMatchObject([{ output: 'a' }, { output: 'B' }, {}])
  })
  test('while one is looked at its permit is free', async () => {
    const root = crew([task('a', { review: true }), task('b')], { a: 5, b: 5 }, { concurrency: 1 })
    const stage = await staged(root)
    await stage.until(20)
    await says(stage, 20, 'a', 'approve')
    const { lines } = await stage.end()
    expect(lines).toContainEqual([5, 'b begins'])
    expect(lines).toContainEqual([10, 'b succeeded'])
  })
})

describe('what a human does not want of what a member says of itself', () => {
  const unsure = (more: Partial<Subtask>, oversight: object = {}): Agent =>
    team({
      name: 'crew',
      roles: {
        generalist: worker({}),
        guess: agent({ name: 'guess', description: 'Guesses.', run: () => 'x', assess: () => ({ confidence: 0.1 }) }),
      },
      planner: { subtasks: [task('a', { role: 'guess', ...more }), task('b'), task('c', { dependencies: ['a'] })] },
      oversight,
    })
  const ended = async (root: Agent) => {
    const stage = await staged(root)
    await stage.until(5)
    const [asked] = await open(stage)
    await stage.run.decide({ approvalId: asked!.id, decision: 'reject', approver: 'anna', comment: 'poor' })
    const { outcome } = await stage.end()
    return { outcome, failed: (await stage.run.view()).teams[0]!.plan.failed }
  }
  test('C83: ends the run where its task is required, with why it was looked at and what was said', async () => {
    const { outcome } = await ended(unsure({}))
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'task.rejected', class: 'rejected', details: { task: 'a', approver: 'anna' } },
    })
    expect((outcome as { failure: { message: string } }).failure.message).toMatch(
      /^Required task rejected: .*confidence is 0\.1.*: poor$/u,
    )
    expect(outcome.results?.tasks.map(({ status }) => status)).toEqual(['failed', 'succeeded', 'cancelled'])
  })
  test('C83: is missing where it is optional, and is no failure', async () => {
    const { outcome, failed } = await ended(unsure({ required: false }))
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: true } })
    expect([outcome.results?.tasks.map(({ status }) => status), failed]).toEqual([
      ['skipped', 'succeeded', 'succeeded'],
      0,
    ])
  })
  test('R-16: and a deadline is no human’s no', async () => {
    const { outcome } = await played(unsure({}, { approval: { timeoutMs: 0 } }))
    expect(outcome).toMatchObject({ failure: { code: 'task.unanswered', class: 'timeout' } })
  })
})

describe('failures in a row', () => {
  const fails = (): Promise<Json> => Promise.resolve({ success: false, error: { message: 'later', retryable: true } })
  const chain = (ids: readonly string[]) => ids.map((id) => task(id))
  const doing = (ids: readonly string[]): Doings =>
    Object.fromEntries(ids.filter((id) => id.startsWith('x')).map((id) => [id, fails]))
  const asked = (lines: readonly Line[]): readonly string[] =>
    lines.flatMap(([, what]) => (what.includes('consecutive_failures') ? [what] : []))
  const options = { strategy: 'sequential', tolerance: 100, retry: { attempts: 3, backoffMs: 0 } } as const

  test.each<[readonly string[], readonly string[]]>([
    [['x1', 'x2', 'ok'], []],
    [['x1', 'x2', 'x3', 'ok'], ['ok: consecutive_failures, noted']],
    [['x1', 'x2', 'a', 'x3', 'b'], []],
    [
      ['x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'b'],
      ['x4: consecutive_failures, noted', 'b: consecutive_failures, noted'],
    ],
  ])('C77: %j, each tried three times: attempts are not counted, tasks are', async (ids, due) => {
    const { lines } = await played(crew(chain(ids), doing(ids), { ...options, oversight: { mode: 'on-the-loop' } }))
    expect(asked(lines)).toEqual(due)
  })
  test('C77: a human who decides on anything has looked, and the count begins anew', async () => {
    const ids = ['x1', 'x2', 'x3', 'x4', 'x5', 'b']
    const tasks = ids.map((id, i) =>
      task(id, {
        ...(i > 0 ? { dependencies: [ids[i - 1]!] } : {}),
        ...(id === 'x3' ? { requiresApproval: true } : {}),
      }),
    )
    const stage = await staged(crew(tasks, doing(ids), { ...options, oversight: {} }))
    // a yes is for one attempt, and it is tried three times
    for (let attempt = 1; attempt <= 3; attempt++) await says(stage, 5, 'x3', 'approve')
    await says(stage, 6, 'b', 'approve')
    const { lines } = await stage.end()
    expect(asked(lines)).toEqual(['b: consecutive_failures, asks'])
  })
})

describe('what says how closely one task is looked at', () => {
  test('R-15: a task’s mode is only a mode: the team’s words and thresholds stay', async () => {
    const oversight = {
      mode: 'on-the-loop',
      escalate: { match: 'word', exceptions: ['payload_check'], costAboveUsd: 5, confidenceBelow: false },
    } as const
    const root = crew(
      [
        task('a', { action: 'payload_check', mode: 'in-the-loop' }),
        task('b', { action: 'repay2', estimate: { usd: 4 }, mode: 'in-the-loop' }),
        task('c', { action: 'payload_check' }),
      ],
      {},
      { oversight },
    )
    const { lines, outcome } = await played(root)
    expect(lines.filter(([, what]) => what.includes('asks') || what.includes('noted'))).toEqual([])
    expect(outcome.status).toBe('completed')
  })
  test('R-14, C76: what a task is to cost is looked at on every route', async () => {
    for (const route of ['simple', 'dag', 'team'] as const)
      for (const [usd, due] of [
        [1, []],
        [1.01, ['cost_limit']],
      ] as const) {
        const root = team({
          name: 'crew',
          roles: { generalist: worker({}) },
          planner: { subtasks: [task('only', { estimate: { usd } })], complexity: 0.1 },
          route,
          oversight: { mode: 'on-the-loop' },
        })
        const { events } = await played(root)
        const codes = events.flatMap(({ event }) =>
          event.type === 'escalation.raised' ? event.hits.map(({ code }) => code) : [],
        )
        expect([route, usd, codes]).toEqual([route, usd, due])
      }
  })
  test('R-17: what only a role calls sensitive is marked with the plan, and no deadline may approve it', async () => {
    const planned = (more: Partial<Subtask>) =>
      team({
        name: 'crew',
        roles: {
          generalist: worker({}),
          treasurer: {
            agent: worker({}, 'treasurer'),
            oversight: { mode: 'on-the-loop', escalate: { sensitive: ['wire'] } },
          },
        },
        planner: {
          subtasks: [task('a', { action: 'wire_it', role: 'treasurer', ...more }), task('b', { action: 'wire_it' })],
        },
      })
    const { events } = await played(planned({}))
    const plan = events.flatMap(({ event }) => (event.type === 'plan.created' ? [event] : []))[0]!
    expect(plan.tasks.map(({ task: id, risk }) => [id, risk])).toEqual([
      ['a', 'high'],
      ['b', undefined],
    ])
    const { outcome } = await played(planned({ approval: { onTimeout: 'approve' } }))
    expect(outcome).toMatchObject({ failure: { code: 'plan.invalid' } })
  })
})

describe('nothing is recorded', () => {
  test('without oversight, whatever tasks say they do', async () => {
    const root = crew([
      task('a', { action: 'publish', risk: 'critical', estimate: { usd: 9 } }),
      task('b', { required: false }),
    ])
    const { events } = await played(root)
    const kinds = new Set(events.map(({ event }) => event.type))
    for (const kind of ['escalation.raised', 'approval.requested', 'result.assessed', 'notice.sent'] as const)
      expect(kinds.has(kind)).toBe(false)
  })
})
