/**
 * Posts and values of a batch: who is given a row, who is first, and what a stream becomes. Decided by the server, in
 * the transaction, in the order of the batch.
 *
 * Owns: these statements and what their answers mean. Does not own: locking (the rows of the runs concerned are held
 * before, commit.ts).
 * Holds: K2 (unique keys name the winner of a post); what was answered stays with the receipt, in case the answer to
 * COMMIT is lost.
 */
import { runOf } from '@reeve/core'
import { askKey, type PostResult } from '@reeve/engine'
import { deadlineBody, type NewRow, type RowTarget, type ValueResult, type ValueWrite } from '@reeve/engine/storage'
import type { NamedStatement, Params, Pipeline } from './connection.ts'
import { encodedKey } from './value-keys.ts'

/**
 * What the server says of one row: its place in the batch, then two or three words about it. Kept with the receipt as
 * it is.
 */
type RowAnswer = readonly (number | boolean | null)[]

/** Every answer of a batch, by what it is about. */
export interface BatchAnswers {
  readonly posts: PostResult[]
  readonly values: ValueResult[]
}

export interface PostStatements {
  readonly run: NamedStatement
  readonly activation: NamedStatement
  readonly question: NamedStatement
  readonly value: NamedStatement
  readonly streams: NamedStatement
}

/** "Reev": the class of the advisory locks that hold streams. */
const streamClass = 0x52656576

