/** Many tabs of one browser: those that nobody sees hold no connection, so the one that is seen gets answers. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
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

/** Hides or shows a page: a headless browser takes every page for one that is seen. */
const turn = (page: Page, hidden: boolean): Promise<unknown> =>
  page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} })
    document.dispatchEvent(new Event('visibilitychange'))`,
  )

test('eight tabs of runs: the last one is answered, and the first, seen again, shows what happened meanwhile', async () => {
  const [run = ''] = await server.run('support')
  const { context, page: first } = await visit(browser, server, `/runs/${run}`)
  const heading = (page: Page) => page.getByRole('heading', { level: 1, name: 'support' })
  await heading(first).waitFor()
  await turn(first, true)
  let last = first
  for (let i = 0; i < 7; i++) {
    last = await context.newPage()
    await last.goto(`${server.url}/runs/${run}`)
    await heading(last).waitFor()
    await last.getByText('live', { exact: true }).waitFor()
    if (i < 6) await turn(last, true)
  }
  await server.call('POST', `/runs/${run}/cancel`, { reason: 'enough' })
  await last.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
  expect(await first.locator('.badge', { hasText: 'Cancelled' }).count()).toBe(0)
  await turn(first, false)
  await first.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
})
