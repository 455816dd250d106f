/**
 * Providers: which package, which address and which key stand behind the first word of `provider/model`.
 *
 * Owns: the table of presets, the environment variables, the dynamic import of the optional provider packages (at the
 * first call, never before).
 * Does not own: calling the model (language-model.ts).
 */
import type * as Anthropic from '@ai-sdk/anthropic'
import type * as Google from '@ai-sdk/google'
import type * as OpenAi from '@ai-sdk/openai'
import type * as OpenAiCompatible from '@ai-sdk/openai-compatible'
import { failure, FailureError, importAtRunTime, peerProblem } from '@reeve/core'
import type { LanguageModelOptions } from './language-model.ts'
import type { LanguageModelLike } from './spec.ts'
import { wireFetch } from './wire.ts'

/** Where keys and addresses come from. */
export interface ProviderSurroundings {
  readonly env: { readonly [name: string]: string | undefined }
  readonly baseURLs: { readonly [provider: string]: string }
  readonly apiKeys: { readonly [provider: string]: string }
}

type Wire = 'openai-responses' | 'openai-chat' | 'anthropic' | 'google' | 'openai-compatible'

interface Preset {
  readonly wire: Wire
  /** The usual address. A base URL without a path gets the path of this one. None: the user must say. */
  readonly url: string | undefined
  /** The variables that may hold the key, the first one being ours to name. */
  readonly keys: readonly string[]
  /** A hosted provider refuses to talk without a key; a local server does not care. */
  readonly needsKey: boolean
  /** The variable that may hold the address. */
  readonly urlName: string
  /** Whether the server is known to take a JSON Schema for its output. */
  readonly schemas: boolean
}

const preset = (
  name: string,
  wire: Wire,
  url: string | undefined,
  needsKey: boolean,
  schemas = true,
  otherKeys: readonly string[] = [],
): Preset => {
  const upper = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
  return { wire, url, needsKey, schemas, keys: [`${upper}_API_KEY`, ...otherKeys], urlName: `${upper}_BASE_URL` }
}

const openaiUrl = 'https://api.openai.com/v1'

/**
 * The providers known by name. `openai` speaks the responses protocol, `openai-chat` the older chat completions, with
 * the same key.
 */
const presets: ReadonlyMap<string, Preset> = new Map([
  ['openai', preset('openai', 'openai-responses', openaiUrl, true)],
  ['openai-chat', preset('openai', 'openai-chat', openaiUrl, true)],
  ['anthropic', preset('anthropic', 'anthropic', 'https://api.anthropic.com/v1', true)],
  [
    'google',
    preset('google', 'google', 'https://generativelanguage.googleapis.com/v1beta', true, true, [
      'GOOGLE_GENERATIVE_AI_API_KEY',
      'GEMINI_API_KEY',
    ]),
  ],
  ['openrouter', preset('openrouter', 'openai-compatible', 'https://openrouter.ai/api/v1', true)],
  ['groq', preset('groq', 'openai-compatible', 'https://api.groq.com/openai/v1', true, false)],
  ['ollama', preset('ollama', 'openai-compatible', 'http://127.0.0.1:11434/v1', false)],
  ['lmstudio', preset('lmstudio', 'openai-compatible', 'http://127.0.0.1:1234/v1', false)],
  ['vllm', preset('vllm', 'openai-compatible', 'http://127.0.0.1:8000/v1', false)],
  ['llamacpp', preset('llamacpp', 'openai-compatible', 'http://127.0.0.1:8080/v1', false)],
  ['openai-compatible', preset('openai-compatible', 'openai-compatible', undefined, false, false)],
])

const localServers: ReadonlySet<string> = new Set(['ollama', 'lmstudio', 'vllm', 'llamacpp'])

/** The names of the presets, for messages. */
export const providerNames: readonly string[] = [...presets.keys()]

/** The preset of a provider. A name of the user's own counts if a base URL was given for it. */
export function findPreset(provider: string, around: ProviderSurroundings): Preset | undefined {
  const known = presets.get(provider)
  if (known !== undefined) return known
  const own = preset(provider, 'openai-compatible', undefined, false, false)
  return around.baseURLs[provider] !== undefined || filled(around.env[own.urlName]) !== undefined ? own : undefined
}

/**
 * Where a call will go. Throws a `FailureError`: `model.not-authorized` without a key, `config.invalid` without a
 * usable address.
 */