export function postStatements(s: string): PostStatements {
  const isThere = (act: string): string => `EXISTS (SELECT 1 FROM ${s}.entry e WHERE e.act = ${act} AND e.seq = 0)`
  const isOver = (act: string): string => `EXISTS (SELECT 1 FROM ${s}.entry e WHERE e.act = ${act} AND e.flags > 1)`
  const put = `INSERT INTO ${s}.inbox(run, act, key, body)`
  const kept = (answer: string): string => `kept AS (
    UPDATE ${s}.receipt SET answers = COALESCE(answers, '[]'::jsonb) || (SELECT jsonb_agg(${answer} ORDER BY i) FROM said) WHERE process = $1 AND EXISTS (SELECT 1 FROM said))`
  // The gate of the commit has locked them (commit.ts). One that has begun since then is locked here: no row gets its
  // number before.
  const held = `held AS MATERIALIZED (SELECT id, ended FROM ${s}.run WHERE id = ANY($3::text[]) ORDER BY id FOR NO KEY UPDATE)`
  return {
    run: [
      'reeve_post_run',
      `WITH v AS (SELECT * FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[]) v(i, run, act, key, body)),
      ${held},
      state AS (SELECT v.*, r.id IS NOT NULL AS known, r.ended IS NOT NULL OR ${isOver('v.act')} AS over FROM v LEFT JOIN held r ON r.id = v.run),
      put AS (${put} SELECT run, act, key, body FROM state WHERE known AND NOT over ORDER BY i ON CONFLICT (act, key) DO NOTHING RETURNING act, key),
      said AS (SELECT s.i, s.known, s.over, p.key IS NOT NULL AND s.i = (SELECT min(o.i) FROM v o WHERE o.act = s.act AND o.key = s.key) AS first
        FROM state s LEFT JOIN put p ON p.act = s.act AND p.key = s.key),
      ${kept('jsonb_build_array(i, known, over, first)')}
      SELECT i, known, over, first FROM said`,
    ],
    activation: [
      'reeve_post_activation',
      `WITH v AS (SELECT * FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
        v(i, run, act, key, body, sender_run, sender, no_one, too_late)),
      ${held},
      state AS (SELECT v.*, r.id IS NOT NULL AND ${isThere('v.act')} AS known, ${isOver('v.act')} AS over,
        sender IS NOT NULL AND NOT ${isOver('v.sender')} AS hears FROM v LEFT JOIN held r ON r.id = v.run),
      mail AS (SELECT i, run, act, key, body FROM state WHERE known AND NOT over
        UNION ALL SELECT i, sender_run, sender, 'refused:' || key, CASE WHEN known THEN too_late ELSE no_one END FROM state WHERE (over OR NOT known) AND hears),
      put AS (${put} SELECT run, act, key, body FROM mail ORDER BY i ON CONFLICT (act, key) DO NOTHING),
      said AS (SELECT i, known, over FROM state),
      ${kept('jsonb_build_array(i, known, over)')}
      SELECT i, known, over FROM said`,
    ],
    // Of several questions at one address the first counts that is of one of the kinds. In any case it rings no more: a
    // deadline that stayed behind would ring for ever.
    question: [
      'reeve_post_question',
      `WITH v AS (SELECT * FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
          CASE WHEN $10 THEN array_fill((extract(epoch FROM clock_timestamp()) * 1000)::bigint, ARRAY[cardinality($2::int[])]) ELSE $9::bigint[] END)
        v(i, run, act, address, kinds, body, late_body, at)),
      state AS (SELECT v.*, q.id, q.key, COALESCE(q.until < v.at, false) AS late FROM v
        LEFT JOIN LATERAL (SELECT q.id, q.key, q.until FROM ${s}.question q WHERE q.act = v.act AND q.address = v.address
          AND (v.kinds IS NULL OR q.kind = ANY(string_to_array(v.kinds, ','))) ORDER BY q.num LIMIT 1) q ON true),
      put AS (${put} SELECT run, act, key, CASE WHEN late THEN late_body ELSE body END FROM state WHERE id IS NOT NULL ORDER BY i
        ON CONFLICT (act, key) DO NOTHING RETURNING act, key),
      silenced AS (UPDATE ${s}.question q SET until = NULL FROM (SELECT DISTINCT id FROM state) x WHERE q.id = x.id AND q.until IS NOT NULL),
      said AS (SELECT s.i, s.id IS NOT NULL AS known, s.late AND s.kinds IS NOT NULL AS late,
        CASE WHEN s.id IS NULL THEN EXISTS (SELECT 1 FROM ${s}.inbox n WHERE n.act = s.act AND n.key = '${askKey}' || s.address)
          ELSE p.key IS NOT NULL AND s.i = (SELECT min(o.i) FROM state o WHERE o.act = s.act AND o.key = s.key) END AS first,
        s.id IS NOT NULL OR ${isThere('s.act')} AS there
        FROM state s LEFT JOIN put p ON p.act = s.act AND p.key = s.key),
      ${kept('jsonb_build_array(i, known, late, first, there)')}
      SELECT i, known, late, first, there FROM said`,
    ],
    // Writers of one stream come one after the other.
    streams: [
      'reeve_streams',
      `SELECT pg_advisory_xact_lock(${streamClass}, hash) FROM (SELECT DISTINCT hashtext('${s}' || stream) AS hash FROM unnest($1::text[]) stream ORDER BY hash) x`,
    ],
    value: [
      'reeve_value',
      `WITH done AS (SELECT seq FROM ${s}.done WHERE run = $2 AND stream = $3 AND once = $4),
      go AS (SELECT (SELECT COALESCE(max(seq), -1) + 1 FROM ${s}.value_log WHERE stream = $3) AS seq
        WHERE NOT EXISTS (SELECT 1 FROM done) AND COALESCE((SELECT version FROM ${s}.value WHERE stream = $3 AND key = $5), 0) = $6::int),
      value AS (INSERT INTO ${s}.value(stream, key, version, body) SELECT $3, $5, $6::int + 1, $7 FROM go
        ON CONFLICT (stream, key) DO UPDATE SET version = excluded.version, body = excluded.body),
      log AS (INSERT INTO ${s}.value_log(stream, seq, at, body) SELECT $3, go.seq, $8::bigint, $9 FROM go),
      once AS (INSERT INTO ${s}.done(run, stream, once, seq) SELECT $2, $3, $4, go.seq FROM go WHERE $2 IS NOT NULL),
      said AS (SELECT $10::int AS i, EXISTS (SELECT 1 FROM go) AS written, (SELECT seq FROM done) AS seq),
      ${kept(`jsonb_build_array('value', i, written, seq)`)}
      SELECT i, written, seq FROM said`,
    ],
  }
}

function postResult(target: RowTarget, [, known, second, first, there]: RowAnswer): PostResult {
  switch (target) {
    case 'run':
      return known !== true ? 'unknown' : second === true ? 'closed' : first === true ? 'accepted' : 'lost'
    case 'activation':
      return known !== true ? 'unknown' : second === true ? 'closed' : 'accepted'
    case 'question':
      if (known === true) return first === true && second !== true ? 'accepted' : 'lost'
      return first === true ? 'lost' : there === true ? 'closed' : 'unknown'
  }
}

