/**
 * Completion: whether an answer is the end. Scorers measure it; what does not pass goes back to the model.
 *
 * Owns: the options, what a scorer is given and may answer, their checks. Does not own: asking the scorers
 * (scoring.ts), when an answer is measured (../loop/turn-loop.ts), a scorer that is a model (judge.ts: an agent like any other).
 * All of it is pure.
 */
import {
  asText,
  choice,
  described,
  flag,
  functionCheck,
  hasNames,
  isObject,
  jsonIn,
  number,
  object,
  required,
  unknownNames,
  type Check,
  type Json,
  type RunId,
} from '../../core/index.ts'
import type { StepIO } from '../../engine/index.ts'
import type { Caller, CompletionScored } from '../../journal/index.ts'
import type { Message } from '../../model/index.ts'
import { isAgent, isName, type Agent } from '../definition.ts'
import type { HookReply } from './hook-call.ts'

/** An answer that is to be measured, as a scorer is given it. */
export interface ScorerInput {
  /** What the agent was asked to do. */
  readonly brief: Json
  /** The answer as the model wrote it. */
  readonly text: string
  /** The answer as it would be the output: the value that fits the agent's `output`, else the text. */
  readonly output: Json
  /** The turn of the agent that brought it, from 1. */
  readonly turn: number
  readonly maxTurns: number
  /**
   * The conversation so far without instructions, oldest first, with all calls and their results. Nobody can change it.
   */
  readonly messages: readonly Message[]
  readonly agent: string
  /** Agents' names from the root to the one that answers. */
  readonly path: readonly string[]
  readonly run: RunId
  readonly caller: Caller
}

/** A measure. An answer passes with exactly 1, or true; 0.9 does not. */
export type Score = number | boolean | { readonly score: number | boolean; readonly reason?: string }

/**
 * Measures an answer. It may do as it likes: it runs once per answer, and its result is recorded. What it throws counts
 * as 0: its model is told that its code failed, and the journal has what it threw.
 */
export type ScorerFunction = (input: ScorerInput, io: StepIO) => Score | Promise<Score>

/**
 * Who measures: a function with a name, `{ name, score }`, or an agent whose output is a `Score`, or a text that is one
 * as JSON (`judge()` makes such an agent). An agent is a worker: its usage counts, its limits hold, it is recorded; it
 * is shown the task and the answer, or, if it has an `input` schema, given `{ brief, text, output, turn }`.
 */
export type Scorer = ScorerFunction | { readonly name: string; readonly score: ScorerFunction } | Agent

/** What one scorer has said. */
export type ScorerResult = CompletionScored['results'][number]

/** What came of measuring an answer. */
export interface Scored {
  readonly passed: boolean
  /** Of those that were asked, in the order in which they are given. */
  readonly results: readonly ScorerResult[]
  /** The deadline came before a decision. */
  readonly timedOut: boolean
  /** Who said what, in one line. */
  readonly reason: string
}

/** What `onScored` is told. */
export interface ScoredMoment extends Scored {
  readonly turn: number
  readonly agent: string
  readonly run: RunId
  readonly durationMs: number
}

/** When an answer is the end. */
export interface Completion {
  /** At least one; their names are unique. */
  readonly scorers: readonly Scorer[]
  /** Whether every scorer must pass, or one is enough. Default `all`. */
  readonly strategy?: 'all' | 'any'
  /**
   * Whether they are asked at the same time. One after the other, the first one that decides is the last that is asked.
   * Default true.
   */
  readonly parallel?: boolean
  /** Milliseconds for all of them together. Who has not finished then is stopped and has failed. Default 600,000. */
  readonly timeoutMs?: number
  /**
   * After each measuring, once. What it returns is not used; if it throws, the journal has `hook.failed` and the work
   * goes on.
   */
  readonly onScored?: (scored: ScoredMoment, io: StepIO) => HookReply<unknown>
}

/** How long scorers have if nobody says. Milliseconds. */
export const defaultTimeoutMs = 600_000

