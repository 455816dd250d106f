/**
 * Several approvals decided in one call, over real HTTP and through the client: each is recorded by itself, with its own
 * result; none that is decided by itself, none of another tenant, none with arguments that were not shown.
 */
import { describe, expect, test, vi } from 'vitest'
import { createClient } from '@reeve/client'
import { agent, approve } from '@reeve/public'
import type { Approval } from '@reeve/runtime'
import type { ApprovalRules } from '@reeve/edge'
import type { DecisionRow, Principal, QuestionView } from '../src/wire.ts'
import { serving, type Serving } from './serving.ts'

interface Payment {
  readonly amount: number
  readonly risk?: 'medium' | 'high' | 'critical'
  readonly fourEyes?: boolean
  readonly approvers?: string
}

const pays = agent({
  name: 'pays',
  description: 'Pays if it may.',
  run: async (ctx, given) => {
    const { risk = 'medium', fourEyes = false, approvers, ...input } = JSON.parse(given) as Payment
    const rules: ApprovalRules | undefined = fourEyes
      ? { fourEyes: 'low' }
      : approvers === undefined
        ? undefined
        : { approvers: [{ who: [approvers] }] }
    const asked = { tool: 'pay', toolVersion: '1', input: { ...input }, reason: 'money', risk }
    return (await approve(ctx, { ...asked, ...(rules && { rules }) })).approved ? 'paid' : 'not paid'
  },
})

const tokenOf = (name: string): string => `the-token-of-${name}-which-is-long`
const people: readonly Principal[] = [
  { name: 'ann', roles: ['approver'], tenant: 'acme' },
  { name: 'bob', roles: ['approver'], tenant: 'other' },
  { name: 'olga', roles: ['operator'], tenant: 'acme' },
]
const auth = { tokens: Object.fromEntries(people.map((each) => [tokenOf(each.name), each])) }
const clientOf = ({ server }: Serving, name: string) => createClient({ baseUrl: server.url, token: tokenOf(name) })

const serve = (): Promise<Serving> =>
  serving({ agents: [pays], tenants: { acme: { agents: ['pays'] }, other: { agents: ['pays'] } } }, { auth })

/** Starts a run for each payment of acme's, and waits for all their requests, in the order of the payments. */
async function asked({ runtime }: Serving, payments: readonly Payment[]): Promise<readonly Approval[]> {
  const runs = await Promise.all(
    payments.map((each) => runtime.start('pays', JSON.stringify(each), { tenant: 'acme' })),
  )
  return Promise.all(
    runs.map(({ id }) =>
      vi.waitUntil(async () => (await runtime.approvals({ run: id })).at(0), { timeout: 25_000, interval: 20 }),
    ),
  )
}
const rowOf = ({ id, inputHash }: Approval, decision: DecisionRow['decision'] = 'approve'): DecisionRow => ({
  id,
  inputHash,
  decision,
})

