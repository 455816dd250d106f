/**
 * What differs between approvals of one tool: the fields an approver compares before deciding several at once.
 *
 * Owns: flattening arguments into fields, which fields differ, whether all of them can be shown whole. Does not own: who
 * may decide (the server), drawing. Pure.
 *
 * Holds: R-16: a difference that cannot be shown whole is a reason not to decide together, never left out.
 */
import type { QuestionView } from '@reeve/server/wire'
import { isObject, type Json } from '../../data/json.ts'
import { sortedJson } from '../../ui/json-text.ts'

/** One value of an approval. `of`: which part of the approval it belongs to. */
export interface ArgumentField {
  readonly key: string
  readonly of: 'argument' | 'evidence' | 'request'
  readonly label: string
}

/** Fields of several approvals: those with one value in all of them, and those that differ. */
export interface FieldComparison {
  readonly common: readonly ArgumentField[]
  readonly differing: readonly ArgumentField[]
}

type Fields = ReadonlyMap<string, { readonly field: ArgumentField; readonly value: Json }>

const deepest = 3
/** More fields, or a longer value, than a person compares row by row. */
const mostDiffering = 12
const longestValue = 600

const cache = new WeakMap<QuestionView, Fields>()

/** Every field of an approval, in the order of its arguments. */
function fieldsOf(question: QuestionView): Fields {
  const known = cache.get(question)
  if (known !== undefined) return known
  const fields = new Map<string, { readonly field: ArgumentField; readonly value: Json }>()
  const add = (of: ArgumentField['of'], path: readonly string[], value: Json): void => {
    const key = JSON.stringify([of, ...path])
    fields.set(key, { field: { key, of, label: path.join(' › ') }, value })
  }
  const walk = (of: ArgumentField['of'], path: readonly string[], value: Json): void => {
    const members = isObject(value) && path.length < deepest ? Object.entries(value) : []
    if (members.length === 0) add(of, path.length === 0 ? ['value'] : path, value)
    else for (const [name, member] of members) walk(of, [...path, name], member)
  }
  const { approval, path } = question
  if (approval !== undefined) {
    walk('argument', [], approval.input)
    if (approval.context !== undefined) walk('evidence', ['evidence'], approval.context)
    add('request', ['risk'], approval.risk)
    add('request', ['reason'], approval.reason)
    add('request', ['triggers'], (approval.hits ?? []).map(({ code, detail }) => `${code}: ${detail}`).join('; '))
    add('request', ['tool version'], approval.toolVersion)
    add('request', ['approvers'], (approval.approvers ?? []).join(', '))
    add('request', ['asked by'], path.join(' › '))
  }
  cache.set(question, fields)
  return fields
}

/** The value of a field as it is compared: equal texts are equal values; undefined: the approval has no such field. */
export const fieldText = (question: QuestionView, { key }: ArgumentField): string | undefined => {
  const found = fieldsOf(question).get(key)
  return found === undefined ? undefined : sortedJson(found.value)
}

/** The value of a field; undefined: the approval has no such field. */
export const fieldValue = (question: QuestionView, { key }: ArgumentField): Json | undefined =>
  fieldsOf(question).get(key)?.value

/** Compares approvals field by field, in the order in which fields first appear. */
export function compareFields(questions: readonly QuestionView[]): FieldComparison {
  const counts = new Map<
    string,
    { readonly field: ArgumentField; readonly value: Json; count: number; same: boolean }
  >()
  for (const question of questions)
    for (const [key, { field, value }] of fieldsOf(question)) {
      const seen = counts.get(key)
      if (seen === undefined) counts.set(key, { field, value, count: 1, same: true })
      else {
        seen.count += 1
        if (seen.same && seen.value !== value && sortedJson(seen.value) !== sortedJson(value)) seen.same = false
      }
    }
  const all = [...counts.values()]
  const isCommon = ({ count, same }: (typeof all)[number]): boolean => same && count === questions.length
  return {
    common: all.filter(isCommon).map(({ field }) => field),
    differing: all.filter((each) => !isCommon(each)).map(({ field }) => field),
  }
}

/** Why these cannot be compared on one screen, in a sentence; undefined: they can. */
export function comparisonProblem(
  questions: readonly QuestionView[],
  { differing }: FieldComparison,
): string | undefined {
  if (differing.length > mostDiffering)
    return `They differ in ${differing.length} fields, more than can be compared here.`
  for (const field of differing)
    for (const question of questions) {
      const { length } = fieldText(question, field) ?? ''
      if (length > longestValue)
        return `"${field.label}" differs and is too long to compare here (${length} characters).`
    }
  return undefined
}

const aloneTexts = {
  'critical-risk': 'critical risk is decided one at a time',
  'four-eyes': 'two people decide it, each by itself',
} as const

/** Why a question is not decided together with others; undefined: it may be. */
export function aloneReason({ kind, approval, mayAnswer }: QuestionView): string | undefined {
  if (kind !== 'approval' || approval === undefined) return 'it needs an answer of its own'
  if (mayAnswer !== true) return mayAnswer
  return approval.alone === undefined ? undefined : aloneTexts[approval.alone]
}
