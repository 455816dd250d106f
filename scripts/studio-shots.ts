/**
 * Pictures of the studio, of real runs on a real server in a real browser: `npm run studio:shots -- <folder>`. Those of
 * the documentation are written by `npm run studio:shots -- docs/images docs`.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { launchBrowser, StudioServer, visit, type View } from '../packages/studio/test/browser.ts'
import { pastInput } from '../packages/studio/test/past-agents.ts'
import { furnish } from '../packages/studio/test/installation.ts'
import { setup } from '../packages/studio/test/setup.ts'

const [folder = 'studio-shots', which] = process.argv.slice(2)
const out = resolve(folder)
const views: Readonly<Record<string, View>> = {
  light: { scheme: 'light', width: 1_360, height: 850 },
  dark: { scheme: 'dark', width: 1_360, height: 850 },
  phone: { scheme: 'light', width: 390, height: 844 },
}

setup()
mkdirSync(out, { recursive: true })
const server = new StudioServer()
// weeks of work, so that numbers over time have something to say
await server.past(24, 60)
await server.start()
const browser = await launchBrowser()
for (const agent of ['greeter', 'editor', 'mailer', 'payer', 'planner', 'support', 'breaker']) await server.run(agent)
await server.runEach(
  'cashier',
  [48, 129.9, 15, 240].map((amount, i) => ({ order: `A-${1_051 + 7 * i}`, amount, currency: 'EUR' })),
)
// a team at work, and a writer in the middle of a mail
const [team = ''] = await server.run('research')
const [desk = ''] = await server.run('desk')
const [newsroom = ''] = await server.run('newsroom')
const [failed = ''] = await server.run('workshop')
await server.ended(failed)
await furnish(server)
for (let i = 0; i < 6; i++)
  for (const agent of i % 3 === 1 ? ['concierge', 'invoicer'] : ['concierge'])
    await server.call('POST', '/runs', { agent, input: pastInput(agent, 98 + i), user: 'mia@example.com' })
// all of it is in the index
while (((await server.call('GET', '/totals')) as { readonly behind: number }).behind > 0) await setTimeout(100)
const paths: Readonly<Record<string, string>> =
  which === 'docs'
    ? {
        inbox: '/',
        runs: '/runs',
        causes: '/runs?view=causes',
        metrics: '/metrics?span=month',
        run: `/runs/${desk}`,
        failure: `/runs/${failed}`,
        timeline: `/runs/${newsroom}/timeline`,
        chat: '/agents/support',
        compare: '/agents/teller/compare',
      }
    : {
        metrics: '/metrics?span=month',
        causes: '/runs?view=causes',
        failure: `/runs/${failed}`,
        agents: '/agents',
        chat: '/agents/support',
        compare: '/agents/teller/compare',
        inbox: '/',
        runs: '/runs',
        ...Object.fromEntries(
          ['overview', 'timeline', 'conversation', 'team', 'cost', 'journal', 'audit', 'take-over'].flatMap((tab) => [
            [`run-${tab}`, `/runs/${desk}/${tab}`],
            [`team-${tab}`, `/runs/${team}/${tab}`],
          ]),
        ),
        sessions: '/sessions',
        session: '/sessions/order-1042?user=mia%40example.com',
        trust: '/trust',
        'trust-record': '/trust/refunds',
        versions: '/versions',
        'agent-versions': '/versions/greeter',
        system: '/system',
      }
try {
  // text that streams is kept for those who come later while one looks
  const { page: watcher } = await visit(browser, server, `/runs/${desk}`)
  await watcher.getByRole('treeitem').nth(1).click()
  for (let i = 0; i < 2; i++) await server.open('writer')
  await watcher.locator('.run-stream').getByText('We are sorry').waitFor()
  // all but the call that waits for an approval is done
  await server.settled(newsroom, 2)
  for (const [view, options] of Object.entries(views)) {
    if (which === 'docs' && view === 'phone') continue
    for (const [name, path] of Object.entries(paths)) {
      const { page, context } = await visit(browser, server, path, options)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.locator('.spinner').first().waitFor({ state: 'detached' })
      await page.getByText('live', { exact: true }).waitFor()
      await page.evaluate('Promise.all([...document.images].map((image) => image.decode().catch(() => {})))')
      if (name === 'inbox' && view !== 'phone') {
        await page.locator('.question', { hasText: 'issue_refund' }).first().click()
        await page.locator('#question-detail').getByRole('heading', { level: 1, name: 'issue_refund' }).waitFor()
      }
      if (name === 'chat') {
        await page.getByRole('textbox', { name: 'Message to support' }).fill('My parcel A-1042 arrived damaged.')
        await page.keyboard.press('Enter')
        await page.getByRole('group', { name: 'Question: issue_refund' }).waitFor()
      }
      if (name === 'run') {
        await page.getByRole('treeitem').nth(1).click()
        await page.locator('.run-stream').getByText('We are sorry').waitFor()
      }
      const file = join(out, `studio-${name}-${view}.png`)
      await page.screenshot({ path: file })
      console.log(file)
      await context.close()
    }
  }
} finally {
  await browser.close()
  await server.close()
}
