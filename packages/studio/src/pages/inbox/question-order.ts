/** The order and the filters of the inbox. Pure. */
import type { QuestionView } from '@reeve/server/wire'
import { member, textMember, type Json } from '../../data/json.ts'

const minute = 60_000
const risks = ['critical', 'high', 'medium', 'low'] as const

/** How near a deadline is, in steps: within one, risk decides. */
const urgency = (until: number | undefined, now: number): number => {
  if (until === undefined) return 4
  const step = [5, 30, 120].findIndex((within) => until - now < within * minute)
  return step === -1 ? 3 : step
}

/** What is in doubt or has diverged holds its run up, and no deadline ends it. */
const riskRank = ({ kind, approval }: QuestionView): number =>
  approval === undefined ? (kind === 'interrupt' ? 2 : 1) : risks.indexOf(approval.risk)

/** By deadline (within 5 minutes, 30 minutes, 2 hours, later, none), then by risk, then by age. */
export function inOrder(questions: readonly QuestionView[], now: number): readonly QuestionView[] {
  return questions.toSorted(
    (a, b) =>
      urgency(a.until, now) - urgency(b.until, now) ||
      riskRank(a) - riskRank(b) ||
      (a.until ?? Infinity) - (b.until ?? Infinity) ||
      a.askedAt - b.askedAt,
  )
}

/** What the question is about, in a word. */
export function subjectOf({ kind, approval, interrupt, doubt }: QuestionView): string {
  if (approval !== undefined) return approval.tool
  if (interrupt?.call !== undefined) return interrupt.call.tool
  if (interrupt !== undefined) return questionText(interrupt.question)
  return doubt?.name ?? (kind === 'in-doubt' ? 'effect in doubt' : 'diverged step')
}

/** The sentence of an interrupt. */
export const questionText = (question: Json): string =>
  typeof question === 'string'
    ? question
    : (textMember(question, 'question') ??
      textMember(question, 'text') ??
      textMember(question, 'message') ??
      JSON.stringify(question))

export interface InboxFilter {
  readonly kind: string
  readonly risk: string
  readonly agent: string
  /** `yes`: only what this person may answer. */
  readonly mine: string
  readonly text: string
}

export function matches(question: QuestionView, { kind, risk, agent, mine, text }: InboxFilter): boolean {
  if (kind !== '' && question.kind !== kind) return false
  if (risk !== '' && question.approval?.risk !== risk) return false
  if (agent !== '' && !question.path.includes(agent)) return false
  if (mine !== '' && question.mayAnswer !== true) return false
  return text === '' || searchText(question).includes(text.toLowerCase())
}

const searchTexts = new WeakMap<QuestionView, string>()

/** What a question is found by: what it is about with its arguments, who asks, for whom. */
function searchText(question: QuestionView): string {
  const known = searchTexts.get(question)
  if (known !== undefined) return known
  const { path, run, user, session, approval } = question
  const parts = [
    subjectOf(question),
    ...path,
    run,
    user,
    session,
    approval?.reason,
    approval && JSON.stringify(approval.input),
  ]
  const text = parts.join(' ').toLowerCase()
  searchTexts.set(question, text)
  return text
}

/** The text or file before and after, where the tool says what it would change. */
export function previewOf(question: QuestionView): { readonly before: Json; readonly after: Json } | undefined {
  const preview = member(question.approval?.context, 'preview')
  const [before, after] = [member(preview, 'before'), member(preview, 'after')]
  return before === undefined && after === undefined ? undefined : { before: before ?? '', after: after ?? '' }
}
