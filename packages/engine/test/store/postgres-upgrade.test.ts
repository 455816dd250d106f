/** K1: a schema in PostgreSQL of an older version answers every search for its old runs. */
import { expect, test } from 'vitest'
import { freshPostgres } from '../../../restate/test/harness.ts'
import { withoutSearch } from './older.ts'
import { beforeAndAfter } from './older-store.ts'
import { onServer } from './postgres-place.ts'

test('K1: a schema of an older version answers every search for its old runs as before', async () => {
  await using place = await freshPostgres()
  const { server, schema } = place
  const [before, after] = await beforeAndAfter(
    `${server}${server.includes('?') ? '&' : '?'}schema=${schema}`,
    async () => {
      const older = `${withoutSearch(`${schema}.`)}; UPDATE ${schema}.meta SET value = '2' WHERE key = 'version'`
      for (const statement of older.split(';')) await onServer(server, statement)
    },
  )
  expect(after).toEqual(before)
  expect(before.slice(1)).toEqual([['r3'], ['r2'], ['r3', 'r2'], ['r1'], ['r1'], [['r3', 'interrupt']]])
})
