/**
 * Resolve: from what a user writes behind `model:` to a `Model`.
 *
 * Owns: the forms a reference may have, the syntax of ids. Does not own: the providers (providers.ts).
 * Nothing is imported, no key is read and nothing is sent before the first call.
 */
import { FailureError, failureFrom, messageOf, ReeveError, valid } from '@reeve/core'
import { untilAborted } from './abort.ts'
import { chainedModel, chainProblem, isLink, usualReasons } from './chain.ts'
import { functionModel } from './function-model.ts'
import { languageModel } from './language-model.ts'
import type { FallbackReason, Model, ModelFunction } from './model.ts'
import { freeOfCharge, listPrice, type ModelPrice } from './price.ts'
import {
  findEndpoint,
  findPreset,
  isLocal,
  loadModel,
  providerDefaults,
  providerNames,
  type ProviderSurroundings,
} from './providers.ts'
import { knownLimits, limitsOfId, type ProviderLimits } from './provider-limits.ts'
import type { LanguageModelLike } from './spec.ts'

/**
 * What may stand behind `model:`: an id (`'openai/gpt-5'`), an AI SDK model object (v2, v3, v4), a function (a rule
 * brain), or a `Model`.
 */
export type SingleModelRef = string | LanguageModelLike | ModelFunction | Model

/** A model of a chain, with the reasons for which it is asked after those before it. */
export interface ChainedModel {
  readonly model: SingleModelRef
  /** Default: all but `refused`. */
  readonly when?: readonly FallbackReason[]
}

/** A model, or a chain of models: the next one is asked when one cannot answer. */
export type ModelRef = SingleModelRef | readonly (SingleModelRef | ChainedModel)[]

/** Options of `resolveModel`. */
export interface ResolveOptions {
  /** Where `<NAME>_API_KEY` and `<NAME>_BASE_URL` are looked up. Default: the environment of the process. */
  readonly env?: { readonly [name: string]: string | undefined }
  /** Base URLs by provider, before those of the environment. One without a path gets the provider's usual path. */
  readonly baseURLs?: { readonly [provider: string]: string }
  /** API keys by provider, before those of the environment. Never recorded. */
  readonly apiKeys?: { readonly [provider: string]: string }
  /** The id of a function. Default: `rule/<its name>`. */
  readonly id?: string
}

const syntax = /^([a-z0-9][a-z0-9._-]*)\/(\S+)$/

/**
 * Makes a `Model` of a reference. Throws `model.invalid-id` at once if it is no reference at all; what is missing
 * besides (a package, a key, an address) is a failure of the first call.
 */
export function resolveModel(ref: ModelRef, options: ResolveOptions = {}): Model {
  if (Array.isArray(ref)) return chainOf(ref as Extract<ModelRef, readonly unknown[]>, options)
  if (typeof ref === 'string') return namedModel(ref, options)
  if (typeof ref === 'function') {
    if ('languageModel' in ref || 'specificationVersion' in ref)
      throw invalid('that is a provider, not a model', "Call it with the name of a model: openai('gpt-5').")
    return functionModel(ref, options.id ?? `rule/${ref.name === '' ? 'anonymous' : ref.name}`)
  }
  if (typeof ref === 'object' && ref !== null) {
    if (isModel(ref)) return ref
    if (isLanguageModel(ref)) return objectModel(ref, options)
  }
  throw invalid(
    'that is neither an id, nor a model object of specification v2, v3 or v4, nor a function',
    `Known providers: ${providerNames.join(', ')}.`,
  )
}

function chainOf(refs: readonly (SingleModelRef | ChainedModel)[], options: ResolveOptions): Model {
  const problem = chainProblem(refs)
  if (problem !== undefined) throw invalid(problem, 'Write [first, next] or [first, { model: next, when: [...] }].')
  return chainedModel(
    refs.map((each) => {
      const { model, when = usualReasons } = isLink(each) ? each : { model: each }
      return { model: resolveModel(model, options), when }
    }),
  )
}

function namedModel(id: string, options: ResolveOptions): Model {
  const around: ProviderSurroundings = {
    env: options.env ?? processEnv(),
    baseURLs: options.baseURLs ?? {},
    apiKeys: options.apiKeys ?? {},
  }
  const [, provider, modelId] = syntax.exec(id) ?? []
  if (provider === undefined || modelId === undefined)
    throw invalid(`"${id}" is not a model id`, `Write provider/model. Known providers: ${providerNames.join(', ')}.`)
  const found = findPreset(provider, around)
  if (found === undefined) {
    const variable = `${provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BASE_URL`
    throw invalid(
      `"${id}": no provider is called "${provider}"`,
      `Known providers: ${providerNames.join(', ')}. For any other OpenAI-compatible server set ${variable}.`,
    )
  }
  const price = listPrice(id) ?? (isLocal(provider, found, around) ? freeOfCharge : undefined)
  const providerOptions = providerDefaults(found)
  const limits = limitsOfId(provider, modelId)
  return lazyModel(id, price, limits, async () => {
    const endpoint = findEndpoint(provider, found, around)
    const object = await loadModel(provider, modelId, found, endpoint)
    return languageModel(object, {
      id,
      limits,
      keyName: endpoint.keyName,
      secrets: endpoint.key === undefined ? [] : [endpoint.key],
      ...(price !== undefined && { price }),
      ...(providerOptions !== undefined && { providerOptions }),
    })
  })
}

function lazyModel(
  id: string,
  price: ModelPrice | undefined,
  limits: ProviderLimits,
  make: () => Promise<Model>,
): Model {
  let made: Promise<Model> | undefined
  const ready = async (signal?: AbortSignal): Promise<Model> => {
    made ??= make()
    try {
      return await (signal === undefined ? made : untilAborted(made, signal))
    } catch (error) {
      signal?.throwIfAborted()
      made = undefined // a key may be set, a package be installed, before the next attempt
      throw error instanceof FailureError ? error : new FailureError(failureFrom(error, 'model.failed'))
    }
  }
  return {
    id,
    ...(price !== undefined && { price }),
    ...knownLimits(limits),
    prepare: async () => void (await ready()),
    async call(request) {
      request.signal.throwIfAborted()
      return (await ready(request.signal)).call(request)
    },
  }
}

function objectModel(object: LanguageModelLike, options: ResolveOptions): Model {
  const id = options.id ?? `${object.provider.split('.')[0] ?? object.provider}/${object.modelId}`
  const price = listPrice(id)
  return languageModel(object, { id, ...(price !== undefined && { price }) })
}

function isModel(ref: object): ref is Model {
  return 'call' in ref && typeof ref.call === 'function' && 'id' in ref && typeof ref.id === 'string'
}

function isLanguageModel(ref: object): ref is LanguageModelLike {
  if (!('specificationVersion' in ref) || !['v2', 'v3', 'v4'].includes(String(ref.specificationVersion))) return false
  return (
    'doGenerate' in ref &&
    'doStream' in ref &&
    'provider' in ref &&
    typeof ref.provider === 'string' &&
    'modelId' in ref
  )
}

const invalid = (message: string, hint: string): ReeveError => new ReeveError('model.invalid-id', message, { hint })

function processEnv(): { readonly [name: string]: string | undefined } {
  return 'process' in globalThis ? globalThis.process.env : {}
}

/** Why this is no model; undefined if it is one. */
export function modelProblem(given: unknown): string | undefined {
  try {
    resolveModel(given as ModelRef)
    return undefined
  } catch (thrown) {
    return messageOf(thrown)
  }
}

/** The check of a model. */
export const modelCheck = valid(modelProblem)
