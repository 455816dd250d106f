/**
 * The page of a run, in a real browser on a real server and a real store: what the agents do is seen as they do it, and
 * what an operator does is done.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Locator, Page } from 'playwright-core'
import { launchBrowser, StudioServer, visit, type Visit } from './browser.ts'
import { dotPicture } from './run-agents.ts'

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
  // what still waits at a door would take the opening that is meant for the next
  await server.cancelAll()
})

/** Starts a run of this agent and opens it. */
const opened = async (agent: string, tab = ''): Promise<{ readonly page: Page; readonly run: string } & Visit> => {
  const [run = ''] = await server.run(agent)
  return { ...(await look(run, tab)), run }
}
const look = async (run: string, tab = '', name = 'ann'): Promise<Visit> => {
  const visited = await visit(browser, server, `/runs/${run}${tab}`, { name })
  visits.push(visited)
  await visited.page.locator('.run-title').waitFor()
  return visited
}
const json = async <T>(page: Page, path: string): Promise<T> =>
  (await page.evaluate(async (at) => (await fetch(at)).json(), path)) as T
const ended = (page: Page, run: string): Promise<{ readonly status: string; readonly outcome: object }> =>
  json(page, `/api/runs/${run}/outcome?waitMs=25000`)

const tab = (page: Page, name: string): Promise<void> => page.getByRole('tab', { name }).click()
const agentOf = (page: Page, name: string): Locator =>
  page.getByRole('treeitem').filter({ has: page.locator('.run-agent-name', { hasText: new RegExp(`^${name}$`) }) })
const control = (page: Page, name: string): Locator =>
  page.getByRole('toolbar', { name: 'Control of this run' }).getByRole('button', { name })
const dialog = (page: Page): Locator => page.getByRole('dialog')
const status = (page: Page): Locator => page.locator('.run-title .badge').first()
const shows = async (place: Locator, text: string | RegExp): Promise<void> => {
  await expect.poll(() => place.innerText()).toMatch(text)
}

