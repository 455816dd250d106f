/**
 * `reeve`: what a team of agents is written and run with, and the types of its options. Explicit names, nothing else.
 */
export { createRuntime } from './runtime/index.ts'
export type {
  ContextHook,
  ForkOptions,
  Hooks,
  KeptRevision,
  RetriedRuns,
  RetryAllOptions,
  RetryOptions,
  RetryResult,
  RetryScope,
  Run,
  RunOutcome,
  RunStream,
  Runtime,
  RuntimeOptions,
  RunWaiting,
  SessionMemory,
  SessionQuery,
  SessionShown,
  SessionTurn,
  StartOptions,
  VersionChoice,
  VersionChoices,
  RunControl,
  RunTeam,
  RuntimeGrants,
  RuntimeSessions,
  SessionAccess,
  SessionName,
  SharedSession,
  TenantOptions,
  Tenants,
  IssuedLink,
  LinkDecision,
  LinkedApproval,
  LinkedDecision,
  LinkRequest,
  RuntimeLinks,
  RuntimeTrust,
  RuntimeVersions,
} from './runtime/index.ts'
export { agent, delegate, sleep, step, tool, transferTo } from './agent/index.ts'
export type {
  Agent,
  AgentContext,
  AiSdkTool,
  ApproveOptions,
  CodeAgentOptions,
  Compaction,
  Completion,
  DelegateOptions,
  EffectToolOptions,
  HumanOptions,
  InputOf,
  Middleware,
  ModelAgentOptions,
  OnCut,
  OnIterationComplete,
  OrchestrationToolOptions,
  OutputOf,
  Scorer,
  ScorerFunction,
  Summarize,
  Tool,
  ToolEffect,
  ToolIO,
  ToolsLike,
} from './agent/index.ts'
export { asTool, loop, parallel, router, sequential, sessionValue } from './flow/index.ts'
export type {
  AsToolOptions,
  CodeRouterOptions,
  EdgeOptions,
  FlowOptions,
  LoopOptions,
  ModelRouterOptions,
  SessionValue,
  SessionValueOptions,
} from './flow/index.ts'
export { human, supervisor } from './supervisor/index.ts'
export type {
  BasedSupervisorOptions,
  CodeSupervisorOptions,
  LeadingHumanOptions,
  Supervisor,
  SupervisorOptions,
} from './supervisor/index.ts'
export { team } from './team/index.ts'
export type { TeamOptions } from './team/index.ts'
export { approve, interrupt } from './oversight/index.ts'
export type { InterruptOptions } from './oversight/index.ts'
export type { ContextPolicy, JsonSchema, Limits, Permissions, Revision, SchemaLike, StartHooks } from './edge/index.ts'
export type {
  ChainedModel,
  FallbackReason,
  Message,
  Model,
  ModelAnswer,
  ModelAnswerInput,
  ModelFunction,
  ModelPrice,
  ModelRef,
  ModelRequest,
  ModelSettings,
  Prices,
  SingleModelRef,
  ToolCall,
  ToolSpec,
} from './model/index.ts'
export type { Context, Deadlines, RetryPolicy, StepIO } from './engine/index.ts'
export { errorCodes, failure, FailureError, ReeveError, runKey, unwrap, withdrawnMark } from './core/index.ts'
export type {
  CustomPart,
  ErrorCode,
  Failure,
  FailureClass,
  FilePart,
  Json,
  JsonObject,
  ModelPart,
  Outcome,
  OutcomeStatus,
  PartsDropped,
  RunId,
  RunKey,
  RunTextChange,
  StreamPart,
  ToolProgress,
  Usage,
} from './core/index.ts'
