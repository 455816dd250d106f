/**
 * reflect(): wraps an agent. A judge scores its answer, the agent tries again with the feedback, the best answer
 * counts, and over runs it learns which worker suits which request.
 *
 * Owns: the public constructor, its options and checks, the attempts. Does not own: what is learned and how it is found
 * (lesson-memory.ts), the wrapped agent, the judge.
 * Holds: K7 (one outcome; never an empty success), K10: a judge that is a function is a step, one that is an agent is a
 * worker, so its usage is counted.
 */
import type { Context, StepIO } from '@reeve/engine'
import {
  asText,
  described,
  expects,
  failed,
  failure,
  functionCheck,
  handoffOf,
  hasNames,
  mustBeOptions,
  number,
  optionProblems,
  present,
  required,
  wholeNumber,
  withHandoff,
  withoutHandoff,
  type Checks,
  type Failure,
  type HistoryEntry,
  type Json,
  type Outcome,
} from '@reeve/core'
import {
  composedChecks,
  DefinedAgent,
  factRule,
  isAgent,
  judgedText,
  throwTeamProblems,
  checkTree,
  renamable,
  scoreOf,
  startWorker,
  versionOf,
  type Agent,
  type Assess,
  type InputOf,
  type NameOf,
  type OutputOf,
  type Score,
} from '@reeve/agent'
import {
  briefText,
  briefValue,
  entriesOf,
  leavesHandoff,
  formatWorkerResult,
  type Brief,
  type Edge,
  type LeaderGrant,
  type Limits,
  type Oversight,
} from '@reeve/edge'
import { failureCounterOf, workerEnd } from '@reeve/oversight'
import { verbsOf, type VerbNames } from './delegation/options.ts'
import { askHook } from './delegation/delegation-hooks.ts'
import { delegatedWorkers } from './code-supervisor.ts'
import {
  adviceOf,
  criticismOf,
  intentOf,
  saveLesson,
  recallLessons,
  type Lesson,
  type LessonMemory,
  type LessonScope,
  type Similarity,
} from './lesson-memory.ts'

/** The argument of a judge that is a function. */
export interface Judged {
  /** The brief. */
  readonly brief: Json
  readonly output: Json
  /** The output as text. */
  readonly text: string
  /** From 1. */
  readonly attempt: number
  /** The workers that were delegated to. */
  readonly workers: readonly string[]
}

/** The options of reflect(). */
export interface ReflectOptions<Name extends string = string> {
  /** Default: `<agent>_reflected`. */
  readonly name?: Name
  /** Default: the description of the agent. */
  readonly description?: string
  /**
   * Scores an answer: a function, recorded as a step; or an agent that answers with a number, true, false or `{ score,
   * reason }`, also as JSON text. If the judge fails, the answer stands and the journal has `hook.failed`.
   */
  readonly judge: ((given: Judged, io: StepIO) => Score | Promise<Score>) | Agent
  /** The largest number of attempts in one run. Default 2. */
  readonly attempts?: number
  /** The score from which an answer passes. Default 1. */
  readonly passAt?: number
  /**
   * Where lessons are kept. Default: a stream that outlives runs and sessions, with the newest 100 lessons of each
   * user. `false`: no lessons.
   */
  readonly memory?: LessonMemory | false
  /**
   * The similarity of two requests, from 0 to 1; lessons are recalled from 0.3 on. Only for the default memory.
   * Default: the share of common words.
   */
  readonly similarity?: Similarity
  /** Hard limits of all attempts and the judge together. Default: 100 turns where it is a root. */
  readonly limits?: Limits
  /** How closely humans oversee all attempts and the judge. Default: as for the wrapped agent. */
  readonly oversight?: Oversight
  /** Assesses its results: a function of the output and the brief. Default: no assessment. */
  readonly assess?: Exclude<Assess, 'report'>
  /** The session value that keeps the best answer. */
  readonly outputKey?: string
  readonly version?: string
}

const isMemory = (given: unknown): boolean =>
  hasNames(given) &&
  typeof (given as LessonMemory).recall === 'function' &&
  typeof (given as LessonMemory).save === 'function'

const checks: Checks<ReflectOptions> = {
  ...composedChecks,
  judge: required(expects((given) => typeof given === 'function' || isAgent(given), 'a function or an agent')),
  attempts: wholeNumber(1),
  passAt: number((given) => Number.isFinite(given) && given > 0, 'a number above 0'),
  memory: expects((given) => given === false || isMemory(given), '{ recall, save } or false'),
  similarity: functionCheck,
}

/** The default limit of turns of all attempts as a root. */
const defaultTurns = 100

/**
 * Makes an agent that improves its answer over several attempts. Each attempt is a worker. After an answer that did not
 * pass, the next attempt sees that answer and the judge's reason. The answer with the best score is the output. Before
 * the first attempt, a leader is told how its workers scored on similar requests. Transfers stay inside. Throws
 * `team.invalid`.
 */
