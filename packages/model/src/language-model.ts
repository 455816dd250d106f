/**
 * LanguageModel: an AI SDK model object (v2, v3, v4) as a `Model`. One way to call it: `doStream`, whose parts go into
 * one fold, with a sink for those who watch or without.
 *
 * Owns: the call options, reading the stream, ending it on abort and on silence. Providers have no retries of their own
 * at this level, so none happen.
 * Does not own: the fold (answer.ts), the classes of failure (faults.ts), which object it is (providers.ts).
 */
import { cut, failure, FailureError, systemClock, visibleLine, wellFormed, type JsonObject } from '@reeve/core'
import { untilAborted } from './abort.ts'
import { AnswerFold, partsOf } from './answer.ts'
import { withCacheMarks } from './cache-marks.ts'
import { modelFault } from './faults.ts'
import type { Model, ModelAnswer, ModelRequest, ModelSettings } from './model.ts'
import { costOf, type ModelPrice } from './price.ts'
import { PromptRenderer } from './prompt.ts'
import { knownLimits, limitsOfObject, type ProviderLimits } from './provider-limits.ts'
import { mustTakeSettings } from './request-limits.ts'
import { SilenceWatch } from './silence.ts'
import { droppedTool, feesOf, otherModelOrTool } from './provider-tools.ts'
import type { LanguageModelLike, SpecCallOptions, SpecModel, SpecPart, SpecTool, SpecVersion } from './spec.ts'
import { hasWholeAnswer, hearWire } from './wire.ts'
import { wireForm, withInstructions, type PartReader, type WireForm } from './wire-form.ts'

/** What is known of a model beside the object. */
export interface LanguageModelOptions {
  readonly id: string
  readonly price?: ModelPrice
  /** Texts that must never appear in a failure: the API key. */
  readonly secrets?: readonly string[]
  /** The variable that the key came from, for hints. */
  readonly keyName?: string
  /** What its provider takes. Default: by what the object calls its provider. */
  readonly limits?: ProviderLimits
  /** Provider options that hold unless the request says otherwise. */
  readonly providerOptions?: (request: ModelRequest) => { readonly [provider: string]: JsonObject }
}

/** An AI SDK model object as a `Model`. */
export function languageModel(object: LanguageModelLike, options: LanguageModelOptions): Model {
  const { id, price } = options
  const sdk = object as unknown as SpecModel
  const identity = `${sdk.provider}:${sdk.modelId}`
  const limits = options.limits ?? limitsOfObject(sdk.provider, sdk.modelId)
  const renderer = new PromptRenderer({ version: sdk.specificationVersion, identity, id, limits })

  async function ask(request: ModelRequest): Promise<ModelAnswer> {
    const { signal, emit } = request
    const charged = request.price ?? price
    const call: CallProgress = { hasBegun: false, hasContent: false }
    const fold = new AnswerFold({
      model: id,
      identity,
      key: request.key,
      version: sdk.specificationVersion,
      get streamed() {
        return call.hasBegun
      },
      emit,
      cost: (usage, ran) => {
        const fees = feesOf(ran, request.tools, limits)
        const tokens = charged === undefined ? undefined : costOf(usage, charged)
        return fees === undefined || tokens === undefined ? undefined : tokens + fees
      },
    })
    const watch = new SilenceWatch(signal, request.silenceMs)
    hearWire(watch.signal, watch.heard)
    try {
      mustTakeSettings(request.settings, limits, id)
      const form = wireForm(request, limits, id)
      const reader = form.reader()
      const providerOptions = withStrictness(options.providerOptions?.(request), form, limits)
      const heard = { ...request, signal: watch.signal }
      const asked = wellFormedOptions(
        callOptions(heard, renderer, form, providerOptions, { version: sdk.specificationVersion, limits }),
      )
      await untilAborted(readAnswer(sdk, asked, reader, fold, watch, call), watch.signal)
      return fold.answer()
    } catch (error) {
      signal.throwIfAborted()
      const silent = watch.failure(id)
      if (silent !== undefined) throw new FailureError(silent, undefined, fold.used ?? 'unknown')
      const { failure, used } = modelFault(error, {
        model: id,
        secrets: options.secrets ?? [],
        begun: call.hasBegun,
        hasContent: call.hasContent,
        ...(options.keyName !== undefined && { keyName: options.keyName }),
      })
      // the error itself may hold what must not be shown, such as a key
      throw new FailureError(failure, undefined, fold.used ?? used)
    } finally {
      watch.end()
    }
  }

  return {
    id,
    ...(price !== undefined && { price }),
    ...knownLimits(limits),
    async call(request) {
      request.signal.throwIfAborted()
      return ask(request)
    },
  }
}

