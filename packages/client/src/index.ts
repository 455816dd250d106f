/** The client: runs over HTTP, typed. Owns: what `reeve/client` exports. */
export {
  createClient,
  type AnyAgents,
  type BatchStart,
  type ClientAgents,
  type FiguresQuery,
  type PageOptions,
  type QuestionQuery,
  type ReeveClient,
  type RemoteStart,
  type RunQuery,
} from './client.ts'
export type { ClientCallInfo, ClientTools, RunClientToolsOptions } from './client-tools.ts'
export { withdrawnMark, type RunTextChange } from '@reeve/core/seen-text'
export { streamPartOf } from '@reeve/core/stream-part'
export { ClientError } from './client-error.ts'
export type { StreamOptions, StreamState } from './event-source.ts'
export type { CallOptions, ReeveClientOptions } from './http.ts'
export { applyMessage, applyPatch, type LiveState } from './live-run.ts'
export type {
  RemoteAnswer,
  RemoteControl,
  RemoteDecision,
  RemoteOutcome,
  RemotePart,
  RemoteRead,
  RemoteRun,
  RemoteTeam,
} from './remote-run.ts'
export type { RemoteParts } from './run-text.ts'
