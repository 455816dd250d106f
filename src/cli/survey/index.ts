/**
 * The surveys of `reeve demo`: what can be found out about a folder by reading it, and the report about it.
 * Each survey is `async (root, { signal?, now?, limits? }) => findings`; findings are plain JSON. Nothing is run, fetched or changed.
 */
export { surveyChecks, type ChecksFindings, type MissingCheck, type ToolFinding } from './checks.ts'
export { concernsOf, type Concern, type Severity } from './concerns.ts'
export {
  surveyDependencies,
  type DependenciesFindings,
  type DependencyFinding,
  type LicenceFinding,
  type ManifestSummary,
} from './dependencies.ts'
export { surveyDocker, type DockerFinding, type DockerFindings, type DockerRule } from './docker.ts'
export { areaTitles, surveyAreas, type SurveyArea, type SurveyFindings } from './findings.ts'
export { recruitsFor, surveyInventory, type InventoryFindings, type LanguageCount, type Recruit, type Signals } from './inventory.ts'
export { surveyLinks, type BrokenLink, type LinksFindings } from './links.ts'
export { surveyMigrations, type MigrationSeries, type MigrationsFindings, type StatementFinding } from './migrations.ts'
export { surveyMonorepo, type MonorepoFindings, type VersionMismatch, type WorkspacePackage } from './monorepo.ts'
export { comparableReport, renderReport, type AreaReport, type ReportInput } from './report.ts'
export { surveySecrets, type EnvFile, type SecretFinding, type SecretsFindings } from './secrets.ts'
export { surveyTodos, type TodoFinding, type TodoMarker, type TodosFindings } from './todos.ts'
export { openFolder, type Coverage, type Folder, type Listed, type SurveyOptions, type WalkedFile, type WalkLimits } from './walk.ts'
