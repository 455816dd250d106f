/**
 * Attribute names of spans and metrics, as string constants of our own.
 *
 * Owns: the names of the OpenTelemetry GenAI conventions that are used (status: development), Reeve's own beside them,
 * the names of providers. Does not own: which span has which (run-trace.ts). The conventions' package moves and
 * deprecates these names between releases, so none are imported from it.
 */

/** What an attribute may hold. */
export type AttributeValue = string | number | boolean | readonly string[]
/** Attributes of a span, an event, a link or a point of a metric. */
export type SpanAttributes = { readonly [name: string]: AttributeValue }

/** Names of the GenAI conventions. */
export const genAi = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  workflow: 'gen_ai.workflow.name',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  tokenType: 'gen_ai.token.type',
  // content: only where it was asked for
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
} as const

/** The error of an operation, of the general conventions. */
export const errorType = 'error.type'

/** Names of Reeve's own: what the conventions have no word for. */
export const reeve = {
  run: 'reeve.run.id',
  status: 'reeve.outcome.status',
  limit: 'reeve.outcome.limit',
  activation: 'reeve.activation.id',
  path: 'reeve.agent.path',
  delegation: 'reeve.delegation',
  purpose: 'reeve.purpose',
  address: 'reeve.operation.address',
  effect: 'reeve.operation.effect',
  attempts: 'reeve.operation.attempts',
  madeBy: 'reeve.operation.made_by',
  unfinished: 'reeve.unfinished',
  costUsd: 'reeve.usage.cost_usd',
  modelCalls: 'reeve.usage.model_calls',
  unknownCalls: 'reeve.usage.unknown_calls',
  origin: 'reeve.fork.origin',
  taskId: 'reeve.task.id',
  taskMember: 'reeve.task.member',
  approvalId: 'reeve.approval.id',
  approvalKind: 'reeve.approval.kind',
  approvalRisk: 'reeve.approval.risk',
  approvalResolution: 'reeve.approval.resolution',
  approvalReason: 'reeve.approval.reason',
  approvalComment: 'reeve.approval.comment',
  approvalInput: 'reeve.approval.input',
  approver: 'reeve.approval.approver',
  interruptId: 'reeve.interrupt.id',
  question: 'reeve.interrupt.question',
  failureClass: 'reeve.failure.class',
} as const

/** Providers whose name in the conventions is not the one before the `/` of a model's id. */
const providers: ReadonlyMap<string, string> = new Map([
  ['google', 'gcp.gemini'],
  ['google-vertex', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['azure', 'azure.ai.inference'],
  ['azure-openai', 'azure.ai.openai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
])

/** The provider and the name of a model, of its id `provider/model`. */
export function modelAttributes(id: string): SpanAttributes {
  const cut = id.indexOf('/')
  const provider = cut < 1 ? '_OTHER' : id.slice(0, cut)
  return {
    [genAi.provider]: providers.get(provider) ?? provider,
    [genAi.requestModel]: cut < 1 ? id : id.slice(cut + 1),
  }
}
