/** One mind: agents, tools, the turn loop, the gate before a tool; and small verbs for code. */
export { agent, mustHaveBrain, type CodeAgentOptions, type ModelAgentOptions } from './agent.ts'
export { fixedToolbox, refuse, type Binding, type CallResult, type Opening, type Toolbox } from './binding.ts'
export { agentProblems, checkAgents, noWorkers, reachable, refuseTeam } from './check.ts'
export {
  isAgent,
  isBlank,
  isName,
  listOf,
  listProblems,
  versionOf,
  type Agent,
  type InputOf,
  type NameOf,
  type OutputOf,
} from './definition.ts'
export { Desk } from './desk.ts'
export {
  dataOf,
  factNames,
  factProblems,
  mindNames,
  mindProblems,
  schemaOf,
  toolProblems,
  type AgentFacts,
  type Middleware,
  type MindFacts,
} from './facts.ts'
export { invalidInput, ToolBinding } from './gate.ts'
export { lastTurn, outputRepairs, think, type Mind } from './loop.ts'
export type { Asked, Beginning, Moment, MomentValues, RunTool, ToolResult } from './middleware.ts'
export { MindAgent, mindOf, type MindParts } from './mind.ts'
export { fitting, jsonIn, outputOf } from './output.ts'
export { workOf } from './output-key.ts'
export { breakLoop, exit, transferTo, type End, type Talk } from './talk.ts'
export { tool, toolsOf } from './tool.ts'
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
} from './tool.ts'
export { delegate, sleep, startWorker, step, type DelegateOptions } from './verbs.ts'
