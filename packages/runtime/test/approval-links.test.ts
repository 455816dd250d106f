/** Approval links: who they let decide, once, and whom they do not. K2. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { agent, type Json, type Runtime, type RuntimeOptions } from '@reeve/public'
import type { Oversight } from '@reeve/public/oversight'
import { manualClock } from '@reeve/testing'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

const hour = 3_600_000
const pays = agent({
  name: 'pays',
  description: 'Pays once it may.',
  run: async (ctx) => {
    const { approved } = await ctx.approve('pay', { input: { amount: 5 }, timeoutMs: 48 * hour })
    return approved ? 'paid' : 'not paid'
  },
})

let folder = ''
const clock = manualClock()
let runtime: Runtime
const open = (more: RuntimeOptions = {}): Promise<Runtime> =>
  runtimeUnderTest({ agents: [pays], store: join(folder, 'links.db'), clock, ...more })
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-links-'))
  runtime = await open()
})
afterEach(async () => {
  await runtime.close()
  await rm(folder, { recursive: true, force: true })
})

async function asking(
  by = runtime,
  oversight?: Oversight,
): Promise<{ readonly id: string; readonly run: string; readonly outcome: () => Promise<Json> }> {
  const run = await by.start(pays, 'go', oversight === undefined ? {} : { oversight })
  const [approval] = await vi.waitUntil(async () => {
    const found = await by.approvals({ run: run.id })
    return found.length > 0 ? found : undefined
  }, 25_000)
  const outcome = async (): Promise<Json> => (await run.outcome()) as unknown as Json
  return { id: approval!.id, run: run.id, outcome }
}
/** How far the journal of a run has come. */
const audited = async (run: string): Promise<number> => (await runtime.audit(run)).head.position
const codeOf = async (doing: Promise<unknown>): Promise<string> => {
  try {
    await doing
    return 'done'
  } catch (thrown) {
    return (thrown as { readonly code?: string }).code ?? String(thrown)
  }
}

test('a link shows what it decides, changes nothing by being looked at, and decides once', async () => {
  const { id, outcome, run } = await asking()
  const { token, expiresAt } = await runtime.links.create({ approvalId: id, approver: 'Ann', by: 'bob' })
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(expiresAt).toBe(clock.now() + 24 * hour)
  const before = await audited(run)
  expect(await runtime.links.of(token)).toMatchObject({
    approval: { id, tool: 'pay', input: { amount: 5 } },
    approver: 'Ann',
    decisions: ['approve', 'reject'],
  })
  expect(await audited(run)).toBe(before)
  await runtime.links.decide({ token, decision: 'approve', comment: 'fine' })
  expect(await outcome()).toMatchObject({ output: 'paid' })
  expect(await codeOf(runtime.links.decide({ token, decision: 'reject' }))).toBe('approval.already-decided')
  expect(await codeOf(runtime.links.of(token))).toBe('approval.already-decided')
  const decided = (await runtime.audit(run)).entries.find(({ what }) => what === 'approval.decided')
  expect(decided).toMatchObject({ who: 'Ann', by: 'human', evidence: { link: { by: 'bob' } } })
})

test('K2: of several posts at once one decides', async () => {
  const { id, outcome } = await asking()
  const { token } = await runtime.links.create({ approvalId: id, approver: 'Ann' })
  const all = await Promise.all(
    ['approve', 'reject', 'approve', 'reject'].map((decision) =>
      codeOf(runtime.links.decide({ token, decision: decision as 'approve' })),
    ),
  )
  expect(all.filter((each) => each === 'done')).toHaveLength(1)
  expect(all.filter((each) => each === 'approval.already-decided')).toHaveLength(3)
  expect(await outcome()).toMatchObject({ status: 'completed' })
})

test('it works after a restart, and the store does not hold it', async () => {
  const { id } = await asking()
  const { token } = await runtime.links.create({ approvalId: id, approver: 'Ann' })
  await runtime.close()
  for (const name of ['links.db', 'links.db-wal'])
    expect((await readFile(join(folder, name)).catch(() => Buffer.of())).includes(token)).toBe(false)
  runtime = await open()
  await runtime.links.decide({ token, decision: 'approve' })
  expect(await runtime.approvals()).toEqual([])
})

