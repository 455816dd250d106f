/**
 * One round: a fresh store, some runs, processes on it that are killed and frozen until all runs have ended; then the
 * audit.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ActivationId, RunId } from '@reeve/core'
import type { Durability } from '@reeve/sqlite/store'
import { audit } from './audit.ts'
import { Operator, patiently } from './operator.ts'
import type { Dice } from './random.ts'
import { partsOfKey, plain, runOfKey, type World } from './world.ts'
import { sqliteOf } from '../../../packages/engine/test/sqlite-of.ts'
import { StallWatch } from '../../servers/stall-watch.ts'

/** Everything about the way of the torture. */
export interface Plan {
  readonly runs: number
  readonly processes: number
  /** Undefined: the default. */
  readonly leaseMs: number | undefined
  /** For so long some tools block their process's event loop; longer than the lease. Milliseconds. */
  readonly blockMs: number
  /** The share of processes that stand still for longer than their lease, before they are killed. */
  readonly freezes: number
  readonly durability: Durability
  /** For this long a round is tortured; then its processes may live. */
  readonly tortureMs: number
  /** A run that has not ended this long after the last kill of its round is lost. */
  readonly patienceMs: number
}
/** What has happened so far, over all rounds. */
export interface Figures {
  kills: number
  killsAtStart: number
  killsIdle: number
  freezes: number
  rounds: number
  runs: number
  entries: number
  steps: number
  done: number
  repeated: number
  doubts: number
  decided: number
  refused: number
  refusedRecorded: number
  refusedAlive: number
  mostLateMs: number
  mostFlapping: number
  /** What the stall detector has told, a line each. */
  stalls: string[]
}
/** What is wrong, by the promise that it breaks. */
export type Problems = Record<'lost' | 'journal' | 'once' | 'epoch' | 'outcome' | 'operator', string[]>

const childFile = fileURLToPath(new URL('./child.ts', import.meta.url))
/** No process takes longer to start. Milliseconds. */
const startMs = 60_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What each agent's run ends with, and which `once` steps it takes, when nothing goes wrong. */
export type Expected = ReadonlyMap<string, { readonly outcome: string; readonly once: readonly string[] }>

export interface RoundOptions {
  readonly number: number
  readonly file: string
  readonly socket: string
  readonly world: World
  readonly dice: Dice
  readonly plan: Plan
  readonly expected: Expected
  readonly figures: Figures
  readonly problems: Problems
  /** Takes one kill from the budget; false if it is used up. */
  readonly mayKill: () => boolean
}

export class Round {
  readonly #o: RoundOptions
  readonly #operator: Operator
  readonly #agents = new Map<string, string>()
  readonly #open = new Set<string>()
  readonly #ups = new Map<number, () => void>()
  readonly #leave: () => void
  readonly #stalls: StallWatch
  /** The first process has the store open. */
  readonly #begun = Promise.withResolvers<void>()
  #over = false
  #calm = Infinity

