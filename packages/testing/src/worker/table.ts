/**
 * Table: what every worker honours, as Markdown.
 *
 * Owns: the table of results. A claim without a result is shown as such, never left out.
 */
import { workerClaims, type WorkerClaim, type WorkerResult } from './claims.ts'

/** `yes`: shown. `no`: not claimed. `–`: no case has ended for it, so nothing is known. */
type Cell = 'yes' | 'partly' | 'no' | '–'

/**
 * The results as a table in Markdown: a row for each claim, a column for each worker. Below it, a line for each limit: what
 * a worker does not claim, and why.
 */
export function workerTable(results: readonly WorkerResult[]): string {
  const workers = [...new Set(results.map(({ worker }) => worker))]
  const claims = Object.keys(workerClaims) as WorkerClaim[]
  const cell = (worker: string, claim: WorkerClaim): Cell => {
    const own = results.filter((each) => each.worker === worker && each.claim === claim)
    if (own.length === 0) return '–'
    if (own.every(({ honoured }) => honoured)) return 'yes'
    return own.some(({ honoured }) => honoured) ? 'partly' : 'no'
  }
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const limits = results.flatMap((each) =>
    each.honoured ? [] : [`- ${each.worker}, ${each.claim} (${each.case}): ${each.limit ?? 'not claimed'}`],
  )
  return [
    row(['claim', ...workers]),
    row(['---', ...workers.map(() => '---')]),
    ...claims.map((claim) => row([claim, ...workers.map((worker) => cell(worker, claim))])),
    ...(limits.length === 0 ? [] : ['', ...new Set(limits)]),
  ].join('\n')
}
