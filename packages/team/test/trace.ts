/**
 * A team on a clock that moves only when nothing else can: what happened in which second, as lines, in the order of the
 * journal. Embedded engine only.
 */
import { afterEach } from 'vitest'
import { agent, sleep, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { team, type Subtask, type TeamOptions } from '../src/index.ts'
import { createRuntime, type Run, type RunOutcome, type Runtime } from '@reeve/runtime'
import { manualClock, manualStart, type ManualClock } from '@reeve/testing'

/** A moment in seconds since the run began, and what happened. */
export type Line = readonly [second: number, what: string]

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

/** A run on a manual clock. */
export interface Staged {
  readonly runtime: Runtime
  readonly run: Run
  readonly clock: ManualClock
  /** Waits until nothing moves any more without the clock or somebody outside. */
  rests(): Promise<void>
  /** Moves the clock from timer to timer until the run has ended, and at most to this second. */
  until(second?: number): Promise<void>
  /** Moves the clock until it has ended. */
  end(): Promise<{
    readonly outcome: RunOutcome
    readonly lines: readonly Line[]
    readonly events: readonly Recorded[]
  }>
}

/** Begins a run of a team. */
export async function staged(root: Agent, input: Json = 'Go', file = ':memory:'): Promise<Staged> {
  const clock = manualClock()
  const engine = createEmbeddedEngine({
    file,
    clock,
    strict: true,
    durability: 'relaxed',
    onWarning: () => {},
  })
  const runtime = await createRuntime({ engine, clock, agents: [root] })
  open.push(runtime)
  const run = (await runtime.start(root, input, { runId: 'traced' })) as unknown as Run
  let outcome: RunOutcome | undefined
  run.outcome().then(
    (ended) => (outcome = ended),
    () => undefined,
  )
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const rests = async (): Promise<void> => {
    for (let quiet = 0; quiet < 4 && outcome === undefined; quiet++) {
      await turn()
      if (engine.driver.busy) quiet = -1
    }
  }
  const until = async (second = Infinity): Promise<void> => {
    for (;;) {
      await rests()
      const next = clock.next
      if (outcome !== undefined || next === undefined || next - manualStart > second * 1_000) break
      clock.advanceToNext()
    }
    if (outcome === undefined && second !== Infinity)
      clock.advance(Math.max(0, manualStart + second * 1_000 - clock.now()))
    await rests()
  }
  return {
    runtime,
    run,
    clock,
    rests,
    until,
    async end() {
      await until()
      const events: Recorded[] = []
      for await (const recorded of run.events()) events.push(recorded)
      return { outcome: await run.outcome(), lines: trace(events), events }
    },
  }
}

/** Plays a team to its end. */
export const played = async (root: Agent, input?: Json): Promise<Awaited<ReturnType<Staged['end']>>> =>
  (await staged(root, input)).end()

/** What happened to a team, in the order of its journal. */
const trace = (events: readonly Recorded[]): readonly Line[] => {
  const asked = new Map(
    events.flatMap(({ event }) =>
      event.type === 'approval.requested' && event.task !== undefined ? [[event.id, event.task]] : [],
    ),
  )
  return events.flatMap(({ at, activation, event }) => {
    const isEnd = event.type === 'activation.settled' && !activation.includes('>')
    const what = isEnd ? `the run ${event.outcome.status}` : lineOf(event, asked)
    return what === undefined ? [] : [[(at - manualStart) / 1_000, what] as const]
  })
}

/** `asked`: tasks by the approvals about them. */
function lineOf(event: JournalEvent, asked: ReadonlyMap<string, string>): string | undefined {
  switch (event.type) {
    case 'plan.created':
      return `plan of ${event.tasks.length}: ${event.route}, ${event.strategy}, ${event.concurrency} at once, ends at ${event.maxFailures}`
    case 'plan.aborted':
      return `aborted ${event.failed}/${event.total}: ${event.reason}`
    case 'teammate.joined':
      return `${event.member} joins for ${event.task}`
    case 'task.started':
      return event.attempt === 1 ? `${event.task} begins` : `${event.task} begins again (${event.attempt})`
    case 'task.retried':
      return `${event.task} is to be tried again after ${event.delayMs} ms`
    case 'escalation.raised':
      return event.subject === 'task'
        ? `${event.name}: ${event.hits.map(({ code }) => code).join(', ')}, ${event.asks ? 'asks' : 'noted'}`
        : undefined
    case 'approval.requested':
      return event.task === undefined
        ? undefined
        : `a human is asked about ${event.kind === 'result' ? 'the result of ' : ''}${event.task}`
    case 'approval.resolved': {
      const about = asked.get(event.id)
      return about === undefined ? undefined : `${about} is ${event.resolution}`
    }
    case 'task.reopened':
      return `${event.task} is to be done again: ${event.feedback}`
    case 'task.unblocked':
      return `${event.task} is unblocked`
    case 'task.settled': {
      const { task, status, attempts, failure, reason, missing } = event
      const why = failure === undefined ? (reason === undefined ? '' : `: ${reason}`) : `: ${failure.code}`
      return `${task} ${status}${attempts > 1 ? ` after ${attempts}` : ''}${why}${missing === undefined ? '' : ` without ${missing.join(', ')}`}`
    }
    case 'recruit.requested':
      return `${event.by ?? 'nobody'} asks for a ${event.role}`
    case 'recruit.decided':
      return event.admitted ? `${event.member} is admitted` : `nobody is admitted: ${event.reason}`
    case 'topic.published':
      return `${event.task} publishes ${event.topic} ${event.seq}`
    case 'topic.refused':
      return `${event.task} may not publish ${event.topic}: ${event.reason}`
    case 'mail.accepted':
      return `mail ${event.seq} from ${event.from} to ${event.to}`
    case 'mail.delivered':
      return `${event.member} reads ${event.seqs.join(', ')}`
    case 'results.synthesised':
      return `answer of ${event.used.join(' ')}`
    default:
      return undefined
  }
}

/** How the members of a team work: by the first word of their brief, which is the description of their task. */
export type Doings = Readonly<Record<string, number | ((ctx: Context, brief: string) => Promise<Json>)>>

/**
 * Somebody who does what its task's description says: so many seconds of sleep, or code. Its output is the description,
 * in small letters.
 */
export const worker = (doings: Doings, name = 'worker'): Agent =>
  agent({
    name,
    description: 'Does what the task says.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const task = brief.split('\n')[0]!
      const doing = Object.hasOwn(doings, task) ? doings[task]! : 0
      if (typeof doing === 'function') return doing(ctx, brief)
      await sleep(ctx, doing * 1_000)
      return task.toLowerCase()
    },
  })

/** A task whose description is its id. */
export const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })

/** A team of such workers, where nothing is tried again. */
export const crew = (
  subtasks: readonly Subtask[],
  doings: Doings = {},
  options: Partial<TeamOptions<string>> = {},
): Agent =>
  team({
    name: 'crew',
    roles: { generalist: worker(doings) },
    planner: { subtasks },
    retry: { attempts: 1 },
    ...options,
  })
