/** The lines of the inbox: questions in groups of one tool and agent, and what stays in place while a person chooses. Pure. */
import type { QuestionView } from '@reeve/server/wire'
import { compareFields, type ArgumentField, type FieldComparison } from './argument-fields.ts'
import { subjectOf } from './question-order.ts'

/** Questions of one tool that one agent asks about, the most urgent first. */
export interface QuestionGroup {
  readonly key: string
  readonly subject: string
  readonly agent: string
  readonly questions: readonly QuestionView[]
  readonly fields: FieldComparison
}

/** A line of the list: the head of a group, or a question. `group` is absent for one that is alone. */
export type InboxLine =
  | { readonly type: 'group'; readonly group: QuestionGroup; readonly isFolded: boolean }
  | { readonly type: 'question'; readonly question: QuestionView; readonly group: QuestionGroup }

/** The tool and the agent that asks; questions of agents are together by agent. */
function groupKey(question: QuestionView): string {
  const { kind, path, approval, doubt, interrupt } = question
  return JSON.stringify([
    kind,
    approval?.kind ?? '',
    approval?.tool ?? doubt?.name ?? interrupt?.call?.tool ?? '',
    path.at(-1) ?? '',
  ])
}

/** Groups in the order of their first question. */
export function questionGroups(questions: readonly QuestionView[]): readonly QuestionGroup[] {
  const groups = Map.groupBy(questions, groupKey)
  return [...groups].map(([key, members]) => ({
    key,
    subject:
      members[0]!.kind === 'interrupt' && members[0]!.interrupt?.call === undefined
        ? 'Questions'
        : subjectOf(members[0]!),
    agent: members[0]!.path.at(-1) ?? members[0]!.agent,
    questions: members,
    fields: compareFields(members),
  }))
}

/** The lines that are drawn. A group of one has no head. */
export function inboxLines(groups: readonly QuestionGroup[], folded: ReadonlySet<string>): readonly InboxLine[] {
  return groups.flatMap((group): readonly InboxLine[] => {
    const lines = group.questions.map((question) => ({ type: 'question', question, group }) as const)
    if (group.questions.length < 2) return lines
    const isFolded = folded.has(group.key)
    return [{ type: 'group', group, isFolded }, ...(isFolded ? [] : lines)]
  })
}

/** The fields that tell the questions of a group apart; the arguments, where there is nothing to tell apart. */
export function distinctFields({ questions, fields }: QuestionGroup): readonly ArgumentField[] {
  const differing = fields.differing.filter(({ of }) => of !== 'evidence')
  const distinct = differing.some(({ of }) => of === 'argument') || questions.length > 1 ? differing : []
  return distinct.length > 0 ? distinct : fields.common.filter(({ of }) => of === 'argument')
}

/** What a person who is choosing sees: nothing moves. */
export interface HeldList {
  /** In the order in which they are shown; what has gone stays in its place. */
  readonly shown: readonly QuestionView[]
  /** Those of `shown` that are not open any more. */
  readonly gone: ReadonlySet<string>
  /** Open ones that are not shown yet. */
  readonly arrived: number
}

/** Keeps what is shown in its place; what has come waits, what has gone stays and is marked. */
export function heldList(shown: readonly QuestionView[], open: readonly QuestionView[]): HeldList {
  const now = new Map(open.map((question) => [question.id, question]))
  const before = new Set(shown.map(({ id }) => id))
  return {
    shown: shown.map((question) => now.get(question.id) ?? question),
    gone: new Set([...before].filter((id) => !now.has(id))),
    arrived: open.filter(({ id }) => !before.has(id)).length,
  }
}
