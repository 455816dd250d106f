/**
 * Searching a PostgreSQL store for runs and questions: one statement, made for the options that a filter has.
 *
 * Owns: these statements, and the status of a run as it is derived here. Does not own: which states the runs of a status
 * can have (../run-search.ts), asking the server (reader.ts).
 */
import type { QuestionFilter, RunFilter } from '@reeve/engine'
import { batchAgent, fewRuns, possibleStates, statusSearch, tagsOf, tenantKey, termsOf } from '@reeve/engine/storage'
import { isChildOf, runColumns } from './claim.ts'
import { isListedRun } from './schema.ts'

/** A statement that is asked once, with the values of its parameters. */
export interface Statement {
  readonly text: string
  readonly values: unknown[]
}

/** Makes a statement: each value becomes a parameter. */
class Draft {
  readonly values: unknown[] = []

  readonly param = (value: unknown): string => `$${this.values.push(value)}`
}

/**
 * The moment as a column of whole milliseconds can be compared with it: `x >= 1.5` and `x >= 2` are the same there, and
 * beyond the safe numbers is nothing.
 */
const wholeMoment = (moment: number): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(moment)))

/** Whether a text can be an id here: PostgreSQL refuses texts with U+0000. */
export const canBeId = (text: string | undefined): boolean => text?.includes('\0') !== true

const isListed = isListedRun('r.id')
const newest = 'ORDER BY r.created DESC, r.id DESC'

/**
 * Whether a row of the run or of its child runs fits, found from the index of their ids: of `EXISTS` over a range the server
 * expects hundreds, and reads the whole table for the first of them where there is none.
 */
const first = (from: string, run: string, where: string): string =>
  `(SELECT ${run} FROM ${from} WHERE ${where} ORDER BY ${run} LIMIT 1) IS NOT NULL`

/** The status of the run `r`. */
function shownStatus(s: string): string {
  const asks = (which: string): string => first(`${s}.question q`, 'q.run', `${which} AND q.kind <> 'timer'`)
  const childWorks = first(`${s}.run u`, 'u.id', `${isChildOf('u.id', 'r.id')} AND u.ended IS NULL AND u.parked = 0`)
  return `CASE WHEN r.state = 'work' THEN 'running' WHEN r.state NOT IN ('asks', 'rests') THEN r.state
  WHEN NOT (${asks('q.run = r.id')} OR ${asks(isChildOf('q.run', 'r.id'))}) OR ${childWorks} THEN 'running'
  WHEN EXISTS (SELECT 1 FROM ${s}.inbox i WHERE i.run = r.id AND NOT i.taken AND i.act = 'act_' || r.id AND starts_with(i.key, '!pause')) THEN 'pausing'
  ELSE 'waiting' END`
}

/** An answer is in the inbox: answers compete for one row. */
const isAnswered = (s: string): string => `EXISTS (SELECT 1 FROM ${s}.inbox i WHERE i.act = q.act AND i.key = q.key)`

/** Summaries of runs, with what they wait for. `of`: where the runs come from, as `r` or with a join of it. */
const summaries = (
  s: string,
  of: string,
): string => `SELECT ${runColumns('r')}, r.usage, r.why, ${shownStatus(s)} AS shown, d.input, d.output,
  COALESCE(w.questions, 0) AS questions, w.asked[1] AS asked, w.kinds[1] AS kind, w.moments[1] AS "askedAt", w.untils[1] AS until
  FROM ${of} LEFT JOIN ${s}.indexed d ON d.run = r.id LEFT JOIN LATERAL (SELECT count(*) AS questions, array_agg(q.id ORDER BY q.at, q.num) AS asked, array_agg(q.kind ORDER BY q.at, q.num) AS kinds,
      array_agg(q.at ORDER BY q.at, q.num) AS moments, array_agg(q.until ORDER BY q.at, q.num) AS untils
    FROM ${s}.question q WHERE (q.run = r.id OR ${isChildOf('q.run', 'r.id')}) AND q.kind <> 'timer' AND NOT ${isAnswered(s)}) w ON r.ended IS NULL`

