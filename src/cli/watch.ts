/**
 * Watching a run from a terminal until it needs somebody or has ended.
 *
 * Owns: the three ways of showing it (tree in place, plain lines, NDJSON), the inline question, Ctrl-C, what is printed at the end, the exit code.
 * Does not own: the run: leaving it parks it, and what is printed says how to go on.
 */
import { describeOutcome, isObject, messageOf, stopwatch, type Json } from '../core/index.ts'
import type { Approval, Recorded, Run, RunOutcome, RunWaiting } from '../runtime/index.ts'
import { exitOf, exits, type Exit } from './exit.ts'
import { eventLine } from './lines.ts'
import type { Terminal } from './terminal.ts'
import { Painter, treeLines } from './tree.ts'

/** How a run is watched. */
export interface WatchOptions {
  readonly terminal: Terminal
  readonly json: boolean
  /** Approves whatever is asked; who says so is recorded as the approver. */
  readonly yes?: boolean
  /** Options to repeat in the commands that are printed: `--store …`. */
  readonly where: string
  /** Events up to this position are not shown again, except in the tree. */
  readonly from?: number
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal
}

/** Watches until the run has ended, waits for somebody, or Ctrl-C. */
export async function watchRun(run: Run, options: WatchOptions): Promise<Exit> {
  const show = options.json ? showJson : options.terminal.isLive ? showTree : showLines
  const left = new AbortController()
  const shown = show(run, options, AbortSignal.any([left.signal, options.interrupted]))
  try {
    for (;;) {
      const state = await Promise.race([run.until('waiting'), aborted(options.interrupted)])
      if (state === 'aborted') return await interrupted(run, options, shown)
      if (!('waiting' in state)) {
        await shown
        return ended(state, options)
      }
      if (!(await settledHere(run, state, options))) return await parked(run, state, options, () => left.abort(), shown)
    }
  } finally {
    left.abort()
    await shown.catch(() => undefined)
  }
}

function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted')
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}

async function interrupted(run: Run, { terminal, where }: WatchOptions, shown: Promise<void>): Promise<Exit> {
  await shown.catch(() => undefined)
  terminal.note(`\nLeft. The run is parked where it is; go on with:\n  reeve resume ${run.id}${where}`)
  return exits.interrupted
}

function ended(outcome: RunOutcome, { terminal, json }: WatchOptions): Exit {
  if (!json) {
    if (outcome.status === 'completed') terminal.line(`${terminal.style('green', '✓')} ${textOf(outcome.output)}`)
    else {
      terminal.note(`${terminal.style('red', '✗')} The run ${outcome.run} ${describeOutcome(outcome)}`)
      if (outcome.status === 'failed' && outcome.failure.hint !== undefined) terminal.note(`  ${outcome.failure.hint}`)
    }
  }
  return exitOf(outcome.status)
}

const textOf = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output, undefined, 2))

/** Decides what can be decided here and now: everything with `--yes`, or by asking. False if somebody else must. */
async function settledHere(run: Run, state: RunWaiting, options: WatchOptions): Promise<boolean> {
  const { terminal, json, yes = false } = options
  if (state.waiting.length === 0 || state.status !== 'waiting') return false
  if (yes) {
    for (const approval of state.waiting) await decideQuietly(run, approval, true, '--yes', terminal)
    return true
  }
  if (json || !terminal.canAsk) return false
  for (const approval of state.waiting) {
    const said = await askFor(approval, options)
    if (said === undefined) return false
    await decideQuietly(run, approval, said, 'terminal', terminal)
  }
  return true
}

/** Somebody else may have been faster: then theirs counts, and that is said. */
async function decideQuietly(run: Run, approval: Approval, yes: boolean, approver: string, terminal: Terminal): Promise<void> {
  try {
    await run.decide({ approvalId: approval.id, decision: yes ? 'approve' : 'reject', approver })
  } catch (error) {
    terminal.note(messageOf(error))
  }
}

