/**
 * What an older version did not keep of runs, made from their rows and their journals: tags, usage, why they ended, and
 * which ask people.
 *
 * Owns: reading and writing it in a schema, in the transaction that makes the store one of this version. Does not own:
 * what it is (run-row.ts).
 */
import type { ClientBase } from 'pg'
import { rootActivation, type RunId } from '@reeve/core'
import { oldRunRow, type OldRunRow } from '@reeve/engine/storage'
import { blobsFor, blobStatement, entryColumns, eventOf, type EntryRow, flags } from './entries.ts'

/** So many runs are read at once. */
const page = 500

/** Describes all runs of a store as they are described today when they begin, rest and end. */
export async function describeOldRuns(client: ClientBase, s: string): Promise<void> {
  for (let from = '', isMore = true; isMore;) {
    const { rows } = await client.query<OldRunRow & { readonly id: RunId }>(
      `SELECT id, caller, created, ended FROM ${s}.run WHERE id > $1 ORDER BY id LIMIT ${page}`,
      [from],
    )
    await describe(client, s, rows)
    isMore = rows.length === page
    from = rows.at(-1)?.id ?? from
  }
  await client.query(
    `UPDATE ${s}.run r SET asks = 1 WHERE r.ended IS NULL AND EXISTS (SELECT 1 FROM ${s}.question q WHERE q.run = r.id AND q.kind <> 'timer')`,
  )
  await client.query(
    `UPDATE ${s}.question q SET tenant = r.tenant FROM ${s}.run r WHERE r.id = q.run AND r.tenant IS NOT NULL`,
  )
}

async function describe(
  client: ClientBase,
  s: string,
  runs: readonly (OldRunRow & { readonly id: RunId })[],
): Promise<void> {
  const over = runs.flatMap(({ id, ended }) => (ended === null ? [] : [rootActivation(id)]))
  const open = runs.flatMap(({ id, ended }) => (ended === null ? [id] : []))
  const { rows: entries } = await client.query<EntryRow>(
    `SELECT ${entryColumns} FROM ${s}.entry WHERE act = ANY($1::text[]) AND flags > ${flags.last - 1}
    UNION ALL SELECT ${entryColumns} FROM ${s}.entry WHERE run = ANY($2::text[]) ORDER BY run, position`,
    [over, open],
  )
  const [, blobs] = blobStatement(s)
  const known = await blobsFor(
    entries,
    async (of, hashes) => (await client.query<{ run: string; hash: string; body: string }>(blobs, [of, hashes])).rows,
  )
  const byRun = Map.groupBy(entries, ({ run }) => run)
  const described = runs.map((row) => ({
    ...row,
    ...oldRunRow(row, () =>
      (byRun.get(row.id) ?? []).map((entry) => ({ activation: entry.act, event: eventOf(entry, known) })),
    ),
  }))
  const tags = described.flatMap(({ id, created, tags: own }) => own.map((tag) => ({ ...tag, created, id })))
  await client.query(
    `INSERT INTO ${s}.tag(name, value, created, run) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) ON CONFLICT DO NOTHING`,
    [
      tags.map(({ name }) => name),
      tags.map(({ value }) => value),
      tags.map(({ created }) => created),
      tags.map(({ id }) => id),
    ],
  )
  await client.query(
    `UPDATE ${s}.run r SET tenant = x.tenant, usd = x.usd, usage = x.usage, why = x.why
    FROM unnest($1::text[], $2::text[], $3::float8[], $4::text[], $5::text[]) x(id, tenant, usd, usage, why) WHERE r.id = x.id`,
    [
      described.map(({ id }) => id),
      described.map(({ tenant }) => tenant),
      described.map(({ usage }) => usage?.usd ?? null),
      described.map(({ usage }) => (usage === undefined ? null : JSON.stringify(usage))),
      described.map(({ why }) => (why === undefined ? null : JSON.stringify(why))),
    ],
  )
}
