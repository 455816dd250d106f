/**
 * The findings of all surveys as one union, and the names of the areas. Owns: nothing but these types and names.
 */
import type { ChecksFindings } from './checks.ts'
import type { DependenciesFindings } from './dependencies.ts'
import type { InventoryFindings } from './inventory.ts'
import type { MonorepoFindings } from './monorepo.ts'
import type { TodosFindings } from './todos.ts'

/** What any survey found; `area` tells which. */
export type SurveyFindings =
  InventoryFindings | DependenciesFindings | TodosFindings | ChecksFindings | MonorepoFindings

/** The name of an area. */
export type SurveyArea = SurveyFindings['area']

/** What each area is called in a report, in the order a report lists them when nothing else decides. */
export const areaTitles: Readonly<Record<SurveyArea, string>> = {
  dependencies: 'Dependencies and licences',
  checks: 'Tests and CI',
  todos: 'Loose ends',
  monorepo: 'Workspace',
  inventory: 'Inventory',
}