async function askFor(approval: Approval, { terminal, interrupted: signal }: WatchOptions): Promise<boolean | undefined> {
  terminal.line()
  for (const line of approvalLines(approval)) terminal.line(line)
  try {
    const said = (await terminal.ask('Approve? y = yes, n = no, Enter = decide later: ', signal)).trim().toLowerCase()
    return said === 'y' || said === 'yes' ? true : said === 'n' || said === 'no' ? false : undefined
  } catch {
    return undefined
  }
}

/** What is asked, for people: one line for each argument, long ones cut and measured. */
export function approvalLines({ tool, path, reason, risk, input, id }: Approval): readonly string[] {
  const fields = isObject(input) ? Object.entries(input) : [['input', input] as const]
  return [
    `${path.join(' › ')} asks to run ${tool} (${risk} risk): ${reason}`,
    ...fields.map(([name, value]) => `  ${name}: ${shortly(value)}`),
    `  ${id}`,
  ]
}

const shownCharacters = 120

function shortly(value: Json): string {
  const text = JSON.stringify(value)
  return text.length <= shownCharacters
    ? text
    : `${text.slice(0, shownCharacters)}… (${text.length} characters; reeve show --json has them all)`
}

async function parked(
  run: Run,
  state: RunWaiting,
  { terminal, json, where }: WatchOptions,
  leave: () => void,
  shown: Promise<void>,
): Promise<Exit> {
  leave()
  await shown.catch(() => undefined)
  if (json) return exits.waiting
  const say = (text: string): void => terminal.line(text)
  say('')
  if (state.status === 'paused') say(`The run is paused. Let it go on with:\n  reeve resume ${run.id}${where}`)
  else if (state.waiting.length > 0) {
    say(`The run waits for approval; it is safe to close this terminal.`)
    for (const approval of state.waiting) for (const line of approvalLines(approval)) say(`  ${line}`)
    say('Decide, then let it go on:')
    for (const { id } of state.waiting) say(`  reeve approve ${id}${where}    (or: reeve reject ${id}${where})`)
    say(`  reeve resume ${run.id}${where}`)
  } else if (state.questions.length === 0)
    say(`The run needs an operator: its agent is not registered at its version. See: reeve show ${run.id}${where}`)
  else for (const { kind, id } of state.questions) say(`The run waits: ${kind} ${id}`)
  return exits.waiting
}

// ---- three ways of showing ----------------------------------------------------------------------------------------------------------

async function showJson(run: Run, { terminal, from = 0 }: WatchOptions, signal: AbortSignal): Promise<void> {
  for await (const event of run.events({ from, signal })) terminal.line(JSON.stringify(event))
}

async function showLines(run: Run, { terminal, from = 0 }: WatchOptions, signal: AbortSignal): Promise<void> {
  const agents = new Map<string, string>()
  for await (const event of run.events({ signal })) {
    remember(agents, event)
    const line = eventLine(event, agents.get(event.activation) ?? '?')
    if (line !== undefined && event.position > from) terminal.line(line)
  }
}

function remember(agents: Map<string, string>, { activation, event }: Recorded): void {
  if (event.type === 'activation.started') agents.set(activation, event.agent)
}

const frameMs = 100

async function showTree(run: Run, { terminal }: WatchOptions, signal: AbortSignal): Promise<void> {
  const painter = new Painter(terminal)
  const begun = stopwatch()
  let isOver = false
  const draw = async (): Promise<void> => {
    const view = await run.view()
    const frame = Math.floor((stopwatch() - begun) / frameMs)
    const { columns, rows } = terminal
    painter.draw(treeLines(view, { now: Date.now(), columns, rows: rows - 2, style: terminal.style, frame }))
    isOver = view.endedAt !== undefined
  }
  while (!isOver && !signal.aborted) {
    await draw()
    if (!isOver) await pause(frameMs, signal)
  }
  if (!isOver) await draw()
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
