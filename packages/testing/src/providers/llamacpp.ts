/**
 * llama.cpp's server: its dialect of chat completions, and what it refuses besides.
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import type { ChatDialect, ChatError } from './openai-chat.ts'
import { systemFirstProblem, turnsProblem } from './chat-template.ts'
import { schemasIn } from './openai-schemas.ts'
import {
  firstOf,
  listAt,
  membersAt,
  memberOf,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  type ProviderRequest,
  type ProviderRule,
} from './wire.ts'

/** https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md */
const errorBody = ({ status, message, type }: ChatError): JsonObject => ({ error: { code: status, message, type } })

const failure = (status: number, type: string, message: string) => ({ status, type, message })

/** The dialect of llama.cpp. */
export const llamacppChat: ChatDialect = {
  path: '/v1/chat/completions',
  reasoning: 'reasoning_content',
  callPrefix: '',
  extra: { system_fingerprint: 'b6500-strict' },
  failures: {
    'rate-limit': failure(429, 'unavailable_error', 'no slot available'),
    'no-credit': failure(402, 'permission_error', 'no credit'),
    overloaded: failure(503, 'unavailable_error', 'Loading model'),
    unavailable: failure(500, 'server_error', 'failed to decode the batch'),
    unauthorized: failure(401, 'authentication_error', 'Invalid API Key'),
    'unknown-model': failure(404, 'not_found_error', 'File Not Found'),
    'context-full': failure(
      400,
      'exceed_context_size_error',
      'the request exceeds the available context size. try increasing the context size or enable context shift',
    ),
    'bad-request': failure(400, 'invalid_request_error', 'bad request'),
    'prompt-blocked': failure(400, 'invalid_request_error', 'the prompt was refused'),
  },
  errorBody,
}

/** What llama.cpp refuses, besides what all of this wire do. */
export const llamacppRules: readonly ProviderRule[] = [
  {
    id: 'llamacpp/turns',
    providers: ['llamacpp'],
    what: 'User and assistant speak in turn, as the template of Gemma wants it.',
    source: 'https://github.com/ggml-org/llama.cpp/issues/11866',
    check: turnsProblem,
    status: 500,
  },
  {
    id: 'llamacpp/system-first',
    providers: ['llamacpp'],
    what: 'There is one system message at most, and it stands first.',
    source: 'https://github.com/ggml-org/llama.cpp/issues/20733',
    check: systemFirstProblem,
    status: 500,
  },
  {
    id: 'llamacpp/grammar-beside-tools',
    providers: ['llamacpp'],
    what: "A grammar of one's own and tools exclude one another.",
    source: 'https://github.com/ggml-org/llama.cpp/discussions/22408',
    check: ({ body }) =>
      memberOf(body, 'grammar') !== undefined && listAt(body, 'tools').length > 0
        ? 'Cannot use custom grammar constraints with tools.'
        : undefined,
  },
  {
    id: 'llamacpp/patterns',
    providers: ['llamacpp'],
    what: 'A pattern in a schema begins with ^, ends with $ and has no look-around and no classes like \\d.',
    source: 'https://github.com/lidge-jun/opencodex/issues/2135',
    check: (request) =>
      firstOf(schemasOf(request), (schema) =>
        firstOf(schemasIn(schema), ({ schema: inner }) => {
          const pattern = textAt(inner, 'pattern')
          if (pattern === undefined) return undefined
          return !/^\^.*\$$/s.test(pattern) || /\(\?|\\[dDwWsSbB]/.test(pattern)
            ? 'Failed to initialize samplers: failed to parse grammar'
            : undefined
        }),
      ),
  },
  {
    id: 'llamacpp/repetitions',
    providers: ['llamacpp'],
    what: 'A schema repeats nothing more than 2000 times (minLength, maxLength, minItems, maxItems).',
    source: 'https://github.com/flagdizero/jenny-android-ai-agent/issues/2',
    check: (request) =>
      firstOf(schemasOf(request), (schema) =>
        firstOf(schemasIn(schema), ({ schema: inner }) =>
          ['minLength', 'maxLength', 'minItems', 'maxItems'].some((name) => (numberAt(inner, name) ?? 0) > 2000)
            ? 'Failed to initialize samplers: failed to parse grammar'
            : undefined,
        ),
      ),
  },
  {
    id: 'llamacpp/references',
    providers: ['llamacpp'],
    what: 'A reference in a schema leads to a place inside the schema.',
    source: 'https://github.com/ggml-org/llama.cpp/issues/19051',
    check: (request) =>
      firstOf(schemasOf(request), (schema) =>
        firstOf(schemasIn(schema), ({ schema: inner }) => {
          const ref = textAt(inner, '$ref')
          return ref === undefined || isInside(ref, schema)
            ? undefined
            : `JSON schema conversion failed: error resolving ref ${ref}`
        }),
      ),
  },
]

/** The schemas that become grammars: those of the tools and that of the output. */
function schemasOf(request: ProviderRequest): readonly JsonObject[] {
  const format = objectAt(request.body, 'response_format')
  return [
    ...objectsAt(request.body, 'tools').flatMap((tool) => membersAt(objectAt(tool, 'function'), 'parameters')),
    ...membersAt(objectAt(format, 'json_schema'), 'schema'),
    ...membersAt(format, 'schema'),
  ]
}

function isInside(ref: string, root: JsonObject): boolean {
  if (ref === '#') return true
  if (!ref.startsWith('#/')) return false
  let at: Json | undefined = root
  for (const part of ref.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at)) at = (at as readonly Json[])[Number(name)]
    else at = isObject(at) ? memberOf(at, name) : undefined
  }
  return at !== undefined
}
