/**
 * Provider limits: what each provider takes of tools, schemas and typed output, as data. A request that a provider would
 * refuse is adapted, or refused here with a better text.
 *
 * Owns: the table, and which row of it a model has. Each row names where its rules are written down. Does not own: the
 * rewriting of schemas (schema-dialect.ts), what is sent in the end (wire-form.ts).
 * A provider without a row has the last one, which promises least.
 */
import type { Model, ProviderToolSupport, SettingLimits } from './model.ts'
import type { SchemaDialect } from './schema-dialect.ts'

/**
 * How typed output is asked for. `strict`: the provider's JSON Schema format, declared strict where the schema allows
 * that. `schema`: that format, never strict. `json`: the provider's JSON mode, which takes no schema. `none`: nothing but
 * words.
 */
export type OutputFormat = 'strict' | 'schema' | 'json' | 'none'

/** How typed output is asked for beside tools: by a format, or by a tool that is called with the answer. */
export type OutputBesideTools = OutputFormat | 'answer-tool'

/** What a provider takes. */
export interface ProviderLimits extends SettingLimits {
  /** The most tools of one request. Absent: no such limit is known. */
  readonly tools?: number
  /** The most characters (UTF-16 units) of a tool's description. Absent: no such limit is known. */
  readonly description?: number
  /** The JSON Schema that it reads, in tools and in a format. */
  readonly dialect: SchemaDialect
  readonly output: OutputFormat
  readonly outputBesideTools: OutputBesideTools
  /** Whether the schema is also told in words: where the format does not show it to the model. */
  readonly tellsSchema: boolean
  /** Under which names of provider options `strictJsonSchema` is read. */
  readonly strictOptions: readonly string[]
  /** The ids of calls that it takes. Default: any of at most 64 characters. */
  readonly callId?: RegExp
  /** Whether it takes thoughts back as the AI SDK sends them. Default: true. */
  readonly thoughts?: boolean
  /** Whether it keeps in its cache what carries a mark. Default: false. */
  readonly cacheMarks?: boolean
  /** Whether a conversation may end with words of the assistant. Default: true. */
  readonly prefill?: boolean
  /** The media types of files in messages of the user, given as base64 and by URL. Absent: its package knows them. */
  readonly files?: { readonly data: RegExp; readonly url: RegExp }
  /** The tools that it runs itself. Default: none; of a model object, those whose ids begin with its provider's name. */
  readonly providerTools?: ProviderToolSupport
  /**
   * The media types of files inside results of tools. Absent: none; those that a user may send follow in a message of the
   * user, after the results.
   */
  readonly resultFiles?: ProviderLimits['files']
  /** The most characters of base64 of one picture. Absent: no such limit is known. */
  readonly picture?: number
  /** Where this is written down. */
  readonly sources: readonly string[]
}

/** A row for models whose name matches. What it does not say is said by the provider's own row. */
interface ModelLimits extends Partial<ProviderLimits> {
  readonly models: RegExp
}

interface Row extends ProviderLimits {
  /** The first words of AI SDK providers (`openai.responses` begins with `openai`), and Reeve's own names of presets. */
  readonly names: readonly string[]
  readonly models?: readonly ModelLimits[]
}

const constraints = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const

/** What all known readers of JSON Schema agree on; all else is told in words. */
const portable: SchemaDialect = {
  id: 'portable',
  keywords: new Set([...constraints, 'pattern', 'format', 'minLength', 'maxLength', 'minItems', 'maxItems', 'default']),
}

/** OpenAI's structured outputs: no lengths of texts and no defaults, and formats from a list. */
const openaiStrict: SchemaDialect = {
  id: 'openai-strict',
  keywords: new Set([...constraints, 'pattern', 'format', 'minItems', 'maxItems']),
  formats: new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']),
  patterns: 'plain',
}

const openai: SchemaDialect = { ...portable, id: 'openai', patterns: 'plain', strict: openaiStrict }

/** Anthropic refuses other names of properties in a tool's input. */
const anthropic: SchemaDialect = { ...portable, id: 'anthropic', propertyName: /^[\w.-]{1,64}$/, mostUnions: 16 }

