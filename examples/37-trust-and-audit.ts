/**
 * An analyst earns trust run by run: at first a human approves everything, then what is sensitive, and an incident
 * takes it back at once. Afterwards somebody who has neither the store nor Reeve's word checks who decided what.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, tool, type Run } from 'reeve'
import { ed25519Signer, ed25519Verifier, newEd25519Key, verifyAudit } from 'reeve/oversight'
import { z } from 'zod'

const read = tool({
  name: 'read',
  effect: 'read',
  input: z.object({ of: z.string() }),
  execute: ({ of }) => `${of}: 42`,
})
const publish = tool({
  name: 'publish',
  effect: 'once',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => `published: ${text}`,
})

// #region trust
const analyst = agent({
  name: 'analyst',
  description: 'Reads figures and publishes them.',
  tools: [read, publish],
  // stands in for a model: reads, publishes, says so
  model: ({ messages }) => {
    const done = messages.filter(({ role }) => role === 'tool').length
    const calls = [
      { name: 'read', input: { of: 'sales' } },
      { name: 'publish', input: { text: 'sales: 42' } },
    ]
    return done < calls.length ? { calls: [calls[done]!] } : 'It is published.'
  },
  oversight: { trust: 'analysts' }, // its level sets the mode
})

const rules = { tasks: 2, rate: 0.9, days: 0, incidentDays: 7 }
await using runtime = await createRuntime({
  agents: [analyst],
  trust: { analysts: { proficient: rules, expert: { ...rules, tasks: 200, days: 30, incidentDays: 30 } } }, // default: 'standard'; there is 'conservative', too
})
// #endregion

/** Ann says yes to whatever is asked. Returns what that was. */
async function withAnn(run: Run<unknown>): Promise<string[]> {
  const asked: string[] = []
  for (;;) {
    const state = await run.until('waiting')
    if (!('waiting' in state)) return asked
    for (const { id, tool: name } of state.waiting) {
      asked.push(name)
      await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    }
  }
}

// #region levels
for (let n = 0; n < 2; n++) {
  const asked = await withAnn(await runtime.start(analyst, 'Publish the sales.'))
  assert.deepEqual(asked, ['read', 'publish']) // a novice is asked for everything
}
const { level, mode, next } = await runtime.trust.of('analysts')
console.log(`${level} (${mode})${next.ok ? '' : `, not yet ${next.target}: ${next.reason.message}`}`)

const run = await runtime.start(analyst, 'Publish the sales.')
assert.deepEqual(await withAnn(run), ['publish']) // the proficient: for what is sensitive

await runtime.trust.incident({
  trust: 'analysts',
  severity: 'serious',
  by: 'ann',
  note: 'the figures were of last year',
  run: run.id,
})
const after = await runtime.trust.of('analysts')
assert.deepEqual([after.level, after.completed], ['novice', 0]) // at once, in running runs from the next gate on
for (const { what, from, to, by } of after.history)
  console.log(`- ${what}: ${from ?? ''} > ${to}${by === undefined ? '' : ` (${by})`}`)
// #endregion

// #region audit
const key = await newEd25519Key() // `reeve audit key <file>` makes one; it stands outside the store
const audit = await runtime.audit(run.id, { signer: ed25519Signer(key, 'audit-2026') })
for (const { by, who = by, what, subject } of audit.entries) console.log(`${who}: ${what} ${subject}`)

const { d: _private, ...open } = key
const keys = [ed25519Verifier(open, 'audit-2026')]
const report = await verifyAudit(audit, { keys }) // no store is needed
assert.equal(report.ok && report.complete, true)

const cut = { ...audit, entries: audit.entries.slice(0, -1) }
const [problem] = (await verifyAudit(cut, { keys })).problems
console.log(problem?.message) // entries are missing at the end: …
assert.equal(problem?.code, 'truncated')
// #endregion
