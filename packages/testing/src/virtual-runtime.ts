/**
 * A runtime on virtual time: the clock advances from timer to timer while no other work goes on, until no run can
 * continue without an action from outside.
 *
 * Owns: detecting that no work goes on, advancing the clock, the list of waiting runs. Does not own: the clock
 * (manual-clock.ts), the people outside (the test).
 * Holds: embedded engine only. It never sleeps in real time, but yields to the event loop. An effect that takes virtual
 * time awaits `clock.sleep(ms, io.signal)`; others run in real time.
 */
import { present } from '@reeve/core'
import type { ActivationId, RunId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import type { OpenOperation, RunView, ViewStatus } from '@reeve/journal'
import { createRuntime, type Question, type Runtime, type RuntimeOptions } from '@reeve/runtime'
import { manualClock, type ManualClock } from './manual-clock.ts'

/** The options of a virtual runtime. `clock` default: a new one. `strict` default true. */
export interface VirtualRuntimeOptions extends Omit<RuntimeOptions, 'engine' | 'clock' | 'drive'> {
  readonly clock?: ManualClock
}

/** The limits of virtual time. */
export interface RunUntilIdleOptions {
  /**
   * Whether time passes the deadlines of open questions, which then end unanswered. Default false: it stops before the
   * first of them.
   */
  readonly pastDeadlines?: boolean
  /** The maximum of virtual time, in milliseconds. Default 30 days. */
  readonly withinMs?: number
}

/** An activation that waits and has no waiting activation below it. */
export interface WaitingActivation {
  readonly activation: ActivationId
  readonly agent: string
  /** What it waits for. Empty: a message. */
  readonly open: readonly OpenOperation[]
}

/** A run that has not ended, and what it waits for. */
export interface WaitingRun {
  readonly run: RunId
  readonly agent: string
  readonly status: ViewStatus
  /** The open questions to people. */
  readonly questions: readonly Question[]
  /** The run ahead of it in its session. */
  readonly queued?: RunView['queued']
  readonly activations: readonly WaitingActivation[]
}

/** The state when no run can continue. */
export interface Idle {
  /** The virtual time. Milliseconds since 1970. */
  readonly now: number
  /** False: `withinMs` was reached before. */
  readonly isIdle: boolean
  /** Oldest first. Empty: every run has ended. */
  readonly waiting: readonly WaitingRun[]
}

/** A runtime with its virtual clock. */
export interface VirtualRuntime extends AsyncDisposable {
  readonly runtime: Runtime
  readonly clock: ManualClock
  /** Advances all runs and the clock until no run can continue without an answer, a message or a command. */
  readonly runUntilIdle: (options?: RunUntilIdleOptions) => Promise<Idle>
}

/** Creates a virtual runtime; default: on a store in memory. Throws as `createRuntime` does. */
export async function virtualRuntime(options: VirtualRuntimeOptions = {}): Promise<VirtualRuntime> {
  const {
    agents,
    earlier,
    onMissingVersion,
    channels,
    mayDecide,
    memory,
    trust,
    versions,
    defaultStatus,
    onUnknownVersion,
    ...embedded
  } = options
  const { store = ':memory:', clock = manualClock(), ...rest } = embedded
  const forRuntime = {
    agents,
    earlier,
    onMissingVersion,
    channels,
    mayDecide,
    memory,
    trust,
    versions,
    defaultStatus,
    onUnknownVersion,
  }
  const engine = createEmbeddedEngine({
    strict: true,
    durability: 'relaxed',
    onWarning: () => {},
    ...rest,
    file: store,
    clock,
  })
  const runtime = await createRuntime({
    engine,
    clock,
    ...(Object.fromEntries(
      Object.entries(forRuntime).filter(([, value]) => value !== undefined),
    ) as Partial<RuntimeOptions>),
  })
  return {
    runtime,
    clock,
    runUntilIdle: (until) => runUntilIdle({ engine, runtime, clock }, until),
    [Symbol.asyncDispose]: () => runtime.close(),
  }
}

interface VirtualParts {
  readonly engine: EmbeddedEngine
  readonly runtime: Runtime
  readonly clock: ManualClock
}

/** 30 days. */
const longestMs = 30 * 24 * 3_600_000

async function runUntilIdle(
  parts: VirtualParts,
  { pastDeadlines = false, withinMs = longestMs }: RunUntilIdleOptions = {},
): Promise<Idle> {
  const { clock } = parts
  const end = clock.now() + withinMs
  for (;;) {
    await rests(parts)
    const next = nextMove(parts, pastDeadlines)
    if (next === undefined || next > end)
      return { now: clock.now(), isIdle: next === undefined, waiting: await waitingRuns(parts) }
    clock.advanceToNext()
  }
}

/**
 * How many turns of the event loop in which nothing happens are enough: one for what was posted, one for what that
 * wakes, and as many for what they write.
 */
const quietTurns = 4

/** Waits until no work goes on without the clock. */
async function rests({ engine, clock }: VirtualParts): Promise<void> {
  const { driver } = engine
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (driver.busy || driver.effects.working > clock.sleeping) quiet = -1
  }
}

/** The next time to advance the clock to; undefined if that has no effect. */
function nextMove({ engine, clock }: VirtualParts, pastDeadlines: boolean): number | undefined {
  const { next } = clock
  if (next === undefined) return undefined
  const { effects } = engine.driver
  const due = engine.store.reader.due(Number.MAX_SAFE_INTEGER)
  const deadlines = due.filter(({ kind }) => kind !== 'timer').map(({ until }) => until)
  if (!pastDeadlines && next > Math.min(...deadlines)) return undefined
  const moves = effects.size > 0 || due.some((each) => (each.kind === 'timer' ? !isLook(each.address) : pastDeadlines))
  return moves ? next : undefined
}

/**
 * A run that waits for its session checks repeatedly whether the first run is still active; these checks have no effect
 * while it is.
 */
const isLook = (address: string): boolean => /(?:^|\/)(?:session|thread|memory)(?:#\d+)?\/wait(?:#\d+)?$/.test(address)

async function waitingRuns({ engine, runtime }: VirtualParts): Promise<readonly WaitingRun[]> {
  // a timer that was called off stands in the journal as open
  const due = new Set(engine.store.reader.due(Number.MAX_SAFE_INTEGER).map(({ act, address }) => `${act} ${address}`))
  const open = (await runtime.runs({ limit: Number.MAX_SAFE_INTEGER })).filter(({ endedAt }) => endedAt === undefined)
  return Promise.all(
    open.toReversed().map(async ({ run, agent }) => {
      const { status, queued, activations } = await runtime.handle(run).view()
      const waits = activations.filter(
        (each) => each.outcome === undefined && each.open.every(({ kind }) => kind !== 'worker'),
      )
      return {
        run,
        agent,
        status,
        questions: await runtime.questions({ run }),
        ...present({ queued }),
        activations: waits.map(({ activation, agent: who, open: left }) => ({
          activation,
          agent: who,
          open: left.filter(({ kind, address }) => kind !== 'timer' || due.has(`${activation} ${address}`)),
        })),
      }
    }),
  )
}
