/** What happens next: the context, the Engine port, and the replay machinery that engines share. */
export * from './context.ts'
export * from './port.ts'
export { Account, limitReached, reserveAll, reserveFor, type AccountState } from './account.ts'
export { Activation } from './activation.ts'
export { isLeaving, thrownOutcome } from './cancellation.ts'
export { awaitsForeign, codeFor } from './code.ts'
export { backoff } from './backoff.ts'
export { Effects, encodeEnd, type EffectsHost } from './effects.ts'
export {
  cannotFork,
  mustBeSameFork,
  planFork,
  valuesAt,
  type ForkOrigin,
  type ForkPlan,
} from './fork.ts'
export { doneBy, doneIn, happenedAs } from './origin.ts'
export { governorOf, Governor, type GovernedModel } from './governor.ts'
export type { Host } from './host.ts'
export { mustBeJson } from './scope.ts'
export { mayLeave, noteHeld, stoppedEnd } from './leaving.ts'
export { arrivalOfMail, by, commandId, ignored, kept, said, whyIgnored, type CommandMail, type Mail } from './mail.ts'
export { askedQuestion, divergedKey, divergenceQuestion, doubtQuestion, askKey, nobodyAnswered, type QuestionRecord } from './question.ts'
export { notRegistered, type Birth, type Operation, type Owner } from './operation.ts'
export { pack, unpack } from './payload.ts'
export { lastingStream, runStream, streamFromOutside, streamOf } from './stream.ts'
export { ContextView } from './view.ts'
