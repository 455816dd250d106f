/**
 * reflect(): an agent around an agent. It lets somebody judge the answer, tries again with what was said, gives the
 * best answer, and learns over runs which worker suits which request.
 *
 * Owns: the public constructor, its options and checks, the attempts. Does not own: what is learned and how it is found
 * again (lesson-memory.ts), the agent inside, the judge.
 * Holds: K7 (one outcome; never an empty success), K10: a judge that is a function is a step, one that is an agent is a
 * worker, so what it uses is accounted for.
 */
import {
  asText,
  described,
  failed,
  failure,
  hasNames,
  mustBeOptions,
  present,
  trailOf,
  unknownNames,
  withoutTrail,
  withTrail,
  type Failure,
  type HistoryEntry,
  type Json,
  type NamesOf,
  type Outcome,
} from '../core/index.ts'
import {
  DefinedAgent,
  factProblems,
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
} from '../agent/index.ts'
import {
  briefText,
  briefValue,
  entriesOf,
  leavesTrail,
  workerTold,
  type Brief,
  type Edge,
  type LeaderGrant,
  type Limits,
  type Oversight,
} from '../edge/index.ts'
import type { Context, StepIO } from '../engine/index.ts'
import { streakOf, workerEnd } from '../oversight/index.ts'
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

/** What a judge that is a function is told. */
export interface Judged {
  /** What was asked for. */
  readonly brief: Json
  readonly output: Json
  /** The output as text. */
  readonly text: string
  /** From 1. */
  readonly attempt: number
  /** To whom it was delegated. */
  readonly workers: readonly string[]
}

/** How an agent is made to reflect. */
export interface ReflectOptions<Name extends string = string> {
  /** Default: `<agent>_reflected`. */
  readonly name?: Name
  /** Default: that of the agent. */
  readonly description?: string
  /**
   * Says how good an answer is: a function, recorded as a step; or an agent that answers with a number, true or false,
   * or `{ score, reason }`, also as JSON text. A judge that fails has said nothing: the answer stands, and the journal
   * has `hook.failed`.
   */
  readonly judge: ((given: Judged, io: StepIO) => Score | Promise<Score>) | Agent
  /** The most attempts in one run. Default 2. */
  readonly attempts?: number
  /** The score with which an answer is good enough. Default 1. */
  readonly passAt?: number
  /**
   * Where lessons are kept. Default: a stream of its own that outlives runs and sessions, the newest 100 lessons of
   * each user. `false`: nothing is learned.
   */
  readonly memory?: LessonMemory | false
  /**
   * How much alike two requests are, from 0 to 1; from 0.3 on, a lesson is recalled. Only for the default memory.
   * Default: the words that they have in common.
   */
  readonly similarity?: Similarity
  /** Hard limits of all attempts and the judge together. Default: 100 turns where it is a root. */
  readonly limits?: Limits
  /** How closely humans look at all attempts and the judge. Default: as those of whom it wraps. */
  readonly oversight?: Oversight
  /** What it says of its own results: a function of the output and the brief. Default: nothing. */
  readonly assess?: Exclude<Assess, 'report'>
  /** The session value under which the best answer is kept. */
  readonly outputKey?: string
  readonly version?: string
}

const reflectNames: NamesOf<ReflectOptions> = {
  name: true,
  description: true,
  judge: true,
  attempts: true,
  passAt: true,
  memory: true,
  similarity: true,
  limits: true,
  oversight: true,
  assess: true,
  outputKey: true,
  version: true,
}

/** Turns of all attempts as a root, if nobody says. */
const defaultTurns = 100

/**
 * Makes an agent reflect on its answers. Each attempt is a worker of its own; one that did not pass is shown its answer
 * and the judge's reason and tries again, and the best-scored answer is the output. Before the first attempt a leader
 * is told how its workers did for requests like this one. Where control is handed on, it does not leave it. Throws
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

/** One attempt that has ended. */
interface Attempt {
  readonly outcome: Outcome
  readonly said: readonly HistoryEntry[]
  readonly score: number
  readonly reason?: string
}

