/** Sensitive actions by their names. Spec team R-17, X32 to X34. */
import { describe, expect, test } from 'vitest'
import type { Escalate } from '@reeve/edge'
import { agent } from '@reeve/agent'
import { createRuntime } from '@reeve/runtime'
import { team } from '@reeve/team'
import { gateOf, sensitiveWord } from '../src/index.ts'

describe('a name', () => {
  test.each<[string | undefined, Escalate | undefined, string | undefined]>([
    // X32: both lists, anywhere in the name, in any case
    ['publish_report', undefined, 'publish'],
    ['send_email', undefined, 'send'],
    ['resend', undefined, 'send'],
    ['DELETE_ROW', undefined, 'delete'],
    ['pay', undefined, 'pay'],
    ['shareFile', undefined, 'share'],
    ['search', undefined, undefined],
    // X33: fail-safe by default
    ['market share', undefined, 'share'],
    ['build_payload', undefined, 'pay'],
    // nothing said is nothing sensitive
    [undefined, undefined, undefined],
    ['', undefined, undefined],
    ['   ', undefined, undefined],
    // more words, none, exceptions
    ['wire_money', { sensitive: ['wire'] }, 'wire'],
    ['delete_row', { sensitive: ['wire'] }, 'delete'],
    ['delete_row', { sensitive: false }, undefined],
    ['share_of_market', { exceptions: ['Share_Of_Market'] }, undefined],
    ['share_of_markets', { exceptions: ['share_of_market'] }, 'share'],
    // whole words
    ['build_payload', { match: 'word' }, undefined],
    ['resend', { match: 'word' }, undefined],
    ['sendEmail', { match: 'word' }, 'send'],
    ['HTTPSend', { match: 'word' }, 'send'],
    ['auto-pay.now', { match: 'word' }, 'pay'],
    ['pay2', { match: 'word' }, undefined],
    ['wireMoneyNow', { match: 'word', sensitive: ['wire_money'] }, 'wire_money'],
    ['wireNoMoney', { match: 'word', sensitive: ['wire_money'] }, undefined],
    ['datenLöschen', { match: 'word', sensitive: ['löschen'] }, 'löschen'],
  ])('%j with %j: %s', (name, rules, due) => {
    expect(sensitiveWord(name, rules)).toBe(due)
  })

  test('by default only the identifier is examined', () => {
    expect([
      sensitiveWord('note', {}, 'deletes everything'),
      sensitiveWord('note', { scanDescription: true }, 'deletes everything'),
      sensitiveWord(undefined, { scanDescription: true }, 'pays'),
    ]).toEqual([undefined, 'delete', 'pay'])
  })
})

describe('what redaction has changed', () => {
  test('a name, or a text that is examined, of which a part is gone counts as sensitive; an exception does not help', () => {
    expect([
      sensitiveWord('[redacted]_report'),
      sensitiveWord('[redacted]', { match: 'word' }),
      sensitiveWord('[redacted]_report', { exceptions: ['[redacted]_report'] }),
      sensitiveWord('note', { scanDescription: true }, 'to [redacted] it'),
      sensitiveWord('note', {}, 'to [redacted] it'),
    ]).toEqual(['[redacted]', '[redacted]', '[redacted]', '[redacted]', undefined])
  })

  test.each([
    ['a value in the name of the action', { values: ['publish'] }],
    ['the member that names it', { keys: ['action'] }],
    ['the name of that member', { values: ['action'] }],
  ])('a planned action is asked about, whatever of it is redacted: %s', async (_what, redact) => {
    const did: string[] = []
    const root = team({
      name: 'crew',
      roles: { generalist: agent({ name: 'g', description: 'Works.', run: () => void did.push('done') }) },
      oversight: { mode: 'in-the-loop' },
      planner: {
        model: () =>
          JSON.stringify({
            subtasks: [
              { id: 'x', description: 'x', action: 'publish_report' },
              { id: 'y', description: 'y', dependencies: ['x'] },
            ],
          }),
      },
      strategy: 'sequential',
    })
    await using runtime = await createRuntime({ agents: [root], redact })
    const run = await runtime.start(root, 'Go')
    await run.until('waiting')
    expect((await run.view()).approvals).toMatchObject([
      { task: 'x', open: true, risk: expect.stringMatching(/high|medium/) as string },
    ])
    expect(did).toEqual([])
    await run.control.cancel('enough')
  })

  test('a key that hides the description of a task hides that of its approval, too', async () => {
    const root = team({
      name: 'crew',
      roles: { generalist: agent({ name: 'g', description: 'Works.', run: () => 'done' }) },
      oversight: { mode: 'in-the-loop' },
      planner: { subtasks: [{ id: 'x', description: 'to Ann, in private', action: 'publish_report' }] },
    })
    await using runtime = await createRuntime({ agents: [root], redact: { keys: ['description'] } })
    const run = await runtime.start(root, 'Go')
    await run.until('waiting')
    const [approval] = (await run.view()).approvals
    expect(approval).toMatchObject({ description: '[redacted]', input: { description: '[redacted]' } })
    await run.control.cancel('enough')
  })
})

describe('what follows from it', () => {
  test.each([
    [undefined, 'high'],
    ['low', 'high'],
    ['high', 'high'],
    ['critical', 'critical'],
  ] as const)('X34: a risk of %s is raised to %s, and never lowered', (risk, due) => {
    expect(gateOf({}, { action: 'send_email', ...(risk === undefined ? undefined : { risk }) }).risk).toBe(due)
  })

  test('an explicit requirement stands under any name', () => {
    expect(gateOf({ mode: 'on-the-loop' }, { action: 'search', always: true }).asks).toBe(true)
    expect(gateOf({ escalate: { sensitive: false } }, { action: 'search', sensitive: true })).toMatchObject({
      asks: true,
      sensitive: true,
    })
  })
})
