/** The list of runs as a desk: what they were asked, found by words, counted, grouped by cause, commanded at once; metrics. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, StudioServer, visit, type Visit } from './browser.ts'

let browser: Browser
const server = new StudioServer()
const [days, perDay] = [5, 20] as const
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await server.close()
})

const rows = (page: Page) => page.getByRole('grid', { name: 'Runs' }).getByRole('row')
const shown = (page: Page): Promise<number> =>
  page
    .getByRole('grid', { name: 'Runs' })
    .getAttribute('aria-rowcount')
    .then((count) => Number(count) - 1)
const figure = (page: Page, label: string) => page.locator('.figures > div', { hasText: label }).locator('b').first()

interface Totals {
  readonly all: { readonly runs: number; readonly ends: Readonly<Record<string, number>> }
}
interface Causes {
  readonly causes: readonly { readonly cause: string; readonly message: string; readonly runs: number }[]
}

test('an installation without a run says what will be here and what to do', async () => {
  const { page, context, problems } = await visit(browser, server, '/runs')
  await page.getByText('No runs yet').waitFor()
  await page.getByRole('button', { name: 'Start the first run' }).click()
  await page.getByRole('dialog', { name: 'Start a run' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Failures by cause' }).click()
  await page.getByText('No failures here').waitFor()
  await page.getByRole('link', { name: 'Metrics' }).click()
  await page.getByText('No run began in this time').waitFor()
  expect(problems).toEqual([])
  await context.close()
})

test('a store with a past is opened', async () => {
  await server.kill()
  await server.past(days, perDay)
  await server.start()
  expect(((await server.call('GET', '/totals')) as Totals).all.runs).toBeGreaterThan(50)
}, 120_000)

test('a row says what a run was asked and answered; words find runs, and the address has the filter', async () => {
  const { page, context, problems } = await visit(browser, server, '/runs')
  const { all } = (await server.call('GET', '/totals')) as Totals
  await expect.poll(() => figure(page, 'Runs').textContent()).toBe(String(all.runs))
  await page.keyboard.press('/')
  await page.keyboard.type('taSSe unterw*')
  await expect.poll(() => new URL(page.url()).searchParams.get('text')).toBe('taSSe unterw*')
  const row = rows(page).filter({ hasText: 'Der Karton war offen und eine Tasse fehlt.' }).first()
  await row.getByText('Es tut uns leid. Eine neue Tasse ist unterwegs.').waitFor()
  const { all: found } = (await server.call('GET', '/totals?text=tasse')) as Totals
  expect(found.runs).toBeGreaterThan(3)
  await expect.poll(() => shown(page)).toBe(found.runs)
  await expect.poll(() => figure(page, 'Runs').textContent()).toBe(String(found.runs))
  await row.click()
  await page.getByRole('heading', { level: 1, name: 'concierge' }).waitFor()
  await page.goBack()
  await expect.poll(() => shown(page)).toBe(found.runs)
  // a filter that is not in sight is named, and taken away
  await page.goto(`${server.url}/runs?metadata=x%3D1&user=tom%40example.com`)
  const filter = page.getByRole('list', { name: 'The filter' })
  await filter.getByText('x=1').waitFor()
  await page.getByText('No run matches').waitFor()
  await page.getByRole('button', { name: 'Take away Metadata' }).click()
  await rows(page).filter({ hasText: 'tom@example.com' }).first().waitFor()
  // what means nothing is no filter
  await page.goto(`${server.url}/runs?status=nonsense&span=constructor&since=never&usdFrom=-1`)
  await expect.poll(() => figure(page, 'Runs').textContent()).toBe(String(all.runs))
  expect(await filter.count()).toBe(0)
  expect(problems).toEqual([])
  await context.close()
})

test('failures are grouped by cause; all of one are retried, tracked, and found again after a reload', async () => {
  const { page, context, problems } = await visit(browser, server, '/runs?view=causes')
  const { causes } = (await server.call('GET', '/causes')) as Causes
  expect(causes.map(({ message }) => message.slice(0, 13)).toSorted()).toEqual(['the ledger at', 'the ledger re'])
  const [most] = causes
  const table = page.getByRole('region', { name: 'Failures by cause' })
  const row = table.getByRole('row', { name: most!.message })
  expect(await row.getByRole('cell').nth(2).innerText()).toBe(String(most!.runs))
  await row.getByRole('link', { name: most!.message }).click()
  expect(new URL(page.url()).searchParams.get('cause')).toBe(most!.cause)
  await expect.poll(() => shown(page)).toBe(most!.runs)
  await page.goBack()
  await row.getByRole('button', { name: `Retry all ${most!.runs}…` }).click()
  const dialog = page.getByRole('dialog', { name: `Retry ${most!.runs} runs` })
  await dialog.getByLabel('Reason').fill('the period is open again')
  await dialog.getByRole('button', { name: `Retry ${most!.runs} runs` }).click()
  const batch = page.getByRole('region', { name: 'Batch: Retry' })
  const done = `Retried ${most!.runs} of ${most!.runs} runs`
  await batch.getByText(done).waitFor()
  await batch.getByText(`${most!.runs} done`).waitFor()
  await page.reload()
  await batch.getByText(done).waitFor()
  await batch.getByText('the period is open again').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  expect(await batch.count()).toBe(0)
  await page.getByRole('link', { name: 'Batches' }).click()
  await page.getByRole('region', { name: 'The newest batches' }).getByRole('link', { name: 'Retry' }).click()
  await batch.getByText(done).waitFor()
  expect(problems).toEqual([])
  await context.close()
})

test('only commands that fit are offered, and each says how many runs it is for', async () => {
  await server.run('planner', 3, { session: 'spring' })
  const { page, context, problems } = await visit(browser, server, '/runs?session=spring')
  const offered = page.getByRole('group', { name: 'All runs that match' })
  await expect.poll(() => offered.getByRole('button').allInnerTexts()).toEqual(['Cancel 3…', 'Pause…'])
  const command = async (button: string, sure: string): Promise<void> => {
    await offered.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').getByRole('button', { name: sure }).click()
  }
  await command('Pause…', 'Pause 3 runs')
  await page.getByText('Paused 3 of 3 runs').waitFor()
  await rows(page).filter({ hasText: 'Paused' }).nth(2).waitFor()
  await command('Resume…', 'Resume 3 runs')
  await page.getByText('Resumed 3 of 3 runs').waitFor()
  await command('Cancel 3…', 'Cancel 3 runs')
  await page.getByText('Cancelled 3 of 3 runs').waitFor()
  await rows(page).filter({ hasText: 'Cancelled' }).nth(2).waitFor()
  await page.goto(`${server.url}/runs?session=spring&status=cancelled`)
  await expect.poll(() => offered.getByRole('button').allInnerTexts()).toEqual(['Retry 3…'])
  await page.goto(`${server.url}/runs?status=completed`)
  await rows(page).nth(3).waitFor()
  expect(await offered.count()).toBe(0)
  expect(problems).toEqual([])
  await context.close()
})

test('who may only look is offered no command; who is of a tenant sees its runs alone', async () => {
  const seen: Visit[] = [
    await visit(browser, server, '/runs?view=causes', { name: 'vic' }),
    await visit(browser, server, '/runs', { name: 'tess' }),
  ]
  const [viewer, tenant] = seen.map(({ page }) => page) as [Page, Page]
  await viewer.getByRole('region', { name: 'Failures by cause' }).waitFor()
  expect(await viewer.getByRole('button', { name: /Retry|Start/ }).count()).toBe(0)
  await viewer.getByRole('link', { name: 'List', exact: true }).click()
  await rows(viewer).nth(3).waitFor()
  expect(await viewer.getByRole('group', { name: 'All runs that match' }).count()).toBe(0)
  const { all } = (await server.call('GET', '/totals?tenant=acme')) as Totals
  const { all: whole } = (await server.call('GET', '/totals')) as Totals
  expect(all.runs).toBeGreaterThan(2)
  expect(all.runs).toBeLessThan(whole.runs)
  await expect.poll(() => figure(tenant, 'Runs').textContent()).toBe(String(all.runs))
  await tenant.getByRole('button', { name: 'More filters' }).click()
  expect(await tenant.getByLabel('Tenant').count()).toBe(0)
  await tenant.goto(`${server.url}/metrics?by=tenant`)
  await expect.poll(() => figure(tenant, 'Runs').textContent()).toBe(String(all.runs))
  for (const { context } of seen) await context.close()
})

test('"Go to" finds a run by the beginning of its id, and by words that it was asked', async () => {
  const { page, context } = await visit(browser, server, '/')
  await page.getByText('live', { exact: true }).waitFor()
  const old = (await server.call('GET', '/runs?limit=1000')) as { readonly items: readonly { readonly run: string }[] }
  const last = old.items.at(-1)!.run
  expect(old.items.length).toBeGreaterThan(50)
  const field = page.getByRole('combobox')
  const found = page.getByRole('listbox', { name: 'Matches' }).getByRole('option')
  await page.keyboard.press('Control+k')
  await field.fill(last.slice(0, 9))
  await found.filter({ hasText: last }).waitFor()
  await field.fill('karton')
  await found.filter({ hasText: 'Der Karton war offen' }).first().waitFor()
  await field.fill('no such words at all')
  await expect.poll(() => found.allInnerTexts()).toHaveLength(1)
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).searchParams.get('text')).toBe('no such words at all')
  await context.close()
})

test('metrics: every number in a table, read by arrow keys, and links to the runs behind it', async () => {
  const { page, context, problems } = await visit(browser, server, '/metrics')
  const { all } = (await server.call('GET', '/totals')) as Totals
  await expect.poll(() => figure(page, 'Runs').textContent()).toBe(String(all.runs))
  const chart = page.getByRole('slider', { name: 'Runs by their end, day by day' })
  await chart.focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowRight')
  const read = await chart.getAttribute('aria-valuetext')
  expect(read).toMatch(/\(UTC\): Completed \d+, Ended badly \d+, Cancelled, bailed out 0, Not ended 0$/)
  const panel = page.getByRole('region', { name: 'Runs by their end', exact: true })
  await panel.getByText('Numbers of this chart').click()
  const cells = await panel.getByRole('row').allInnerTexts()
  expect(cells).toHaveLength(8)
  const completed = cells.slice(1).reduce((sum, line) => sum + Number(line.split('\t')[1]), 0)
  expect(completed).toBe(all.ends['completed'])
  await page.getByLabel('Group by').selectOption('version')
  const groups = page.getByRole('region', { name: 'Runs by version' })
  await groups
    .getByRole('row', { name: /^2\.0\+\w+ of concierge/ })
    .getByRole('link')
    .click()
  await rows(page).filter({ hasText: 'concierge' }).nth(2).waitFor()
  expect(new URL(page.url()).searchParams.get('version')).toMatch(/^2\.0\+/)
  await page.goBack()
  await page.getByRole('region', { name: 'Ended badly, by code' }).getByRole('link', { name: 'tool.failed' }).click()
  await page.getByRole('region', { name: 'Failures by cause' }).getByText('its period is closed').waitFor()
  expect(problems).toEqual([])
  await context.close()
})

test.each(['/runs', '/runs?view=causes', '/metrics'])('%s fits a phone', async (path) => {
  const { page, context } = await visit(browser, server, path, { width: 390, height: 844 })
  await page.locator('.figures b').first().waitFor()
  await page.locator('.spinner').first().waitFor({ state: 'detached' })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  const cut = await page
    .locator('.figures > div, .run-filters button, .run-filters select, .run-views :is(a, button)')
    .evaluateAll((all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1).length)
  expect(cut).toBe(0)
  await context.close()
})
