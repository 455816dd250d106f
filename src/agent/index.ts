/** One model agent: agents, tools, the turn loop, the gate before a tool; and small verbs for code. */
export { DefinedAgent } from './base-agent.ts'
export { agent, mustHaveModelOrCode, runCode, type CodeAgentOptions, type ModelAgentOptions } from './agent.ts'
export type { Assess, Assessment } from './approval/assessment.ts'
export { BackgroundWork } from './loop/background.ts'
export { askSideQuery, type SideQuery, type ModelAccess } from './loop/side-query.ts'
export {
  fixedToolbox,
  refuse,
  type Background,
  type Binding,
  type CallResult,
  type Opening,
  type Toolbox,
} from './tool/binding.ts'
export type { Compaction, Summarize, SummaryInput } from './extensions/compaction.ts'
export {
  completionProblems,
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
  noWorkers,
  ownTurnsProblems,
  reachable,
  refuseTeam,
  refuseTree,
  twiceNamed,
  unkept,
  unpricedModels,
} from './agent-checks.ts'
export {
  isAgent,
  isBlank,
  isName,
  listOf,
  listProblems,
  usdCapOf,
  versionOf,
  type Agent,
  type Hooked,
  type InputOf,
  type NameOf,
  type OutputOf,
  type UsdCap,
} from './definition.ts'
export { ConversationState } from './loop/conversation-state.ts'
export {
  dataIn,
  dataOf,
  factNames,
  factProblems,
  modelAgentChecks,
  modelAgentProblems,
  schemaOf,
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
  recalledProblem,
  rememberedAnswer,
  type Exchange,
  type KnownExchanges,
  type Recalled,
  type Shelf,
} from './exchanges.ts'
export { invalidInput, ToolBinding } from './approval/tool-gate.ts'
export {
  isOver,
  releaseLock,
  removeFromLock,
  acquireLock,
  type LockEntry,
  type FifoLock,
  type LockWait,
  type StoredLock,
} from './fifo-lock.ts'
export type { Iteration, IterationWord, OnIterationComplete } from './extensions/iteration.ts'
export { hookNamed } from './extensions/started.ts'
export { judge, type JudgeOptions, type Judgement } from './extensions/judge.ts'
export { think } from './loop/activation.ts'
export { lastTurn } from './extensions/last-answer.ts'
export { outputRepairs, type ModelSetup } from './loop/turn-loop.ts'
export type { Asked, Beginning, Moment, MomentValues, RunTool, ToolResult } from './extensions/middleware.ts'
export { defaultTurns, ModelAgent, modelSetup, type ModelAgentDefinition, type ModelAgentParts } from './model-agent.ts'
export { renamable, rename } from './rename.ts'
export { fitting, outputOf } from './output.ts'
export { answerLayer } from './answer-layer.ts'
export { outputKeyLayer } from './output-key.ts'
export { reviewLayer } from './approval/work-review.ts'
export { breakLoop, End, exit, saidBy, transferTo, type Talk } from './code/talk.ts'
export {
  askHuman,
  channelsOf,
  handingOver,
  HumanAgent,
  humanData,
  humanNames,
  humanProblems,
  type AnyHuman,
  type HumanFacts,
  type HumanOptions,
} from './human.ts'
export { askSupervisor, endOf, questionsOf, type Answering, type Heard, type Reply } from './code/question.ts'
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
export { isTeamTool } from './teamwork/tools.ts'
export {
  isTeamWord,
  noteMail,
  replyToWord,
  teamMessage,
  teamVerbs,
  wordIn,
  type EditWord,
  type HeardWord,
  type InboxWord,
  type Mail,
  type MailToSend,
  type RecruitWish,
  type RetireWish,
  type TeamWord,
} from './teamwork/words.ts'
export { tool, toolsOf } from './tool/tool.ts'
export { askWord, computation, wordProblem, type Word } from './extensions/word.ts'
export type {
  ActionRule,
  AgentWork,
  AiSdkTool,
  ApprovalRule,
  EffectToolOptions,
  OrchestrationToolOptions,
  Tool,
  ToolAction,
  ToolIO,
  ToolsLike,
} from './tool/tool.ts'
export { retryCheck, retryProblems } from './retry.ts'
export type { ApproveAnswer, ApproveOptions } from './approval/code-approval.ts'
export {
  agentContext,
  delegate,
  grantNames,
  grantProblems,
  sleep,
  startWorker,
  step,
  takingQuestions,
  type AgentContext,
  type DelegateOptions,
} from './code/verbs.ts'
