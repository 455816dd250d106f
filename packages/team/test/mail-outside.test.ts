/**
 * Mail from outside, from the lead, under a policy, and for those who come later: spec team 1.7. Embedded engine only.
 */
import { describe, expect, test } from 'vitest'
import { sleep, teammate } from '@reeve/agent'
import { ReeveError, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { PolicyQuestion } from '../src/index.ts'
import { members, of, outputOf, task } from './members.ts'
import { played, staged } from './trace.ts'

const json = (value: unknown): Json => value as Json
const readsAt = (seconds: number) => async (ctx: Context) => {
  await sleep(ctx, seconds * 1_000)
  return json((await teammate(ctx).inbox()).map(({ at: _at, ...mail }) => mail))
}

describe('from outside', () => {
  test('a writer from outside is always the operator', async () => {
    const stage = await staged(members({ a: readsAt(1), b: readsAt(1) }))
    expect(
      await stage.run.team.post({
        to: 'a_1',
        content: { look: 'here' },
        kind: 'request',
        correlationId: 'x',
        by: 'b_1',
      }),
    ).toBe('accepted')
    expect(await stage.run.team.post({ to: '*', content: 'all', by: 'lead' })).toBe('accepted')
    expect(await stage.run.team.post({ to: 'role:B', content: null })).toBe('accepted')
    const { outcome, events } = await stage.end()
    expect(outputOf(outcome, 'a')).toEqual([
      {
        seq: 1,
        from: 'operator',
        by: 'b_1',
        to: 'a_1',
        content: { look: 'here' },
        kind: 'request',
        correlationId: 'x',
      },
      { seq: 2, from: 'operator', by: 'lead', to: '*', content: 'all' },
    ])
    expect(outputOf(outcome, 'b')).toEqual([
      { seq: 2, from: 'operator', by: 'lead', to: '*', content: 'all' },
      { seq: 3, from: 'operator', to: 'role:B', content: null },
    ])
    expect(of(events, 'mail.accepted').map(({ from, by }) => [from, by])).toEqual([
      ['operator', 'b_1'],
      ['operator', 'lead'],
      ['operator', undefined],
    ])
  })

  test('the same id twice is one message', async () => {
    const stage = await staged(members({ a: readsAt(1) }))
    await Promise.all([1, 2, 3].map(() => stage.run.team.post({ to: 'a_1', content: 'once', id: 'm1' })))
    expect(await stage.run.team.post({ to: 'a_1', content: 'other', id: 'm2' })).toBe('accepted')
    const { outcome } = await stage.end()
    expect(outputOf(outcome, 'a')).toMatchObject([{ content: 'once' }, { content: 'other' }])
  })

  test('team C32: after the end nothing is taken: closed', async () => {
    const stage = await staged(members({ a: 1 }))
    const { outcome, events } = await stage.end()
    expect(outcome.status).toBe('completed')
    expect(await stage.run.team.post({ to: 'a_1', content: 'late' })).toBe('closed')
    expect(await stage.run.team.post({ to: 'a_1', content: 'late', team: 'analysts' })).toBe('closed')
    expect(await stage.runtime.handle(stage.run.id).view()).toMatchObject({ status: 'completed' })
    expect(of(events, 'mail.accepted')).toEqual([])
  })

  test('a paused team takes mail, and gives it out when it goes on', async () => {
    const stage = await staged(members({ a: readsAt(2) }))
    await stage.until(1)
    await stage.run.control.pause()
    await stage.rests()
    expect(await stage.run.team.post({ to: 'a_1', content: 'while paused' })).toBe('accepted')
    await stage.rests()
    await stage.run.control.resume()
    const { outcome } = await stage.end()
    expect(outputOf(outcome, 'a')).toMatchObject([{ from: 'operator', content: 'while paused' }])
  })

  test('invalid mail is refused at the call with all problems; so are Reeve’s own words to leaders', async () => {
    const stage = await staged(members({ a: 1 }))
    const wrong = { to: ' ', content: { n: NaN }, kind: '', bcc: 'x' } as never
    const refused = await stage.run.team.post(wrong).catch((thrown: unknown) => thrown)
    expect(ReeveError.is(refused) && refused.code).toBe('input.invalid')
    for (const part of ['no option "bcc"', 'to is the text', 'content.n is NaN', 'kind is the text ""'])
      expect((refused as Error).message).toContain(part)
    await expect(stage.run.team.post({ to: 'a_1' } as never)).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(stage.run.team.post({ to: 'a_1', content: 'x', team: 'writers' })).rejects.toMatchObject({
      code: 'input.invalid',
    })
    const root = `act_${stage.run.id}` as never
    for (const type of ['$team', '$team.reply', '$team.mail', '$stop'])
      await expect(stage.run.post(root, { type, do: 'team' })).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(stage.runtime.handle('nobody').team.post({ to: 'a_1', content: 'x' })).rejects.toMatchObject({
      code: 'run.unknown',
    })
    const { events } = await stage.end()
    expect(of(events, 'message.received')).toEqual([])
  })

  test('too large, or without a receiver: the journal has the answer', async () => {
    const stage = await staged(members({ a: 1 }, { maxBytes: 8 }))
    for (const content of ['123456', '1234567'])
      expect(await stage.run.team.post({ to: 'a_1', content, by: 'ann' })).toBe('accepted')
    expect(await stage.run.team.post({ to: 'role: ', content: 1 })).toBe('accepted')
    const { events } = await stage.end()
    expect(of(events, 'mail.accepted')).toMatchObject([{ seq: 1, recipients: ['a_1'] }])
    expect(of(events, 'mail.refused')).toMatchObject([
      { from: 'operator', by: 'ann', to: 'a_1', reason: 'too_large' },
      { from: 'operator', to: 'role: ', reason: 'invalid' },
    ])
  })
})

describe('those who come later', () => {
  test('mail to an empty role waits for its first recruit', async () => {
    const { outcome, events } = await played(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            await me.send({ to: 'role:Critic', content: 'one' })
            await me.send({ to: 'dynamic_critic_1', content: 'two' })
            await sleep(ctx, 1_000)
            return json(await me.recruit({ description: 'criticise', role: 'critic' }))
          },
          criticise: readsAt(0),
        },
        {},
        {},
        [task('a')],
      ),
    )
    expect(outputOf(outcome, 'a')).toMatchObject({ admitted: true, member: 'dynamic_critic_1' })
    expect(outputOf(outcome, 'dynamic_critic_1')).toMatchObject([{ content: 'one' }, { content: 'two' }])
    expect(of(events, 'mail.forwarded')).toMatchObject([{ member: 'dynamic_critic_1', seqs: [1, 2] }])
    expect(of(events, 'mail.accepted').map(({ recipients }) => recipients)).toEqual([[], []])
  })

  test('mail of the lead comes from the lead, and no quota holds for it', async () => {
    let given = 0
    const { outcome } = await played(
      members(
        { a: 1, b: readsAt(3) },
        { quota: 1 },
        {
          lead: () =>
            given++ === 0
              ? [
                  { post: { to: 'b_1', content: 'one' } },
                  { post: { to: 'b_1', content: 'two' } },
                  { post: { to: '', content: 'three' } },
                ]
              : [],
        },
      ),
    )
    expect(outputOf(outcome, 'b')).toMatchObject([
      { from: 'lead', content: 'one' },
      { from: 'lead', content: 'two' },
    ])
  })
})

