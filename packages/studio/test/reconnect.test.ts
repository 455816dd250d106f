/** The studio when its server dies: it says so, comes back by itself, and shows what is true then. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { launchBrowser, StudioServer, visit } from './browser.ts'

let browser: Browser
const server = new StudioServer()
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await server.close()
})

test('kill -9 of the server: it reconnects, says that it has, and what was in flight is in doubt', async () => {
  await server.run('tagger')
  await server.run('charger')
  const { page } = await visit(browser, server)
  await page.getByText('live', { exact: true }).waitFor()
  await expect.poll(() => page.locator('.question').count()).toBe(1)
  await server.kill()
  await page.getByText('reconnecting…').waitFor()
  expect(await page.locator('.question').count()).toBe(1)
  await server.start()
  await page.getByText(/reconnected, caught up at/).waitFor()
  // the charge was under way: it is not done again before somebody has looked
  await expect.poll(() => page.locator('.question').count()).toBe(2)
  await page.locator('.question', { hasText: 'In doubt' }).click()
  await page.getByRole('button', { name: 'It has happened' }).click()
  await expect.poll(() => page.locator('.question').count()).toBe(1)
})
