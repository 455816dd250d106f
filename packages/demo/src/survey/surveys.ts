/** The surveys by area. Owns: nothing but this list. */
import { surveyChecks } from './checks.ts'
import { surveyDependencies } from './dependencies.ts'
import type { SurveyArea, SurveyFindings } from './findings.ts'
import { surveyInventory } from './inventory.ts'
import { surveyMonorepo } from './monorepo.ts'
import { surveyTodos } from './todos.ts'
import type { SurveyOptions } from './walk.ts'

/** What looks at a folder and returns what it found. */
export type Survey = (folder: string, options: SurveyOptions) => Promise<SurveyFindings>

/** One for each area. */
export type Surveys = Readonly<Record<SurveyArea, Survey>>

/** Each runs in the thread that calls it, and holds it as long as the folder makes it work. */
export const surveys: Surveys = {
  inventory: surveyInventory,
  dependencies: surveyDependencies,
  todos: surveyTodos,
  checks: surveyChecks,
  monorepo: surveyMonorepo,
}
