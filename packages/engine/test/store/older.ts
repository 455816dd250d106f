/** A store as the version before the searchable one has written it: what was added since is taken away. */
const columns = ['state', 'asks', 'tenant', 'usd', 'usage', 'why']
const indexes =
  'run_state run_listed run_agent run_usd run_apart inbox_pause question_asked question_kind question_tenant'.split(' ')

/** An SQLite file of before there was an archive. */
export const withoutArchive = 'DROP TABLE archive; DROP INDEX run_whole; ALTER TABLE run DROP COLUMN archived'

/** As SQL; `s`: a schema in PostgreSQL, with a dot after it. */
export const withoutSearch = (s = ''): string =>
  [
    ...indexes.map((name) => `DROP INDEX ${s}${name}`),
    `DROP TABLE ${s}tag`,
    `DROP TABLE ${s}summed`,
    ...columns.map((name) => `ALTER TABLE ${s}run DROP COLUMN ${name}`),
    `ALTER TABLE ${s}question DROP COLUMN tenant`,
    `CREATE INDEX run_created ON ${s}run(created)`,
  ].join(';\n')
