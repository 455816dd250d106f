/** The table of routes. Owns: which lists of routes it is made of; each path stands in one of them. */
import type { Route } from '../route.ts'
import { retryVerbs } from '../verbs/further-runs.ts'
import { teamVerbs } from '../verbs/team.ts'
import { accessRoutes } from './access.ts'
import { batchRoutes } from './batches.ts'
import { contentRoutes } from './contents.ts'
import { controlRoutes } from './control.ts'
import { figureRoutes } from './figures.ts'
import { forkRoutes } from './forks.ts'
import { grantRoutes } from './grants.ts'
import { installationRoutes } from './installation.ts'
import { liveRoutes } from './live.ts'
import { linkRoutes } from './links.ts'
import { probeRoutes } from './probes.ts'
import { questionRoutes } from './questions.ts'
import { runRoutes } from './runs.ts'
import { sessionRoutes } from './sessions.ts'
import { systemRoutes } from './system.ts'
import { trustRoutes } from './trust.ts'
import { verbRoutes } from './verb-routes.ts'
import { versionRoutes } from './versions.ts'

/** All routes of the server. */
export const routes: readonly Route[] = [
  ...installationRoutes,
  ...probeRoutes,
  ...systemRoutes,
  ...accessRoutes,
  ...runRoutes,
  ...contentRoutes,
  ...figureRoutes,
  ...controlRoutes,
  ...verbRoutes(teamVerbs),
  ...forkRoutes,
  ...verbRoutes(retryVerbs),
  ...batchRoutes,
  ...questionRoutes,
  ...sessionRoutes,
  ...grantRoutes,
  ...trustRoutes,
  ...versionRoutes,
  ...liveRoutes,
  ...linkRoutes,
]
