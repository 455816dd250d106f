/**
 * What a run carries along over a takeover, a deploy, a restart, another attempt and a retry: decisions, open questions,
 * grants, usage, trust. docs/explanation/ways-back.md has the table. K6.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  agent,
  createRuntime,
  interrupt,
  supervisor,
  tool,
  type Agent,
  type ModelFunction,
  type Runtime,
} from '@reeve/public'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'reeve-back-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const opened = (agents: readonly Agent[], earlier: readonly Agent[] = []): Promise<Runtime> =>
  createRuntime({ store: join(folder, 'store.db'), agents, earlier, onWarning: () => {} })

/** A clerk under a desk: `note` twice, `pay`, which is refused, `wire`, then a note once more. Each asks. */
function office(version: string, done: string[], isUp: () => boolean = () => true): Agent {
  const asking = (name: string) =>
    tool({
      name,
      description: name,
      approval: true,
      effect: 'idempotent',
      retry: { attempts: 1 },
      input: { type: 'object' },
      execute: () => {
        done.push(name)
        return `${name} done`
      },
    })
  const order = ['note', 'note', 'pay', 'wire', 'note'] as const
  const model: ModelFunction = ({ messages }) => {
    const told = messages.filter(({ role }) => role === 'tool').length
    const name = order[told]
    if (name !== undefined) return { calls: [{ name, input: { n: told } }] }
    return 'all done'
  }
  const clerk = agent({
    name: 'clerk',
    description: 'Notes and pays.',
    version,
    model,
    retry: { attempts: 1 },
    tools: [asking('note'), asking('pay'), asking('wire')],
  })
  return supervisor({
    name: 'desk',
    version,
    workers: [clerk],
    retry: { attempts: 1 },
    model: ({ messages }) => {
      const told = messages.find(({ role }) => role === 'tool')
      if (told === undefined) return { calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'go' } }] }
      if (!isUp()) throw new Error('the provider is down')
      return 'closed'
    },
  })
}

const asked = async (runtime: Runtime, run: string, name: string) => {
  let found: { readonly id: string; readonly tool: string } | undefined
  await expect
    .poll(async () => {
      const open = await runtime.approvals({ run })
      found = open.length === 1 ? open[0] : undefined
      return found?.tool
    })
    .toBe(name)
  return found!.id
}

/** Up to the question of `wire`, which is open. */
async function untilOpen(runtime: Runtime, root: Agent, run: string): Promise<string> {
  await runtime.start(root, 'go', { runId: run })
  await runtime.decide({
    approvalId: await asked(runtime, run, 'note'),
    decision: 'approve',
    approver: 'ann',
    grant: 'session',
  })
  await runtime.decide({
    approvalId: await asked(runtime, run, 'pay'),
    decision: 'reject',
    approver: 'ann',
    comment: 'no',
  })
  return asked(runtime, run, 'wire')
}

const ways: Readonly<Record<string, (runtime: Runtime, run: string, done: string[]) => Promise<Runtime>>> = {
  'a takeover and a hand back': async (runtime, run) => {
    await runtime.handle(run).control.takeOver({ by: 'bob' })
    await runtime.handle(run).control.handBack({ by: 'bob' })
    return runtime
  },
  'a deploy that keeps the earlier version': async (runtime, _run, done) => {
    await runtime.close()
    return opened([office('2', done)], [office('1', done)])
  },
  'a deploy that moves the run': async (runtime, _run, done) => {
    await runtime.close()
    return opened([office('2', done)])
  },
  'a restart': async (runtime, _run, done) => {
    await runtime.close()
    return opened([office('1', done)])
  },
}

describe('over the way back the same question is open, the no stays, the grant holds, and usage is counted once', () => {
  test.each(Object.entries(ways))('%s', async (_name, way) => {
    const done: string[] = []
    const root = office('1', done)
    const before = await opened([root])
    const question = await untilOpen(before, root, 'r')
    const runtime = await way(before, 'r', done)
    try {
      expect(await asked(runtime, 'r', 'wire')).toBe(question)
      await runtime.decide({ approvalId: question, decision: 'approve', approver: 'ann' })
      const outcome = await runtime.handle('r').outcome()
      expect(outcome).toMatchObject({ status: 'completed', output: 'closed' })
      expect(done).toEqual(['note', 'note', 'wire', 'note'])
      const { approvals } = await runtime.handle('r').view()
      expect(approvals.map(({ tool: name, resolution }) => [name, resolution])).toEqual([
        ['note', 'approved'],
        ['pay', 'rejected'],
        ['wire', 'approved'],
      ])
      expect(Object.fromEntries(outcome.usage.map(({ agent: name, calls }) => [name, calls]))).toEqual({
        clerk: 6,
        desk: 2,
      })
    } finally {
      await runtime.close()
    }
  })
})

test('a retry has no grant of its origin, and counts what it had used', async () => {
  const done: string[] = []
  let up = false
  const root = office('1', done, () => up)
  await using runtime = await opened([root])
  const question = await untilOpen(runtime, root, 'r')
  await runtime.decide({ approvalId: question, decision: 'approve', approver: 'ann' })
  expect(await runtime.handle('r').outcome()).toMatchObject({ status: 'failed' })
  up = true
  const retry = await runtime.retry('r')
  expect(await runtime.grants.of({ run: retry.id })).toEqual([])
  const outcome = await retry.outcome()
  expect(outcome).toMatchObject({ status: 'completed', output: 'closed' })
  expect(done).toEqual(['note', 'note', 'wire', 'note'])
  expect(outcome.usage.find(({ agent: name }) => name === 'clerk')?.calls).toBe(6)
})

describe('another attempt', () => {
  /** Fails at first while a person is asked; the second attempt asks anew. */
  const crew = (): Agent => {
    const asks = agent({
      name: 'asks',
      description: 'Asks.',
      run: async (ctx) => {
        const first = (await ctx.values.update('tries', (n) => Number(n ?? 0) + 1)) === 1
        const answer = interrupt(ctx, 'go on?')
        if (!first) return (await answer) as string
        await ctx.sleep(1)
        throw new Error('at first')
      },
    })
    return supervisor({
      name: 'desk',
      workers: [asks],
      delegation: { retry: { attempts: 2, backoffMs: 1, when: () => true } },
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'closed'
          : { calls: [{ name: 'delegate', input: { worker: 'asks', instructions: 'go' } }] },
    })
  }

  test('withdraws the question of the one before, and asks under an id of its own', async () => {
    const root = crew()
    await using runtime = await opened([root])
    const run = await runtime.start(root, 'go')
    await expect
      .poll(async () => {
        const journal = await run.journal()
        return journal.filter(({ event }) => event.type === 'interrupt.raised').length
      })
      .toBe(2)
    let open: readonly { readonly id: string }[] = []
    await expect.poll(async () => (open = await runtime.questions()).length).toBe(1)
    const raised = (await run.journal()).flatMap(({ event }) => (event.type === 'interrupt.raised' ? [event.id] : []))
    expect(open[0]!.id).toBe(raised[1])
    await expect(runtime.answer({ interruptId: raised[0]!, value: 'late' })).rejects.toMatchObject({
      code: expect.stringMatching(/^interrupt\./),
    })
    await runtime.answer({ interruptId: raised[1]!, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'closed' })
  })
})