export const summaryStatement = (s: string, run: string): Statement => ({
  text: `${summaries(s, `${s}.run r`)} WHERE r.id = $1`,
  values: [run],
})

export const childRunsStatement = (s: string, run: string): Statement => ({
  text: `${summaries(s, `${s}.run r`)} WHERE ${isChildOf('r.id', '$1::text')} ${newest}`,
  values: [run],
})

/** What must hold of the row `d` of the index. */
function conditionsOfIndex({ text, code, cause }: RunFilter): readonly ((draft: Draft) => string)[] {
  return [
    ...(text === undefined ? [] : [({ param }: Draft) => `d.words @@ ${param(textQuery(text))}::tsquery`]),
    ...(code === undefined ? [] : [({ param }: Draft) => `d.code = ${param(code)}`]),
    ...(cause === undefined ? [] : [({ param }: Draft) => `d.cause = ${param(cause)}`]),
  ]
}

/** Words as the server asks for them: there is nothing in them but letters, digits and marks. Empty: it finds nothing. */
const textQuery = (text: string): string =>
  termsOf(text)
    .map(({ words, isPrefix }) => `${words.map((word) => `'${word}'`).join(' <-> ')}${isPrefix ? ':*' : ''}`)
    .join(' & ')

/** Where ids of runs are found by one option: of a statement that has what its values are. */
function sources(s: string, filter: RunFilter): readonly ((draft: Draft) => string)[] {
  const { agent, usdFrom } = filter
  const indexed = conditionsOfIndex(filter)
  return [
    ...indexed.map((condition) => (draft: Draft) => `SELECT d.run FROM ${s}.indexed d WHERE ${condition(draft)}`),
    ...tagsOf(filter).map(
      ({ name, value }) =>
        ({ param }: Draft) =>
          `SELECT t.run FROM ${s}.tag t WHERE t.name = ${param(name)} AND t.value = ${param(value)}`,
    ),
    ...(agent === undefined
      ? []
      : [({ param }: Draft) => `SELECT r.id FROM ${s}.run r WHERE r.agent = ${param(agent)} AND ${isListed}`]),
    ...(usdFrom === undefined
      ? []
      : [({ param }: Draft) => `SELECT r.id FROM ${s}.run r WHERE r.usd IS NOT NULL AND r.usd >= ${param(usdFrom)}`]),
  ]
}

/**
 * How many runs each option leaves that has an index of its own, counted up to a bound; undefined without such options.
 */
export function countStatement(s: string, filter: RunFilter): Statement | undefined {
  if (filter.text !== undefined && textQuery(filter.text) === '') return undefined
  const draft = new Draft()
  const counts = sources(s, filter).map((ids) => `(SELECT count(*) FROM (${ids(draft)} LIMIT ${fewRuns + 1}) x)`)
  return counts.length === 0
    ? undefined
    : { text: `SELECT ARRAY[${counts.join(', ')}]::int[] AS counts`, values: draft.values }
}

/** `counts`: as `countStatement` has them. Undefined: there is no such run. */
export function searchStatement(
  s: string,
  filter: RunFilter,
  limit: number,
  counts: readonly number[],
): Statement | undefined {
  const draft = new Draft()
  const found = foundRuns(s, draft, filter, limit, counts)
  if (found === undefined) return undefined
  return { text: `${summaries(s, `${found} p JOIN ${s}.run r ON r.id = p.id`)} ${newest}`, values: draft.values }
}

