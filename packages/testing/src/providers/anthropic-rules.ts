/**
 * What Anthropic refuses: its rules for messages, thoughts, calls, tools, pictures, settings and the prompt cache.
 *
 * Owns: the rules, each with the place that says so. Does not own: their form on the wire (anthropic.ts), the subset of
 * JSON Schema of strict tools and typed output (anthropic-schemas.ts).
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import { anthropicModel } from './anthropic-models.ts'
import { anthropicSchemaRules } from './anthropic-schemas.ts'
import { isSignatureOf, isWellFormed, mediaTypeOf } from './content.ts'
import type { ProviderRequest, ProviderRule } from './wire.ts'
import { firstOf, listAt, memberOf, numberAt, objectAt, objectsAt, repeated, textAt, textsIn } from './wire.ts'

const reference = 'https://platform.claude.com/docs/en/api/messages/create'
const thinkingGuide = 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking'
const sdkTypes = 'https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/messages/messages.ts'
const toolGuide = 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls'

const rule = (
  what: string,
  source: string,
  [name, check]: readonly [name: string, check: ProviderRule['check']],
  more: Pick<ProviderRule, 'status' | 'code'> = {},
): ProviderRule => ({ id: `anthropic/${name}`, providers: ['anthropic'], what, source, check, ...more })

/** A block of a message, with its place in the words of the vendor. */
interface Placed {
  readonly block: JsonObject
  readonly at: string
}

/** Consecutive messages of one role are one turn. */
interface Turn {
  readonly role: string
  readonly blocks: readonly Placed[]
}

/** A text is short for one block of text. */
function blocksOf(message: JsonObject, at: string): readonly Placed[] {
  const content = memberOf(message, 'content')
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, at: `${at}.content` }]
  return objectsAt(message, 'content').map((block, index) => ({ block, at: `${at}.content.${index}` }))
}

const messagesOf = ({ body }: ProviderRequest): readonly JsonObject[] => objectsAt(body, 'messages')

const allBlocks = (request: ProviderRequest): readonly (Placed & { readonly role: string })[] =>
  messagesOf(request).flatMap((message, index) =>
    blocksOf(message, `messages.${index}`).map((placed) => ({ ...placed, role: textAt(message, 'role') ?? '' })),
  )

function turnsOf(request: ProviderRequest): readonly Turn[] {
  const turns: { role: string; blocks: Placed[] }[] = []
  for (const [index, message] of messagesOf(request).entries()) {
    const role = textAt(message, 'role') ?? ''
    const last = turns.at(-1)
    const blocks = blocksOf(message, `messages.${index}`)
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks: [...blocks] })
  }
  return turns
}

const typeOf = ({ block }: Placed): string => textAt(block, 'type') ?? ''
const ofType = (turn: Turn | undefined, type: string): readonly Placed[] =>
  turn?.blocks.filter((placed) => typeOf(placed) === type) ?? []
const idsOf = (placed: readonly Placed[], member: string): readonly string[] =>
  placed.map(({ block }) => textAt(block, member) ?? '')

const toolsOf = ({ body }: ProviderRequest): readonly JsonObject[] => objectsAt(body, 'tools')
const ownTools =
  /^(?:custom|(?:web_search|web_fetch|code_execution|bash|text_editor|computer|memory|tool_search_tool_(?:bm25|regex))_\d{8})$/
/** Tools of one's own; those that Anthropic runs have a type and no schema. */
const customTools = (request: ProviderRequest): readonly (readonly [tool: JsonObject, at: string])[] =>
  toolsOf(request).flatMap((tool, index) => {
    const type = memberOf(tool, 'type') ?? 'custom'
    return type === 'custom' ? [[tool, `tools.${index}.custom`] as const] : []
  })

const thinkingType = ({ body }: ProviderRequest): string | undefined => textAt(objectAt(body, 'thinking'), 'type')
const isThinking = (request: ProviderRequest): boolean =>
  ['enabled', 'adaptive', 'between_tools'].includes(thinkingType(request) ?? '')
const forcesTool = ({ body }: ProviderRequest): boolean =>
  ['any', 'tool'].includes(textAt(objectAt(body, 'tool_choice'), 'type') ?? '')

