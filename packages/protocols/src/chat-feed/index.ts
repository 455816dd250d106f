/** A run as those are shown it who chat with it: one reading for the protocols of chats. Not a port: no one imports it by name. */
export { ChatFeed, ChatFeeds, type FindRun } from './chat-feed.ts'
export { runInput } from './run-input.ts'
export { applyChange, type ChatChange, type ChatItem, type ChatWorker } from './chat-item.ts'
export { recordedChanges } from './chat-fold.ts'
export { sseMessage, sseResponse, type StreamReading } from './sse.ts'
