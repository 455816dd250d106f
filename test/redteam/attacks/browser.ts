/** In a browser: what a model wrote runs nowhere, and a page of another site reaches nothing. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { area, holds, short, Skipped } from '../attack.ts'
import { tokenOf } from '../people.ts'
import { until, type World } from '../world.ts'

const studio = join(import.meta.dirname, '../../../dist/studio')

async function browser(world: World): Promise<Browser> {
  const executablePath = process.env['REEVE_CHROMIUM'] ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) throw new Skipped(`there is no browser at ${executablePath}`)
  if (!existsSync(studio)) throw new Skipped('the studio is not built')
  const launched = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu'],
  })
  world.after(() => launched.close())
  return launched
}

/** Another site: what was asked of it. */
async function otherSite(
  world: World,
  page: string,
): Promise<{ readonly url: string; readonly asked: readonly string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.setHeader('Content-Type', 'text/html')
    response.end(page)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  world.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, asked }
}

export const browsers = area('In a browser', [
  {
    id: 'browser-script',
    needs: 'browser',
    holds:
      'Nothing that a model, a tool or a caller wrote runs, is fetched or becomes an element, on any page of the studio or of a link.',
    async run(world) {
      const { url: evil, asked } = await otherSite(world, '')
      const attack = `<img src=x onerror="window.pwned=1"> "><svg/onload=window.pwned=2> </script><script>window.pwned=3</script> [c](javascript:window.pwned=4) ![i](${evil}/md.png) <style>*{background:url(${evil}/css)}</style> <meta http-equiv=refresh content="0;url=${evil}/m"> <iframe srcdoc="<script>parent.pwned=8</script>">`
      const server = await world.serve({ assets: studio })
      const paid = await world.asked(
        'ada',
        'payer',
        JSON.stringify({ [attack]: attack, url: 'javascript:window.pwned=9' }),
        {
          session: 's1',
          metadata: { [attack.slice(0, 100)]: attack },
        },
      )
      const asker = await world.asked('ada', 'asker', attack)
      await world.say('http', 'ada', 'echo', { text: attack })
      const link = await world.ask(
        'ada',
        'POST',
        `/api/approvals/${paid.id}/link`,
        { approver: attack.slice(0, 200) },
        {},
        server,
      )
      const page = await (await browser(world)).newPage()
      const foreign: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) foreign.push(request.url())
      })
      page.on('dialog', (dialog) => {
        foreign.push(dialog.message())
        dialog.dismiss().catch(() => undefined)
      })
      await page.goto(`${server.url}/#token=${tokenOf('ada')}`)
      await until(() => !page.url().includes('token='), 'it is signed in')
      const paths = [
        '/',
        '/inbox',
        `/inbox/${paid.id}`,
        `/inbox/${asker.id}`,
        '/runs',
        '/sessions',
        `/${encodeURIComponent(attack)}`,
        ...['', '/timeline', '/conversation', '/journal', '/audit', '/take-over'].map(
          (tab) => `/runs/${paid.run}${tab}`,
        ),
      ].map((path) => server.url + path)
      for (const path of [...paths, (link.json as { readonly url: string }).url]) {
        await page.goto(path, { waitUntil: 'networkidle', timeout: 5_000 }).catch(() => undefined)
        const seen = await page.evaluate(
          `({ pwned: window.pwned, odd: document.querySelectorAll('iframe,object,embed,base,meta[http-equiv=refresh],img[src=x]').length })`,
        )
        holds(JSON.stringify(seen) === '{"odd":0}', `${short(path, 60)}: ${short(seen)}`)
      }
      holds(foreign.length === 0 && asked.length === 0, short([...foreign, ...asked]))
    },
  },
  {
    id: 'browser-other-site',
    needs: 'browser',
    holds: 'A page of another site, in the browser of someone who is signed in, starts, decides and reads nothing.',
    async run(world) {
      const server = await world.serve({ assets: studio })
      const asked = await world.asked('ada', 'payer')
      const api = `${server.url}/api`
      const { url: evil } = await otherSite(
        world,
        `<script>
          window.read = []
          const tries = [
            () => fetch('${api}/me', { credentials: 'include' }),
            () => fetch('${api}/runs', { method: 'POST', credentials: 'include', headers: { 'Content-Type': 'application/json', 'X-Reeve': '1' }, body: '{"agent":"echo","input":"x"}' }),
            () => fetch('${api}/runs', { method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'Content-Type': 'text/plain' }, body: '{"agent":"echo","input":"x"}' }),
            () => fetch('${api}/approvals/${asked.id}/decision', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"decision":"approve"}' }),
          ]
          Promise.allSettled(tries.map((each) => each().then((response) => response.text()).then((text) => window.read.push(text)))).then(() => {
            navigator.sendBeacon('${api}/approvals/${asked.id}/decision', new Blob(['{"decision":"approve"}'], { type: 'text/plain' }))
            const source = new EventSource('${api}/live', { withCredentials: true })
            source.onmessage = ({ data }) => window.read.push(data)
            const form = document.createElement('form')
            form.method = 'post'
            form.enctype = 'text/plain'
            form.target = 'frame'
            form.action = '${api}/approvals/${asked.id}/decision'
            form.innerHTML = '<input name=\\'{"decision":"approve","x":"\\' value=\\'"}\\'>'
            document.body.append(form)
            form.submit()
            setTimeout(() => (window.done = true), 500)
          })
        </script><body><iframe name="frame"></iframe><iframe src="${server.url}/"></iframe><img src="${api}/me"></body>`,
      )
      const context = await (await browser(world)).newContext()
      const page = await context.newPage()
      await page.goto(`${server.url}/#token=${tokenOf('ada')}`)
      await until(() => !page.url().includes('token='), 'it is signed in')
      holds(
        (await page.evaluate('document.cookie + JSON.stringify({ ...localStorage })')) === '{}',
        'a script reads the cookie',
      )
      await page.goto(evil)
      await page.waitForFunction('window.done === true', undefined, { timeout: 15_000 })
      const read = (await page.evaluate('window.read.filter((each) => each !== "")')) as readonly string[]
      holds(read.length === 0, short(read))
      await world.rest(asked.run)
      holds(world.effects.length === 0, 'it was approved')
      holds((await world.runtime.runs()).length === 1, 'a run was started')
    },
  },
])
