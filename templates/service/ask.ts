/** Asks for a refund behind `npm start`, says who has to approve what, and prints the answer. */
import { readFileSync } from 'node:fs'
import { createClient } from 'reeve/client'

const [text = 'Order 7 arrived broken.'] = process.argv.slice(2)
const { REEVE_URL: baseUrl = 'http://127.0.0.1:4040', REEVE_TOKEN: token = readFileSync('.token', 'utf8').trim() } =
  process.env

const run = await createClient({ baseUrl, token }).runs.start('support', text)
for await (const { event } of run.events())
  if (event.type === 'approval.requested')
    console.log(
      `A person has to approve it, in the studio or here:\n  npx reeve approve ${event.id} --config reeve.config.ts`,
    )
const outcome = await run.outcome()
console.log(outcome.status === 'completed' ? outcome.output : outcome)
if (outcome.status !== 'completed') process.exitCode = 1
