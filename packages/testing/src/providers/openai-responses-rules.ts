/**
 * What OpenAI refuses on the wire of responses.
 *
 * Owns: those rules. Does not own: the subset of JSON Schema (openai-schemas.ts).
 */
import type { JsonObject } from '@reeve/core'
import { itemsProblem, outputRootProblem, parametersRootProblem, strictParts } from './openai-schemas.ts'
import {
  firstOf,
  listAt,
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
const providers: readonly ProviderName[] = ['openai']

/** The items of the input; a text alone is a message of the user. */
function itemsOf(request: ProviderRequest): readonly JsonObject[] {
  const input = memberOf(request.body, 'input')
  return typeof input === 'string' ? [{ role: 'user', content: input }] : objectsAt(request.body, 'input')
}

const typeOf = (item: JsonObject): string =>
  textAt(item, 'type') ?? (textAt(item, 'role') === undefined ? '' : 'message')

const functionsOf = (request: ProviderRequest): readonly JsonObject[] =>
  objectsAt(request.body, 'tools').filter((tool) => textAt(tool, 'type') === 'function')

const formatOf = (request: ProviderRequest): JsonObject | undefined =>
  objectAt(objectAt(request.body, 'text'), 'format')

const isReasoningModel = (model: string): boolean => /^(?:o\d|gpt-5(?!-chat))/.test(model)

const eachItem =
  (problem: (item: JsonObject, at: number, all: readonly JsonObject[]) => string | undefined) =>
  (request: ProviderRequest): string | undefined => {
    const all = itemsOf(request)
    return firstOf(all, (item, at) => problem(item, at, all))
  }

const allowedParts: { readonly [role: string]: readonly string[] } = {
  system: ['input_text'],
  developer: ['input_text'],
  user: ['input_text', 'input_image', 'input_file'],
  assistant: ['output_text', 'refusal'],
}

const outputParts = ['input_text', 'input_image', 'input_file']

const partProblem = (item: JsonObject, at: number): string | undefined => {
  if (typeOf(item) !== 'message') return undefined
  const role = textAt(item, 'role') ?? ''
  if (!Object.hasOwn(allowedParts, role))
    return `Invalid value: '${role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'. (input[${at}].role)`
  const allowed = allowedParts[role] ?? []
  const content = memberOf(item, 'content')
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return `Missing required parameter: 'input[${at}].content'.`
  return firstOf(objectsAt(item, 'content'), (part, n) => {
    const type = textAt(part, 'type') ?? ''
    return allowed.includes(type)
      ? undefined
      : `Invalid value: '${type}'. Supported values are: ${allowed.map((each) => `'${each}'`).join(' and ')}. (input[${at}].content[${n}])`
  })
}

const imageProblem = (part: JsonObject): string | undefined => {
  if (textAt(part, 'type') !== 'input_image') return undefined
  if (textAt(part, 'file_id') !== undefined) return undefined
  const url = textAt(part, 'image_url') ?? ''
  if (/^https?:\/\/./.test(url)) return undefined
  return /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/]+=*$/.test(url)
    ? undefined
    : "Invalid 'input_image.image_url': expected an https URL, or base64 data of png, jpeg, gif or webp."
}