/** The rows of figures, as `searchStatement` has summaries. `limit`: absent, all. */
export function figuresStatement(
  s: string,
  filter: RunFilter,
  limit: number | undefined,
  counts: readonly number[],
): Statement | undefined {
  const draft = new Draft()
  const found = foundRuns(s, draft, filter, limit, counts)
  if (found === undefined) return undefined
  return {
    text: `SELECT r.id AS run, r.agent, r.version, r.caller, r.created AS "createdAt", r.ended AS "endedAt", r.status, r.usage,
        d.wait AS "waitMs", d.failure, d.shares
        FROM ${found} p JOIN ${s}.run r ON r.id = p.id LEFT JOIN ${s}.indexed d ON d.run = r.id ${newest}`,
    values: draft.values,
  }
}

/** The moments and ids of the newest runs of a filter, as a table. */
function foundRuns(
  s: string,
  draft: Draft,
  filter: RunFilter,
  limit: number | undefined,
  counts: readonly number[],
): string | undefined {
  if (counts.includes(0) || filter.status?.length === 0) return undefined
  if (filter.text !== undefined && textQuery(filter.text) === '') return undefined
  const most = limit ?? 'ALL'
  const least = Math.min(...counts)
  const legs =
    least <= fewRuns
      ? [
          leg(s, draft, filter, [
            `r.id IN (${sources(s, filter)[counts.indexOf(least)]!(draft)})`,
            ...(filter.status === undefined
              ? []
              : [`r.state = ANY(${draft.param(possibleStates(filter.status))}::text[])`]),
          ]),
        ]
      : orderedLegs(s, draft, filter)
  const found = legs.map((each) => `(${each} LIMIT ${most})`).join(' UNION ')
  return `(SELECT p.id FROM (${found}) p ORDER BY p.created DESC, p.id DESC LIMIT ${most})`
}

/**
 * Runs that fit the whole filter, newest first. Their status is asked for one by one, in that order, until there are
 * enough: OFFSET 0 keeps the server from asking for all of them and sorting then.
 */
function leg(s: string, draft: Draft, filter: RunFilter, more: readonly string[]): string {
  const { status } = filter
  const runs = `SELECT r.* FROM ${s}.run r WHERE ${[...more, ...conditions(s, draft, filter)].join(' AND ')} ${newest}`
  return status === undefined
    ? runs.replace('r.*', 'r.created, r.id')
    : `SELECT r.created, r.id FROM (${runs} OFFSET 0) r WHERE ${shownStatus(s)} = ANY(${draft.param(status)}::text[])`
}

function conditions(s: string, draft: Draft, filter: RunFilter): readonly string[] {
  const { param } = draft
  const { agent, version, tenant, since, before, usdFrom, after } = filter
  const tags = tagsOf(filter).filter(({ name }) => name !== 'tenant')
  return [
    isListed,
    agent === undefined ? `r.agent <> '${batchAgent}'` : `r.agent = ${param(agent)}`,
    ...(version === undefined ? [] : [`r.version = ${param(version)}`]),
    ...(tenant === undefined ? [] : [`r.tenant = ${param(tenantKey(tenant))}`]),
    ...(since === undefined ? [] : [`r.created >= ${param(wholeMoment(since))}`]),
    ...(before === undefined ? [] : [`r.created < ${param(wholeMoment(before))}`]),
    ...(after === undefined
      ? []
      : [`(r.created, r.id) < (${param(wholeMoment(after.createdAt))}::bigint, ${param(after.run)}::text)`]),
    ...(usdFrom === undefined ? [] : [`r.usd >= ${param(usdFrom)}`]),
    ...conditionsOfIndex(filter).map(
      (condition) => `EXISTS (SELECT 1 FROM ${s}.indexed d WHERE d.run = r.id AND ${condition(draft)})`,
    ),
    ...tags.map(
      ({ name, value }) =>
        `EXISTS (SELECT 1 FROM ${s}.tag t WHERE t.name = ${param(name)} AND t.value = ${param(value)} AND t.created = r.created AND t.run = r.id)`,
    ),
  ]
}

