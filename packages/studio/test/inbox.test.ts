/**
 * The approvals inbox, in a real browser on a real server and a real store. R-16: what was shown is what is decided; K2:
 * the first decision wins.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { hostile } from './agents.ts'
import { launchBrowser, StudioServer, visit, type Visit } from './browser.ts'

let browser: Browser
const server = new StudioServer()
const visits: Visit[] = []

beforeAll(async () => {
  await server.start()
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await server.close()
})
afterEach(async () => {
  for (const { context } of visits.splice(0)) await context.close()
})

const enter = async (path = '/', options: Parameters<typeof visit>[3] = {}): Promise<Visit> => {
  const visited = await visit(browser, server, path, options)
  visits.push(visited)
  return visited
}

/** Writes arguments into the dialog that edits them, as JSON. */
const fillArguments = async (page: Page, input: object): Promise<void> => {
  const asJson = page.getByRole('checkbox', { name: 'Edit as JSON' })
  await page.getByRole('textbox', { name: /^Comment/ }).waitFor()
  if (await asJson.isVisible()) await asJson.check()
  await page.getByRole('textbox', { name: /^Arguments/ }).fill(JSON.stringify(input))
}

/** Opens the question that a run asks now, as soon as it does. */
const openQuestion = async (page: Page, run: string): Promise<void> => {
  let id: string | undefined
  await page.locator('.inbox').waitFor()
  await expect
    .poll(async () => {
      const { items } = (await page.evaluate(async () => (await fetch('/api/questions?limit=500')).json())) as {
        readonly items: readonly { readonly id: string; readonly run: string }[]
      }
      id = items.find((each) => each.run === run)?.id
      return id
    })
    .toBeDefined()
  await page.goto(`${server.url}/?question=${encodeURIComponent(id!)}`)
  await page.locator('#question-detail').getByRole('link', { name: run }).waitFor()
}

const ended = async (page: Page, run: string): Promise<{ readonly status: string; readonly text: string }> => {
  const { status, outcome } = (await page.evaluate(
    async (id) => (await fetch(`/api/runs/${id}/outcome?waitMs=5000`)).json(),
    run,
  )) as { readonly status: string; readonly outcome?: { readonly output?: unknown } }
  return { status, text: JSON.stringify(outcome?.output ?? null) }
}

