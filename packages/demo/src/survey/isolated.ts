/**
 * Surveys that no folder can hold up: each runs in a thread of its own, which is ended where it takes too long.
 * Owns: the bounds in time and memory, giving up one file, starting again without it. Does not own: what is examined
 * (the surveys), bounds in bytes (`walk.ts`).
 *
 * I1: the thread of the caller is never busy with a folder, so that signals, deadlines and the heartbeat of the run
 * work whatever a file makes a survey do. I2: a file that takes longer than its time is given up and named in the
 * coverage; a folder that takes longer than its time makes the survey fail, and says so.
 */
import { Worker } from 'node:worker_threads'
import type { SurveyArea, SurveyFindings } from './findings.ts'
import { surveys, type Surveys } from './surveys.ts'
import type { ThreadTask, ThreadMessage } from './thread.ts'
import type { SurveyOptions } from './walk.ts'

/** How long a survey may take, in milliseconds. */
export interface SurveyTimes {
  /** For one file. Default 15 seconds. */
  readonly file: number
  /** For the whole folder, files that were given up included. Default 2 minutes. */
  readonly folder: number
}

const defaults: SurveyTimes = { file: 15_000, folder: 120_000 }
const heapMb = 1024

/**
 * The survey of an area, in a thread. Rejects when it failed, took too long, or the signal is aborted; nothing of it
 * goes on then.
 */
export async function surveyIsolated(
  area: SurveyArea,
  folder: string,
  { signal, now, limits, without: given = [] }: SurveyOptions = {},
  times: SurveyTimes = defaults,
): Promise<SurveyFindings> {
  const whole = AbortSignal.timeout(times.folder)
  const without = [...given]
  for (;;) {
    const end = await run(
      { area, folder, options: { now, limits, without } },
      times,
      signal === undefined ? whole : AbortSignal.any([signal, whole]),
    )
    signal?.throwIfAborted()
    if (end.type === 'found') return end.findings
    if (end.type === 'failed') throw new Error(end.message)
    if (whole.aborted || end.path === undefined || without.includes(end.path))
      throw new Error(
        `examining the folder took longer than ${Math.round(times.folder / 1000)} seconds and was given up`,
      )
    without.push(end.path)
  }
}

/** The thread was ended, while it was at this file. */
interface GivenUp {
  readonly type: 'given-up'
  readonly path: string | undefined
}

function run(
  task: ThreadTask,
  times: SurveyTimes,
  signal: AbortSignal,
): Promise<Exclude<ThreadMessage, { type: 'file' }> | GivenUp> {
  return new Promise((resolve) => {
    let path: string | undefined
    let timer: NodeJS.Timeout | undefined
    const thread = new Worker(new URL('./thread.ts', import.meta.url), {
      workerData: task,
      env: { ...process.env },
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    })
    const end = (with_: Parameters<typeof resolve>[0]): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      resolve(thread.terminate().then(() => with_))
    }
    const giveUp = (): void => end({ type: 'given-up', path })
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) return giveUp()
    thread.on('message', (message: ThreadMessage) => {
      if (message.type !== 'file') return end(message)
      path = message.path
      clearTimeout(timer)
      timer = setTimeout(giveUp, times.file)
    })
    // out of memory, most likely: the file it was at is the one to go on without
    thread.on('error', giveUp)
    thread.on('exit', giveUp)
  })
}

const areas = Object.keys(surveys) as readonly SurveyArea[]

/** All surveys, each in a thread of its own. */
export const isolatedSurveys = Object.fromEntries(
  areas.map((area) => [area, (folder: string, options: SurveyOptions) => surveyIsolated(area, folder, options)]),
) as Surveys
