/**
 * Sessions, trust, versions and the system, in a real browser on a real server and a real store: what is shown is what
 * is there, what an admin does takes effect, and a viewer sees it and can do nothing.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import type { SystemDocument } from '@reeve/server'
import type { KeptRevision, TrustView } from '@reeve/server/wire'
import { launchBrowser, StudioServer, visit, type Visit } from './browser.ts'
import { furnish } from './installation.ts'

let browser: Browser
const server = new StudioServer()
const visits: Visit[] = []

beforeAll(async () => {
  await server.start()
  await furnish(server)
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

const enter = async (path: string, name = 'ann'): Promise<Page> => {
  const visited = await visit(browser, server, path, { name })
  visits.push(visited)
  await visited.page.getByRole('heading', { level: 1 }).first().waitFor()
  return visited.page
}

const pathOf = (page: Page): string => new URL(page.url()).pathname

describe('sessions', () => {
  test('each of two users of a session that is shared has a row; one opens with its own runs and their cost', async () => {
    const page = await enter('/sessions')
    const rows = page.getByRole('grid', { name: 'Sessions' }).getByRole('row').filter({ hasText: 'order-1042' })
    await expect.poll(() => rows.count()).toBe(2)
    await rows.filter({ hasText: 'mia@example.com' }).click()
    expect(pathOf(page)).toBe('/sessions/order-1042')
    const runs = page.getByRole('grid', { name: 'Runs of the session' }).getByRole('row')
    await expect.poll(() => runs.count()).toBe(6)
    await expect
      .poll(() => page.locator('.figures').innerText())
      .toMatch(/mia@example\.com[^]*Runs\s+5[^]*Tokens\s+45[^]*not known/)
    await runs.filter({ hasText: 'the warehouse does not answer' }).first().getByRole('link').click()
    expect(pathOf(page)).toMatch(/^\/runs\/run_/)
    await page.getByRole('link', { name: 'order-1042' }).click()
    await expect.poll(() => pathOf(page)).toBe('/sessions/order-1042')
  })

  test('a user is found by name, and a run that begins now appears by itself', async () => {
    const page = await enter('/sessions')
    await page.getByRole('textbox', { name: 'User' }).fill('nobody@example.com')
    await page.keyboard.press('Enter')
    await page.getByText('This user has no session').waitFor()
    await page.getByRole('textbox', { name: 'User' }).fill('eve@example.com')
    await page.keyboard.press('Enter')
    await page.getByText('This user has no session').waitFor()
    await server.run('greeter', 1, { user: 'eve@example.com', session: 'order-7' })
    const link = page.getByRole('grid', { name: 'Sessions' }).getByRole('link')
    await expect.poll(() => link.innerText()).toBe('order-7')
    await link.click()
    await expect.poll(() => page.title()).toContain('order-7')
  })
})

describe('trust', () => {
  test('a record shows its level, what is missing for the next one, and who changed it and why', async () => {
    const page = await enter('/trust')
    const row = page.getByRole('row').filter({ hasText: 'refunds' })
    await expect.poll(() => row.innerText()).toMatch(/Novice[^]*for proficient: 0 of 50/)
    await page.getByRole('grid', { name: 'Trust records' }).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await expect.poll(() => pathOf(page)).toBe('/trust/refunds')
    const history = page.getByRole('region', { name: 'Changes of the record' })
    expect(await history.innerText()).toMatch(
      /A serious incident: back to novice[^]*ann[^]*Refunded one order twice[^]*pinned-to-v1[^]*from novice to proficient[^]*Ninety days/,
    )
  })

  test('an admin sets a level with a reason and records an incident: the record has both', async () => {
    const page = await enter('/trust')
    await page.getByRole('button', { name: 'Set a level…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('parcels')
    await dialog.getByRole('combobox', { name: 'Level' }).selectOption('expert')
    expect(await dialog.getByRole('button', { name: 'Set the level' }).isDisabled()).toBe(true)
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('Checked for a year.')
    await dialog.getByRole('button', { name: 'Set the level' }).click()
    // no agent names it: the server says so, and nothing was changed
    await expect.poll(() => dialog.getByRole('alert').innerText()).toContain('unknown trust name "parcels"')
    expect(visits[0]!.problems.splice(0)).toEqual([expect.stringContaining('400')])
    await dialog.getByRole('checkbox').check()
    await dialog.getByRole('button', { name: 'Set the level' }).click()
    await expect.poll(() => pathOf(page)).toBe('/trust/parcels')
    await page.getByRole('button', { name: 'Record an incident…' }).click()
    await dialog.getByRole('combobox', { name: 'Severity' }).selectOption('serious')
    await dialog.getByRole('textbox', { name: 'What happened' }).fill('A parcel went to the wrong city.')
    await dialog.getByRole('button', { name: 'Record the incident' }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => page.locator('.facts').first().innerText()).toContain('Novice')
    const record = (await server.call('GET', '/trust/parcels')) as TrustView
    expect(record.history.slice(-2)).toMatchObject([
      { what: 'set', to: 'expert', by: 'ann', note: 'Checked for a year.' },
      { what: 'incident', severity: 'serious', to: 'novice', by: 'ann', note: 'A parcel went to the wrong city.' },
    ])
  })

  test('what was written as a reason is shown as text, with everything in it visible', async () => {
    await server.call('POST', '/trust/mails/incidents', {
      severity: 'minor',
      note: '<img src=x onerror="document.title=\'owned\'">\u202etxt.exe',
    })
    const page = await enter('/trust/mails')
    const history = page.getByRole('region', { name: 'Changes of the record' })
    await expect
      .poll(() => history.innerText())
      .toContain('<img src=x onerror="document.title=\'owned\'">\\u202etxt.exe')
    expect(await page.title()).toContain('mails')
  })

  test('a viewer sees the record, and is told which role changes it', async () => {
    const page = await enter('/trust/refunds', 'vic')
    await page.getByText('you need the role admin').waitFor()
    await page.getByRole('region', { name: 'Changes of the record' }).waitFor()
    for (const name of [/^Set/, /^Record/]) expect(await page.getByRole('button', { name }).count()).toBe(0)
    await page.goto(`${server.url}/trust`)
    await page.getByRole('grid', { name: 'Trust records' }).waitFor()
    expect(await page.getByRole('button', { name: /^Set/ }).count()).toBe(0)
  })
})

describe('versions', () => {
  const kept = async (): Promise<readonly KeptRevision[]> =>
    (await server.call('GET', '/versions?agent=greeter')) as readonly KeptRevision[]

  test('it says which version is used by default, what is kept, how two differ, and which run uses which', async () => {
    const page = await enter('/versions')
    const row = page.getByRole('row').filter({ hasText: 'greeter' })
    await expect.poll(() => row.innerText()).toMatch(/as in code[^]*v2[^]*v3[^]*1 × v1/)
    await row.click()
    await expect.poll(() => pathOf(page)).toBe('/versions/greeter')
    const versions = page.getByRole('region', { name: 'Kept versions' })
    const rowOf = (version: string) => versions.getByRole('row').filter({ hasText: version })
    expect(await rowOf('v3').innerText()).toContain('Draft')
    expect(await rowOf('v2').innerText()).toContain('Published, current')
    expect(await rowOf('v1').innerText()).toMatch(/Published before[^]*instructions[^]*ann/)
    await page.getByRole('combobox', { name: 'From' }).selectOption('v1')
    await page.getByRole('combobox', { name: 'To' }).selectOption('v2')
    expect(await page.getByRole('region', { name: 'Instructions of both versions' }).innerText()).toMatch(
      /Ask what they need\.[^]*Ask what they need, once\.[^]*Never promise a refund\./,
    )
    const runs = page.getByRole('region', { name: 'Runs and their versions' })
    expect(await runs.getByRole('row').filter({ hasText: 'pinned-to-v1' }).innerText()).toMatch(/Completed[^]*v1/)
  })

  test('an admin keeps a draft, publishes it, and takes an earlier version back', async () => {
    const page = await enter('/versions/greeter')
    await page.getByRole('button', { name: 'New version…' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('v4')
    await dialog.getByRole('textbox', { name: 'Instructions' }).fill('Greet in one word.')
    await dialog.getByRole('textbox', { name: /^Limits/ }).fill('{"turns": ')
    await dialog.getByText('This is not JSON').waitFor()
    expect(await dialog.getByRole('button', { name: 'Publish' }).isDisabled()).toBe(true)
    await dialog.getByRole('textbox', { name: /^Limits/ }).fill('{"turns": 3}')
    await dialog.getByRole('button', { name: 'Keep as a draft' }).click()
    await dialog.waitFor({ state: 'detached' })
    const row = (version: string) =>
      page
        .getByRole('region', { name: 'Kept versions' })
        .getByRole('row')
        .filter({ has: page.getByRole('rowheader', { name: version, exact: true }) })
    await expect.poll(() => row('v4').innerText()).toContain('Draft')
    await row('v4').getByRole('button', { name: 'Publish…' }).click()
    await dialog.getByRole('button', { name: 'Publish it' }).click()
    await expect.poll(() => row('v4').innerText()).toContain('Published, current')
    expect((await kept()).find(({ revision }) => revision.version === 'v4')).toMatchObject({
      status: 'published',
      current: true,
      by: 'ann',
      revision: { instructions: 'Greet in one word.', limits: { turns: 3 } },
    })
    await row('v1').getByRole('button', { name: 'Make current…' }).click()
    await dialog.getByRole('button', { name: 'Make it current' }).click()
    await expect.poll(() => row('v1').innerText()).toContain('Published, current')
    await expect.poll(() => row('v4').innerText()).toContain('Published before')
  })

  test('a run is started with a version, and uses it', async () => {
    const page = await enter('/versions/greeter')
    const row = page.getByRole('region', { name: 'Kept versions' }).getByRole('row').filter({ hasText: 'v2' })
    await row.getByRole('button', { name: 'Start a run…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Input' }).fill('hello')
    await dialog.getByRole('button', { name: 'Start the run' }).click()
    await expect.poll(() => pathOf(page)).toMatch(/^\/runs\/run_/)
    const run = pathOf(page).slice('/runs/'.length)
    await page.goto(`${server.url}/versions/greeter`)
    const used = page.getByRole('region', { name: 'Runs and their versions' }).getByRole('row').filter({ hasText: run })
    await expect.poll(() => used.innerText()).toContain('v2')
  })

  test('a viewer sees all of it, and is told which role publishes', async () => {
    const page = await enter('/versions/greeter', 'vic')
    await page.getByText('you need the role admin').waitFor()
    await page.getByRole('region', { name: 'Kept versions' }).waitFor()
    expect(await page.getByRole('button', { name: /Publish|Make current|Start a run|New version/ }).count()).toBe(0)
  })
})

describe('the list of runs', () => {
  test('a run is started with the keyboard alone, of an agent that is chosen, and is opened', async () => {
    const page = await enter('/runs')
    await page.keyboard.press('n')
    const dialog = page.getByRole('dialog', { name: 'Start a run' })
    await dialog.getByRole('combobox', { name: 'Agent' }).selectOption('greeter')
    await dialog.getByRole('textbox', { name: 'Input' }).focus()
    await page.keyboard.type('{ "not": json')
    expect(await dialog.getByRole('button', { name: 'Start the run' }).isDisabled()).toBe(true)
    await page.keyboard.press('Control+a')
    await page.keyboard.type('hello')
    await dialog.getByRole('button', { name: 'Start the run' }).press('Enter')
    await expect.poll(() => pathOf(page)).toMatch(/^\/runs\/run_/)
    const view = (await server.call('GET', pathOf(page))) as { readonly agent: string; readonly caller: object }
    expect(view).toMatchObject({ agent: 'greeter', caller: { user: 'ann' } })
  })

  test('a viewer starts none', async () => {
    const page = await enter('/runs', 'vic')
    expect(await page.getByRole('button', { name: 'Start a run…' }).count()).toBe(0)
    await page.keyboard.press('n')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

describe('the system', () => {
  test('a viewer sees engine, workers, lag and runs by status, and a run that begins now is counted', async () => {
    const page = await enter('/system', 'vic')
    await page.getByRole('heading', { name: 'Worker processes' }).waitFor()
    const { runs, installation } = (await server.call('GET', '/system')) as SystemDocument
    const workers = page.getByRole('region', { name: 'Worker processes' })
    expect(await workers.innerText()).toContain(installation!.workers[0]!.id)
    expect(await workers.innerText()).toMatch(/this server[^]*Alive/)
    expect(await page.locator('.figures').innerText()).toMatch(/Embedded[^]*Worker processes\s+1[^]*[KM]iB/)
    const waiting = page.getByRole('row').filter({ has: page.getByText('Waiting', { exact: true }) })
    expect(await waiting.count()).toBe(0)
    expect(runs.waiting).toBeUndefined()
    await server.run('tagger')
    await expect.poll(() => waiting.innerText()).toMatch(/Waiting\s+1/)
    await waiting.getByRole('link').click()
    await expect.poll(() => `${pathOf(page)}${new URL(page.url()).search}`).toBe('/runs?status=waiting')
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'tagger' }).count()).toBe(1)
  })

  test('the pages are on the rail and in the palette, by keyboard alone', async () => {
    const page = await enter('/')
    for (const name of ['Sessions', 'Trust', 'Versions', 'System']) {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Page, run or question' }).fill(`${name}`)
      await page.keyboard.press('Enter')
      await expect.poll(() => pathOf(page)).toBe(`/${name.toLowerCase()}`)
      expect(await page.title()).toContain(name)
      const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name })
      expect(await link.getAttribute('aria-current')).toBe('page')
    }
  })

  test('a person of one tenant is shown its runs by status, and no page of what tenants share', async () => {
    const page = await enter('/system', 'tess')
    await expect.poll(() => page.getByText('No runs yet').isVisible()).toBe(true)
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Runs by status'])
    const nav = page.getByRole('navigation', { name: 'Pages' })
    expect(await nav.getByRole('link').allInnerTexts()).toEqual(['Inbox', 'Runs', 'Sessions', 'System'])
  })
})
