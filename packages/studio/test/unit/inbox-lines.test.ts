/** What the inbox computes: what differs between requests, their groups, and a list that is held. Pure. */
import { expect, test } from 'vitest'
import type { QuestionView } from '@reeve/server/wire'
import { aloneReason, compareFields, comparisonProblem, fieldText } from '../../src/pages/inbox/argument-fields.ts'
import { heldList, inboxLines, questionGroups, distinctFields } from '../../src/pages/inbox/question-groups.ts'

const approval = (input: unknown, more: object = {}, question: object = {}): QuestionView =>
  ({
    id: `q${JSON.stringify(input)}`,
    kind: 'approval',
    run: 'r',
    activation: 'a',
    path: ['desk', 'payer'],
    agent: 'desk',
    askedAt: 1,
    mayAnswer: true,
    same: '',
    approval: { tool: 'pay', toolVersion: '1', risk: 'high', reason: 'asked', inputHash: 'h', input, ...more },
    ...question,
  }) as never

const labels = (fields: readonly { readonly label: string }[]): readonly string[] => fields.map(({ label }) => label)

test('only what differs differs: nested, missing, of another type, and names like those of Object', () => {
  const { common, differing } = compareFields([
    approval({ order: 'A', to: { name: 'x', iban: '1' }, amount: 1, tags: ['a', 'b'] }),
    approval({ amount: '1', order: 'A', to: { iban: '2', name: 'x' }, tags: ['a', 'b'], constructor: 1 }),
  ])
  expect(labels(differing)).toEqual(['to › iban', 'amount', 'constructor'])
  expect(labels(common)).toEqual(expect.arrayContaining(['order', 'to › name', 'tags', 'risk', 'reason']))
  // a dot in a name is no step down
  expect(labels(compareFields([approval({ 'a.b': 1 }), approval({ a: { b: 1 } })]).differing)).toEqual(['a.b', 'a › b'])
  expect(labels(compareFields([approval('one'), approval('two')]).differing)).toEqual(['value'])
})

test('what is not an argument counts, too: evidence, the reason, the risk, who asks', () => {
  const { differing } = compareFields([
    approval({ a: 1 }, { context: { preview: { before: '1', after: '2' } }, reason: 'x', risk: 'low' }),
    approval(
      { a: 1 },
      { context: { preview: { before: '1', after: '3' } }, reason: 'y', hits: [{ code: 'c', detail: 'd' }] },
    ),
  ])
  expect(labels(differing)).toEqual(['evidence › preview › after', 'risk', 'reason', 'triggers'])
})

test('a difference that is too long, and too many of them, are not compared', () => {
  const pair = (one: unknown, other: unknown): string | undefined => {
    const both = [approval(one), approval(other)]
    return comparisonProblem(both, compareFields(both))
  }
  expect(pair({ text: 'x'.repeat(5_000), n: 1 }, { text: 'x'.repeat(5_000), n: 2 })).toBe(undefined)
  expect(pair({ text: 'x'.repeat(5_000) }, { text: 'y' })).toMatch(/"text" differs and is too long/)
  const many = (n: number): object => Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`f${i}`, n]))
  expect(pair(many(1), many(2))).toMatch(/13 fields/)
})

test('never together: another kind, what one may not answer, critical risk, four eyes', () => {
  expect(aloneReason(approval({}))).toBe(undefined)
  expect(aloneReason(approval({}, { alone: 'critical-risk' }))).toMatch(/critical/)
  expect(aloneReason(approval({}, { alone: 'four-eyes' }))).toMatch(/two people/)
  expect(aloneReason(approval({}, {}, { mayAnswer: 'it needs the role approver' }))).toBe('it needs the role approver')
  expect(aloneReason(approval({}, {}, { kind: 'interrupt', approval: undefined }))).toBeDefined()
})

test('groups of one tool and agent stand where their first question stands; one alone has no head', () => {
  const questions = [
    approval({ n: 1 }),
    approval({ n: 2 }, { tool: 'mail' }),
    approval({ n: 3 }),
    approval({ n: 4 }, {}, { path: ['desk', 'other'] }),
  ]
  const groups = questionGroups(questions)
  expect(groups.map(({ subject, agent, questions: all }) => [subject, agent, all.length])).toEqual([
    ['pay', 'payer', 2],
    ['mail', 'payer', 1],
    ['pay', 'other', 1],
  ])
  expect(inboxLines(groups, new Set()).map(({ type }) => type)).toEqual([
    'group',
    'question',
    'question',
    'question',
    'question',
  ])
  expect(inboxLines(groups, new Set([groups[0]!.key])).map(({ type }) => type)).toEqual([
    'group',
    'question',
    'question',
  ])
  expect(labels(distinctFields(groups[0]!))).toEqual(['n'])
  expect(fieldText(questions[2]!, distinctFields(groups[0]!)[0]!)).toBe('3')
  // nothing tells equal ones apart: their arguments are shown
  expect(labels(distinctFields(questionGroups([approval({ n: 1 }), approval({ n: 1 })])[0]!))).toEqual(['n'])
})

test('a list that is held keeps its places, marks what has gone, and counts what has come', () => {
  const [one, two, three] = [approval(1), approval(2), approval(3)] as const
  const held = heldList([one, two], [three, two])
  expect(held.shown.map(({ id }) => id)).toEqual([one.id, two.id])
  expect([...held.gone]).toEqual([one.id])
  expect(held.arrived).toBe(1)
})
