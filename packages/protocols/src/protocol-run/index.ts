/**
 * A run as protocols serve it: followed until it has ended or needs people; its questions as forms, and replies to them.
 *
 * Owns: what protocols have in common. Does not own: any wire format (../ag-ui, ../a2a), what decisions and answers mean
 * (../../runtime).
 * Holds: the journal is the state. A request that comes again starts nothing, and decides nothing, a second time.
 */
export { askedBy, followRun, needsPeople, type FollowedItem, type FollowOptions, type StreamEnd } from './follow-run.ts'
export { askedQuestions, type AskedQuestion } from './asked-question.ts'
export { findQuestion, isSettled, isSettlement, reply, settlementOf, type KnownQuestion, type Reply } from './reply.ts'
export { resultAnswer } from './client-result.ts'
export { requestPath } from './request-path.ts'
export { agentName, agentNameCheck, usableAmong, type NamedAgent } from './named-agent.ts'
