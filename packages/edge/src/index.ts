/**
 * What crosses from leader to worker: brief, context policy, permissions, limits, schemas; and how an end is told to a
 * model.
 */
export { depthRefusal, leavesHandoff, memberEdge, rootEdge, toolEdge, workerEdge, type Edge } from './edge.ts'
export { boundsOfRoot } from './groups/bounds.ts'
export { ownLimits, revised, type Grant, type LeaderGrant, type Receiver } from './grant.ts'
export type { Candidate } from './groups/flow.ts'
export { briefOf, briefText, briefValue, withFileParts, type Brief, type EdgeMessage } from './brief.ts'
export { workText } from './groups/work.ts'
export { encodeEdge, readEdge, recordedOversight, recordedSlot } from './record.ts'
export type { Assignment, TaskInput, TeamVerb } from './assignment.ts'
export { crossing, crossingMessages, edgeMessagesProblem, type ContextPolicy, type Conversation } from './context.ts'
export {
  answersOnly,
  entriesOf,
  mayRead,
  messageProblems,
  saysNothing,
  shownTo,
  transferPair,
  withoutTransfers,
} from './history.ts'
export type { StartCompletion, StartDelegation, StartHooks } from './hooks.ts'
export {
  accountLimits,
  defaultLimits,
  resultLimit,
  handedDown,
  howToLift,
  limitsCheck,
  tighter,
  turnsOf,
  unsaid,
  type Limits,
} from './limits.ts'
export {
  defaultApprovalTimeoutMs,
  escalateDefaults,
  isTrustName,
  oversightCheck,
  stricter,
  trustNameForm,
  trustsOf,
  type ApprovalRules,
  type ApproverTier,
  type Escalate,
  type Oversight,
} from './oversight.ts'
export {
  denies,
  narrow,
  needsApproval,
  patternsCheck,
  permissionsCheck,
  allowsTool,
  type Permissions,
} from './permissions.ts'
export { layered, type Layer, type ActivationWork } from './layer.ts'
export { revisionProblems, type Revision, type Revisions } from './revision.ts'
export {
  failureText,
  thrownText,
  isEmpty,
  labelled,
  formatAgentToolResult,
  formatToolResult,
  formatWorkerResult,
  type FormattedResult,
} from '@reeve/core'
export {
  checkSchema,
  compileSchema,
  isSchemaLike,
  type AiSdkSchema,
  type Checked,
  type Infer,
  type InferInput,
  type Schema,
  type SchemaLike,
  type SchemaRules,
  type StandardSchema,
} from './schema.ts'
export { schemaProblem, type JsonSchema } from './json-schema.ts'
export { schemaMisfit } from './schema-misfit.ts'
