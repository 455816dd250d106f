/**
 * Simulation: runs a scenario once, and then once for every point at which its process can die; each time another
 * process continues on the same store. Outcome and facts must be equal, and no recorded step may run again (K5, K6).
 *
 * Owns: counting points, crashing, recovering, comparing. Does not own: the scenario (`Scenario`).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonical, type Json, type Usage } from '@reeve/core'
import { isCommand, type Recorded } from '@reeve/journal'
import { isLookStep, type Engine, type Registry, type RunEnd, type StartRun } from '@reeve/engine'
import { createEmbeddedEngine, type CrashPoint, type EmbeddedEngine } from '@reeve/sqlite'
import { bury } from './dead-process.ts'
import { checkJournal } from './journal-check.ts'
import { manualClock, type ManualClock } from './manual-clock.ts'
import { verifyJournal } from './replay.ts'
import { watched, type Watcher } from './watch.ts'

/** A scenario: its agents, its start, and the actions of people outside. */
export interface Scenario {
  readonly name: string
  readonly registry: Registry
  readonly start: StartRun
  /**
   * Plays the people outside. Called repeatedly until the run has ended, in every process: it reads the run and acts as
   * a person would. Its actions must be idempotent.
   */
  readonly outside?: (engine: Engine, clock: ManualClock) => Promise<void>
}

/** At which points the process dies, and whether it dies again while it recovers. */
export interface SimulateOptions {
  /** Only these points. Default: all. */
  readonly points?: readonly CrashPoint[]
  /** Dies a second time, at this many points after the first. Default: once only. */
  readonly again?: number
}

/** The result of a simulation. */
export interface SimulationReport {
  /** How often the process died, by where. */
  readonly crashes: Readonly<Record<CrashPoint, number>>
  readonly points: number
  readonly end: RunEnd
  /** The differences from the run without a crash, and the problems of a journal. */
  readonly differences: readonly string[]
  /** Keys of steps that ran although their end was recorded. Empty if none. */
  readonly repeated: readonly string[]
  /**
   * How often the code of each agent ran, over all processes and checks of their journals. Effects outside of steps
   * happened as often.
   */
  readonly ran: Readonly<Record<string, number>>
}

const allPoints: readonly CrashPoint[] = ['append', 'commit.before', 'commit.after', 'release']

/** A run of the scenario to its end. */
export interface Played {
  readonly end: RunEnd
  readonly events: readonly Recorded[]
  readonly repeated: readonly string[]
  /** Points passed, in order, up to the death or the end. */
  readonly passed: readonly CrashPoint[]
}

/** Runs a scenario, and then once for every point at which its process can die. */
export async function simulate(scenario: Scenario, options: SimulateOptions = {}): Promise<SimulationReport> {
  await scenario.registry.load?.()
  const points = options.points ?? allPoints
  const ran = new Map<string, number>()
  const begins = (agent: string): void => void ran.set(agent, (ran.get(agent) ?? 0) + 1)
  const seen = watched(scenario.registry, { begins })
  const reference = await playFor(scenario, [], begins)
  const differences = (await verifyJournal(reference.events, seen)).problems.map(
    (problem) => `without a crash: ${problem}`,
  )
  const crashes: Record<CrashPoint, number> = { append: 0, 'commit.before': 0, 'commit.after': 0, release: 0 }
  const repeated: string[] = [...reference.repeated]
  for (let at = 0; ; at++) {
    const played = await playFor(scenario, options.again === undefined ? [at] : [at, options.again], begins, points)
    const died = played.passed[at]
    if (died === undefined) break
    crashes[died]++
    const where = `dead at point ${at} (${died})`
    differences.push(...checkJournal(played.events).map((problem) => `${where}: ${problem}`))
    differences.push(...(await verifyJournal(played.events, seen)).problems.map((problem) => `${where}: ${problem}`))
    const doubts = toldOfDoubts(played.events)
    differences.push(
      ...compare(facts(reference, doubts), facts(played, doubts)).map((difference) => `${where}: ${difference}`),
    )
    repeated.push(...played.repeated.map((key) => `${where}: ${key}`))
  }
  const count = Object.values(crashes).reduce((sum, n) => sum + n, 0)
  return { crashes, points: count, end: reference.end, differences, repeated, ran: Object.fromEntries(ran) }
}