describe('under a policy', () => {
  const sends = async (ctx: Context): Promise<Json> => {
    const me = teammate(ctx)
    const all = await Promise.all(
      ['one', 'two', 'three'].map((content) => me.send({ to: 'b_1', content, kind: 'info' })),
    )
    return json(all)
  }

  test('every message is a question of its own; deny, and a policy that throws, refuse it; the order stays', async () => {
    const asked: PolicyQuestion[] = []
    const { outcome, events } = await played(
      members(
        { a: sends, b: readsAt(1) },
        {
          policy: (question) => {
            asked.push(question)
            const { content } = question.details as { content: string }
            if (content === 'two') throw new Error('out of order')
            return content === 'three' ? { verdict: 'deny', reason: 'enough' } : 'allow'
          },
        },
      ),
    )
    expect(asked[0]).toMatchObject({
      action: 'message',
      actor: 'a_1',
      role: 'a',
      run: 'traced',
      teamSize: 2,
      details: { from: 'a_1', to: 'b_1', content: 'one', kind: 'info' },
    })
    expect(outputOf(outcome, 'a')).toMatchObject([
      { accepted: true, seq: 1 },
      { accepted: false, reason: 'policy', message: 'the policy failed: out of order' },
      { accepted: false, reason: 'policy', message: 'enough' },
    ])
    expect(outputOf(outcome, 'b')).toMatchObject([{ content: 'one' }])
    expect(of(events, 'mail.refused').map(({ reason }) => reason)).toEqual(['policy', 'policy'])
  })

  test('the own policy of the mailbox is asked first, then that of the team', async () => {
    const asked: string[] = []
    const { outcome } = await played(
      members(
        { a: sends, b: readsAt(1) },
        { policy: () => (asked.push('mailbox'), 'allow') },
        { policy: ({ action }) => (action === 'plan' ? 'allow' : (asked.push(action), 'deny')) },
      ),
    )
    expect(outputOf(outcome, 'b')).toEqual([])
    expect(asked.slice(0, 4)).toEqual(['mailbox', 'message', 'mailbox', 'message'])
  })

  test('where it says ask, a human decides, and may mend it; others write meanwhile', async () => {
    const stage = await staged(
      members(
        { a: sends, b: readsAt(50), c: async (ctx) => json(await teammate(ctx).send({ to: 'b_1', content: 'c' })) },
        { policy: ({ actor }) => (actor === 'a_1' ? 'ask' : 'allow') },
      ),
    )
    const decides = async (decision: object): Promise<void> => {
      await stage.rests()
      const [approval] = await stage.runtime.approvals()
      await stage.run.decide({ approvalId: approval!.id, approver: 'ann', ...decision } as never)
    }
    await decides({ decision: 'edit', input: { from: 'a_1', to: 'b_1', content: 'one, mended', kind: 'info' } })
    await decides({ decision: 'reject', comment: 'no' })
    await decides({ decision: 'approve' })
    const { outcome } = await stage.end()
    expect(outputOf(outcome, 'b')).toMatchObject([
      { seq: 1, from: 'c_1', content: 'c' },
      { seq: 2, from: 'a_1', content: 'one, mended' },
      { seq: 3, from: 'a_1', content: 'three' },
    ])
    expect(outputOf(outcome, 'a')).toMatchObject([
      { seq: 2 },
      { accepted: false, reason: 'policy', message: 'no' },
      { seq: 3 },
    ])
  })
})