/** Everything of a request that may carry `cache_control`, in the order in which it is cached. */
function cacheable(request: ProviderRequest): readonly Placed[] {
  const { body } = request
  const inResults = (placed: Placed): readonly Placed[] => [
    placed,
    ...objectsAt(placed.block, 'content').map((block, index) => ({ block, at: `${placed.at}.content.${index}` })),
  ]
  return [
    ...toolsOf(request).map((block, index) => ({ block, at: `tools.${index}` })),
    ...objectsAt(body, 'system').map((block, index) => ({ block, at: `system.${index}` })),
    ...allBlocks(request).flatMap(inResults),
  ]
}
const cached = (request: ProviderRequest): readonly Placed[] =>
  cacheable(request).filter(({ block }) => isObject(memberOf(block, 'cache_control')))

const listOrText = (content: Json | undefined): boolean =>
  typeof content === 'string' || (Array.isArray(content) && content.length > 0)
const isBlank = (text: string): boolean => text.trim() === ''
const textProblem = (where: string, text: string): string | undefined => {
  if (text === '') return `${where}: text content blocks must be non-empty`
  return isBlank(text) ? `${where}: text content blocks must contain non-whitespace text` : undefined
}

const namePattern = /^[a-zA-Z0-9_-]{1,128}$/
const idPattern = /^[a-zA-Z0-9_-]+$/
const keyPattern = /^[a-zA-Z0-9_.-]{1,64}$/

/** Members that a request may have, those of betas included. */
const members: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'cache_control',
  'container',
  'context_management',
  'compaction',
  'mcp_servers',
  'service_tier',
  'inference_geo',
  'speed',
  'fallbacks',
  'thread',
  'safeguards',
])

/** Members of the blocks that are written by hand; blocks of Anthropic's own tools go back as they came. */
const blockMembers: { readonly [type: string]: readonly string[] } = {
  text: ['type', 'text', 'cache_control', 'citations'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller', 'toolset_name'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name'],
  image: ['type', 'source', 'cache_control', 'transformations'],
  document: ['type', 'source', 'cache_control', 'citations', 'context', 'title'],
}

const pictureTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** Pictures and documents, those in results of tools included. */
function sourcesOf(request: ProviderRequest): readonly (Placed & { readonly source: JsonObject })[] {
  const nested = (placed: Placed): readonly Placed[] =>
    typeOf(placed) === 'tool_result'
      ? objectsAt(placed.block, 'content').map((block, index) => ({
          block,
          at: `${placed.at}.tool_result.content.${index}`,
        }))
      : [placed]
  return allBlocks(request)
    .flatMap(nested)
    .flatMap((placed) => {
      const source = objectAt(placed.block, 'source')
      return source !== undefined && ['image', 'document'].includes(typeOf(placed)) ? [{ ...placed, source }] : []
    })
}

const envelope: readonly ProviderRule[] = [
  rule(
    'A request has at most 32 MB.',
    'https://docs.claude.com/en/api/errors',
    [
      'size',
      ({ text }) =>
        text.length > 32 * 1024 * 1024 ? 'Request exceeds the maximum allowed number of bytes.' : undefined,
    ],
    { status: 413, code: 'request_too_large' },
  ),
  rule('A request names the version of the API.', 'https://platform.claude.com/docs/en/api/versioning', [
    'version',
    ({ headers }) => (headers['anthropic-version'] === undefined ? 'anthropic-version: header is required' : undefined),
  ]),
  rule('Texts have no half of a surrogate pair.', 'https://github.com/anthropics/claude-code/issues/3277', [
    'well-formed',
    ({ body, text }) =>
      [...textsIn(body)].every(isWellFormed)
        ? undefined
        : `The request body is not valid JSON: no low surrogate in string: line 1 column ${Math.max(1, text.search(/\\ud[89a-f]/i))}`,
  ]),
  rule('A request has no unknown members.', 'https://github.com/amrit110/oli/issues/7', [
    'unknown-member',
    ({ body }) =>
      firstOf(Object.keys(body), (name) => (members.has(name) ? undefined : `${name}: Extra inputs are not permitted`)),
  ]),
  rule('A model is named.', reference, [
    'model',
    ({ body }) => ((textAt(body, 'model') ?? '') === '' ? 'model: Field required' : undefined),
  ]),
  rule('`max_tokens` is there, a whole number that is not negative.', reference, [
    'max-tokens',
    ({ body }) => {
      const given = memberOf(body, 'max_tokens')
      if (given === undefined) return 'max_tokens: Field required'
      return Number.isInteger(given) && (given as number) >= 0
        ? undefined
        : 'max_tokens: Input should be a valid integer'
    },
  ]),
  rule('`max_tokens` is not more than the model can write.', 'https://github.com/OpenHands/OpenHands/issues/11090', [
    'max-tokens-of-model',
    ({ body, model }) => {
      const most = anthropicModel(model).maxOutput
      const asked = numberAt(body, 'max_tokens') ?? 0
      if (most === undefined || asked <= most) return undefined
      return `max_tokens: ${asked} > ${most}, which is the maximum allowed number of output tokens for ${model}`
    },
  ]),
]

