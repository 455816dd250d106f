/** What the routes of the application are served by: the runtime, and the server over it. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRuntime } from 'reeve'
import { uiMessages } from 'reeve/ai-sdk'
import { createServer, type ReeveServer } from 'reeve/server'
import { modelOr, modelUsed } from './model.ts'
import { deskRules, deskWith, payerRules } from './team.ts'

/** The secret that the page asks for. Replace it by the sign-in of your application. */
function token(): string {
  const { REEVE_TOKEN: named } = process.env
  if (named !== undefined) return named
  try {
    writeFileSync('.token', randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 })
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  }
  return readFileSync('.token', 'utf8').trim()
}

async function open(): Promise<ReeveServer> {
  console.error(`model: ${modelUsed}`)
  const desk = deskWith({ desk: modelOr(deskRules), payer: modelOr(payerRules) }, async ({ order, usd }) => {
    console.error(`paid ${usd} dollars for order ${order}`)
    return 'paid'
  })
  const runtime = await createRuntime({ store: process.env['REEVE_STORE'] ?? './reeve.db', agents: [desk] })
  return createServer({
    runtime,
    auth: { tokens: { [token()]: { name: 'ann', roles: ['operator', 'approver'] } } },
    protocols: [uiMessages({ agent: 'desk', path: '/api/chat' })],
  })
}

// one for the process, also where `next dev` loads this file again
const kept = globalThis as { reeve?: Promise<ReeveServer> }

/** Opened with the first request: `next build` loads this file, too, and needs no store. */
export const server = (): Promise<ReeveServer> => (kept.reeve ??= open())
