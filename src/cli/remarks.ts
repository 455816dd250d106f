/**
 * Remarks: what there is to know of a team besides its tasks, one sentence each: its mail, its budget, who could not
 * join, who waited for whom.
 *
 * Owns: what is worth a sentence. Does not own: the tasks (graph.ts), what happened when (team-lines.ts). Pure.
 */
import { visibleLine } from '../core/index.ts'
import type { TeamView } from '../runtime/index.ts'

const shown = (text: string): string => visibleLine(text)

/** The remarks, the weightiest first. Empty: there is nothing else. */
export function remarks(team: TeamView): readonly string[] {
  const { plan, recruiting, waits, advice, memory, answer } = team
  const { aborted, fallback, rejected, warnings } = plan
  return [
    ...(aborted === undefined
      ? []
      : [`given up: ${aborted.failed} of ${aborted.total} tasks failed${why[aborted.reason]}`]),
    ...(fallback === undefined
      ? []
      : [`no plan could be made, so the whole question is one task: ${shown(fallback.message)}`]),
    ...rejected.map(({ problems }) => `a plan was refused before: ${problems.map(shown).join('; ')}`),
    ...warnings.map((warning) => `warning: ${shown(warning)}`),
    ...waits.map(({ kind, message }) => `${kind}: ${shown(message)}`),
    ...recruiting.flatMap(({ role, by, admitted, reason, message }) =>
      admitted === false
        ? [
            `no ${shown(role)} joined${by === undefined ? '' : ` for ${shown(by)}`}: ${shown(message ?? reason ?? 'refused')}`,
          ]
        : [],
    ),
    ...budgetRemarks(team),
    ...mailRemarks(team),
    ...(advice === undefined
      ? []
      : [
          `advice: ${shown(advice.strategy)} (${advice.confidence}${advice.overrides ? ', decides' : ', a hint'})`,
          ...advice.warnings.map((each) => `advice: ${shown(each)}`),
        ]),
    ...memory.map(
      ({ wanted, failure }) =>
        `the memory could not be ${wanted === 'recall' ? 'asked' : 'told'}: ${shown(failure.message)}`,
    ),
    ...(answer === undefined ? [] : answerRemarks(answer)),
  ]
}

const why = {
  failures: '',
  critical: ', one of them critical',
  budget: ', and the budget is used up',
  rejected: ', and a human did not approve of one of them',
} as const

function budgetRemarks({ budget: { limits, spent, reserved, waiting, unknown, warned } }: TeamView): readonly string[] {
  const dimensions = (['tokens', 'usd'] as const).flatMap((of) => {
    const limit = limits[of]
    const aside = reserved[of] === 0 ? '' : `, ${reserved[of]} set aside`
    return limit === undefined ? [] : [`${spent[of]} of ${limit} ${of} used${aside}`]
  })
  return [
    ...(dimensions.length === 0 ? [] : [`budget: ${dimensions.join('; ')}`]),
    ...(waiting.length === 0
      ? []
      : [`budget: ${waiting.map(shown).join(', ')} ${waiting.length === 1 ? 'waits' : 'wait'} until there is room`]),
    ...(unknown === 0 ? [] : [`budget: nobody knows what ${unknown} of the calls used`]),
    ...(warned.length === 0
      ? []
      : [`budget: it may not be enough for ${[...new Set(warned.map(({ task }) => shown(task)))].join(', ')}`]),
  ]
}

function mailRemarks({ mailbox: { accepted, dropped, refused, unread } }: TeamView): readonly string[] {
  const reasons = Object.entries(refused)
  if (accepted === 0 && reasons.length === 0) return []
  const inboxes = Object.entries(unread).map(([member, number]) => `${shown(member)} ${number}`)
  return [
    [
      `mail: ${accepted} ${accepted === 1 ? 'message' : 'messages'}`,
      ...(inboxes.length === 0 ? [] : [`unread: ${inboxes.join(', ')}`]),
      ...(dropped === 0 ? [] : [`${dropped} given up`]),
      ...reasons.map(([reason, number]) => `${number} refused (${reason.replace('_', ' ')})`),
    ].join(', '),
  ]
}

/** Why a result is no part of an answer. What nobody here knows is told as it is. */
const leftOut: ReadonlyMap<string, string> = new Map([
  ['not-succeeded', 'did not succeed'],
  ['empty', 'is empty'],
  ['duplicate', 'says the same as another'],
  ['near-duplicate', 'says almost the same as another'],
  ['uninformative', 'says only that there is no information'],
])

function answerRemarks({ by, used, dropped, fallback }: NonNullable<TeamView['answer']>): readonly string[] {
  const results = `${used.length} ${used.length === 1 ? 'result' : 'results'}`
  const made = {
    verbatim: 'the one result as it is',
    task: `that of ${used.map(shown).join(', ')}`,
    concatenation: `${results}, one after the other`,
  }
  return [
    `answer: ${by in made ? made[by as keyof typeof made] : `made of ${results} by a${by === 'agent' ? 'n' : ''} ${by}`}`,
    ...(fallback === undefined ? [] : [`whoever was to make the answer could not: ${shown(fallback.message)}`]),
    ...dropped.map(({ task, reason }) => `left out: ${shown(task)}, ${shown(leftOut.get(reason) ?? reason)}`),
  ]
}
