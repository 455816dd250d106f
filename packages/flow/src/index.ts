/**
 * Many model agents in a fixed order, or handing control to each other: router, sequential, parallel, loop; and an
 * agent as a tool.
 */
export { asTool, type AsToolOptions } from './as-tool.ts'
export { FlowConversation, type HistoryPolicy, type HistoryRewriter, type Shares } from './conversation.ts'
export { exitTool } from './exit-tool.ts'
export { loop, parallel, sequential, type FlowOptions, type LoopOptions } from './fixed-order.ts'
export {
  edgeOf,
  memberCaps,
  edgesCheck,
  memberEdgeChecks,
  MemberList,
  membersOf,
  runMember,
  type EdgeOptions,
  type MemberEdge,
} from './member.ts'
export { router, type CodeRouterOptions, type ModelRouterOptions } from './router.ts'
export type { Returns, TransferEdge } from './control-loop.ts'
export { sessionValue, type SessionValue, type SessionValueOptions } from './session-value.ts'
