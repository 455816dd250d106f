/**
 * What Google's generateContent refuses: its rules for turns, parts, calls, signatures, tools, formats and settings.
 *
 * Owns: the rules, each with the place that says so. Does not own: their form on the wire (google.ts).
 */
import { asText, isObject, type Json, type JsonObject } from '@reeve/core'
import { decoded, isWellFormed } from './content.ts'
import { googleModel } from './google-models.ts'
import { schemasIn } from './openai-schemas.ts'
import type { ProviderRequest, ProviderRule } from './wire.ts'
import { firstOf, listAt, memberOf, objectAt, objectsAt, repeated, textAt, textsIn } from './wire.ts'

const reference = 'https://ai.google.dev/api/generate-content'
const sdkTypes = 'https://github.com/googleapis/js-genai/blob/main/src/types.ts'

const rule = (
  name: string,
  what: string,
  source: string,
  check: ProviderRule['check'],
  more: Pick<ProviderRule, 'status' | 'code'> = {},
): ProviderRule => ({ id: `google/${name}`, providers: ['google'], what, source, check, ...more })

/** A member that may be written in two ways. */
const either = (object: JsonObject | undefined, camel: string): Json | undefined =>
  memberOf(object, camel) ??
  memberOf(
    object,
    camel.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  )
const objectEither = (object: JsonObject | undefined, camel: string): JsonObject | undefined => {
  const value = either(object, camel)
  return isObject(value) ? value : undefined
}

const contentsOf = ({ body }: ProviderRequest): readonly JsonObject[] => objectsAt(body, 'contents')
const partsOf = (content: JsonObject | undefined): readonly JsonObject[] => objectsAt(content, 'parts')
const isModel = (content: JsonObject | undefined): boolean => textAt(content, 'role') === 'model'

/** Every part, with its place in the words of the vendor. */
const allParts = (request: ProviderRequest): readonly (readonly [part: JsonObject, at: string])[] =>
  contentsOf(request).flatMap((content, index) =>
    partsOf(content).map((part, place) => [part, `contents[${index}].parts[${place}]`] as const),
  )

const callOf = (part: JsonObject): JsonObject | undefined => objectEither(part, 'functionCall')
const responseOf = (part: JsonObject): JsonObject | undefined => objectEither(part, 'functionResponse')
const callsIn = (content: JsonObject | undefined): readonly JsonObject[] =>
  partsOf(content).filter((part) => callOf(part) !== undefined)
const responsesIn = (content: JsonObject | undefined): readonly JsonObject[] =>
  partsOf(content).filter((part) => responseOf(part) !== undefined)

const declarationsOf = ({ body }: ProviderRequest): readonly (readonly [declaration: JsonObject, at: string])[] =>
  objectsAt(body, 'tools').flatMap((tool, index) => {
    const list = either(tool, 'functionDeclarations')
    const found = Array.isArray(list) ? (list as readonly Json[]).filter((item) => isObject(item)) : []
    return found.map((item, place) => [item, `tools[${index}].function_declarations[${place}]`] as const)
  })

const configOf = ({ body }: ProviderRequest): JsonObject | undefined => objectEither(body, 'generationConfig')
const setting = (request: ProviderRequest, camel: string): Json | undefined => either(configOf(request), camel)
const callingOf = ({ body }: ProviderRequest): JsonObject | undefined =>
  objectEither(objectEither(body, 'toolConfig'), 'functionCallingConfig')

const keywordList = (list: string): readonly string[] => list.split(' ')
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const inBothCases = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.flatMap((name) => [name, snake(name)]))

const members = inBothCases(
  keywordList(
    'contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent model ' +
      'labels serviceTier continuationToken store',
  ),
)
const partMembers = inBothCases(
  keywordList(
    'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall ' +
      'toolResponse audioTranscription thought thoughtSignature videoMetadata partMetadata mediaResolution',
  ),
)
/** Of which a part has one. */
const dataMembers = keywordList(
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall ' +
    'toolResponse audioTranscription',
)
const schemaMembers = inBothCases(
  keywordList(
    'type format title description nullable enum items maxItems minItems properties required ' +
      'minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default ' +
      'minimum maximum',
  ),
)