test('a changed, foreign, expired or unknown link decides nothing', async () => {
  const [one, two] = [await asking(), await asking()]
  const { token } = await runtime.links.create({
    approvalId: one.id,
    approver: 'Ann',
    audience: 'reeve.example.com',
    expiresInMs: hour,
  })
  const wrong = [
    `${token.slice(1)}${token[0]}`,
    token.slice(1),
    `${token}x`,
    '',
    '__proto__',
    two.id,
    '../x',
    'é'.repeat(43),
  ]
  for (const each of wrong)
    expect(
      await codeOf(runtime.links.decide({ token: each, decision: 'approve', audience: 'reeve.example.com' })),
    ).toBe('link.unknown')
  expect(await codeOf(runtime.links.of(token))).toBe('link.unknown')
  expect(await codeOf(runtime.links.of(token, 'evil.example'))).toBe('link.unknown')
  expect(await codeOf(runtime.links.of(token, 'reeve.example.com'))).toBe('done')
  clock.advance(hour)
  expect(await codeOf(runtime.links.decide({ token, decision: 'approve', audience: 'reeve.example.com' }))).toBe(
    'link.expired',
  )
  expect(await runtime.approvals()).toHaveLength(2)
})

test('a link holds for the approval, run and arguments that it was issued for', async () => {
  const [one, two] = [await asking(), await asking()]
  const { token } = await runtime.links.create({ approvalId: one.id, approver: 'Ann' })
  await runtime.links.decide({ token, decision: 'reject' })
  expect((await runtime.approvals()).map(({ id }) => id)).toEqual([two.id])
  expect(await one.outcome()).toMatchObject({ output: 'not paid' })
})

test('a link decides only what it may, as who it is for', async () => {
  const { id } = await asking()
  const { token } = await runtime.links.create({ approvalId: id, approver: 'Ann', decisions: ['reject'] })
  expect(await codeOf(runtime.links.decide({ token, decision: 'approve' }))).toBe('approval.forbidden')
  expect(await codeOf(runtime.links.decide({ token, decision: 'edit' as 'approve' }))).toBe('input.invalid')
  expect(await codeOf(runtime.links.decide({ token, decision: 'reject', approver: 'eve' } as never))).toBe(
    'input.invalid',
  )
  expect(await runtime.approvals()).toHaveLength(1)
})

test('it never lives longer than the approval', async () => {
  const { id } = await asking()
  const { expiresAt } = await runtime.links.create({ approvalId: id, approver: 'Ann', expiresInMs: 7 * 24 * hour })
  expect(expiresAt).toBe((await runtime.approvals())[0]!.until)
})

test('mayDecide is asked, with the name of the link', async () => {
  await runtime.close()
  const asked: unknown[] = []
  runtime = await open({
    mayDecide: (_approval, decision) => {
      asked.push(decision)
      return 'not on Sundays'
    },
  })
  const { id } = await asking()
  const { token } = await runtime.links.create({ approvalId: id, approver: 'Ann' })
  expect(await codeOf(runtime.links.decide({ token, decision: 'approve' }))).toBe('approval.forbidden')
  expect(asked).toEqual([{ approvalId: id, decision: 'approve', approver: 'Ann' }])
  expect(await runtime.approvals()).toHaveLength(1)
})

test('no link for someone who may not decide, nor where two people must', async () => {
  const named = await asking(runtime, { mode: 'in-the-loop', approval: { approvers: [{ who: ['carol'] }] } })
  expect(await codeOf(runtime.links.create({ approvalId: named.id, approver: 'Ann' }))).toBe('approval.forbidden')
  expect(await codeOf(runtime.links.create({ approvalId: named.id, approver: 'carol' }))).toBe('done')
  const two = await asking(runtime, { mode: 'in-the-loop', approval: { fourEyes: 'low' } })
  expect(await codeOf(runtime.links.create({ approvalId: two.id, approver: 'Ann' }))).toBe('approval.forbidden')
})

