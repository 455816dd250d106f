/** The suites of forks once more on PostgreSQL, with origins that belong to a session. */
import { afterAll } from 'vitest'
import { runsIn } from '../../../test/replay/fork-place.ts'
import { freshPostgres, type FreshPostgres } from '../../../test/servers/postgres.ts'

const places: FreshPostgres[] = []
afterAll(() => Promise.all(places.map((place) => place.dispose())))

runsIn({
  session: 'chat',
  async store() {
    const place = await freshPostgres()
    places.push(place)
    return `${place.server}?schema=${place.schema}`
  },
})
await import('../../../test/replay/fork.test.ts')
await import('../../../test/replay/fork-identity.test.ts')
