/** Audits: who decided what, on what evidence; and that nothing of it can be changed unseen. */
import { describe, expect, test } from 'vitest'
import { tool, agent } from '@reeve/agent'
import { asText, copy, rootActivation, seededRandom, type Json, type RunId } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import {
  approve,
  auditOf,
  ed25519Signer,
  ed25519Verifier,
  hmacSigner,
  newEd25519Key,
  signAudit,
  verifyAudit,
  type AuditDocument,
  type AuditEntry,
} from '../src/index.ts'
import { createRuntime, type Run, type Runtime } from '@reeve/runtime'
import { manualClock } from '@reeve/testing'
import { asker, hand, payer } from '../../runtime/test/hand.ts'
import { calls, scripted } from '../../../test/scenario/team.ts'
import { turnsDuring } from '../../../test/turns.ts'

const send = tool({
  name: 'send',
  approval: { reason: 'mail leaves the house' },
  input: { type: 'object', properties: { to: { type: 'string' } } },
  execute: () => 'sent',
})
const mailer = agent({
  name: 'mailer',
  description: 'Sends.',
  tools: [send],
  model: scripted(({ messages }) =>
    messages.at(-1)!.role === 'tool' ? asText(messages.at(-1)!.content) : calls(['send', { to: 'bob' }, 'c1']),
  ),
})
const hurried = hand('hurried', async (ctx) => {
  const asked = {
    tool: 'tidy',
    toolVersion: '1',
    input: 1,
    reason: 'why not',
    risk: 'low',
    timeoutMs: 1_000,
    onTimeout: 'approve',
  } as const
  const verdict = await approve(ctx, asked)
  return { status: 'completed', output: verdict.approved ? verdict.by : 'no' }
})

/** A runtime on a clock of its own, for one story. */
async function told(
  agents: Parameters<typeof createRuntime>[0] & object,
  story: (runtime: Runtime) => Promise<Run>,
): Promise<AuditDocument> {
  await using runtime = await createRuntime({ strict: true, ...agents })
  return await runtime.audit((await story(runtime)).id)
}
const short = ({ by, who, what, subject }: AuditEntry): string =>
  `${by}${who === undefined ? '' : ` ${who}`}: ${what} ${subject}`
const only = (audit: AuditDocument, what: string): AuditEntry => {
  const [found, ...more] = audit.entries.filter((entry) => entry.what === what)
  expect(more).toEqual([])
  return found!
}

