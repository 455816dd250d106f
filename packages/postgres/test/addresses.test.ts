/**
 * Addresses of databases as hosters, `.env` files and the specification write them: Unix sockets, several hosts,
 * parameters. What does not hold is refused by name, and no password is repeated.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { ReeveError } from '@reeve/core'
import { readAddress } from '../src/address.ts'
import { agent, createRuntime } from '@reeve/public'
import { stoppablePostgres, type StoppablePostgres } from '../../../test/servers/postgres.ts'

const echo = agent({ name: 'echo', description: 'Repeats.', model: () => 'ok' })

describe('forms', () => {
  test.each<[string, string, readonly string[]]>([
    ['postgres://ann@db:5433/app', 'PostgreSQL at ann@db:5433/app', ['postgres://ann@db:5433/app']],
    ['postgresql://us%20er:s3cret@db/app', 'PostgreSQL at us er@db/app', ['postgresql://us%20er:s3cret@db/app']],
    [
      'postgres://ann:s3c@ret@a:1,b:2,[::1]:3/app?sslmode=verify-full&target_session_attrs=read-write',
      'PostgreSQL at ann@a:1,b:2,[::1]:3/app',
      ['a:1', 'b:2', '[::1]:3'].map((host) => `postgres://ann:s3c@ret@${host}/app?sslmode=verify-full`),
    ],
    [
      'postgres://ann@/app?host=/var/run/postgresql&port=5433',
      'PostgreSQL at ann@/var/run/postgresql:5433/app',
      ['postgres://ann@%2Fvar%2Frun%2Fpostgresql:5433/app'],
    ],
    [
      'postgres://%2Fcloudsql%2Fp%3Ar%3Ai/app',
      'PostgreSQL at /cloudsql/p:r:i/app',
      ['postgres://%2Fcloudsql%2Fp%3Ar%3Ai/app'],
    ],
    [
      'postgres://ann@db/app?application_name=ann@host',
      'PostgreSQL at ann@db/app',
      ['postgres://ann@db/app?application_name=ann%40host'],
    ],
    ['postgres:///app?host=a,b&port=1,2', 'PostgreSQL at a:1,b:2/app', ['postgres://a:1/app', 'postgres://b:2/app']],
    ['socket:/var/run/postgresql?db=app', 'PostgreSQL at /var/run/postgresql', ['socket:/var/run/postgresql?db=app']],
  ])('%s', (address, name, hosts) => {
    expect(readAddress(address)).toMatchObject({ name, hosts })
  })

  test('channel binding is asked of the driver, and stands in no address', () => {
    expect(readAddress('postgres://db/app?sslmode=require&channel_binding=require')).toEqual({
      name: 'PostgreSQL at db/app',
      hosts: ['postgres://db/app?sslmode=require'],
      isBound: true,
    })
  })

  test.each<[string, RegExp]>([
    ['postgres://ann:s3cret@db/app?target_session_attrs=standby', /target_session_attrs is "standby"/],
    ['postgres://ann:s3cret@db/app?requiressl=1&sslcrl=x', /parameters requiressl, sslcrl would have no effect/],
    ['postgres://ann:s3cret@a,b,c/app?port=1,2', /3 hosts and 2 ports/],
    ['postgres://ann:s3cret@a:x/app', /the port "x" is no number/],
    ['postgres://ann:s3cret%@db/app%zz', /percent-encoded/],
    ...['#', '/', '?', '#1@', '1/', '@/', '/@', '@?'].map((sign): [string, RegExp] => [
      `postgres://ann:${sign}s3cret@db/app`,
      /has a "#", "\/", "\?" or "@"$/,
    ]),
    ['postgres://ann:1?s3cret@db/app&schema=a', /has a "#"/],
    ['postgres://ann:s3cret@db/app?schema=a&schema=b', /names the schema twice/],
    ['"postgres://ann:s3cret@db/app"', /begins and ends with quotation marks/],
    ["'postgres://ann:s3cret@db/app'", /begins and ends with quotation marks/],
    ['jdbc:postgresql://db/app?user=ann&password=s3cret', /a JDBC address/],
    ['postgres://ann:s3cret@db/app\n', /white space/],
  ])('%j is refused', async (store, message) => {
    const thrown: unknown = await createRuntime({ store, agents: [echo] }).catch((error: unknown) => error)
    expect(ReeveError.is(thrown, 'config.invalid')).toBe(true)
    const { message: said, hint = '' } = thrown as ReeveError
    expect(said).toMatch(message)
    expect(said + hint).not.toContain('s3cret')
  })
})

const undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})
async function server(of?: StoppablePostgres): Promise<StoppablePostgres> {
  const started = await stoppablePostgres(undefined, of)
  undo.push(() => started.dispose())
  return started
}

test('a store is reached by a Unix socket', async () => {
  const { url, sockets } = await server()
  const { port } = new URL(url)
  const store = `postgres://reeve@/postgres?host=${sockets}&port=${port}`
  await using runtime = await createRuntime({ store, agents: [echo] })
  expect(await runtime.run(echo, 'x')).toMatchObject({ status: 'completed', output: 'ok' })
  const { installation } = await runtime.system()
  expect(installation?.store.name).toBe(`PostgreSQL at reeve@${sockets}:${port}/postgres`)
})

test('of several hosts the one that takes writes is used, also after another has taken over', async () => {
  const primary = await server()
  const standby = await server(primary)
  const [first, second] = [new URL(standby.url), new URL(primary.url)]
  const store = `postgres://reeve@127.0.0.1:1,${first.host},${second.host}/postgres`
  await using runtime = await createRuntime({ store, agents: [echo], onWarning: () => {} })
  expect(await runtime.run(echo, 'x', { runId: 'before' })).toMatchObject({ status: 'completed' })
  // what is committed is on the standby before the primary is gone
  await using follower = await createRuntime({ store: primary.url, drive: false })
  await expect.poll(() => follower.runs().then((runs) => runs.length)).toBe(1)
  await primary.stop()
  await standby.promote()
  const again = async (): Promise<string> =>
    runtime.run(echo, 'x', { runId: 'after' }).then(
      ({ status }) => status,
      (thrown: unknown) => (ReeveError.is(thrown) && thrown.retryable ? 'again' : String(thrown)),
    )
  await expect.poll(again, { timeout: 20_000 }).toBe('completed')
})
