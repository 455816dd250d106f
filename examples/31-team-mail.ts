/**
 * Mail on a team: a researcher finds something that changes what an analyst is looking for, and says so while the
 * analyst works. The analyst reads at its next stop, changes its focus, says thanks. Nobody depends on anybody: the
 * order of the work is as it was.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, sleep, team } from 'reeve'
import { teammate } from 'reeve/team'
import { z } from 'zod'

// #region researcher
const researcher = agent({
  name: 'researcher',
  description: 'Finds what is new.',
  run: async (ctx) => {
    const me = teammate(ctx)
    await sleep(ctx, 30)
    const content = 'Competitor X has launched product Y. Look at the prices first.'
    const sent = await me.send({ to: 'role:analyst', kind: 'info', content, correlationId: me.task })
    const [thanks] = await me.nextMail({ from: 'analyst_1', withinMs: 5_000 })
    return `Told the analyst (mail ${sent.accepted ? sent.seq : sent.reason}): ${(thanks?.content as string | undefined) ?? 'no answer'}`
  },
})
// #endregion

// #region analyst
const analyst = agent({
  name: 'analyst',
  description: 'Looks at numbers.',
  run: async (ctx) => {
    const me = teammate(ctx)
    let focus = 'features'
    const looked: string[] = []
    for (let i = 0; i < 4; i++) {
      looked.push(focus)
      await sleep(ctx, 20) // a piece of work
      for (const mail of await me.inbox()) {
        // a safe point: advice changes how it works, never what it is to do
        focus = 'prices'
        me.post({
          to: mail.from,
          kind: 'accept',
          content: 'Thank you, prices it is.',
          correlationId: mail.correlationId ?? me.task,
        })
      }
    }
    return `Looked at ${looked.join(', ')}.`
  },
})
// #endregion

const desk = team({
  name: 'desk',
  output: z.string(),
  roles: { researcher, analyst },
  planner: {
    subtasks: [
      { id: 'research', role: 'researcher', description: 'What is new?' },
      { id: 'analysis', role: 'analyst', description: 'How do we compare?' },
    ],
  },
})

await using runtime = await createRuntime({ agents: [desk] })
const run = await runtime.start(desk, 'Where do we stand?')
const outcome = await run.outcome()
assert.equal(outcome.status, 'completed')
console.log(outcome.output)
// #region mailbox
const { mailbox } = (await run.view()).teams[0]!
for (const { seq, from, to, kind, content } of mailbox.messages)
  console.log(`${seq}. ${from} to ${to} (${kind}):`, content)
console.log(`${mailbox.accepted} taken, ${mailbox.dropped} given up, unread:`, mailbox.unread)
// #endregion
assert.match(outcome.output, /Looked at features, .*prices/)
assert.equal(mailbox.messages[0]?.to, 'role:analyst')
