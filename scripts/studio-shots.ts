/**
 * Pictures of the studio, of real runs on a real server in a real browser: `npm run studio:shots -- <folder>`. Those of
 * the README are written by `npm run studio:shots -- docs/images readme`.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { launchBrowser, StudioServer, visit, type View } from '../packages/studio/test/browser.ts'
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
await furnish(server)
const paths: Readonly<Record<string, string>> =
  which === 'readme'
    ? { inbox: '/', runs: '/runs', run: `/runs/${desk}`, timeline: `/runs/${newsroom}/timeline` }
    : {
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
    if (which === 'readme' && view === 'phone') continue
    for (const [name, path] of Object.entries(paths)) {
      const { page, context } = await visit(browser, server, path, options)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.locator('.spinner').first().waitFor({ state: 'detached' })
      await page.getByText('live', { exact: true }).waitFor()
      await page.waitForFunction('[...document.images].every(({ complete }) => complete)')
      if (name === 'inbox' && view !== 'phone') {
        await page.locator('.question', { hasText: 'issue_refund' }).click()
        await page.locator('#question-detail').getByRole('heading', { level: 1, name: 'issue_refund' }).waitFor()
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
