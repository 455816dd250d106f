/** `reeve audit`: from the store to a file that somebody else can check. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createRuntime } from '@reeve/public'
import { payer } from '../../runtime/test/hand.ts'
import { reeve, storeHere } from './at-store.ts'

const at = (name: string): string => join(dirname(storeHere()), name)
const json = async (name: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(at(name), 'utf8')) as Record<string, unknown>

/** What was told of the run before it had ended. */
let part: Awaited<ReturnType<typeof reeve>>
beforeEach(async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [payer] })
  const run = await runtime.start('payer', { amount: 10 }, { runId: 'run_a' })
  await run.until('waiting')
  part = await reeve('audit', 'run_a', '--out', 'part.json')
  const [asked] = await runtime.approvals()
  await run.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann', comment: 'paid before' })
  await run.outcome()
})

test('it tells who decided what, and a file says the same', async () => {
  expect(part).toMatchObject({ code: 0, err: expect.stringContaining('partial: the run has not ended') as string })
  const { code, out, err } = await reeve('audit', 'run_a')
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('run_a  payer  4 entries, not signed')
  expect(out).toMatch(/payer \(agent\): approval\.asked pay .*amount.*10.*money/)
  expect(out).toContain('ann: approval.decided pay (approved; paid before)')
  expect((await reeve('audit', 'run_a', '--out', 'a.json')).code).toBe(0)
  expect(JSON.parse((await reeve('audit', 'run_a', '--json')).out)).toEqual(await json('a.json'))
  expect((await reeve('audit', 'run_none')).code).toBe(2)
})

test('an audit signed with an own key verifies without the store; any change is reported', async () => {
  expect((await reeve('audit', 'key', 'k')).code).toBe(0)
  expect((await stat(at('k'))).mode & 0o777).toBe(0o600)
  expect(await json('k.pub')).not.toHaveProperty('d')
  const again = await reeve('audit', 'key', 'k')
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('never overwritten')])
  expect((await reeve('audit', 'run_a', '--key', 'k', '--out', 'a.json')).code).toBe(0)
  const fine = await reeve('--store', 'nowhere.db', 'audit', 'verify', 'a.json', '--key', 'k.pub')
  expect(fine).toMatchObject({
    code: 0,
    out: expect.stringMatching(/✓ 4 entries of run_a, complete; signed by ed25519-[0-9a-f]{16}/) as string,
    err: '',
  })
  const unchecked = await reeve('audit', 'verify', 'a.json')
  expect([unchecked.code, unchecked.err]).toEqual([0, expect.stringContaining('No key given')])

  const text = await readFile(at('a.json'), 'utf8')
  await writeFile(at('edited.json'), text.replace('"ann"', '"eve"'))
  expect(await reeve('audit', 'verify', 'edited.json', '--key', 'k.pub')).toMatchObject({
    code: 1,
    out: expect.stringMatching(/✗ entry 2 was changed.*\(edited\)/) as string,
  })
  const cut = JSON.parse(text) as { entries: unknown[] }
  cut.entries.pop()
  await writeFile(at('cut.json'), JSON.stringify(cut))
  expect(await reeve('audit', 'verify', 'cut.json', '--key', 'k.pub')).toMatchObject({
    code: 1,
    out: expect.stringContaining('entries are missing at the end: the head counts 4, found 3') as string,
  })
  await reeve('audit', 'key', 'other')
  expect(await reeve('audit', 'verify', 'a.json', '--key', 'other.pub')).toMatchObject({
    code: 1,
    out: expect.stringContaining('(unknown-key)') as string,
  })
  expect((await reeve('audit', 'verify', 'a.json', '--key', 'other.pub', '--key', 'k.pub')).code).toBe(0)
  const report = await reeve('audit', 'verify', 'cut.json', '--key', 'k.pub', '--json')
  expect([report.code, JSON.parse(report.out)]).toMatchObject([1, { ok: false, problems: [{ code: 'truncated' }] }])
})

test('against an earlier one: what was there must still be there', async () => {
  expect(await reeve('audit', 'run_a', '--against', 'part.json', '--out', 'b.json')).toMatchObject({
    code: 0,
    out: expect.stringContaining('✓') as string,
  })
  expect((await reeve('audit', 'verify', 'b.json', '--against', 'part.json')).code).toBe(0)
  expect(await reeve('audit', 'verify', 'part.json', '--against', 'b.json')).toMatchObject({
    code: 1,
    out: expect.stringContaining('(truncated)') as string,
  })
  const other = await json('part.json')
  await writeFile(at('other.json'), JSON.stringify({ ...(other['head'] as object), hash: 'f'.repeat(64) }))
  expect(await reeve('audit', 'run_a', '--against', 'other.json')).toMatchObject({
    code: 1,
    out: expect.stringContaining('(rewritten)') as string,
  })
})

test('a file that is no audit says what it contains, and a missing entry is reported once', async () => {
  await writeFile(at('package.json'), '{ "name": "reeve", "version": "1" }')
  expect(await reeve('audit', 'verify', 'package.json')).toMatchObject({
    code: 1,
    out: '✗ not an audit: unknown field "name" (malformed)\n',
  })
  await reeve('audit', 'run_a', '--out', 'a.json')
  const audit = JSON.parse(await readFile(at('a.json'), 'utf8')) as { entries: unknown[] }
  audit.entries.splice(1, 1)
  await writeFile(at('less.json'), JSON.stringify(audit))
  const { out } = await reeve('audit', 'verify', 'less.json')
  expect(out.match(/\(broken\)/g)).toHaveLength(1)
  expect(out).toContain(
    'entry 1 does not follow entry 0: something was removed, added or moved; 1 more after it is out of place, too (broken)',
  )
})

test('files that are no audits are wrong usage', async () => {
  await reeve('audit', 'key', 'k')
  await writeFile(at('text'), 'no json')
  for (const args of [
    ['verify', 'none.json'],
    ['verify', 'text'],
    ['verify', 'part.json', '--key', 'part.json'],
    ['run_a', '--key', 'k.pub'],
    ['run_a', '--key', 'none'],
  ])
    expect((await reeve('audit', ...args)).code, args.join(' ')).toBe(2)
})
