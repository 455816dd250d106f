/** The suites of forks once more on PostgreSQL, with origins that belong to a session. */
import { afterAll } from 'vitest'
import { runsIn } from '../replay/fork-place.ts'
import { freshPostgres, type FreshPostgres } from '../servers/postgres.ts'

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
await import('../replay/fork.test.ts')
await import('../replay/fork-identity.test.ts')
