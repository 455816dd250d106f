/**
 * Watching a run from a terminal until it needs somebody or has ended.
 *
 * Owns: the inline question, Ctrl-C, what is printed at the end, the exit code. Does not own: how it is shown meanwhile
 * (showing.ts), nor the run: leaving it parks it, and what is printed says how to go on.
 */
import { describeOutcome, messageOf, ReeveError, visibleLine } from '../core/index.ts'
import type { Approval, Run, RunOutcome, RunWaiting } from '../runtime/index.ts'
import { approvalLines, questionLines, setAsideLines } from './asking.ts'
import { aborted, thisUser, quoted } from './context.ts'
import { exitOf, exits, type Exit } from './exit.ts'
import { pause, showRun, type Showing, type ShowingOptions } from './showing.ts'
import type { Terminal } from './terminal.ts'

/** How a run is watched. */
export interface WatchOptions extends ShowingOptions {
  /** Approves whatever is asked; who says so is recorded as the approver. */
  readonly yes?: boolean
  /** Options to repeat in the commands that are printed: `--store …`. */
  readonly where: string
  /** Workers drive the run, not this process: leaving does not park it, and a decision is enough to let it go on. */
  readonly elsewhere?: boolean
}

/** How often is looked whether an answer has been read. Milliseconds. */
const againMs = 250

/** Watches until the run has ended, waits for somebody, or Ctrl-C. */
export async function watchRun(run: Run, options: WatchOptions): Promise<Exit> {
  const { yes = false, json, terminal } = options
  const tried = new Set<string>()
  const decided = new Set<string>()
  const left = aborted(options.interrupted)
  let showing = showRun(run, options)
  try {
    for (;;) {
      const state = await Promise.race([run.until('waiting'), left])
      if (state === 'aborted') return await interrupted(run, options, showing)
      if (!('waiting' in state)) {
        await showing.done
        return ended(state, options)
      }
      if (state.status === 'waiting' && state.questions.every(({ id }) => decided.has(id))) {
        // whoever drives the run has not read the answer yet
        await pause(againMs, options.interrupted)
        continue
      }
      const open = state.status === 'waiting' ? state.waiting.filter(({ id }) => !tried.has(id)) : []
      for (const { id } of open) tried.add(id)
      if (yes && open.length > 0) {
        for (const approval of open)
          if (await decideQuietly(run, approval, true, '--yes', terminal)) decided.add(approval.id)
        continue
      }
      const from = await showing.stop()
      if (json || !terminal.canAsk || !(await askedHere(run, open, decided, options)))
        return parked(run, { ...state, waiting: state.waiting.filter(({ id }) => !decided.has(id)) }, options)
      showing = showRun(run, { ...options, from })
    }
  } finally {
    await showing.stop().catch(() => undefined)
  }
}

async function interrupted(
  run: Run,
  { terminal, where, elsewhere = false }: WatchOptions,
  showing: Showing,
): Promise<Exit> {
  await showing.stop().catch(() => undefined)
  const left = elsewhere
    ? 'The run goes on where a worker drives it; watch it with'
    : 'The run is parked where it is; go on with'
  terminal.note(`\nLeft. ${left}:\n  reeve resume ${quoted(run.id)}${where}`)
  return exits.interrupted
}

function ended(outcome: RunOutcome, { terminal, json }: WatchOptions): Exit {
  if (!json) {
    if (outcome.status === 'completed') terminal.line(`${terminal.style('green', '✓')} ${textOf(outcome.output)}`)
    else if (outcome.status === 'bailed') {
      terminal.line(`${terminal.style('yellow', '✓')} ${outcome.text}`)
      terminal.note(`The run ${outcome.run} ${describeOutcome(outcome)}`)
    } else {
      terminal.note(`${terminal.style('red', '✗')} The run ${outcome.run} ${describeOutcome(outcome)}`)
      if (outcome.status === 'failed' && outcome.failure.hint !== undefined) terminal.note(`  ${outcome.failure.hint}`)
    }
  }
  return exitOf(outcome.status)
}

