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
  defineAgent,
  factRule,
  isAgent,
  judgedText,
  partsOf,
  throwTeamProblems,
  checkTree,
  renamable,
  scoreOf,
  startWorker,
  type Agent,
  type AgentKind,
  type AgentParts,
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
import { definitionOf } from './leader.ts'
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
  const made = defineAgent(reflection, reflectionParts(agent, options))
  checkTree(made)
  return renamable(made, (name) => reflect(agent, { ...options, name })) as unknown as Agent<
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

interface ReflectionParts extends AgentParts<ReflectOptions> {
  readonly name: string
  /** The agent whose answers are scored. */
  readonly agent: Agent
  readonly attempts: number
  readonly passAt: number
}

function reflectionParts(agent: Agent, options: ReflectOptions): ReflectionParts {
  const { name = `${agent.name}_reflected`, description = agent.description, outputKey = agent.outputKey } = options
  const { attempts = 2, passAt = 1 } = options
  const { inputSchema, parsesInput, outputSchema, hooked } = agent
  return {
    options,
    agent,
    attempts,
    passAt,
    name,
    description,
    inputSchema,
    parsesInput,
    outputSchema,
    outputKey,
    team: agent.team === undefined ? undefined : () => agent.team!(),
    hooked,
    rootTurns: defaultTurns,
  }
}

const reflection: AgentKind<ReflectionParts> = {
  data: ({ options: { judge }, agent, attempts, passAt }) => ({
    agent: agent.name,
    judge: isAgent(judge) ? judge.name : null,
    attempts,
    passAt,
  }),
  orchestrate: reflectOn,
  related: ({ options: { judge }, agent }) => (isAgent(judge) ? [agent, judge] : [agent]),
  problems: ({ options, name }) => optionProblems<object>(checks, { ...options, name }, `reflect "${name}"`, factRule),
}

/** The agent that a `reflect()` wraps; undefined for any other agent. */
export const reflectedBy = (agent: unknown): Agent | undefined => partsOf(reflection, agent)?.agent

/** The same reflection around another agent; the options given here take precedence. */
export function reflectAround(
  base: Agent,
  agent: Agent,
  given: { readonly [Option in keyof ReflectOptions]?: ReflectOptions[Option] | undefined },
): Agent {
  const { name: _name, description: _description, ...kept } = partsOf(reflection, base)!.options
  return defineAgent(reflection, reflectionParts(agent, { ...kept, ...present(given) }))
}

async function reflectOn(parts: ReflectionParts, ctx: Context, edge: Edge): Promise<Outcome> {
  const { options, agent, name, attempts, passAt } = parts
  const { memory, similarity } = options
  const lessonScope: LessonScope | undefined = memory === false ? undefined : { name, memory, similarity }
  const intent = intentOf(edge.flow?.task ?? briefText(edge.work.brief))
  const lessons = lessonScope === undefined ? [] : await recallLessons(ctx, lessonScope, intent)
  const scored: Attempt[] = []
  for (let n = 1; n <= attempts; n++) {
    const scope = ctx.scope('attempt')
    const started = startWorker(scope, edge, agent, edge.work.brief, attemptGrant(parts, edge, lessons, scored.at(-1)))
    if (typeof started !== 'string') return failed(started)
    const { outcome } = await workerEnd(scope, started)
    failureCounterOf(ctx).note(outcome)
    const { said } = handoffOf(outcome)
    const attempt = { outcome: withoutHandoff(outcome), said }
    const workers = workersOf(agent, said)
    const judgement = await scoreAttempt(parts, scope, edge, { attempt: n, workers }, attempt.outcome)
    if (judgement === undefined) return endWith(edge, bestAttempt(scored) ?? { ...attempt, score: 0 })
    scored.push({ ...attempt, ...judgement })
    const lesson: Lesson = { intent, workers, ...judgement }
    if (lessonScope !== undefined) await saveLesson(scope, lessonScope, lesson)
    if (judgement.score >= passAt) break
  }
  return endWith(edge, bestAttempt(scored) ?? scored.at(-1)!)
}