/** What is kept with a receipt. */
export type ReceiptBody = readonly (readonly (number | boolean | string | null)[])[]

/** Reads it into the results of a batch. */
export function readAnswers(batch: { readonly rows: readonly NewRow[] }, into: BatchAnswers, kept: ReceiptBody): void {
  for (const answer of kept) {
    if (answer[0] === 'value') noteValue(into, answer.slice(1) as unknown as RowAnswer)
    else notePost(batch, into, answer as RowAnswer)
  }
}

function notePost(batch: { readonly rows: readonly NewRow[] }, into: BatchAnswers, answer: RowAnswer): void {
  const i = answer[0] as number
  into.posts[i] = postResult(batch.rows[i]!.target, answer)
}

function noteValue(into: BatchAnswers, [i, written, seq]: RowAnswer): void {
  into.values[i as number] =
    written === true
      ? { status: 'written' }
      : typeof seq === 'number'
        ? { status: 'repeated', seq }
        : { status: 'moved' }
}

/**
 * Sends the rows of a batch whose places are given. Rows of one kind that follow each other go together: the order of
 * the batch is the order in which they are read.
 */
export function sendPosts(
  pipeline: Pipeline,
  statements: PostStatements,
  batch: { readonly rows: readonly NewRow[] },
  places: readonly number[],
  into: BatchAnswers,
  by: { readonly process: string; readonly serverTime: boolean },
): void {
  for (let from = 0; from < places.length;) {
    const { target } = batch.rows[places[from]!]!
    let to = from + 1
    while (to < places.length && batch.rows[places[to]!]!.target === target) to++
    const some = places.slice(from, to)
    const rows = some.map((i) => batch.rows[i]!)
    const head = [
      by.process,
      some,
      rows.map(({ act }) => runOf(act)),
      rows.map(({ act }) => act),
      rows.map(({ key }) => key),
    ] as const
    const params: Params =
      target === 'run'
        ? [...head, rows.map(({ body }) => body)]
        : target === 'activation'
          ? [
              ...head,
              rows.map(({ body }) => body),
              rows.map(({ refusalTo }) => (refusalTo === undefined ? null : runOf(refusalTo))),
              rows.map(({ refusalTo }) => refusalTo ?? null),
              rows.map(({ key }) => refusal(key, 'unknown')),
              rows.map(({ key }) => refusal(key, 'closed')),
            ]
          : [
              ...head,
              rows.map(({ kinds }) => kinds?.join(',') ?? null),
              rows.map(({ body }) => body),
              rows.map(({ key }) => deadlineBody(key)),
              rows.map(({ at }) => at),
              by.serverTime,
            ]
    pipeline.send(
      statements[target],
      params,
      (said: { i: number; known: boolean; over?: boolean; late?: boolean; first?: boolean; there?: boolean }[]) => {
        for (const { i, known, over, late, first, there } of said)
          notePost(batch, into, [i, known, over ?? late ?? null, first ?? null, there ?? null])
      },
    )
    from = to
  }
}

/** The refusal is in the sender's inbox in the same transaction: a crash does not lose it. */
const refusal = (id: string, reason: 'unknown' | 'closed'): string => JSON.stringify({ type: 'refused', id, reason })

/**
 * Sends the writes of a batch whose places are given, one after the other: each sees what the one before has written.
 */
export function sendValues(
  pipeline: Pipeline,
  statements: PostStatements,
  writes: readonly ValueWrite[],
  places: readonly number[],
  into: BatchAnswers,
  process: string,
): void {
  if (places.length === 0) return
  pipeline.send(statements.streams, [[...new Set(places.map((i) => writes[i]!.stream))]])
  for (const i of places) {
    const { by, stream, key, expected, body, at, event } = writes[i]!
    const once = by === undefined ? null : encodedKey(by.once)
    pipeline.send(
      statements.value,
      [process, by?.run ?? null, stream, once, encodedKey(key), expected, body, at, event, i],
      (said: { i: number; written: boolean; seq: number | null }[]) => {
        for (const { i: place, written, seq } of said) noteValue(into, [place, written, seq])
      },
    )
  }
}
