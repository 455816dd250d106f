/** Routes of the installation: whether it is there. */
import { route, type Route } from '../route.ts'
import { flag, object } from '../wire-schema.ts'

export const installationRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/health',
    role: 'open',
    summary: 'Whether the server answers and reaches its store.',
    answer: object<{ readonly ok: boolean }>('Health', { ok: flag() }),
    async handle({ runtime }) {
      await runtime.runs({ limit: 1 })
      return { ok: true }
    },
  }),
]