export function findEndpoint(
  provider: string,
  of: Preset,
  around: ProviderSurroundings,
): { readonly url: string; readonly key: string | undefined; readonly keyName: string } {
  const url = baseURL(provider, of, around)
  const keyName = of.keys.find((name) => filled(around.env[name]) !== undefined) ?? of.keys[0] ?? ''
  const key = filled(around.apiKeys[provider]) ?? filled(around.env[keyName])
  if (key === undefined && of.needsKey) {
    const more = {
      hint: `Set ${keyName} in the environment, or give the agent a model object of the AI SDK that has the key, or use another model.`,
      details: { variable: keyName },
    }
    throw new FailureError(
      failure('model.not-authorized', `there is no API key for ${provider}: ${keyName} is not set`, 'policy', more),
    )
  }
  return { url, key, keyName }
}

/**
 * Whether the provider is a model server on this machine. Behind a loopback address of any other name there may be a
 * proxy to one that charges.
 */
export function isLocal(provider: string, of: Preset, around: ProviderSurroundings): boolean {
  if (!localServers.has(provider)) return false
  try {
    return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseURL(provider, of, around)).hostname)
  } catch {
    return false
  }
}

function baseURL(provider: string, of: Preset, around: ProviderSurroundings): string {
  const given = filled(around.baseURLs[provider]) ?? filled(around.env[of.urlName]) ?? of.url
  const hint = `Set ${of.urlName} in the environment, for example http://localhost:8000/v1, or give the agent a model object of the AI SDK that has it.`
  if (given === undefined)
    throw new FailureError(failure('config.invalid', `there is no base URL for ${provider}`, 'validation', { hint }))
  if (!URL.canParse(given) || !/^https?:/.test(given)) {
    throw new FailureError(
      failure('config.invalid', `the base URL of ${provider} is not an http(s) URL`, 'validation', { hint }),
    )
  }
  const url = new URL(given)
  if (url.pathname === '/') url.pathname = of.url === undefined ? '/v1' : new URL(of.url).pathname
  return url.href.replace(/\/+$/, '')
}

const filled = (text: string | undefined): string | undefined =>
  text === undefined || text.trim() === '' ? undefined : text.trim()

/**
 * Makes the provider's model object. Rejects with a `FailureError` (`model.not-installed`) if its package is not there.
 */
export async function loadModel(
  provider: string,
  modelId: string,
  of: Preset,
  at: { readonly url: string; readonly key: string | undefined },
): Promise<LanguageModelLike> {
  const baseURL = at.url
  const apiKey = at.key ?? 'none'
  switch (of.wire) {
    case 'openai-responses':
      return (await installed<typeof OpenAi>('@ai-sdk/openai'))
        .createOpenAI({ baseURL, apiKey, fetch: wireFetch })
        .responses(modelId)
    case 'openai-chat':
      return (await installed<typeof OpenAi>('@ai-sdk/openai'))
        .createOpenAI({ baseURL, apiKey, fetch: wireFetch })
        .chat(modelId)
    case 'anthropic':
      return (await installed<typeof Anthropic>('@ai-sdk/anthropic')).createAnthropic({
        baseURL,
        apiKey,
        fetch: wireFetch,
      })(modelId)
    case 'google':
      return (await installed<typeof Google>('@ai-sdk/google')).createGoogleGenerativeAI({
        baseURL,
        apiKey,
        fetch: wireFetch,
      })(modelId)
    case 'openai-compatible': {
      const { createOpenAICompatible } = await installed<typeof OpenAiCompatible>('@ai-sdk/openai-compatible')
      const key = at.key === undefined ? {} : { apiKey: at.key }
      return createOpenAICompatible({
        name: provider,
        baseURL,
        ...key,
        fetch: wireFetch,
        includeUsage: true,
        supportsStructuredOutputs: of.schemas,
      })(modelId)
    }
  }
}

async function installed<T>(name: string): Promise<T> {
  try {
    return await importAtRunTime<T>(name)
  } catch (error) {
    throw new FailureError(
      failure('model.not-installed', peerProblem(name, error), 'validation', {
        hint: `Install it: npm install ${name}`,
      }),
    )
  }
}

/**
 * Provider options, unless the request has others. OpenAI does not store answers: the journal has them, a run may wait
 * longer than OpenAI keeps them, and reasoning then comes back encrypted, for us to keep.
 */
export const providerDefaults = (of: Preset): LanguageModelOptions['providerOptions'] =>
  of.wire === 'openai-responses' ? () => ({ openai: { store: false } }) : undefined
