/** Workers that replace one another on PostgreSQL. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endsInOrder, fiveDeploys, killWorkers } from '../../cli/test/deploys.ts'
import { freshPostgres, type FreshPostgres } from '../../../test/servers/postgres.ts'

vi.setConfig({ testTimeout: 120_000 })

let folder = ''
let place: FreshPostgres
const store = (): string => `${place.server}?schema=${place.schema}`
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-end-')))
  place = await freshPostgres()
})
afterEach(async () => {
  killWorkers()
  await place.dispose()
  await rm(folder, { recursive: true, force: true })
})

test('a worker that is told to end waits for its model call, and the next one leaves it to it', async () => {
  expect(await endsInOrder(folder, store())).toEqual({ model: 7, tool: 5 })
})

test('five deploys in a row begin no call twice', async () => {
  expect(await fiveDeploys(folder, store())).toEqual({ model: 6, tool: 5 })
})
