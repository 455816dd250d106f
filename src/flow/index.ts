/**
 * Many model agents in a fixed order, or handing control to each other: router, sequential, parallel, loop; and an agent as a
 * tool.
 */
export { asTool, type AsToolOptions } from './as-tool.ts'
export { Conversation, type HistoryPolicy, type HistoryRewriter, type Shares } from './conversation.ts'
export { exitTool } from './exit-tool.ts'
export { loop, parallel, sequential, type FlowOptions, type LoopOptions } from './fixed.ts'
export {
  edgeOf,
  memberCaps,
  memberEdgeNames,
  MemberList,
  memberProblems,
  membersOf,
  work,
  type EdgeOptions,
  type MemberEdge,
} from './member.ts'
export { router, type CodeRouterOptions, type ModelRouterOptions } from './router.ts'
export type { Returns, TransferEdge } from './routing.ts'
export { sessionValue, type SessionValue, type SessionValueOptions } from './values.ts'
