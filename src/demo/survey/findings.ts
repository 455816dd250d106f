/**
 * The findings of all surveys as one union, and the names of the areas. Owns: nothing but these types and names.
 */
import type { ChecksFindings } from './checks.ts'
import type { DependenciesFindings } from './dependencies.ts'
import type { DockerFindings } from './docker.ts'
import type { InventoryFindings } from './inventory.ts'
import type { LinksFindings } from './links.ts'
import type { MigrationsFindings } from './migrations.ts'
import type { MonorepoFindings } from './monorepo.ts'
import type { SecretsFindings } from './secrets.ts'
import type { TodosFindings } from './todos.ts'

/** What any survey found; `area` tells which. */
export type SurveyFindings =
  | InventoryFindings
  | DependenciesFindings
  | LinksFindings
  | TodosFindings
  | SecretsFindings
  | ChecksFindings
  | MonorepoFindings
  | DockerFindings
  | MigrationsFindings

/** The name of an area. */
export type SurveyArea = SurveyFindings['area']

/** The areas in the order a report lists them when nothing else decides. */
export const surveyAreas: readonly SurveyArea[] = [
  'secrets',
  'dependencies',
  'checks',
  'links',
  'todos',
  'monorepo',
  'docker',
  'migrations',
  'inventory',
]

/** What each area is called in a report. */
export const areaTitles: Readonly<Record<SurveyArea, string>> = {
  secrets: 'Secrets',
  dependencies: 'Dependencies and licences',
  checks: 'Tests and CI',
  links: 'Links',
  todos: 'Loose ends',
  monorepo: 'Workspace',
  docker: 'Dockerfiles',
  migrations: 'SQL migrations',
  inventory: 'Inventory',
}