/** Google: `const` and enums of other values than texts and numbers are unknown, references may not loop. */
const google: SchemaDialect = {
  id: 'google',
  keywords: new Set(['minimum', 'maximum', 'format', 'minItems', 'maxItems']),
  formats: new Set(['date-time', 'date', 'time']),
  constants: 'enum',
  loops: false,
}

/** Servers that compile a schema to a grammar: of what a grammar cannot say, or only at a great size, nothing is sent. */
const grammar: SchemaDialect = { id: 'grammar', keywords: new Set(['minimum', 'maximum']), loops: true }

/** The ids of calls that Claude takes: https://github.com/HKUDS/nanobot/pull/4356 */
const claudeIds = /^[\w-]{1,64}$/
/** Files of no type: a URL as a text is not what stands at it. */
const nothing = /^(?!)/
const googleFiles =
  /^(?:image\/(?:png|jpeg|webp|hei[cf])|application\/pdf|text\/(?:plain|html|css|csv|xml|markdown|javascript)|audio\/(?:wav|mp3|mpeg|aiff|aac|ogg|flac)|video\/(?:mp4|mpeg|mov|quicktime|avi|x-flv|webm|wmv|3gpp))$/
const pictures = /^image\/(?:png|jpe?g|gif|webp)$/
const pictureUrls = /^image\/(?:\*|png|jpe?g|gif|webp)$/

/** OpenAI's responses. */
const openaiRow: Row = {
  names: ['openai', 'azure', 'azure-openai'],
  tools: 128,
  description: 1_024,
  dialect: openai,
  output: 'strict',
  outputBesideTools: 'strict',
  tellsSchema: false,
  strictOptions: ['openai', 'azure'],
  stops: 0,
  leastOutput: 16,
  callId: /^.{1,40}$/su,
  providerTools: { runs: ['openai'] },
  files: {
    data: /^(?:image\/(?:png|jpe?g|gif|webp)|application\/pdf)$/,
    url: /^(?:image\/(?:\*|png|jpe?g|gif|webp)|application\/pdf)$/,
  },
  sources: [
    'https://github.com/openai/openai-openapi/pull/76 (128 functions)',
    'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
    'https://github.com/microsoft/genaiscript/issues/1381 (descriptions of 1,024 characters)',
    'https://github.com/openai/openai-agents-python/issues/449 (properties)',
    'https://github.com/openai/openai-agents-python/issues/474 (oneOf)',
    'https://platform.openai.com/docs/api-reference/responses/create (no stop, max_output_tokens from 16)',
    'https://developers.openai.com/api/docs/guides/images-vision',
  ],
  models: [
    // models older than structured outputs
    {
      models: /^(?:gpt-4-(?:turbo|1106|0125)|gpt-3\.5-turbo|gpt-35-turbo|gpt-4o-2024-05-13)/,
      output: 'json',
      outputBesideTools: 'json',
      tellsSchema: true,
    },
    {
      models: /^(?:gpt-4$|gpt-4-(?:0613|0314|32k)|o1-mini|o1-preview)/,
      output: 'none',
      outputBesideTools: 'answer-tool',
      tellsSchema: true,
    },
  ],
}

/**
 * OpenAI's chat completions: https://platform.openai.com/docs/api-reference/chat/create (stop),
 * https://github.com/agno-agi/agno/issues/5382 (ids of 40 characters).
 */
const openaiChatRow: Row = {
  ...openaiRow,
  names: ['openai-chat', 'openai.chat', 'azure.chat', 'azure-openai.chat'],
  stops: 4,
  leastOutput: 1,
  // its tools are of the responses alone
  providerTools: { runs: [] },
  files: {
    data: /^(?:image\/(?:png|jpe?g|gif|webp)|application\/pdf|audio\/(?:wav|mp3|mpeg))$/,
    url: pictureUrls,
  },
  // reasoning models take no stop sequences
  models: [...(openaiRow.models ?? []), { models: /^(?:o[134](?:$|-)|gpt-5(?!-chat)|gpt-[6-9])/, stops: 0 }],
}