const mediaTypes: ReadonlySet<string> = new Set(
  keywordList(
    'image/png image/jpeg image/webp image/heic image/heif application/pdf text/plain text/html text/css ' +
      'text/csv text/xml text/rtf text/markdown text/md text/javascript application/x-javascript ' +
      'text/x-python application/x-python application/rtf audio/wav audio/x-wav audio/mp3 audio/mpeg ' +
      'audio/aiff audio/aac audio/ogg audio/flac audio/mp4 audio/m4a audio/webm audio/opus audio/pcm ' +
      'audio/l16 video/mp4 video/mpeg video/mpegps video/mov video/quicktime video/avi video/x-flv ' +
      'video/mpg video/webm video/wmv video/3gpp video/flv video/x-ms-wmv',
  ),
)

const lost =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
const stray = 'Please ensure that function response turn comes immediately after a function call turn.'
const uneven =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'

const envelope: readonly ProviderRule[] = [
  rule(
    'size',
    'A request has at most 20 MB.',
    'https://ai.google.dev/gemini-api/docs/image-understanding',
    ({ text }) =>
      text.length > 20 * 1024 * 1024 ? 'Request payload size exceeds the limit: 20971520 bytes.' : undefined,
  ),
  rule(
    'well-formed',
    'Texts have no half of a surrogate pair.',
    'https://protobuf.dev/programming-guides/proto3/#scalar',
    ({ body }) =>
      [...textsIn(body)].every(isWellFormed)
        ? undefined
        : 'Invalid JSON payload received. Unexpected token. The text has a half of a surrogate pair.',
  ),
  rule('unknown-member', 'A request has no unknown members.', 'https://github.com/ax-llm/ax/issues/293', ({ body }) =>
    firstOf(Object.keys(body), (name) =>
      members.has(name) ? undefined : `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
    ),
  ),
]

const turns: readonly ProviderRule[] = [
  rule('no-contents', 'There are contents.', reference, (request) =>
    contentsOf(request).length === 0 ? '* GenerateContentRequest.contents: contents is not specified\n' : undefined,
  ),
  rule('role', 'A content is of the user or of the model.', 'https://ai.google.dev/api/caching#Content', (request) =>
    firstOf(contentsOf(request), (content) =>
      ['user', 'model', 'function', undefined].includes(textAt(content, 'role'))
        ? undefined
        : 'Please use a valid role: user, model.',
    ),
  ),
  rule('empty-content', 'A content has parts.', 'https://github.com/vercel/ai/issues/3775', (request) =>
    firstOf(contentsOf(request), (content, index) =>
      partsOf(content).length === 0
        ? `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`
        : undefined,
    ),
  ),
  rule('empty-part', 'A part has data.', 'https://github.com/router-for-me/CLIProxyAPI/issues/1292', (request) =>
    firstOf(allParts(request), ([part, at]) =>
      dataMembers.some((name) => either(part, name) !== undefined)
        ? undefined
        : `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field\n`,
    ),
  ),
  rule(
    'empty-text',
    'A text is not empty, unless it carries a signature.',
    'https://github.com/glowingjade/obsidian-smart-composer/issues/218',
    (request) =>
      firstOf(allParts(request), ([part]) =>
        memberOf(part, 'text') === '' && either(part, 'thoughtSignature') === undefined
          ? 'Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.'
          : undefined,
      ),
  ),
  rule('unknown-part-member', 'A part has no unknown members.', 'https://github.com/ax-llm/ax/issues/293', (request) =>
    firstOf(allParts(request), ([part, at]) => {
      const strange = Object.keys(part).find((name) => !partMembers.has(name))
      return strange === undefined
        ? undefined
        : `Invalid JSON payload received. Unknown name "${strange}" at '${at}': Cannot find field.`
    }),
  ),
  rule(
    'system',
    'The instructions of the system are texts that are not empty.',
    'https://github.com/router-for-me/CLIProxyAPI/issues/176',
    ({ body }) => {
      const system = objectEither(body, 'systemInstruction')
      if (system === undefined) return undefined
      if (partsOf(system).length === 0)
        return 'Unable to submit request because it must include at least one parts field, which describes the prompt input.'
      return partsOf(system).some((part) => (textAt(part, 'text') ?? '') === '')
        ? 'Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.'
        : undefined
    },
  ),
  rule(
    'single-turn',
    'A request of one content is the user’s.',
    'https://github.com/microsoft/semantic-kernel/pull/13288',
    (request) =>
      contentsOf(request).length === 1 && isModel(contentsOf(request)[0])
        ? 'Please ensure that single turn requests end with a user role or the role field is empty.'
        : undefined,
  ),
  rule(
    'model-last',
    'From Gemini 3.5 on, the last content is not the model’s.',
    'https://github.com/pipecat-ai/pipecat/pull/5821',
    (request) =>
      isModel(contentsOf(request).at(-1)) && !googleModel(request.model).prefill
        ? 'Requests ending with a model turn are not supported.'
        : undefined,
  ),
]

const calls: readonly ProviderRule[] = [
  rule(
    'call-turn',
    'Calls come right after the user, or after the results of others.',
    'https://github.com/google-gemini/gemini-cli/issues/11814',
    (request) =>
      firstOf(contentsOf(request), (content, index) => {
        const before = contentsOf(request)[index - 1]
        return callsIn(content).length > 0 && (before === undefined || isModel(before)) ? lost : undefined
      }),
  ),
  rule(
    'response-turn',
    'Results come right after their calls.',
    'https://github.com/langchain-ai/langchain/issues/27799',
    (request) =>
      firstOf(contentsOf(request), (content, index) =>
        responsesIn(content).length > 0 && callsIn(contentsOf(request)[index - 1]).length === 0 ? stray : undefined,
      ),
  ),
  rule(
    'response-count',
    'There are as many results as calls.',
    'https://github.com/microsoft/vscode/issues/299295',
    (request) =>
      firstOf(contentsOf(request), (content, index) => {
        const asked = callsIn(content).length
        return asked > 0 && responsesIn(contentsOf(request)[index + 1]).length !== asked ? uneven : undefined
      }),
  ),
  rule('call-args', 'Arguments are an object.', sdkTypes, (request) =>
    firstOf(allParts(request), ([part, at]) => {
      const args = memberOf(callOf(part), 'args')
      return args === undefined || isObject(args)
        ? undefined
        : `Invalid value at '${at}.function_call.args' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(args)}`
    }),
  ),
  rule('response-object', 'A result is an object.', sdkTypes, (request) =>
    firstOf(allParts(request), ([part, at]) => {
      const given = responseOf(part)
      const value = memberOf(given, 'response')
      return given === undefined || value === undefined || isObject(value)
        ? undefined
        : `Invalid value at '${at}.function_response.response' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(value)}`
    }),
  ),
  rule('call-name', 'Calls and results are named.', sdkTypes, (request) =>
    firstOf(allParts(request), ([part, at]) => {
      const nameless = (value: JsonObject | undefined): boolean =>
        value !== undefined && (textAt(value, 'name') ?? '') === ''
      if (nameless(callOf(part))) return `* GenerateContentRequest.${at}.function_call.name: Name cannot be empty.\n`
      return nameless(responseOf(part))
        ? `* GenerateContentRequest.${at}.function_response.name: Name cannot be empty.\n`
        : undefined
    }),
  ),
  rule(
    'call-signature',
    'From Gemini 3 on, the first call of each step of the current turn carries its thought’s signature.',
    'https://ai.google.dev/gemini-api/docs/thought-signatures',
    (request) => {
      if (googleModel(request.model).generation < 3) return undefined
      const contents = contentsOf(request)
      const begun = contents.findLastIndex((content) => !isModel(content) && responsesIn(content).length === 0)
      return firstOf(contents.slice(begun + 1), (content, index) => {
        const [first] = callsIn(content)
        if (first === undefined || (either(first, 'thoughtSignature') ?? '') !== '') return undefined
        const name = textAt(callOf(first), 'name') ?? ''
        return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${begun + index + 2}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`
      })
    },
  ),
  rule(
    'signature-form',
    'A signature is base64, and is that of the model that is asked.',
    'https://github.com/earendil-works/pi/issues/471',
    (request) =>
      firstOf(allParts(request), ([part, at]) => {
        const signature = either(part, 'thoughtSignature')
        if (signature === undefined) return undefined
        if (typeof signature !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(signature))
          return `Invalid value at '${at}.thought_signature' (TYPE_BYTES), Base64 decoding failed`
        const maker = madeBy(signature)
        return maker === undefined || maker === request.model ? undefined : 'Corrupted thought signature.'
      }),
  ),
]