describe('who decided what', () => {
  test('an approval: the question with its exact arguments, the decision, what was done under it', async () => {
    const audit = await told({ agents: [mailer] }, async (runtime) => {
      const run = await runtime.start('mailer', 'go', { runId: 'run_m', user: 'zoe' })
      await run.until('waiting')
      const [asked] = await runtime.approvals()
      await run.decide({
        approvalId: asked!.id,
        decision: 'edit',
        input: { to: 'eve' },
        approver: 'ann',
        comment: 'to eve',
      })
      expect(await run.outcome()).toMatchObject({
        output: expect.stringMatching(/^\[a person \("ann"\) changed this call .*"to eve".*\]\nsent$/),
      })
      return run
    })
    expect(audit.entries.map(short)).toEqual([
      'human zoe: run.started mailer',
      'agent mailer: approval.asked send',
      'human ann: approval.decided send',
      'agent mailer: action.requested send',
      'runtime: action.done send',
      'runtime: run.ended completed',
    ])
    const asked = only(audit, 'approval.asked').evidence
    expect(asked).toMatchObject({
      input: { to: 'bob' },
      reason: 'mail leaves the house',
      toolVersion: expect.any(String) as never,
    })
    expect(only(audit, 'approval.decided').evidence).toMatchObject({
      id: asked['id'],
      resolution: 'edited',
      decision: 'edit',
      input: { to: 'eve' },
      comment: 'to eve',
      askedHash: asked['inputHash'],
      human: true,
    })
    expect(only(audit, 'action.requested').evidence).toMatchObject({
      approval: asked['id'],
      input: { to: 'eve' },
      capability: expect.stringMatching(/^cap_/) as never,
    })
    expect(only(audit, 'action.done').evidence).toMatchObject({ approval: asked['id'], status: 'completed' })
    expect(audit.head).toMatchObject({ run: 'run_m', agent: 'mailer', entries: 6, ended: true })
  })

  test('team C82: what a deadline decided says that no human did', async () => {
    const clock = manualClock()
    const audit = await told({ agents: [hurried], clock }, async (runtime) => {
      const run = await runtime.start('hurried', 'go')
      await run.until('waiting')
      clock.advance(2_000)
      expect(await run.outcome()).toMatchObject({ output: 'deadline' })
      return run
    })
    const decided = only(audit, 'approval.decided')
    expect(decided).toMatchObject({ by: 'clock', evidence: { resolution: 'timed-out-approved', human: false } })
    expect(decided.who).toBeUndefined()
  })

  test('answers, operators’ words and the end', async () => {
    const audit = await told({ agents: [asker] }, async (runtime) => {
      const run = await runtime.start('asker', 'go')
      const state = await run.until('waiting')
      await run.control.pause({ by: 'ann', reason: 'lunch' })
      await run.control.resume('bob')
      if ('questions' in state) await run.answer({ interruptId: state.questions[0]!.id, value: 42, by: 'eve' })
      await run.outcome()
      return run
    })
    expect(audit.entries.map(({ what }) => what)).toEqual(
      expect.arrayContaining([
        'run.started',
        'interrupt.asked',
        'run.pausing',
        'run.resumed',
        'interrupt.answered',
        'run.ended',
      ]),
    )
    expect(only(audit, 'run.pausing')).toMatchObject({ by: 'human', who: 'ann', subject: 'lunch' })
    expect(only(audit, 'interrupt.answered')).toMatchObject({
      by: 'human',
      who: 'eve',
      evidence: { question: 'what?', value: 42 },
    })
  })

  test('a grant says who gave it, and every use of it', async () => {
    const audit = await told({ agents: [mailer] }, async (runtime) => {
      const first = await runtime.start('mailer', 'go', { session: 's' })
      await first.until('waiting')
      const [asked] = await runtime.approvals()
      await first.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann', grant: 'session' })
      await first.outcome()
      expect(only(await runtime.audit(first.id), 'grant.given')).toMatchObject({
        by: 'human',
        who: 'ann',
        evidence: { approval: asked!.id, grant: 'session' },
      })
      const second = await runtime.start('mailer', 'again', { session: 's' })
      await second.outcome()
      return second
    })
    expect(audit.entries.map(short)).toEqual([
      'caller: run.started mailer',
      'grant ann: grant.used send',
      'agent mailer: action.requested send',
      'runtime: action.done send',
      'runtime: run.ended completed',
    ])
  })

  test('a run that goes on is a part and says so; what it says is the beginning of what it will say', async () => {
    await using runtime = await createRuntime({ strict: true, agents: [payer] })
    const run = await runtime.start('payer', { amount: 10 }, { runId: 'run_p' })
    await run.until('waiting')
    const before = await runtime.audit('run_p')
    expect(before.head.ended).toBe(false)
    expect(await verifyAudit(before)).toMatchObject({ ok: true, complete: false })
    const [asked] = await runtime.approvals()
    await run.decide({ approvalId: asked!.id, decision: 'reject', approver: 'ann' })
    await run.outcome()
    const after = await runtime.audit('run_p')
    expect(after.entries.slice(0, before.entries.length)).toEqual(before.entries)
    expect(await verifyAudit(after, { against: before })).toMatchObject({ ok: true, complete: true })
    expect((await verifyAudit(before, { against: after.head })).problems).toMatchObject([{ code: 'truncated' }])
    await expect(runtime.audit('run_none')).rejects.toMatchObject({ code: 'run.unknown' })
  })

  test('words of operators, takeovers and trust are in it, and plain mail is not', () => {
    const run = 'run_w' as RunId
    const events: JournalEvent[] = [
      { type: 'activation.started', agent: 'a', version: '1', input: { brief: { instructions: 'x' } } },
      {
        type: 'fact.noted',
        op: 'fact',
        address: 'f',
        name: 'trust.level',
        data: { trust: 'analysts', level: 'novice', mode: 'in-command' },
      },
      {
        type: 'escalation.raised',
        op: 'fact',
        address: 'e',
        subject: 'action',
        name: 'pay',
        mode: 'on-the-loop',
        hits: [],
        asks: false,
      },
      { type: 'run.taken-over', by: 'ann', reason: 'I do it' },
      { type: 'control.ignored', command: 'resume', by: 'bob', why: 'taken over' },
      { type: 'run.handed-back', by: 'ann' },
      {
        type: 'message.received',
        id: 'msg_1' as never,
        body: { type: '$stop', delegation: 'd1', reason: 'stopped by ann' },
      },
      { type: 'message.received', id: 'msg_2' as never, body: 'how is it going?' },
      { type: 'message.received', id: 'msg_3' as never, from: 'act_run_w>x' as never, body: { type: '$stop' } },
      { type: 'cancel.received', reason: 'limit', limit: 'usd' },
      { type: 'trust.updated', op: 'fact', address: 't', trust: 'analysts', level: 'novice', tasks: 1, succeeded: 1 },
    ]
    const feed = events.map((event, i): Recorded => ({
      run,
      activation: 'act_run_w' as never,
      seq: i,
      position: i + 1,
      at: i,
      event,
    }))
    expect(auditOf(run, feed).entries.map(short)).toEqual([
      'caller: run.started a',
      'runtime a: trust.read analysts',
      'runtime a: escalation.raised pay',
      'human ann: run.taken-over I do it',
      'human bob: control.ignored resume',
      'human ann: run.handed-back ',
      'human: operator.said stop',
      'runtime: cancel.received limit',
      'runtime: trust.updated analysts',
    ])
  })
})