const textOf = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output, undefined, 2))

/** Asks whoever sits here for each decision. False if they want to decide later, or there is nothing to decide. */
async function askedHere(
  run: Run,
  open: readonly Approval[],
  decided: Set<string>,
  options: WatchOptions,
): Promise<boolean> {
  for (const approval of open) {
    const said = await askFor(approval, options)
    if (said === undefined) return false
    if (await decideQuietly(run, approval, said, thisUser(), options.terminal)) decided.add(approval.id)
  }
  return open.length > 0
}

/** Somebody else may have been faster: then theirs counts, and that is said. True: it is decided now. */
async function decideQuietly(
  run: Run,
  approval: Approval,
  yes: boolean,
  approver: string,
  terminal: Terminal,
): Promise<boolean> {
  try {
    await run.decide({ approvalId: approval.id, decision: yes ? 'approve' : 'reject', approver })
    return true
  } catch (error) {
    terminal.note(messageOf(error))
    return ReeveError.is(error, 'approval.already-decided')
  }
}

async function askFor(
  approval: Approval,
  { terminal, interrupted: signal }: WatchOptions,
): Promise<boolean | undefined> {
  terminal.line()
  for (const line of approvalLines(approval, terminal.columns)) terminal.line(line)
  try {
    const said = (await terminal.ask('Approve? y = yes, n = no, Enter = decide later: ', signal)).trim().toLowerCase()
    return said === 'y' || said === 'yes' ? true : said === 'n' || said === 'no' ? false : undefined
  } catch {
    return undefined
  }
}

/**
 * Stuck, and there is nothing to say to it: an approval that is still listed may have its answer, which nobody can
 * read.
 */
const lacksCode = ({ status, questions }: RunWaiting): boolean =>
  status === 'stuck' && questions.every(({ kind }) => kind !== 'diverged')

function parked(run: Run, state: RunWaiting, { terminal, json, where, elsewhere = false }: WatchOptions): Exit {
  if (json) return exits.waiting
  const say = (text: string): void => terminal.line(text)
  say('')
  if (state.queued !== undefined) {
    const { behind, needs } = state.queued
    say(
      `The run waits for its turn behind ${behind}, which is ${needs.status}. See: reeve show ${quoted(behind)}${where}`,
    )
  } else if (state.status === 'paused')
    say(`The run is paused. Let it go on with:\n  reeve resume ${quoted(run.id)}${where}`)
  else if (state.failure !== undefined) {
    say(`The run is stuck: ${visibleLine(state.reason ?? state.failure.message)}`)
    for (const line of setAsideLines(state.failure, run.id, where)) say(line)
  } else if (lacksCode(state))
    say(
      elsewhere
        ? `No worker goes on with the run: ${state.reason ?? 'it is stuck'}. Start one that has it: reeve work${where}`
        : `The run needs an operator: its agent is not registered at its version. See: reeve show ${quoted(run.id)}${where}`,
    )
  else {
    const others = state.questions.filter(({ kind }) => kind !== 'approval')
    if (state.waiting.length > 0) {
      say(`The run waits for approval; it is safe to close this terminal.`)
      for (const approval of state.waiting)
        for (const line of approvalLines(approval, terminal.columns - 2)) say(`  ${line}`)
      say(elsewhere ? 'Decide; a worker goes on with it then:' : 'Decide, then let it go on:')
      for (const { id } of state.waiting)
        say(`  reeve approve ${quoted(id)}${where}    (or: reeve reject ${quoted(id)}${where})`)
    }
    for (const question of others) for (const line of questionLines(question, run.id, where)) say(line)
    if (!elsewhere && state.questions.length > 0)
      say(`${state.waiting.length > 0 ? '' : 'Then let it go on:\n'}  reeve resume ${quoted(run.id)}${where}`)
  }
  return exits.waiting
}