/** An agent that reflects. */
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
      streakOf(ctx).note(outcome)
      const { said } = trailOf(outcome)
      const attempt = { outcome: withoutTrail(outcome), said }
      const workers = workersOf(this.agent, said)
      const judged = await this.#judged(scope, edge, { attempt: n, workers }, attempt.outcome)
      if (judged === undefined) return endWith(edge, bestAttempt(made) ?? { ...attempt, score: 0 })
      made.push({ ...attempt, ...judged })
      const lesson: Lesson = { intent, workers, ...judged }
      if (recalling !== undefined) await saveLesson(scope, recalling, lesson)
      if (judged.score >= passAt) break
    }
    return endWith(edge, bestAttempt(made) ?? made.at(-1)!)
  }

  /** What an attempt is given: how workers did before in its system text, what judges said as notes. */
  #grant(edge: Edge, lessons: readonly Lesson[], last: Attempt | undefined): LeaderGrant {
    const { passAt = 1 } = this.#options
    const advice = adviceOf(lessons, passAt, this.agent.team?.())
    const complaints = last === undefined ? criticismOf(lessons, passAt) : undefined
    const { work, leader, run } = edge
    const added = [work.added, advice].filter((text) => text !== undefined && text !== '').join('\n\n')
    const notes = [
      ...(complaints === undefined ? [] : [note(complaints)]),
      ...(last === undefined ? [] : this.#again(last)),
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

  /** An answer that did not pass, and why. */
  #again({ outcome, score, reason }: Attempt): readonly HistoryEntry[] {
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

  /** How good an attempt is; undefined if that is not for a judge to say, or the judge has not said it. */
  async #judged(
    ctx: Context,
    edge: Edge,
    given: Pick<Judged, 'attempt' | 'workers'>,
    outcome: Outcome,
  ): Promise<Pick<Attempt, 'score' | 'reason'> | undefined> {
    if (outcome.status === 'failed' || outcome.status === 'timed-out')
      return outcome.status === 'failed' && isFinal(outcome.failure)
        ? undefined
        : { score: 0, reason: asText(workerTold(this.agent.name, outcome).content) }
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
        ).word
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
    const { judge, attempts = 2, passAt = 1, memory, similarity } = this.#options
    const where = `reflect "${this.name}"`
    return [
      ...unknownNames(this.#options, reflectNames, where),
      ...factProblems(this),
      ...(typeof judge === 'function' || isAgent(judge)
        ? []
        : [`${where}: judge is ${described(judge)}, expected a function or an agent`]),
      ...(Number.isInteger(attempts) && attempts > 0
        ? []
        : [`${where}: attempts is ${attempts}, expected a whole number of at least 1`]),
      ...(Number.isFinite(passAt) && passAt > 0 ? [] : [`${where}: passAt is ${passAt}, expected a number above 0`]),
      ...(memory === undefined || memory === false || isMemory(memory)
        ? []
        : [`${where}: memory is ${described(memory)}, expected { recall, save } or false`]),
      ...(similarity === undefined || typeof similarity === 'function'
        ? []
        : [`${where}: similarity is ${described(similarity)}, expected a function`]),
    ]
  }
}

const isMemory = (given: unknown): boolean =>
  hasNames(given) &&
  'recall' in given &&
  typeof given.recall === 'function' &&
  'save' in given &&
  typeof given.save === 'function'

const note = (content: string): HistoryEntry => ({ message: { role: 'user', content } })

/** Failures that would come again. */
const isFinal = ({ class: of }: Failure): boolean =>
  of === 'validation' || of === 'policy' || of === 'budget' || of === 'rejected'

/** The best-scored of those that have answered something; of equals the last. */
const bestAttempt = (made: readonly Attempt[]): Attempt | undefined =>
  made
    .filter(
      ({ outcome }) =>
        outcome.status === 'completed' && outcome.output !== null && asText(outcome.output).trim() !== '',
    )
    .reduce<Attempt | undefined>((top, each) => (top === undefined || each.score >= top.score ? each : top), undefined)

/** How the whole ends with this attempt. */
function endWith(edge: Edge, { outcome, said }: Pick<Attempt, 'outcome' | 'said'>): Outcome {
  const isNothing = outcome.status === 'completed' && (outcome.output === null || asText(outcome.output).trim() === '')
  const ended = isNothing
    ? failed(failure('output.invalid', 'no attempt has produced an answer', 'validation'))
    : outcome
  return leavesTrail(edge) ? withTrail(ended, { said }) : ended
}

/** To whom it was delegated, or control was handed on, in an attempt. */
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

/** What a judge that says nothing has said: no score. */
const noScore: Json = {}

const judgementProblem = (word: Json): string | undefined => {
  const found = scoreOf(word)
  return typeof found === 'string' ? found : undefined
}

/** Asks a judge that is an agent; undefined if it says nothing that could be used. */
async function askJudge(ctx: Context, edge: Edge, judge: Agent, given: Judged): Promise<Json | undefined> {
  const { attempt, brief, text, output } = given
  const work: Brief =
    judge.inputSchema === undefined
      ? { instructions: judgedText(given) }
      : { input: { brief, text, output, turn: attempt } }
  const started = startWorker(ctx, edge, judge, work, { admitted: true })
  const outcome = typeof started === 'string' ? (await workerEnd(ctx, started)).outcome : failed(started)
  const why =
    outcome.status === 'completed' ? judgementProblem(outcome.output) : asText(workerTold(judge.name, outcome).content)
  if (why === undefined && outcome.status === 'completed') return outcome.output
  ctx.emit({
    type: 'hook.failed',
    hook: 'judge',
    worker: judge.name,
    failure: failure('hook.failed', `judge failed: ${why}`, 'internal'),
  })
  return undefined
}