test.each<[string, object, string]>([
  ['an unknown approval', { approvalId: 'apr_none' }, 'approval.unknown'],
  ['nobody', { approver: ' \u200b' }, 'input.invalid'],
  ['more than 7 days', { expiresInMs: 7 * 24 * hour + 1 }, 'input.invalid'],
  ['no time', { expiresInMs: 0 }, 'input.invalid'],
  ['time that is none', { expiresInMs: Number.NaN }, 'input.invalid'],
  ['edits', { decisions: ['edit'] }, 'input.invalid'],
  ['no decision', { decisions: [] }, 'input.invalid'],
  ['an unknown option', { approverr: 'x' }, 'input.invalid'],
])('no link for %s', async (_what, more, code) => {
  const { id } = await asking()
  expect(await codeOf(runtime.links.create({ approvalId: id, approver: 'Ann', ...more }))).toBe(code)
})

test('links are listed without their tokens, and revoked in every process', async () => {
  const { id, run } = await asking()
  const first = await runtime.links.create({ approvalId: id, approver: 'Ann', by: 'bob', expiresInMs: hour })
  const second = await runtime.links.create({
    approvalId: id,
    approver: 'Cy',
    decisions: ['reject'],
    audience: 'x.org',
  })
  const issuedAt = clock.now()
  const listed = await runtime.links.list(id)
  expect(listed).toEqual([
    {
      id: expect.any(String),
      approvalId: id,
      approver: 'Ann',
      decisions: ['approve', 'reject'],
      by: 'bob',
      issuedAt,
      expiresAt: first.expiresAt,
    },
    {
      id: expect.any(String),
      approvalId: id,
      approver: 'Cy',
      decisions: ['reject'],
      audience: 'x.org',
      issuedAt,
      expiresAt: second.expiresAt,
    },
  ])
  expect(JSON.stringify(listed)).not.toContain(first.token)
  const [{ id: link } = { id: '' }] = listed
  // a name from the list opens nothing
  expect(await codeOf(runtime.links.decide({ token: link, decision: 'approve' }))).toBe('link.unknown')
  await runtime.links.revoke({ approvalId: id, id: link, by: 'eve' })
  clock.advance(1_000)
  await runtime.links.revoke({ approvalId: id, id: link, by: 'ann' })
  const other = await open()
  try {
    expect(await codeOf(other.links.of(first.token))).toBe('link.revoked')
    expect(await codeOf(other.links.decide({ token: first.token, decision: 'approve' }))).toBe('link.revoked')
    expect(await other.links.list(id)).toMatchObject([{ id: link, revoked: { at: issuedAt, by: 'eve' } }, {}])
    expect((await other.links.list(id))[1]).not.toHaveProperty('revoked')
    await other.links.decide({ token: second.token, decision: 'reject', audience: 'x.org' })
  } finally {
    await other.close()
  }
  expect((await runtime.links.list(id)).map(({ approver }) => approver)).toEqual(['Ann', 'Cy'])
  expect((await runtime.handle(run).view()).approvals).toHaveLength(1)
})

test('a link is revoked by the approval that it is of, and by its own name', async () => {
  const [one, two] = [await asking(), await asking()]
  const { token } = await runtime.links.create({ approvalId: one.id, approver: 'Ann' })
  const [{ id } = { id: '' }] = await runtime.links.list(one.id)
  expect(await runtime.links.list(two.id)).toEqual([])
  expect(await runtime.links.list('apr_none')).toEqual([])
  for (const wrong of [
    { approvalId: two.id, id },
    { approvalId: one.id, id: `of:${one.id}` },
    { approvalId: one.id, id: token },
    { approvalId: '__proto__', id },
  ])
    expect(await codeOf(runtime.links.revoke(wrong))).toBe('link.unknown')
  for (const wrong of [{ approvalId: one.id }, { approvalId: one.id, id, who: 'eve' }, { approvalId: '', id }, 7])
    expect(await codeOf(runtime.links.revoke(wrong as never))).toBe('input.invalid')
  expect(await codeOf(runtime.links.list(''))).toBe('input.invalid')
  expect(await codeOf(runtime.links.of(token))).toBe('done')
})