export function reflect<A extends Agent, const Name extends string = `${NameOf<A>}_reflected`>(
  agent: A,
  options: ReflectOptions<Name>,
): Agent<Name, InputOf<A>, OutputOf<A>> {
  mustBeOptions(options, 'reflect', 'team.invalid')
  throwTeamProblems(isAgent(agent) ? [] : [`reflect() wraps ${described(agent)}, expected an agent`])
  const reflection = new Reflection(agent, options)
  checkTree(reflection)
  return renamable(reflection, (name) => reflect(agent, { ...options, name })) as unknown as Agent<
    Name,
    InputOf<A>,
    OutputOf<A>
  >
}

/** A finished attempt. */
interface Attempt {
  readonly outcome: Outcome
  readonly said: readonly HistoryEntry[]
  readonly score: number
  readonly reason?: string
}

/** The agent that reflects. */
export class Reflection extends DefinedAgent {
  readonly agent: Agent
  readonly #options: ReflectOptions

  constructor(agent: Agent, options: ReflectOptions) {
    const { name = `${agent.name}_reflected`, description = agent.description, outputKey = agent.outputKey } = options
    const { limits, oversight, assess } = options
    const { inputSchema, parsesInput, outputSchema } = agent
    const team = agent.team === undefined ? undefined : (): readonly string[] => agent.team!()
    super({
      name,
      description,
      inputSchema,
      parsesInput,
      outputSchema,
      limits,
      oversight,
      assess,
      outputKey,
      team,
      hooked: agent.hooked,
      rootTurns: defaultTurns,
    })
    this.#options = options
    this.agent = agent
  }

  /** The same reflection around another agent. */
  around(
    agent: Agent,
    own: { readonly [Option in keyof ReflectOptions]?: ReflectOptions[Option] | undefined },
  ): Reflection {
    const { name: _name, description: _description, ...kept } = this.#options
    const said = present(own)
    return new Reflection(agent, { ...kept, ...said })
  }

  protected madeVersion(): string {
    const { judge, attempts = 2, passAt = 1, version } = this.#options
    return versionOf(version, { agent: this.agent.name, judge: isAgent(judge) ? judge.name : null, attempts, passAt })
  }

  async orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    const { attempts = 2, passAt = 1, memory, similarity } = this.#options
    const recalling: LessonScope | undefined = memory === false ? undefined : { name: this.name, memory, similarity }
    const intent = intentOf(edge.flow?.task ?? briefText(edge.work.brief))
    const lessons = recalling === undefined ? [] : await recallLessons(ctx, recalling, intent)
    const made: Attempt[] = []
    for (let n = 1; n <= attempts; n++) {
      const scope = ctx.scope('attempt')
      const started = startWorker(scope, edge, this.agent, edge.work.brief, this.#grant(edge, lessons, made.at(-1)))
      if (typeof started !== 'string') return failed(started)
      const { outcome } = await workerEnd(scope, started)
      failureCounterOf(ctx).note(outcome)
      const { said } = handoffOf(outcome)
      const attempt = { outcome: withoutHandoff(outcome), said }
      const workers = workersOf(this.agent, said)
      const judged = await this.#score(scope, edge, { attempt: n, workers }, attempt.outcome)
      if (judged === undefined) return endWith(edge, bestAttempt(made) ?? { ...attempt, score: 0 })
      made.push({ ...attempt, ...judged })
      const lesson: Lesson = { intent, workers, ...judged }
      if (recalling !== undefined) await saveLesson(scope, recalling, lesson)
      if (judged.score >= passAt) break
    }
    return endWith(edge, bestAttempt(made) ?? made.at(-1)!)
  }

  /** The grant of an attempt: advice on workers in its system text, the judge's reasons as notes. */
  #grant(edge: Edge, lessons: readonly Lesson[], last: Attempt | undefined): LeaderGrant {
    const { passAt = 1 } = this.#options
    const advice = adviceOf(lessons, passAt, this.agent.team?.())
    const complaints = last === undefined ? criticismOf(lessons, passAt) : undefined
    const { work, leader, run } = edge
    const added = [work.added, advice].filter((text) => text !== undefined && text !== '').join('\n\n')
    const notes = [
      ...(complaints === undefined ? [] : [note(complaints)]),
      ...(last === undefined ? [] : this.#retryNotes(last)),
    ]
    const before = entriesOf(edge)
    const whole = [...before, ...(edge.flow?.task === undefined ? [] : [note(edge.flow.task)]), ...notes]
    return {
      report: true,
      ...(added === '' ? undefined : { added }),
      ...present({ turns: work.turns, questionsTo: leader.questionsTo, hooks: run.hooks }),
      ...(whole.length > 1 || work.entries !== undefined ? { entries: whole } : undefined),
    }
  }

