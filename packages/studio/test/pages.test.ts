/** Every page, light and dark, wide and at phone width: nothing that axe finds, and nothing in the console. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { axeProblems, launchBrowser, StudioServer, visit, type Visit } from './browser.ts'
import { furnish } from './installation.ts'

let browser: Browser
const server = new StudioServer()
let failed = ''
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
  for (const agent of ['support', 'editor', 'mailer', 'payer', 'planner', 'greeter']) await server.run(agent)
  await server.run('tagger', 2)
  await furnish(server)
  ;[failed = ''] = await server.run('breaker')
})
afterAll(async () => {
  await browser?.close()
  await server.close()
})

const views = [
  ['light', { scheme: 'light' }],
  ['dark', { scheme: 'dark' }],
  ['at phone width', { scheme: 'light', width: 390, height: 844 }],
] as const

const paths = [
  '/',
  '/runs',
  '/sessions',
  '/sessions/order-1042?user=mia@example.com',
  '/trust',
  '/trust/refunds',
  '/versions',
  '/versions/greeter',
  '/versions/none',
  '/system',
  '/nowhere',
]

const dialogs = [
  ['/runs', 'Start a run…'],
  ['/trust', 'Set a level…'],
  ['/trust/refunds', 'Set the level…'],
  ['/trust/refunds', 'Record an incident…'],
  ['/versions/greeter', 'New version…'],
  ['/versions/greeter', 'Publish…'],
  ['/versions/greeter', 'Start a run…'],
] as const

describe.each(views)('%s', (_name, view) => {
  // one visit for all pages: it goes from page to page as a person does, without loading anew
  let visited: Visit
  beforeAll(async () => {
    visited = await visit(browser, server, '/', view)
    await visited.page.getByText('live', { exact: true }).waitFor({ state: 'attached' })
  })
  afterAll(() => visited?.context.close())

  const go = async (path: string): Promise<Page> => {
    const { page, problems } = visited
    problems.length = 0
    await page.evaluate(
      `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.locator('.spinner').waitFor({ state: 'detached' })
    return page
  }

  test.each(paths)('%s has no violation, and nothing is wider than the page', async (path) => {
    const page = await go(path)
    expect(await axeProblems(page)).toEqual([])
    expect(visited.problems).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })

  test.each(dialogs)('%s: the dialog of "%s" has none', async (path, name) => {
    const page = await go(path)
    await page.getByRole('button', { name }).first().click()
    await page.getByRole('dialog').waitFor()
    expect(await axeProblems(page, 'dialog')).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('an open question and its dialogs have none', async () => {
    const page = await go('/')
    await page.locator('.question', { hasText: 'issue_refund' }).click()
    await page.getByRole('heading', { level: 1, name: 'issue_refund' }).waitFor()
    expect(await axeProblems(page)).toEqual([])
    for (const [key, title] of [
      ['e', /^Edit the arguments/],
      ['a', /^Approve/],
      ['r', /^Reject/],
    ] as const) {
      await page.keyboard.press(key)
      await page.getByRole('dialog', { name: title }).waitFor()
      expect(await axeProblems(page, 'dialog')).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
  })

  test('several that are selected, and the word of their decision, have none', async () => {
    const page = await go('/')
    await page.getByRole('checkbox', { name: /^Select all \d+: tag_order/ }).click()
    if ('width' in view) await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('region', { name: 'The selected requests' }).waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.keyboard.press('a')
    await page.getByRole('dialog').waitFor()
    expect(await axeProblems(page, 'dialog')).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: 'The selected requests' }).waitFor({ state: 'detached' })
  })
})

describe('words', () => {
  let visited: Visit
  beforeAll(async () => (visited = await visit(browser, server, '/nowhere')))
  afterAll(() => visited?.context.close())

  test('an unknown address leads on', async () => {
    const { page } = visited
    await page.getByText('There is no page at this address').waitFor()
    await page.locator('main').getByRole('link', { name: 'runs' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/runs')
  })

  test('agents of one version in code: the page says why that is no mistake', async () => {
    const { page } = visited
    await page.getByRole('link', { name: 'Versions' }).click()
    await expect
      .poll(() => page.locator('main').innerText())
      .toContain('agents that declare the same have the same version')
  })

  test('a table is as high as its rows', async () => {
    const { page } = visited
    await page.getByRole('link', { name: 'Trust' }).click()
    const table = page.getByRole('grid', { name: 'Trust records' })
    await table.waitFor()
    // the head and two records
    expect((await table.boundingBox())!.height).toBeLessThan(32 + 2 * 36 + 2)
  })

  test('at phone width a table is cards, in which every column is in sight', async () => {
    const { page } = visited
    await page.setViewportSize({ width: 390, height: 844 })
    const row = page.getByRole('grid', { name: 'Trust records' }).getByRole('row').filter({ hasText: 'refunds' })
    await expect.poll(() => row.innerText()).toMatch(/Level[^]*Runs counted[^]*Last incident[^]*Next level/)
    const { x, width } = (await row.boundingBox())!
    expect(x + width).toBeLessThanOrEqual(390)
    for (const cell of await row.getByRole('gridcell').all()) {
      const box = (await cell.boundingBox())!
      expect(box.x + box.width).toBeLessThanOrEqual(390)
    }
    // the number of the inbox is beside its icon, not on it
    const icon = (await page
      .getByRole('link', { name: /^Inbox/ })
      .locator('svg')
      .boundingBox())!
    const count = (await page.locator('.rail .count').boundingBox())!
    expect(count.x).toBeGreaterThanOrEqual(icon.x + icon.width - 1)
  })
})

test('a failed run is found by its status, and says why', async () => {
  const { page, context } = await visit(browser, server, '/runs?status=failed')
  const row = page.getByRole('row').filter({ hasText: failed })
  await expect.poll(() => row.innerText()).toContain('Failed')
  await context.close()
})

test('signing out ends the session: nothing of it stays in the page, and the next page asks for a token', async () => {
  const { page, context } = await visit(browser, server, '/runs')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Reeve' }).waitFor()
  await page.goto(`${server.url}/runs`)
  await page.getByRole('heading', { name: 'Sign in to Reeve' }).waitFor()
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  await context.close()
})

test('an unknown token is refused, and a known one is let in', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${server.url}/#token=wrong`)
  await page.getByRole('heading', { name: 'Sign in to Reeve' }).waitFor()
  expect(new URL(page.url()).hash).toBe('')
  expect(await axeProblems(page)).toEqual([])
  await context.close()
})