/** How far a call has come. */
interface CallProgress {
  /** The provider has begun to answer. */
  hasBegun: boolean
  /** Something of the answer has arrived. */
  hasContent: boolean
}

/**
 * Every call is streamed, shown or not: the headers of a stream come at once, and its silence can be told from its work.
 * A model object that cannot stream is asked for the whole answer.
 */
async function readAnswer(
  sdk: SpecModel,
  asked: SpecCallOptions,
  reader: PartReader,
  fold: AnswerFold,
  watch: SilenceWatch,
  call: CallProgress,
): Promise<void> {
  let streamed: { readonly stream: ReadableStream<SpecPart> }
  try {
    streamed = await sdk.doStream(asked)
  } catch (error) {
    if (!cannotStream(error)) throw error
    return readWhole(sdk, asked, reader, fold)
  }
  if (hasWholeAnswer(watch.signal)) {
    streamed.stream.cancel().catch(() => undefined)
    return readWhole(sdk, asked, reader, fold)
  }
  call.hasBegun = true
  await drain(streamed.stream, watch.signal, (part) => {
    if (isContent(part)) {
      call.hasContent = true
      watch.begins()
    } else watch.heard()
    mustSendTools(part, fold.model)
    for (const each of reader.read(part)) fold.add(each)
  })
}

async function readWhole(sdk: SpecModel, asked: SpecCallOptions, reader: PartReader, fold: AnswerFold): Promise<void> {
  for (const part of partsOf(await sdk.doGenerate(asked))) {
    mustSendTools(part, fold.model)
    for (const each of reader.read(part)) fold.add(each)
  }
}

/** Throws a `FailureError` (`model.unsupported`) where the package of a provider has left out one of its tools. */
function mustSendTools({ type, warnings }: SpecPart, model: string): void {
  const dropped = type === 'stream-start' ? droppedTool(warnings) : undefined
  if (dropped === undefined) return
  const what = `"${model}" was not sent all tools: ${visibleLine(cut(dropped, 300))}`
  throw new FailureError(failure('model.unsupported', what, 'validation', { hint: otherModelOrTool }))
}

/** https://github.com/vercel/ai/blob/main/packages/provider/src/errors/unsupported-functionality-error.ts */
const cannotStream = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === 'AI_UnsupportedFunctionalityError' &&
  /stream/i.test(String((error as { readonly functionality?: unknown }).functionality))

/** Text, reasoning or a call: from then on silence is told from thinking. */
const isContent = ({ type, delta }: SpecPart): boolean =>
  type === 'tool-call' ||
  type === 'tool-input-start' ||
  (type.endsWith('-delta') && typeof delta === 'string' && delta !== '')

/**
 * How long a stream stays open after the part that ends it. Milliseconds. Some servers keep the connection open; closing
 * it at once would cost all others theirs.
 */
const closingMs = 100

/**
 * Reads a stream to its end. After an error part only what was used is still wanted; an abort cancels it, also if the
 * provider does not listen.
 */
