/** Every page, light and dark, wide and at phone width: nothing that axe finds, and nothing in the console. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { axeProblems, launchBrowser, StudioServer, visit } from './browser.ts'
import { furnish } from './installation.ts'

let browser: Browser
const server = new StudioServer()
let failed = ''
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
  for (const agent of ['support', 'editor', 'mailer', 'payer', 'planner', 'greeter']) await server.run(agent)
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

describe.each(views)('%s', (_name, view) => {
  test.each([
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
  ])('%s has no violation', async (path) => {
    const { page, context, problems } = await visit(browser, server, path, view)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.locator('.spinner').waitFor({ state: 'detached' })
    expect(await axeProblems(page)).toEqual([])
    expect(problems).toEqual([])
    await context.close()
  })

  test.each([
    ['/runs', 'Start a run…'],
    ['/trust', 'Set a level…'],
    ['/trust/refunds', 'Set the level…'],
    ['/trust/refunds', 'Record an incident…'],
    ['/versions/greeter', 'New version…'],
    ['/versions/greeter', 'Publish…'],
    ['/versions/greeter', 'Start a run…'],
  ])('%s: the dialog of "%s" has none', async (path, name) => {
    const { page, context } = await visit(browser, server, path, view)
    await page.getByRole('button', { name }).first().click()
    await page.getByRole('dialog').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await context.close()
  })

  test('an open question and its dialogs have none', async () => {
    const { page, context } = await visit(browser, server, '/', view)
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
      expect(await axeProblems(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await context.close()
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
