/** `reeve otel`: exports runs as OpenTelemetry traces and metrics, by OTLP over HTTP. Reading changes no run (K9). */
import { exportRun } from '@reeve/otel'
import { present, visibleLine } from '@reeve/core'
import type { RunFilter, Runtime } from '@reeve/runtime'
import type { CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import { withRuns } from '../store.ts'
import { momentOf } from './runs.ts'

/** The options of the command, as they are typed. */
export interface OtelOptions {
  readonly since?: string
  readonly url?: string
  readonly header?: readonly string[]
  readonly service?: string
  readonly content?: boolean
  readonly steps?: boolean
  readonly unfinished?: boolean
  readonly metrics?: boolean
}

/** Exports the named runs, or those that begun since a moment, and says what was sent of each. */
export function otel(context: CommandContext, ids: readonly string[], given: OtelOptions): Promise<Exit> {
  const { terminal, options, cwd, interrupted } = context
  const { since, url, header, service, content = false, steps = false, unfinished = false, metrics = true } = given
  if ((ids.length === 0) === (since === undefined))
    throw usage(
      'name the runs, or give --since',
      `For example: ${reeve} otel run_5fz2…, or ${reeve} otel --since 2026-11-01`,
    )
  const headers = header === undefined ? undefined : Object.fromEntries(header.map(headerOf))
  const from = since === undefined ? undefined : momentOf(since, '--since')
  return withRuns(options, cwd, async (runtime) => {
    for await (const run of from === undefined ? ids : startedSince(runtime, from)) {
      if (interrupted.aborted) return exits.interrupted
      const exported = await exportRun(runtime, run, {
        ...(url === undefined ? {} : { url }),
        ...(headers === undefined ? {} : { headers }),
        ...(service === undefined ? {} : { serviceName: service }),
        content,
        steps,
        unfinished,
        metrics,
        signal: interrupted,
      })
      const goesOn = exported.unfinished ? ', the run goes on' : ''
      terminal.line(`${run}  trace ${exported.traceId}  ${exported.spans} spans${goesOn}`)
      for (const { rejected, message } of exported.rejected)
        terminal.note(`  the receiver did not take ${rejected}: ${visibleLine(message)}`)
    }
    return exits.done
  })
}

/** `name=value`; the value is not printed: it may be a secret. */
function headerOf(text: string): readonly [string, string] {
  const cut = text.indexOf('=')
  if (cut < 1) throw usage('--header is not name=value', 'For example: --header authorization="Basic …"')
  return [text.slice(0, cut).trim(), text.slice(cut + 1)]
}

const pageSize = 100

/** Runs, the newest first, page by page. */
async function* startedSince(runtime: Runtime, since: number): AsyncGenerator<string> {
  for (let after: RunFilter['after']; ;) {
    const page = await runtime.runs({ since, limit: pageSize, ...present({ after }) })
    for (const { run } of page) yield run
    after = page.at(-1)
    if (page.length < pageSize) return
  }
}
