/** Sensitive actions by their names. Spec team R-17, X32 to X34. */
import { describe, expect, test } from 'vitest'
import type { Escalate } from '../../src/edge/index.ts'
import { gateOf, sensitiveWord } from '../../src/oversight/index.ts'

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
