/**
 * Agent tree: the rows of the tree of a run's activations.
 *
 * Owns: the order, what is hidden by a collapsed row, the sentence of what an agent does now. Does not own: how a row
 * is drawn (overview.tsx). Pure. Works without recursion: a tree may be as deep as its run allows.
 */
import type { LiveActivation } from '@reeve/server/wire'
import { isDeadline, stepName, stepText, timerText } from './step-names.ts'

/** A row of the tree, with what ARIA asks of a tree item. */
export interface AgentRow {
  readonly view: LiveActivation
  /** From 1. */
  readonly level: number
  readonly position: number
  readonly size: number
  /** Undefined: there is nothing below it. */
  readonly expanded: boolean | undefined
  /** How many activations a collapsed row hides. */
  readonly hidden: number
}

type Activations = Readonly<Record<string, LiveActivation>>

/** All rows that are shown, each below its leader, in the order in which they began. */
export function agentRows(activations: Activations, collapsed: ReadonlySet<string>): readonly AgentRow[] {
  const below = new Map<string, LiveActivation[]>()
  const roots: LiveActivation[] = []
  for (const view of Object.values(activations)) {
    const { parent } = view
    if (parent === undefined || !Object.hasOwn(activations, parent)) roots.push(view)
    else {
      const siblings = below.get(parent)
      if (siblings === undefined) below.set(parent, [view])
      else siblings.push(view)
    }
  }
  const hiddenBelow = (view: LiveActivation): number => {
    let count = 0
    const open = [...(below.get(view.activation) ?? [])]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      count++
      open.push(...(below.get(next.activation) ?? []))
    }
    return count
  }
  const rows: AgentRow[] = []
  const open: {
    readonly view: LiveActivation
    readonly level: number
    readonly position: number
    readonly size: number
  }[] = []
  const push = (siblings: readonly LiveActivation[], level: number): void => {
    for (let i = siblings.length - 1; i >= 0; i--)
      open.push({ view: siblings[i]!, level, position: i + 1, size: siblings.length })
  }
  push(roots, 1)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const workers = below.get(next.view.activation) ?? []
    const isCollapsed = collapsed.has(next.view.activation)
    rows.push({
      ...next,
      expanded: workers.length === 0 ? undefined : !isCollapsed,
      hidden: isCollapsed ? hiddenBelow(next.view) : 0,
    })
    if (!isCollapsed) push(workers, next.level + 1)
  }
  return rows
}

/** Of a list to choose from, the part that a person may want: `most` rows around one, and how many stand before and after. */
export function rowsAround<Row>(
  rows: readonly Row[],
  at: number,
  most = 200,
): { readonly rows: readonly Row[]; readonly before: number; readonly after: number } {
  const before = Math.max(0, Math.min(rows.length - most, Math.max(0, at) - Math.floor(most / 2)))
  const part = rows.slice(before, before + most)
  return { rows: part, before, after: rows.length - before - part.length }
}

type Open = LiveActivation['open'][number]

/** What an agent does now, in words, and since when. Undefined: it has ended, or does nothing that is recorded. */
export interface Doing {
  /** `human`: it waits for a person, who is named in the text. */
  readonly kind: 'work' | 'wait' | 'human'
  readonly text: string
  readonly since: number
}

// the first one that is there is what a reader wants to know
const order: readonly Open['kind'][] = ['approval', 'interrupt', 'model', 'tool', 'step', 'worker', 'timer']

/** `heldSince`: nothing that is recorded from then on begins, because the run is paused or taken over. */
export function doingOf(
  { open: all, shortOf, endedAt }: Pick<LiveActivation, 'open' | 'shortOf' | 'endedAt'>,
  heldSince?: number,
): Doing | undefined {
  if (endedAt !== undefined) return undefined
  const open = all.filter((each) => !isDeadline(each))
  const doubt = open.find(({ inDoubt }) => inDoubt)
  if (doubt !== undefined)
    return { kind: 'human', text: `waits for an operator: did ${doubt.name} happen?`, since: doubt.since }
  if (shortOf !== undefined)
    return { kind: 'wait', text: `waits for room in its limit of ${limitText(shortOf)}`, since: shortOf.since }
  const kind = order.find((each) => open.some((one) => one.kind === each))
  const alike = open.filter((each) => each.kind === kind)
  const first = alike[0]
  if (first === undefined) return undefined
  const more = alike.length === 1 ? '' : ` and ${alike.length - 1} more`
  if (heldSince !== undefined && first.since >= heldSince && effects.has(first.kind))
    return {
      kind: 'wait',
      text: `${first.kind === 'step' ? stepName(first.name).label : first.name}${more} begins when the run goes on`,
      since: first.since,
    }
  return { ...sayings[first.kind](first, more), since: first.since }
}

/** What a pause holds back. */
const effects: ReadonlySet<Open['kind']> = new Set(['model', 'tool', 'step'])

const limitText = ({ limit, max }: { readonly limit: 'tokens' | 'usd'; readonly max: number }): string =>
  limit === 'usd' ? `$${max}` : `${max} tokens`

const retried = ({ failedAttempts, nextAttempt }: Open): string => {
  if (failedAttempts === 0) return ''
  const wait = nextAttempt === undefined ? '' : ` not before ${timeOf(nextAttempt.at)} (${nextAttempt.after})`
  return `, attempt ${failedAttempts + 1}${wait}`
}

/** The time of day, to the second. */
const timeOf = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false })

const sayings: Readonly<Record<Open['kind'], (open: Open, more: string) => Omit<Doing, 'since'>>> = {
  approval: (_, more) => ({ kind: 'human', text: `waits for an approver's decision${more}` }),
  interrupt: ({ tool }, more) =>
    tool === undefined
      ? { kind: 'human', text: `waits for a person's answer${more}` }
      : { kind: 'wait', text: `waits for the client to run ${tool}${more}` },
  model: (open, more) => ({ kind: 'work', text: `asks ${open.name}${retried(open)}${more}` }),
  tool: (open, more) => ({ kind: 'work', text: `runs ${open.name}${retried(open)}${more}` }),
  step: (open, more) => ({ kind: 'work', text: `${stepText(open.name)}${retried(open)}${more}` }),
  worker: (open, more) => ({ kind: 'wait', text: `waits for ${open.name}${more}` }),
  timer: (open, more) => ({ kind: 'wait', text: `${timerText(open.name)}${more}` }),
}
