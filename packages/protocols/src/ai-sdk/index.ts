/**
 * `reeve/ai-sdk`: a team behind the AI SDK's `useChat`.
 *
 * Owns: what the subpath exports. Does not own: models of the AI SDK, which `reeve` itself takes (../../model).
 * Holds: it needs no package of the AI SDK: the stream is written by hand, and read by the client's own.
 */
export { uiMessages, type UiMessagesOptions } from './ui-messages.ts'
export { uiMessageStreamResponse, type UiMessageStreamOptions } from './message-stream.ts'
export type { AgentData, QuestionData, RunMessageData, RunMessageMetadata } from './chunk.ts'
export type { UiChatMessage } from './chat-history.ts'