describe('a run, live', () => {
  test('is started, asks, is approved in the inbox, and its end is seen in the tree without a reload', async () => {
    const { page, problems } = await look((await server.run('greeter'))[0]!)
    const started = (await page.evaluate(async () =>
      (
        await fetch('/api/runs', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'x-reeve': '1' },
          body: JSON.stringify({ agent: 'support', input: 'A parcel arrived damaged.' }),
        })
      ).json(),
    )) as { readonly run: string }
    await page.goto(`${server.url}/runs/${started.run}`)
    await shows(agentOf(page, 'billing'), "waits for an approver's decision")
    await shows(agentOf(page, 'support'), 'waits for billing')
    expect(await page.getByRole('tab', { name: 'Overview' }).innerText()).toContain('1')
    const { page: other } = await look(started.run, '', 'bob')
    await other.getByRole('link', { name: 'Answer' }).click()
    await other.getByRole('button', { name: 'Approve' }).click()
    await dialog(other).getByRole('button', { name: 'Run issue_refund' }).click()
    await shows(agentOf(page, 'billing'), 'Completed')
    await shows(agentOf(page, 'support'), 'Completed')
    await shows(status(page), 'Completed')
    await shows(page.getByRole('region', { name: 'Overview', exact: true }), 'Done: refunded 240 for A-1042')
    expect(problems).toEqual([])
  })

  test('text streams into the conversation; what is reserved stands beside what is spent, until the call has ended', async () => {
    const { page, run, problems } = await opened('desk')
    await shows(agentOf(page, 'writer'), 'asks acme/quill-2')
    const budgets = page.locator('.run-head-budgets')
    await shows(budgets, /9,020 of 60,000 tokens/)
    await shows(budgets, /[\d,]+ reserved/)
    expect(await budgets.getByRole('img').first().getAttribute('aria-label')).toMatch(
      /^9,020 of 60,000 tokens spent, [\d,]+ reserved, [\d,]+ left$/,
    )
    await agentOf(page, 'writer').click()
    await server.open('writer')
    await shows(page.getByRole('region', { name: 'Overview', exact: true }), 'your parcel A-1042 was delivered')
    await tab(page, 'Conversation')
    const conversation = page.getByRole('list', { name: 'Conversation' })
    await shows(conversation, 'your parcel A-1042 was delivered')
    expect(await conversation.innerText()).not.toContain('on Monday')
    // who comes later sees what was said before
    const { page: other } = await look(run, '', 'bob')
    await agentOf(other, 'writer').click()
    await shows(other.getByRole('region', { name: 'Overview', exact: true }), 'your parcel A-1042 was delivered')
    await server.open('writer')
    await shows(conversation, 'was delivered on Monday. We are sorry that it was damaged')
    expect(await page.locator('.run-caret').count()).toBe(1)
    await server.open('writer')
    await shows(conversation, 'a new one is on its way')
    // the call has ended: the text is that of the journal, once
    await expect.poll(() => page.locator('.run-caret').count()).toBe(0)
    expect((await conversation.innerText()).split('Dear Mia').length).toBe(2)
    await shows(status(page), 'Completed')
    await shows(budgets, /18,040 of 60,000 tokens/)
    expect(await budgets.innerText()).not.toContain('reserved')
    await tab(page, 'Cost')
    await shows(page.getByRole('region', { name: 'Cost', exact: true }), '$0.046')
    await shows(page.getByRole('region', { name: 'Usage of each agent and model' }), /writer\s+acme\/quill-2\s+2/)
    expect(problems).toEqual([])
  })

  test('pause holds what would begin next, and resume lets it go on', async () => {
    const { page, run } = await opened('stepper')
    await shows(agentOf(page, 'stepper'), 'does first')
    await control(page, 'Pause').click()
    await dialog(page).getByLabel('Reason').fill('the supplier has called')
    await dialog(page).getByRole('button', { name: 'Pause the run' }).click()
    await shows(page.locator('.run-head'), /Paused by ann for .*: the supplier has called/)
    await server.open('stepper')
    await shows(status(page), /^Paused/)
    await shows(agentOf(page, 'stepper'), 'second begins when the run goes on')
    await control(page, 'Resume').click()
    await dialog(page).getByRole('button', { name: 'Resume the run' }).click()
    await shows(agentOf(page, 'stepper'), 'does second')
    await server.open('stepper')
    expect(await ended(page, run)).toMatchObject({ status: 'completed' })
  })

  test('cancel ends the run, says who and why, and offers a retry', async () => {
    const { page, run } = await opened('stepper')
    await shows(agentOf(page, 'stepper'), 'does first')
    await control(page, 'Cancel').click()
    await dialog(page).getByLabel('Reason').fill('not needed')
    await dialog(page).getByRole('button', { name: 'Cancel the run' }).click()
    await shows(status(page), 'Cancelled')
    await shows(page.getByRole('region', { name: 'Overview', exact: true }), 'Cancelled: not needed')
    expect(await ended(page, run)).toMatchObject({ status: 'cancelled' })
    expect(await control(page, 'Cancel').count()).toBe(0)
    // where it stood, and no word of what nobody can do any more
    await tab(page, 'Take over')
    const place = page.getByRole('region', { name: 'Take over' })
    await shows(place, 'The run has ended, so there is nothing to take over.')
    expect(await place.innerText()).not.toMatch(/hand it back|hand the run back|Next:/)
    await control(page, 'Retry').click()
    await shows(dialog(page), 'This run stays as it is.')
    await dialog(page).getByRole('button', { name: 'Retry the run' }).click()
    await expect.poll(() => new URL(page.url()).pathname).not.toContain(run)
    await shows(page.locator('.run-head'), `forked from ${run}`)
  })

  test('a viewer sees all of it and has no controls', async () => {
    const [run = ''] = await server.run('research')
    const { page } = await look(run, '/team', 'vic')
    await shows(page.getByRole('region', { name: 'Team', exact: true }), 'find-suppliers')
    for (const name of ['Recruit', 'Retire', 'Send']) expect(await page.getByRole('button', { name }).count()).toBe(0)
    expect(await page.getByRole('toolbar').count()).toBe(0)
    await tab(page, 'Take over')
    await shows(page.getByRole('region', { name: 'Take over' }), 'In flight (2)')
    expect(await page.getByRole('button', { name: 'Complete by hand' }).count()).toBe(0)
  })
})