  /** An answer that did not pass, and the reason. */
  #retryNotes({ outcome, score, reason }: Attempt): readonly HistoryEntry[] {
    const why = reason === undefined || reason === '' ? '' : ` Feedback: ${reason}`
    if (outcome.status !== 'completed') return [note(`An earlier attempt failed. Try again and improve it.${why}`)]
    const answer: HistoryEntry = {
      agent: this.agent.name,
      message: { role: 'assistant', content: asText(outcome.output) },
      answer: true,
    }
    return [
      answer,
      note(`That answer scored ${score}; ${this.#options.passAt ?? 1} is required. Try again and improve it.${why}`),
    ]
  }

  /** The score of an attempt; undefined if the attempt cannot be scored, or the judge gave no score. */
  async #score(
    ctx: Context,
    edge: Edge,
    given: Pick<Judged, 'attempt' | 'workers'>,
    outcome: Outcome,
  ): Promise<Pick<Attempt, 'score' | 'reason'> | undefined> {
    if (outcome.status === 'failed' || outcome.status === 'timed-out')
      return outcome.status === 'failed' && isFinal(outcome.failure)
        ? undefined
        : { score: 0, reason: asText(formatWorkerResult(this.agent.name, outcome).content) }
    if (outcome.status !== 'completed') return undefined
    const text = asText(outcome.output)
    if (outcome.output === null || text.trim() === '') return { score: 0, reason: 'the answer was empty' }
    const { judge, passAt = 1 } = this.#options
    const asked: Judged = { ...given, brief: briefValue(edge.work.brief), output: outcome.output, text }
    const word = isAgent(judge)
      ? await askJudge(ctx, edge, judge, asked)
      : (
          await askHook<Json>(
            ctx,
            { hook: 'judge' },
            async (io) => (await judge(asked, io)) ?? noScore,
            judgementProblem,
          )
        ).reply
    const judged = word === undefined ? undefined : scoreOf(word)
    if (judged === undefined || typeof judged === 'string') return undefined
    const scorer = isAgent(judge) ? judge.name : judge.name || 'judge'
    const passed = judged.score >= passAt
    ctx.emit({
      type: 'completion.scored',
      turn: given.attempt,
      passed,
      strategy: 'all',
      timedOut: false,
      results: [{ scorer, passed, ...judged }],
    })
    return judged
  }

  related(): readonly Agent[] {
    const { judge } = this.#options
    return isAgent(judge) ? [this.agent, judge] : [this.agent]
  }

  problems(): readonly string[] {
    return optionProblems<object>(checks, { ...this.#options, name: this.name }, `reflect "${this.name}"`, factRule)
  }
}

const note = (content: string): HistoryEntry => ({ message: { role: 'user', content } })

/** Failures that another attempt would repeat. */
const isFinal = ({ class: of }: Failure): boolean =>
  of === 'validation' || of === 'policy' || of === 'budget' || of === 'rejected'

/** The attempt with the best score that has an answer; of equal ones the last. */
const bestAttempt = (made: readonly Attempt[]): Attempt | undefined =>
  made
    .filter(
      ({ outcome }) =>
        outcome.status === 'completed' && outcome.output !== null && asText(outcome.output).trim() !== '',
    )
    .reduce<Attempt | undefined>((top, each) => (top === undefined || each.score >= top.score ? each : top), undefined)

/** The outcome of the whole with this attempt. */
function endWith(edge: Edge, { outcome, said }: Pick<Attempt, 'outcome' | 'said'>): Outcome {
  const isNothing = outcome.status === 'completed' && (outcome.output === null || asText(outcome.output).trim() === '')
  const ended = isNothing
    ? failed(failure('output.invalid', 'no attempt has produced an answer', 'validation'))
    : outcome
  return leavesHandoff(edge) ? withHandoff(ended, { said }) : ended
}

/** The workers that an attempt delegated to, or handed control to. */
function workersOf(agent: Agent, said: readonly HistoryEntry[]): readonly string[] {
  let inner = agent
  while (inner instanceof Reflection) inner = inner.agent
  const definition =
    'definition' in inner && hasNames(inner.definition)
      ? (inner.definition as { readonly verbs?: Partial<VerbNames> })
      : {}
  const delegated = delegatedWorkers(said, verbsOf(definition.verbs))
  const team = inner.team?.() ?? []
  const spoke = said.flatMap((each) =>
    each.agent !== undefined && each.agent !== inner.name && team.includes(each.agent) ? [each.agent] : [],
  )
  return [...new Set([...delegated, ...spoke])]
}

/** The reply of a judge without a score. */
const noScore: Json = {}

const judgementProblem = (word: Json): string | undefined => {
  const found = scoreOf(word)
  return typeof found === 'string' ? found : undefined
}

/** Asks a judge that is an agent; undefined without a usable score. */
async function askJudge(ctx: Context, edge: Edge, judge: Agent, given: Judged): Promise<Json | undefined> {
  const { attempt, brief, text, output } = given
  const work: Brief =
    judge.inputSchema === undefined
      ? { instructions: judgedText(given) }
      : { input: { brief, text, output, turn: attempt } }
  const started = startWorker(ctx, edge, judge, work, { admitted: true })
  const outcome = typeof started === 'string' ? (await workerEnd(ctx, started)).outcome : failed(started)
  const why =
    outcome.status === 'completed'
      ? judgementProblem(outcome.output)
      : asText(formatWorkerResult(judge.name, outcome).content)
  if (why === undefined && outcome.status === 'completed') return outcome.output
  ctx.emit({
    type: 'hook.failed',
    hook: 'judge',
    worker: judge.name,
    failure: failure('hook.failed', `judge failed: ${why}`, 'internal'),
  })
  return undefined
}
