/** The data of a file lies on PostgreSQL once for each run that has it, however many agents see it. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { agent, createRuntime, supervisor, tool, withFiles, type ModelFunction } from '@reeve/public'
import { dice } from '../../../test/dice.ts'
import { freshPostgres } from '../../../test/servers/postgres.ts'

const roll = dice(11)
/** A picture of this many bytes. */
const picture = (filename: string, bytes: number) => ({
  type: 'file' as const,
  mediaType: 'image/png',
  filename,
  data: Buffer.from([
    0x89,
    0x50,
    0x4e,
    0x47,
    0x0d,
    0x0a,
    0x1a,
    0x0a,
    ...Array.from({ length: bytes }, () => Math.floor(roll() * 256)),
  ]).toString('base64'),
})

test('a picture of a user and one of a tool, seen by a leader, two workers, one of them apart, and a fork', async () => {
  const [sent, drawn] = [picture('sent.png', 1_500), picture('drawn.png', 40_000)]
  const seeing = (name: string) =>
    agent({ name, description: 'Works.', model: ({ messages }) => `${JSON.stringify(messages).includes(drawn.data)}` })
  const leads: ModelFunction = ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length
    if (results === 0) return { calls: [{ name: 'draw', input: {} }] }
    if (results > 1) return 'done'
    const files = ['sent.png', 'drawn.png']
    return {
      calls: ['x', 'y'].map((worker) => ({ name: 'delegate', input: { worker, instructions: 'look', files } })),
    }
  }
  const boss = supervisor({
    name: 'boss',
    workers: [seeing('x'), seeing('y')],
    tools: [tool({ name: 'draw', effect: 'read', execute: () => withFiles('drawn', [drawn]) })],
    delegation: { workers: { y: { place: 'apart' } } },
    model: leads,
  })
  await using place = await freshPostgres()
  const ids: string[] = []
  {
    await using runtime = await createRuntime({
      store: `${place.server}?schema=${place.schema}`,
      agents: [boss],
    })
    const run = await runtime.start(boss, 'go', { messages: [{ role: 'user', content: [sent] }] })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    const events = []
    for await (const { event } of run.events()) events.push(event)
    const at = events.findLastIndex(({ type }) => type === 'model.requested')
    const fork = await runtime.fork({ run: run.id, at })
    expect(await fork.outcome()).toMatchObject({ status: 'completed' })
    ids.push(run.id, fork.id)
  }

  const client = new Client({ connectionString: place.url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE table_schema = $1 AND column_name = 'body' ORDER BY 1`,
      [place.schema],
    )
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['blob', 'entry']))
    const runs = new Set<string>()
    for (const { data } of [sent, drawn]) {
      const part = data.slice(100, 160)
      const count = async (name: string, more = ''): Promise<number> => {
        const sql = `SELECT coalesce(sum((length(body) - length(replace(body, $1, ''))) / length($1)), 0)::int AS n FROM ${place.schema}.${name} ${more}`
        return (await client.query<{ n: number }>(sql, [part])).rows[0]!.n
      }
      const { rows } = await client.query<{ run: string; n: number }>(
        `SELECT run, sum((length(body) - length(replace(body, $1, ''))) / length($1))::int AS n
         FROM ${place.schema}.blob GROUP BY run`,
        [part],
      )
      const having = rows.filter(({ n }) => n > 0)
      for (const { run, n } of having) expect([run, n]).toEqual([run, 1])
      for (const { run } of having) runs.add(run)
      // and in no other table
      for (const { name } of tables.filter((table) => table.name !== 'blob'))
        expect([name, await count(name)]).toEqual([name, 0])
    }
    expect([...runs]).toEqual(expect.arrayContaining(ids))
    // the run, its child run and the fork
    expect(runs.size).toBe(3)
  } finally {
    await client.end()
  }
})
