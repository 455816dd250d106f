/**
 * Team summary: the facts of a team besides its tasks, one sentence each: mail, budget, refused recruits, deadlocks.
 *
 * Owns: which facts get a sentence. Does not own: the tasks (graph.ts), the order of events (journal/event-lines.ts). Pure.
 */
import { visibleLine } from '@reeve/core'
import type { TeamView } from '@reeve/runtime'

const shown = (text: string): string => visibleLine(text)

/** The sentences, most important first. */
export function teamSummary(team: TeamView): readonly string[] {
  const { plan, recruiting, waits, advice, memory, answer } = team
  const { aborted, fallback, rejected, warnings } = plan
  return [
    ...(aborted === undefined
      ? []
      : [`aborted: ${aborted.failed} of ${aborted.total} tasks failed${why[aborted.reason]}`]),
    ...(fallback === undefined
      ? []
      : [`planning failed, so the whole question is one task: ${shown(fallback.message)}`]),
    ...rejected.map(({ problems }) => `rejected plan: ${problems.map(shown).join('; ')}`),
    ...warnings.map((warning) => `warning: ${shown(warning)}`),
    ...waits.map(({ kind, message }) => `${kind}: ${shown(message)}`),
    ...recruiting.flatMap(({ role, by, admitted, reason, message }) =>
      admitted === false
        ? [
            `no ${shown(role)} joined${by === undefined ? '' : ` for ${shown(by)}`}: ${shown(message ?? reason ?? 'refused')}`,
          ]
        : [],
    ),
    ...budgetSummary(team),
    ...mailSummary(team),
    ...(advice === undefined
      ? []
      : [
          `advice: ${shown(advice.strategy)} (${advice.confidence}${advice.overrides ? ', binding' : ', a hint'})`,
          ...advice.warnings.map((each) => `advice: ${shown(each)}`),
        ]),
    ...memory.map(
      ({ wanted, failure }) =>
        `memory: ${wanted === 'recall' ? 'recall' : 'recording'} failed: ${shown(failure.message)}`,
    ),
    ...(answer === undefined ? [] : answerSummary(answer)),
  ]
}

const why = {
  failures: '',
  critical: ', one of them critical',
  budget: ', and the budget is used up',
  rejected: ', and an approver rejected one of them',
} as const

function budgetSummary({ budget: { limits, spent, reserved, waiting, unknown, warned } }: TeamView): readonly string[] {
  const dimensions = (['tokens', 'usd'] as const).flatMap((of) => {
    const limit = limits[of]
    const aside = reserved[of] === 0 ? '' : `, ${reserved[of]} reserved`
    return limit === undefined ? [] : [`${spent[of]} of ${limit} ${of} used${aside}`]
  })
  return [
    ...(dimensions.length === 0 ? [] : [`budget: ${dimensions.join('; ')}`]),
    ...(waiting.length === 0
      ? []
      : [`budget: ${waiting.map(shown).join(', ')} ${waiting.length === 1 ? 'waits' : 'wait'} for free budget`]),
    ...(unknown === 0 ? [] : [`budget: the usage of ${unknown} calls is unknown`]),
    ...(warned.length === 0
      ? []
      : [`budget: may not be enough for ${[...new Set(warned.map(({ task }) => shown(task)))].join(', ')}`]),
  ]
}

function mailSummary({ mailbox: { accepted, dropped, refused, unread } }: TeamView): readonly string[] {
  const reasons = Object.entries(refused)
  if (accepted === 0 && reasons.length === 0) return []
  const inboxes = Object.entries(unread).map(([member, number]) => `${shown(member)} ${number}`)
  return [
    [
      `mail: ${accepted} ${accepted === 1 ? 'message' : 'messages'}`,
      ...(inboxes.length === 0 ? [] : [`unread: ${inboxes.join(', ')}`]),
      ...(dropped === 0 ? [] : [`${dropped} dropped`]),
      ...reasons.map(([reason, number]) => `${number} refused (${reason.replace('_', ' ')})`),
    ].join(', '),
  ]
}

/** Why a result is not part of the answer. Unknown reasons are printed as they are. */
const leftOut: ReadonlyMap<string, string> = new Map([
  ['not-succeeded', 'did not succeed'],
  ['empty', 'is empty'],
  ['duplicate', 'repeats another result'],
  ['near-duplicate', 'nearly repeats another result'],
  ['uninformative', 'contains no information'],
])

function answerSummary({ by, used, dropped, fallback }: NonNullable<TeamView['answer']>): readonly string[] {
  const results = `${used.length} ${used.length === 1 ? 'result' : 'results'}`
  const made = {
    verbatim: 'the only result, unchanged',
    task: `the result of ${used.map(shown).join(', ')}`,
    concatenation: `${results}, concatenated`,
  }
  return [
    `answer: ${by in made ? made[by as keyof typeof made] : `${results}, combined by a${by === 'agent' ? 'n' : ''} ${by}`}`,
    ...(fallback === undefined ? [] : [`combining the results failed: ${shown(fallback.message)}`]),
    ...dropped.map(({ task, reason }) => `left out: ${shown(task)} (${shown(leftOut.get(reason) ?? reason)})`),
  ]
}
