/** Every tab of a run, light and dark, wide and at phone width: nothing that axe finds; and what hostile models write. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { axeProblems, launchBrowser, StudioServer, visit } from './browser.ts'
import { hostileText } from './crew.ts'

let browser: Browser
const server = new StudioServer()
const runs: Record<
  'research' | 'desk' | 'support' | 'breaker' | 'strangers' | 'charger' | 'workshop' | 'gazette',
  string
> = {
  research: '',
  desk: '',
  support: '',
  breaker: '',
  strangers: '',
  charger: '',
  workshop: '',
  gazette: '',
}
type Name = keyof typeof runs
beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
  // its question is asked by the next process
  ;[runs.charger = ''] = await server.run('charger')
  await server.waiting(runs.charger, 'charge_card')
  await server.kill()
  await server.start()
  for (const name of Object.keys(runs) as Name[]) if (name !== 'charger') [runs[name] = ''] = await server.run(name)
  await server.open('writer')
})
afterAll(async () => {
  await browser?.close()
  await server.close()
})

const tabs = ['overview', 'timeline', 'conversation', 'team', 'cost', 'journal', 'audit', 'take-over'] as const
const views = [
  ['light', { scheme: 'light' }],
  ['dark', { scheme: 'dark' }],
  ['at phone width', { scheme: 'light', width: 390, height: 844 }],
] as const

const there = async (page: Page): Promise<void> => {
  await page.locator('.run-title').waitFor()
  await page.locator('.spinner').waitFor({ state: 'detached' })
}
/** Goes to a tab in the page that is open, as a press on it does. */
const go = async (page: Page, tab: (typeof tabs)[number]): Promise<void> => {
  await page.locator('[role=tab]').nth(tabs.indexOf(tab)).click()
  await page.waitForURL((url) => url.pathname.endsWith(`/${tab}`))
  await there(page)
}

