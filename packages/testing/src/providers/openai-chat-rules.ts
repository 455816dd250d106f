/**
 * What is refused on the wire of chat completions: by OpenAI, and by those that keep the same rule there.
 *
 * Owns: those rules. Does not own: the rules of one vendor alone (its own file), the subset of JSON Schema
 * (openai-schemas.ts).
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import { itemsProblem, outputRootProblem, parametersRootProblem, strictParts } from './openai-schemas.ts'
import {
  firstOf,
  listAt,
  membersAt,
  memberOf,
  numberAt,
  objectAt,
  objectsAt,
  repeated,
  textAt,
  textsIn,
  type ProviderName,
  type ProviderRequest,
  type ProviderRule,
} from './wire.ts'

const reference = 'https://github.com/openai/openai-openapi/blob/f85dbe2/openapi.yaml'
/** Vendors that check messages and tools as OpenAI does; OpenRouter hands on what OpenAI says. */
const hosted: readonly ProviderName[] = ['openai-chat', 'groq', 'openrouter']
const openai: readonly ProviderName[] = ['openai-chat']
/** OpenAI, asked directly or behind OpenRouter: there only for a model of OpenAI. */
const openaiAnywhere: readonly ProviderName[] = ['openai-chat', 'openrouter']

const withOpenaiBehind = (rule: ProviderRule): ProviderRule =>
  rule.providers !== openaiAnywhere
    ? rule
    : {
        ...rule,
        check: (request) =>
          request.provider === 'openrouter' && !request.model.startsWith('openai/') ? undefined : rule.check(request),
      }

/** The messages of a request. */
export const messagesOf = (request: ProviderRequest): readonly JsonObject[] => objectsAt(request.body, 'messages')

/** The parts of a message's content; a text alone is one part. */
export function partsOfMessage(message: JsonObject): readonly JsonObject[] {
  const content = memberOf(message, 'content')
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsAt(message, 'content')
}

/** The functions a request offers. */
const functionsOf = (request: ProviderRequest): readonly JsonObject[] =>
  objectsAt(request.body, 'tools').flatMap((tool) => membersAt(tool, 'function'))

const callsOf = (message: JsonObject): readonly JsonObject[] => objectsAt(message, 'tool_calls')

/** The schema of the output that is asked for, and whether strictly. */
function outputOf(
  request: ProviderRequest,
): { readonly name: string; readonly schema: JsonObject; readonly strict: boolean } | undefined {
  const format = objectAt(request.body, 'response_format')
  const wanted = objectAt(format, 'json_schema')
  const schema = objectAt(wanted, 'schema')
  if (textAt(format, 'type') !== 'json_schema' || wanted === undefined || schema === undefined) return undefined
  return { name: textAt(wanted, 'name') ?? '', schema, strict: memberOf(wanted, 'strict') === true }
}

/** Checks every message; the problem says which one. */
const eachMessage =
  (problem: (message: JsonObject, at: number, all: readonly JsonObject[]) => string | undefined) =>
  (request: ProviderRequest): string | undefined => {
    const all = messagesOf(request)
    return firstOf(all, (message, at) => problem(message, at, all))
  }

const eachFunction =
  (problem: (of: JsonObject, at: number) => string | undefined) =>
  (request: ProviderRequest): string | undefined =>
    firstOf(functionsOf(request), problem)

const outside = (value: number | undefined, low: number, high: number): boolean =>
  value !== undefined && (value < low || value > high)

const isReasoningModel = (model: string): boolean => /^(?:o\d|gpt-5(?!-chat))/.test(model)

const knownMembers = new Set(
  (
    'metadata top_logprobs temperature top_p user safety_identifier prompt_cache_key prompt_cache_retention ' +
    'prompt_cache_options messages model service_tier modalities verbosity reasoning_effort max_completion_tokens ' +
    'frequency_penalty presence_penalty web_search_options response_format audio store moderation stream stop ' +
    'logit_bias logprobs max_tokens n prediction seed stream_options tools tool_choice parallel_tool_calls ' +
    'function_call functions'
  ).split(' '),
)

