/**
 * Lesson memory: what reflect() keeps of each attempt, how lessons of similar requests are found, and the advice made
 * of them.
 *
 * Owns: the form of a lesson, the default memory, similarity, the wording of the advice. Does not own: when lessons are
 * saved and recalled (reflect.ts).
 * Holds: K3, K10: what a memory recalls is recorded, so replay gives the same advice. A memory that fails is a fact
 * (`hook.failed`) and never a failure of the work. Advice in the system text holds names and numbers only. Texts of
 * users and judges are sent as a user's note, so they cannot become instructions.
 */
import { beginning, isName, isObject, messageOf, type Json } from '@reeve/core'
import { isLeaving, type Context, type SessionValues, type StepIO } from '@reeve/engine'
import { askHook } from './delegation/delegation-hooks.ts'

/** The lesson of one attempt. */
export interface Lesson {
  /** The request, cut to 300 characters. */
  readonly intent: string
  /** The workers that the leader delegated to. */
  readonly workers: readonly string[]
  readonly score: number
  /** The reason of the judge. */
  readonly reason?: string
}

/** A store of lessons. Both methods may be asynchronous; each call is a recorded step with one attempt. */
export interface LessonMemory {
  /** Lessons of similar requests, the most useful first. */
  recall(intent: string, io: StepIO): readonly Lesson[] | Promise<readonly Lesson[]>
  /** Saves a lesson. After a crash it may be called again with the same `io.key`. */
  save(lesson: Lesson, io: StepIO): unknown
}

/** The similarity of two requests, from 0 to 1. */
export type Similarity = (one: string, other: string) => number | Promise<number>

/** How lessons are kept and found. */
export interface LessonScope {
  readonly name: string
  readonly memory: LessonMemory | undefined
  readonly similarity: Similarity | undefined
}

/** How many lessons are kept, how many are recalled, and the least similarity. */
const lessonsKept = 100
const lessonsRecalled = 8
const similarFrom = 0.3

/** The request as a lesson keeps it. */
export const intentOf = (brief: string): string => (brief.length > 300 ? `${beginning(brief, 299)}…` : brief)

/** The share of common words in two requests, from 0 to 1. Deterministic. */
export function wordsInCommon(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)]
  if (a.size === 0 || b.size === 0) return 0
  return (2 * [...a].filter((reply) => b.has(reply)).length) / (a.size + b.size)
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])

/** Lessons of similar requests; empty if the memory fails. */
export async function recallLessons(
  ctx: Context,
  { name, memory, similarity }: LessonScope,
  intent: string,
): Promise<readonly Lesson[]> {
  if (memory !== undefined) {
    const { reply } = await askHook<readonly Lesson[]>(
      ctx,
      { hook: 'memory.recall' },
      (io) => memory.recall(intent, io),
      lessonsProblem,
    )
    return reply ?? []
  }
  const all = await orHookFailed(ctx, 'memory.recall', async () =>
    lessonsIn(await lastingValues(ctx, name).get(keyOf(ctx))),
  )
  if (all === undefined || all.length === 0) return []
  const likeness = await similaritiesOf(ctx, similarity, intent, all)
  const ranked = all
    .map((lesson, i) => ({ lesson, alike: likeness[i] ?? 0, i }))
    .filter(({ alike }) => alike >= similarFrom)
  ranked.sort((one, other) => other.alike - one.alike || other.i - one.i)
  return ranked.slice(0, lessonsRecalled).map(({ lesson }) => lesson)
}

async function similaritiesOf(
  ctx: Context,
  similarity: Similarity | undefined,
  intent: string,
  all: readonly Lesson[],
): Promise<readonly number[]> {
  if (similarity === undefined) return all.map((lesson) => wordsInCommon(intent, lesson.intent))
  const ask = (): Promise<number[]> => Promise.all(all.map(async (lesson) => similarity(intent, lesson.intent)))
  const { reply } = await askHook<readonly number[]>(ctx, { hook: 'similarity' }, ask, (given) =>
    Array.isArray(given) && given.every((each) => typeof each === 'number') ? undefined : 'it returned no number',
  )
  return reply ?? []
}

