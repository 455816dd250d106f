/**
 * `reeve/otel`: the OpenTelemetry GenAI spans and metrics of runs, as a fold of their journals. Live with
 * `liveTelemetry` (to an SDK through the optional peer `@opentelemetry/api`, or to a receiver of OTLP), after the fact
 * with `exportRun`.
 *
 * Owns: what the subpath exports. Does not own: what a run does; telemetry changes none.
 * Holds: ids of traces and spans are made of the ids of the journal, so they are the same whoever exports, however often.
 */
export { exportRun, type Exported, type ExportOptions } from './export-run.ts'
export { liveTelemetry, type LiveOptions, type LiveTelemetry } from './live.ts'
export { spanIds } from './span-ids.ts'
export type { OtlpOptions } from './environment.ts'
export type { Rejected } from './otlp.ts'
export type { TraceContent } from './run-trace.ts'
export type { SpanAttributes } from './attributes.ts'
