/**
 * Event lines of oversight: takeovers, pauses, escalations, edits by hand, trust. One line for an event.
 *
 * Owns: what such a line says. Does not own: the lines of other events, approvals and questions (event-lines.ts).
 */
import { cut, visibleLine } from '@reeve/core'
import type { JournalEvent } from '@reeve/runtime'
import { preview } from './request-text.ts'

const shown = (text: string): string => visibleLine(text)
const brief = (text: string): string => cut(shown(text), 120)
const who = (name: string | undefined): string => (name === undefined ? 'a human' : shown(name))
const by = (name: string | undefined): string => (name === undefined ? '' : ` by ${shown(name)}`)
const why = (reason: string | undefined): string => (reason === undefined || reason === '' ? '' : `: ${brief(reason)}`)

/**
 * The line of an oversight event; undefined for all other events. `agent`: the agent that the event belongs to.
 * `effect`: the name of the effect that it is about, if any.
 */
export function humanLine(event: JournalEvent, agent: string, effect: string): string | undefined {
  switch (event.type) {
    case 'run.forked':
      return `forked from ${event.run} at ${event.at}${by(event.by)}${why(event.reason)}`
    case 'run.taken-over':
      return `run taken over by ${who(event.by)}${why(event.reason)}`
    case 'run.handed-back':
      return `run handed back by ${who(event.by)}${why(event.reason)}`
    case 'run.pausing':
      return event.escalated === true
        ? 'run pausing: steps in flight are stopped'
        : `run pausing${by(event.by)}${why(event.reason)}`
    case 'run.paused':
      return 'run paused'
    case 'run.resumed':
      return `run resumed${by(event.by)}${why(event.reason)}`
    case 'control.ignored':
      return `${event.command}${by(event.by)} had no effect${why(event.why)}`
    case 'cancel.received':
      return event.outcome === undefined
        ? `${agent} is cancelled${event.keeps === true ? ', nothing is undone' : ''}: ${brief(event.reason)}`
        : `${agent} is ${brief(event.reason)}`
    case 'effect.held':
      return `${agent}: ${effect} is held back`
    case 'effect.released':
      return `${agent}: ${effect} is released`
    case 'effect.cleared':
      return `${agent}: ${effect} did not happen, according to ${who(event.by)}`
    default:
      return editOrReviewLine(event, agent)
  }
}

/** Edits of plans, tasks sent back, escalations, assessments, trust. */
function editOrReviewLine(event: JournalEvent, agent: string): string | undefined {
  switch (event.type) {
    case 'plan.edited':
      return `the plan of ${agent} was edited${by(event.by)}${edited(event)}${event.reason === undefined ? '' : ` (${brief(event.reason)})`}`
    case 'plan.edit-refused':
      return `an edit of the plan of ${agent}${by(event.by)} was refused: ${event.problems.map(brief).join('; ')}`
    case 'task.reopened':
      return `${shown(event.task)} was sent back${by(event.by)} (round ${event.round})${why(event.feedback)}`
    case 'escalation.raised': {
      const hits = event.hits.map(({ code, priority, detail }) => `${code} (${priority}): ${brief(detail)}`)
      return `${agent}: the ${event.subject} ${shown(event.name)} is escalated${event.asks ? '' : ' (no approval needed)'}${hits.length === 0 ? '' : `: ${hits.join('; ')}`}`
    }
    case 'result.assessed':
      return `${agent} assesses its result: ${assessed(event)}`
    case 'trust.updated':
      return `trust in ${shown(event.trust)}: ${event.level}, ${event.succeeded} of ${event.tasks} succeeded${why(event.reason)}`
    default:
      return undefined
  }
}

function edited(event: Extract<JournalEvent, { type: 'plan.edited' }>): string {
  const { added, replaced, removed, settled, tolerance, maxFailures, concurrency } = event
  const tasks = [
    ['added', added.map(({ task }) => task)],
    ['replaced', replaced.map(({ task }) => task)],
    ['removed', removed],
    ['done by hand', settled],
  ] as const
  const said = [
    ...tasks.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what} ${names.map(shown).join(', ')}`])),
    ...Object.entries({ tolerance, maxFailures, concurrency }).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${value}`],
    ),
  ]
  return said.length === 0 ? '' : `: ${said.join('; ')}`
}

function assessed({
  confidence,
  costUsd,
  proposedAction,
  cannotDo,
}: Extract<JournalEvent, { type: 'result.assessed' }>): string {
  const said = [
    confidence === undefined ? undefined : `confidence ${confidence}`,
    costUsd === undefined ? undefined : `costs $${costUsd}`,
    proposedAction === undefined ? undefined : `proposes ${shown(proposedAction.name)}`,
    proposedAction?.input === undefined ? undefined : `with ${preview(proposedAction.input)}`,
    cannotDo === undefined ? undefined : `cannot be done: ${brief(cannotDo)}`,
  ].filter((each) => each !== undefined)
  return said.length === 0 ? 'nothing' : said.join(', ')
}
