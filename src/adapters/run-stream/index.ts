/** A run as those are shown it who chat with it: one reading for the protocols of chats. Not a port: no one imports it by name. */
export { FollowedRun, FollowedRuns, type Rest } from './followed-run.ts'
export { runInput } from './run-input.ts'
export { applyChange, type Shown, type ShownChange, type ShownWorker } from './shown.ts'
export { recordedChanges } from './shown-fold.ts'
export { sseMessage, sseResponse, type StreamReading } from './sse.ts'