test('an action is asked for, held, let out and done: each is said when the journal knows it', () => {
  const run = 'run_h' as RunId
  const asked = {
    tool: 'pay',
    toolVersion: '1',
    inputHash: 'x',
    reason: 'money',
    risk: 'low',
    onTimeout: 'reject',
    path: ['a'],
  } as const
  const events: JournalEvent[] = [
    { type: 'activation.started', agent: 'a', version: '1', input: null, caller: { user: 'zoe' } },
    { type: 'approval.requested', op: 'ask', address: 'q', id: 'apr_1', input: 1, callId: 'c1', ...asked },
    {
      type: 'approval.resolved',
      op: 'fact',
      address: 'r',
      id: 'apr_1',
      resolution: 'approved',
      approver: 'ann',
      capability: 'cap_1',
    },
    { type: 'tool.called', op: 'step', address: 's', effect: 'once', tool: 'pay', callId: 'c1', capability: 'cap_1' },
    { type: 'effect.held', address: 's' },
    { type: 'effect.held', address: 'other' },
    { type: 'effect.released', address: 's' },
    { type: 'step.settled', address: 's', outcome: { status: 'cancelled', reason: 'no' } },
  ]
  const feed = events.map((event, i): Recorded => ({
    run,
    activation: 'act_run_h' as never,
    seq: i,
    position: i + 1,
    at: i,
    event,
  }))
  expect(auditOf(run, feed).entries.map(short)).toEqual([
    'human zoe: run.started a',
    'agent a: approval.asked pay',
    'human ann: approval.decided pay',
    'agent a: action.requested pay',
    'runtime: action.held pay',
    'runtime: action.begun pay',
    'runtime: action.failed pay',
  ])
})

