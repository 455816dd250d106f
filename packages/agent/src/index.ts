/** One model agent: agents, tools, the turn loop, the tool gate; and the verbs of code agents. */
export { defineAgent, partsOf, type AgentKind, type AgentParts } from './define-agent.ts'
export {
  agent,
  mustHaveModelOrCode,
  runCode,
  type CodeAgentOptions,
  type ModelAgentOptions,
  type ReturnedBy,
} from './agent.ts'
export type { Assess, Assessment } from './assessment.ts'
export { BackgroundWork } from './loop/background.ts'
export { askSideQuery, type SideQuery, type ModelAccess } from './side-query.ts'
export { fixedToolbox, type Background, type Binding, type Opening, type Toolbox } from './tool/binding.ts'
export { refuse, invalidInput } from './tool/refusal.ts'
export type { CallResult, ToolResult } from './conversation/call-result.ts'
export type { Compaction, Summarize, SummaryInput } from './extensions/compaction.ts'
export {
  completionChecks,
  judgedText,
  scoreOf,
  type Completion,
  type Score,
  type Scored,
  type ScoredMoment,
  type Scorer,
  type ScorerFunction,
  type ScorerInput,
  type ScorerResult,
} from './extensions/completion.ts'
export {
  agentProblems,
  checkAgents,
  ownTurnsProblems,
  reachableAgents,
  throwTeamProblems,
  checkTree,
  duplicateNames,
  capProblem,
  unpricedModels,
} from './agent-checks.ts'
export {
  isAgent,
  isBlank,
  agentsIn,
  agentsCheck,
  problemText,
  ownVersionOf,
  usdCapOf,
  versionOf,
  type Agent,
  type AgentProblem,
  type CodedProblem,
  type StartHookKind,
  type InputOf,
  type NameOf,
  type OutputOf,
  type UsdCap,
  type DescribedWorkers,
  type NeedsDescription,
  type Undescribed,
} from './definition.ts'
export { modelRulesLayer, modelRulesOf, type ModelRules } from './model-call/model-rules.ts'
export { ConversationState } from './conversation/conversation-state.ts'
export {
  dataIn,
  dataOf,
  composedChecks,
  factChecks,
  factRule,
  meantByAgentOptions,
  modelAgentChecks,
  schemaOf,
  schemasOf,
  toolProblems,
  type AgentFacts,
  type Middleware,
  type ModelAgentFacts,
} from './facts.ts'
export {
  addExchange,
  countExchanges,
  exchangeMessages,
  exchangeSlots,
  mostExchanges,
  newestExchanges,
  recalledMessages,
  recallProblem,
  rememberedAnswer,
  type Exchange,
  type KnownExchanges,
  type RecalledMemory,
  unansweredEnd,
  type ExchangeKeys,
} from './exchange-store.ts'
export { readWhole } from './tool/whole-result.ts'
export { boundedCall, withinBound } from './tool/result-bound.ts'
export { HandedResults, isReadByModel, type HandedBound, type HandedResult } from './tool/handed-results.ts'
export { ToolBinding } from './approval/tool-gate.ts'
export {
  activationHasEnded,
  releaseLock,
  removeFromLock,
  acquireLock,
  passedByIn,
  type LockEntry,
  type FifoLock,
  type LockWait,
  type StoredLock,
} from './fifo-lock.ts'
export type { OnCut } from './model-call/answer-end.ts'
export type { Iteration, IterationReply, OnIterationComplete } from './extensions/iteration.ts'
export { hookNamed } from './extensions/start-hooks.ts'
export { judge, type JudgeOptions, type Judgement } from './judge.ts'
export { runModelAgent } from './loop/model-activation.ts'
export { lastTurn } from './extensions/last-answer.ts'
export { outputRepairs, type ModelSetup } from './loop/turn-loop.ts'
export type { ModelPrompt, ActivationStart, Moment, MomentValues, RunTool } from './extensions/middleware.ts'
export { defaultTurns } from './conversation/turn-budget.ts'
export {
  modelAgentKind,
  modelParts,
  modelSetup,
  type AnyModelAgentOptions,
  type ModelAgentMembers,
  type ModelAgentParts,
} from './model-agent.ts'
export { renamable, rename } from './rename.ts'
export { checkOutput, outputAs, outputOf } from './output.ts'
export { answerLayer } from './answer-layer.ts'
export { outputKeyLayer } from './output-key.ts'
export { reviewLayer } from './approval/work-review.ts'
export { breakLoop, CodeEnd, exit, answerBy, transferTo, type HandoffContext } from './code/handoff-context.ts'
export {
  askHuman,
  channelsOf,
  transferAnswer,
  humanAgent,
  humanData,
  humanChecks,
  humanRule,
  type AnyHuman,
  type HumanFacts,
  type HumanOptions,
} from './human.ts'
export {
  askSupervisor,
  awaitWorker,
  questionListener,
  type QuestionAnswerer,
  type LeaderQuestion,
  type Reply,
} from './code/leader-question.ts'
export {
  isTeammate,
  teammate,
  type MailWait,
  type Published,
  type Recruited,
  type Retired,
  type Sent,
  type TeamEntry,
  type Teammate,
} from './teamwork/teammate.ts'
export { isTeamTool } from './teamwork/team-tools.ts'
export {
  noteMail,
  replyToCommand,
  teamMessage,
  teamVerbs,
  commandIn,
  type EditCommand,
  type ReceivedCommand,
  type InboxCommand,
  type Mail,
  type MailToSend,
  type RecruitRequest,
  type RetireRequest,
  type TeamCommand,
} from './teamwork/team-commands.ts'
export { clientTool, isSearchable, tool, toolsOf } from './tool/tool.ts'
export { searchable, type SearchableOptions } from './tool/searchable.ts'
export { offeredCount } from './tool/search-toolbox.ts'
export {
  providerTool,
  webSearch,
  type ProviderTool,
  type ProviderToolOptions,
  type WebSearchOptions,
} from './tool/provider-tool.ts'
export { callHook, hookStepOptions, hookReplyProblem, type HookReply } from './hook-call.ts'
export type {
  ActionRule,
  AgentWork,
  AiSdkTool,
  ApprovalRule,
  Preview,
  ClientToolOptions,
  EffectToolOptions,
  OrchestrationToolOptions,
  SearchableTools,
  Tool,
  ToolAction,
  ToolEffect,
  ToolIO,
  ToolsLike,
} from './tool/tool.ts'
export { retryCheck, retryChecks } from './retry-check.ts'
export type { ApproveAnswer, ApproveOptions } from './code/code-approval.ts'
export {
  agentContext,
  delegate,
  grantChecks,
  sleep,
  startWorker,
  step,
  questionGrant,
  type AgentContext,
  type DelegateOptions,
} from './code/agent-context.ts'
export { unansweredOf } from './code/unanswered-work.ts'
