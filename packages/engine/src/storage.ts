/**
 * What a store is made of: its contract, and what every store does alike. Whoever writes a store imports this.
 *
 * Owns: nothing; it gives names of files beside it.
 */
export { admittedRuns } from './admission.ts'
export { missingCodeEnding } from './code-version.ts'
export { flappingOf, reportIn } from './process-report.ts'
export { queriesOver, type ScannedQuestion, type ScannedRun, type StoreScan } from './queries-over.ts'
export { refusedBy } from './refusal.ts'
export {
  callerIn,
  type OpenQuestions,
  type RunTag,
  summaryOf,
  type SummaryRow,
  tagsOf,
  tenantKey,
  tenantOf,
  trialTag,
} from './run-row.ts'
export { addedCounters } from './figures/counters.ts'
export { hasTerms, termsOf, textBreak, wordsOf } from './figures/text-search.ts'
export {
  batchAgent,
  type DerivedState,
  fewRuns,
  isDerived,
  isOfFilter,
  possibleStates,
  stateColumn,
  statusSearch,
} from './run-search.ts'
export { type SchemaVersions, upgradesFrom } from './schema-version.ts'
export {
  type AgentVersion,
  asideFor,
  type Batch,
  type BatchResult,
  type ClaimCandidate,
  type Claimed,
  type ClaimFilter,
  type CommandsHeard,
  deadlineBody,
  type DueQuestion,
  emptyBatch,
  type InboxRow,
  type LogEntry,
  type NewQuestion,
  type NewRow,
  type NewIndexedRun,
  type NewRun,
  noRun,
  type Past,
  type PublishedParts,
  questionOf,
  type QuestionRow,
  type ReleasedOwners,
  type RowTarget,
  type Store,
  type StoreContents,
  type StoredEntry,
  type StoredOrigin,
  type StoredRun,
  type StoreIndex,
  type StoreLease,
  type StoreLog,
  type StoreParts,
  type StoreQueries,
  type StoreReader,
  type Unread,
  type ValueResult,
  type ValueWrite,
} from './store.ts'
export * as payload from './payload.ts'