describe('nothing can be changed unseen', async () => {
  const key = await newEd25519Key()
  const signer = ed25519Signer(key, 'audit-1')
  const keys = [ed25519Verifier(key, 'audit-1')]
  const unsigned = await told({ agents: [mailer] }, async (runtime) => {
    const run = await runtime.start('mailer', 'go', { runId: 'run_t' })
    await run.until('waiting')
    const [asked] = await runtime.approvals()
    await run.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann' })
    await run.outcome()
    return run
  })
  const whole = await signAudit(unsigned, signer)
  const codes = async (document: unknown, more: object = { keys }): Promise<string[]> =>
    (await verifyAudit(document, more)).problems.map(({ code, n }) => (n === undefined ? code : `${code} ${n}`))
  const changed = (
    change: (audit: { head: Record<string, Json>; signature?: string; entries: Record<string, Json>[] }) => void,
  ): unknown => {
    const audit = copy(whole as unknown as Json)
    change(audit as never)
    return audit
  }

  test('as it was handed out it is right, in another form, too', async () => {
    expect(await verifyAudit(whole, { keys })).toEqual({
      ok: true,
      problems: [],
      run: 'run_t',
      entries: 6,
      complete: true,
      signedBy: 'audit-1',
    })
    expect(await verifyAudit(JSON.parse(JSON.stringify(whole, null, 2)), { keys })).toMatchObject({ ok: true })
    expect(await codes(whole, {})).toEqual([])
  })

  test('every member of every entry and of the head: another value, one less, one more', async () => {
    let tried = 0
    const damage = async (path: readonly (string | number)[], value: unknown): Promise<void> => {
      for (const other of others(value)) {
        const audit = copy(whole as unknown as Json)
        const at = path
          .slice(0, -1)
          .reduce<Record<string | number, unknown>>((into, step) => into[step] as never, audit as never)
        const last = path.at(-1)!
        if (other === undefined && Array.isArray(at)) at.splice(last as number, 1)
        else if (other === undefined) delete at[last]
        else at[last] = other
        tried++
        expect((await verifyAudit(audit, { keys })).ok, `${path.join('.')} = ${JSON.stringify(other)}`).toBe(false)
      }
      if (typeof value === 'object' && value !== null)
        for (const [name, member] of Object.entries(value))
          await damage([...path, Array.isArray(value) ? Number(name) : name], member)
    }
    for (const [name, member] of Object.entries(whole)) await damage([name], member)
    expect(tried).toBeGreaterThan(200)
  })

  test('any byte of the file', async () => {
    const text = JSON.stringify(whole)
    let read = 0
    for (let n = 0; n < 1_500; n++) {
      const at = Math.floor(seededRandom('byte', n) * text.length)
      const byte = String.fromCharCode(32 + Math.floor(seededRandom('value', n) * 95))
      const other = text.slice(0, at) + byte + text.slice(at + 1)
      const parsed = parse(other)
      if (parsed === undefined || JSON.stringify(parsed) === text) continue
      read++
      expect((await verifyAudit(parsed, { keys })).ok, other.slice(at - 20, at + 20)).toBe(false)
    }
    expect(read).toBeGreaterThan(500)
  })

  test('it says exactly what is wrong', async () => {
    expect(await codes(changed(({ entries }) => (entries[2]!['who'] = 'eve')))).toEqual(['edited 2'])
    expect(await codes(changed(({ entries }) => entries.splice(2, 1)))).toEqual(['broken 2', 'truncated'])
    expect(await codes(changed(({ entries }) => entries.pop()))).toEqual(['truncated'])
    expect(await codes(changed(({ entries }) => entries.splice(1, 2, entries[2]!, entries[1]!)))).toEqual(['broken 1'])
    const [removed] = (await verifyAudit(changed(({ entries }) => entries.splice(2, 1)))).problems
    expect(removed?.message).toBe(
      'entry 2 does not follow entry 1: something was removed, added or moved; 2 more after it are out of place, too',
    )
    expect(await codes(changed(({ head }) => (head['at'] = 1)))).toEqual(['other-head'])
    expect(await codes(changed((audit) => delete audit.signature))).toEqual(['unsigned'])
    expect(await codes(changed((audit) => Object.assign(audit, { note: 'fine' })))).toEqual(['malformed'])
    expect((await verifyAudit({ name: 'reeve' })).problems).toMatchObject([
      { message: 'not an audit: unknown field "name"' },
    ])
    for (const none of [null, 1, 'x', [], {}, { head: {}, entries: [] }, { ...whole, entries: [1] }])
      expect(await codes(none)).toEqual(['malformed'])
  })

  test('a rewritten chain does not verify: no key, another key, another kind of key, another run’s signature', async () => {
    const forged = auditOf(
      'run_t' as RunId,
      [{ type: 'activation.started', agent: 'mailer', version: '1', input: null } as const].map((event) => ({
        run: 'run_t' as RunId,
        activation: 'act_run_t' as never,
        seq: 0,
        position: 1,
        at: 1,
        event,
      })),
    )
    expect(await codes(forged, {})).toEqual([])
    expect(await codes({ ...forged, signature: whole.signature })).toEqual(['other-head'])
    const other = await newEd25519Key()
    expect(await codes(await signAudit(forged, ed25519Signer(other, 'mine')))).toEqual(['unknown-key'])
    expect(await codes(await signAudit(forged, ed25519Signer(other, 'audit-1')))).toEqual(['bad-signature'])
    expect(await codes(await signAudit(forged, hmacSigner('x'.repeat(32), 'audit-1')))).toEqual(['unknown-key'])
    expect(await codes({ ...whole, head: { ...whole.head, run: 'run_u' } })).toEqual(['broken 0', 'other-head'])
  })

  test('truncated at the end with a head that fits: an earlier head tells', async () => {
    const feed = unsigned.entries.slice(0, 3)
    const cut: AuditDocument = { head: { ...unsigned.head, entries: 3, hash: feed[2]!.hash }, entries: feed }
    expect(await codes(cut, {})).toEqual([])
    expect(await codes(cut, { against: whole })).toEqual(['truncated'])
    expect(await codes(whole, { against: cut.head })).toEqual([])
    const other = { ...cut.head, hash: 'f'.repeat(64) }
    expect(await codes(whole, { against: other })).toEqual(['rewritten'])
    expect(await codes(whole, { against: { ...cut.head, run: 'run_u' } })).toEqual(['other-run'])
    expect(await codes(whole, { keys, against: { head: cut.head, signature: whole.signature } })).toEqual([
      'other-head',
    ])
    expect(await codes(whole, { keys, against: { head: {} as never } })).toEqual(['malformed'])
  })
})