describe('the inbox', () => {
  test('a run asks, it is approved with a second press that names the tool, and the run finishes', async () => {
    const { page, problems } = await enter()
    const [run] = await server.run('support')
    await openQuestion(page, run!)
    await expect.poll(() => page.getByRole('heading', { level: 1, name: 'issue_refund' }).isVisible()).toBe(true)
    expect(await page.locator('.crumbs').first().innerText()).toContain('billing')
    expect(await page.getByRole('region', { name: 'Exactly the bytes that will run' }).first().innerText()).toBe(
      '{"amount":240,"order":"A-1042","reason":"The parcel arrived damaged; the customer sent photographs."}',
    )
    await expect.poll(() => page.locator('.hash').first().innerText()).toContain('as requested')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Run issue_refund' }).click()
    expect(await ended(page, run!)).toEqual({ status: 'completed', text: '"Done: refunded 240 for A-1042"' })
    expect(problems).toEqual([])
  })

  test('arguments that are edited past the schema: the run asks again and names the problem', async () => {
    const { page } = await enter()
    const [run] = await server.run('support')
    await openQuestion(page, run!)
    await page.keyboard.press('e')
    const dialog = page.getByRole('dialog')
    await fillArguments(page, { order: 'A-1042', amount: 900 })
    expect(await dialog.getByRole('region', { name: 'What was asked for and what would run' }).innerText()).toContain(
      '900',
    )
    await dialog.getByRole('button', { name: 'Run issue_refund with these arguments' }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect
      .poll(async () => {
        const view = (await page.evaluate(async (id) => (await fetch(`/api/runs/${id}`)).json(), run!)) as {
          readonly approvals: readonly { readonly open: boolean; readonly reason: string }[]
        }
        return view.approvals.find(({ open }) => open)?.reason
      })
      .toMatch(/"amount"/)
    await openQuestion(page, run!)
    await expect.poll(() => page.locator('#question-detail').innerText()).toMatch(/"amount" must be/)
    await page.keyboard.press('e')
    await fillArguments(page, { order: 'A-1042', amount: 90 })
    await page.getByRole('dialog').getByRole('button', { name: 'Run issue_refund with these arguments' }).click()
    expect(await ended(page, run!)).toEqual({
      status: 'completed',
      text: expect.stringMatching(
        /^"Done: \[a person .*ann.* changed this call .*\]\\nrefunded 90 for A-1042"$/,
      ) as string,
    })
  })

  test('a rejection and a request that is sent back reach the agent with their words', async () => {
    const { page } = await enter()
    const [first] = await server.run('tagger')
    await openQuestion(page, first!)
    await page.keyboard.press('r')
    await page
      .getByRole('dialog')
      .getByLabel(/Reason/)
      .fill('not this order')
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    expect((await ended(page, first!)).text).toContain('not this order')
    const [second] = await server.run('tagger')
    await openQuestion(page, second!)
    await page.keyboard.press('s')
    await page
      .getByRole('dialog')
      .getByLabel(/differently/)
      .fill('use another tag')
    await page.getByRole('dialog').getByRole('button', { name: 'Send back' }).click()
    expect((await ended(page, second!)).text).toContain('use another tag')
  })

  test('two people: the second one is told who approved first, and the first cannot be both', async () => {
    const { page } = await enter()
    const [run] = await server.run('payer')
    await openQuestion(page, run!)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Run wire_money' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { page: other } = await enter('/', { name: 'bob' })
    await openQuestion(other, run!)
    await expect.poll(() => other.locator('#question-detail').innerText()).toContain('ann approved it first')
    await openQuestion(page, run!)
    await expect.poll(() => page.locator('#question-detail').innerText()).toContain('You approved it first')
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await other.getByRole('button', { name: 'Approve' }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'Run wire_money' }).click()
    expect(await ended(other, run!)).toEqual({ status: 'completed', text: '"wired"' })
  })

  test('two browsers: the second one learns at once who decided; at once, one decision wins (K2)', async () => {
    const [run] = await server.run('tagger')
    const { page } = await enter()
    const { page: other } = await enter('/', { name: 'bob' })
    await openQuestion(page, run!)
    await openQuestion(other, run!)
    await page.keyboard.press('a')
    await expect.poll(() => other.locator('#question-detail').innerText()).toMatch(/ann approved it/)
    const [again] = await server.run('tagger')
    await openQuestion(page, again!)
    await openQuestion(other, again!)
    await Promise.all([page.keyboard.press('a'), other.keyboard.press('a')])
    expect((await ended(page, again!)).status).toBe('completed')
    const view = (await page.evaluate(async (id) => (await fetch(`/api/runs/${id}`)).json(), again!)) as {
      readonly approvals: readonly { readonly resolution?: string }[]
    }
    expect(view.approvals.map(({ resolution }) => resolution)).toEqual(['approved'])
  })

  test('what a hostile model writes is shown, and does nothing', async () => {
    const { page, problems } = await enter()
    const [run] = await server.run('mailer')
    await openQuestion(page, run!)
    const bytes = page.getByRole('region', { name: 'Exactly the bytes that will run' })
    const shown = await bytes.innerText()
    for (const escape of ['\\u0430', '\\u202e', '\\u001b', '\\u200b']) expect(shown).toContain(escape)
    expect(shown).toContain('<script>')
    for (const character of ['\u202e', '\u200b', '\u001b', '\u0430']) expect(shown).not.toContain(character)
    expect(await bytes.locator('mark.escape').allInnerTexts()).toEqual(
      expect.arrayContaining(['\\u0430', '\\u202e', '\\u001b', '\\u200b']),
    )
    expect(await bytes.locator('mark[title^="U+202E: right-to-left override"]').count()).toBe(1)
    expect(await page.locator('#question-detail img, #question-detail script').count()).toBe(0)
    expect(await page.title()).not.toContain('owned')
    expect(hostile.subject).toContain('onerror')
    expect(problems).toEqual([])
  })

  test('a question is answered by its form, equal requests together, by the keyboard alone', async () => {
    const { page } = await enter()
    const [planned] = await server.run('planner')
    await openQuestion(page, planned!)
    await page.getByRole('combobox', { name: /warehouse/ }).selectOption({ label: 'Rotterdam' })
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    expect((await ended(page, planned!)).text).toContain('Rotterdam')
    const equal = await server.run('tagger', 3)
    await openQuestion(page, equal[0]!)
    await page.getByLabel(/All \d+ equal requests/).press('Space')
    await page.keyboard.press('a')
    await page.getByRole('dialog').getByRole('button', { name: 'Run tag_order 3 times' }).press('Enter')
    for (const run of equal) expect((await ended(page, run)).status).toBe('completed')
  })

  test('the keyboard moves through the questions, opens the palette and the help', async () => {
    const { page } = await enter()
    await server.run('mailer')
    await server.run('editor')
    await page.locator('.question').nth(1).waitFor()
    const current = (): string | null => new URL(page.url()).searchParams.get('question')
    await expect.poll(current).not.toBe(null)
    const first = current()
    await page.keyboard.press('j')
    await expect.poll(current).not.toBe(first)
    await page.keyboard.press('k')
    await expect.poll(current).toBe(first)
    await page.keyboard.press('/')
    await page.keyboard.type('write_file')
    await expect.poll(() => page.locator('.question').count()).toBe(1)
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Runs')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/runs')
  })

  test('a viewer sees everything and may decide nothing', async () => {
    const [run] = await server.run('editor')
    const { page } = await enter('/', { name: 'vic' })
    await openQuestion(page, run!)
    await expect.poll(() => page.locator('#question-detail').innerText()).toContain('it needs the role approver')
    for (const name of ['Approve', 'Edit', 'Send back', 'Reject'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true)
    expect(await page.getByRole('region', { name: 'Before and after' }).innerText()).toMatch(/14 days[^]*30 days/)
  })
})
