/** The suites of forks once more, with origins that belong to a session. */
import { runsIn } from './fork-place.ts'

runsIn({ session: 'chat' })
await import('./fork.test.ts')
await import('./fork-identity.test.ts')