  constructor(options: RoundOptions) {
    this.#o = options
    this.#operator = new Operator(options.file, options.world, options.plan.durability)
    this.#stalls = new StallWatch(() => patiently(() => this.#operator.engine.status(1_000)))
    const { reader } = this.#operator.engine.store
    const recorded = (key: string): boolean | undefined => {
      if (!this.#agents.has(runOfKey(key))) return undefined
      const { activation, address } = partsOfKey(key)
      for (const { event } of reader.activation(activation as ActivationId))
        if (event.type === 'step.settled' && event.address === address) return true
      return false
    }
    this.#leave = options.world.join({ recorded, onUp: (pid) => this.#ups.get(pid)?.() })
  }

  async run(): Promise<void> {
    const { figures, plan } = this.#o
    for (let k = 0; k < plan.runs; k++) {
      const agent = (['leader', 'team', 'traveller'] as const)[k % 3]!
      const run = `r${this.#o.number}x${k}`
      this.#agents.set(run, agent)
      this.#open.add(run)
      await this.#operator.start(run, agent)
    }
    const slots = Array.from({ length: plan.processes }, () => this.#slot())
    await this.#untilEnded()
    this.#over = true
    await Promise.all(slots)
    this.#leave()
    await this.#operator.engine.close()
    this.#audit()
    figures.stalls.push(...this.#stalls.lines)
    figures.mostLateMs = Math.max(figures.mostLateMs, this.#stalls.mostLateMs)
    figures.mostFlapping = Math.max(figures.mostFlapping, this.#stalls.mostFlapping)
    figures.rounds++
  }

  async #untilEnded(): Promise<void> {
    const { plan, problems } = this.#o
    const { engine } = this.#operator
    // Where the machine is busy, processes take longer to start than a round is tortured.
    await Promise.race([this.#begun.promise, pause(startMs)])
    this.#calm = Date.now() + plan.tortureMs
    const until = this.#calm + plan.patienceMs
    while (this.#open.size > 0 && Date.now() < until) {
      await this.#operator.look()
      await this.#stalls.look()
      for (const run of this.#open)
        if ((await patiently(() => engine.summary(run as RunId)))?.endedAt !== undefined) this.#open.delete(run)
      await pause(8)
    }
    for (const run of this.#open) {
      const summary = await patiently(() => engine.summary(run as RunId))
      const last = (await engine.read(run as RunId))
        .slice(-4)
        .map(({ activation, event }) => `${activation} ${JSON.stringify(event).slice(0, 160)}`)
      problems.lost.push(
        `${run} (${summary?.agent}) is ${summary?.status ?? 'unknown'} ${plan.patienceMs} ms after the last kill; row ${JSON.stringify(engine.store.reader.run(run as RunId))}\n    ${last.join('\n    ')}`,
      )
    }
  }

  async #slot(): Promise<void> {
    const { dice, plan, file, socket, figures } = this.#o
    // Here every process dies young, whatever its runs do: none of them is to blame.
    const { leaseMs, durability } = plan
    const options = { leaseMs, durability, busyMs: 1_000, pollMs: 10, lossLimit: 1_000 }
    while (!this.#over) {
      const child = spawn(
        process.execPath,
        ['--no-warnings', childFile, file, socket, JSON.stringify(options), String(plan.blockMs)],
        {
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      )
      const gone = once(child, 'exit')
      const up = new Promise<void>((resolve) =>
        this.#ups.set(child.pid!, () => {
          resolve()
          this.#begun.resolve()
        }),
      )
      const fate = dice.next()
      if (fate < 0.08 && this.#mayKill()) {
        await pause(dice.between(5, 200))
        figures.killsAtStart++
      } else {
        await Promise.race([up, gone])
        if (fate > 1 - plan.freezes) await this.#freeze(child)
        // Some live for longer than a tool blocks them.
        await this.#live(dice.between(15, 150) + (dice.next() < 0.3 ? plan.blockMs : 0))
        const held = this.#holds(child.pid!)
        if (this.#mayKill()) figures[held ? 'kills' : 'killsIdle']++
        else await this.#live(Infinity)
      }
      child.kill('SIGKILL')
      const [code] = (await gone) as [number | null]
      if (code !== null) this.#o.problems.lost.push(`a process ended by itself with code ${code}`)
      this.#ups.delete(child.pid!)
    }
  }

  /** Whether runs are this process's own at this moment. */
  #holds(pid: number): boolean {
    const { db } = sqliteOf(this.#operator.engine)
    return (
      db.prepare('SELECT 1 FROM run JOIN process ON process.id = run.owner WHERE process.pid = ? LIMIT 1').get(pid) !==
      undefined
    )
  }

  #mayKill(): boolean {
    return !this.#over && Date.now() < this.#calm && this.#o.mayKill()
  }

  async #freeze(child: ChildProcess): Promise<void> {
    const { dice, plan, figures } = this.#o
    // One that stands still with nothing in its hands proves nothing.
    for (const until = Date.now() + 600; !this.#over && Date.now() < until && !this.#holds(child.pid!);) await pause(2)
    await this.#live(dice.between(0, 40))
    if (this.#over || Date.now() > this.#calm) return
    this.#o.world.frozen.add(child.pid!)
    child.kill('SIGSTOP')
    await pause((plan.leaseMs ?? 3_000) + dice.between(50, 400))
    child.kill('SIGCONT')
    figures.freezes++
  }

  /** Waits, but not beyond the end of the round. */
  async #live(ms: number): Promise<void> {
    for (const until = Date.now() + ms; !this.#over && Date.now() < until;) await pause(10)
  }

  #audit(): void {
    const { figures, problems, world, file, expected } = this.#o
    const found = audit(file, [...this.#agents.keys()], world.done)
    problems.journal.push(...found.problems)
    problems.operator.push(...this.#operator.problems)
    problems.epoch.push(...world.violations.splice(0))
    for (const [run, agent] of this.#agents) {
      const want = expected.get(agent)!
      const got = plain(found.outcomes.get(run) ?? 'none')
      if (got !== want.outcome) problems.outcome.push(`${run} (${agent}): ${got}\n    instead of ${want.outcome}`)
      const did = [...world.once]
        .filter(([key]) => runOfKey(key) === run)
        .flatMap(([, calls]) => calls.map((call) => call.what))
      if (did.sort().join() !== want.once.join())
        problems.once.push(`${run} (${agent}): ${did.join()} instead of ${want.once.join()}`)
    }
    const keys = new Set<string>()
    for (const { key } of world.done) if (this.#agents.has(runOfKey(key))) keys.add(key)
    const calls = world.done.reduce((n, { key }) => (this.#agents.has(runOfKey(key)) ? n + 1 : n), 0)
    figures.runs += this.#agents.size
    figures.entries += found.entries
    figures.steps += found.settled
    figures.done += calls
    figures.repeated += calls - keys.size
    figures.doubts += this.#operator.doubts
    figures.decided += this.#operator.decided
    figures.refused = world.refused
    figures.refusedRecorded = world.refusedRecorded
    figures.refusedAlive = world.refusedAlive
  }
}