const fileProblem = (part: JsonObject): string | undefined => {
  if (textAt(part, 'type') !== 'input_file') return undefined
  if (textAt(part, 'file_id') !== undefined || /^https?:\/\//.test(textAt(part, 'file_url') ?? '')) return undefined
  if (textAt(part, 'filename') === undefined) return "Missing required parameter: 'input_file.filename'."
  return /^data:[^;,]+;base64,[A-Za-z0-9+/]+=*$/.test(textAt(part, 'file_data') ?? '')
    ? undefined
    : "Invalid 'input_file.file_data': expected a base64-encoded data URL with a MIME type."
}

/** All parts of all content: of messages, and of the results of functions. */
const contentParts = (request: ProviderRequest): readonly JsonObject[] =>
  itemsOf(request).flatMap((item) => [...objectsAt(item, 'content'), ...objectsAt(item, 'output')])

/** Reasoning stands before an item that the model made in the same answer. */
const reasoningProblem = (item: JsonObject, at: number, all: readonly JsonObject[]): string | undefined => {
  if (typeOf(item) !== 'reasoning') return undefined
  let next = at + 1
  while (next < all.length && typeOf(all[next] ?? {}) === 'reasoning') next++
  const follower = all[next] ?? {}
  const isModels =
    typeOf(follower) === 'message' ? textAt(follower, 'role') === 'assistant' : typeOf(follower).endsWith('_call')
  return isModels
    ? undefined
    : `Item '${textAt(item, 'id') ?? ''}' of type 'reasoning' was provided without its required following item.`
}

/** https://platform.openai.com/docs/api-reference/responses/create#responses-create-tools */
const toolTypes: readonly string[] = (
  'function web_search web_search_preview file_search code_interpreter image_generation mcp computer_use_preview ' +
  'computer local_shell shell apply_patch custom tool_search'
).split(' ')

const saysJson = (request: ProviderRequest): boolean =>
  /json/i.test(textAt(request.body, 'instructions') ?? '') ||
  itemsOf(request).some((item) => {
    const content = memberOf(item, 'content')
    const texts =
      typeof content === 'string' ? [content] : objectsAt(item, 'content').map((part) => textAt(part, 'text') ?? '')
    return texts.some((text) => /json/i.test(text))
  })

const strictRules = strictParts.flatMap(({ id, what, source, problem }): ProviderRule[] => [
  {
    id: `openai/tool-${id}`,
    providers,
    what,
    source,
    code: 'invalid_function_parameters',
    check: (request) =>
      firstOf(functionsOf(request), (of) => {
        const schema = objectAt(of, 'parameters')
        const found = memberOf(of, 'strict') === true && schema !== undefined ? problem(schema) : undefined
        return found === undefined ? undefined : `Invalid schema for function '${textAt(of, 'name') ?? ''}': ${found}`
      }),
  },
  {
    id: `openai/output-${id}`,
    providers,
    what,
    source,
    code: 'invalid_json_schema',
    check: (request) => {
      const format = formatOf(request)
      const schema = objectAt(format, 'schema')
      const found = memberOf(format, 'strict') === true && schema !== undefined ? problem(schema) : undefined
      return found === undefined
        ? undefined
        : `Invalid schema for response_format '${textAt(format, 'name') ?? ''}': ${found}`
    },
  },
])

/** What OpenAI refuses on this wire. */
export const openaiResponsesRules: readonly ProviderRule[] = [
  {
    id: 'openai/model',
    providers,
    what: 'A model is named.',
    source: reference,
    code: 'missing_required_parameter',
    check: ({ model }) => (model === '' ? "Missing required parameter: 'model'." : undefined),
  },
  {
    id: 'openai/input',
    providers,
    what: 'There is input.',
    source: reference,
    check: (request) =>
      itemsOf(request).length === 0 && memberOf(request.body, 'previous_response_id') === undefined
        ? "One of 'input', 'previous_response_id' or 'prompt' must be provided."
        : undefined,
  },
  {
    id: 'openai/parts',
    providers,
    what: 'Roles are known; a part stands where it may: input parts with users, output parts with the assistant.',
    source: reference,
    code: 'invalid_value',
    check: eachItem(partProblem),
  },
  {
    id: 'openai/images',
    providers,
    what: 'A picture is a URL, or base64 data of png, jpeg, gif or webp.',
    source: 'https://developers.openai.com/api/docs/guides/images-vision',
    code: 'invalid_value',
    check: (request) => firstOf(contentParts(request), imageProblem),
  },
  {
    id: 'openai/files',
    providers,
    what: 'A file is a URL, an id, or a name and base64 data as a data URL.',
    source: 'https://developers.openai.com/api/docs/guides/pdf-files',
    check: (request) => firstOf(contentParts(request), fileProblem),
  },
  {
    id: 'openai/well-formed',
    providers,
    what: 'Every text is well-formed Unicode: no half of a character.',
    source: 'https://github.com/anomalyco/opencode/issues/13988',
    check: ({ body }) =>
      [...textsIn(body)].every((text) => text.isWellFormed())
        ? undefined
        : 'We could not parse the JSON body of your request. (invalid surrogate in string)',
  },
  {
    id: 'openai/item-ids-unique',
    providers,
    what: 'No two items have one id.',
    source: 'https://github.com/earendil-works/pi/issues/5151',
    check: (request) => {
      const twice = repeated(itemsOf(request).flatMap((item) => textAt(item, 'id') ?? []))
      return twice === undefined
        ? undefined
        : `Duplicate item found with id ${twice}. Remove duplicate items from your input and try again.`
    },
  },
  {
    id: 'openai/item-ids-stored',
    providers,
    what: 'An item is not pointed to if answers are not stored.',
    source: 'https://github.com/can1357/oh-my-pi/issues/41',
    status: 404,
    check: (request) =>
      memberOf(request.body, 'store') !== false
        ? undefined
        : eachItem((item) =>
            typeOf(item) === 'item_reference'
              ? `Item with id '${textAt(item, 'id') ?? ''}' not found. Items are not persisted when \`store\` is set to false.`
              : undefined,
          )(request),
  },
  {
    id: 'openai/reasoning-encrypted',
    providers,
    what: 'Reasoning comes back with its encrypted content if answers are not stored.',
    source: 'https://github.com/coder/xum/pull/59',
    status: 404,
    check: (request) =>
      memberOf(request.body, 'store') !== false
        ? undefined
        : eachItem((item) =>
            typeOf(item) === 'reasoning' && (textAt(item, 'encrypted_content') ?? '') === ''
              ? `Item with id '${textAt(item, 'id') ?? ''}' not found. Items are not persisted when \`store\` is set to false.`
              : undefined,
          )(request),
  },
  {
    id: 'openai/reasoning-followed',
    providers,
    what: 'Reasoning is followed by the item that it led to.',
    source: 'https://github.com/openai/openai-node/issues/1567',
    check: eachItem(reasoningProblem),
  },
  {
    id: 'openai/output-has-call',
    providers,
    what: 'The output of a function has a call before it.',
    source: 'https://github.com/continuedev/continue/issues/10092',
    check: eachItem((item, at, all) => {
      if (typeOf(item) !== 'function_call_output') return undefined
      const id = textAt(item, 'call_id') ?? ''
      const called = all
        .slice(0, at)
        .some((before) => typeOf(before) === 'function_call' && textAt(before, 'call_id') === id)
      return called ? undefined : `No tool call found for function call output with call_id ${id}.`
    }),
  },
  {
    id: 'openai/call-has-output',
    providers,
    what: 'Every call of a function has its output.',
    source: 'https://github.com/bytedance/trae-agent/issues/245',
    check: eachItem((item, at, all) => {
      if (typeOf(item) !== 'function_call') return undefined
      const id = textAt(item, 'call_id') ?? ''
      const answered = all
        .slice(at + 1)
        .some((after) => typeOf(after) === 'function_call_output' && textAt(after, 'call_id') === id)
      return answered ? undefined : `No tool output found for function call ${id}.`
    }),
  },
  {
    id: 'openai/call-ids-unique',
    providers,
    what: 'No two calls, and no two outputs, have one call_id.',
    source: 'https://github.com/earendil-works/pi/issues/9057',
    check: (request) =>
      firstOf(['function_call', 'function_call_output'], (type) => {
        const ids = itemsOf(request).flatMap((item) => (typeOf(item) === type ? [textAt(item, 'call_id') ?? ''] : []))
        const twice = repeated(ids)
        return twice === undefined ? undefined : `Duplicate ${type} found with call_id ${twice}.`
      }),
  },
  {
    id: 'openai/call-id-length',
    providers,
    what: 'A call_id has 1 to 64 characters.',
    source: 'https://github.com/openai/codex/issues/14355',
    code: 'string_above_max_length',
    check: eachItem((item, at) => {
      if (!typeOf(item).startsWith('function_call')) return undefined
      const { length } = textAt(item, 'call_id') ?? ''
      if (length === 0) return `Missing required parameter: 'input[${at}].call_id'.`
      return length > 64
        ? `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64, but got a string with length ${length} instead.`
        : undefined
    }),
  },
  {
    id: 'openai/call-name',
    providers,
    what: 'The name of a call has 1 to 128 of a-z, A-Z, 0-9, _ and -; its arguments are a text.',
    source: reference,
    check: eachItem((item, at) => {
      if (typeOf(item) !== 'function_call') return undefined
      if (typeof memberOf(item, 'arguments') !== 'string')
        return `Missing required parameter: 'input[${at}].arguments'.`
      return /^[a-zA-Z0-9_-]{1,128}$/.test(textAt(item, 'name') ?? '')
        ? undefined
        : `Invalid 'input[${at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`
    }),
  },
  {
    id: 'openai/function-output',
    providers,
    what: 'The output of a function is a text or a list of parts.',
    source: reference,
    check: eachItem((item, at) => {
      if (typeOf(item) !== 'function_call_output') return undefined
      const output = memberOf(item, 'output')
      return typeof output === 'string' || (Array.isArray(output) && output.length > 0)
        ? undefined
        : `Missing required parameter: 'input[${at}].output'.`
    }),
  },
  {
    id: 'openai/function-output-parts',
    providers,
    what: 'The parts of the output of a function are texts, images and files.',
    source: 'https://platform.openai.com/docs/guides/function-calling',
    check: eachItem((item, at) => {
      if (typeOf(item) !== 'function_call_output') return undefined
      const strange = objectsAt(item, 'output').find((part) => !outputParts.includes(typeOf(part)))
      return strange === undefined
        ? undefined
        : `Invalid value: '${typeOf(strange)}'. Supported values are: 'input_text', 'input_image', and 'input_file'. (input[${at}].output)`
    }),
  },
  {
    id: 'openai/tool-count',
    providers,
    what: 'There are at most 128 tools.',
    source: 'https://github.com/zed-industries/zed/issues/42393',
    code: 'array_above_max_length',
    check: ({ body }) => {
      const { length } = listAt(body, 'tools')
      return length > 128
        ? `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length ${length} instead.`
        : undefined
    },
  },
  {
    id: 'openai/tool-type',
    providers,
    what: 'The type of a tool is one that there is.',
    source: reference,
    check: ({ body }) =>
      firstOf(objectsAt(body, 'tools'), (tool, at) => {
        const type = textAt(tool, 'type') ?? ''
        return toolTypes.includes(type)
          ? undefined
          : `Invalid value: '${type}'. Supported values are: ${toolTypes.map((each) => `'${each}'`).join(', ')}. (tools[${at}].type)`
      }),
  },
  {
    id: 'openai/tool-choice',
    providers,
    what: 'A tool is required only beside tools.',
    source: 'https://github.com/anomalyco/opencode/pull/48857',
    check: ({ body }) =>
      memberOf(body, 'tool_choice') === 'required' && listAt(body, 'tools').length === 0
        ? "Tool choice 'required' must be specified with 'tools' parameter."
        : undefined,
  },
  {
    id: 'openai/tool-name',
    providers,
    what: 'The name of a tool has 1 to 128 of a-z, A-Z, 0-9, _ and -.',
    source: reference,
    check: (request) =>
      firstOf(functionsOf(request), (of, at) =>
        /^[a-zA-Z0-9_-]{1,128}$/.test(textAt(of, 'name') ?? '')
          ? undefined
          : `Invalid 'tools[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      ),
  },
  {
    id: 'openai/tool-parameters',
    providers,
    what: 'The parameters of a tool are an object with properties, and no union at the root.',
    source: 'https://github.com/everruns/everruns/pull/984',
    code: 'invalid_function_parameters',
    check: (request) =>
      firstOf(functionsOf(request), (of) => {
        const schema = objectAt(of, 'parameters')
        const found = schema === undefined ? undefined : parametersRootProblem(schema)
        return found === undefined ? undefined : `Invalid schema for function '${textAt(of, 'name') ?? ''}': ${found}`
      }),
  },
  {
    id: 'openai/tool-array-items',
    providers,
    what: 'Every array in the parameters of a tool says what its items are.',
    source: 'https://github.com/streamnative/streamnative-mcp-server/issues/26',
    code: 'invalid_function_parameters',
    check: (request) =>
      firstOf(functionsOf(request), (of) => {
        const schema = objectAt(of, 'parameters')
        const found = schema === undefined ? undefined : itemsProblem(schema)
        return found === undefined ? undefined : `Invalid schema for function '${textAt(of, 'name') ?? ''}': ${found}`
      }),
  },
  {
    id: 'openai/output-name',
    providers,
    what: 'The name of an output schema has 1 to 64 of a-z, A-Z, 0-9, _ and -.',
    source: reference,
    check: (request) => {
      const format = formatOf(request)
      return textAt(format, 'type') !== 'json_schema' || /^[a-zA-Z0-9_-]{1,64}$/.test(textAt(format, 'name') ?? '')
        ? undefined
        : "Invalid 'text.format.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
    },
  },
  {
    id: 'openai/output-root',
    providers,
    what: 'The schema of an output is an object at its root, and no union.',
    source:
      'https://developers.openai.com/api/docs/guides/structured-outputs#root-objects-must-not-be-anyof-and-must-be-an-object',
    code: 'invalid_json_schema',
    check: (request) => {
      const format = formatOf(request)
      const schema = objectAt(format, 'schema')
      const found =
        textAt(format, 'type') === 'json_schema' && schema !== undefined ? outputRootProblem(schema) : undefined
      return found === undefined
        ? undefined
        : `Invalid schema for response_format '${textAt(format, 'name') ?? ''}': ${found}`
    },
  },
  ...strictRules,
  {
    id: 'openai/json-word',
    providers,
    what: 'Who asks for json_object says "json" somewhere in the input.',
    source: 'https://developers.openai.com/api/docs/guides/structured-outputs#json-mode',
    check: (request) =>
      textAt(formatOf(request), 'type') === 'json_object' && !saysJson(request)
        ? "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
        : undefined,
  },
  {
    id: 'openai/max-output-tokens',
    providers,
    what: 'A limit of output tokens is at least 16.',
    source: reference,
    code: 'integer_below_min_value',
    check: ({ body }) => {
      const value = numberAt(body, 'max_output_tokens')
      return value !== undefined && value < 16
        ? `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${value} instead.`
        : undefined
    },
  },
  {
    id: 'openai/unknown-members',
    providers,
    what: 'There is no stop, seed, penalty or limit of chat completions on this wire.',
    source: reference,
    code: 'unknown_parameter',
    check: ({ body }) => {
      const names = [
        'stop',
        'seed',
        'presence_penalty',
        'frequency_penalty',
        'max_tokens',
        'max_completion_tokens',
        'messages',
      ]
      const unknown = names.find((name) => memberOf(body, name) !== undefined)
      return unknown === undefined ? undefined : `Unknown parameter: '${unknown}'.`
    },
  },
  {
    id: 'openai/reasoning-model',
    providers,
    what: 'A reasoning model takes no temperature and no top_p; only such a model takes reasoning.',
    source: 'https://github.com/OpenHands/software-agent-sdk/issues/1837',
    code: 'unsupported_parameter',
    check: ({ body, model }) => {
      const names = isReasoningModel(model) ? ['temperature', 'top_p'] : ['reasoning']
      const wrong = names.find((name) => memberOf(body, name) !== undefined)
      return wrong === undefined ? undefined : `Unsupported parameter: '${wrong}' is not supported with this model.`
    },
  },
]
