/**
 * Scoring: runs the scorers of one activation.
 *
 * Owns: running several scorers under one deadline, what their outcomes count, the texts of a refusal. Does not own:
 * the options (completion.ts), when an answer is measured (../loop/turn-loop.ts).
 * Holds: K3 (the deadline and the scores are arrivals of one inbox, so a replay decides alike), K10 (a function is one
 * step with one attempt, an agent is a worker over the edge). It has a wait of its own, because one deadline covers
 * steps and workers alike; a worker task (../../supervisor/worker) has one each.
 */
import {
  asText,
  copy,
  describeOutcome,
  withoutHandoff,
  type ActivationId,
  type Json,
  type OpId,
  type Outcome,
} from '@reeve/core'
import { briefValue, failureText } from '@reeve/edge'
import { stoodBetween, type Context } from '@reeve/engine'
import { stopAsked } from '@reeve/oversight'
import {
  defaultTimeoutMs,
  judgedText,
  namedScorer,
  scoreOf,
  type Completion,
  type NamedScorer,
  type Scored,
  type ScorerInput,
  type ScorerResult,
} from './completion.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import type { Extension, AnswerRefusal, TurnView } from './extension.ts'
import { startWorker } from '../code/agent-context.ts'
import { callHook, hookStepOptions, recordableReply } from '../hook-call.ts'

/** All scorers share one deadline. */
const scorerStep = { ...hookStepOptions, timeoutMs: Infinity }

/** The scorers of one activation. */
export class Scoring implements Extension {
  readonly #completion: Completion
  readonly #measures: readonly NamedScorer[]
  readonly #state: ConversationState
  readonly #maxTurns: number
  readonly #scope: string
  /** The scores of the last answer that did not pass. */
  #unmet: string | undefined

  constructor(completion: Completion, state: ConversationState, maxTurns: number, scope = 'isComplete') {
    this.#completion = completion
    this.#measures = completion.scorers.map(namedScorer)
    this.#state = state
    this.#maxTurns = maxTurns
    this.#scope = scope
  }

  /** The addition to the message of a limit, if an answer did not pass. */
  unmet(): string {
    return this.#unmet === undefined ? '' : `; isComplete was never satisfied: ${this.#unmet}`
  }

  async onAnswer(turn: TurnView, text: string, output: Json): Promise<AnswerRefusal | undefined> {
    const scored = await this.#measure(turn.ctx, text, output)
    turn.scored = turn.scored === undefined || !scored.passed ? scored : mergeScored(turn.scored, scored)
    return scored.passed ? undefined : { told: refusedText(scored), toWorkers: refusedAnswerText(scored) }
  }

