/**
 * The approvals inbox, in a real browser on a real server and a real store. R-16: what was shown is what is decided; K2:
 * the first decision wins.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { hostile } from './agents.ts'
import { axeProblems, launchBrowser, StudioServer, visit, type Visit } from './browser.ts'

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

  test('a rejection and a request for changes reach the agent with their words', async () => {
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
    await page.getByRole('dialog').getByRole('button', { name: 'Ask for changes' }).click()
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

  test('a question is answered by its form', async () => {
    const { page } = await enter()
    const [planned] = await server.run('planner')
    await openQuestion(page, planned!)
    await page.getByRole('combobox', { name: /warehouse/ }).selectOption({ label: 'Rotterdam' })
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    expect((await ended(page, planned!)).text).toContain('Rotterdam')
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
    for (const name of ['Approve', 'Edit', 'Ask for changes', 'Reject'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true)
    expect(await page.getByRole('region', { name: 'Before and after' }).innerText()).toMatch(/14 days[^]*30 days/)
  })
})

/** Payments that differ in order and amount. */
const payments = (count: number, from = 1_000): readonly { readonly order: string; readonly amount: number }[] =>
  Array.from({ length: count }, (_, i) => ({
    order: `A-${from + i}`,
    amount: 20 + i,
    currency: 'EUR',
    note: 'The parcel arrived damaged.',
  }))

