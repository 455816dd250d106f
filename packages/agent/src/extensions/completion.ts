/**
 * Completion: whether an answer ends the work. Scorers measure it; an answer that does not pass goes back to the model.
 *
 * Owns: the options, the input and output of scorers, their checks. Does not own: running the scorers (scoring.ts),
 * when an answer is measured (../loop/turn-loop.ts), scorers that are models (judge.ts: agents like any other). All of
 * it is pure.
 */
import type { StepIO } from '@reeve/engine'
import {
  beginning,
  asText,
  choice,
  described,
  flag,
  functionCheck,
  hasNames,
  isName,
  isObject,
  enclosed,
  jsonOf,
  listOf,
  nameCheck,
  number,
  object,
  required,
  twiceIn,
  type Check,
  type Checks,
  type Json,
  type RunId,
} from '@reeve/core'
import type { Caller, CompletionScored } from '@reeve/journal'
import type { Message } from '@reeve/model'
import { isAgent, type Agent } from '../definition.ts'
import type { HookReply } from '../hook-call.ts'

/** An answer to measure, as a scorer receives it. */
export interface ScorerInput {
  /** The agent's brief. */
  readonly brief: Json
  /** The answer as the model wrote it. */
  readonly text: string
  /** The answer as an output: the value that fits the agent's `output`, else the text. */
  readonly output: Json
  /** The turn of the answer, from 1. */
  readonly turn: number
  readonly maxTurns: number
  /** The conversation so far without instructions, oldest first, with all calls and results. Frozen. */
  readonly messages: readonly Message[]
  readonly agent: string
  /** Agents' names from the root to the agent that answers. */
  readonly path: readonly string[]
  readonly run: RunId
  readonly caller: Caller
}

/** A score. An answer passes with exactly 1 or true; 0.9 does not pass. */
export type Score = number | boolean | { readonly score: number | boolean; readonly reason?: string }

/**
 * Measures an answer. May have effects: it runs once per answer, and its result is recorded. A throw counts as 0;
 * the model is told that the scorer failed, and the journal has the error.
 */
export type ScorerFunction = (input: ScorerInput, io: StepIO) => Score | Promise<Score>

/**
 * A scorer: a named function, `{ name, score }`, or an agent whose output is a `Score`, also as JSON text (`judge()`
 * makes one). An agent is a worker: its usage counts, its limits hold and it is recorded. It sees the task and the
 * answer or, with an `input` schema, receives `{ brief, text, output, turn }`.
 */
export type Scorer = ScorerFunction | { readonly name: string; readonly score: ScorerFunction } | Agent

/** The result of one scorer. */
export type ScorerResult = CompletionScored['results'][number]

/** The result of measuring an answer. */
export interface Scored {
  readonly passed: boolean
  /** The results of the scorers that ran, in the order of the list. */
  readonly results: readonly ScorerResult[]
  /** The deadline passed before a decision. */
  readonly timedOut: boolean
  /** All results in one line. */
  readonly reason: string
}

/** The argument of `onScored`. */
export interface ScoredMoment extends Scored {
  readonly turn: number
  readonly agent: string
  readonly run: RunId
  readonly durationMs: number
}

/** When an answer ends the work. */
export interface Completion {
  /** At least one; names are unique. */
  readonly scorers: readonly Scorer[]
  /** Whether all scorers must pass, or any one. Default `all`. */
  readonly strategy?: 'all' | 'any'
  /** Whether scorers run at the same time. If not, the first one that decides is the last that runs. Default true. */
  readonly parallel?: boolean
  /**
   * Milliseconds for all scorers together. A scorer that has not finished by then is stopped and fails. Default
   * 600,000.
   */
  readonly timeoutMs?: number
  /**
   * Called once after each measurement. Its result is ignored; if it throws, the journal has `hook.failed` and the work
   * continues.
   */
  readonly onScored?: (scored: ScoredMoment, io: StepIO) => HookReply<unknown>
}

/** The default deadline of scorers in milliseconds. */
export const defaultTimeoutMs = 600_000

