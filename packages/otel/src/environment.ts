/**
 * The environment of an OTLP exporter: variables as the specification of OpenTelemetry has them ("OpenTelemetry Protocol
 * Exporter", "Environment Variable Specification", "Resource SDK").
 *
 * Owns: which variables hold, that options go before them and those of a signal before those of all, what of them
 * cannot be obeyed. Does not own: sending (otlp.ts).
 * Holds: an empty variable is an unset one. No problem repeats a value: it may be a secret.
 */
import { ReeveError } from '@reeve/core'
import type { AttributeValue, SpanAttributes } from './attributes.ts'

/** How spans and metrics are sent. */
export interface OtlpOptions {
  /**
   * The base address; `/v1/traces` and `/v1/metrics` are appended. Default: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` and
   * `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` as they are, else `OTEL_EXPORTER_OTLP_ENDPOINT` as the base, else
   * `http://127.0.0.1:4318`.
   */
  readonly url?: string
  /** Sent along, such as an API key. Default: `OTEL_EXPORTER_OTLP_HEADERS`, or those of a signal (`…_TRACES_HEADERS`). */
  readonly headers?: { readonly [name: string]: string }
  /** The service in whose name is exported. Default: `OTEL_SERVICE_NAME`, else `reeve`. */
  readonly serviceName?: string
  /** More attributes of the resource, beside those of `OTEL_RESOURCE_ATTRIBUTES`. Default: none. */
  readonly resource?: SpanAttributes
  /** Compresses what is sent. Default: true, unless `OTEL_EXPORTER_OTLP_COMPRESSION` is `none`. */
  readonly gzip?: boolean
  /** Milliseconds for one try. Default: `OTEL_EXPORTER_OTLP_TIMEOUT`, else 10 seconds. */
  readonly timeoutMs?: number
  /** How often a request is tried in all. Default 5, from 500 milliseconds up to 30 seconds apart. */
  readonly attempts?: number
  /** Default: `fetch`. */
  readonly fetch?: (address: string, init: RequestInit) => Promise<Response>
}

export type Environment = { readonly [name: string]: string | undefined }

/** The two kinds of documents. */
export type Signal = 'traces' | 'metrics'

/** Where and how one signal is sent. */
export interface SignalSettings {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly gzip: boolean
  /** Milliseconds. */
  readonly timeoutMs: number
}

/** What options and environment say together. */
export interface OtlpSettings extends Readonly<Record<Signal, SignalSettings>> {
  readonly resource: SpanAttributes
  /** Variables that are malformed, or that cannot be obeyed; a sentence each. */
  readonly problems: readonly string[]
}

const defaultBase = 'http://127.0.0.1:4318'
const prefix = 'OTEL_EXPORTER_OTLP'

/** Whether an operator has switched telemetry off: of everything, or of one signal. */
export const isDisabled = (env: Environment, signal?: Signal): boolean =>
  env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true' ||
  (signal !== undefined && env[`OTEL_${signal.toUpperCase()}_EXPORTER`]?.trim().toLowerCase() === 'none')