  /** Measures an answer and records the result. */
  async #measure(turn: Context, text: string, output: Json): Promise<Scored> {
    const { strategy = 'all', onScored } = this.#completion
    const ctx = turn.scope(this.#scope)
    const begunAt = ctx.now().getTime()
    const { results, timedOut } = await this.#runScorers(ctx, this.#input(ctx, text, output))
    const good = results.filter(({ passed }) => passed).length
    const passed = strategy === 'any' ? good > 0 : good === this.#measures.length
    const scored: Scored = { passed, results, timedOut, reason: results.map(lineOf).join('; ') }
    ctx.emit({ type: 'completion.scored', turn: this.#state.turn, passed, strategy, timedOut, results })
    this.#unmet = passed ? undefined : scored.reason
    if (onScored !== undefined) {
      const { agent, turn: nth } = this.#state
      const durationMs = ctx.now().getTime() - begunAt
      await callHook(
        ctx,
        'onScored',
        async (io) => void (await onScored({ ...scored, turn: nth, agent, run: ctx.place.run, durationMs }, io)),
        () => undefined,
      )
    }
    return scored
  }

  /** Runs the scorers until the result is decided, all have answered, or the deadline passes. */
  async #runScorers(
    ctx: Context,
    input: () => ScorerInput,
  ): Promise<{ readonly results: readonly ScorerResult[]; readonly timedOut: boolean }> {
    const { strategy = 'all', parallel = true, timeoutMs = defaultTimeoutMs } = this.#completion
    const since = ctx.now().getTime()
    let deadline = ctx.ask('deadline', { until: new Date(since + timeoutMs) })
    let stood = 0
    const results = new Map<string, ScorerResult>()
    const open = new Map<string, NamedScorer>()
    const waiting = [...this.#measures]
    const isDecided = (): boolean =>
      [...results.values()].some(({ passed }) => (strategy === 'any' ? passed : !passed && !parallel))
    let timedOut = false
    while (!timedOut && !isDecided() && waiting.length + open.size > 0) {
      while (waiting.length > 0 && (parallel || open.size === 0) && !isDecided()) {
        const next = waiting.shift()!
        const begun = this.#startScorer(ctx, next, input)
        if (typeof begun === 'string') open.set(begun, next)
        else results.set(next.name, begun)
      }
      if (open.size === 0) continue
      const heard = await ctx.next(
        (each) => each.id === deadline || open.has(each.id) || open.has(stopAsked(each)?.delegation ?? ''),
      )
      const stop = stopAsked(heard)
      if (stop !== undefined) {
        ctx.stop(stop.delegation as ActivationId, stop.reason)
        continue
      }
      if (heard.id === deadline) {
        // pauses of the run do not count
        const before = stood
        stood = stoodBetween(await ctx.scope('pauses').pauses(), since, ctx.now().getTime())
        if (stood > before) {
          deadline = ctx.ask('deadline', { until: new Date(ctx.now().getTime() + stood - before) })
          continue
        }
      }
      const { id, ...arrival } = heard
      const scorer = open.get(id)
      timedOut = scorer === undefined
      open.delete(id)
      if (scorer !== undefined && 'outcome' in arrival)
        results.set(scorer.name, resultOf(scorer, arrival.outcome, input))
    }
    if (!timedOut) ctx.stop(deadline, 'every scorer that counts has answered')
    const late = timedOut ? { timedOutMs: timeoutMs } : {}
    for (const id of open.keys())
      ctx.stop(id as OpId, timedOut ? 'it did not finish in time' : 'another scorer has decided', late)
    const unfinished = new Set([...open.values(), ...(timedOut ? waiting : [])].map(({ name }) => name))
    return {
      results: this.#measures.flatMap(
        ({ name }) => results.get(name) ?? (unfinished.has(name) ? [failedResult(name, 'it did not finish')] : []),
      ),
      timedOut,
    }
  }

  /** Starts a scorer. Returns the id of its arrival, or its result if it cannot start. */
  #startScorer(ctx: Context, measure: NamedScorer, input: () => ScorerInput): OpId | ActivationId | ScorerResult {
    const { name, score, agent } = measure
    if (score !== undefined)
      return ctx.begin(`score:${name}`, async (io) => recordableReply(await score(input(), io)), scorerStep)
    const { brief, text, output, turn } = input()
    const work =
      agent.inputSchema === undefined ? { instructions: judgedText(input()) } : { input: { brief, text, output, turn } }
    const started = startWorker(ctx, this.#state.edge, agent, work, undefined, undefined, 'score')
    return typeof started === 'string' ? started : failedResult(name, started.message)
  }

  /** Builds the input on demand: a replay does not need it. */
  #input({ place }: Context, text: string, output: Json): () => ScorerInput {
    const { turn, agent, edge } = this.#state
    const { path, run, caller } = place
    return () => ({
      brief: copy(briefValue(edge.work.brief)),
      text,
      output: copy(output),
      turn,
      maxTurns: this.#maxTurns,
      messages: this.#state.conversation(),
      agent,
      path,
      run,
      caller,
    })
  }
}

/** Merges two results of an answer that passed both. */
const mergeScored = (first: Scored, second: Scored): Scored => ({
  passed: true,
  results: [...first.results, ...second.results],
  timedOut: first.timedOut || second.timedOut,
  reason: `${first.reason}; ${second.reason}`,
})

const failedResult = (scorer: string, error: string): ScorerResult => ({ scorer, score: 0, passed: false, error })

function resultOf({ name }: NamedScorer, outcome: Outcome, judged: () => ScorerInput): ScorerResult {
  const ended = withoutHandoff(outcome)
  if (ended.status !== 'completed') {
    // the model sees this text; the journal has the message of an exception
    return failedResult(name, ended.status === 'failed' ? failureText(ended.failure) : describeOutcome(ended))
  }
  const { output } = ended
  const score = scoreOf(output, typeof output === 'string' ? [judged().text, asText(judged().brief)] : [])
  return typeof score === 'string' ? failedResult(name, score) : { scorer: name, ...score, passed: score.score === 1 }
}

const lineOf = ({ scorer, score, passed, reason, error }: ScorerResult): string =>
  `${scorer}: ${error !== undefined ? `could not be measured (${error})` : passed ? 'passed' : `${score} of 1`}${reason === undefined ? '' : `, ${reason}`}`

const linesOf = ({ results }: Scored): string => results.map((result) => `- ${lineOf(result)}`).join('\n')

/** The message to a model whose answer did not pass. */
const refusedText = (scored: Scored): string =>
  `Your answer is not accepted yet.\n${linesOf(scored)}\nGo on with your work, and answer again when it is done.`

/** What the workers of that model see of it. */
const refusedAnswerText = (scored: Scored): string => `The answer so far was not accepted.\n${linesOf(scored)}`
