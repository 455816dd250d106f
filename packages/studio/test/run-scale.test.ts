/** A run of a thousand workers: what is drawn and what is read is bounded by the screen, not by the run. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, StudioServer, visit } from './browser.ts'

let browser: Browser
let run = ''
const server = new StudioServer()
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
  ;[run = ''] = await server.run('crowd')
  await server.ended(run)
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await server.close()
})

const elements = (page: Page): Promise<number> => page.locator('*').count()

test('every tab draws what is in sight, and no tab reads the whole journal', async () => {
  const { page, problems } = await visit(browser, server, `/runs/${run}`)
  const asked: URL[] = []
  page.on('request', (request) => asked.push(new URL(request.url())))
  await page.getByRole('heading', { name: 'Agents (1,001)' }).waitFor()
  const tree = page.getByRole('tree', { name: 'Agents' })
  await expect.poll(() => page.getByRole('treeitem').count()).toBeGreaterThan(5)
  expect(await page.getByRole('treeitem').count()).toBeLessThan(40)
  await tree.focus()
  await page.keyboard.press('End')
  await expect.poll(() => page.getByRole('treeitem', { selected: true }).getAttribute('aria-posinset')).toBe('1000')
  expect(await page.getByRole('treeitem').count()).toBeLessThan(40)
  for (const [tab, there] of [
    ['Timeline', '.run-timeline canvas'],
    ['Conversation', '.run-entry'],
    ['Team', '.state .title'],
    ['Cost', '.plain-table'],
    ['Journal', '.run-line .run-type'],
    ['Audit', '.run-bar .notice'],
    ['Take over', '.run-takeover'],
  ] as const) {
    await page.getByRole('tab', { name: tab }).click()
    await page.locator(there).first().waitFor()
    expect([tab, (await elements(page)) < 1_500]).toEqual([tab, true])
  }
  const paths = asked.map(({ pathname }) => pathname.replace(`/api/runs/${run}`, ''))
  expect(paths.filter((path) => path === '/events' || path === '/feed')).toEqual([])
  // one stream for all tabs
  expect(paths.filter((path) => path === '/changes').length).toBeLessThanOrEqual(1)
  const journal = asked.filter(
    ({ pathname, searchParams }) => pathname.endsWith('/journal') && !searchParams.has('family'),
  )
  expect(journal.length).toBeLessThan(4)
  for (const { searchParams } of journal) expect(Number(searchParams.get('limit'))).toBeLessThanOrEqual(100)
  expect(problems).toEqual([])
})

test('the end of a long journal is read at once, without what stands before it', async () => {
  const { page } = await visit(browser, server, `/runs/${run}/journal`)
  const journal = page.getByRole('grid', { name: /^Journal/ })
  await journal.waitFor()
  const total = Number(await journal.getAttribute('aria-rowcount'))
  expect(total).toBeGreaterThan(5_000)
  const asked: number[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname.endsWith('/journal')) asked.push(Number(searchParams.get('from')))
  })
  await journal.focus()
  await page.keyboard.press('End')
  await expect.poll(() => journal.getByRole('row', { selected: true }).innerText()).toContain('activation.settled')
  expect(await journal.getByRole('row').count()).toBeLessThan(80)
  expect(asked.length).toBeLessThan(5)
  for (const from of asked) expect(from).toBeGreaterThan(total - 400)
})
