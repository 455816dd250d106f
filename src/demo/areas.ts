/**
 * The areas a demo team surveys: which worker looks at what, with which tool.
 *
 * Owns: the workers' names, descriptions and tools. Does not own: how a survey looks (survey/), who sends whom
 * (rules.ts, team.ts).
 */
import { areaTitles, type SurveyArea } from './survey/index.ts'

/** The workers from the beginning, and those that are recruited only where the inventory calls for them. */
export const firstTeam = ['inventory', 'dependencies', 'todos', 'checks'] as const satisfies readonly SurveyArea[]
export const specialists = ['monorepo'] as const satisfies readonly SurveyArea[]

/** What each worker is good for, in the words its leader chooses by. */
export const descriptions: Readonly<Record<SurveyArea, string>> = {
  inventory: 'Counts files and languages and says which specialists the folder calls for.',
  dependencies: 'Reads package.json and lock files: dependencies and their licences.',
  todos: 'Finds TODO, FIXME, HACK and XXX with their age in git.',
  checks: 'Looks at tests and CI.',
  monorepo: 'Specialist for workspaces: members, versions that do not match.',
}

/** The tool of an area's worker. */
export const toolName = (area: SurveyArea): string => `survey_${area}`

/** What the worker of an area is asked to do. */
export const briefFor = (area: SurveyArea, at: string): string => `Survey: ${areaTitles[area]}. Count ages up to ${at}.`
