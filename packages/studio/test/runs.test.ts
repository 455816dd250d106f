/** The list of runs with 10,000 of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { launchBrowser, StudioServer, visit } from './browser.ts'

let browser: Browser
const server = new StudioServer()
const count = 10_000
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
  for (let started = 0; started < count; started += 500) await server.run('greeter', 500)
}, 150_000)
afterAll(async () => {
  await browser?.close()
  await server.close()
})

test('10,000 runs: only rows in sight are drawn, the next pages are read as they come in sight', async () => {
  const { page } = await visit(browser, server, '/runs')
  const grid = page.getByRole('grid', { name: 'Runs' })
  await grid.waitFor()
  const rows = async (): Promise<number> => Number(await grid.getAttribute('aria-rowcount'))
  expect(await page.getByRole('row').count()).toBeLessThan(60)
  expect(await rows()).toBe(101)
  await grid.focus()
  await page.keyboard.press('End')
  await expect.poll(rows).toBeGreaterThan(101)
  expect(await page.getByRole('row').count()).toBeLessThan(80)
  await page.reload()
  await grid.waitFor()
  await page.keyboard.press('Home')
  await grid.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/runs\/.+/)
})