/** A scorer, whatever it was written as. */
export type NamedScorer =
  | { readonly name: string; readonly score: ScorerFunction; readonly agent?: undefined }
  | { readonly name: string; readonly agent: Agent; readonly score?: undefined }

/** A scorer as it is asked. */
export function namedScorer(scorer: Scorer): NamedScorer {
  if (typeof scorer === 'function') return { name: scorer.name, score: scorer }
  return 'kind' in scorer ? { name: scorer.name, agent: scorer } : { name: scorer.name, score: scorer.score }
}

/** Scorers as they were given, whatever they are. */
const givenScorers = (given: unknown): readonly unknown[] => {
  const scorers = hasNames(given) ? (given as { readonly scorers?: unknown }).scorers : undefined
  return Array.isArray(scorers) ? scorers : []
}

/** Scorers that are agents. */
export const scorerAgents = (given: unknown): readonly Agent[] => givenScorers(given).filter(isAgent)

/** The part of it that is data, for the version of its agent. */
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

const scorersCheck: Check = (given, where) => {
  if (!Array.isArray(given) || given.length === 0)
    return [`${where} is ${Array.isArray(given) ? 'empty' : described(given)}, expected a list of at least one scorer`]
  return given.flatMap((each, i) => scorerProblem(each, `${where}[${i}]`))
}

const completionCheck = object<Completion>({
  scorers: required(scorersCheck),
  strategy: choice('all', 'any'),
  parallel: flag,
  timeoutMs: number((given) => given > 0 && Number.isFinite(given), 'a number of milliseconds above 0'),
  onScored: functionCheck,
})

/** What is wrong with it, one sentence each. */
export function completionProblems(given: Completion | undefined, where: string): string[] {
  if (given === undefined) return []
  const called = givenScorers(given).map((each) => (each as { readonly name?: unknown } | null | undefined)?.name)
  return [
    ...completionCheck(given, `${where}: isComplete`),
    ...called.flatMap((name, i) =>
      isName(name) && called.indexOf(name) !== i ? [`${where}: two scorers are called "${String(name)}"`] : [],
    ),
  ]
}

function scorerProblem(given: unknown, where: string): string[] {
  if (isAgent(given)) return []
  const measure: { readonly name?: unknown; readonly score?: unknown } | undefined =
    typeof given === 'function' ? { name: given.name, score: given } : hasNames(given) ? given : undefined
  if (typeof given === 'function' && given.name === '')
    return [`${where} is a function without a name: write { name: '…', score: … }`]
  if (measure === undefined)
    return [`${where} is ${described(given)}, expected a function with a name, { name, score } or an agent`]
  return [
    ...(typeof given === 'function' ? [] : unknownNames(given, { name: true, score: true }, where)),
    ...(typeof measure.score === 'function' ? [] : [`${where} has no score: a function that measures`]),
    ...(isName(measure.name)
      ? []
      : [
          `${where}: the name of a scorer, "${String(measure.name)}", is not a letter or "_", then up to 63 letters, digits, "_" or "-"`,
        ]),
  ]
}

/** The score that a value stands for; a text says why it stands for none. Pure. */
export function scoreOf(value: Json): { readonly score: number; readonly reason?: string } | string {
  const found = typeof value === 'string' ? (jsonIn(value) ?? value) : value
  const { score, reason } = isObject(found) ? found : { score: found, reason: undefined }
  if (typeof score !== 'boolean' && typeof score !== 'number')
    return `it answered ${short(asText(value ?? null))}, expected a number, true, false or { score, reason }`
  return { score: Number(score), ...(typeof reason === 'string' && reason.trim() !== '' ? { reason } : undefined) }
}

const short = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** What a model scorer is asked. */
export const judgedText = ({ brief, text }: Pick<ScorerInput, 'brief' | 'text'>): string =>
  `The task:\n${asText(brief)}\n\nThe answer to be judged:\n${text}`
