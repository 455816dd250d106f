/**
 * The run tree: a run's view as lines, and a painter that redraws them in place.
 *
 * Owns: the line of an agent, cutting to the width and height of the terminal, redrawing. Does not own: the view
 * (journal), when it is drawn (run-display.ts). The lines are a pure function of the view and the time.
 */
import { columnsOfText, cut, visible, visibleLine, durationText } from '@reeve/core'
import type { ActivationView, OpenOperation, RunView } from '@reeve/runtime'
import type { Style, Terminal } from './terminal.ts'

/** Size, time and style of the tree. */
export interface TreeOptions {
  /** Milliseconds since 1970; the end of running durations. */
  readonly now: number
  readonly columns: number
  /** The maximum number of lines; the last line counts those that do not fit. */
  readonly rows?: number
  readonly style?: (style: Style, text: string) => string
  readonly frame?: number
  /** False: no process drives the run, so nothing of it is shown to move. Default true. */
  readonly isDriven?: boolean
}

/** The mark of an agent that would work if a process drove its run. */
const stopped = '·'
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const marks: Readonly<Record<ActivationView['state'], { readonly mark: string; readonly style: Style }>> = {
  running: { mark: '', style: 'cyan' },
  waiting: { mark: '?', style: 'yellow' },
  completed: { mark: '✓', style: 'green' },
  failed: { mark: '✗', style: 'red' },
  limited: { mark: '✗', style: 'red' },
  'timed-out': { mark: '✗', style: 'red' },
  cancelled: { mark: '–', style: 'dim' },
  bailed: { mark: '✓', style: 'yellow' },
}

/** The lines of a run: one line for each activation, workers below their leaders. */
export function treeLines(view: RunView, options: TreeOptions): readonly string[] {
  const lines = ordered(view.activations).map((place) => agentLine(place, options))
  const rows = Math.max(1, (options.rows ?? Infinity) - 1)
  if (lines.length <= rows) return lines
  return [...lines.slice(0, rows), cut(`  … and ${lines.length - rows} more`, options.columns)]
}

/** An activation and its position in the tree. */
interface TreeRow {
  readonly activation: ActivationView
  readonly prefix: string
  /** How it received control: `→` transferred from the row above, `↩` returned to the leader. */
  readonly arrow: string
}

/** The rows depth first, workers in the order in which they began. */
function ordered(activations: readonly ActivationView[]): readonly TreeRow[] {
  const workers = Map.groupBy(activations, (each) => each.parent ?? '')
  const places: TreeRow[] = []
  const place = (activation: ActivationView, prefix: string, indent: string, leader?: ActivationView): void => {
    places.push({ activation, prefix, arrow: leader === undefined ? '' : arrowOf(activation, leader) })
    const below = workers.get(activation.activation) ?? []
    below.forEach((worker, i) => {
      const isLast = i === below.length - 1
      place(worker, `${indent}${isLast ? '└─ ' : '├─ '}`, `${indent}${isLast ? '   ' : '│  '}`, activation)
    })
  }
  for (const root of workers.get('') ?? []) place(root, '', '')
  return places
}

/** The arrow of a transfer. Empty for a delegation, the first agent of a sequence, the branches of a parallel. */
function arrowOf({ agent, path, handed }: ActivationView, leader: ActivationView): string {
  const goesOn = handed !== undefined || path.length > leader.path.length + 1
  return !goesOn ? '' : agent === leader.agent ? '↩ ' : '→ '
}

function agentLine(
  { activation, prefix, arrow }: TreeRow,
  { now, columns, style = (_style, text) => text, frame = 0, isDriven = true }: TreeOptions,
): string {
  const { mark, style: colour } = marks[activation.state]
  const moving = isDriven ? (spinner[frame % spinner.length] ?? '') : stopped
  const sign = activation.state === 'running' ? moving : mark
  const task = activation.task === undefined ? '' : ` [${visibleLine(activation.task)}]`
  const name = `${arrow}${visible(activation.agent)}${task}${activation.recruited ? ' (recruited)' : ''}`
  const doing = currentWork(activation, now)
  const time = durationText((activation.endedAt ?? now) - activation.startedAt)
  const plain = `${prefix}${sign} ${name}  ${time}${doing === '' ? '' : `  ${doing}`}`
  if (columnsOfText(plain) > columns) return cutToFit(plain, columns)
  return `${style('dim', prefix)}${style(colour, sign)} ${name}  ${style('dim', time)}${doing === '' ? '' : `  ${style('dim', doing)}`}`
}

/** The beginning of a line that takes no more columns: one that is too wide would be redrawn in the wrong place. */
function cutToFit(text: string, columns: number): string {
  let shown = cut(text, columns)
  for (let most = columns - 1; most > 0 && columnsOfText(shown) > columns; most--) shown = cut(text, most)
  return shown
}

function currentWork(activation: ActivationView, now: number): string {
  const { outcome } = activation
  if (outcome?.status === 'failed') return visibleLine(outcome.failure.message)
  if (outcome?.status === 'cancelled') return visibleLine(outcome.reason)
  if (outcome?.status === 'limited' || outcome?.status === 'timed-out' || outcome?.status === 'bailed')
    return visibleLine(outcome.message)
  const { shortOf } = activation
  if (shortOf !== undefined) return `waits for the limit of ${shortOf.max} ${visible(shortOf.limit)}`
  const shown = activation.open.filter((each) => each.kind !== 'worker')
  const counted = Map.groupBy(
    shown.map((open) => operationText(open, now)),
    (text) => text,
  )
  return [...counted].map(([text, same]) => (same.length === 1 ? text : `${text} (${same.length}×)`)).join(', ')
}

function operationText(open: OpenOperation, now: number): string {
  const { nextAttempt } = open
  if (nextAttempt !== undefined && nextAttempt.at > now)
    return `waits ${durationText(nextAttempt.at - now)} for ${visible(open.name)} (${nextAttempt.after})`
  const retried = open.failedAttempts === 0 ? '' : ` (attempt ${open.failedAttempts + 1})`
  switch (open.kind) {
    case 'approval':
      return `waits for approval of ${visible(open.name)}`
    case 'interrupt':
      return open.tool === undefined ? 'waits for an answer' : `waits for the client to run ${visible(open.tool)}`
    case 'timer':
      return 'waits for a timer'
    case 'model':
      return `thinks (${visible(open.name)})${retried}`
    default:
      return open.inDoubt ? `${visible(open.name)}: did it happen?` : `${visible(open.name)}${retried}`
  }
}

/** Draws lines in place: each drawing replaces the previous one. */
export class Painter {
  readonly #terminal: Terminal
  #drawn = 0

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  draw(lines: readonly string[]): void {
    const up = this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A`
    this.#terminal.raw(`${up}${lines.map((line) => `\r\u001b[2K${this.#terminal.shown(line)}\n`).join('')}\u001b[0J`)
    this.#drawn = lines.length
  }

  /** Keeps the last drawing; the next one begins below it. */
  leave(): void {
    this.#drawn = 0
  }
}
