/**
 * The thread in which one survey runs: says which file it has turned to, then what it found. Owns: that what leaves it
 * is bounded. Started by `isolated.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { SurveyArea, SurveyFindings } from './findings.ts'
import { surveys } from './surveys.ts'
import type { SurveyOptions } from './walk.ts'

/** What a thread is given. */
export interface ThreadTask {
  readonly area: SurveyArea
  readonly folder: string
  readonly options: Pick<SurveyOptions, 'now' | 'limits' | 'without'>
}

/** What it says. */
export type ThreadMessage =
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'found'; readonly findings: SurveyFindings }
  | { readonly type: 'failed'; readonly message: string }

const longestText = 2_000
const longestFindings = 16 * 1024 * 1024

/** Very long texts of the folder are cut, with their length. */
function bounded(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length <= longestText ? value : `${value.slice(0, longestText)}… (${value.length} characters)`
  if (Array.isArray(value)) return value.map(bounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bounded(each)]))
}

const say = (message: ThreadMessage): void => parentPort?.postMessage(message)

async function survey({ area, folder, options }: ThreadTask): Promise<ThreadMessage> {
  const findings = bounded(
    await surveys[area](folder, { ...options, onFile: (path) => say({ type: 'file', path }) }),
  ) as SurveyFindings
  const size = JSON.stringify(findings).length
  if (size > longestFindings)
    throw new Error(`it found ${size} characters, more than the ${longestFindings} that a report can take`)
  return { type: 'found', findings }
}

survey(workerData as ThreadTask).then(say, (thrown: unknown) =>
  say({ type: 'failed', message: bounded(thrown instanceof Error ? thrown.message : String(thrown)) as string }),
)
