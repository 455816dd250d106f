/** The table of routes. Owns: which lists of routes it is made of; each path stands in one of them. */
import type { Route } from '../route.ts'
import { controlRoutes } from './control.ts'
import { installationRoutes } from './installation.ts'
import { questionRoutes } from './questions.ts'
import { runRoutes } from './runs.ts'

/** All routes of the server. */
export const routes: readonly Route[] = [...installationRoutes, ...runRoutes, ...controlRoutes, ...questionRoutes]