const mark = 'reeve-bench-of:'

/** The signature that the bench gives a thought of a model. */
export const modelSignature = (model: string): string => btoa(`${mark}${model}`)
/** Whose it is, if the bench has made it. */
const madeBy = (signature: string): string | undefined => {
  const inside = decoded(signature)
  return inside?.startsWith(mark) === true ? inside.slice(mark.length) : undefined
}

const tools: readonly ProviderRule[] = [
  rule(
    'tool-name',
    'The name of a tool begins with a letter or `_` and has at most 64 letters, digits, `_`, `.`, `:` and `-`.',
    'https://github.com/kaitranntt/ccs/issues/25',
    (request) =>
      firstOf(declarationsOf(request), ([declaration, at]) =>
        /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(textAt(declaration, 'name') ?? '')
          ? undefined
          : `* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
      ),
  ),
  rule(
    'tool-name-unique',
    'The name of a tool is there once.',
    'https://github.com/googleapis/dotnet-genai/issues/189',
    (request) => {
      const twice = repeated(declarationsOf(request).map(([declaration]) => textAt(declaration, 'name') ?? ''))
      return twice === undefined ? undefined : `Duplicate function declaration found: ${twice}`
    },
  ),
  rule(
    'tool-count',
    'There are at most 512 tools.',
    'https://github.com/google-gemini/gemini-cli/issues/19083',
    (request) =>
      declarationsOf(request).length > 512
        ? 'The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations: [FIELD_INVALID] At most 512 function declarations can be specified.'
        : undefined,
  ),
  rule('tool-schema-once', 'A tool has `parameters` or `parametersJsonSchema`.', sdkTypes, (request) =>
    firstOf(declarationsOf(request), ([declaration, at]) =>
      memberOf(declaration, 'parameters') !== undefined && either(declaration, 'parametersJsonSchema') !== undefined
        ? `${at}: only one of parameters and parameters_json_schema may be set.`
        : undefined,
    ),
  ),
  rule('tool-root', 'The JSON Schema of a tool describes an object.', sdkTypes, (request) =>
    firstOf(declarationsOf(request), ([declaration, at]) => {
      const schema = either(declaration, 'parametersJsonSchema')
      if (schema === undefined) return undefined
      const type = isObject(schema) ? memberOf(schema, 'type') : 'none'
      return type === 'object' || type === undefined
        ? undefined
        : `* GenerateContentRequest.${at}.parameters_json_schema: schema should be of type object.\n`
    }),
  ),
  rule(
    'schema-field',
    'A schema in `parameters` or `responseSchema` has the members of Google’s own schemas alone.',
    'https://github.com/zed-industries/zed/issues/44875',
    (request) => ownSchemaProblem(request, unknownField),
  ),
  rule(
    'schema-type',
    'A schema of Google’s own has one type, and the members of that type.',
    'https://github.com/anomalyco/opencode/pull/11888',
    (request) => ownSchemaProblem(request, typeProblem),
  ),
  rule(
    'tool-choice',
    'A mode of calling needs tools, and the names it allows are theirs.',
    'https://github.com/musistudio/claude-code-router/pull/1207',
    (request) => {
      const calling = callingOf(request)
      if (calling === undefined) return undefined
      if (declarationsOf(request).length === 0) return 'Function calling config is set without function_declarations.'
      const names = either(calling, 'allowedFunctionNames')
      if (!Array.isArray(names) || names.length === 0) return undefined
      if (!['ANY', 'VALIDATED'].includes(textAt(calling, 'mode') ?? ''))
        return 'allowed_function_names should only be set when mode is ANY.'
      const known = declarationsOf(request).map(([declaration]) => textAt(declaration, 'name'))
      const strange = (names as readonly Json[]).find((name) => !known.includes(name as string))
      return strange === undefined
        ? undefined
        : `allowed_function_names contains a function that is not declared: ${asText(strange)}`
    },
  ),
  rule(
    'tools-of-google',
    'Before Gemini 3, tools of Google’s and one’s own exclude one another.',
    'https://github.com/symfony/ai/issues/803',
    (request) => {
      const googles = objectsAt(request.body, 'tools').some(
        (tool) => either(tool, 'functionDeclarations') === undefined,
      )
      return googles && declarationsOf(request).length > 0 && googleModel(request.model).generation < 3
        ? 'Tool use with function calling is unsupported'
        : undefined
    },
  ),
]

type SchemaProblem = (schema: JsonObject, at: string) => string | undefined

/** Schemas that are not JSON Schema but Google's own. */
function ownSchemaProblem(request: ProviderRequest, problem: SchemaProblem): string | undefined {
  const response = setting(request, 'responseSchema')
  const roots: (readonly [JsonObject, string])[] = declarationsOf(request).flatMap(([declaration, at]) => {
    const schema = objectAt(declaration, 'parameters')
    return schema === undefined ? [] : [[schema, `${at}.parameters`] as const]
  })
  if (isObject(response)) roots.push([response, 'generation_config.response_schema'])
  return firstOf(roots, ([schema, at]) => eachOwnSchema(schema, at, problem))
}

function eachOwnSchema(schema: JsonObject, at: string, problem: SchemaProblem): string | undefined {
  const found = problem(schema, at)
  if (found !== undefined) return found
  const within = (value: JsonObject | undefined, place: string): string | undefined =>
    value === undefined ? undefined : eachOwnSchema(value, place, problem)
  const inMembers = firstOf(Object.values(objectAt(schema, 'properties') ?? {}), (value, index) =>
    isObject(value) ? within(value, `${at}.properties[${index}].value`) : undefined,
  )
  const union = either(schema, 'anyOf')
  return (
    inMembers ??
    within(objectAt(schema, 'items'), `${at}.items`) ??
    firstOf(Array.isArray(union) ? (union as readonly Json[]) : [], (value, index) =>
      isObject(value) ? within(value, `${at}.any_of[${index}]`) : undefined,
    )
  )
}

const unknownField: SchemaProblem = (schema, at) => {
  const strange = Object.keys(schema).find((name) => !schemaMembers.has(name))
  return strange === undefined
    ? undefined
    : `Invalid JSON payload received. Unknown name "${strange}" at '${at}': Cannot find field.`
}

const typeProblem: SchemaProblem = (schema, at) => {
  const type = memberOf(schema, 'type')
  if (Array.isArray(type))
    return `Invalid JSON payload received. Unknown name "type" at '${at}': Proto field is not repeating, cannot start list.`
  const name = typeof type === 'string' ? type.toUpperCase() : undefined
  if (
    typeof type === 'string' &&
    name !== undefined &&
    !['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'].includes(name)
  )
    return `Invalid value at '${at}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "${type}"`
  const choices = listAt(schema, 'enum')
  if (choices.some((choice) => typeof choice !== 'string')) return `Invalid value at '${at}.enum[0]' (TYPE_STRING)`
  const owner = `* GenerateContentRequest.${at}`
  if (choices.length > 0 && name !== 'STRING') return `${owner}.enum: only allowed for STRING type\n`
  if (choices.includes('')) return `${owner}.enum[${choices.indexOf('')}]: cannot be empty\n`
  const properties = objectAt(schema, 'properties')
  if (properties !== undefined && name !== 'OBJECT') return `${owner}.properties: only allowed for OBJECT type\n`
  if (name === 'OBJECT' && Object.keys(properties ?? {}).length === 0)
    return `${owner}.properties: should be non-empty for OBJECT type\n`
  if (name === 'ARRAY' && objectAt(schema, 'items') === undefined) return `${owner}.items: missing field.\n`
  const absent = listAt(schema, 'required').findIndex((key) => !Object.hasOwn(properties ?? {}, asText(key)))
  return absent < 0 ? undefined : `${owner}.required[${absent}]: property is not defined\n`
}

const hasJsonSchema = (request: ProviderRequest): boolean =>
  setting(request, 'responseSchema') !== undefined || setting(request, 'responseJsonSchema') !== undefined

const formats: readonly ProviderRule[] = [
  rule(
    'json-with-tools',
    'Before Gemini 3, a format of the answer and tools exclude one another.',
    'https://github.com/symfony/ai/issues/1777',
    (request) =>
      setting(request, 'responseMimeType') === 'application/json' &&
      declarationsOf(request).length > 0 &&
      googleModel(request.model).generation < 3
        ? "Function calling with a response mime type: 'application/json' is unsupported"
        : undefined,
  ),
  rule(
    'json-with-forced-call',
    'From Gemini 3 on, a format of the answer goes with calls that are free.',
    'https://github.com/vercel/ai/blob/main/packages/google/src/google-language-model.ts',
    (request) =>
      setting(request, 'responseMimeType') === 'application/json' &&
      declarationsOf(request).length > 0 &&
      textAt(callingOf(request), 'mode') === 'ANY'
        ? "Forced function calling (ANY mode) with a response mime type: 'application/json' is unsupported"
        : undefined,
  ),
  rule('format-type', 'A schema of the answer needs a type that has one.', reference, (request) => {
    const type = setting(request, 'responseMimeType')
    const known = ['text/plain', 'application/json', 'application/xml', 'application/yaml', 'text/x.enum']
    if (type !== undefined && !known.includes(asText(type)))
      return '* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.\n'
    return hasJsonSchema(request) && !['application/json', 'text/x.enum'].includes(asText(type ?? ''))
      ? '* GenerateContentRequest.generation_config.response_schema: response_schema requires response_mime_type to be application/json.\n'
      : undefined
  }),
  rule('format-once', 'An answer has `responseSchema` or `responseJsonSchema`.', sdkTypes, (request) =>
    setting(request, 'responseSchema') !== undefined && setting(request, 'responseJsonSchema') !== undefined
      ? 'Only one of response_schema and response_json_schema may be set.'
      : undefined,
  ),
  rule(
    'format-reference',
    'Beside a `$ref` in the schema of an answer stands nothing that does not begin with `$`.',
    sdkTypes,
    (request) => {
      const schema = setting(request, 'responseJsonSchema')
      if (!isObject(schema)) return undefined
      return firstOf(schemasIn(schema), ({ schema: each, path }) => {
        const strange =
          memberOf(each, '$ref') === undefined || path.length === 0
            ? undefined
            : Object.keys(each).find((name) => !name.startsWith('$'))
        return strange === undefined
          ? undefined
          : `response_json_schema: $ref cannot be used with other properties, found "${strange}".`
      })
    },
  ),
]

const settings: readonly ProviderRule[] = [
  rule(
    'stop-count',
    'There are at most five stop sequences.',
    'https://ai.google.dev/api/rest/v1beta/GenerationConfig?hl=en',
    (request) => {
      const stops = setting(request, 'stopSequences')
      return Array.isArray(stops) && stops.length > 5
        ? 'Unable to submit request because it has too many stop sequences. Reduce the number of stop sequences to 5 or fewer.'
        : undefined
    },
  ),
  rule(
    'temperature',
    'Temperature is between 0 and 2.',
    'https://ai.google.dev/api/rest/v1beta/GenerationConfig?hl=en',
    (request) => {
      const given = setting(request, 'temperature')
      return given === undefined || (typeof given === 'number' && given >= 0 && given <= 2)
        ? undefined
        : '* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n'
    },
  ),
  rule('max-output', 'The most tokens of an answer are a whole number above 0.', reference, (request) => {
    const given = setting(request, 'maxOutputTokens')
    return given === undefined || (Number.isInteger(given) && (given as number) > 0)
      ? undefined
      : '* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.\n'
  }),
  rule('thinking', 'Thinking has a budget or a level.', 'https://ai.google.dev/gemini-api/docs/thinking', (request) => {
    const thinking = objectEither(configOf(request), 'thinkingConfig')
    return either(thinking, 'thinkingBudget') !== undefined && either(thinking, 'thinkingLevel') !== undefined
      ? 'You can only set only one of thinking budget and thinking level.'
      : undefined
  }),
]

const isResponseFile = (part: JsonObject, model: string): boolean =>
  googleModel(model).generation >= 3 &&
  ['image/png', 'image/jpeg', 'image/webp', 'application/pdf', 'text/plain'].includes(
    asText(either(objectEither(part, 'inlineData'), 'mimeType') ?? ''),
  )

const media: readonly ProviderRule[] = [
  rule(
    'media-type',
    'A file is of a type that Gemini reads: no GIF, no `image/jpg`, no JSON.',
    'https://github.com/microsoft/vscode/issues/286628',
    (request) =>
      firstOf(filesOf(request), ([file]) => {
        const type = asText(either(file, 'mimeType') ?? '')
        return mediaTypes.has(type.split(';')[0] ?? '') ? undefined : `Unsupported MIME type: ${type}`
      }),
  ),
  rule(
    'media-response',
    'A function response has files from Gemini 3 on: PNG, JPEG, WebP, PDF and plain text.',
    'https://ai.google.dev/gemini-api/docs/function-calling',
    (request) =>
      firstOf(allParts(request), ([part, at]) => {
        const [inner] = objectsAt(responseOf(part), 'parts').filter((each) => !isResponseFile(each, request.model))
        return inner === undefined ? undefined : `Invalid value at '${at}.function_response.parts': not supported`
      }),
  ),
  rule('media-bytes', 'A file is base64.', sdkTypes, (request) =>
    firstOf(filesOf(request), ([file, at]) => {
      const data = textAt(file, 'data') ?? ''
      return data !== '' && /^[A-Za-z0-9+/_-]+={0,2}$/.test(data)
        ? undefined
        : `Invalid value at '${at}.inline_data.data' (TYPE_BYTES), Base64 decoding failed`
    }),
  ),
]

function filesOf(request: ProviderRequest): readonly (readonly [file: JsonObject, at: string])[] {
  return allParts(request).flatMap(([part, at]) => {
    const nested = objectsAt(responseOf(part), 'parts').map(
      (inner, index) => [inner, `${at}.function_response.parts[${index}]`] as const,
    )
    return [[part, at] as const, ...nested].flatMap(([each, place]) => {
      const file = objectEither(each, 'inlineData')
      return file === undefined ? [] : [[file, place] as const]
    })
  })
}

/** What Google refuses. */
export const googleRules: readonly ProviderRule[] = [
  ...envelope,
  ...turns,
  ...calls,
  ...tools,
  ...formats,
  ...settings,
  ...media,
]
