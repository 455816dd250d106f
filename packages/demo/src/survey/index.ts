/**
 * The surveys of `reeve demo`: what can be found out about a folder by reading it, and the report about it. Each survey
 * is `async (root, { signal?, now?, limits? }) => findings`; findings are plain JSON. Nothing is run, fetched or
 * changed. A folder is untrusted: from outside, surveys are called through `isolatedSurveys`.
 */
export { surveyChecks } from './checks.ts'
export { surveyDependencies } from './dependencies.ts'
export { areaTitles, type SurveyArea, type SurveyFindings } from './findings.ts'
export { recruitsFor, surveyInventory, type InventoryFindings, type Recruit } from './inventory.ts'
export { isolatedSurveys, surveyIsolated } from './isolated.ts'
export { many } from './markup.ts'
export { surveyMonorepo } from './monorepo.ts'
export { comparableReport, renderReport, type AreaReport, type ReportInput } from './report.ts'
export type { Surveys } from './surveys.ts'
export { surveyTodos } from './todos.ts'
export { openFolder } from './walk.ts'
