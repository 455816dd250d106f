/** K12: tables that 0.2.0 made in PostgreSQL are upgraded when a process writes to them. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { freshPostgres } from '../../../../test/servers/postgres.ts'
import { onServer } from './postgres-place.ts'
import { expectUpgraded } from './upgraded.ts'

test('K12: tables of 0.2.0 in PostgreSQL are upgraded: their runs are there, go on, and are taken into the index', async () => {
  const { server, schema, dispose } = await freshPostgres()
  try {
    const old = readFileSync(new URL('golden/postgres-0.2.0.sql', import.meta.url), 'utf8')
    await onServer(server, `CREATE SCHEMA IF NOT EXISTS "${schema}"`)
    await onServer(server, old.replaceAll('SCHEMA.', `"${schema}".`).replace(/^--.*$/m, ''))
    await expectUpgraded(`${server}?schema=${schema}`)
    expect(await onServer(server, `SELECT value FROM "${schema}".meta WHERE key = 'version'`)).toEqual([{ value: '6' }])
  } finally {
    await dispose()
  }
})
