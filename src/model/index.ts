/** How we speak to a language model: messages, the `Model` port, the resolver, usage, prices, prompt hashes. */
export { argumentsProblem } from './answer.ts'
export { AnswerIds, asksTheSame } from './call-ids.ts'
export { isWhole, mustAnswer } from './finish.ts'
export { tooLongHint } from './faults.ts'
export { leastOutputLimit, outputLimitOf } from './output-limits.ts'
export { answerMessage, joinedAnswer } from './messages.ts'
export type {
  AssistantMessage,
  ContentPart,
  FilePart,
  Message,
  Reasoning,
  ReasoningPart,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../core/index.ts'
export type {
  FinishReason,
  Model,
  ModelAnswer,
  ModelAnswerInput,
  ModelFunction,
  ModelRequest,
  ModelSettings,
  ToolSpec,
} from './model.ts'
export { modelCheck, modelProblem, resolveModel, type ModelRef, type ResolveOptions } from './resolve.ts'
export { providerNames } from './providers.ts'
export { fewerTools, toolCountProblem } from './wire-form.ts'
export type { LanguageModelLike } from './spec.ts'
export {
  costOf,
  findPrice,
  freeOfCharge,
  listPrices,
  priceOf,
  pricesAsOf,
  type BilledUsage,
  type ModelPrice,
  type Prices,
} from './price.ts'
export { estimateTokens, MessagesContent, modelCallContent } from './render.ts'
