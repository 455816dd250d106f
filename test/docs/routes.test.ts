/** The pages http.md and errors.md show the routes and the statuses of the server; every code has one. */
import { expect, test } from 'vitest'
import { serverPages } from '../../scripts/routes.ts'
import { errorCodes } from '@reeve/core'
import { errorStatuses } from '../../packages/server/src/error-status.ts'

test('the tables of the server are not stale: npm run docs:routes', () => {
  for (const { now, due } of serverPages()) expect(now).toBe(due)
})

test('every error code has a status, and no other has', () => {
  expect(Object.keys(errorStatuses).sort()).toEqual([...errorCodes].sort())
  for (const status of Object.values(errorStatuses)) expect(status).toBeGreaterThanOrEqual(400)
})