const contentProblem = (message: JsonObject, at: number): string | undefined => {
  const content = memberOf(message, 'content')
  const role = textAt(message, 'role') ?? ''
  const where = `messages[${at}].content`
  if (typeof content === 'string') return undefined
  if (content === undefined || content === null)
    return role === 'assistant' && callsOf(message).length > 0
      ? undefined
      : `Invalid value for '${where}': expected a string, got null.`
  if (!Array.isArray(content)) return `Invalid type for '${where}': expected one of a string or array of objects.`
  return content.length === 0 ? `Invalid '${where}': empty array. Expected an array with minimum length 1.` : undefined
}

const allowedParts: { readonly [role: string]: readonly string[] } = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
}

const partProblem = (message: JsonObject, at: number): string | undefined => {
  const role = textAt(message, 'role') ?? ''
  const allowed = Object.hasOwn(allowedParts, role) ? (allowedParts[role] ?? []) : []
  const wrong = partsOfMessage(message).find((part) => !allowed.includes(textAt(part, 'type') ?? ''))
  if (wrong === undefined) return undefined
  const type = textAt(wrong, 'type') ?? ''
  return type === 'image_url'
    ? `Invalid 'messages[${at}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`
    : `Invalid value: '${type}'. Supported values for role '${role}' are: ${allowed.map((each) => `'${each}'`).join(', ')}.`
}

const imageProblem = (part: JsonObject): string | undefined => {
  if (textAt(part, 'type') !== 'image_url') return undefined
  const url = textAt(objectAt(part, 'image_url'), 'url') ?? ''
  if (/^https?:\/\/./.test(url)) return undefined
  return /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/]+=*$/.test(url)
    ? undefined
    : "Invalid image data: expected an https URL, or base64 data of one of these types: ['png', 'jpeg', 'gif', 'webp']."
}

const fileProblem = (part: JsonObject): string | undefined => {
  if (textAt(part, 'type') !== 'file') return undefined
  const file = objectAt(part, 'file')
  if (textAt(file, 'file_id') !== undefined) return undefined
  const data = textAt(file, 'file_data') ?? ''
  if (textAt(file, 'filename') === undefined) return "Missing required parameter: 'file.filename'."
  return /^data:[^;,]+;base64,[A-Za-z0-9+/]+=*$/.test(data)
    ? undefined
    : "Invalid 'file.file_data': expected a base64-encoded data URL with a MIME type, such as 'data:application/pdf;base64,…'."
}

/** A tool message answers a call of the assistant message before it. */
const toolProblem = (message: JsonObject, at: number, all: readonly JsonObject[]): string | undefined => {
  if (textAt(message, 'role') !== 'tool') return undefined
  let before = at - 1
  while (before >= 0 && textAt(all[before], 'role') === 'tool') before--
  const caller = before < 0 ? undefined : all[before]
  const ids = caller === undefined ? [] : callsOf(caller).map((call) => textAt(call, 'id'))
  return ids.includes(textAt(message, 'tool_call_id') ?? '')
    ? undefined
    : `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[${at}])`
}

/** The results that follow an assistant message directly. */
function resultsAfter(all: readonly JsonObject[], at: number): readonly string[] {
  const results: string[] = []
  for (let next = at + 1; next < all.length; next++) {
    const message = all[next]
    if (message === undefined || textAt(message, 'role') !== 'tool') break
    results.push(textAt(message, 'tool_call_id') ?? '')
  }
  return results
}

