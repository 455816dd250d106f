/** A run whose cancel is recorded, and that is parked and has not ended, ends when its store is opened. */
import { mkdtempSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agent, createRuntime, interrupt, type Outcome, type Runtime } from '@reeve/public'

/** Its code returns while something of it still listens. */
const root = agent({
  name: 'root',
  run: async (ctx) => {
    ctx.next((arrival) => arrival.type === 'message').catch(() => undefined)
    return interrupt(ctx, 'go on?')
  },
})
const open = (store: string): Promise<Runtime> => createRuntime({ store, agents: [root], strict: true })

/**
 * A run whose code has returned while a human has it, and its word recorded and not acted on: its row
 * is used up, the run parked.
 */
async function leftBehind(outcome: Outcome | undefined): Promise<string> {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-left-')), 'reeve.db')
  const runtime = await open(store)
  const run = await runtime.start('root', 'begin', { runId: 'r' })
  await run.until('waiting')
  await run.control.takeOver({ by: 'ann' })
  await run.answer({ interruptId: (await runtime.questions())[0]!.id, value: 'well' })
  await expect.poll(async () => (await run.view()).interrupts[0]?.open).toBe(false)
  await runtime.close()
  const db = new DatabaseSync(store)
  const { num, seq, at } = db
    .prepare(
      "SELECT a.num, max(l.seq) AS seq, max(l.at) AS at FROM activation a JOIN log l ON l.act = a.num WHERE a.id = 'act_r'",
    )
    .get() as Record<'num' | 'seq' | 'at', number>
  const word = {
    type: 'cancel.received',
    v: 1,
    reason: 'enough',
    by: 'ann',
    ...(outcome === undefined ? {} : { outcome }),
  }
  db.prepare('INSERT INTO log(act, seq, at, body) VALUES(?, ?, ?, ?)').run(num, seq + 1, at, JSON.stringify(word))
  db.exec(`INSERT INTO inbox(act, key, body, taken) VALUES('act_r', '!cancel', NULL, 1);
    UPDATE run SET control = NULL, parked = 1, owner = NULL WHERE id = 'r'`)
  db.close()
  return store
}

for (const outcome of [{ status: 'completed', output: 'by hand' } as const, undefined])
  test(`K7: a ${outcome === undefined ? 'cancel' : 'finish'} that is recorded and not acted on ends the run when its store opens`, async () => {
    await using runtime = await open(await leftBehind(outcome))
    expect(await runtime.handle('r').outcome()).toMatchObject(outcome ?? { status: 'cancelled', reason: 'enough' })
  })