/** A scorer with its name. */
export type NamedScorer =
  | { readonly name: string; readonly score: ScorerFunction; readonly agent?: undefined }
  | { readonly name: string; readonly agent: Agent; readonly score?: undefined }

/** Gives a scorer its name. */
export function namedScorer(scorer: Scorer): NamedScorer {
  if (typeof scorer === 'function') return { name: scorer.name, score: scorer }
  return 'kind' in scorer ? { name: scorer.name, agent: scorer } : { name: scorer.name, score: scorer.score }
}

/** The scorers as given, valid or not. */
const givenScorers = (given: unknown): readonly unknown[] => {
  const scorers = hasNames(given) ? (given as { readonly scorers?: unknown }).scorers : undefined
  return Array.isArray(scorers) ? scorers : []
}

/** Scorers that are agents. */
export const scorerAgents = (given: unknown): readonly Agent[] => givenScorers(given).filter(isAgent)

/** The part of the option that is data, for the version of its agent. */
export function completionData({
  scorers,
  strategy = 'all',
  parallel = true,
  timeoutMs = defaultTimeoutMs,
}: Completion): Json {
  return {
    scorers: givenScorers({ scorers }).map((scorer) => String((scorer as { readonly name?: unknown }).name)),
    strategy,
    parallel,
    timeoutMs,
  }
}

const scorerOptions = object<{ name: unknown; score: unknown }>({
  name: required(nameCheck),
  score: required(functionCheck),
})
const scorerCheck: Check = (given, where) => {
  if (isAgent(given)) return []
  if (typeof given === 'function')
    return given.name === ''
      ? [`${where} is a function without a name: write { name: '…', score: … }`]
      : nameCheck(given.name, `${where}.name`)
  return hasNames(given)
    ? scorerOptions(given, where)
    : [`${where} is ${described(given)}, expected a function with a name, { name, score } or an agent`]
}

/** The checks of scorers, each of which this one takes, and of what follows from them. */
export const completionChecks = (scorer: Check): Checks<Completion> => ({
  scorers: required((given, where) =>
    Array.isArray(given) && given.length === 0
      ? [`${where} is empty, expected a list of at least one scorer`]
      : listOf(scorer, 'at least one scorer')(given, where),
  ),
  strategy: choice('all', 'any'),
  parallel: flag,
  timeoutMs: number((given) => given > 0 && Number.isFinite(given), 'a number of milliseconds above 0'),
  onScored: functionCheck,
})

/** The check of these options. */
export const completionCheck = object<Completion>(completionChecks(scorerCheck), (given, where) =>
  twiceIn(
    givenScorers(given)
      .map((each) => (each as { readonly name?: unknown } | null | undefined)?.name)
      .filter(isName),
    where,
    'scorers',
  ),
)

/** The score in a value; a text says why there is none. Pure. */
export function scoreOf(
  value: Json,
  quotable: readonly string[] = [],
): { readonly score: number; readonly reason?: string } | string {
  const read = typeof value === 'string' ? jsonOf(value, { path: 'the score', quotable }) : undefined
  if (read?.ok === false && read.none !== true) return `it gave no score that counts: ${read.problem}`
  const verdict = read?.ok === true ? read.value : value
  const { score, reason } = isObject(verdict) ? verdict : { score: verdict, reason: undefined }
  if (typeof score !== 'boolean' && typeof score !== 'number')
    return `it answered ${short(asText(value ?? null))}, expected a number, true, false or { score, reason }`
  return { score: Number(score), ...(typeof reason === 'string' && reason.trim() !== '' ? { reason } : undefined) }
}

const short = (text: string): string => (text.length > 200 ? `${beginning(text, 200)}…` : text)

/** The question to a scorer that is a model. What is judged cannot end where it stands. */
export const judgedText = ({ brief, text }: Pick<ScorerInput, 'brief' | 'text'>): string =>
  `The task:\n${enclosed('task', asText(brief))}\n\nThe answer to be judged:\n${enclosed('answer', text)}`