async function drain(
  stream: ReadableStream<SpecPart>,
  signal: AbortSignal,
  take: (part: SpecPart) => void,
): Promise<void> {
  const reader = stream.getReader()
  const cancel = (): void => {
    reader.cancel(signal.reason).catch(() => undefined)
  }
  signal.addEventListener('abort', cancel, { once: true })
  let callOff: (() => void) | undefined
  let failed: { readonly error: unknown } | undefined
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      signal.throwIfAborted()
      const { value: part } = next
      if (part.type === 'error') failed ??= { error: part.error }
      else if (failed === undefined || part.type === 'finish') take(part)
      if (part.type === 'error' || part.type === 'finish')
        callOff ??= systemClock.timer(systemClock.now() + closingMs, cancel)
    }
  } catch (error) {
    failed ??= { error }
  } finally {
    callOff?.()
    signal.removeEventListener('abort', cancel)
  }
  if (failed !== undefined) throw failed.error // oxlint-disable-line typescript/only-throw-error -- whatever the provider says is classed by the caller
}

function callOptions(
  request: ModelRequest,
  renderer: PromptRenderer,
  { tools, responseFormat, instructions }: WireForm,
  defaults: LanguageModelProviderOptions,
  { version, limits: { cacheMarks = false } }: { readonly version: SpecVersion; readonly limits: ProviderLimits },
): SpecCallOptions {
  const { toolChoice, settings = {} } = request
  const providerOptions = merged(defaults, settings.providerOptions)
  const prompt = withInstructions(renderer.render(request.messages), instructions)
  return {
    prompt: cacheMarks ? withCacheMarks(prompt, settings.cache, providerOptions) : prompt,
    ...(tools.length > 0 && { tools: toolsFor(tools, version), toolChoice: { type: toolChoice ?? ('auto' as const) } }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...sampling(settings),
    ...(providerOptions !== undefined && { providerOptions }),
    abortSignal: request.signal,
    headers: {
      'idempotency-key': request.key,
      ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
    },
  }
}

/** v2 has another word for the tools of a provider. */
const toolsFor = (tools: readonly SpecTool[], version: SpecVersion): SpecTool[] =>
  tools.map((tool) => (version === 'v2' && tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : tool))

/** Objects that hold only well-formed text: tools and schemas are looked at once, however often they are offered. */
const seenWellFormed = new WeakSet<object>()

/** The options without half characters: those of the prompt are gone already (prompt.ts). */
function wellFormedOptions({ prompt, abortSignal, tools, responseFormat, ...rest }: SpecCallOptions): SpecCallOptions {
  const once = <T extends object>(value: T): T => {
    if (seenWellFormed.has(value)) return value
    const made = wellFormed(value)
    if (made === value) seenWellFormed.add(value)
    return made
  }
  return {
    ...wellFormed(rest),
    prompt,
    abortSignal,
    ...(tools !== undefined && {
      tools: tools.map((tool) =>
        tool.type === 'function'
          ? { ...wellFormed({ ...tool, inputSchema: {} }), inputSchema: once(tool.inputSchema) }
          : wellFormed(tool),
      ),
    }),
    ...(responseFormat !== undefined && {
      responseFormat:
        responseFormat.schema !== undefined
          ? { ...responseFormat, schema: once(responseFormat.schema) }
          : responseFormat,
    }),
  }
}

type LanguageModelProviderOptions = ModelSettings['providerOptions'] | undefined

function sampling(settings: ModelSettings): { readonly [setting: string]: unknown } {
  const { stop, providerOptions: _, cache: _cache, ...rest } = settings
  return { ...rest, ...(stop !== undefined && { stopSequences: [...stop] }) }
}

/** A schema is declared strict only if it is. */
function withStrictness(
  defaults: LanguageModelProviderOptions,
  { strict }: WireForm,
  { strictOptions }: ProviderLimits,
): LanguageModelProviderOptions {
  if (strict === undefined || strictOptions.length === 0) return defaults
  return merged(defaults, Object.fromEntries(strictOptions.map((name) => [name, { strictJsonSchema: strict }])))
}

function merged(
  defaults: LanguageModelProviderOptions,
  own: LanguageModelProviderOptions,
): LanguageModelProviderOptions {
  if (defaults === undefined || own === undefined) return own ?? defaults
  const all: { [provider: string]: JsonObject } = { ...defaults }
  for (const [provider, options] of Object.entries(own)) all[provider] = { ...all[provider], ...options }
  return all
}
