/** What happens next: the context, the Engine port, and the replay machinery that engines share. */
export * from './context.ts'
export * from './port.ts'
export { Account, isForNow, reserveAll, reserveFor, usualTurns, type AccountState } from './replay/account.ts'
export { Activation } from './replay/activation.ts'
export { isLeaving, thrownOutcome } from './replay/cancellation.ts'
export { humanWaits } from './human-waits.ts'
export { TypedChannel, RequestChannel, type ChannelMessage } from './replay/channel.ts'
export { awaitsForeign, codeFor, versionToBegin } from './code-version.ts'
export { backoff } from './backoff.ts'
export { earlierOf } from './replay/earlier-attempts.ts'
export { isLookStep } from './replay/value-steps.ts'
export {
  defaultDeadlines,
  Effects,
  encodeEnd,
  type Deadlines,
  type EffectsHost,
  type UnderWay,
} from './replay/effects.ts'
export { mustBeSameFork, planFork, redactedFork, type ForkOrigin, type ForkPlan } from './fork/fork.ts'
export { retryPoint, type DiscardedWork, type RetryFrom } from './fork/retry-point.ts'
export { valuesHeard } from './fork/fork-values.ts'
export { doneIn, happenedAs, newestDeeds, OriginDeeds, toldDeeds } from './replay/origin.ts'
export { Locals, LocalsView } from './replay/locals.ts'
export { governorOf, Governor, type GovernedModel } from './governor.ts'
export type { Digests, ActivationHost } from './replay/activation-host.ts'
export { mustBeJson } from './replay/scope.ts'
export { mayLeave, noteHeld, stoppedEnd } from './replay/effect-gate.ts'
export { isDelta, mergeParts, partBytes } from './live-part.ts'
export {
  arrivalOfMail,
  by,
  commandId,
  ignored,
  reasonAndAuthor,
  whyIgnored,
  type CommandMail,
  type InboxMail,
} from './mail.ts'
export type { StopCause } from './replay/activation-host.ts'
export type { Pause } from './context.ts'
export {
  askedQuestion,
  divergedKey,
  divergenceQuestion,
  doubtQuestion,
  askKey,
  unanswered,
  type QuestionRecord,
} from './question-record.ts'
export { addressName, notRegistered, type Birth, type Operation, type Owner } from './replay/operation.ts'
export { pieceLength, unknownContent } from './contents.ts'
export { pack, unpack } from './payload.ts'
export { batchAgent, mostListed } from './run-search.ts'
export { runUsage } from './run-row.ts'
export { wordsIn } from './figures/text-search.ts'
export { storeIsRedacted, storeMark } from './redaction-mark.ts'
export { lastingStream, runStream, streamFromOutside, streamOf } from './streams.ts'
export { pausesIn, stoodBetween } from './replay/pauses.ts'
export { ContextView } from './replay/context-view.ts'
export { warning } from './warning.ts'
