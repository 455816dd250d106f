/** Options of telemetry: an invalid one is refused at once, before anything is sent. */
import {
  duration,
  expects,
  flag,
  functionCheck,
  isObject,
  recordOf,
  string,
  text,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import type { OtlpOptions } from './environment.ts'
import type { TraceContent } from './run-trace.ts'

/** The checks of how spans are sent. The address is checked with the environment (otlp.ts). */
export const otlpChecks: Checks<OtlpOptions> = {
  url: text,
  headers: recordOf(string, 'an object of texts by the names of headers'),
  serviceName: text,
  resource: expects(
    (given) =>
      isObject(given) && Object.values(given).every((value) => ['string', 'number', 'boolean'].includes(typeof value)),
    'an object of texts, numbers, true or false',
  ),
  gzip: flag,
  timeoutMs: duration,
  attempts: wholeNumber(1),
  fetch: functionCheck,
}

/** The checks of what spans hold. */
export const contentChecks: Checks<TraceContent> = { content: flag, steps: flag }