const table: readonly Row[] = [
  {
    ...openaiRow,
    resultFiles: openaiRow.files!,
    sources: [
      ...openaiRow.sources,
      'https://platform.openai.com/docs/guides/function-calling (images and files in outputs)',
    ],
  },
  openaiChatRow,
  {
    // the AI SDK chooses Claude's own format, or a tool for older models and for schemas that the format does not take
    names: ['anthropic', 'vertex.anthropic', 'google.vertex.anthropic', 'bedrock.anthropic'],
    dialect: anthropic,
    output: 'schema',
    outputBesideTools: 'schema',
    tellsSchema: false,
    strictOptions: [],
    blankStops: false,
    prefill: false,
    providerTools: { runs: ['anthropic'] },
    cacheMarks: true,
    callId: claudeIds,
    files: {
      data: /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf|text\/plain)$/,
      url: /^(?:image\/(?:\*|png|jpeg|gif|webp)|application\/pdf)$/,
    },
    picture: 5 * 1024 * 1024,
    resultFiles: {
      data: /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/,
      url: /^(?:image\/(?:\*|png|jpeg|gif|webp)|application\/pdf)$/,
    },
    sources: [
      'https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use',
      'https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations',
      'https://github.com/BerriAI/litellm/issues/3286 (stop sequences of white space)',
      'https://docs.claude.com/en/docs/build-with-claude/vision (types of pictures)',
      'https://docs.claude.com/en/docs/build-with-claude/prompt-caching (marks)',
      'https://github.com/anthropics/claude-code/issues/19631 (pictures of 5 MB)',
      'https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-6#breaking-changes (no prefill)',
      'https://github.com/anthropics/claude-code/issues/27337 (no union at the root)',
      'https://github.com/mozilla/bugbug/pull/6129 (16 unions in a format)',
    ],
  },
  {
    // before Gemini 3 a format and tools exclude one another; the AI SDK then offers a tool for the answer
    names: ['google', 'google.generative-ai', 'google.vertex', 'google-vertex'],
    tools: 512,
    dialect: google,
    output: 'schema',
    outputBesideTools: 'schema',
    tellsSchema: false,
    strictOptions: [],
    stops: 5,
    providerTools: { runs: ['google'] },
    files: { data: googleFiles, url: googleFiles },
    sources: [
      'https://github.com/google-gemini/gemini-cli/issues/19083 (512 function declarations)',
      'https://ai.google.dev/api/generate-content#FIELDS.response_json_schema',
      'https://ai.google.dev/api/rest/v1beta/GenerationConfig (five stop sequences)',
      'https://ai.google.dev/gemini-api/docs/image-understanding (types of pictures)',
      'https://ai.google.dev/gemini-api/docs/function-calling#multimodal (files in function responses, from Gemini 3)',
      'https://discuss.ai.google.dev/t/recursive-schema-definition/68607 (references that loop)',
    ],
    models: [
      // before Gemini 3 its tools exclude functions: https://ai.google.dev/gemini-api/docs/tool-combination
      { models: /^(?:models\/)?gemini-[12]/, providerTools: { runs: ['google'], alone: true } },
      // pictures and documents in function responses came with Gemini 3
      {
        models: /^(?:models\/)?gemini-(?:[3-9]|\d\d)/,
        resultFiles: { data: /^(?:image\/(?:png|jpeg|webp)|application\/pdf)$/, url: nothing },
      },
      // Gemma has neither JSON mode nor a format
      { models: /^(?:models\/)?gemma/, output: 'none', outputBesideTools: 'answer-tool', tellsSchema: true },
    ],
  },
  {
    // every format excludes streaming and tools
    names: ['groq'],
    tools: 128,
    dialect: { ...portable, id: 'groq', nullableOptionals: true },
    output: 'none',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: ['groq'],
    stops: 4,
    thoughts: false,
    files: { data: pictures, url: pictureUrls },
    sources: [
      'https://github.com/langchain-ai/langchain/issues/23629 (no format with streaming)',
      'https://github.com/agno-agi/agno/issues/1065 (no format with tools)',
      'https://github.com/vierisid/jarvis/pull/199 (null for an optional argument)',
      'https://github.com/janhq/jan/issues/8136 (reasoning_content is unknown)',
      'https://console.groq.com/docs/vision (pictures)',
      'https://console.groq.com/docs/structured-outputs',
      'https://console.groq.com/docs/api-reference#chat-create (128 functions)',
    ],
  },
  {
    // behind it may be any vendor, most of them speak OpenAI's wire; a format is dropped where the vendor has none
    names: ['openrouter', 'gateway'],
    tools: 128,
    dialect: { ...google, id: 'any', propertyName: anthropic.propertyName!, strict: openaiStrict },
    output: 'schema',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: ['openaiCompatible', 'openrouter'],
    stops: 4,
    callId: /^[\w-]{1,40}$/,
    files: {
      data: /^(?:image\/(?:png|jpe?g|gif|webp)|application\/pdf|audio\/(?:wav|mp3|mpeg)|text\/[\w.+-]+)$/,
      url: pictureUrls,
    },
    sources: [
      'https://openrouter.ai/docs/features/structured-outputs',
      'https://github.com/agno-agi/agno/issues/5382 (ids of 40 characters)',
      'https://openrouter.ai/docs/features/tool-calling (what the vendor behind it refuses is handed on)',
    ],
    models: [
      { models: /^(?:anthropic|mistralai)\//, tools: Infinity },
      { models: /^google\//, tools: 512 },
      { models: /^openai\//, tools: 128, description: 1_024, output: 'strict', outputBesideTools: 'strict' },
    ],
  },
  {
    // the grammar of a format leaves no room for calls
    names: ['vllm'],
    dialect: grammar,
    output: 'schema',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: ['openaiCompatible'],
    files: {
      data: /^(?:image\/(?:png|jpe?g|gif|webp)|audio\/(?:wav|mp3|mpeg)|video\/mp4|text\/[\w.+-]+)$/,
      url: /^(?:image\/(?:\*|png|jpe?g|gif|webp)|video\/mp4)$/,
    },
    sources: [
      'https://github.com/vllm-project/vllm/issues/39929 (a format suppresses calls)',
      'https://docs.vllm.ai/en/latest/features/structured_outputs/',
    ],
  },
  {
    names: ['llamacpp', 'lmstudio'],
    dialect: grammar,
    output: 'schema',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: ['openaiCompatible'],
    files: {
      data: /^(?:image\/(?:png|jpe?g|gif|bmp)|audio\/(?:wav|mp3|mpeg)|text\/[\w.+-]+)$/,
      url: /^image\/(?:\*|png|jpe?g|gif|bmp)$/,
    },
    sources: [
      'https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md#json-schemas--gbnf',
      'https://github.com/lidge-jun/opencodex/issues/2135 (patterns of tools)',
      "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189 (no 'json_object')",
    ],
  },
  {
    names: ['ollama'],
    dialect: grammar,
    output: 'schema',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: ['openaiCompatible'],
    files: { data: /^(?:image\/(?:png|jpe?g|webp)|text\/[\w.+-]+)$/, url: nothing },
    sources: [
      'https://github.com/ollama/ollama/blob/main/openai/openai.go (pictures as data, no other files)',
      'https://github.com/ollama/ollama/issues/8095 (a format suppresses calls)',
      'https://github.com/ollama/ollama/issues/8162 (the schema is not shown to the model)',
      'https://github.com/ollama/ollama/issues/13967 (oneOf in tools)',
      'https://github.com/ollama/ollama/issues/8325 (pattern)',
    ],
  },
  {
    names: ['mistral'],
    dialect: portable,
    output: 'schema',
    outputBesideTools: 'answer-tool',
    tellsSchema: false,
    strictOptions: ['mistral'],
    callId: /^[a-zA-Z0-9]{9}$/,
    sources: ['https://docs.mistral.ai/capabilities/structured-output/custom_structured_output/'],
  },
  {
    names: ['xai', 'cerebras', 'fireworks', 'togetherai', 'deepinfra', 'cohere', 'perplexity', 'amazon-bedrock'],
    dialect: { ...portable, id: 'hosted', propertyName: anthropic.propertyName! },
    output: 'schema',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: [],
    callId: claudeIds,
    sources: [
      'https://docs.x.ai/docs/guides/structured-outputs',
      'https://inference-docs.cerebras.ai/capabilities/structured-outputs (not with tools)',
      'https://docs.cohere.com/docs/structured-outputs (not with tools)',
    ],
  },
  {
    names: ['deepseek'],
    tools: 128,
    dialect: portable,
    output: 'json',
    outputBesideTools: 'answer-tool',
    tellsSchema: true,
    strictOptions: [],
    sources: [
      'https://api-docs.deepseek.com/guides/json_mode',
      'https://api-docs.deepseek.com/api/create-chat-completion',
    ],
  },
]

/** An OpenAI-compatible server of which only the address is known. */
const unknownServer: ProviderLimits = {
  dialect: { ...portable, id: 'unknown' },
  output: 'json',
  outputBesideTools: 'answer-tool',
  tellsSchema: true,
  strictOptions: ['openaiCompatible'],
  sources: [
    'https://api-docs.deepseek.com/guides/json_mode (the word "json")',
    'https://github.com/vercel/ai/issues/12491 (the schema is dropped)',
  ],
}

/** A model object of a provider that Reeve does not know: its package says what it does with a schema. */
const unknownObject: ProviderLimits = { ...unknownServer, output: 'schema' }

const rows: ReadonlyMap<string, Row> = new Map(table.flatMap((row) => row.names.map((name) => [name, row] as const)))

/** The limits of an AI SDK model object, by what it calls its provider and itself. */
export function limitsOfObject(provider: string, modelId: string): ProviderLimits {
  const words = provider.split('.')
  for (let count = words.length; count > 0; count--) {
    const row = rows.get(words.slice(0, count).join('.'))
    if (row !== undefined) return withToolsOf(words[0]!, limitsOfRow(row, modelId))
  }
  return withToolsOf(words[0]!, forClaude(unknownObject, modelId))
}

/** Its package knows which of its provider's tools there are. Bedrock runs none of Anthropic's. */
const withToolsOf = (provider: string, limits: ProviderLimits): ProviderLimits =>
  provider === 'bedrock'
    ? { ...limits, providerTools: { runs: [] } }
    : limits.providerTools === undefined
      ? { ...limits, providerTools: { runs: [provider] } }
      : limits

/** The limits of a model by its id, `provider/model`. A provider of the user's own is a server of which nothing is known. */
export function limitsOfId(provider: string, modelId: string): ProviderLimits {
  const row = rows.get(provider)
  return row === undefined ? forClaude(unknownServer, modelId) : limitsOfRow(row, modelId)
}

/** Behind a server of any name Claude takes no other ids. */
const forClaude = (limits: ProviderLimits, modelId: string): ProviderLimits =>
  /claude/i.test(modelId) ? { ...limits, callId: claudeIds } : limits

/** What an agent's definition may know of them. */
export function knownLimits({ tools, stops, blankStops, leastOutput, providerTools }: ProviderLimits): Partial<Model> {
  const settings: SettingLimits = {
    ...(stops !== undefined && { stops }),
    ...(blankStops !== undefined && { blankStops }),
    ...(leastOutput !== undefined && { leastOutput }),
  }
  return {
    ...(tools !== undefined && { mostTools: tools }),
    ...(providerTools !== undefined && { providerTools }),
    ...(Object.keys(settings).length > 0 && { settingLimits: settings }),
  }
}

const known = new Map<ModelLimits, ProviderLimits>()

function limitsOfRow(row: Row, modelId: string): ProviderLimits {
  const special = row.models?.find(({ models }) => models.test(modelId))
  if (special === undefined) return row
  const before = known.get(special)
  if (before !== undefined) return before
  const { models: _, ...limits } = special
  const made = { ...row, ...limits }
  known.set(special, made)
  return made
}
