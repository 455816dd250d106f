/**
 * The areas that the demo team surveys: one worker and one tool for each.
 *
 * Owns: the names, descriptions and tools of the workers. Does not own: the surveys (survey/), the delegations
 * (rules.ts, team.ts).
 */
import { areaTitles, type SurveyArea } from './survey/index.ts'

/** The initial workers, and the specialists that are recruited if the inventory needs them. */
export const firstTeam = ['inventory', 'dependencies', 'todos', 'checks'] as const satisfies readonly SurveyArea[]
export const specialists = ['monorepo'] as const satisfies readonly SurveyArea[]

/** The description of each worker, by which its leader chooses. */
export const descriptions: Readonly<Record<SurveyArea, string>> = {
  inventory: 'Counts files and languages and says which specialists the folder calls for.',
  dependencies: 'Reads package.json and lock files: dependencies and their licences.',
  todos: 'Finds TODO, FIXME, HACK and XXX with their age in git.',
  checks: 'Looks at tests and CI.',
  monorepo: 'Specialist for workspaces: members, versions that do not match.',
}

/** The tool of an area's worker. */
export const toolName = (area: SurveyArea): string => `survey_${area}`

/** The brief of the worker of an area. */
export const briefFor = (area: SurveyArea, at: string): string => `Survey: ${areaTitles[area]}. Count ages up to ${at}.`
