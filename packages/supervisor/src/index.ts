/** Agents led by one leader: delegate, forward, recruit; and conversations with a chair. */
export { ledger, type LedgerOptions } from './conversation/ledger.ts'
export { human, type LeadingHumanOptions } from './human-leader.ts'
export { roundtable, type RoundtableOptions } from './conversation/roundtable.ts'
export type { DelegationQuestion, WorkerQuestions } from './delegation/worker-questions.ts'
export type {
  AskingOptions,
  Chair,
  Choice,
  Floor,
  Speaker,
  SpeakerRule,
  SpeakerWord,
  Table,
} from './conversation/speaker-choice.ts'
export { supervisor, type Supervisor } from './supervisor.ts'
export type { BasedSupervisorOptions, CodeSupervisorOptions, SupervisorOptions } from './options.ts'
export type { DelegationResult, OwnTeam, TeamDelegateOptions } from './own-team.ts'
export type { Lesson, LessonMemory, Similarity } from './lesson-memory.ts'
export { reflect, type Judged, type ReflectOptions } from './reflect.ts'
export type { Delegation, Results, VerbNames, WorkerDelegation } from './delegation/options.ts'
export type {
  DelegationEnd,
  DelegationEndWord,
  DelegationHooks,
  DelegationMessages,
  DelegationMoment,
  DelegationStart,
  DelegationStartWord,
} from './delegation/delegation-hooks.ts'
export type { Memory, MemoryExchange, MemoryQuery, ThreadMemory, WorkerMemory } from './delegation/worker-memory.ts'
export type { References } from './delegation/references.ts'
export type { BackgroundPlan, DelegationRetry, Disposition, Hedge } from './delegation/dispatch.ts'
export { Watch, type WorkerWatch, type WorkerEnd } from './worker/watch.ts'
export { pauseBeforeRetry, retryDelay, startTask, type StartedTask, type WorkerTask } from './worker/worker-task.ts'
export type { Keep } from './worker/race.ts'
export {
  delegateToSeveral,
  type SeveralEnd,
  type SeveralOptions,
  type SeveralResult,
} from './delegation/delegate-to-several.ts'
