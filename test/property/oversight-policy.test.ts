/**
 * Oversight that is combined is never looser than any of its parts, and whatever speaks for a look is said, in its
 * order. Seeded. Spec team, C76 to C78.
 */
import { describe, expect, test } from 'vitest'
import { oversightModes, stricterMode, type OversightMode, riskLevels, type RiskLevel } from '@reeve/core'
import { stricter, type Escalate, type Oversight } from '@reeve/edge'
import { evaluateEscalation, gateOf, sensitiveWord, type Subject } from '@reeve/oversight'
import { dice } from '../dice.ts'

const random = dice(7)
const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!
const maybe = <T>(of: readonly T[]): T | undefined => (random() < 0.5 ? undefined : one(of))
const some = <T>(of: readonly T[]): T[] => of.filter(() => random() < 0.4)
const present = <T extends object>(given: T): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T

const actions = ['wireMoney', 'wire_money', 'wire-money', 'sendEmail', 'send_email', 'payload', 'market_share', 'share', 'read', 'Löschen', 'print', '', '  ', 'WIRE MONEY'] // prettier-ignore
const anyEscalate = (): Escalate =>
  present({
    confidenceBelow: maybe([false, 0, 0.3, 0.6, 0.9, 1]),
    costAboveUsd: maybe([false, 0, 0.5, 1, 5]),
    sensitive: maybe([false, [], ['wire_money'], ['print', 'löschen']]),
    exceptions: maybe([[], ['payload'], ['market_share', 'payload'], some(actions.filter((each) => each !== ''))]),
    match: maybe(['substring', 'word'] as const),
    scanDescription: maybe([true, false]),
    consecutiveFailures: maybe([false, 1, 3, 5]),
    decisionMs: maybe([false, 0, 10, 100]),
    outOfScope: maybe([true, false]),
  }) as Escalate
const anyOversight = (): Oversight | undefined =>
  random() < 0.1
    ? undefined
    : (present({ mode: maybe(oversightModes), escalate: random() < 0.3 ? undefined : anyEscalate() }) as Oversight)
const anySubject = (): Subject =>
  present({
    action: maybe(actions),
    description: maybe(['sends it', 'looks', 'wire money to Bob']),
    risk: maybe(riskLevels),
    sensitive: maybe([true, false]),
    always: maybe([true, false]),
    costUsd: maybe([0, 0.5, 0.51, 1, 1.01, 5, 9]),
    confidence: maybe([0, 0.3, 0.59, 0.6, 0.9, 1]),
    failures: maybe([0, 1, 2, 3, 5]),
    tookMs: maybe([0, 10, 11, 1_000]),
    outOfScope: maybe(['no tool']),
  }) as Subject

describe('R-15: the stricter wins', () => {
  test('a look that one policy above asks for is asked below under all others; every hit counts once', () => {
    for (let n = 0; n < 20_000; n++) {
      const parts = [anyOversight(), anyOversight(), anyOversight()]
      const both = parts.reduce(stricter)
      const subject = anySubject()
      const word = gateOf(both, subject)
      for (const part of parts) {
        const alone = gateOf(part, subject)
        const seen = JSON.stringify({ parts, subject })
        expect([word.asks || !alone.asks, word.sensitive || !alone.sensitive], seen).toEqual([true, true])
        const codes = word.hits.map(({ code }) => code)
        for (const { code } of alone.hits) expect(codes, seen).toContain(code)
        expect(riskLevels.indexOf(word.risk), seen).toBeGreaterThanOrEqual(riskLevels.indexOf(alone.risk))
      }
    }
  })
  test('combining in any order and any number of times asks the same', () => {
    for (let n = 0; n < 5_000; n++) {
      const [a, b, c] = [anyOversight(), anyOversight(), anyOversight()]
      const subject = anySubject()
      const asked = [
        stricter(stricter(a, b), c),
        stricter(a, stricter(b, c)),
        stricter(stricter(c, b), a),
        stricter(stricter(stricter(a, b), c), stricter(b, a)),
      ].map((each) => gateOf(each, subject))
      for (const each of asked)
        expect(each, JSON.stringify({ a, b, c, subject })).toMatchObject({ asks: asked[0]!.asks, mode: asked[0]!.mode })
      expect(new Set(asked.map(({ hits }) => hits.map(({ code }) => code).join())).size).toBe(1)
    }
  })
  test('X35: an unknown mode is stricter than every other', () => {
    const foo = 'foo' as OversightMode
    for (const mode of oversightModes) expect([stricterMode(mode, foo), stricterMode(foo, mode)]).toEqual([foo, foo])
    expect(gateOf({ mode: foo }, {}).asks).toBe(true)
  })
})

