/**
 * Talking to agents and trying changes, in a real browser on a real server and a real store: what streams is seen, what
 * asks is answered in place, and a trial makes nothing that nobody has let out.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Locator, Page } from 'playwright-core'
import { axeProblems, launchBrowser, StudioServer, visit, type View, type Visit } from './browser.ts'

let browser: Browser
const server = new StudioServer()
const visits: Visit[] = []

beforeAll(async () => {
  await server.start()
  await server.call('POST', '/versions/teller', {
    status: 'published',
    revision: { version: 'v1', instructions: 'Pay politely.' },
  })
  await server.call('POST', '/versions/teller', {
    status: 'draft',
    revision: { version: 'd1', instructions: 'Pay in a draft.' },
  })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await server.close()
})
afterEach(async () => {
  for (const { context, problems } of visits.splice(0)) {
    await context.close()
    if (problems.length > 0) throw new Error(`the console said: ${problems.join(', ')}`)
  }
})

const enter = async (path: string, options: View & { readonly name?: string } = {}): Promise<Page> => {
  const visited = await visit(browser, server, path, options)
  visits.push(visited)
  await visited.page.getByRole('heading', { level: 1 }).first().waitFor()
  return visited.page
}
const say = async (page: Page, agent: string, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: `Message to ${agent}` }).fill(text)
  await page.keyboard.press('Enter')
}
const conversation = (page: Page): Locator => page.getByRole('region', { name: 'Conversation' })
const question = (page: Page, of: string): Locator => page.getByRole('group', { name: `Question: ${of}` })
const choose = async (page: Page, label: string, value: string): Promise<void> => {
  const details = page.locator('.chat-send details')
  if ((await details.getAttribute('open')) === null) await details.locator('summary').click()
  await page.getByRole('combobox', { name: label }).selectOption(value)
}

describe('a conversation', () => {
  test('agents are listed with what they are for; an agent that is not there leads back', async () => {
    const page = await enter('/agents')
    const card = page.getByRole('listitem').filter({ hasText: 'Pays customers what they are owed.' })
    expect(await card.innerText()).toContain('pay_out')
    await card.getByRole('link', { name: 'Chat with teller' }).click()
    await page.getByText('Nothing was said to teller here yet').waitFor()
    await page.goto(`${server.url}/agents/nobody`)
    await page.getByRole('link', { name: 'See the agents that are there' }).waitFor()
  })

  test('what a worker streams is seen while it comes, in a part that folds, with its calls and their arguments', async () => {
    const page = await enter('/agents/desk')
    await say(page, 'desk', 'Write to Mia.')
    await conversation(page).getByText('I ask the writer.').waitFor()
    const worker = conversation(page).locator('.chat-worker').filter({ hasText: 'writer' })
    await worker.getByText('look_up').click()
    await expect.poll(() => worker.innerText()).toMatch(/A-1042[^]*DHL/)
    await server.open('writer')
    await worker.getByText('your parcel A-1042 was delivered').waitFor()
    expect(await conversation(page).getByText('The mail is written.').count()).toBe(0)
    await server.open('writer')
    await server.open('writer')
    await conversation(page).getByText('The mail is written.').waitFor()
    await worker.locator('summary').first().click()
    await expect.poll(() => worker.getByText('your parcel A-1042').count()).toBe(0)
  })

  test('a second turn goes on with the first; a reload and another tab show the same', async () => {
    const page = await enter('/agents/teller')
    await say(page, 'teller', 'Hello <b>there</b>')
    await conversation(page).locator('strong', { hasText: 'Hello' }).waitFor()
    await say(page, 'teller', 'Hello again')
    await conversation(page).getByText('1 messages before this one').waitFor()
    const [session, other] = [page.url(), await enter(new URL(page.url()).pathname + new URL(page.url()).search)]
    for (const each of [page, other]) {
      if (each === page) await page.goto(session)
      await conversation(each).getByText('Hello <b>there</b>').waitFor()
      await conversation(each).getByText('1 messages before this one').waitFor()
    }
    await other.getByRole('button', { name: 'New conversation' }).click()
    await other.getByRole('navigation', { name: 'Your conversations' }).getByRole('link').first().click()
    await conversation(other).getByText('Hello again').waitFor()
    expect(other.url()).toBe(session)
  })

  test('a worker’s approval is decided in place, with its exact arguments', async () => {
    const page = await enter('/agents/support')
    await say(page, 'support', 'My parcel is broken.')
    const asked = question(page, 'issue_refund')
    await asked.waitFor()
    expect(await asked.innerText()).toMatch(/support › billing[^]*A-1042[^]*240[^]*The parcel arrived damaged/)
    // typed text decides nothing
    await page.locator('body').press('a')
    await asked.getByRole('button', { name: 'Approve' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /issue_refund/ })
      .click()
    await conversation(page).getByText('Done: ').waitFor()
    await expect.poll(() => asked.count()).toBe(0)
    expect(await conversation(page).innerText()).toContain('refunded 240 for A-1042')
  })

  test('a question of code is answered by its form, and a failure says its code', async () => {
    const page = await enter('/agents/planner')
    await say(page, 'planner', 'Plan it.')
    const asked = question(page, 'Which warehouse ships the replacement?')
    await asked.getByRole('combobox').first().selectOption('Berlin')
    await asked.getByRole('button', { name: 'Answer' }).click()
    await conversation(page).getByText('planned').first().waitFor()
    await page.goto(`${server.url}/agents/breaker`)
    await say(page, 'breaker', 'Look.')
    await expect
      .poll(() => conversation(page).getByRole('alert').innerText())
      .toMatch(/warehouse[^]*agent\.failed[^]*What to do/)
  })

  test('an agent with an input schema is asked by a form', async () => {
    const page = await enter('/agents/booker')
    const form = page.getByRole('form', { name: 'Talk to booker' })
    await form
      .getByRole('spinbutton')
      .or(form.getByRole('textbox', { name: /guests/i }))
      .first()
      .fill('4')
    await form.getByRole('textbox', { name: /name/i }).last().fill('Mia')
    await form.getByRole('button', { name: 'Send' }).click()
    await conversation(page).getByText('booked').first().waitFor()
    expect(await conversation(page).innerText()).toContain('"guests":4')
  })

  test('a turn is stopped', async () => {
    const page = await enter('/agents/stepper')
    await say(page, 'stepper', 'Go.')
    await page.getByRole('button', { name: 'Stop' }).click()
    await conversation(page).getByText('Cancelled').first().waitFor()
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
  })

  test('a published version holds for a turn; a draft is tried, and nothing is paid unless a person says so', async () => {
    const page = await enter('/agents/teller')
    const before = (await server.paid()).length
    await choose(page, 'Version', 'v1')
    await say(page, 'teller', 'Pay Mia.')
    await conversation(page).getByText('By "Pay politely."').waitFor()
    expect(await server.paid()).toHaveLength(before + 1)
    await choose(page, 'Version', 'd1')
    await page.getByText('Each turn with this is a trial').waitFor()
    await say(page, 'teller', 'Pay Mia again.')
    const held = question(page, 'pay_out')
    await held.waitFor()
    expect(await held.innerText()).toMatch(/Held back: a trial[^]*mia[^]*25/)
    expect(await server.paid()).toHaveLength(before + 1)
    await held.getByRole('textbox', { name: /Result to give/ }).fill('not today')
    await held.getByRole('button', { name: 'Give this result' }).click()
    await conversation(page).getByText('By "Pay in a draft.": "not today"').waitFor()
    expect(await server.paid()).toHaveLength(before + 1)
    await page.reload()
    await conversation(page).getByText('By "Pay in a draft.": "not today"').waitFor()
    await conversation(page).getByText('By "Pay politely."').waitFor()
  })

  test('a viewer is told which role talks', async () => {
    const page = await enter('/agents/teller', { name: 'vic' })
    await page.getByText('needs the role operator').waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
  })
})

describe('trying a change', () => {
  test('two prompts side by side: outputs, tokens, cost, difference; really paid only where a person let it out', async () => {
    const page = await enter('/agents/teller/compare')
    const before = (await server.paid()).length
    await page.getByRole('textbox', { name: 'Message to teller' }).fill('Pay Mia.')
    const prompts = page.getByRole('textbox', { name: 'Instructions' })
    expect(await prompts.first().inputValue()).toBe('Pay at once.')
    await page.getByRole('combobox', { name: 'Version' }).nth(1).selectOption('v1')
    expect(await prompts.nth(1).inputValue()).toBe('Pay politely.')
    await prompts.nth(1).fill('Pay kindly.')
    expect(await page.getByRole('combobox', { name: 'Model' }).first().innerText()).toContain('openai/gpt-5-mini')
    await page.getByRole('button', { name: 'Try 2 side by side' }).click()
    const [a, b] = [page.getByRole('region', { name: 'What A did' }), page.getByRole('region', { name: 'What B did' })]
    for (const each of [a, b]) await each.getByRole('group', { name: 'Question: pay_out' }).waitFor()
    expect(await server.paid()).toHaveLength(before)
    await a.getByRole('textbox', { name: /Result to give/ }).fill('play money')
    await a.getByRole('button', { name: 'Give this result' }).click()
    await b.getByRole('button', { name: 'Really do it' }).click()
    await a.getByText('By "Pay at once.": "play money"').first().waitFor()
    await b
      .getByText(/By "Pay kindly\.": "paid/)
      .first()
      .waitFor()
    expect(await server.paid()).toHaveLength(before + 1)
    await expect.poll(() => a.innerText()).toMatch(/2,480|2\.48 ?k/i)
    const difference = page.getByRole('region', { name: 'Difference of A and B' })
    await expect.poll(() => difference.innerText()).toMatch(/Pay at once[^]*Pay kindly/)
    await page.reload()
    await page.getByRole('region', { name: 'Difference of A and B' }).waitFor()
  })

  test('a model call of a run is tried again with another prompt, beside its origin', async () => {
    const before = (await server.paid()).length
    const [run] = await server.run('teller')
    await server.ended(run!)
    expect(await server.paid()).toHaveLength(before + 1)
    const page = await enter(`/runs/${run}/journal`)
    await page.locator('.run-line').filter({ hasText: 'model.requested' }).last().click()
    await page.getByRole('button', { name: 'Try again with a change' }).click()
    const dialog = page.getByRole('dialog')
    const prompt = dialog.getByRole('textbox', { name: 'Instructions' })
    await expect.poll(() => prompt.inputValue()).toBe('Pay at once.')
    expect(await dialog.getByRole('button', { name: 'Try it' }).isDisabled()).toBe(true)
    await prompt.fill('Say less.')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('This run beside').waitFor()
    await page.getByText('Trial', { exact: true }).first().waitFor()
    await page.getByRole('tab', { name: 'Conversation' }).click()
    await page
      .getByText(/By "Say less\."/)
      .first()
      .waitFor()
    expect(await server.paid()).toHaveLength(before + 1)
    await page.goto(`${server.url}/runs`)
    await page.getByRole('row').filter({ hasText: 'teller' }).getByText('Trial', { exact: true }).first().waitFor()
  })
})

const views = [
  ['light', { scheme: 'light' }],
  ['dark', { scheme: 'dark' }],
  ['at phone width', { scheme: 'light', width: 390, height: 844 }],
] as const

describe.each(views)('%s', (_view, options) => {
  test('no page of agents has a violation or scrolls sideways', async () => {
    const page = await enter('/agents', options)
    const sound = async (where: string): Promise<void> => {
      expect([where, await axeProblems(page)]).toEqual([where, []])
      const wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      expect([where, wide]).toEqual([where, 0])
    }
    await sound('agents')
    await page.goto(`${server.url}/agents/support`)
    await page.getByText('Nothing was said to support here yet').waitFor()
    await sound('empty')
    await say(page, 'support', 'My parcel is broken.')
    await question(page, 'issue_refund').waitFor()
    await sound('question')
    await page.goto(`${server.url}/agents/teller/compare`)
    await page.getByRole('textbox', { name: 'Message to teller' }).fill('Pay Mia.')
    await page.getByRole('button', { name: 'Try 2 side by side' }).click()
    await page.getByRole('region', { name: 'What B did' }).getByRole('group', { name: 'Question: pay_out' }).waitFor()
    await sound('compare')
  }, 120_000)
})