const messages: readonly ProviderRule[] = [
  rule('There are messages.', reference, [
    'no-messages',
    ({ body }) => {
      if (memberOf(body, 'messages') === undefined) return 'messages: Field required'
      return listAt(body, 'messages').length === 0 ? 'messages: at least one message is required' : undefined
    },
  ]),
  rule('A message is of a user, an assistant or (in the middle) the system.', sdkTypes, [
    'role',
    (request) =>
      firstOf(messagesOf(request), (message, index) =>
        ['user', 'assistant', 'system'].includes(textAt(message, 'role') ?? '')
          ? undefined
          : `messages.${index}.role: Input should be 'user' or 'assistant'`,
      ),
  ]),
  rule('The first message is the user’s.', 'https://github.com/langchain4j/langchain4j/issues/940', [
    'first-is-user',
    (request) =>
      textAt(messagesOf(request)[0], 'role') === 'user'
        ? undefined
        : 'messages: first message must use the "user" role',
  ]),
  rule('Every message but the last of an assistant has content.', reference, [
    'content',
    (request) => {
      const all = messagesOf(request)
      return firstOf(all, (message, index) => {
        const last = index === all.length - 1 && textAt(message, 'role') === 'assistant'
        const content = memberOf(message, 'content')
        return last || (content !== '' && listOrText(content))
          ? undefined
          : `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
      })
    },
  ]),
  rule('A text in a message is not blank.', 'https://github.com/anthropics/claude-code/issues/23440', [
    'blank-text',
    (request) =>
      firstOf(allBlocks(request), (placed) =>
        typeOf(placed) === 'text' ? textProblem('messages', textAt(placed.block, 'text') ?? '') : undefined,
      ),
  ]),
  rule('A text of the system is not blank.', 'https://github.com/agentjido/req_llm/pull/712', [
    'blank-system',
    ({ body }) => {
      const system = memberOf(body, 'system')
      if (typeof system === 'string') return textProblem('system', system)
      return firstOf(objectsAt(body, 'system'), (block) => textProblem('system', textAt(block, 'text') ?? ''))
    },
  ]),
  rule('A block has no members that it does not know.', 'https://github.com/anthropics/claude-code/issues/4378', [
    'unknown-block-member',
    (request) =>
      firstOf(allBlocks(request), (placed) => {
        const known = Object.hasOwn(blockMembers, typeOf(placed)) ? blockMembers[typeOf(placed)] : undefined
        const strange = known && Object.keys(placed.block).find((name) => !known.includes(name))
        return strange === undefined
          ? undefined
          : `${placed.at}.${typeOf(placed)}.${strange}: Extra inputs are not permitted`
      }),
  ]),
  rule('Calls and thoughts stand in messages of the assistant, results and pictures in those of the user.', toolGuide, [
    'block-role',
    (request) =>
      firstOf(allBlocks(request), (placed) => {
        const type = typeOf(placed)
        if (['tool_use', 'thinking', 'redacted_thinking'].includes(type) && placed.role !== 'assistant')
          return `${placed.at}: \`${type}\` blocks can only be in \`assistant\` messages`
        if (['tool_result', 'image', 'document'].includes(type) && placed.role !== 'user')
          return `${placed.at}: \`${type}\` blocks can only be in \`user\` messages`
        return undefined
      }),
  ]),
  rule(
    'The last message of an assistant does not end with a space.',
    'https://github.com/langchain-ai/langchain/issues/35071',
    [
      'trailing-space',
      (request) => {
        const last = turnsOf(request).at(-1)
        const text = last?.blocks.at(-1)
        const said = text && typeOf(text) === 'text' ? (textAt(text.block, 'text') ?? '') : ''
        return last?.role === 'assistant' && said !== said.trimEnd()
          ? 'messages: final assistant content cannot end with trailing whitespace'
          : undefined
      },
    ],
  ),
  rule(
    'From Claude 4.6 on, the last message is the user’s, or an assistant’s turn that paused inside a tool of Anthropic’s.',
    'https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-6#breaking-changes',
    [
      'prefill',
      (request) => {
        const last = turnsOf(request).at(-1)
        if (last?.role !== 'assistant' || ofType(last, 'server_tool_use').length > 0) return undefined
        return anthropicModel(request.model).prefill && !isThinking(request)
          ? undefined
          : 'This model does not support assistant message prefill. The conversation must end with a user message.'
      },
    ],
  ),
  rule('There are at most 100,000 messages.', reference, [
    'message-count',
    ({ body }) =>
      listAt(body, 'messages').length > 100_000 ? 'messages: List should have at most 100000 items' : undefined,
  ]),
]

const calls: readonly ProviderRule[] = [
  rule('An id of a call has letters, digits, `_` and `-` only.', 'https://github.com/HKUDS/nanobot/pull/4356', [
    'call-id',
    (request) =>
      firstOf(allBlocks(request), ({ block, at }) => {
        const member = textAt(block, 'type') === 'tool_use' ? 'id' : 'tool_use_id'
        if (!['tool_use', 'tool_result'].includes(textAt(block, 'type') ?? '')) return undefined
        return idPattern.test(textAt(block, member) ?? '')
          ? undefined
          : `${at}.${textAt(block, 'type')}.${member}: String should match pattern '${idPattern.source}'`
      }),
  ]),
  rule('An id of a call is there once.', 'https://github.com/BerriAI/litellm/issues/23510', [
    'call-id-unique',
    (request) => {
      const made = allBlocks(request).filter((placed) => typeOf(placed) === 'tool_use')
      const twice = repeated(idsOf(made, 'id'))
      const at = made.filter(({ block }) => textAt(block, 'id') === twice).at(-1)?.at
      return twice === undefined ? undefined : `${at}: \`tool_use\` ids must be unique`
    },
  ]),
  rule('Every call has its result in the next message.', 'https://github.com/anthropics/claude-code/issues/8612', [
    'call-without-result',
    (request) => {
      const turns = turnsOf(request)
      return firstOf(turns, (turn, index) => {
        const results = idsOf(ofType(turns[index + 1], 'tool_result'), 'tool_use_id')
        const open = idsOf(ofType(turn, 'tool_use'), 'id').filter((id) => !results.includes(id))
        if (open.length === 0) return undefined
        const at = ofType(turn, 'tool_use')[0]?.at.split('.content')[0]
        return `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
      })
    },
  ]),
  rule('Every result has its call in the message before.', 'https://github.com/anthropics/claude-code/issues/13460', [
    'result-without-call',
    (request) => {
      const turns = turnsOf(request)
      return firstOf(turns, (turn, index) => {
        const asked = idsOf(ofType(turns[index - 1], 'tool_use'), 'id')
        const stray = ofType(turn, 'tool_result').find(
          ({ block }) => !asked.includes(textAt(block, 'tool_use_id') ?? ''),
        )
        if (stray === undefined) return undefined
        return `${stray.at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${textAt(stray.block, 'tool_use_id')}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
      })
    },
  ]),
  rule('A call has one result.', 'https://github.com/vectorize-io/hindsight/pull/4250', [
    'result-twice',
    (request) =>
      firstOf(turnsOf(request), (turn) => {
        const results = ofType(turn, 'tool_result')
        const twice = repeated(idsOf(results, 'tool_use_id'))
        if (twice === undefined) return undefined
        const { at } = results.filter(({ block }) => textAt(block, 'tool_use_id') === twice).at(-1)!
        return `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`
      }),
  ]),
  rule('Results stand before everything else in their message.', toolGuide, [
    'results-first',
    (request) =>
      firstOf(turnsOf(request), (turn) => {
        const at = turn.blocks.findLastIndex((placed) => typeOf(placed) === 'tool_result')
        const before = turn.blocks.slice(0, at + 1).find((placed) => typeOf(placed) !== 'tool_result')
        if (before === undefined) return undefined
        const ids = idsOf(ofType(turn, 'tool_result'), 'tool_use_id').join(', ')
        return `${before.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
      }),
  ]),
  rule('The input of a call is an object.', sdkTypes, [
    'call-input',
    (request) =>
      firstOf(allBlocks(request), (placed) =>
        typeOf(placed) !== 'tool_use' || isObject(memberOf(placed.block, 'input'))
          ? undefined
          : `${placed.at}.tool_use.input: Input should be a valid dictionary`,
      ),
  ]),
  rule(
    'The name of a call has at most 200 characters of letters, digits, `_` and `-`.',
    'https://github.com/anthropics/claude-code/blob/main/CHANGELOG.md',
    [
      'call-name',
      (request) =>
        firstOf(allBlocks(request), (placed) => {
          if (typeOf(placed) !== 'tool_use') return undefined
          const name = textAt(placed.block, 'name') ?? ''
          if (name.length > 200) return `${placed.at}.tool_use.name: String should have at most 200 characters`
          return idPattern.test(name)
            ? undefined
            : `${placed.at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`
        }),
    ],
  ),
  rule(
    'What is in a result is not empty: an empty text counts as none.',
    'https://github.com/zed-industries/zed/pull/27130',
    [
      'empty-result',
      (request) =>
        firstOf(allBlocks(request), (placed) => {
          if (typeOf(placed) !== 'tool_result') return undefined
          const empty =
            memberOf(placed.block, 'content') === '' ||
            objectsAt(placed.block, 'content').some((block) => memberOf(block, 'text') === '')
          return empty ? `${placed.at}.tool_result: text content blocks must be non-empty` : undefined
        }),
    ],
  ),
  rule('A result has texts, pictures, documents, search results or references to tools.', sdkTypes, [
    'result-block',
    (request) =>
      firstOf(allBlocks(request), (placed) => {
        if (typeOf(placed) !== 'tool_result') return undefined
        const allowed = ['text', 'image', 'search_result', 'document', 'tool_reference', 'browser_state']
        const strange = objectsAt(placed.block, 'content').find(
          (block) => !allowed.includes(textAt(block, 'type') ?? ''),
        )
        return strange === undefined
          ? undefined
          : `${placed.at}.tool_result.content: Input tag '${textAt(strange, 'type')}' found using 'type' does not match any of the expected tags`
      }),
  ]),
]

const thoughts: readonly ProviderRule[] = [
  rule('A thought has its signature.', thinkingGuide, [
    'thought-signature',
    (request) =>
      firstOf(allBlocks(request), (placed) => {
        if (typeOf(placed) === 'redacted_thinking' && (textAt(placed.block, 'data') ?? '') === '')
          return `${placed.at}.redacted_thinking.data: Field required`
        return typeOf(placed) === 'thinking' && (textAt(placed.block, 'signature') ?? '') === ''
          ? `${placed.at}.thinking.signature: Field required`
          : undefined
      }),
  ]),
  rule('A thought is sent back as it came.', 'https://github.com/anthropics/claude-code/issues/63284', [
    'thought-changed',
    (request) =>
      firstOf(allBlocks(request), (placed) =>
        typeOf(placed) !== 'thinking' ||
        isSignatureOf(textAt(placed.block, 'signature') ?? '', textAt(placed.block, 'thinking') ?? '')
          ? undefined
          : `${placed.at}: Invalid \`signature\` in \`thinking\` block`,
      ),
  ]),
  rule(
    'With a thinking budget, a turn whose calls were just answered begins with its thought.',
    'https://github.com/n8n-io/n8n/issues/22550',
    [
      'thought-first',
      (request) => {
        const turns = turnsOf(request)
        if (thinkingType(request) !== 'enabled' || ofType(turns.at(-1), 'tool_result').length === 0) return undefined
        const first = turns.at(-2)?.blocks[0]
        if (first === undefined || ['thinking', 'redacted_thinking'].includes(typeOf(first))) return undefined
        return `${first.at}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${typeOf(first)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
      },
    ],
  ),
  rule('A thinking budget has at least 1,024 tokens and less than `max_tokens`.', sdkTypes, [
    'thinking-budget',
    ({ body }) => {
      const thinking = objectAt(body, 'thinking')
      if (textAt(thinking, 'type') !== 'enabled') return undefined
      const budget = numberAt(thinking, 'budget_tokens')
      if (budget === undefined) return 'thinking.enabled.budget_tokens: Field required'
      if (budget < 1024) return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
      return budget < (numberAt(body, 'max_tokens') ?? 0)
        ? undefined
        : '`max_tokens` must be greater than `thinking.budget_tokens`.'
    },
  ]),
  rule(
    'Newer models take no thinking budget, and some do not let thinking be turned off.',
    'https://github.com/vercel/ai/blob/main/packages/anthropic/src/anthropic-model-catalog.ts',
    [
      'thinking-kind',
      (request) => {
        const { budgets, canStopThinking } = anthropicModel(request.model)
        if (thinkingType(request) === 'enabled' && !budgets)
          return 'thinking.type: "enabled" is not supported for this model. Use "adaptive".'
        return thinkingType(request) === 'disabled' && !canStopThinking
          ? 'thinking.type: "disabled" is not supported for this model.'
          : undefined
      },
    ],
  ),
  rule('Thinking and a forced call exclude one another.', 'https://github.com/mastra-ai/mastra/issues/7507', [
    'thinking-forced-call',
    (request) =>
      isThinking(request) && forcesTool(request)
        ? 'Thinking may not be enabled when tool_choice forces tool use.'
        : undefined,
  ]),
  rule('With thinking, temperature is 1, `top_k` is not set and `top_p` is 0.95 or more.', thinkingGuide, [
    'thinking-sampling',
    (request) => {
      if (!isThinking(request)) return undefined
      const { body } = request
      if ((numberAt(body, 'temperature') ?? 1) !== 1)
        return '`temperature` may only be set to 1 when thinking is enabled.'
      if (numberAt(body, 'top_k') !== undefined) return '`top_k` must be unset when thinking is enabled.'
      return (numberAt(body, 'top_p') ?? 1) < 0.95
        ? '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.'
        : undefined
    },
  ]),
]

const tools: readonly ProviderRule[] = [
  rule(
    'The name of a tool has 1 to 128 letters, digits, `_` and `-`.',
    'https://github.com/home-assistant/core/issues/147760',
    [
      'tool-name',
      (request) =>
        firstOf(customTools(request), ([tool, at]) =>
          namePattern.test(textAt(tool, 'name') ?? '')
            ? undefined
            : `${at}.name: String should match pattern '${namePattern.source}'`,
        ),
    ],
  ),
  rule(
    'The type of a tool is one that there is.',
    'https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview',
    [
      'tool-type',
      (request) =>
        firstOf(toolsOf(request), (tool, index) => {
          const type = textAt(tool, 'type') ?? 'custom'
          return ownTools.test(type)
            ? undefined
            : `tools.${index}: Input tag '${type}' found using 'type' does not match any of the expected tags`
        }),
    ],
  ),
  rule('The name of a tool is there once.', 'https://github.com/danny-avila/LibreChat/issues/13162', [
    'tool-name-unique',
    (request) =>
      repeated(toolsOf(request).map((tool) => textAt(tool, 'name') ?? '')) === undefined
        ? undefined
        : 'tools: Tool names must be unique.',
  ]),
  rule('The input of a tool is an object: `type: "object"` at the root.', sdkTypes, [
    'tool-root',
    (request) =>
      firstOf(customTools(request), ([tool, at]) => {
        const schema = objectAt(tool, 'input_schema')
        if (schema === undefined) return `${at}.input_schema: Field required`
        if (memberOf(schema, 'type') === undefined) return `${at}.input_schema.type: Field required`
        return memberOf(schema, 'type') === 'object' ? undefined : `${at}.input_schema.type: Input should be 'object'`
      }),
  ]),
  rule('The input of a tool is no union at the root.', 'https://github.com/anthropics/claude-code/issues/27337', [
    'tool-root-union',
    (request) =>
      firstOf(customTools(request), ([tool, at]) => {
        const schema = objectAt(tool, 'input_schema')
        return ['oneOf', 'allOf', 'anyOf'].some((keyword) => memberOf(schema, keyword) !== undefined)
          ? `${at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`
          : undefined
      }),
  ]),
  rule(
    'Arguments of a tool are named with 1 to 64 letters, digits, `_`, `.` and `-`.',
    'https://github.com/anthropics/claude-code/issues/79418',
    [
      'tool-argument-name',
      (request) =>
        firstOf(customTools(request), ([tool, at]) =>
          Object.keys(objectAt(objectAt(tool, 'input_schema'), 'properties') ?? {}).every((key) => keyPattern.test(key))
            ? undefined
            : `${at}.input_schema.properties: Property keys should match pattern '${keyPattern.source}'`,
        ),
    ],
  ),
  rule('A choice of a tool needs tools, and names one that is there.', reference, [
    'tool-choice',
    (request) => {
      const choice = objectAt(request.body, 'tool_choice')
      if (choice === undefined) return undefined
      const type = textAt(choice, 'type') ?? ''
      if (!['auto', 'any', 'tool', 'none'].includes(type))
        return `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`
      if (toolsOf(request).length === 0) return 'tool_choice: tool_choice may only be specified while providing tools.'
      const name = textAt(choice, 'name')
      return type !== 'tool' || toolsOf(request).some((tool) => textAt(tool, 'name') === name)
        ? undefined
        : `Tool '${name}' not found in provided tools`
    },
  ]),
  rule(
    'Some models cannot be forced to call.',
    'https://github.com/vercel/ai/blob/main/packages/anthropic/src/anthropic-model-catalog.ts',
    [
      'forced-call',
      (request) =>
        forcesTool(request) && !anthropicModel(request.model).forcedCalls
          ? 'tool_choice: forced tool use is not supported for this model.'
          : undefined,
    ],
  ),
]

const settings: readonly ProviderRule[] = [
  rule('Temperature is between 0 and 1.', reference, [
    'temperature',
    ({ body }) => {
      const given = memberOf(body, 'temperature')
      if (given === undefined || given === null) return undefined
      return typeof given === 'number' && given >= 0 && given <= 1
        ? undefined
        : 'temperature: Input should be less than or equal to 1'
    },
  ]),
  rule('Models after Opus 4.6 take no temperature but 1, no `top_k`, and no `top_p` below 0.99.', sdkTypes, [
    'sampling',
    ({ body, model }) => {
      if (anthropicModel(model).sampling) return undefined
      if ((numberAt(body, 'temperature') ?? 1) !== 1) return '`temperature` is not supported for this model.'
      if (numberAt(body, 'top_k') !== undefined) return '`top_k` is not supported for this model.'
      return (numberAt(body, 'top_p') ?? 1) < 0.99 ? '`top_p` is not supported for this model.' : undefined
    },
  ]),
  rule(
    'From Claude 4.1 on, temperature and `top_p` exclude one another.',
    'https://github.com/cloud-apim/otoroshi-llm-extension/issues/140',
    [
      'temperature-or-top-p',
      ({ body, model }) =>
        anthropicModel(model).oneSampler &&
        numberAt(body, 'temperature') !== undefined &&
        numberAt(body, 'top_p') !== undefined
          ? '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'
          : undefined,
    ],
  ),
  rule('A stop sequence is not blank.', 'https://github.com/BerriAI/litellm/issues/3286', [
    'stop-sequence',
    ({ body }) =>
      listAt(body, 'stop_sequences').every((stop) => typeof stop === 'string' && !isBlank(stop))
        ? undefined
        : 'stop_sequences: each stop sequence must contain non-whitespace',
  ]),
  rule('The id of a user has at most 256 characters.', sdkTypes, [
    'user-id',
    ({ body }) =>
      (textAt(objectAt(body, 'metadata'), 'user_id') ?? '').length > 256
        ? 'metadata.user_id: String should have at most 256 characters'
        : undefined,
  ]),
]

const cache: readonly ProviderRule[] = [
  rule('There are at most four marks for the prompt cache.', 'https://github.com/Wei-Shaw/sub2api/issues/176', [
    'cache-count',
    (request) => {
      const found = cached(request).length + (isObject(memberOf(request.body, 'cache_control')) ? 1 : 0)
      return found > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${found}.` : undefined
    },
  ]),
  rule(
    'What is cached for an hour stands before what is cached for five minutes.',
    'https://github.com/headroomlabs-ai/headroom/issues/2939',
    [
      'cache-order',
      (request) => {
        let short = false
        return firstOf(cached(request), ({ block, at }) => {
          const long = textAt(objectAt(block, 'cache_control'), 'ttl') === '1h'
          if (!long) short = true
          return long && short
            ? `${at}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`
            : undefined
        })
      },
    ],
  ),
  rule('A mark for the prompt cache is `ephemeral`, for `5m` or `1h`, and not on a thought.', sdkTypes, [
    'cache-mark',
    (request) =>
      firstOf(cached(request), (placed) => {
        const mark = objectAt(placed.block, 'cache_control')
        if (textAt(mark, 'type') !== 'ephemeral') return `${placed.at}.cache_control.type: Input should be 'ephemeral'`
        if (!['5m', '1h'].includes(textAt(mark, 'ttl') ?? '5m'))
          return `${placed.at}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`
        return ['thinking', 'redacted_thinking'].includes(typeOf(placed))
          ? `${placed.at}.thinking.cache_control: Extra inputs are not permitted`
          : undefined
      }),
  ]),
]

const pictures: readonly ProviderRule[] = [
  rule('A picture is JPEG, PNG, GIF or WebP; a document is PDF or plain text.', sdkTypes, [
    'media-type',
    (request) =>
      firstOf(sourcesOf(request), (placed) => {
        if (textAt(placed.source, 'type') !== 'base64') return undefined
        const allowed = typeOf(placed) === 'image' ? pictureTypes : ['application/pdf']
        const names = allowed.map((name) => `'${name}'`)
        return allowed.includes(textAt(placed.source, 'media_type') ?? '')
          ? undefined
          : `${placed.at}.${typeOf(placed)}.source.base64.media_type: Input should be ${[names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')}`
      }),
  ]),
  rule('A picture is base64, and of the type that is said.', 'https://github.com/home-assistant/core/issues/167208', [
    'media-bytes',
    (request) =>
      firstOf(sourcesOf(request), (placed) => {
        if (textAt(placed.source, 'type') !== 'base64') return undefined
        const data = textAt(placed.source, 'data') ?? ''
        const where = `${placed.at}.${typeOf(placed)}.source.base64`
        if (data === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length % 4 === 1)
          return `${where}.data: invalid base64 data`
        const said = textAt(placed.source, 'media_type')
        const seen = mediaTypeOf(data)
        return seen === undefined || seen === said || typeOf(placed) !== 'image'
          ? undefined
          : `${where}: The image was specified using the ${said} media type, but the image appears to be a ${seen} image`
      }),
  ]),
  rule('A picture has at most 5 MB.', 'https://github.com/anthropics/claude-code/issues/19631', [
    'media-size',
    (request) =>
      firstOf(sourcesOf(request), (placed) => {
        const bytes = (textAt(placed.source, 'data') ?? '').length
        return typeOf(placed) === 'image' && bytes > 5 * 1024 * 1024
          ? `${placed.at}.image.source.base64: image exceeds 5 MB maximum: ${bytes} bytes > 5242880 bytes`
          : undefined
      }),
  ]),
]

/** What Anthropic refuses. */
export const anthropicRules: readonly ProviderRule[] = [
  ...envelope,
  ...messages,
  ...calls,
  ...thoughts,
  ...tools,
  ...anthropicSchemaRules,
  ...settings,
  ...cache,
  ...pictures,
]
