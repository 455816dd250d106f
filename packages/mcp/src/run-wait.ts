/**
 * Waiting for a run: until it has ended, asks people something new, or the time is over; telling its progress meanwhile.
 *
 * Owns: when the wait is over, which events are told and in which words. Does not own: the run, how progress is sent.
 * Holds: the end of a wait changes nothing about the run.
 */
import { cut, describeOutcome, systemClock, visibleLine } from '@reeve/core'
import type { JournalEvent, Recorded, Run } from '@reeve/runtime'

/** How long to wait, and for whom. */
export interface RunWaitOptions {
  readonly ms: number
  /** What happened before this is not told, and ends no wait. Milliseconds since 1970. */
  readonly since: number
  /** The caller is gone: the wait ends. */
  readonly signal: AbortSignal
  /** Told of what happens meanwhile, at most a few times a second. `position` grows. */
  readonly tell?: (position: number, line: string) => Promise<void>
}

/** Lines come at least so far apart. Milliseconds. */
const lineEveryMs = 200
const longestLine = 300

/** Waits; at once over without time. */
export async function waitForRun(run: Run, { ms, since, signal, tell }: RunWaitOptions): Promise<void> {
  if (ms <= 0) return
  const agents = new Map<string, string>()
  let told = -Infinity
  for await (const recorded of run.events({ signal: AbortSignal.any([signal, AbortSignal.timeout(ms)]) })) {
    const { activation, at, event, position } = recorded
    if (event.type === 'activation.started') agents.set(activation, event.agent)
    if (at < since) continue
    const line = tell === undefined ? undefined : lineOf(recorded, agents.get(activation) ?? 'an agent')
    if (line !== undefined && systemClock.now() - told >= lineEveryMs) {
      told = systemClock.now()
      await tell?.(position, cut(visibleLine(line), longestLine))
    }
    if (asksPeople.has(event.type)) return
  }
}

/** After these the run may need somebody outside. */
const asksPeople: ReadonlySet<JournalEvent['type']> = new Set([
  'approval.requested',
  'interrupt.raised',
  'effect.in-doubt',
  'replay.diverged',
  'run.paused',
  'run.taken-over',
])

function lineOf({ event }: Recorded, agent: string): string | undefined {
  switch (event.type) {
    case 'activation.started':
      return `${event.agent} started`
    case 'activation.settled':
      return `${agent} ${describeOutcome(event.outcome)}`
    case 'tool.called':
      return `${agent} calls ${event.tool}`
    case 'model.requested':
      return `${agent} asks ${event.model}`
    case 'approval.requested':
      return `${agent} asks for an approval of ${event.tool}`
    case 'interrupt.raised':
      return `${agent} asks a question`
    case 'text.said':
      return `${agent}: ${event.text}`
    default:
      return undefined
  }
}
