/**
 * A log of what this process does: what it records of runs, and its warnings, one line each, for whatever writes logs.
 *
 * Owns: the level and the fields of a line. Does not own: its sentence (journal), where it is written (the logger).
 * Holds: K10: what is logged is what is recorded, redacted. Each event is logged once, by the process that recorded it.
 * A logger that throws stops nothing.
 */
import { expects, present, rootActivation, type Check, type RunId } from '@reeve/core'
import type { Engine, RecordedHere } from '@reeve/engine'
import type { JournalEvent } from '@reeve/journal'
import { eventLines } from '@reeve/journal/event-lines'
import { runPages } from './feed/whole-feed.ts'

/** What a line says besides its sentence. Names, ids and codes alone: no text of a model or a person. */
export interface LogFields {
  readonly run?: string
  readonly agent?: string
  /** The type of the event. */
  readonly event?: string
  /** The code of a failure, or of a warning. */
  readonly code?: string
}

/** Where lines go: the console, pino, or anything else with these four. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

const levels = ['debug', 'info', 'warn', 'error'] as const

/** The check of a logger. */
export const loggerCheck: Check = expects(
  (given) =>
    typeof given === 'object' &&
    given !== null &&
    levels.every((level) => typeof (given as Logger)[level] === 'function'),
  'an object with debug, info, warn and error: the console, or a logger such as pino',
)

type Level = (typeof levels)[number]

/** What of a run is logged at which level; all else that has a line is for debugging. */
function levelOf({ activation, run, event }: RecordedHere): Level {
  switch (event.type) {
    case 'activation.settled': {
      const isBad = ['failed', 'limited', 'timed-out'].includes(event.outcome.status)
      const isRoot = activation === rootActivation(run)
      return isBad ? (isRoot ? 'error' : 'warn') : isRoot ? 'info' : 'debug'
    }
    case 'activation.started':
      return activation === rootActivation(run) ? 'info' : 'debug'
    case 'step.attempt-failed':
    case 'effect.in-doubt':
      return 'warn'
    case 'approval.requested':
    case 'interrupt.raised':
      return 'info'
    default:
      return 'debug'
  }
}

function codeOf(event: JournalEvent): string | undefined {
  if (event.type === 'step.attempt-failed') return event.failure.code
  return event.type === 'activation.settled' && event.outcome.status === 'failed'
    ? event.outcome.failure.code
    : undefined
}

/** What is kept of a run whose events are logged. */
interface LoggedRun {
  readonly toLine: ReturnType<typeof eventLines>
  readonly agents: Map<string, string>
  /** Until what came before is read: what has come since. */
  waiting: RecordedHere[] | undefined
}

/** So many runs are known at once; of another one what came before is read again. */
const mostRuns = 1_000

/**
 * Logs what an engine records in this process, for as long as it does. Returns how to wait until what was recorded is
 * logged.
 */
export function logRuns(engine: Pick<Engine, 'read' | 'recorded'>, logger: Logger): () => Promise<void> {
  const catching = new Set<Promise<void>>()
  const runs = new Map<RunId, LoggedRun>()
  const say = (entry: RecordedHere, known: LoggedRun): void => {
    const { run, activation, event } = entry
    if (event.type === 'activation.started') known.agents.set(activation, event.agent)
    const line = known.toLine(entry)
    if (event.type === 'activation.settled' && activation === rootActivation(run)) runs.delete(run)
    if (line === undefined) return
    const fields = { run, event: event.type, ...present({ agent: known.agents.get(activation), code: codeOf(event) }) }
    write(logger, levelOf(entry), fields, line)
  }
  const catchUp = async (run: RunId, known: LoggedRun): Promise<void> => {
    const [first] = known.waiting!
    try {
      reading: for await (const page of runPages(engine, run))
        for (const before of page) {
          if (before.activation === first!.activation && before.seq === first!.seq) break reading
          if (before.event.type === 'activation.started') known.agents.set(before.activation, before.event.agent)
          known.toLine(before)
        }
    } catch {
      // the store says elsewhere what is wrong with it; the lines lack names
    }
    const waiting = known.waiting!
    known.waiting = undefined
    for (const entry of waiting) say(entry, known)
  }
  engine.recorded?.((entries) => {
    for (const entry of entries) {
      const { run, activation, event } = entry
      let known = runs.get(run)
      if (known === undefined) {
        const isBirth = event.type === 'activation.started' && activation === rootActivation(run)
        known = { toLine: eventLines(), agents: new Map(), waiting: isBirth ? undefined : [entry] }
        runs.set(run, known)
        if (runs.size > mostRuns) runs.delete(runs.keys().next().value!)
        if (!isBirth) {
          const caught = catchUp(run, known).finally(() => catching.delete(caught))
          catching.add(caught)
          continue
        }
      }
      if (known.waiting === undefined) say(entry, known)
      else known.waiting.push(entry)
    }
  })
  return async () => {
    while (catching.size > 0) await Promise.all(catching)
  }
}

/** Where the warnings of a process go that has a logger. */
export const warningsTo =
  (logger: Logger) =>
  (code: string, message: string): void =>
    write(logger, 'warn', { code }, message)

function write(logger: Logger, level: Level, fields: LogFields, message: string): void {
  try {
    logger[level](fields, message)
  } catch {
    // what writes logs has failed; a run is not to fail with it
  }
}