/** Many runs: from the index that has them in order. */
function orderedLegs(s: string, draft: Draft, filter: RunFilter): readonly string[] {
  const { status } = filter
  const { param } = draft
  if (status === undefined) {
    const [tag] = filter.agent === undefined ? tagsOf(filter) : []
    return [tag === undefined ? leg(s, draft, filter, []) : tagLeg(s, draft, tag, filter)]
  }
  const { states, apart, pausing } = statusSearch(status)
  // an array, read once: of a join the server expects a third of all runs, and goes through them all
  const childRuns = `SELECT DISTINCT left(u.id, strpos(u.id, '>') - 1) FROM ${s}.run u WHERE strpos(u.id, '>') > 0 AND u.ended IS NULL`
  return [
    ...states.map((state) => leg(s, draft, filter, [`r.state = ${param(state)}`])),
    ...(apart.length === 0
      ? []
      : [leg(s, draft, filter, [`r.id = ANY(ARRAY(${childRuns} AND u.state = ANY(${param(apart)}::text[])))`])]),
    ...(pausing
      ? [
          leg(s, draft, filter, [
            `r.id = ANY(ARRAY(SELECT DISTINCT i.run FROM ${s}.inbox i WHERE NOT i.taken AND starts_with(i.key, '!pause')))`,
          ]),
        ]
      : []),
  ]
}

/** Runs with a tag that many have, in its order. */
function tagLeg(
  s: string,
  draft: Draft,
  { name, value }: { readonly name: string; readonly value: string },
  filter: RunFilter,
): string {
  const { param } = draft
  const { since, before, after } = filter
  const own = [
    `t.name = ${param(name)} AND t.value = ${param(value)}`,
    ...(since === undefined ? [] : [`t.created >= ${param(wholeMoment(since))}`]),
    ...(before === undefined ? [] : [`t.created < ${param(wholeMoment(before))}`]),
    ...(after === undefined
      ? []
      : [`(t.created, t.run) < (${param(wholeMoment(after.createdAt))}::bigint, ${param(after.run)}::text)`]),
  ]
  return `SELECT t.created, t.run AS id FROM (SELECT t.created, t.run FROM ${s}.tag t WHERE ${own.join(' AND ')} ORDER BY t.created DESC, t.run DESC) t
    CROSS JOIN LATERAL (SELECT 1 FROM ${s}.run r WHERE r.id = t.run AND ${conditions(s, draft, filter).join(' AND ')} LIMIT 1) r
    ORDER BY t.created DESC, t.run DESC`
}

/** Questions of a filter, oldest first; with `run`, also some of runs whose ids begin as its. */
export function questionStatement(s: string, filter: QuestionFilter): Statement {
  const { run, id, kind, tenant, unanswered, limit, after } = filter
  const draft = new Draft()
  const { param } = draft
  const of = run === undefined ? undefined : param(run)
  const where = [
    "q.kind <> 'timer'",
    ...(id === undefined ? [] : [`q.id = ${param(id)}`]),
    ...(of === undefined ? [] : [`(q.run = ${of} OR ${isChildOf('q.run', `${of}::text`)})`]),
    ...(kind === undefined ? [] : [`q.kind = ${param(kind)}`]),
    ...(tenant === undefined ? [] : [`q.tenant = ${param(tenantKey(tenant))}`]),
    ...(unanswered === true ? [`NOT ${isAnswered(s)}`] : []),
    ...(after === undefined
      ? []
      : [
          `(q.at, q.num) > (${param(wholeMoment(after.askedAt))}::bigint, COALESCE((SELECT p.num FROM ${s}.question p WHERE p.id = ${param(after.id)}), -1))`,
        ]),
  ]
  const bound = limit === undefined ? '' : ` LIMIT ${param(limit)}`
  return {
    text: `SELECT q.id, q.act, q.address, q.kind, q.until, q.at, q.body, ${isAnswered(s)} AS answered FROM ${s}.question q WHERE ${where.join(' AND ')} ORDER BY q.at, q.num${bound}`,
    values: draft.values,
  }
}
