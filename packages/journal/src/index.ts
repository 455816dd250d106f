/** What happened: the event union, its codec and the views folded from it. */
export * from './events/events.ts'
export * from './events/facts.ts'
export type * from './events/team-facts.ts'
export type * from './events/mail-facts.ts'
export type * from './events/oversight-facts.ts'
export type * from './events/earlier-events.ts'
export type * from './events/fork-events.ts'
export { eventTypes, isArrival, kindOf, rowOf, versions } from './events/event-table.ts'
export { answeredText, EffectNames, entryLines, eventLines, failedForGood, lastFailureText } from './event-lines.ts'
export { decode, encode, isEndEvent, upcasters, type OldEvent, type Upcaster } from './codec.ts'
export {
  delegationsIn,
  delegationsOf,
  foldDelegations,
  newDelegationsFold,
  type DelegationsFold,
  type DelegatedToolResult,
  type DelegationView,
} from './views/delegations.ts'
export { foldChange, foldRun, newRunFold, type RunFold } from './views/fold.ts'
export {
  isPauseAfter,
  RunIndex,
  type IndexChange,
  type IndexedActivation,
  type IndexedOperation,
} from './views/run-index.ts'
export { foldPage, journalPages, pagesOf, readerPage, type PageSize } from './journal-pages.ts'
export { childRunsIn, woven, WovenReading } from './views/woven.ts'
export {
  activationViewOf,
  foldState,
  headOf,
  runView,
  teamViewsOf,
  viewOf,
  type FoldState,
} from './views/projection.ts'
export {
  foldTimeline,
  newTimelineFold,
  spansAfter,
  type Span,
  type SpanPage,
  type TimelineFold,
} from './views/timeline.ts'
export { callScope, hookScope, isInEndHook } from './turn-scopes.ts'
export { DiffFold, diffOf, type DifferencePlace, type RunDiff, type RunDifference } from './views/diff.ts'
export {
  contentKeys,
  questionContent,
  sameContent,
  withoutPlainDigests,
  workerContent,
  writtenKey,
} from './content-key.ts'
export { planGraph } from './views/plan-graph.ts'
export { Story, type RecordedAnswer, type SaidItem, type StoryItem } from './story/story.ts'
export { heardText, type HeardBlock, type LiveAnswer, type LivePart } from './story/live-answers.ts'
export { blocksOf, joinedBlocks, thoughtsIn, type StoryBlock } from './story/answer-text.ts'
export { holdsControl, type WorkOwner } from './story/speakers.ts'
export {
  newTranscriptFold,
  transcribe,
  transcribeChange,
  spokenOf,
  type Spoken,
  type SpokenAction,
  type TranscriptFold,
} from './views/transcript.ts'
export type {
  BudgetView,
  MailboxView,
  MailView,
  MemberStatus,
  MemberView,
  Noted,
  PlanView,
  RecruitRequestView,
  TaskView,
  TeamView,
  TopicView,
} from './views/team-views.ts'
export {
  approvalAsked,
  type ActivationView,
  type ApprovalAsked,
  type ApprovalView,
  type DoubtView,
  type FailedAttempt,
  type InterruptView,
  type MessageView,
  type OpenOperation,
  type RecruitView,
  type RunView,
  type RunViewHead,
  type ViewStatus,
} from './views/views.ts'
export {
  copiedResultShape,
  editShape,
  eventShape,
  mailShape,
  questionShape,
  resultShape,
  valueShape,
  valuesShape,
} from './redaction.ts'
export {
  answerShape,
  callerShape,
  doneShape,
  earlierShape,
  endReasonShape,
  isEdge,
  writtenPlan,
} from './events/value-shapes.ts'