/** Other values in the place of one; undefined: nothing. */
function others(value: unknown): unknown[] {
  if (typeof value === 'string')
    return [`${value}x`, value.slice(1) === value ? 'y' : value.slice(1), 7, undefined].filter((each) => each !== value)
  if (typeof value === 'number') return [value + 1, String(value), undefined]
  if (typeof value === 'boolean') return [!value, undefined]
  if (value === null) return [0, undefined]
  if (Array.isArray(value)) return [[...(value as unknown[]), {}], undefined]
  return [{ ...(value as object), more: 1 }, undefined]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

test('a long audit is checked in slices: others have their turns', async () => {
  const run = 'long' as RunId
  const activation = rootActivation(run)
  const feed = Array.from({ length: 5_000 }, (_, i): Recorded => {
    const event = { type: 'message.received', id: `msg_${i}`, body: { type: '$note', comment: 'x'.repeat(200) } }
    return { position: i + 1, run, activation, seq: i, at: i, event: event as unknown as Recorded['event'] }
  })
  const document = auditOf(run, feed)
  expect(document.entries.length).toBe(feed.length)
  const { result, turns } = await turnsDuring(() => verifyAudit(document))
  expect(result).toMatchObject({ ok: true, entries: feed.length })
  expect(turns).toBeGreaterThan(3)
})
