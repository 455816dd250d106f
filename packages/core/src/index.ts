/** Shared by all packages: ids, errors, failures, outcomes, JSON, time, usage. Imports nothing of Reeve. */
export { abortOf, LazyAbortController, setController, withSignalOf, type AbortState } from './abort.ts'
export {
  asText,
  canonical,
  copy,
  deepFreeze,
  isObject,
  jsonBytes,
  jsonProblem,
  own,
  present,
  plainCopy,
  writingProblem,
  type Draft,
  type Json,
  type JsonObject,
} from './json.ts'
export {
  contentShown,
  recordedResult,
  resultWithFiles,
  shownParts,
  shownResult,
  withLines,
  wholeResult,
  type ShownContent,
} from './shown-result.ts'
export {
  filesProblem,
  isResultWithFiles,
  mostFileData,
  mostFiles,
  takenFiles,
  withFiles,
  type GivenFile,
  type ResultWithFiles,
  type TakenFiles,
} from './result-files.ts'
export {
  contentFiles,
  contentText,
  describedContent,
  dataBytes,
  describeFile,
  fileHandle,
  fileLabel,
  isLabelled,
  withLabels,
} from './file-label.ts'
export { filesByHandle, filesNamed, messageFiles } from './named-files.ts'
export { enclosed } from './enclosed.ts'
export { wellFormed } from './well-formed.ts'
export {
  inexactPlace,
  jsonIn,
  jsonOf,
  readJson,
  saysValue,
  valueTyped,
  type JsonReading,
  type JsonSearch,
} from './json-text.ts'
export {
  childActivation,
  derivedId,
  isKeyed,
  runKey,
  isChildRun,
  newId,
  newSecret,
  parentOf,
  randomHex,
  rootActivation,
  runId,
  runOf,
  mustBeId,
  rootRun,
} from './ids.ts'
export type {
  ActivationId,
  ApprovalId,
  CapabilityId,
  InterruptId,
  MessageId,
  OpId,
  RunId,
  RunKey,
  SessionId,
} from './ids.ts'
export {
  boundedText,
  contentNamesIn,
  headOf,
  oversizeText,
  readTool,
  referenceText,
  unkeptText,
} from './result-bound.ts'
export { charactersWithin, textTokens } from './text-tokens.ts'
export { contentName, isContentName, isContentRef, type ContentRef, type ContentType } from './content-ref.ts'
export { delegationOf, isToolAgent, isToolOf, toolAgent } from './composed-names.ts'
export { ChurnMap, ChurnSet } from './churn-map.ts'
export { isReeveMessage, mustNotBeReeveMessage } from './reeve-message.ts'
export { isSamePerson, personName, underName } from './people.ts'
export {
  defaultMode,
  levelModes,
  oversightModeRules,
  oversightModes,
  ruleOfMode,
  stricterMode,
  type OversightMode,
  type OversightModeRule,
} from './oversight-mode.ts'
export { riskLevels, type RiskLevel } from './risk.ts'
export { fromBase64url, toBase64url } from './base64url.ts'
export { digest, digestJson, RollingHash, type Sha256 } from './hash.ts'
export { type Clock, delay, jitter, pause, seededRandom, stopwatch, systemClock, timerMs } from './clock.ts'
export { nextSlice, Slices } from './time-slices.ts'
export { importAtRunTime, optionalPeer, peerProblem, resolveAtRunTime } from './optional-peer.ts'
export { errorCodes, messageOf, ReeveError, type ErrorCode, type ReeveErrorOptions } from './errors.ts'
export {
  failure,
  FailureError,
  failureFrom,
  usedByFailure,
  type Failure,
  type FailureClass,
  type UsedByFailure,
} from './failure.ts'
export { fetchProblem, retryAfter, untilDate } from './retry-after.ts'
export { fileSource, isPublicHost, type FileSource } from './file-address.ts'
export { base64Of, base64Problem, mediaTypeIn, typeOfData } from './file-content.ts'
export { fileInput, type FileInput } from './file-input.ts'
export {
  failureText,
  formatAgentToolResult,
  formatRefusedCall,
  formatRefusedDelegation,
  formatToolResult,
  formatWorkerResult,
  isEmpty,
  labelled,
  thrownText,
  withDeeds,
  withNote,
  type FormattedResult,
} from './formatted-result.ts'
export { keptBeginning, keptForm, keptStart, type KeptResult, type KeptValue } from './kept-result.ts'
export {
  cancelled,
  completed,
  describeOutcome,
  doneBefore,
  lateReason,
  timedOut,
  failed,
  hasHandoff,
  handoffOf,
  unanswered,
  unwrap,
  withAnswer,
  withoutHandoff,
  withHandoff,
  withWorkDone,
  type WithWorkDone,
  type WorkDone,
  type LimitedAccount,
  type LimitName,
  type Outcome,
  type OutcomeStatus,
  type PlanResults,
  type TaskResult,
  type TaskStatus,
  type WithWorkerFailures,
  type WorkerFailure,
  withoutOwnWork,
} from './outcome.ts'
export { isWithin } from './ids.ts'
export {
  formatTraceparent,
  parseTraceparent,
  runSpanId,
  spanIdOf,
  traceIdOf,
  traceparentOf,
  type TraceParent,
} from './trace-context.ts'
export { andThen, caught, detached, oneAtATime, promised, type Now } from './now.ts'
export { argumentName, argumentsLine, durationText, mostArguments, preview, truncated } from './preview.ts'
export {
  bar,
  beginning,
  beginningIn,
  columnsOfText,
  cut,
  visible,
  visibleJson,
  visibleLine,
  visibleLines,
  wrapped,
} from './visible.ts'
export {
  amount,
  choice,
  choiceOr,
  duration,
  either,
  expects,
  firstProblem,
  flag,
  fraction,
  functionCheck,
  interval,
  isBoolean,
  isFunction,
  isName,
  jsonCheck,
  listOf,
  milliseconds,
  nameCheck,
  nameForm,
  number,
  object,
  objectOr,
  objectOrInstance,
  openObject,
  optionProblems,
  recordOf,
  refuseProblems,
  required,
  secret,
  string,
  text,
  twiceIn,
  unchecked,
  valid,
  wholeNumber,
  choiceIn,
  type Check,
  type Checks,
  type Inferred,
  type Rule,
  type Without,
} from './checks.ts'
export {
  described,
  hasNames,
  meantInstead,
  shownName,
  mustBeOptions,
  type NamesOf,
  nearest,
  unknownWorker,
  unknownNames,
} from './names.ts'
export { askTool, formatSources, messageContent, transferred, transferTool, CallNumbers } from './message.ts'
export type {
  Action,
  AssistantMessage,
  ContentPart,
  FilePart,
  HistoryEntry,
  Message,
  Reasoning,
  RanTool,
  ReasoningPart,
  Source,
  SystemMessage,
  ToolCall,
  ToolMessage,
  HandoffRecord,
  UserMessage,
} from './message.ts'
export {
  holdsSecret,
  redactedMark,
  redactionCheck,
  redactor,
  type Redaction,
  type Redactor,
  type Shape,
} from './redact.ts'
export {
  beginsAnew,
  bothChanges,
  isChange,
  PlainText,
  SeenText,
  withdrawnMark,
  type RunTextChange,
  type SaidChange,
  type TextChange,
} from './seen-text.ts'
export {
  sentPart,
  streamPartOf,
  type CustomPart,
  type ModelPart,
  type PartsDropped,
  type StreamPart,
  type ToolProgress,
} from './stream-part.ts'
export { connectionErrorText, tlsProblem, type TlsProblem } from './tls-problem.ts'
export { addUsage, soundUsage, totalUsage, usageRow, type CallUsage, type Usage, type UsageRow } from './usage.ts'
export { shellWord } from './shell-word.ts'
export { version } from './version.ts'
