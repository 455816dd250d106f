/**
 * Watches a run from a terminal until it waits for a human or has ended.
 *
 * Owns: the inline question, Ctrl-C, the text printed at the end, the exit code. Does not own: the live display
 * (run-display.ts), the run. Leaving parks the run, and the printed text names the command that continues it.
 */
import { describeOutcome, messageOf, pause, ReeveError, visibleLine, shellWord } from '@reeve/core'
import type { Approval, Run, RunOutcome, RunWaiting } from '@reeve/runtime'
import { approvalLines, questionLines, setAsideCommands } from './request-text.ts'
import { aborted, currentUser } from './context.ts'
import { exitOf, exits, type Exit } from './exit.ts'
import { showRun, type RunDisplay, type DisplayOptions } from './run-display.ts'
import type { Terminal } from './terminal.ts'
import { reeve } from './invocation.ts'

/** How a run is watched. */
export interface WatchOptions extends DisplayOptions {
  /** Approves every request; `--yes` is recorded as the approver. */
  readonly yes?: boolean
  /** Options to repeat in the commands that are printed: `--store …`. */
  readonly where: string
  /** Workers drive the run, not this process: leaving does not park it, and a decision is enough to continue it. */
  readonly elsewhere?: boolean
  /** Called when the run is paused. True: it was resumed, and is watched on. */
  readonly resumePause?: () => Promise<boolean>
}

/** How long notices that are under way may take before the process that sends them ends. */
const noticeMs = 5_000

/** Milliseconds between two checks whether the run has read an answer. */
const pollMs = 250

/** Watches until the run has ended, waits for a human, or Ctrl-C. */
export async function watchRun(run: Run, options: WatchOptions): Promise<Exit> {
  const { yes = false, json, terminal } = options
  const tried = new Set<string>()
  const decided = new Set<string>()
  const left = aborted(options.interrupted)
  let display = showRun(run, options)
  try {
    for (;;) {
      const state = await Promise.race([run.until('waiting'), left])
      if (state === 'aborted') return await interrupted(run, options, display)
      if (!('waiting' in state)) {
        await display.done
        return ended(state, options)
      }
      if (state.status === 'waiting' && state.questions.every(({ id }) => decided.has(id))) {
        // the process that drives the run has not read the answer yet
        await pause(pollMs, options.interrupted)
        continue
      }
      if (state.status === 'paused' && (await options.resumePause?.()) === true) continue
      const open = state.status === 'waiting' ? state.waiting.filter(({ id }) => !tried.has(id)) : []
      for (const { id } of open) tried.add(id)
      if (yes && open.length > 0) {
        for (const approval of open)
          if (await decideQuietly(run, approval, true, '--yes', terminal)) decided.add(approval.id)
        continue
      }
      const from = await display.stop()
      if (json || !terminal.canAsk || !(await askedHere(run, open, decided, options))) {
        const exit = parked(run, { ...state, waiting: state.waiting.filter(({ id }) => !decided.has(id)) }, options)
        if (state.status === 'waiting' && options.elsewhere !== true) await noticesSent(run, options.interrupted)
        return exit
      }
      display = showRun(run, { ...options, from })
    }
  } finally {
    await display.stop().catch(() => undefined)
  }
}

/** Waits until the notices of a waiting run have left: until then it counts as running. */
async function noticesSent(run: Run, signal: AbortSignal): Promise<void> {
  const left = AbortSignal.any([signal, AbortSignal.timeout(noticeMs)])
  while (!left.aborted && (await run.summary()).status === 'running') await pause(pollMs, left)
}

async function interrupted(
  run: Run,
  { terminal, where, elsewhere = false }: WatchOptions,
  display: RunDisplay,
): Promise<Exit> {
  await display.stop().catch(() => undefined)
  const left = elsewhere ? 'Its workers continue the run; watch it with' : 'The run is parked; resume it with'
  terminal.note(`\nLeft. ${left}:\n  ${reeve} resume ${shellWord(run.id)}${where}`)
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

/** Asks for each decision in this terminal. False if the user decides later, or no approval is open. */
async function askedHere(
  run: Run,
  open: readonly Approval[],
  decided: Set<string>,
  options: WatchOptions,
): Promise<boolean> {
  for (const approval of open) {
    const said = await askFor(approval, options)
    if (said === undefined) return false
    if (await decideQuietly(run, approval, said, currentUser(), options.terminal)) decided.add(approval.id)
  }
  return open.length > 0
}

/** Decides, or prints why it could not: another approver may have been faster. True: the approval is decided. */
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
  { terminal, where, interrupted: signal }: WatchOptions,
): Promise<boolean | undefined> {
  terminal.line()
  for (const line of approvalLines(approval, terminal.columns, where)) terminal.line(line)
  try {
    const said = (await terminal.ask('Approve? y = yes, n = no, Enter = decide later: ', signal)).trim().toLowerCase()
    return said === 'y' || said === 'yes' ? true : said === 'n' || said === 'no' ? false : undefined
  } catch {
    return undefined
  }
}

/** Stuck without its code: its open approvals may be answered already, but no process here can read the answer. */
const lacksCode = ({ status, questions }: RunWaiting): boolean =>
  status === 'stuck' && questions.every(({ kind }) => kind !== 'diverged')

function parked(run: Run, state: RunWaiting, { terminal, json, where, elsewhere = false }: WatchOptions): Exit {
  if (json) return exits.waiting
  const say = (text: string): void => terminal.line(text)
  say('')
  if (state.queued !== undefined) {
    const { behind, needs } = state.queued
    say(`The run is queued behind ${behind}, which is ${needs.status}. See: ${reeve} show ${shellWord(behind)}${where}`)
  } else if (state.status === 'paused')
    say(`The run is paused. Resume it with:\n  ${reeve} resume ${shellWord(run.id)}${where}`)
  else if (state.status === 'human_control')
    say(`The run is taken over. Hand it back to continue:\n  ${reeve} handback ${shellWord(run.id)}${where}`)
  else if (state.failure !== undefined) {
    say(`The run is stuck: ${visibleLine(state.reason ?? state.failure.message)}`)
    if (state.failure.hint !== undefined) say(`  ${visibleLine(state.failure.hint)}`)
    say(`  ${setAsideCommands(run.id, where)}`)
  } else if (lacksCode(state))
    say(
      elsewhere
        ? `No worker can drive the run: ${state.reason ?? 'it is stuck'}. Start a worker that has its agent: ${reeve} work${where}`
        : `The run is stuck: its agent is not registered at its version. See: ${reeve} show ${shellWord(run.id)}${where}`,
    )
  else {
    const others = state.questions.filter(({ kind }) => kind !== 'approval')
    if (state.waiting.length > 0) {
      say('The run waits for approval; it is safe to close this terminal.')
      for (const approval of state.waiting)
        for (const line of approvalLines(approval, terminal.columns - 2, where)) say(`  ${line}`)
      say(elsewhere ? 'Decide; a worker continues it then:' : 'Decide, then resume it:')
      for (const { id } of state.waiting)
        say(`  ${reeve} approve ${shellWord(id)}${where}    (or: ${reeve} reject ${shellWord(id)}${where})`)
    }
    for (const question of others) for (const line of questionLines(question, where, terminal.columns)) say(line)
    if (!elsewhere && state.questions.length > 0)
      say(`${state.waiting.length > 0 ? '' : 'Then resume it:\n'}  ${reeve} resume ${shellWord(run.id)}${where}`)
  }
  return exits.waiting
}