/** Runs to the end; the n-th process dies at the n-th of these points. */
async function playFor(
  scenario: Scenario,
  deaths: readonly number[],
  begins: (agent: string) => void,
  points: readonly CrashPoint[] = allPoints,
): Promise<Played> {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-simulate-'))
  const file = join(dir, 'reeve.db')
  const clock = manualClock()
  const repeated: string[] = []
  let passed: readonly CrashPoint[] = []
  try {
    for (let life = 0; ; life++) {
      const recorded = life === 0 ? new Set<string>() : recordedSteps(await readOnce(file, scenario))
      const runs = (key: string): unknown => recorded.has(key) && repeated.push(key)
      const lived = await live(scenario, file, clock, deaths[life], points, { begins, runs })
      if (life === 0) passed = lived.passed
      if (lived.end !== undefined) return { end: lived.end, events: lived.events, repeated, passed }
      bury(file)
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Drives a run that another process left in this file, to its end. */
export async function resume(
  scenario: Scenario,
  file: string,
  clock: ManualClock = manualClock(),
): Promise<Omit<Played, 'passed'>> {
  const recorded = recordedSteps(await readOnce(file, scenario))
  const repeated: string[] = []
  const { end, events } = await live(scenario, file, clock, undefined, allPoints, {
    runs: (key) => recorded.has(key) && repeated.push(key),
  })
  return { end: end!, events, repeated }
}

interface Life {
  readonly passed: readonly CrashPoint[]
  readonly end: RunEnd | undefined
  readonly events: readonly Recorded[]
}

/** One process: from opening the store to its death, or to the end of the run. */
async function live(
  scenario: Scenario,
  file: string,
  clock: ManualClock,
  death: number | undefined,
  points: readonly CrashPoint[],
  watcher: Watcher,
): Promise<Life> {
  const passed: CrashPoint[] = []
  let dead = false
  const crash = (point: CrashPoint): boolean => {
    if (dead || !points.includes(point)) return dead
    dead = passed.length === death
    passed.push(point)
    return dead
  }
  const engine: EmbeddedEngine = createEmbeddedEngine({
    file,
    clock,
    strict: true,
    durability: 'relaxed',
    pollMs: 2,
    crash,
    onWarning: () => {},
  })
  let end: RunEnd | undefined
  let problem: unknown
  engine.drive(watched(scenario.registry, watcher))
  // a run that an earlier release began may differ from how this version would begin it
  const begun = async (): Promise<unknown> => (await engine.summary(scenario.start.run)) ?? engine.start(scenario.start)
  begun()
    .then(
      () => engine.outcome(scenario.start.run).then((ended) => (end = ended)),
      (thrown: unknown) => (problem = thrown),
    )
    .catch(() => undefined)
  const until = Date.now() + 10_000
  while (!dead && end === undefined) {
    if (problem !== undefined) throw problem as Error
    if (Date.now() > until)
      throw new Error(
        `${scenario.name}: no end in sight after point ${passed.length}${timerText(clock)}: ${JSON.stringify(await engine.summary(scenario.start.run))}`,
      )
    await new Promise((resolve) => setImmediate(resolve))
    if (!dead && scenario.outside !== undefined)
      await Promise.race([scenario.outside(engine, clock), dying(() => dead)])
  }
  const events = end === undefined ? [] : await engine.read(scenario.start.run)
  await engine.close({ graceMs: 0 })
  return { passed, end, events }
}

/** A retry's pause, a sleep or a deadline waits on the clock of the scenario, which stands until it is moved. */
const timerText = (clock: ManualClock): string =>
  clock.next === undefined
    ? ''
    : `. A timer is waited for, due in ${clock.next - clock.now()} ms of the manual clock: move it with outside: (_, clock) => clock.advance(…), or let a model that fails be tried once (retry: { attempts: 1 })`

/** Calls to a dead process are never answered. */
async function dying(dead: () => boolean): Promise<void> {
  for (let turn = 0; turn < 50 && !dead(); turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function readOnce(file: string, scenario: Scenario): Promise<readonly Recorded[]> {
  const engine = createEmbeddedEngine({ file, durability: 'relaxed' })
  const events = await engine.read(scenario.start.run)
  await engine.close({ graceMs: 0 })
  return events
}

function recordedSteps(events: readonly Recorded[]): Set<string> {
  return new Set(
    events.flatMap(({ activation, event }) =>
      event.type === 'step.settled' ? [`${activation}:${event.address}`] : [],
    ),
  )
}

/**
 * Messages to leaders about doubts, which only a crash causes, and the timers of those leaders, because working time
 * stands still meanwhile.
 */
interface DoubtWords {
  readonly ids: ReadonlySet<string>
  readonly leaders: ReadonlySet<string>
}

function toldOfDoubts(events: readonly Recorded[]): DoubtWords {
  const sent = new Set(events.flatMap(({ event }) => (event.type === 'message.sent' ? [event.id as string] : [])))
  const words = events.flatMap(({ activation, event }) =>
    event.type === 'message.received' && event.from !== undefined && !sent.has(event.id)
      ? [{ activation, id: event.id }]
      : [],
  )
  return { ids: new Set(words.map(({ id }) => id)), leaders: new Set(words.map(({ activation }) => activation)) }
}

/**
 * The facts that a crash must not change: outcomes and requested operations. The order of parallel branches, and notes,
 * may differ.
 */
function facts({ end, events }: Played, doubts: DoubtWords): ReadonlyMap<string, string> {
  const found = new Map<string, string>([['end', canonical({ ...end, usage: inOrder(end.usage) } as unknown as Json)]])
  const timers = new Set<string>()
  for (const { activation, event } of events) {
    if (event.type === 'timer.set' && doubts.leaders.has(activation)) timers.add(`${activation} ${event.address}`)
    if ('address' in event && timers.has(`${activation} ${event.address}`)) continue
    if (event.type === 'message.received' && doubts.ids.has(event.id)) continue
    if (isCommand(event)) {
      const { type, op, address } = event
      found.set(
        `${activation} asks ${address}`,
        event.op === 'fact' || event.op === 'send' ? canonical(event as unknown as Json) : `${type} ${op}`,
      )
    } else if (event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled') {
      const { address, outcome } = event
      found.set(
        `${activation} end of ${address}`,
        canonical(isLookStep(address) ? untimed(outcome) : (outcome as unknown as Json)),
      )
    } else if (event.type === 'activation.settled')
      found.set(`${activation} ends`, canonical(event.outcome as unknown as Json))
    else if (event.type === 'message.received') found.set(`${activation} receives ${event.id}`, canonical(event.body))
    else if (event.type === 'message.refused') found.set(`${activation} is refused ${event.id}`, event.reason)
  }
  return found
}

/** What is told of earlier work has its moments, which a crash moves. */
const untimed = (told: unknown): Json =>
  JSON.parse(JSON.stringify(told, (name, value: unknown) => (name === 'at' ? undefined : value))) as Json

/**
 * Usage is a sum: its rows come in the order in which those worked who used something. Without the calls of which it is
 * not known what they used: those that were under way at a death are among them.
 */
const inOrder = (usage: Usage): Usage =>
  usage
    .map((row) => ({
      ...row,
      calls: row.calls - row.unknown,
      unknown: 0,
      unpriced: Math.max(0, row.unpriced - row.unknown),
    }))
    .filter(({ calls }) => calls > 0)
    .toSorted((a, b) => (canonical(a) < canonical(b) ? -1 : 1))

function compare(want: ReadonlyMap<string, string>, have: ReadonlyMap<string, string>): string[] {
  const differences: string[] = []
  for (const [what, value] of want)
    if (have.get(what) !== value) differences.push(`${what}: ${have.get(what) ?? 'missing'} instead of ${value}`)
  for (const [what, value] of have) if (!want.has(what)) differences.push(`${what}: ${value}, which is new`)
  return differences
}
