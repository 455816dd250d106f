/**
 * Values of sessions: small shared state on a stream that may outlive its runs (K1). Writes are compare-and-set, and happen once.
 */
import type { Json } from '../../core/index.ts'
import { append } from './entries.ts'
import type { EventStore } from './port.ts'
import { ask, rowOf, statement, write, type Work } from './sql.ts'

type ValueWrite = Parameters<EventStore['writeValue']>[0]
type Written = Awaited<ReturnType<EventStore['writeValue']>>

/** PostgreSQL has no texts with U+0000: it stands as two other characters, and so does the first of these. Different keys stay different. */
const storable = (key: string): string => key.replace(/[\0\u{10FFFF}]/gu, (char) => (char === '\0' ? '\u{10FFFF}0' : '\u{10FFFF}1'))

const stored = (key: string): string => key.replace(/\u{10FFFF}([01])/gu, (_, which) => (which === '0' ? '\0' : '\u{10FFFF}'))

export function* value(stream: string, key: string): Work<{ readonly version: number; readonly value: Json }> {
  const row = yield* rowOf<{ version: number; body: string }>(
    'SELECT version, body FROM value WHERE stream = $1 AND key = $2',
    stream,
    storable(key),
  )
  return row === undefined ? { version: 0, value: null } : { version: row.version, value: JSON.parse(row.body) as Json }
}

export function* valueKeys(stream: string): Work<readonly string[]> {
  const [rows] = yield* ask(statement('SELECT key FROM value WHERE stream = $1', stream))
  return ((rows ?? []) as readonly { readonly key: string }[]).map(({ key }) => stored(key))
}

export function* writeValue(w: ValueWrite): Work<Written> {
  const { by } = w
  const key = storable(w.key)
  const once = by === undefined ? '' : storable(by.once)
  const [streams, values, done] = yield* ask(
    // Holds the stream: writers of one stream come one after the other.
    statement('INSERT INTO stream(id, seq) VALUES($1, 0) ON CONFLICT(id) DO UPDATE SET seq = stream.seq RETURNING seq', w.stream),
    statement('SELECT version FROM value WHERE stream = $1 AND key = $2', w.stream, key),
    ...(by === undefined ? [] : [statement('SELECT body FROM done WHERE run = $1 AND stream = $2 AND once = $3', by.run, w.stream, once)]),
  )
  const before = done?.[0] as { body: string } | undefined
  if (before !== undefined) return { status: 'written', value: JSON.parse(before.body) as Json }
  if (((values?.[0] as { version: number } | undefined)?.version ?? 0) !== w.expected) return { status: 'moved' }
  const { seq } = streams![0] as { seq: number }
  const body = JSON.stringify(w.value)
  const put =
    'INSERT INTO value(stream, key, version, body) VALUES($1, $2, $3, $4) ON CONFLICT(stream, key) DO UPDATE SET version = excluded.version, body = excluded.body'
  yield* write(put, w.stream, key, w.expected + 1, body)
  if (by !== undefined) yield* write('INSERT INTO done(run, stream, once, body) VALUES($1, $2, $3, $4)', by.run, w.stream, once, body)
  yield* write('UPDATE stream SET seq = seq + 1 WHERE id = $1', w.stream)
  yield* append([{ run: w.stream, position: seq + 1, act: w.stream, seq, at: w.at, text: w.event }])
  return { status: 'written', value: JSON.parse(body) as Json }
}
