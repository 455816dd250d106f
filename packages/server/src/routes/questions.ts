/** Routes of questions: what waits, over all runs, and the verbs that answer it. */
import type { ActivationId, RunId } from '@reeve/core'
import { present, ReeveError } from '@reeve/core'
import type { Question, RunSummary } from '@reeve/runtime'
import { questionView } from '../question-view.ts'
import { ownRun, route, type RequestContext, type Route } from '../route.ts'
import { questionVerbs } from '../verbs/questions.ts'
import { anyOf, choice, list, name, object, optional, text, view, whole } from '../wire-schema.ts'
import type { Page, QuestionView } from '../wire.ts'
import { verbRoutes } from './verb-routes.ts'

const kinds: readonly Question['kind'][] = ['approval', 'interrupt', 'in-doubt', 'diverged']

interface QuestionsQuery {
  readonly run?: string
  readonly kind?: readonly Question['kind'][]
  readonly limit?: number
  readonly after?: string
}

const question = view<QuestionView>('QuestionView', {
  id: name(),
  kind: choice(kinds),
  run: name<RunId>(),
  activation: name<ActivationId>(),
  path: list(name()),
  askedAt: whole(),
  until: optional(whole()),
  agent: name(),
  mayAnswer: anyOf<true | string>({ schema: { const: true } }, text()),
  same: name(),
})

type OpenFilter = NonNullable<Parameters<RequestContext['runtime']['questions']>[0]>
type Place = NonNullable<OpenFilter['after']>

/** The place of a question in the list, as a text: it names one also when that question is not open any more. */
const cursorOf = ({ askedAt, id }: Place): string => `${askedAt}:${id}`

/** The place that a cursor names. Throws `input.invalid`. */
function placeOf(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, askedAt, id] = /^(\d{1,15}):(.+)$/u.exec(cursor) ?? []
  if (id !== undefined) return { askedAt: Number(askedAt), id }
  throw new ReeveError('input.invalid', `the query: after ${JSON.stringify(cursor)} is not a cursor`, {
    hint: 'Give back `next` of the page before.',
  })
}

/** An open question, and the summary of its run. */
interface OpenQuestion {
  readonly question: Question
  readonly summary: RunSummary
}

/** Those of them whose runs the caller may see. */
async function withSummaries(
  context: RequestContext,
  questions: readonly Question[],
): Promise<readonly OpenQuestion[]> {
  const summaries = new Map<RunId, RunSummary | undefined>()
  const found: OpenQuestion[] = []
  for (const each of questions) {
    if (!summaries.has(each.run)) summaries.set(each.run, await summaryOf(context, each.run))
    const summary = summaries.get(each.run)
    if (summary !== undefined) found.push({ question: each, summary })
  }
  return found
}

/** Up to `limit` of them after a place, of these kinds. Reads on until there are enough, or no more. */
async function pageOfQuestions(
  context: RequestContext,
  {
    kind: kinds,
    run,
    limit,
    place,
  }: Pick<QuestionsQuery, 'kind' | 'run'> & { limit: number; place: Place | undefined },
): Promise<readonly OpenQuestion[]> {
  const of: OpenFilter = present({ run, kind: kinds?.length === 1 ? kinds[0] : undefined })
  const found: OpenQuestion[] = []
  for (let after = place; ;) {
    const page = await context.runtime.questions({ ...of, limit, ...present({ after }) })
    const wanted = page.filter(({ kind }) => kinds === undefined || kinds.includes(kind))
    found.push(...(await withSummaries(context, wanted)))
    if (found.length >= limit || page.length < limit) return found.slice(0, limit)
    after = page.at(-1)!
  }
}
/** Undefined: it was removed since, or is not the caller's. */
async function summaryOf(context: RequestContext, id: RunId): Promise<RunSummary | undefined> {
  try {
    return await (await ownRun(context, id)).summary()
  } catch (thrown) {
    if (ReeveError.is(thrown, 'run.unknown')) return undefined
    throw thrown
  }
}

/** The open question of this id; undefined if there is none that the caller may see. */
async function openQuestion(context: RequestContext, id: string): Promise<QuestionView | undefined> {
  const [found] = await withSummaries(context, await context.runtime.questions({ id }))
  return found && questionView(found.question, found.summary, context)
}

export const questionRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/questions',
    summary: 'What waits for an answer: approvals, questions, effects in doubt, diverged addresses.',
    query: object<QuestionsQuery>('QuestionsQuery', {
      run: optional(name()),
      kind: optional(list(choice(kinds))),
      limit: optional(whole({ minimum: 1, maximum: 1_000 })),
      after: optional(name({ description: '`next` of the page before.' })),
    }),
    answer: object<Page<QuestionView>>('QuestionPage', { items: list(question), next: optional(name()) }),
    async handle(context, { query: { run, kind, limit = 100, after } }) {
      // one more than is asked for says whether there is another page
      const open = await pageOfQuestions(context, {
        ...present({ run, kind }),
        limit: limit + 1,
        place: placeOf(after),
      })
      const shown = open.slice(0, limit)
      const items = shown.map((each) => questionView(each.question, each.summary, context))
      return { items, ...(open.length > limit ? { next: cursorOf(shown.at(-1)!.question) } : undefined) }
    },
  }),
  route({
    method: 'GET',
    path: '/questions/{id}',
    summary: 'One open question.',
    answer: question,
    async handle(context, { path }) {
      const found = await openQuestion(context, path.id)
      if (found === undefined)
        throw new ReeveError('interrupt.unknown', `there is no open question ${JSON.stringify(path.id)}`, {
          hint: 'GET /api/questions lists what is open.',
        })
      return found
    },
  }),
  ...verbRoutes(questionVerbs),
]