describe('a planned team', () => {
  test('is taken over, a step completed by hand, its plan edited, handed back, and ends as edited', async () => {
    const { page, run, problems } = await opened('research')
    await shows(agentOf(page, 'scout'), 'asks acme/quill-2')
    await control(page, 'Take over').click()
    await dialog(page).getByLabel('Reason').fill('I know the suppliers')
    await dialog(page).getByRole('button', { name: 'Take over the run' }).click()
    const place = page.getByRole('region', { name: 'Take over' })
    await shows(place, 'ann has had this run')
    await shows(page.locator('.run-head'), /ann has had this run for .*: I know the suppliers/)
    await shows(place, 'In flight (2)')
    const step = place.getByRole('listitem').filter({ hasText: 'ask-customers' }).first()
    await step.getByRole('button', { name: 'Complete by hand' }).click()
    await dialog(page).getByLabel('Result').fill('they miss a spare parts list')
    await dialog(page).getByRole('button', { name: 'Complete the step' }).click()
    await shows(place, 'Done (1)')
    await shows(place, 'by ann')

    const report = page.getByRole('group', { name: 'write-report', exact: true })
    await report.getByLabel('What is to be done').fill('Write one page about spare parts.')
    await page.getByRole('button', { name: 'Add a task' }).click()
    const added = page.locator('fieldset.run-plan-task').last()
    await added.getByLabel('Task', { exact: true }).fill('proof-read')
    await added.getByRole('combobox', { name: 'Role' }).selectOption('drafter')
    await added.getByLabel('What is to be done').fill('Read it once more.')
    await added.getByRole('checkbox', { name: 'write-report' }).check()
    await place.getByRole('button', { name: 'Hand back' }).click()
    await shows(dialog(page), 'proof-read')
    await dialog(page).getByRole('button', { name: 'Hand back with this plan' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await shows(status(page), /Running/)
    await server.open('scout')
    await shows(agentOf(page, 'drafter'), 'does draft')
    await server.open('drafter')
    await shows(page.getByRole('tree'), /drafter_2|proof-read/)
    await server.open('drafter')
    const { status: how, outcome } = await ended(page, run)
    expect(how).toBe('completed')
    for (const text of ['they miss a spare parts list', 'one page about spare parts', 'Read it once more'])
      expect(JSON.stringify(outcome)).toContain(text)
    await tab(page, 'Team')
    await shows(page.getByRole('region', { name: 'Team', exact: true }), '4 of 4 done')
    expect(problems).toEqual([])
  })

  test('a run that is taken over is finished by hand', async () => {
    const { page, run } = await opened('stepper')
    await control(page, 'Take over').click()
    await dialog(page).getByLabel('What is under way').selectOption('now')
    await dialog(page).getByRole('button', { name: 'Take over the run' }).click()
    await page.getByRole('button', { name: 'Finish by hand' }).click()
    await dialog(page).getByLabel('Result').fill('{"made": "by hand"}')
    await dialog(page).getByRole('button', { name: 'Finish the run' }).click()
    expect(await ended(page, run)).toMatchObject({ status: 'completed', outcome: { output: { made: 'by hand' } } })
    await tab(page, 'Overview')
    await shows(page.getByRole('region', { name: 'Overview', exact: true }), 'Given by ann')
  })

  test('is written to; a member is recruited and one is retired; the mailbox shows what was read', async () => {
    const { page, run, problems } = await opened('research', '/team')
    const team = page.getByRole('region', { name: 'Team', exact: true })
    await shows(team, 'Members (3)')
    await shows(team, 'I have begun with the interviews.')
    await page.getByLabel('To', { exact: true }).selectOption('interviewer_1')
    await page.getByLabel('Message', { exact: true }).fill('Ask about spare parts, too.')
    await page.getByRole('button', { name: 'Send' }).click()
    const mail = team.getByRole('listitem').filter({ hasText: 'Ask about spare parts' })
    await shows(mail, /ann\s+to\s+interviewer_1/)
    await shows(mail, 'read')
    // the form is empty again, for the next message
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('')

    await team.getByRole('button', { name: 'Recruit' }).click()
    await dialog(page).getByLabel('Role').fill('drafter')
    await dialog(page).getByLabel('Work').fill('Draft the list of spare parts.')
    await dialog(page).getByRole('button', { name: 'Recruit' }).click()
    await shows(team, 'Members (4)')
    const recruit = team.getByRole('listitem').filter({ hasText: 'recruited by ann' }).first()
    await shows(recruit, /Running/)
    await recruit.getByRole('button', { name: 'Retire' }).click()
    await dialog(page)
      .getByRole('checkbox', { name: /At once/ })
      .check()
    await dialog(page).getByLabel('Reason').fill('the list is there')
    await dialog(page).getByRole('button', { name: 'Retire the member' }).click()
    await shows(recruit, /Retired at once by ann: the list is there/)

    await page.getByRole('button', { name: /write-report/ }).click()
    await shows(page.locator('.run-task-detail'), 'Write the report on suppliers and customers.')
    const view = await json<{ readonly activations: readonly { readonly agent: string }[] }>(page, `/api/runs/${run}`)
    expect(view.activations.map(({ agent }) => agent)).toContain('drafter')
    expect(problems).toEqual([])
  })
})

describe('a run that has ended', () => {
  const overview = (page: Page): Locator => page.getByRole('region', { name: 'Overview', exact: true })
  const startedWith = async (agent: string, input: unknown): Promise<string> => {
    const { run } = (await server.call('POST', '/runs', { agent, input })) as { readonly run: string }
    await server.ended(run)
    return run
  }

  test('a failure is explained once: its code, whose fault, who failed, the answers that did not fit and what was told', async () => {
    const { page, problems } = await look(await startedWith('workshop', 'What does it cost? <b>Please</b>.'))
    await shows(page.getByRole('region', { name: 'Input' }), 'What does it cost? <b>Please</b>.')
    const place = overview(page)
    await shows(place, /Failed\s+workshop › clerk › estimator/)
    await shows(place, /Whose fault\s+the model, or an unclear schema/)
    await shows(place, /The answer that did not fit\s+\{"total":12\}\s+"currency" is missing/)
    expect((await page.locator('main').innerText()).split('does not have the required form').length).toBe(2)
    await place.getByText('The 2 answers before').click()
    await shows(place, /About twelve euros, I think\.\s+the answer is not JSON\s+Told: Your answer does not have/)
    await place.getByRole('link', { name: 'What it means' }).click()
    await shows(page.locator('main'), /output\.invalid[^]*Whose fault\s+the model, or an unclear schema/)
    await page.getByRole('link', { name: 'All errors' }).click()
    await page.getByRole('link', { name: 'model.rate-limited' }).click()
    await shows(page.locator('main'), 'Reeve repeats the step by itself')
    await page.goBack()
    await page.goBack()
    await page.goBack()
    await overview(page).getByRole('button', { name: 'Its conversation' }).click()
    const conversation = page.getByRole('list', { name: 'Conversation' })
    await expect.poll(() => conversation.locator('.run-entry.correction').count()).toBe(2)
    await shows(conversation, /Told that its answer does not fit[^]*"total" must be a number/)
    await shows(conversation, /Failed[^]*"currency" is missing/)
    expect(await conversation.innerText()).not.toContain('ends')
    await page.locator('.run-head').getByRole('link', { name: 'Why it failed' }).click()
    await shows(overview(page), 'output.invalid')
    expect(problems).toEqual([])
  })

  test('Markdown of a model is drawn and does nothing; the text as it was written is one press away', async () => {
    const { page, problems } = await look(await startedWith('gazette', 'Write.'))
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    const place = overview(page)
    await place.getByRole('heading', { name: 'Delivery times' }).waitFor()
    await shows(place.getByRole('row', { name: /Boreal/ }), /Boreal\s+5\s+9\.80/)
    expect(await page.locator('main :is(img, script, iframe, [onerror], [onclick])').count()).toBe(0)
    const links = await place.locator('.markdown a').all()
    expect(links.length).toBeGreaterThan(4)
    for (const link of links) {
      expect(await link.getAttribute('href')).toMatch(/^https:/)
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
      expect(await link.getAttribute('target')).toBe('_blank')
    }
    await shows(place, 'https://bank.example.com (https://evil.example.com/login)')
    expect(await place.locator('.markdown mark.escape').allInnerTexts()).toContain('\\u0430')
    await place.getByRole('button', { name: 'Raw text' }).click()
    await shows(place, '| Alba | 3 | 12.50 |')
    await place.getByRole('button', { name: 'Formatted' }).click()
    await place.getByRole('table').waitFor()
    expect(await page.title()).not.toContain('owned')
    expect(asked.filter((url) => !url.startsWith(server.url))).toEqual([])
    expect(problems).toEqual([])
  })

  test('a picture of a result is drawn; what is none, or is elsewhere, is named and loads nothing', async () => {
    const { page, problems } = await look(await startedWith('sketcher', 'Draw.'), '?tab=conversation')
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.reload()
    await tab(page, 'Conversation')
    const conversation = page.getByRole('list', { name: 'Conversation' })
    await shows(conversation, 'That is all.')
    const pictures = conversation.locator('img')
    await expect.poll(() => pictures.count()).toBe(1)
    expect(await pictures.getAttribute('src')).toBe(`data:image/png;base64,${dotPicture}`)
    await expect
      .poll(() => pictures.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(1)
    for (const name of ['dot.png', 'vector.svg', 'vector.png', 'page.png', 'page.html', 'answer.png'])
      await shows(conversation, name)
    await shows(conversation, 'image/png, at evil.example.com')
    expect(await page.locator('main :is(script, iframe, object, embed, svg[onload])').count()).toBe(0)
    expect(await page.title()).not.toContain('owned')
    expect(asked.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:'))).toEqual([])
    expect(problems).toEqual([])
  })

  test('long texts open in place, to their ends', async () => {
    const { page, problems } = await look(await startedWith('novelist', `${'Please write. '.repeat(800)}The end.`))
    const input = page.getByRole('region', { name: 'Input' })
    expect(await input.innerText()).not.toContain('The end.')
    await input.getByRole('button', { name: 'Show all' }).click()
    await shows(input, 'The end.')
    const place = overview(page)
    await place.getByRole('button', { name: /^Show all/ }).click()
    await place.getByRole('button', { name: /^Show (?:all|more)/ }).click()
    await place.getByRole('heading', { name: 'Chapter 5' }).waitFor({ state: 'attached' })
    await place.getByRole('button', { name: 'Show less' }).last().click()
    await place.getByRole('heading', { name: 'Chapter 5' }).waitFor({ state: 'detached' })
    expect(problems).toEqual([])
  })

  test('of a planned team of nine the tasks are told apart, internal steps are folded and named; at phone width too', async () => {
    const run = await startedWith('fleet', 'Move.')
    const { page, problems } = await look(run, '/timeline')
    await shows(page.locator('.run-bar'), '19 bars')
    await shows(page.locator('.run-lanes'), 'customs · specialist')
    await page.getByRole('button', { name: 'Table' }).click()
    const table = page.getByRole('grid', { name: 'Timeline' })
    await shows(table, 'rule/specialist')
    expect(await table.innerText()).not.toMatch(/gate|planning\/plan/)
    await page.getByRole('button', { name: /^Internal steps \(\d+\)$/ }).click()
    await shows(table, 'Checks which tasks may begin')
    await page.goto(`${server.url}/runs/${run}/journal?row=1`)
    const entry = page.getByRole('complementary')
    await shows(entry, /Address\s+!plan\.created/)
    expect(await entry.innerText()).not.toContain('%21')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${server.url}/runs/${run}`)
    await page.getByRole('treeitem').nth(5).waitFor()
    const [tree, detail] = await Promise.all([
      page.getByRole('region', { name: 'Agents (10)' }).boundingBox(),
      page.getByRole('region', { name: 'fleet', exact: true }).boundingBox(),
    ])
    expect(detail!.y).toBeGreaterThanOrEqual(tree!.y + tree!.height)
    const last = await page.getByRole('treeitem').last().boundingBox()
    await page.getByRole('tree').focus()
    await page.keyboard.press('End')
    await shows(page.getByRole('region', { name: 'specialist', exact: true }), /Task\s+review/)
    expect(last).not.toBe(null)
    expect(problems).toEqual([])
  })

  test('without a model it has no cost, and says so; a run that works says what will be there', async () => {
    const { page } = await look(await startedWith('walker', { steps: 3 }), '/cost')
    await shows(page.getByRole('tabpanel'), 'No model was called\n')
    expect(await page.getByRole('tabpanel').innerText()).not.toContain('yet')
    const { page: other } = await opened('stepper', '/cost')
    await shows(other.getByRole('tabpanel'), 'No model was called yet')
  })
})

describe('what is recorded', () => {
  test('a run is forked from an entry of its journal, and both stand side by side', async () => {
    const { page, run, problems } = await opened('desk')
    for (let i = 0; i < 3; i++) await server.open('writer')
    await shows(status(page), 'Completed')
    await tab(page, 'Journal')
    const journal = page.getByRole('grid', { name: /^Journal, \d+ entries/ })
    await page.getByLabel('Kind of entry').selectOption('tool')
    await expect.poll(() => journal.getByRole('row').count()).toBe(1)
    await shows(journal, 'look_up')
    await page.getByLabel('Kind of entry').selectOption('step')
    await journal.getByRole('row').filter({ hasText: 'turn/call/look_up' }).click()
    const entry = page.getByRole('complementary')
    await shows(entry, 'step.settled')
    await entry.getByRole('button', { name: 'Fork from here' }).click()
    await dialog(page).getByLabel('What is different').selectOption('outcome')
    await dialog(page).getByLabel('The outcome instead').fill('{"status":"completed","output":{"state":"lost"}}')
    await dialog(page).getByRole('button', { name: 'Fork the run' }).click()
    await expect.poll(() => new URL(page.url()).pathname).not.toContain(run)
    await shows(page.locator('.run-head'), `forked from ${run}`)
    for (let i = 0; i < 3; i++) await server.open('writer')
    await shows(status(page), 'Completed')
    await tab(page, 'Journal')
    await page.getByRole('button', { name: 'Compare with its origin' }).click()
    const differences = page.getByRole('region', { name: 'Differences' })
    await shows(differences, 'first difference')
    await differences.getByRole('button').first().click()
    await shows(differences.getByRole('region', { name: /The event of this run/ }), 'lost')
    expect(problems).toEqual([])
  })

  test('the journal is searched and followed; an entry leads to the conversation at its moment', async () => {
    const { page } = await opened('desk', '/journal')
    await page.getByLabel('Search in the journal').fill('delivered')
    const journal = page.getByRole('grid', { name: /^Journal, \d+ entries/ })
    await shows(journal, 'look_up')
    await expect.poll(() => journal.getAttribute('aria-rowcount')).toBe('1')
    await journal.focus()
    await page.keyboard.press('ArrowDown')
    await shows(page.getByRole('complementary'), 'delivered')
    await page.getByRole('complementary').getByRole('button', { name: 'Conversation' }).click()
    await shows(page.locator('.run-entry.shown'), 'delivered')
    for (let i = 0; i < 3; i++) await server.open('writer')
    await shows(status(page), 'Completed')
  })

  test('the audit says who did what, and that its chain is whole; it is saved as a document', async () => {
    const { page, run } = await opened('support')
    await page.getByRole('link', { name: 'Answer' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog(page).getByRole('button', { name: 'Run issue_refund' }).click()
    await ended(page, run)
    await page.goto(`${server.url}/runs/${run}/audit`)
    const audit = page.getByRole('grid', { name: 'Audit' })
    await shows(audit, /approval\.\w+[^]*ann/)
    await shows(page.locator('.run-bar'), /The chain of \d+ entries is whole\. It covers the whole run\./)
    await audit.getByRole('row').filter({ hasText: 'ann' }).first().click()
    await shows(dialog(page), 'Hash')
    await page.keyboard.press('Escape')
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(saved.suggestedFilename()).toBe(`audit-${run}.json`)
  })

  test('the timeline has a bar for each call, chosen and opened by the keyboard; its table has the same', async () => {
    const { page, run } = await opened('desk', '/timeline')
    for (let i = 0; i < 3; i++) await server.open('writer')
    await shows(status(page), 'Completed')
    const { spans } = await json<{ readonly spans: readonly object[] }>(page, `/api/runs/${run}/spans?after=0`)
    await shows(page.locator('.run-bar'), `${spans.length} bars`)
    await page.getByRole('group', { name: /^Timeline of the run/ }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => new URL(page.url()).searchParams.get('span')).not.toBe(null)
    await page.getByRole('button', { name: 'Table' }).click()
    const table = page.getByRole('grid', { name: 'Timeline' })
    expect(await table.getAttribute('aria-rowcount')).toBe(`${spans.length + 1}`)
    await shows(table, /look_up/)
  })
})

test('by the keyboard alone: from the list to the run, through its tabs and tree, to the approval and its end', async () => {
  const [run = ''] = await server.run('support')
  const { page } = await visit(browser, server, '/runs')
  visits.push({ page, context: page.context(), problems: [] })
  const grid = page.getByRole('grid', { name: 'Runs' })
  await shows(grid, run)
  const tabTo = async (isThere: () => Promise<boolean>): Promise<void> => {
    for (let presses = 0; presses < 60; presses++) {
      if (await isThere()) return
      await page.keyboard.press('Tab')
    }
    throw new Error('the keyboard does not reach it')
  }
  const focused = async (what: string): Promise<boolean> => (await page.locator(`${what}:focus`).count()) === 1
  await tabTo(() => focused('[role=grid]'))
  await page.keyboard.press('Home')
  await page.keyboard.press('Enter')
  await shows(page.locator('.run-head'), run)
  for (const [key, path] of [
    ['2', 'timeline'],
    ['6', 'journal'],
    ['1', 'overview'],
  ] as const) {
    await page.keyboard.press(key)
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/runs/${run}/${path}`)
  }
  await tabTo(() => focused('[role=tree]'))
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => agentOf(page, 'billing').getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => page.getByRole('treeitem').count()).toBe(1)
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => page.getByRole('treeitem').count()).toBe(2)
  await tabTo(() => focused('a[href^="/?question="]'))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'issue_refund' }).waitFor()
  await page.keyboard.press('a')
  await dialog(page).waitFor()
  await tabTo(() => focused('dialog footer button:last-child'))
  await page.keyboard.press('Enter')
  expect(await ended(page, run)).toMatchObject({ status: 'completed' })
  // as Alt and the left arrow, which a headless browser does not know
  await page.goBack()
  await shows(status(page), 'Completed')
})

test('kill -9 during an effect that is done once: the page says that the server is away, and then asks what is true', async () => {
  const { page, run } = await opened('charger')
  await shows(agentOf(page, 'charger'), 'runs charge_card')
  await server.kill()
  await shows(page.locator('.run-title'), 'the server is away, reconnecting')
  // what was known is still there to be read
  expect(await agentOf(page, 'charger').count()).toBe(1)
  await server.start()
  const details = page.getByRole('region', { name: 'Overview', exact: true })
  await shows(details, 'Did charge_card happen?')
  expect(await page.locator('.run-title').innerText()).not.toContain('away')
  await shows(details.locator('.bytes'), /"amount": 12/)
  await shows(agentOf(page, 'charger'), 'waits for an operator: did charge_card happen?')
  await details.getByLabel('What it answered').fill('charged 12')
  await details.getByRole('button', { name: 'It happened' }).click()
  expect(await ended(page, run)).toMatchObject({ status: 'completed', outcome: { output: 'charged 12' } })
  await shows(status(page), 'Completed')
})
