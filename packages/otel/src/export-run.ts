/**
 * Exporting a run after the fact: its journal, and those of its child runs, as OTLP.
 *
 * Owns: reading them in pages, batches, what is reported. Does not own: the spans (run-trace.ts), sending (otlp.ts).
 * Holds: the same run exported again has the same ids and the same times, whichever process exports it.
 */
import { optionProblems, refuseProblems, rootRun, runId, type Checks, type RunId } from '@reeve/core'
import { childRunsIn } from '@reeve/journal'
import type { Runtime } from '@reeve/runtime'
import { reeve } from './attributes.ts'
import { contentChecks, otlpChecks } from './options.ts'
import type { OtlpOptions } from './environment.ts'
import { batchesOf, Histograms, OtlpClient, type Rejected } from './otlp.ts'
import { RunTrace, type TraceContent } from './run-trace.ts'
import type { ReeveSpan } from './span.ts'

/** What of a run is exported, and where to. */
export interface ExportOptions extends OtlpOptions, TraceContent {
  /**
   * Spans that have not ended, up to the last event and marked `reeve.unfinished`; exported again when they have ended,
   * they have the same ids, and not every backend replaces them. Default false: they are left out until they have
   * ended.
   */
  readonly unfinished?: boolean
  /** Metrics, too. Default true. */
  readonly metrics?: boolean
  readonly signal?: AbortSignal
}

/** What was exported. */
export interface Exported {
  readonly run: RunId
  readonly traceId: string
  /** Spans that were sent, those of child runs included. */
  readonly spans: number
  /** What the receiver did not take of them, and of the points of metrics. */
  readonly rejected: readonly Rejected[]
  /** The run goes on: what ends later is exported by exporting it again. */
  readonly unfinished: boolean
}

const exportChecks: Checks<ExportOptions> = {
  ...otlpChecks,
  ...contentChecks,
  unfinished: contentChecks.content,
  metrics: contentChecks.content,
  signal: () => [],
}

/** Events that are read at once at most, and spans that are kept before they are sent. */
const pageSize = 1_000
const batchSize = 512

/**
 * Exports a run and its child runs. Rejects with `run.unknown`, `config.invalid`, and with `telemetry.failed` if the
 * receiver does not take it; exporting it again is safe.
 */
export async function exportRun(runtime: Runtime, run: string, options: ExportOptions = {}): Promise<Exported> {
  refuseProblems('config.invalid', optionProblems(exportChecks, options, 'exportRun'), 'Nothing was exported.')
  const { signal, unfinished = false, metrics = true } = options
  const client = new OtlpClient(options)
  const rejected: Rejected[] = []
  const note = (answer: Rejected): void => {
    if (answer.rejected > 0 || answer.message !== '') rejected.push(answer)
  }
  let held: ReeveSpan[] = []
  let sent = 0
  const send = async (spans: readonly ReeveSpan[], least: number): Promise<void> => {
    held.push(...spans)
    if (held.length < least) return
    for (const batch of batchesOf(held)) {
      note(await client.traces(batch, signal))
      sent += batch.length
    }
    held = []
  }
  const whole = rootRun(runId(run.split('>', 1)[0]!))
  const counted = new Histograms()
  let [traceId, since, last, goesOn] = ['', 0, 0, false]
  for (const open: RunId[] = [whole]; open.length > 0;) {
    const id = open.shift()!
    const trace = new RunTrace(options)
    for (let from = 0; ;) {
      signal?.throwIfAborted()
      const events = await runtime.handle(id).journal({ from, limit: pageSize })
      for (const recorded of events) {
        trace.take(recorded)
        last = Math.max(last, recorded.at)
      }
      open.push(...childRunsIn(events))
      const drained = trace.drain()
      for (const each of drained.measurements) counted.add(each)
      await send(drained.spans, batchSize)
      if (events.length < pageSize) break
      from = events.at(-1)!.position
    }
    if (id === whole) {
      traceId = trace.beginning?.traceId ?? ''
      since = trace.beginning?.from ?? 0
    }
    goesOn ||= !trace.isOver
    if (unfinished) await send(trace.open(), batchSize)
  }
  await send([], 1)
  if (metrics && !counted.isEmpty)
    note(await client.metrics(counted, { since, at: last, own: { [reeve.run]: whole } }, signal))
  return { run: whole, traceId, spans: sent, rejected, unfinished: goesOn }
}
