/**
 * The plan as a graph, as text in the Mermaid language: for pages, pull requests and notes that draw it.
 *
 * Owns: what is a node, what is an arrow, that no text of a plan can break the graph. Does not own: the view
 * (team-projection.ts), trees in a terminal (cli). Pure.
 */
import type { TaskStatus } from '@reeve/core'
import type { TaskView, TeamView } from './team-views.ts'

const colours: Readonly<Record<TaskStatus, string>> = {
  pending: 'fill:#f6f8fa,stroke:#8c959f,color:#24292f',
  waiting: 'fill:#f6f8fa,stroke:#8c959f,color:#57606a',
  awaiting_approval: 'fill:#fff8c5,stroke:#bf8700,color:#24292f',
  running: 'fill:#ddf4ff,stroke:#0969da,color:#24292f',
  succeeded: 'fill:#dafbe1,stroke:#1a7f37,color:#24292f',
  failed: 'fill:#ffebe9,stroke:#cf222e,color:#24292f',
  skipped: 'fill:#eaeef2,stroke:#8c959f,color:#57606a',
  cancelled: 'fill:#eaeef2,stroke:#8c959f,color:#57606a',
}

/**
 * The plan of a team as a Mermaid flowchart, from left to right: a box for each task with its role and status, an arrow
 * from each task to those that depend on it, a dotted arrow with the name of the topic from its producers to its
 * consumers. Recruits have a dashed box, and a dotted arrow from the task of the requester. `team`: of `run.view()`,
 * e.g. `view.teams[0]`.
 */
export function planGraph({ plan: { tasks }, members, topics }: Pick<TeamView, 'plan' | 'members' | 'topics'>): string {
  const nodes = new Map(tasks.map(({ task }, i) => [task, `t${i}`]))
  const edge = (from: string, arrow: string, to: string): string[] => {
    const [left, right] = [nodes.get(from), nodes.get(to)]
    return left === undefined || right === undefined || left === right ? [] : [`  ${left} ${arrow} ${right}`]
  }
  const askedFrom = (task: TaskView): readonly string[] => {
    const { by, parent } = task.recruit!
    const asker = members.find(({ member }) => member === by)?.task ?? parent
    return asker === undefined ? [] : edge(asker, `-.->|"recruited by ${safe(by)}"|`, task.task)
  }
  const recruits = tasks.filter(({ recruit }) => recruit !== undefined)
  const statuses = [...new Set(tasks.map(({ status }) => status))]
  return [
    'flowchart LR',
    ...tasks.map((task) => `  ${nodes.get(task.task)}["${labelOf(task)}"]:::${task.status}`),
    ...tasks.flatMap(({ task, dependencies, joined }) =>
      [...dependencies, ...joined].flatMap((before) => edge(before, '-->', task)),
    ),
    ...topics.flatMap(({ topic, producers, consumers }) =>
      producers.flatMap((from) => consumers.flatMap((to) => edge(from, `-.->|"${safe(topic)}"|`, to))),
    ),
    ...recruits.flatMap(askedFrom),
    ...statuses.map((status) => `  classDef ${status} ${colours[status]}`),
    ...(recruits.length === 0
      ? []
      : [
          '  classDef recruited stroke-dasharray:5 5',
          `  class ${recruits.map(({ task }) => nodes.get(task)).join(',')} recruited`,
        ]),
    '',
  ].join('\n')
}

/** How humans look at a task, by the plan; one part each. */
const lookedAtBy = ({ optional, requiresApproval, review, mode }: TaskView): readonly string[] => [
  ...(optional === true ? ['optional'] : []),
  ...(requiresApproval === true ? ['needs approval'] : []),
  ...(review === true ? ['result is reviewed'] : []),
  ...(mode === undefined ? [] : [mode]),
]

const labelOf = (view: TaskView): string => {
  const { task, role, status, recruit, action, risk } = view
  const gate = [action, risk === undefined ? undefined : `${risk} risk`].filter((each) => each !== undefined)
  return [
    safe(task),
    `${safe(role)} · ${status.replace('_', ' ')}`,
    ...(recruit === undefined ? [] : [`recruited by ${safe(recruit.by)}`]),
    ...(gate.length === 0 ? [] : [safe(gate.join(', '))]),
    ...lookedAtBy(view),
  ].join('<br/>')
}

/**
 * A text that is nothing but a text: whatever the language, or the Markdown in its labels, could read as its own is
 * written as the number of its character.
 */
const safe = (text: string): string =>
  text
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}]/gu, '�')
    .replace(
      /[^\p{L}\p{M}\p{N} _,/�-]|(?<![\p{L}\p{N}])[_-]|[_-](?![\p{L}\p{N}])/gu,
      (sign) => `#${sign.codePointAt(0)};`,
    )