/** The grant of an attempt: advice on workers in its system text, the judge's reasons as notes. */
function attemptGrant(
  parts: ReflectionParts,
  edge: Edge,
  lessons: readonly Lesson[],
  last: Attempt | undefined,
): LeaderGrant {
  const { agent, passAt } = parts
  const advice = adviceOf(lessons, passAt, agent.team?.())
  const complaints = last === undefined ? criticismOf(lessons, passAt) : undefined
  const { work, leader, run } = edge
  const added = [work.added, advice].filter((text) => text !== undefined && text !== '').join('\n\n')
  const notes = [
    ...(complaints === undefined ? [] : [note(complaints)]),
    ...(last === undefined ? [] : retryNotes(parts, last)),
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
function retryNotes({ agent, passAt }: ReflectionParts, { outcome, score, reason }: Attempt): readonly HistoryEntry[] {
  const why = reason === undefined || reason === '' ? '' : ` Feedback: ${reason}`
  if (outcome.status !== 'completed') return [note(`An earlier attempt failed. Try again and improve it.${why}`)]
  const answer: HistoryEntry = {
    agent: agent.name,
    message: { role: 'assistant', content: asText(outcome.output) },
    answer: true,
  }
  return [answer, note(`That answer scored ${score}; ${passAt} is required. Try again and improve it.${why}`)]
}

/** The score of an attempt; undefined if the attempt cannot be scored, or the judge gave no score. */
async function scoreAttempt(
  { options: { judge }, agent, passAt }: ReflectionParts,
  ctx: Context,
  edge: Edge,
  about: Pick<Judged, 'attempt' | 'workers'>,
  outcome: Outcome,
): Promise<Pick<Attempt, 'score' | 'reason'> | undefined> {
  if (outcome.status === 'failed' || outcome.status === 'timed-out')
    return outcome.status === 'failed' && isFinal(outcome.failure)
      ? undefined
      : { score: 0, reason: asText(formatWorkerResult(agent.name, outcome).content) }
  if (outcome.status !== 'completed') return undefined
  const text = asText(outcome.output)
  if (outcome.output === null || text.trim() === '') return { score: 0, reason: 'the answer was empty' }
  const input: Judged = { ...about, brief: briefValue(edge.work.brief), output: outcome.output, text }
  const reply = isAgent(judge)
    ? await askJudge(ctx, edge, judge, input)
    : (await askHook<Json>(ctx, { hook: 'judge' }, async (io) => (await judge(input, io)) ?? noScore, judgementProblem))
        .word
  const judgement = reply === undefined ? undefined : scoreOf(reply)
  if (judgement === undefined || typeof judgement === 'string') return undefined
  const scorer = isAgent(judge) ? judge.name : judge.name || 'judge'
  const passed = judgement.score >= passAt
  ctx.emit({
    type: 'completion.scored',
    turn: about.attempt,
    passed,
    strategy: 'all',
    timedOut: false,
    results: [{ scorer, passed, ...judgement }],
  })
  return judgement
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
  for (let below = reflectedBy(inner); below !== undefined; below = reflectedBy(inner)) inner = below
  const delegated = delegatedWorkers(said, verbsOf(definitionOf<{ verbs?: Partial<VerbNames> }>(inner)?.verbs))
  const team = inner.team?.() ?? []
  const spoke = said.flatMap((each) =>
    each.agent !== undefined && each.agent !== inner.name && team.includes(each.agent) ? [each.agent] : [],
  )
  return [...new Set([...delegated, ...spoke])]
}

/** The reply of a judge without a score. */
const noScore: Json = {}

const judgementProblem = (reply: Json): string | undefined => {
  const score = scoreOf(reply)
  return typeof score === 'string' ? score : undefined
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
