/**
 * `reeve/team`: what works together beyond the basics (several workers at once, conversations, teammates, judges), and
 * the types of delegation, planned teams and their ports.
 */
export type { PostFromOutside, RecruitFromOutside, RetireFromOutside } from '../runtime/index.ts'
export { askSupervisor, breakLoop, exit, isTeammate, judge, rename, teammate } from '../agent/index.ts'
export type {
  Iteration,
  JudgeOptions,
  Mail,
  MailToSend,
  Recruited,
  RecruitWish,
  Retired,
  RetireWish,
  ScorerInput,
  Teammate,
} from '../agent/index.ts'
export { exitTool } from '../flow/index.ts'
export type { HistoryPolicy, HistoryRewriter, MemberEdge, Returns, Shares, TransferEdge } from '../flow/index.ts'
export { delegateToSeveral, ledger, reflect, roundtable } from '../supervisor/index.ts'
export type {
  BackgroundPlan,
  Delegation,
  DelegationEnd,
  DelegationHooks,
  DelegationMessages,
  DelegationResult,
  DelegationRetry,
  DelegationStart,
  Hedge,
  Keep,
  LedgerOptions,
  Lesson,
  LessonMemory,
  Memory,
  MemoryExchange,
  MemoryQuery,
  OwnTeam,
  References,
  ReflectOptions,
  Results,
  RoundtableOptions,
  SeveralOptions,
  SeveralResult,
  Similarity,
  SpeakerRule,
  TeamDelegateOptions,
  ThreadMemory,
  VerbNames,
  WorkerDelegation,
  WorkerMemory,
  WorkerQuestions,
} from '../supervisor/index.ts'
export type {
  Advice,
  Advisor,
  AdvisorOptions,
  BudgetOptions,
  DependencyOptions,
  Lead,
  MailboxOptions,
  MemoryScope,
  ModelSynthesizer,
  Plan,
  PlanEdit,
  PlannerLike,
  Recollection,
  RecruitOptions,
  RememberedPlan,
  RoleOptions,
  Roles,
  RouteHints,
  StrategyRecord,
  Subtask,
  SynthesisOptions,
  Synthesizer,
  TaskApproval,
  TeamEnd,
  TeamMemory,
  TeamPolicy,
  UndoTask,
} from '../team/index.ts'
export type { HistoryEntry, PlanResults, TaskResult, TaskStatus } from '../core/index.ts'