/** Throws `config.invalid` for an address to which nothing can be sent. */
export function otlpSettings(options: OtlpOptions, env: Environment): OtlpSettings {
  const problems: string[] = []
  const set = (name: string): readonly [name: string, value: string] | undefined => {
    const value = env[name]?.trim()
    return value === undefined || value === '' ? undefined : [name, value]
  }
  const of = (signal: Signal, name: string): readonly [name: string, value: string] | undefined =>
    set(`${prefix}_${signal.toUpperCase()}_${name}`) ?? set(`${prefix}_${name}`)
  const settingsOf = (signal: Signal): SignalSettings => {
    const own = options.url === undefined ? set(`${prefix}_${signal.toUpperCase()}_ENDPOINT`)?.[1] : undefined
    const base = options.url ?? set(`${prefix}_ENDPOINT`)?.[1] ?? defaultBase
    const url = own ?? `${base.replace(/\/+$/, '')}/v1/${signal}`
    mustBeAddress(url)
    return {
      url,
      headers: options.headers ?? pairsIn(of(signal, 'HEADERS'), isHeader, problems),
      gzip: options.gzip ?? compression(of(signal, 'COMPRESSION'), problems) !== 'none',
      timeoutMs: options.timeoutMs ?? timeout(of(signal, 'TIMEOUT'), problems) ?? 10_000,
    }
  }
  const signals = { traces: settingsOf('traces'), metrics: settingsOf('metrics') }
  for (const signal of ['traces', 'metrics'] as const) {
    const protocol = of(signal, 'PROTOCOL')
    if (protocol !== undefined && protocol[1] !== 'http/json')
      problems.push(`${protocol[0]} asks for another protocol than http/json, which is the one that is spoken`)
    for (const name of ['CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE']) {
      const given = of(signal, name)
      if (given !== undefined) problems.push(`${given[0]} is not read: name authorities in NODE_EXTRA_CA_CERTS`)
    }
  }
  if (set('OTEL_TRACES_SAMPLER') !== undefined)
    problems.push('OTEL_TRACES_SAMPLER is not read: without an SDK every span is sent')
  const named = set('OTEL_SERVICE_NAME')?.[1]
  const resource: { [name: string]: AttributeValue } = {
    'service.name': 'reeve',
    ...pairsIn(set('OTEL_RESOURCE_ATTRIBUTES'), () => true, problems),
    ...(named === undefined ? undefined : { 'service.name': named }),
    ...(options.serviceName === undefined ? undefined : { 'service.name': options.serviceName }),
    ...options.resource,
  }
  return { ...signals, resource, problems: [...new Set(problems)] }
}

const isHeader = (name: string, value: string): boolean => /^[\w.!#$%&'*+^`|~-]+$/.test(name) && !/[\r\n\0]/.test(value)

/** `key=value,key=value`, values percent-encoded. A malformed variable is told, and the pairs that are well-formed hold. */
function pairsIn(
  given: readonly [name: string, value: string] | undefined,
  isPair: (name: string, value: string) => boolean,
  problems: string[],
): { readonly [name: string]: string } {
  if (given === undefined) return {}
  const pairs: (readonly [string, string])[] = []
  for (const text of given[1].split(',')) {
    if (text.trim() === '') continue
    const cut = text.indexOf('=')
    const name = text.slice(0, Math.max(0, cut)).trim()
    const value = decoded(text.slice(cut + 1).trim())
    if (name !== '' && value !== undefined && isPair(name, value)) pairs.push([name, value])
    else problems.push(`${given[0]} has a pair that is not key=value with a percent-encoded value: it is left out`)
  }
  if (/^(["']).*\1$/s.test(given[1])) problems.push(`${given[0]} begins and ends with quotation marks: leave them out`)
  return Object.fromEntries(pairs)
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function compression(given: readonly [name: string, value: string] | undefined, problems: string[]): 'gzip' | 'none' {
  if (given === undefined || given[1] === 'gzip') return 'gzip'
  if (given[1] !== 'none') problems.push(`${given[0]} is neither gzip nor none: gzip is used`)
  return given[1] === 'none' ? 'none' : 'gzip'
}

function timeout(given: readonly [name: string, value: string] | undefined, problems: string[]): number | undefined {
  if (given === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(given[1])) return Number(given[1])
  problems.push(`${given[0]} is not a number of milliseconds: 10,000 are used`)
  return undefined
}

/** Never says the address: it may be a secret. */
function mustBeAddress(address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if ((url?.protocol === 'https:' || url?.protocol === 'http:') && url.username === '' && url.password === '') return
  throw new ReeveError(
    'config.invalid',
    'the address of the OTLP receiver is not an http(s) address without a password',
    {
      hint: 'For example http://127.0.0.1:4318; give credentials as headers. Nothing was sent.',
    },
  )
}