/** The list with the payments of one batch alone, all of them there. */
const enterPayments = async (
  count: number,
  from: number,
  options: Parameters<typeof visit>[3] = {},
): Promise<Visit> => {
  const visited = await enter(`/?text=${encodeURIComponent(`"A-${`${from}`.slice(0, 2)}`)}`, options)
  await expect.poll(() => visited.page.locator('.question').count()).toBe(count)
  return visited
}
const rowOf = (page: Page, order: string) => page.locator('.question', { hasText: order })
const reviewed = (page: Page) => page.getByRole('region', { name: 'The selected requests' })

interface DecidedView {
  readonly approvals: readonly { readonly resolution?: string; readonly approver?: string; readonly comment?: string }[]
}
const decisionOf = async (run: string): Promise<DecidedView['approvals'][number]> =>
  ((await server.call('GET', `/runs/${run}`)) as DecidedView).approvals[0]!

describe('several at once', () => {
  test('rows show what is decided; by the keyboard alone several are compared, approved and recorded each by itself', async () => {
    const runs = await server.runEach('cashier', payments(5, 2_000))
    const { page, problems } = await enterPayments(5, 2_000)
    const group = page.locator('.question-group', { hasText: 'pay' })
    expect(await group.innerText()).toMatch(/pay[^]*cashier[^]*High risk[^]*5/)
    // what is the same in all of them says nothing
    expect(await rowOf(page, 'A-2003').innerText()).toMatch(/order A-2003[^]*amount 23/)
    expect(await rowOf(page, 'A-2003').innerText()).not.toMatch(/EUR|damaged/)
    await group.getByRole('button').click()
    await expect.poll(() => page.locator('.question').count()).toBe(0)
    await group.getByRole('button').click()
    await expect.poll(() => page.locator('.question').count()).toBe(5)
    const current = (): Promise<string> => page.locator('.question[data-current]').innerText()
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await expect.poll(current).toContain('A-2003')
    await page.keyboard.press('Shift+x')
    const review = reviewed(page)
    await expect.poll(() => review.getByRole('heading', { level: 1 }).innerText()).toBe('4 selected')
    // every argument: those that differ in a column, the others once
    expect(await review.getByRole('columnheader').allInnerTexts()).toEqual(
      expect.arrayContaining(['order', 'amount']) as string[],
    )
    expect(await review.getByRole('row').filter({ hasText: 'A-2002' }).innerText()).toMatch(/22/)
    expect(await review.locator('dl').innerText()).toMatch(/currency\s+EUR[^]*note\s+The parcel arrived damaged/)
    await page.keyboard.press('a')
    await page.getByRole('dialog').getByRole('button', { name: 'Run pay 4 times' }).press('Enter')
    await page.getByRole('heading', { name: 'Approved 4 of 4' }).waitFor()
    for (const [i, run] of runs.slice(0, 4).entries())
      expect(await ended(page, run)).toEqual({ status: 'completed', text: `"paid ${20 + i} for A-${2_000 + i}"` })
    for (const run of runs.slice(0, 4))
      expect(await decisionOf(run)).toMatchObject({ resolution: 'approved', approver: 'ann' })
    expect((await decisionOf(runs[4]!)).resolution).toBeUndefined()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('.question').count()).toBe(1)
    expect(await page.getByText('answered elsewhere').count()).toBe(0)
    expect(problems).toEqual([])
  })

  test('of several that are rejected one is lost to another person and one is refused: each says so', async () => {
    const runs = await server.runEach('cashier', payments(3, 3_000))
    const { page } = await enterPayments(3, 3_000)
    const { items } = (await server.call('GET', '/questions?limit=1000')) as {
      readonly items: readonly {
        readonly id: string
        readonly run: string
        readonly approval?: { readonly inputHash: string }
      }[]
    }
    const [first, second] = runs.map((run) => items.find((each) => each.run === run)!)
    await page.getByRole('checkbox', { name: 'Select all 3: pay' }).click()
    await page.keyboard.press('r')
    await page
      .getByRole('dialog')
      .getByLabel(/Reason/)
      .fill('not today')
    // between the last look and the press: bob decides one, and of another the arguments are not those that were shown
    await page.route('**/api/approvals/decisions', async (route) => {
      await server.call('POST', `/approvals/${first!.id}/decision`, { decision: 'approve' }, 'bob')
      const body = route.request().postData()!
      await route.continue({ postData: body.replace(second!.approval!.inputHash, 'of other arguments') })
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Reject 3' }).click()
    await page.getByRole('heading', { name: 'Rejected 1 of 3' }).waitFor()
    const results = page.getByRole('region', { name: 'What became of each' })
    expect(await results.innerText()).toMatch(/decided by somebody else first[^]*refused and still waits/)
    expect(await results.locator('li.lost').innerText()).toContain('A-3000')
    expect(await results.locator('li.refused').innerText()).toMatch(/A-3001[^]*other arguments/)
    expect(await results.locator('li.decided').innerText()).toContain('A-3002')
    expect(await decisionOf(runs[0]!)).toMatchObject({ resolution: 'approved', approver: 'bob' })
    expect((await decisionOf(runs[1]!)).resolution).toBeUndefined()
    expect(await decisionOf(runs[2]!)).toMatchObject({ resolution: 'rejected', approver: 'ann', comment: 'not today' })
    await expect.poll(() => page.locator('.question').allInnerTexts()).toEqual([expect.stringContaining('A-3001')])
  })

  test('while one selects nothing moves: what comes waits, what is decided elsewhere says so and is left out', async () => {
    const runs = await server.runEach('cashier', payments(3, 4_000))
    const { page } = await enterPayments(3, 4_000)
    await rowOf(page, 'A-4001').getByRole('checkbox').click()
    await rowOf(page, 'A-4002').getByRole('checkbox').click()
    const before = await rowOf(page, 'A-4002').boundingBox()
    await server.runEach('cashier', payments(2, 4_050))
    await page.getByRole('button', { name: 'Show 2 new questions' }).waitFor()
    const { items } = (await server.call('GET', '/questions?limit=1000')) as {
      readonly items: readonly { readonly id: string; readonly run: string }[]
    }
    const other = items.find(({ run }) => run === runs[1])!
    await server.call('POST', `/approvals/${other.id}/decision`, { decision: 'approve' }, 'bob')
    await expect.poll(() => rowOf(page, 'A-4001').innerText()).toContain('no longer waits')
    expect(await page.locator('.queue').getByRole('status').first().innerText()).toContain('1 answered elsewhere')
    expect(await reviewed(page).innerText()).toMatch(/1 selected[^]*One of the selected was answered elsewhere/)
    // the bar with the new ones is above the list
    const after = await rowOf(page, 'A-4002').boundingBox()
    const bar = await page.locator('.arrived').boundingBox()
    expect(after!.y - bar!.height).toBe(before!.y)
    await page.keyboard.press('Escape')
    await page.mouse.move(900, 500)
    await expect.poll(() => page.locator('.question').count()).toBe(4)
    expect(await page.getByRole('button', { name: /new question/ }).count()).toBe(0)
  })

  test('critical risk and four eyes are not selected; too long a difference is not decided together', async () => {
    await server.run('payer')
    await server.run('mailer')
    const { page } = await enter()
    for (const tool of ['wire_money', 'send_mail']) {
      const row = page.locator('.question', { hasText: tool }).first()
      expect(await row.getByRole('checkbox').isDisabled()).toBe(true)
      await row.getByRole('button').click()
      await page.keyboard.press('x')
    }
    await page
      .getByText(/not decided together with others: critical risk is decided one at a time/)
      .first()
      .waitFor()
    expect(await page.locator('[data-chosen]').count()).toBe(0)
    const [one] = payments(1, 5_000)
    await server.runEach('cashier', [
      { ...one, note: 'a'.repeat(700) },
      { ...one, note: 'b'.repeat(700) },
    ])
    await page.getByRole('searchbox').fill('"A-50')
    await expect.poll(() => page.locator('.question').count()).toBe(2)
    await page.getByRole('checkbox', { name: 'Select all 2: pay' }).click()
    expect(await reviewed(page).innerText()).toContain('"note" differs and is too long to compare here')
    expect(await page.getByRole('button', { name: 'Approve 2' }).isDisabled()).toBe(true)
    await page.keyboard.press('a')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('at phone width the selected are reviewed as cards, and decided', async () => {
    const runs = await server.runEach('cashier', payments(2, 7_000))
    const { page } = await enterPayments(2, 7_000, { width: 390, height: 844 })
    await page.getByRole('checkbox', { name: 'Select all 2: pay' }).click()
    await page.getByRole('button', { name: 'Review' }).click()
    expect(await reviewed(page).innerText()).toMatch(/order\s*A-7000|A-7000/)
    expect(await axeProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Approve 2' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Run pay 2 times' }).click()
    await page.getByRole('heading', { name: 'Approved 2 of 2' }).waitFor()
    expect(await axeProblems(page)).toEqual([])
    for (const run of runs) expect((await ended(page, run)).status).toBe('completed')
  })

  test('of a thousand that wait few rows are drawn, at most a hundred are decided at once, and only after all were in sight', async () => {
    await server.cancelAll()
    for (let i = 0; i < 10; i += 1) await server.runEach('cashier', payments(100, 60_000 + 100 * i))
    const { page } = await enter(`/?text=${encodeURIComponent('"A-60')}`)
    const group = page.locator('.question-group', { hasText: 'pay' })
    await expect.poll(() => group.innerText()).toMatch(/1,000$/)
    expect(await page.locator('.question').count()).toBeLessThan(60)
    expect(await page.locator('.rail .count').innerText()).toMatch(/^999\+/)
    await page.getByRole('checkbox', { name: 'Select all 1000: pay' }).click()
    await page.getByText('At most 100 are decided at once').waitFor()
    const approve = page.getByRole('button', { name: 'Approve 100' })
    await page.getByRole('button', { name: /Show \d+ more before deciding/ }).waitFor()
    expect(await approve.isDisabled()).toBe(true)
    await expect
      .poll(async () => {
        await page.keyboard.press('a')
        return page.getByRole('dialog', { name: 'Approve 100' }).count()
      })
      .toBe(1)
    await page.getByRole('dialog').getByRole('button', { name: 'Run pay 100 times' }).click()
    await page.getByRole('heading', { name: 'Approved 100 of 100' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => group.innerText()).toMatch(/900$/)
    await page.getByRole('searchbox').fill('"A-60950')
    await expect.poll(() => page.locator('.question').count()).toBe(1)
  })
})