const unansweredProblem = (message: JsonObject, at: number, all: readonly JsonObject[]): string | undefined => {
  const results = resultsAfter(all, at)
  const open = callsOf(message)
    .map((call) => textAt(call, 'id') ?? '')
    .filter((id) => !results.includes(id))
  return open.length === 0
    ? undefined
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`
}

const metadataProblem = (request: ProviderRequest): string | undefined => {
  const metadata = objectAt(request.body, 'metadata')
  if (metadata === undefined) return undefined
  const entries = Object.entries(metadata)
  if (entries.length > 16) return `Invalid 'metadata': too many properties. Expected at most 16, got ${entries.length}.`
  return firstOf(entries, ([name, value]) =>
    typeof value !== 'string' || value.length > 512 || name.length > 64
      ? `Invalid 'metadata.${name}': keys have at most 64 characters, values are strings of at most 512.`
      : undefined,
  )
}

/** Whether the word is somewhere in the messages: OpenAI and Groq want it before they write JSON. */
const saysJson = (request: ProviderRequest): boolean =>
  messagesOf(request).some((message) =>
    partsOfMessage(message).some((part) => /json/i.test(textAt(part, 'text') ?? '')),
  )

const strictRules = strictParts.flatMap(({ id, what, source, problem }): ProviderRule[] => [
  {
    id: `openai-chat/tool-${id}`,
    providers: openaiAnywhere,
    what,
    source,
    code: 'invalid_function_parameters',
    check: eachFunction((of) => {
      const schema = objectAt(of, 'parameters')
      if (memberOf(of, 'strict') !== true || schema === undefined) return undefined
      const found = problem(schema)
      return found === undefined ? undefined : `Invalid schema for function '${textAt(of, 'name') ?? ''}': ${found}`
    }),
  },
  {
    id: `openai-chat/output-${id}`,
    providers: openaiAnywhere,
    what,
    source,
    check: (request) => {
      const output = outputOf(request)
      const found = output?.strict === true ? problem(output.schema) : undefined
      return found === undefined ? undefined : `Invalid schema for response_format '${output?.name ?? ''}': ${found}`
    },
  },
])

/** What is refused on this wire. */
export const openaiChatRules: readonly ProviderRule[] = (
  [
    {
      id: 'openai-chat/model',
      providers: ['openai-chat', 'groq', 'openrouter', 'vllm', 'ollama'],
      what: 'A model is named.',
      source: reference,
      check: ({ model }) => (model === '' ? 'you must provide a model parameter' : undefined),
    },
    {
      id: 'openai-chat/messages',
      providers: ['openai-chat', 'groq', 'openrouter', 'vllm', 'llamacpp', 'ollama'],
      what: 'There is at least one message.',
      source: reference,
      check: (request) =>
        messagesOf(request).length === 0
          ? "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
          : undefined,
    },
    {
      id: 'openai-chat/members',
      providers: openai,
      what: 'The body has only members that are known.',
      source: reference,
      code: 'unknown_parameter',
      check: ({ body }) => {
        const unknown = Object.keys(body).find((name) => !knownMembers.has(name))
        return unknown === undefined ? undefined : `Unrecognized request argument supplied: ${unknown}`
      },
    },
    {
      id: 'openai-chat/roles',
      providers: hosted,
      what: 'A role is one of system, developer, user, assistant, tool.',
      source: reference,
      check: eachMessage((message, at) => {
        const role = textAt(message, 'role') ?? ''
        return Object.hasOwn(allowedParts, role)
          ? undefined
          : `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (messages[${at}].role)`
      }),
    },
    {
      id: 'openai-chat/content',
      providers: hosted,
      what: 'A message has content, a text or parts; only an assistant message with calls may have none.',
      source: reference,
      check: eachMessage(contentProblem),
    },
    {
      id: 'openai-chat/parts',
      providers: openaiAnywhere,
      what: 'Pictures, sound and files stand in user messages only.',
      source: 'https://github.com/OpenHands/OpenHands/issues/7700',
      check: eachMessage(partProblem),
    },
    {
      id: 'openai-chat/images',
      providers: ['openai-chat', 'groq', 'openrouter'],
      what: 'A picture is a URL, or base64 data of png, jpeg, gif or webp.',
      source: 'https://developers.openai.com/api/docs/guides/images-vision',
      code: 'invalid_image_url',
      check: (request) => firstOf(messagesOf(request).flatMap(partsOfMessage), imageProblem),
    },
    {
      id: 'openai-chat/files',
      providers: openaiAnywhere,
      what: 'A file has a name and base64 data as a data URL.',
      source: 'https://developers.openai.com/api/docs/guides/pdf-files',
      check: (request) => firstOf(messagesOf(request).flatMap(partsOfMessage), fileProblem),
    },
    {
      id: 'openai-chat/well-formed',
      providers: ['openai-chat', 'groq', 'openrouter', 'vllm', 'llamacpp'],
      what: 'Every text is well-formed Unicode: no half of a character.',
      source: 'https://github.com/anomalyco/opencode/issues/13988',
      check: ({ body }) =>
        [...textsIn(body)].every((text) => text.isWellFormed())
          ? undefined
          : 'We could not parse the JSON body of your request. (invalid surrogate in string)',
    },
    {
      id: 'openai-chat/tool-follows-call',
      providers: hosted,
      what: 'A tool message answers a call of the assistant message directly before the results.',
      source: 'https://github.com/simonw/llm/issues/937',
      check: eachMessage(toolProblem),
    },
    {
      id: 'openai-chat/calls-answered',
      providers: hosted,
      what: 'Every call is answered directly after the message that made it.',
      source: 'https://github.com/evalstate/fast-agent/issues/314',
      check: eachMessage(unansweredProblem),
    },
    {
      id: 'openai-chat/answered-once',
      providers: openaiAnywhere,
      what: 'A call is answered once.',
      source: 'https://github.com/agno-agi/agno/issues/5116',
      check: eachMessage((message, at, all) => {
        const twice = callsOf(message).length === 0 ? undefined : repeated(resultsAfter(all, at))
        return twice === undefined ? undefined : `Invalid parameter: Duplicate value for 'tool_call_id' of '${twice}'.`
      }),
    },
    {
      id: 'openai-chat/call-ids-unique',
      providers: hosted,
      what: 'The ids of the calls of one message differ.',
      source: 'https://github.com/openclaw/openclaw/pull/47136',
      check: eachMessage((message) => {
        const twice = repeated(callsOf(message).map((call) => textAt(call, 'id') ?? ''))
        return twice === undefined ? undefined : `Invalid parameter: duplicate tool_call_id '${twice}' in tool_calls.`
      }),
    },
    {
      id: 'openai-chat/call-id-length',
      providers: openaiAnywhere,
      what: 'The id of a call has 1 to 40 characters.',
      source: 'https://github.com/agno-agi/agno/issues/5382',
      code: 'string_above_max_length',
      check: eachMessage((message, at) =>
        firstOf(callsOf(message), (call, n) => {
          const length = (textAt(call, 'id') ?? '').length
          const where = `messages[${at}].tool_calls[${n}].id`
          if (length === 0) return `Missing required parameter: '${where}'.`
          return length > 40
            ? `Invalid '${where}': string too long. Expected a string with maximum length 40, but got a string with length ${length} instead.`
            : undefined
        }),
      ),
    },
    {
      id: 'openai-chat/call-count',
      providers: openai,
      what: 'A message has at most 128 calls, and a list of calls is not empty.',
      source: 'https://github.com/openai/openai-dotnet/issues/317',
      code: 'array_above_max_length',
      check: eachMessage((message, at) => {
        if (!Array.isArray(memberOf(message, 'tool_calls'))) return undefined
        const { length } = listAt(message, 'tool_calls')
        if (length === 0)
          return `Invalid 'messages[${at}].tool_calls': empty array. Expected an array with minimum length 1.`
        return length > 128
          ? `Invalid 'messages[${at}].tool_calls': array too long. Expected an array with maximum length 128, but got an array with length ${length} instead.`
          : undefined
      }),
    },
    {
      id: 'openai-chat/call-arguments',
      providers: hosted,
      what: 'The arguments of a call are a text.',
      source: reference,
      check: eachMessage((message, at) =>
        firstOf(callsOf(message), (call, n) =>
          typeof memberOf(objectAt(call, 'function'), 'arguments') === 'string'
            ? undefined
            : `Invalid type for 'messages[${at}].tool_calls[${n}].function.arguments': expected a string.`,
        ),
      ),
    },
    {
      id: 'openai-chat/tool-count',
      providers: hosted,
      what: 'There are at most 128 tools.',
      source: 'https://github.com/zed-industries/zed/issues/32946',
      code: 'array_above_max_length',
      check: ({ body }) => {
        const { length } = listAt(body, 'tools')
        return length > 128
          ? `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length ${length} instead.`
          : undefined
      },
    },
    {
      id: 'openai-chat/tools-not-empty',
      providers: openai,
      what: 'A list of tools is not empty, and a choice of tool is made only beside tools.',
      source: 'https://github.com/dapr/dapr-agents/issues/248',
      check: ({ body }) => {
        const tools = memberOf(body, 'tools')
        if (Array.isArray(tools) && tools.length === 0)
          return "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
        return tools === undefined && memberOf(body, 'tool_choice') !== undefined
          ? "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
          : undefined
      },
    },
    {
      id: 'openai-chat/tool-name',
      providers: hosted,
      what: 'The name of a tool has 1 to 64 of a-z, A-Z, 0-9, _ and -.',
      source: reference,
      check: eachFunction((of, at) => {
        const name = textAt(of, 'name') ?? ''
        if (name.length > 64)
          return `Invalid 'tools[${at}].function.name': string too long. Expected a string with maximum length 64, but got a string with length ${name.length} instead.`
        return /^[a-zA-Z0-9_-]+$/.test(name)
          ? undefined
          : `Invalid 'tools[${at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
      }),
    },
    {
      id: 'openai-chat/tool-description',
      providers: openaiAnywhere,
      what: 'The description of a tool has at most 1024 characters.',
      source: 'https://github.com/getsentry/sentry-mcp/issues/106',
      code: 'string_above_max_length',
      check: eachFunction((of, at) => {
        const { length } = textAt(of, 'description') ?? ''
        return length > 1024
          ? `Invalid 'tools[${at}].function.description': string too long. Expected a string with maximum length 1024, but got a string with length ${length} instead.`
          : undefined
      }),
    },
    {
      id: 'openai-chat/tool-parameters',
      providers: ['openai-chat', 'groq', 'openrouter'],
      what: 'The parameters of a tool are an object with properties, and no union at the root.',
      source: 'https://github.com/langchain-ai/langchainjs/issues/9804',
      code: 'invalid_function_parameters',
      check: eachFunction((of) => {
        const schema = objectAt(of, 'parameters')
        const found = schema === undefined ? undefined : parametersRootProblem(schema)
        return found === undefined ? undefined : `Invalid schema for function '${textAt(of, 'name') ?? ''}': ${found}`
      }),
    },
    {
      id: 'openai-chat/tool-array-items',
      providers: openaiAnywhere,
      what: 'Every array in the parameters of a tool says what its items are.',
      source: 'https://github.com/streamnative/streamnative-mcp-server/issues/26',
      code: 'invalid_function_parameters',
      check: eachFunction((of) => {
        const schema = objectAt(of, 'parameters')
        const found = schema === undefined ? undefined : itemsProblem(schema)
        return found === undefined ? undefined : `Invalid schema for function '${textAt(of, 'name') ?? ''}': ${found}`
      }),
    },
    {
      id: 'openai-chat/output-name',
      providers: openaiAnywhere,
      what: 'The name of an output schema has 1 to 64 of a-z, A-Z, 0-9, _ and -.',
      source: reference,
      check: (request) => {
        const output = outputOf(request)
        return output === undefined || /^[a-zA-Z0-9_-]{1,64}$/.test(output.name)
          ? undefined
          : "Invalid 'response_format.json_schema.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
      },
    },
    {
      id: 'openai-chat/output-root',
      providers: openaiAnywhere,
      what: 'The schema of an output is an object at its root, and no union.',
      source:
        'https://developers.openai.com/api/docs/guides/structured-outputs#root-objects-must-not-be-anyof-and-must-be-an-object',
      check: (request) => {
        const output = outputOf(request)
        const found = output === undefined ? undefined : outputRootProblem(output.schema)
        return found === undefined ? undefined : `Invalid schema for response_format '${output?.name ?? ''}': ${found}`
      },
    },
    ...strictRules,
    {
      id: 'openai-chat/json-word',
      providers: hosted,
      what: 'Who asks for json_object says "json" somewhere in the messages.',
      source: 'https://github.com/ultimatejimmy/xray.koplugin/issues/33',
      check: (request) =>
        textAt(objectAt(request.body, 'response_format'), 'type') === 'json_object' && !saysJson(request)
          ? "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
          : undefined,
    },
    {
      id: 'openai-chat/stop',
      providers: hosted,
      what: 'There are 1 to 4 stop sequences, none of them empty.',
      source: reference,
      check: ({ body }) => {
        const stop = memberOf(body, 'stop')
        if (stop === undefined || stop === null) return undefined
        const list: readonly (Json | undefined)[] = Array.isArray(stop) ? (stop as readonly Json[]) : [stop]
        return list.length === 0 || list.length > 4 || list.some((each) => typeof each !== 'string' || each === '')
          ? "Invalid 'stop': expected a string, or an array of 1 to 4 strings."
          : undefined
      },
    },
    {
      id: 'openai-chat/max-tokens',
      providers: ['openai-chat', 'groq', 'openrouter', 'vllm'],
      what: 'A limit of output tokens is at least 1.',
      source: reference,
      code: 'integer_below_min_value',
      check: ({ body }) =>
        firstOf(['max_tokens', 'max_completion_tokens'], (name) => {
          const value = numberAt(body, name)
          return value !== undefined && (value < 1 || !Number.isInteger(value))
            ? `Invalid '${name}': integer below minimum value. Expected a value >= 1, but got ${value} instead.`
            : undefined
        }),
    },
    {
      id: 'openai-chat/reasoning-model',
      providers: openai,
      what: 'A reasoning model takes no max_tokens, no temperature or top_p besides 1, no penalties, no stop sequences.',
      source: 'https://github.com/decolua/9router/issues/560',
      code: 'unsupported_value',
      check: ({ body, model }) => {
        if (!isReasoningModel(model)) return undefined
        if (memberOf(body, 'max_tokens') !== undefined)
          return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        if (memberOf(body, 'stop') !== undefined)
          return "Unsupported parameter: 'stop' is not supported with this model."
        const usual = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 }
        return firstOf(Object.entries(usual), ([name, value]) => {
          const asked = numberAt(body, name)
          return asked === undefined || asked === value
            ? undefined
            : `Unsupported value: '${name}' does not support ${asked} with this model. Only the default (${value}) value is supported.`
        })
      },
    },
    {
      id: 'openai-chat/sampling',
      providers: hosted,
      what: 'Temperature is from 0 to 2, top_p from 0 to 1, the penalties from -2 to 2.',
      source: reference,
      check: ({ body }) =>
        firstOf(
          [
            ['temperature', 0, 2],
            ['top_p', 0, 1],
            ['presence_penalty', -2, 2],
            ['frequency_penalty', -2, 2],
          ] as const,
          ([name, low, high]) =>
            outside(numberAt(body, name), low, high)
              ? `Invalid '${name}': decimal out of range. Expected a value from ${low} to ${high}.`
              : undefined,
        ),
    },
    {
      id: 'openai-chat/metadata',
      providers: openai,
      what: 'Metadata has at most 16 members with names of 64 and values of 512 characters.',
      source: reference,
      check: metadataProblem,
    },
  ] satisfies ProviderRule[]
).map(withOpenaiBehind)

/** Whether a request asks for an output in a form: with a schema or in json mode. */
export const asksForJson = (request: ProviderRequest): boolean =>
  ['json_object', 'json_schema'].includes(textAt(objectAt(request.body, 'response_format'), 'type') ?? '')

/** Whether a value is a JSON object written as text. */
export function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}
