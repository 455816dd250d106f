/** The store that several servers share. */
import { postgres } from '@reeve/postgres/postgres'
import { createRuntime } from '@reeve/public'
import { createServer, listen } from '@reeve/server'
import { freshPostgres, type FreshPostgres } from '../../servers/postgres.ts'
import { area, holds, Skipped } from '../attack.ts'
import { everyone } from '../people.ts'
import { itemsOf, memberOf, until, type Asked, type World } from '../world.ts'

/** Two servers with a runtime each, on one PostgreSQL. */
async function pair(world: World): Promise<readonly Awaited<ReturnType<typeof listen>>[]> {
  let fresh: FreshPostgres
  try {
    fresh = await freshPostgres()
  } catch (thrown) {
    throw new Skipped(`there is no PostgreSQL: ${String(thrown)}`)
  }
  world.after(() => fresh.dispose())
  const servers = []
  for (let i = 0; i < 2; i++) {
    const runtime = await createRuntime({ engine: postgres({ url: fresh.url }), agents: [...world.agents] })
    world.after(() => runtime.close())
    const server = await listen(createServer({ runtime, auth: everyone }), { port: 0 })
    world.after(() => server.close())
    servers.push(server)
  }
  return servers
}

export const stores = area('The store that servers share', [
  {
    id: 'two-decide-postgres',
    needs: 'postgres',
    holds: 'Of two who decide at once, each at a server of their own, one wins, and the tool runs once at most.',
    async run(world) {
      const [one, two] = await pair(world)
      for (let round = 0; round < 10; round++) {
        world.effects.length = 0
        const started = await world.ask('alice', 'POST', '/api/runs', { agent: 'payer', input: '{"usd":1}' }, {}, one)
        const run = memberOf(started.json, 'run') as string
        let asked: Asked | undefined
        await until(async () => {
          asked = itemsOf<Asked>(await world.ask('amy', 'GET', `/api/questions?run=${run}`, undefined, {}, two))[0]
          return asked !== undefined
        }, 'a question')
        const path = `/api/approvals/${asked!.id}/decision`
        const all = await Promise.all([
          world.ask('amy', 'POST', path, { decision: 'approve' }, {}, one),
          world.ask('anton', 'POST', path, { decision: 'reject' }, {}, two),
          world.ask('amy', 'POST', path, { decision: 'approve' }, {}, two),
          world.ask('anton', 'POST', path, { decision: 'reject' }, {}, one),
        ])
        const ended = await world.ask('alice', 'GET', `/api/runs/${run}/outcome?waitMs=15000`, undefined, {}, one)
        holds(ended.status === 200, `the run did not end: ${ended.text}`)
        const won = all.filter(({ status }) => status < 300).length
        holds(won === 1 && world.effects.length <= 1, `${won} decisions won, ${world.effects.length} effects`)
      }
    },
  },
  {
    id: 'key-same-over-processes',
    needs: 'postgres',
    holds: 'The same key of the same user at another process, or after a restart, is the same run.',
    async run(world) {
      const [one, two] = await pair(world)
      const start = async (server: typeof one): Promise<unknown> =>
        memberOf(
          (
            await world.ask(
              'alice',
              'POST',
              '/api/runs',
              { agent: 'echo', input: 'x' },
              { 'Idempotency-Key': 'k1' },
              server,
            )
          ).json,
          'run',
        )
      const [first, second] = [await start(one), await start(two)]
      holds(typeof first === 'string' && first === second, `${String(first)} and ${String(second)}`)
    },
  },
])
