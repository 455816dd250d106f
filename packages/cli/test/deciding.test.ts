/** Approvals as commands show and decide them: who may, two people, other arguments, sent back. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../src/program.ts'
import { approvalLines } from '../src/request-text.ts'
import { agent, approve, createRuntime, team, tool, type Json } from '@reeve/public'
import type { ApprovalRequest } from '@reeve/public/oversight'
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
      timeoutMs: 60_000,
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
  test('what a send-back would repeat is shown visibly and bounded, and is repeated only if it is named', async () => {
    const keys: string[] = []
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      tools: [
        tool({
          name: 'stamp',
          effect: 'once',
          execute: (_input, { key }) => `receipt ${keys.push(key)}`,
        }),
      ],
      model: ({ messages }) => {
        const asked = messages.findLastIndex(({ role }) => role === 'user')
        return messages.findLastIndex(({ role }) => role === 'tool') > asked
          ? 'stamped'
          : {
              calls: [
                { name: 'stamp', input: { to: `eve\u202e\u001b[2J\nalready done: none`, text: 'x'.repeat(9_000) } },
              ],
            }
      },
    })
    const root = team({
      name: 'boss',
      roles: { generalist: payer },
      oversight: { mode: 'in-the-loop' },
      planner: { subtasks: [{ id: 'pay', description: 'Pay.', review: true }] },
    })
    /** Drives the run until it asks again, or has ended. */
    const asks = async (before?: string): Promise<string> => {
      await using runtime = await createRuntime({ store: join(folder, 'reeve.db'), agents: [root] })
      await runtime.start(root, 'go', { runId: 'run_d' })
      await expect
        .poll(async () => (await runtime.approvals()).some(({ id }) => id !== before), { timeout: 20_000 })
        .toBe(true)
      return (await runtime.approvals())[0]!.id
    }
    const first = await asks()
    await using reader = await createRuntime({ store: join(folder, 'reeve.db') })
    // as `watch` and its list show it
    const watched = approvalLines((await reader.approvals())[0]!).join('\n')
    for (const shown of [(await reeve('show', 'run_d')).out, (await reeve('questions')).out, watched]) {
      expect(shown.split('\n').filter((line) => line.trimStart().startsWith('already done:'))).toHaveLength(1)
      expect(shown).toMatch(/already done: stamp \(task/)
      expect(shown).toMatch(/eve/)
      for (const hidden of ['\u202e', '\u001b']) expect(shown).not.toContain(hidden)
      expect(shown).toContain('more characters')
      expect(shown.length).toBeLessThan(12_000)
    }
    const effect = /eff_\w+/.exec((await reeve('show', 'run_d')).out)![0]
    const unknown = await reeve('retry', first, '--repeat', 'eff_unknown', '--comment', 'again')
    expect(unknown).toMatchObject({ code: 2, out: '' })
    expect(unknown.err).toContain('lists no effect "eff_unknown"')
    expect((await reeve('retry', first, '--comment', 'say more')).code).toBe(0)
    const second = await asks(first)
    expect(keys).toHaveLength(1)
    expect((await reeve('retry', second, '--repeat', effect, '--comment', 'again')).out).toContain('Sent back')
    await asks(second)
    expect([keys.length, new Set(keys).size]).toEqual([2, 2])
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