/** Saves a lesson. If the memory fails, the lesson is lost. */
export async function saveLesson(ctx: Context, { name, memory }: LessonScope, lesson: Lesson): Promise<void> {
  if (memory !== undefined) {
    await askHook(
      ctx,
      { hook: 'memory.save' },
      async (io) => {
        if (ctx.place.caller.trial !== true) await memory.save(lesson, io)
      },
      () => undefined,
    )
    return
  }
  const keep = (before: Json): Json => [...lessonsIn(before), lesson].slice(-lessonsKept) as unknown as Json
  await orHookFailed(ctx, 'memory.save', () => lastingValues(ctx, name).update(keyOf(ctx), keep))
}

/** A stream that outlives the run and the session. */
const lastingValues = (ctx: Context, name: string): SessionValues => ctx.stream(`mem_reflect.${name}`)
/** Each user has lessons of their own. */
const keyOf = (ctx: Context): string => {
  const { tenant, user = '' } = ctx.place.caller
  return tenant === undefined ? `lessons/${user}` : `lessons@${tenant}/${user}`
}

/** Runs work whose failure is only recorded in the journal. */
async function orHookFailed<T>(ctx: Context, hook: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    const what = {
      code: 'hook.failed',
      message: `${hook} failed: ${messageOf(thrown)}`,
      class: 'internal',
      retryable: false,
    } as const
    ctx.emit({ type: 'hook.failed', hook, failure: what })
    return undefined
  }
}

const isLesson = (given: unknown): given is Lesson & Json =>
  isObject(given) &&
  typeof given['intent'] === 'string' &&
  Array.isArray(given['workers']) &&
  given['workers'].every((worker) => typeof worker === 'string') &&
  typeof given['score'] === 'number' &&
  (given['reason'] === undefined || typeof given['reason'] === 'string')

const lessonsIn = (value: Json): readonly Lesson[] => (Array.isArray(value) ? value.filter(isLesson) : [])

function lessonsProblem(reply: Json): string | undefined {
  if (!Array.isArray(reply)) return 'it returned no list of lessons'
  const bad = reply.findIndex((each) => !isLesson(each))
  return bad === -1 ? undefined : `lesson ${bad} is not { intent, workers, score, reason? }`
}

/**
 * The advice on workers for the leader's system text; undefined if there is none. `team`: its present workers, if
 * known.
 */
export function adviceOf(
  lessons: readonly Lesson[],
  passAt: number,
  team: readonly string[] | undefined,
): string | undefined {
  const scores = new Map<string, number[]>()
  for (const { workers, score } of lessons)
    for (const worker of new Set(workers))
      if (isName(worker) && team?.includes(worker) !== false) scores.set(worker, [...(scores.get(worker) ?? []), score])
  if (scores.size === 0) return undefined
  const rows = [...scores].map(([worker, list]) => ({
    worker,
    times: list.length,
    mean: list.reduce((sum, each) => sum + each, 0) / list.length,
  }))
  rows.sort((one, other) => other.mean - one.mean || other.times - one.times || (one.worker < other.worker ? -1 : 1))
  const lines = rows.map(
    ({ worker, times, mean }) =>
      `- ${worker} did ${performance(mean, passAt)} (${rounded(mean)}, ${times === 1 ? 'once' : `${times} times`})`,
  )
  return `Scores of earlier answers to requests like this (${rounded(passAt)} is required):\n${lines.join('\n')}`
}

const performance = (mean: number, passAt: number): string =>
  mean >= passAt * 0.75 ? 'well' : mean <= passAt * 0.4 ? 'badly' : 'middling'
const rounded = (score: number): string => String(Math.round(score * 100) / 100)

/** The reasons of judges for low scores, as a user's note; undefined if there are none. */
export function criticismOf(lessons: readonly Lesson[], passAt: number): string | undefined {
  const said = lessons.flatMap(({ score, reason }) =>
    score < passAt && reason !== undefined && reason !== '' ? [reason] : [],
  )
  const lines = [...new Set(said)].slice(0, 3).map((reason) => `- ${reason}`)
  return lines.length === 0 ? undefined : `Feedback on earlier answers to requests like this:\n${lines.join('\n')}`
}
