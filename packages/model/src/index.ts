/** How we speak to a language model: messages, the `Model` port, the resolver, usage, prices, prompt hashes. */
export { argumentsProblem } from './answer.ts'
export { AnswerIds, asksTheSame, callIdsOf } from './call-ids.ts'
export { isWhole, mustAnswer } from './finish.ts'
export { tooLongHint } from './faults.ts'
export { leastOutputLimit, outputLimitOf } from './output-limits.ts'
export { answerMessage, joinedAnswer } from './messages.ts'
export type {
  AssistantMessage,
  ContentPart,
  FilePart,
  Message,
  RanTool,
  Reasoning,
  ReasoningPart,
  Source,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '@reeve/core'
export type {
  FallbackReason,
  FinishReason,
  Model,
  ModelAnswer,
  ModelAnswerInput,
  ModelFunction,
  ModelLink,
  ModelRequest,
  ModelSettings,
  ProviderToolForm,
  ProviderToolSupport,
  SettingLimits,
  ToolSpec,
} from './model.ts'
export { chainFrom, fallbackOfAnswer, fallbackReason, modelsOf, nextLink } from './chain.ts'
export {
  modelCheck,
  modelProblem,
  resolveModel,
  type ChainedModel,
  type ModelRef,
  type ResolveOptions,
  type SingleModelRef,
} from './resolve.ts'
export { providerNames } from './providers.ts'
export { settingProblems } from './request-limits.ts'
export {
  callPriceOf,
  feesAhead,
  feesOf,
  formFor,
  otherModelOrTool,
  providerOf,
  providerToolProblems,
  unpricedTools,
} from './provider-tools.ts'
export { fewerTools, toolCountProblem } from './wire-form.ts'
export type { LanguageModelLike } from './spec.ts'
export {
  costOf,
  freeOfCharge,
  leastCostOf,
  listPrices,
  priceIn,
  priceOf,
  priceOfModel,
  pricesAsOf,
  pricesCheck,
  type BilledUsage,
  type ModelPrice,
  type Prices,
} from './price.ts'
export { hasOwnTier } from './usage.ts'
export { estimateTokens, MessagesContent, modelCallContent } from './render.ts'