describe('R-14: what speaks for a look', () => {
  const order = [
    'sensitive_action',
    'cost_limit',
    'low_confidence',
    'consecutive_failures',
    'decision_timeout',
    'out_of_scope',
  ]
  test('C76: is exactly what the rule says, all of it, in its order; what is missing is not 0', () => {
    for (let n = 0; n < 20_000; n++) {
      const rules = anyEscalate()
      const subject = anySubject()
      const { all, primary, escalate } = evaluateEscalation(subject, rules)
      const over = (limit: number | false, is: (limit: number) => boolean): boolean => limit !== false && is(limit)
      const due = [
        subject.sensitive === true || sensitiveWord(subject.action, rules, subject.description) !== undefined,
        subject.costUsd !== undefined && over(rules.costAboveUsd ?? 1, (limit) => subject.costUsd! > limit),
        subject.confidence !== undefined && over(rules.confidenceBelow ?? 0.6, (limit) => subject.confidence! < limit),
        subject.failures !== undefined && over(rules.consecutiveFailures ?? 3, (limit) => subject.failures! >= limit),
        subject.tookMs !== undefined && over(rules.decisionMs ?? false, (limit) => subject.tookMs! > limit),
        subject.outOfScope !== undefined && rules.outOfScope !== false,
      ]
      expect(all.map(({ code }) => code)).toEqual(order.filter((_, i) => due[i]))
      expect([primary, escalate]).toEqual([all[0], all.length > 0])
    }
  })
  test('R-17: a risk is only ever raised, and an own approval requirement always stays', () => {
    for (let n = 0; n < 5_000; n++) {
      const [oversight, subject] = [anyOversight(), anySubject()]
      const { risk, asks, sensitive } = gateOf(oversight, subject)
      const at = (each: RiskLevel): number => riskLevels.indexOf(each)
      expect(at(risk)).toBeGreaterThanOrEqual(Math.max(at(subject.risk ?? 'low'), sensitive ? at('high') : 0))
      expect([asks || subject.always !== true, sensitive || subject.sensitive !== true]).toEqual([true, true])
    }
  })
})

describe('R-17: names', () => {
  test.each<[string | undefined, Escalate, string | undefined]>([
    ['publish_report', {}, 'publish'],
    ['rePUBLISHed', {}, 'publish'],
    ['payload', {}, 'pay'],
    ['market_share', {}, 'share'],
    ['payload', { match: 'word' }, undefined],
    ['market_share', { match: 'word' }, 'share'],
    ['marketShare', { match: 'word' }, 'share'],
    ['sharepoint', { match: 'word' }, undefined],
    ['HTTPSendNow', { match: 'word' }, 'send'],
    ['pay.invoice', { match: 'word' }, 'pay'],
    ['send', { match: 'word' }, 'send'],
    ['payload', { exceptions: ['PayLoad'] }, undefined],
    ['payload2', { exceptions: ['payload'] }, 'pay'],
    ['', {}, undefined],
    ['   ', {}, undefined],
    [undefined, {}, undefined],
    ['read', { sensitive: ['rea'] }, 'rea'],
    ['publish', { sensitive: false }, undefined],
    ['wireMoney', { sensitive: ['wire_money'], match: 'word' }, 'wire_money'],
    // the substring mode is the one that fails safe: it sees all that the other one sees
    ['wireMoney', { sensitive: ['wire_money'] }, 'wire_money'],
    ['wire-money', { sensitive: ['wire_money'] }, 'wire_money'],
    // two ways to write one letter
    ['lo\u0308schen', { sensitive: ['l\u00F6schen'] }, 'l\u00F6schen'],
    ['l\u00F6schen', { sensitive: ['lo\u0308schen'], match: 'word' }, 'lo\u0308schen'],
    ['\uFF50\uFF41\uFF59', {}, 'pay'],
  ])('%s under %j', (action, rules, word) => {
    expect(sensitiveWord(action, rules)).toBe(word)
  })
  test.each<[string, Parameters<typeof sensitiveWord>[1], string?]>([
    ['[redacted]_report', {}],
    ['[redacted]', { match: 'word' }],
    ['re[redacted]port', { exceptions: ['re[redacted]port'] }],
    ['step_1', { scanDescription: true }, 'to [redacted] it'],
  ])('what redaction has changed may have been any word: %s under %j', (action, rules, description) => {
    expect(sensitiveWord(action, rules, description)).toBe('[redacted]')
  })
  test('a description is looked at only where that is said', () => {
    expect(sensitiveWord('step_1', {}, 'publish it')).toBeUndefined()
    expect(sensitiveWord('step_1', { scanDescription: true }, 'publish it')).toBe('publish')
    expect(sensitiveWord(undefined, { scanDescription: true }, 'publish it')).toBe('publish')
  })
})
