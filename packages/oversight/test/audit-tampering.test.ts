/**
 * An audit that somebody tampers with, at random: whatever is changed is told, and nothing that was not. Also of runs
 * that go on, of forks, of takeovers. Spec team 1.16; K1, K10.
 */
import { describe, expect, test } from 'vitest'
import { agent, createRuntime, human, tool } from '@reeve/public'
import { ed25519Signer, ed25519Verifier, newEd25519Key, verifyAudit, type AuditDocument } from '@reeve/public/oversight'
import { seededRandom } from '@reeve/core'
import { hmacSigner } from '../src/index.ts'
import { calls, scripted, waiting } from '../../../test/scenario/team.ts'

const pay = tool({
  name: 'pay',
  sensitive: true,
  input: { type: 'object', properties: { n: { type: 'number' } } },
  execute: () => 'paid',
})
const clerk = () =>
  agent({
    name: 'clerk',
    description: 'Pays.',
    tools: [pay],
    model: scripted(calls(['pay', { n: 1 }, 'p1']), calls(['pay', { n: 2 }, 'p2']), 'done'),
  })

async function audited(): Promise<{
  early: AuditDocument
  late: AuditDocument
  keys: ReturnType<typeof ed25519Verifier>[]
}> {
  const key = await newEd25519Key()
  const signer = ed25519Signer(key, 'k1')
  const root = clerk()
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'go')
  const [first] = (await waiting(run)).waiting
  const early = await runtime.audit(run.id, { signer })
  await run.decide({ approvalId: first!.id, decision: 'approve', approver: 'ann', comment: 'fine' })
  await expect
    .poll(async () => (await runtime.approvals({ run: run.id })).some(({ id }) => id !== first!.id))
    .toBe(true)
  const [second] = await runtime.approvals({ run: run.id })
  await run.control.takeOver({ by: 'eve', reason: 'let me see' })
  await run.control.handBack({ by: 'eve' })
  await run.decide({ approvalId: second!.id, decision: 'reject', approver: 'bob', comment: 'no more' })
  await run.outcome()
  return { early, late: await runtime.audit(run.id, { signer }), keys: [ed25519Verifier(key, 'k1')] }
}

/** Every place in a value where something stands. */
function places(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, each]) =>
    places(each, [...path, Array.isArray(value) ? Number(name) : name]),
  )
}
function changed(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? 'x' : value.slice(0, -1) + (value.endsWith('a') ? 'b' : 'a')
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  return 'x'
}

