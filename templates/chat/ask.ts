/** Says something to the assistant behind `npm start`, and prints its answer while it is written. */
import { readFileSync } from 'node:fs'
import { createClient } from 'reeve/client'

const [text = 'Hello', session = 'my-first-chat'] = process.argv.slice(2)
const { REEVE_URL: baseUrl = 'http://127.0.0.1:4040', REEVE_TOKEN: token = readFileSync('.token', 'utf8').trim() } =
  process.env

const run = await createClient({ baseUrl, token }).runs.start('assistant', text, { session })
for await (const piece of run.text()) process.stdout.write(piece)
const outcome = await run.outcome()
console.log(outcome.status === 'completed' ? '' : outcome)
if (outcome.status !== 'completed') process.exitCode = 1