describe.each(views)('%s', (_view, options) => {
  test.each([
    ['research', tabs],
    ['desk', ['conversation', 'cost']],
    ['support', ['overview', 'audit']],
    ['breaker', ['team', 'take-over']],
    // a failure with its answers; Markdown
    ['workshop', ['overview', 'conversation']],
    ['gazette', ['overview']],
    ['strangers', ['team']],
    ['charger', ['overview']],
  ] as const)(
    '%s: no tab of %j has a violation, scrolls sideways, or hides that it is chosen',
    async (name, which) => {
      const { page, context, problems } = await visit(browser, server, `/runs/${runs[name]}`, options)
      await there(page)
      for (const tab of which) {
        await go(page, tab)
        expect([tab, await axeProblems(page)]).toEqual([tab, []])
        const [wide, chosen] = await Promise.all([
          page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
          page.locator('[role=tab][aria-selected=true]').boundingBox(),
        ])
        expect([tab, wide]).toEqual([tab, 0])
        expect(chosen!.x).toBeGreaterThanOrEqual(0)
        expect(chosen!.x + chosen!.width).toBeLessThanOrEqual(page.viewportSize()!.width)
      }
      expect(problems).toEqual([])
      await context.close()
      // axe looks at everything on eight tabs
    },
    240_000,
  )

  test('neither has a dialog', async () => {
    const { page, context } = await visit(browser, server, `/runs/${runs.research}`, options)
    await there(page)
    const opens = async (button: string): Promise<void> => {
      await page.getByRole('button', { name: button, exact: true }).first().click()
      await page.getByRole('dialog').waitFor()
      expect([button, await axeProblems(page)]).toEqual([button, []])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    for (const button of ['Pause', 'Take over', 'Cancel', 'Fork']) await opens(button)
    await go(page, 'team')
    for (const button of ['Recruit', 'Retire']) await opens(button)
    await go(page, 'take-over')
    await opens('Complete by hand')
    await go(page, 'journal')
    await page.locator('.run-line').nth(1).click()
    await page.getByRole('complementary').waitFor()
    expect(await axeProblems(page)).toEqual([])
    await opens('Fork from here')
    await context.close()
  }, 240_000)
})

describe('what hostile models write is shown with its characters visible, and does nothing', () => {
  const characters = ['\u0430', '\u001b', '\u202e', '\u200b']
  const sound = async (page: Page, tab: string): Promise<string> => {
    const shown = await page.locator('main').innerText()
    for (const character of characters) expect([tab, shown.includes(character)]).toEqual([tab, false])
    expect([tab, await page.locator('main img, main script, main [onerror]').count()]).toEqual([tab, 0])
    expect(await page.title()).not.toContain('owned')
    return shown
  }

  test('in every tab', async () => {
    expect(characters.every((character) => hostileText.includes(character))).toBe(true)
    const { page, context, problems } = await visit(browser, server, `/runs/${runs.strangers}`)
    await there(page)
    const marks = async (): Promise<readonly string[]> => page.locator('main mark.escape').allInnerTexts()
    const all = ['\\u0430', '\\u001b', '\\u202e', '\\u200b']
    // the arguments of the call that waits for an approval
    await sound(page, 'overview')
    await page
      .getByRole('treeitem')
      .filter({ has: page.locator('.run-agent-name', { hasText: 'forger' }) })
      .click()
    await go(page, 'conversation')
    await page.locator('.run-entry.call').waitFor()
    expect(await marks()).toEqual(expect.arrayContaining(all))
    expect(await sound(page, 'conversation')).toContain('<script>document.title="owned"</script>')
    await go(page, 'team')
    await page.locator('.run-mail').getByText('txt.exe').waitFor()
    expect(await marks()).toEqual(expect.arrayContaining(all))
    await page.getByRole('button', { name: /forge/ }).click()
    await page.locator('.run-task-detail').getByText('txt.exe').waitFor()
    await sound(page, 'team')
    await go(page, 'timeline')
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByRole('grid', { name: 'Timeline' }).waitFor()
    await sound(page, 'timeline')
    await go(page, 'journal')
    await page.getByLabel('Search in the journal').fill('txt.exe')
    await page.waitForURL((url) => url.searchParams.get('search') === 'txt.exe')
    await page.locator('.run-line', { hasText: 'asks for approval of report' }).first().click()
    await page.getByRole('complementary').waitFor()
    expect(await marks()).toEqual(expect.arrayContaining(all))
    await sound(page, 'journal')
    await go(page, 'take-over')
    expect(await marks()).toEqual(expect.arrayContaining(all))
    await sound(page, 'take-over')
    await go(page, 'audit')
    await page.getByRole('grid', { name: 'Audit' }).getByRole('row').filter({ hasText: 'approval' }).first().click()
    await page.getByRole('dialog').waitFor()
    await sound(page, 'audit')
    await page.keyboard.press('Escape')
    expect(problems).toEqual([])
    await context.close()
  })

  test('while it streams, and as the result of a run', async () => {
    const { page, context, problems } = await visit(browser, server, `/runs/${runs.strangers}`)
    await there(page)
    await page.getByRole('link', { name: 'Answer' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await expect
      .poll(() => page.evaluate(async (at) => (await fetch(at)).text(), `/api/questions?run=${runs.strangers}`))
      .toBe('{"items":[]}')
    await page.goto(`${server.url}/runs/${runs.strangers}`)
    await there(page)
    await page
      .getByRole('treeitem')
      .filter({ has: page.locator('.run-agent-name', { hasText: 'forger' }) })
      .click()
    await server.open('forger')
    await server.open('courier')
    await server.ended(runs.strangers)
    await page.locator('.run-title', { hasText: 'Completed' }).waitFor()
    await page.getByRole('treeitem').first().click()
    await page.getByRole('region', { name: 'Overview', exact: true }).getByText('txt.exe').first().waitFor()
    await sound(page, 'overview')
    expect(await page.locator('main mark.escape').allInnerTexts()).toContain('\\u202e')
    expect(problems).toEqual([])
    await context.close()
  })
})