describe('an audit that was tampered with', () => {
  test('any changed, removed or added value of a signed document is reported; the original verifies', async () => {
    const { late, early, keys } = await audited()
    expect(await verifyAudit(late, { keys, against: early })).toMatchObject({
      ok: true,
      complete: true,
      signedBy: 'k1',
    })
    expect(await verifyAudit(JSON.parse(JSON.stringify(late)), { keys })).toMatchObject({ ok: true })
    for (const path of places(late)) {
      for (const how of ['changed', 'removed', 'joined'] as const) {
        const copy = structuredClone(late) as unknown as Record<string, unknown>
        const owner = path
          .slice(0, -1)
          .reduce<Record<string, unknown>>((at, name) => at[name] as Record<string, unknown>, copy)
        const name = path.at(-1)!
        if (how === 'changed') owner[name] = changed(owner[name])
        else if (how === 'removed' && Array.isArray(owner)) owner.splice(Number(name), 1)
        else if (how === 'removed') delete owner[name]
        else if (Array.isArray(owner)) owner.push('more')
        else owner['more'] = 1
        expect((await verifyAudit(copy, { keys })).ok, `${how} ${path.join('.')}`).toBe(false)
      }
    }
  }, 30_000)

  test('entries omitted, doubled, swapped or foreign are reported at every place; bad input never throws', async () => {
    const [{ late, early, keys }, other] = [await audited(), await audited()]
    const with_ = (entries: unknown): unknown => ({ ...late, entries })
    for (let i = 0; i < late.entries.length; i++) {
      const doubled = [...late.entries.slice(0, i + 1), ...late.entries.slice(i)]
      const swapped = late.entries.map((entry, n) =>
        n === i ? (late.entries[i + 1] ?? late.entries[0]) : n === i + 1 ? late.entries[i] : entry,
      )
      const foreign = late.entries.map((entry, n) =>
        n === i ? (other.late.entries[i] ?? other.late.entries[0]) : entry,
      )
      for (const entries of [late.entries.toSpliced(i, 1), late.entries.slice(0, i), doubled, swapped, foreign])
        expect((await verifyAudit(with_(entries), { keys })).ok, `${i}`).toBe(false)
    }
    expect((await verifyAudit(late, { keys: other.keys })).problems).toMatchObject([
      { code: expect.stringMatching(/bad-signature|unknown-key/) as string },
    ])
    expect((await verifyAudit({ ...late, signature: other.late.signature }, { keys })).ok).toBe(false)
    expect((await verifyAudit({ ...late, signature: early.signature }, { keys })).problems).toMatchObject([
      { code: 'other-head' },
    ])
    // an older audit, signed, in place of a later one
    expect((await verifyAudit(early, { keys, against: late })).problems.map(({ code }) => code)).toContain('truncated')
    expect((await verifyAudit(late, { keys, against: other.early })).problems.map(({ code }) => code)).toContain(
      'other-run',
    )
    const random = (n: number): number => seededRandom('audit', n)
    const strange = [
      null,
      undefined,
      1,
      'x',
      [],
      {},
      { head: null },
      { head: {}, entries: [] },
      { head: late.head },
      { ...late, entries: [null] },
      { ...late, entries: [{ n: random(1) }] },
    ]
    for (const given of strange) expect((await verifyAudit(given, { keys })).ok).toBe(false)
    for (const against of [null, 1, 'x', {}, { head: {} }, []])
      expect((await verifyAudit(late, { keys, against: against as never })).ok).toBe(false)
  })

  test('a key of another kind under the same name does not pass', async () => {
    const { late } = await audited()
    expect((await verifyAudit(late, { keys: [hmacSigner('x'.repeat(32), 'k1')] })).problems).toMatchObject([
      { code: 'unknown-key' },
    ])
    expect((await verifyAudit(late, { keys: [] })).ok).toBe(false)
  })
})

describe('who decided what', () => {
  test('a name of an answer, of what was finished by hand and of a takeover is there; a deadline is no human', async () => {
    const person = human({ name: 'person', timeoutMs: 20, onTimeout: { answer: 'nobody' } })
    const other = human({ name: 'other' })
    await using runtime = await createRuntime({ agents: [person, other] })
    const late = await runtime.start(person, 'go')
    await late.outcome()
    const byClock = (await runtime.audit(late.id)).entries.find(({ what }) => what === 'interrupt.answered')
    expect(byClock).toMatchObject({ by: 'clock' })
    const run = await runtime.start(other, 'go')
    const [asked] = (await waiting(run)).questions
    await runtime.answer({ interruptId: asked!.id, value: false, by: 'ann' })
    await run.outcome()
    expect((await runtime.audit(run.id)).entries.find(({ what }) => what === 'interrupt.answered')).toMatchObject({
      by: 'human',
      who: 'ann',
      evidence: { value: false },
    })
    const taken = await runtime.start(other, 'go')
    await waiting(taken)
    await taken.control.takeOver({ by: 'eve' })
    await taken.control.finish({ output: 'x', by: 'bob' })
    await taken.outcome()
    const words = (await runtime.audit(taken.id)).entries
      .filter(({ by }) => by === 'human')
      .map(({ who, what }) => [who, what])
    expect(words).toContainEqual(['eve', 'run.taken-over'])
    expect(words.filter(([who]) => who === 'bob').length).toBeGreaterThan(0)
  })
})
