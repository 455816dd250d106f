/** Routes of questions: what waits, over all runs, and its answers. The approver is the principal. */
import type { ActivationId, RunId } from '../../core/index.ts'
import { ReeveError } from '../../core/index.ts'
import type { Decision, Question, RunSummary } from '../../runtime/index.ts'
import { questionView } from '../question-view.ts'
import { answered, ownRun, route, type RequestContext, type Route } from '../route.ts'
import {
  anyOf,
  choice,
  flag,
  json,
  list,
  name,
  nothing,
  object,
  optional,
  text,
  view,
  whole,
  type WireSchema,
} from '../wire-schema.ts'
import type { AnswerBody, DecisionBody, Page, QuestionView, SettleBody } from '../wire.ts'

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

const settleBody: WireSchema<SettleBody> = anyOf<SettleBody>(
  object<Extract<SettleBody, { readonly happened: boolean }>>('DoubtBody', {
    happened: flag(),
    value: optional(json()),
  }),
  object<Extract<SettleBody, { readonly action: string }>>('DivergenceBody', {
    action: choice(['map', 'execute', 'drop']),
    to: optional(name()),
  }),
)

const decisionBody = object<DecisionBody>('DecisionBody', {
  decision: choice(['approve', 'reject', 'edit', 'retry']),
  input: optional(json({ description: 'Of edit: all the arguments.' })),
  comment: optional(text({ maxLength: 10_000 })),
  grant: optional(json({ description: 'The scope of an approval.' })),
  inputHash: optional(name({ description: 'The hash of the arguments that the approver was shown.' })),
})

/** The open questions that the caller may see, oldest first. */
async function openQuestions(
  context: RequestContext,
  filter: { readonly run?: string; readonly id?: string },
): Promise<readonly { readonly question: Question; readonly summary: RunSummary }[]> {
  const summaries = new Map<RunId, RunSummary | undefined>()
  const found: { question: Question; summary: RunSummary }[] = []
  for (const each of await context.runtime.questions(filter)) {
    if (!summaries.has(each.run)) summaries.set(each.run, await summaryOf(context, each.run))
    const summary = summaries.get(each.run)
    if (summary !== undefined) found.push({ question: each, summary })
  }
  return found
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
  const [found] = await openQuestions(context, { id })
  return found && questionView(found.question, found.summary, context)
}

export const questionRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/questions',
    role: 'viewer',
    summary: 'What waits for an answer: approvals, questions, effects in doubt, diverged addresses.',
    query: object<QuestionsQuery>('QuestionsQuery', {
      run: optional(name()),
      kind: optional(list(choice(kinds))),
      limit: optional(whole({ minimum: 1, maximum: 1_000 })),
      after: optional(name()),
    }),
    answer: object<Page<QuestionView>>('QuestionPage', { items: list(question), next: optional(name()) }),
    async handle(context, { query: { run, kind, limit = 100, after } }) {
      const open = await openQuestions(context, run === undefined ? {} : { run })
      const wanted = open.filter(({ question: each }) => kind === undefined || kind.includes(each.kind))
      const from = after === undefined ? 0 : wanted.findIndex(({ question: each }) => each.id === after) + 1
      const items = wanted.slice(from, from + limit).map((each) => questionView(each.question, each.summary, context))
      return { items, ...(wanted.length > from + limit ? { next: items.at(-1)!.id } : undefined) }
    },
  }),
  route({
    method: 'GET',
    path: '/questions/{id}',
    role: 'viewer',
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
  route({
    method: 'POST',
    path: '/approvals/{id}/decision',
    role: 'approver',
    summary: 'Decide an approval; the first decision wins.',
    body: decisionBody,
    answer: nothing,
    statuses: [204],
    async handle(context, { path, body: { inputHash, ...said } }) {
      const open = await openQuestion(context, path.id)
      const shown = open?.approval?.inputHash
      if (inputHash !== undefined && shown !== undefined && inputHash !== shown)
        throw new ReeveError('approval.invalid', `approval "${path.id}": other arguments would run than were shown`, {
          hint: 'Nothing was decided. Look at the approval again.',
        })
      const decision = { ...said, approvalId: path.id, approver: context.principal.name } as unknown as Decision
      await context.runtime.decide(decision)
      return answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/interrupts/{id}/answer',
    role: 'approver',
    summary: 'Answer a question; the first answer wins.',
    body: object<AnswerBody>('AnswerBody', { value: json() }),
    answer: nothing,
    statuses: [204],
    async handle({ runtime, principal }, { path, body }) {
      await runtime.answer({ interruptId: path.id, value: body.value, by: principal.name })
      return answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/questions/{id}/settle',
    role: 'operator',
    summary: 'Say what became of an effect in doubt, or how a diverged run goes on.',
    body: settleBody,
    answer: nothing,
    statuses: [204],
    async handle({ runtime, principal }, { path: { id }, body }) {
      const by = principal.name
      if ('happened' in body) await runtime.settleDoubt({ ...body, id, by })
      else await runtime.settleDivergence({ ...body, id, by })
      return answered(204)
    },
  }),
]
