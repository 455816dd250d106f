/** The server: HTTP and SSE over a runtime. Owns: what `reeve/server` exports. */
export { createServer, type ReeveServer, type ReeveServerOptions } from './server.ts'
export { Readiness, type NotReady, type ProbeAnswer } from './readiness.ts'
export { listen, type ListeningServer, type ListenOptions } from './listen.ts'
export { localContext, type LocalContextOptions, type Protocol, type ProtocolContext } from './protocol.ts'
export type { Door, Resource } from './access/door.ts'
export { protocolDoors, routeDoors, type ProtocolVerb, type RouteDoor } from './access/doors.ts'
export type { ShownError } from './error-status.ts'
export { oidc, type KeySet, type OidcOptions, type TokenClaims } from './access/oidc.ts'
export type { AccessOptions, RequestLimits } from './access/access.ts'
export type { Auth, BearerTokens, VerifyRequest } from './access/authentication.ts'
export type { Denial } from './access/denials.ts'
export type { BrowserSessionOptions } from './access/session.ts'
export type {
  AgentDocument,
  AnswerBody,
  ApprovalLink,
  AuditAnswer,
  BrowserSessionView,
  CausesAnswer,
  Changes,
  ConversationPage,
  ConversationEntry,
  DecisionBody,
  Ended,
  EndedSessions,
  ErrorBody,
  FeedMessage,
  JournalPage,
  JournalRow,
  LinkBody,
  LiveActivation,
  LiveDoubt,
  LiveMessage,
  LivePatch,
  LiveRun,
  Me,
  Page,
  PartMessage,
  Principal,
  QuestionView,
  Role,
  RunDocument,
  RunHead,
  RunPage,
  RunRow,
  SessionBody,
  SessionRow,
  SettleBody,
  Span,
  SpanPage,
  StartBody,
  StartedRetry,
  StartedRun,
  SystemDocument,
  SystemInstallation,
  SystemServer,
  TotalsAnswer,
  VersionUses,
} from './wire.ts'
