/** The front door of Reeve: what a user imports. Explicit names, nothing else. */
export { createRuntime } from './runtime/index.ts'
export type {
  Answer,
  Approval,
  BusySession,
  Decision,
  DivergenceSettlement,
  DoubtSettlement,
  MessagesOptions,
  PartsOptions,
  PauseOptions,
  ReadOptions,
  Run,
  RunOutcome,
  RunPart,
  RunStream,
  RunWaiting,
  Runtime,
  RuntimeOptions,
  StartOptions,
  StreamItem,
} from './runtime/index.ts'

export { agent, breakLoop, delegate, exit, sleep, step, tool, transferTo } from './agent/index.ts'
export type {
  ActionRule,
  Agent,
  AiSdkTool,
  ApprovalRule,
  CodeAgentOptions,
  DelegateOptions,
  EffectToolOptions,
  InputOf,
  Middleware,
  ModelAgentOptions,
  Moment,
  MomentValues,
  NameOf,
  OrchestrationToolOptions,
  OutputOf,
  RunTool,
  Talk,
  Tool,
  ToolAction,
  ToolIO,
  ToolResult,
  ToolsLike,
} from './agent/index.ts'
export { asTool, exitTool, loop, parallel, router, sequential, sessionValue } from './flow/index.ts'
export type {
  AsToolOptions,
  CodeRouterOptions,
  EdgeOptions,
  FlowOptions,
  HistoryPolicy,
  HistoryRewriter,
  LoopOptions,
  MemberEdge,
  ModelRouterOptions,
  Returns,
  SessionValue,
  SessionValueOptions,
  Shares,
  TransferEdge,
} from './flow/index.ts'
export { supervisor } from './supervisor/index.ts'
export type { Delegation, Supervisor, SupervisorOptions, WorkerDelegation } from './supervisor/index.ts'
export { approve, interrupt } from './oversight/index.ts'
export type { ApprovalRequest, InterruptOptions, Risk, Verdict } from './oversight/index.ts'

export type { ContextPolicy, Conversation, Edge, EdgeMessage, JsonSchema, Limits, Permissions, SchemaLike } from './edge/index.ts'
export type {
  Message,
  Model,
  ModelAnswer,
  ModelAnswerInput,
  ModelFunction,
  ModelPart,
  ModelPrice,
  ModelRef,
  ModelRequest,
  ModelSettings,
  Prices,
  ToolCall,
  ToolSpec,
} from './model/index.ts'

export { Cancelled } from './engine/index.ts'
export type {
  AccountLimits,
  Arrival,
  AskOptions,
  Context,
  Engine,
  LivePart,
  Matcher,
  Orchestration,
  Post,
  PostResult,
  Question,
  Registry,
  RetryPolicy,
  RunFilter,
  RunStatus,
  RunSummary,
  SessionValues,
  StartRun,
  StepIO,
} from './engine/index.ts'
export { runView, spokenOf } from './journal/index.ts'
export type {
  ActivationView,
  ApprovalView,
  Caller,
  InterruptView,
  JournalEvent,
  MessageView,
  Recorded,
  RunView,
  Spoken,
  SpokenAction,
  ViewStatus,
} from './journal/index.ts'

export { describeOutcome, errorCodes, failure, FailureError, ReeveError, totalUsage } from './core/index.ts'
export type {
  ActivationId,
  ApprovalId,
  Clock,
  ErrorCode,
  Failure,
  FailureClass,
  FilePart,
  HistoryEntry,
  InterruptId,
  Json,
  JsonObject,
  MessageId,
  OpId,
  Outcome,
  OutcomeStatus,
  RunId,
  SessionId,
  Usage,
  UsageRow,
} from './core/index.ts'
