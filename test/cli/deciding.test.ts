/** Approvals as commands show and decide them: who may, two people, other arguments, sent back. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../../src/cli/program.ts'
import { agent, approve, createRuntime, type Json } from '../../src/index.ts'
import type { ApprovalRequest } from '../../src/public/oversight.ts'
import { fakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-deciding-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const asks = (request: Partial<ApprovalRequest>) =>
  agent({
    name: 'asks',
    run: async (ctx) => {
      const verdict = await approve(ctx, {
        tool: 'pay',
        toolVersion: '1',
        input: { amount: 10 },
        reason: 'money',
        ...request,
      })
      return verdict.approved ? verdict.input : verdict.how
    },
  })

/** Drives the run until it waits or has ended, and leaves it: the id of what it asks, or its output. */
async function driven(request: Partial<ApprovalRequest>): Promise<Json> {
  const root = asks(request)
  await using runtime = await createRuntime({ store: join(folder, 'reeve.db'), agents: [root] })
  const run = await runtime.start(root, 'go', { runId: 'run_d' })
  const state = await run.until('waiting')
  if ('waiting' in state) return state.questions[0]!.id
  return state.status === 'completed' ? state.output : state.status
}
async function reeve(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const code = await main([...args, '--store', 'reeve.db'], {
    terminal,
    cwd: folder,
    interrupted: new AbortController().signal,
    version: '1',
  })
  return { code, out: terminal.written, err: terminal.notes }
}

describe('deciding at the command line', () => {
  test('the approvers are shown, and anyone else who decides is told so', async () => {
    const request: Partial<ApprovalRequest> = {
      risk: 'critical',
      rules: { approvers: [{ who: ['ann', 'bob'] }] },
      hits: [{ code: 'cost_limit', priority: 'high', detail: 'it costs $2' }],
      kind: 'task',
      task: 't1',
      options: ['approve', 'reject'],
    }
    const first = (await driven(request)) as string
    const shown = (await reeve('show', 'run_d')).out
    for (const line of [
      'about: task t1',
      'escalated: cost_limit (high)',
      'approvers: ann or bob',
      'two approvers are required',
      'allowed decisions: approve, reject',
      'until 20',
    ])
      expect(shown).toContain(`\n  ${line}`)
    const refused = await reeve('approve', first, '--by', 'eve')
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toMatch(/"eve" is not an approver; allowed approvers: "ann", "bob"[^]*still open/)
    const yes = await reeve('approve', first, '--approver', 'ann')
    expect(yes).toMatchObject({ code: 0 })
    expect(yes.out).toContain('A second approver must approve it, too')
    const second = (await driven(request)) as string
    expect((await reeve('show', 'run_d')).out).toContain('already approved by ann: a second approver must decide')
    expect((await reeve('approve', second, '--by', 'ann')).err).toMatch(/has already approved it/)
    expect((await reeve('approve', second, '--by', 'bob')).code).toBe(0)
    expect(await driven(request)).toEqual({ amount: 10 })
    expect((await reeve('show', 'run_d')).out).toMatch(/seconded by ann[^]*approved by bob/)
  })
  test('other arguments', async () => {
    const id = (await driven({})) as string
    expect(await reeve('edit', id, 'five')).toMatchObject({ code: 2, out: '' })
    const edited = await reeve('edit', id, '{"amount": 5}', '--by', 'ann')
    expect(edited).toMatchObject({ code: 0 })
    expect(edited.out).toContain('Approved with edited arguments')
    expect(await driven({})).toEqual({ amount: 5 })
  })
  test('sent back', async () => {
    const id = (await driven({})) as string
    expect((await reeve('retry', id, '--comment', 'less')).out).toContain('Sent back')
    expect(await driven({})).toBe('retry')
    expect((await reeve('approve', id)).err).toMatch(/already decided: retry/)
  })
  test('a decided but unread approval is no longer open; a value decides nothing', async () => {
    const id = (await driven({})) as string
    const wrong = await reeve('answer', id, '5')
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(wrong.err).toMatch(
      /is an approval: it needs a decision, not a value\n.*reeve approve apr_.* --store reeve\.db .*\(or: reject, edit, retry\)/,
    )
    const yes = await reeve('approve', id, '--by', 'ann')
    expect(yes.out).toContain('reeve resume run_d --store reeve.db --config <file>\n')
    const { out } = await reeve('show', 'run_d')
    expect(out).toContain(`${id} pay with amount: 10: decided, not yet read by the run\n`)
    expect(out).not.toContain('reeve approve')
    const again = await reeve('reject', id)
    expect(again).toMatchObject({ code: 2, out: '' })
    expect(again.err).toContain('was already decided; its run has not read the decision yet')
    expect((await reeve('answer', id, '5')).err).toContain('reeve approve')
    expect(await driven({})).toEqual({ amount: 10 })
    expect((await reeve('show', 'run_d')).out).toContain('approved by ann')
  })
})
