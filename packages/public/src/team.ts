/**
 * `reeve/team`: what works together beyond the basics (several workers at once, conversations, teammates, judges), and
 * the types of delegation, planned teams and their ports.
 */
export type { PostFromOutside, RecruitFromOutside, RetireFromOutside } from '@reeve/runtime'
export { askSupervisor, breakLoop, exit, isTeammate, judge, rename, teammate } from '@reeve/agent'
export type {
  Iteration,
  JudgeOptions,
  Mail,
  MailToSend,
  Recruited,
  RecruitRequest,
  Retired,
  RetireRequest,
  ScorerInput,
  Teammate,
} from '@reeve/agent'
export { exitTool } from '@reeve/flow'
export type { HistoryPolicy, HistoryRewriter, MemberEdge, Returns, Shares, TransferEdge } from '@reeve/flow'
export { delegateToSeveral, ledger, reflect, roundtable } from '@reeve/supervisor'
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
} from '@reeve/supervisor'
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
} from '@reeve/team'
export type { HistoryEntry, PlanResults, TaskResult, TaskStatus } from '@reeve/core'