describe('several approvals in one call', () => {
  test('each is recorded by itself, under the name of the principal, with its own comment', async () => {
    const at = await serve()
    const [first, second, third] = await asked(at, [{ amount: 1 }, { amount: 2 }, { amount: 3 }])
    const results = await clientOf(at, 'ann').questions.decideAll([
      { ...rowOf(first!), comment: 'fine' },
      rowOf(second!, 'reject'),
      rowOf(third!),
    ])
    expect(results).toEqual([first, second, third].map((each) => ({ id: each!.id, status: 'decided' })))
    const outcomes = await Promise.all([first, second, third].map((each) => at.runtime.handle(each!.run).outcome()))
    expect(outcomes.map((each) => each.status === 'completed' && each.output)).toEqual(['paid', 'not paid', 'paid'])
    const { approvals } = await at.runtime.handle(first!.run).view()
    expect(approvals).toMatchObject([{ resolution: 'approved', approver: 'ann', comment: 'fine' }])
    expect(at.errors).toEqual([])
  })

  test('one of critical risk, or for two approvers, is refused, and says so before; the others are decided', async () => {
    const at = await serve()
    const open = await asked(at, [{ amount: 1, risk: 'critical' }, { amount: 2, fourEyes: true }, { amount: 3 }])
    expect(open.map(({ alone }) => alone)).toEqual(['critical-risk', 'four-eyes', undefined])
    const ann = clientOf(at, 'ann')
    const { items } = (await ann.questions.list()) as { readonly items: readonly QuestionView[] }
    const views = open.map(({ id }) => items.find((each) => each.id === id)?.approval?.alone)
    expect(views).toEqual(['critical-risk', 'four-eyes', undefined])
    const results = await ann.questions.decideAll(open.map((each) => rowOf(each)))
    expect(results).toMatchObject([
      { id: open[0]!.id, status: 'refused', error: { code: 'approval.alone', retryable: false } },
      { id: open[1]!.id, status: 'refused', error: { code: 'approval.alone', retryable: false } },
      { id: open[2]!.id, status: 'decided' },
    ])
    // a rejection is no way round it
    expect(await ann.questions.decideAll([rowOf(open[0]!, 'reject')])).toMatchObject([{ status: 'refused' }])
    expect(new Set((await at.runtime.approvals()).map(({ id }) => id))).toEqual(new Set([open[0]!.id, open[1]!.id]))
    // alone it is decided
    await ann.questions.decide({ approvalId: open[0]!.id, decision: 'approve', inputHash: open[0]!.inputHash })
    expect(await at.runtime.handle(open[0]!.run).outcome()).toMatchObject({ output: 'paid' })
  })

  test('the second approval of the same action is decided by itself, too', async () => {
    const at = await serve()
    const [first] = await asked(at, [{ amount: 2, fourEyes: true }])
    await at.runtime.decide({ approvalId: first!.id, decision: 'approve', approver: 'carl' })
    const second = await vi.waitUntil(
      async () => (await at.runtime.approvals()).find(({ id }) => id !== first!.id),
      25_000,
    )
    expect(second.alone).toBe('four-eyes')
    expect(await clientOf(at, 'ann').questions.decideAll([rowOf(second)])).toMatchObject([
      { status: 'refused', error: { code: 'approval.alone' } },
    ])
  })

  test('other arguments than were shown, an unknown id, one that is decided, a name that may not: each says so', async () => {
    const at = await serve()
    const [first, second, third] = await asked(at, [{ amount: 1 }, { amount: 2 }, { amount: 3, approvers: 'carl' }])
    await at.runtime.decide({ approvalId: second!.id, decision: 'reject', approver: 'carl' })
    const results = await clientOf(at, 'ann').questions.decideAll([
      { ...rowOf(first!), inputHash: second!.inputHash },
      rowOf(second!),
      rowOf(third!),
      { id: 'apr_none', inputHash: 'x', decision: 'approve' },
    ])
    expect(results.map(({ status, error }) => [status, error?.code])).toEqual([
      ['refused', 'approval.invalid'],
      ['lost', 'approval.already-decided'],
      ['refused', 'approval.forbidden'],
      ['refused', 'approval.unknown'],
    ])
    expect(await at.runtime.approvals({ run: first!.run })).toHaveLength(1)
  })

  test('the same approval twice in one call is decided once', async () => {
    const at = await serve()
    const [first] = await asked(at, [{ amount: 1 }])
    const results = await clientOf(at, 'ann').questions.decideAll([rowOf(first!), rowOf(first!, 'reject')])
    expect(results.map(({ status }) => status).toSorted()).toEqual(['decided', 'lost'])
    expect((await at.runtime.handle(first!.run).view()).approvals).toHaveLength(1)
  })

  test('what is of another tenant is not there; who is no approver is refused as a whole', async () => {
    const at = await serve()
    const [first] = await asked(at, [{ amount: 1 }])
    expect(await clientOf(at, 'bob').questions.decideAll([rowOf(first!)])).toMatchObject([
      { status: 'refused', error: { code: 'approval.unknown' } },
    ])
    await expect(clientOf(at, 'olga').questions.decideAll([rowOf(first!)])).rejects.toMatchObject({ status: 403 })
    expect(await at.runtime.approvals()).toHaveLength(1)
  })

  test.each([
    ['no hash', { decisions: [{ id: 'apr_1', decision: 'approve' }] }],
    [
      'a decision that is made one by one',
      { decisions: [{ id: 'apr_1', inputHash: 'x', decision: 'edit', input: 1 }] },
    ],
    ['an approver of its own', { decisions: [{ id: 'apr_1', inputHash: 'x', decision: 'approve', approver: 'ceo' }] }],
    ['too many', { decisions: Array.from({ length: 501 }, () => ({ id: 'a', inputHash: 'x', decision: 'approve' })) }],
  ])('with %s it is refused before anything is decided', async (_what, body) => {
    const at = await serve()
    const answer = await at.post('/approvals/decisions', body, { Authorization: `Bearer ${tokenOf('ann')}` })
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'input.invalid' } } })
  })

  test('in code, too: a decision that says it is one of several needs the hash, and is approve or reject', async () => {
    const at = await serve()
    const [first] = await asked(at, [{ amount: 1 }])
    const one = { approvalId: first!.id, decision: 'approve', together: true } as const
    await expect(at.runtime.decide(one)).rejects.toMatchObject({ code: 'approval.invalid' })
    await expect(at.runtime.decide({ ...one, inputHash: first!.inputHash, decision: 'retry' })).rejects.toMatchObject({
      code: 'approval.invalid',
    })
    await expect(at.runtime.decideAll([null] as never)).rejects.toMatchObject({ code: 'input.invalid' })
    const results = await at.runtime.decideAll([{ ...one, decision: 'edit', inputHash: first!.inputHash } as never])
    expect(results).toMatchObject([{ status: 'refused', error: { code: 'approval.invalid' } }])
    expect(await at.runtime.approvals()).toHaveLength(1)
  })
})
