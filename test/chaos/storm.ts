/**
 * One storm: sets everything up, keeps runs coming while it is tortured, waits for all of them to end, has it audited.
 * Owns: the order of things.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json, RunId } from '@reeve/core'
import { Dice } from '../crash/kill/random.ts'
import { World } from '../crash/kill/world.ts'
import { engineAt, type SharedEngine } from '../servers/engines.ts'
import { freePort } from '../servers/place.ts'
import { freshPostgres, stoppablePostgres, type StoppablePostgres } from '../servers/postgres.ts'
import { Audit, type Problems, type Started } from './audit.ts'
import { Downtime } from './downtime.ts'
import { groundOf, type Ground } from './ground.ts'
import { Hostile } from './hostile.ts'
import { Hosts } from './hosts.ts'
import { Operator } from './operator.ts'
import { Recorder } from './recorder.ts'
import { clerkMs, References } from './references.ts'
import { Road } from './road.ts'
import { Torture, type Blow, type Rhythm } from './torture.ts'
import { Workers } from './workers.ts'
import { StallWatch } from '../servers/stall-watch.ts'

export interface StormOptions {
  readonly engine: SharedEngine
  readonly seconds: number
  readonly seed: number
  readonly runs: number
  readonly workers: number
  /** Seconds within which everything has ended after the last blow. */
  readonly patience: number
  readonly rhythm: Rhythm
  /** Each worker is on a host of its own. */
  readonly hosts: boolean
  /** So many hostile clients are on a server over the store all the time. 0: there is no server. */
  readonly hostile: number
  readonly keep: boolean
}

const usual: Rhythm = { worker: 2, node: 12, freeze: 6, database: 25, cut: 5, partition: 4 }

/** `worker=2,node=12`: what is not named is as usual. */
export function rhythmOf(text: string): Rhythm {
  const named = text.split(',').flatMap((each) => {
    const [blow, seconds] = each.split('=')
    return blow !== undefined && blow in usual ? [[blow, Number(seconds)] as const] : []
  })
  return { ...usual, ...(Object.fromEntries(named) as Partial<Record<Blow, number>>) }
}

const promises: Readonly<Record<keyof Problems, string>> = {
  outcome: 'no wrong outcome: every run ended as it does where nothing goes wrong, by the decisions that counted',
  lost: 'every run ended, no process fell over, everything came back',
  journal: 'journals gapless (seq and position), every step recorded once, one end each',
  effect: 'effects at least once, always under the key of their step',
  once: 'every once effect happened exactly once, in-doubt ones answered truthfully',
  epoch: 'no epoch held by two or written by another, none fell, nothing done again that was recorded',
  operator: 'every accepted decision is the one in the journal',
  left: 'nothing left: questions, inboxes, runs, calls and workflows of the server that moves',
  hostile: 'hostile clients changed nothing, met no error that was the server’s, and left it answering',
}

/** What runs are, by turns. A victim is cancelled at any moment. */
const kinds = ['leader', 'team', 'chief', 'traveller', 'clerk', 'swarm', 'victim', 'diarist'] as const

export class Storm {
  readonly #o: StormOptions
  readonly #dir = mkdtempSync(join(tmpdir(), 'reeve-chaos-'))
  readonly #problems: Problems = {
    outcome: [],
    lost: [],
    journal: [],
    effect: [],
    once: [],
    epoch: [],
    operator: [],
    left: [],
    hostile: [],
  }
  readonly #dice: Dice
  readonly #world: World
  readonly #references = new References()
  readonly #runs = new Map<string, Started>()
  readonly #open = new Set<string>()
  readonly #ends: (() => Promise<unknown>)[] = []
  readonly #begin = performance.now()
  #stalls: StallWatch | undefined

  constructor(options: StormOptions) {
    this.#o = options
    this.#dice = new Dice(options.seed)
    this.#world = new World(options.seed)
    // Children start faster when what they import is compiled already.
    process.env['NODE_COMPILE_CACHE'] ??= join(this.#dir, 'cache')
  }

  async run(): Promise<{
    readonly figures: readonly string[]
    readonly promises: readonly (readonly [string, readonly string[]])[]
  }> {
    const { engine, seconds, seed, rhythm, workers: count } = this.#o
    const socket = join(this.#dir, 'world.sock')
    await this.#world.listen(socket)
    this.#ends.push(() => Promise.resolve(this.#world.close()))
    const hosts = this.#o.hosts ? new Hosts(count) : undefined
    this.#ends.push(() => Promise.resolve(hosts?.close()))
    const [ground, database] = await Promise.all([groundOf[engine](hosts), this.#database()])
    this.#ends.push(() => ground.close())
    const name = `chaos${process.pid}-`
    const store = `${database.url}?schema=${database.schema}`
    const engines = [0, 1, 2].map((node) => engineAt(ground.place(node, store, 3, '127.0.0.1'), () => undefined))
    // Whoever writes first makes the tables.
    await engines[0]!.stream('reg_chaos').update('begun', () => true)
    const recorder = new Recorder(database.url, database.schema, name)
    this.#ends.push(() => recorder.close())
    await recorder.install()
    this.#stalls = StallWatch.of(engines[0]!)
    const operator = new Operator({ engines, world: this.#world, recorder, dice: new Dice(seed + 100), clerkMs })
    this.#ends.push(() => operator.close())
    const world = this.#world
    const log = join(this.#dir, 'workers.log')
    const seen = hosts === undefined ? store : await this.#fromHosts(store, hosts.addressOf('store'))
    const place = (slot: number): string =>
      JSON.stringify(ground.place(slot, seen, 6, hosts?.addressOf('mover') ?? '127.0.0.1'))
    const on = (slot: number): readonly string[] => hosts?.on(slot) ?? []
    const downtime = new Downtime()
    const workers = new Workers({
      count,
      socket,
      options: place,
      on,
      name,
      log,
      world,
      dice: new Dice(seed + 200),
      downtime,
    })
    this.#ends.push(() => workers.close())
    while (workers.able.length < count) await sleep(20)
    const clients = this.#o.hostile
    const hostile =
      clients === 0
        ? undefined
        : new Hostile({
            count: clients,
            place: JSON.stringify(ground.place(0, store, 6, '127.0.0.1')),
            dice: new Dice(seed + 400),
            runs: () => this.#runs.size,
            questions: () => operator.asked,
          })
    this.#ends.push(async () => hostile?.close())
    const until = Date.now() + seconds * 1_000
    const victims = { world, workers, ground, postgres: database.postgres, recorder, hosts, downtime }
    const torture = new Torture(victims, rhythm, seed + 300, until)
    await this.#torment(operator, until)
    await torture.over()
    operator.calm()
    await this.#untilEnded(operator, recorder, ground)
    await hostile?.end()
    this.#problems.hostile.push(...(hostile?.problems ?? []))
    await workers.close()
    this.#problems.lost.push(...workers.problems, ...torture.problems)
    const isExcused = ({ pid, at }: { pid: number; at: number }): boolean =>
      world.frozen.has(pid) || Math.abs(at - torture.lastNodeKill) < 20_000
    const audit = new Audit({
      recorder,
      world,
      operator,
      runs: this.#runs,
      problems: this.#problems,
      isExcused,
      downtime,
    })
    await audit.run()
    const lines = Object.entries(this.#problems).map(([key, list]) => [promises[key as keyof Problems], list] as const)
    const met = Object.entries(hostile?.statuses ?? {}).map(([status, count]) => `${count} × ${status}`)
    const figures = this.#figures(torture, operator, audit, workers)
    return {
      figures: hostile === undefined ? figures : [...figures, `${clients} hostile clients: ${met.join(', ')}`],
      promises: lines,
    }
  }

  /** One's own, if it is to be killed. */
  async #database(): Promise<{
    readonly url: string
    readonly schema: string
    readonly postgres: StoppablePostgres | undefined
  }> {
    if (this.#o.rhythm.database > 0) {
      const postgres = await stoppablePostgres()
      this.#ends.push(() => postgres.dispose())
      return { url: postgres.url, schema: 'reeve', postgres }
    }
    const { server: url, schema, dispose } = await freshPostgres()
    if (!this.#o.keep) this.#ends.push(dispose)
    return { url, schema, postgres: undefined }
  }

  /** The address of the store as hosts see it: a road leads from there to where it listens. */
  async #fromHosts(store: string, address: string): Promise<string> {
    const url = new URL(store)
    const port = await freePort()
    const road = await Road.to({ host: url.hostname, port: Number(url.port) }, port)
    this.#ends.push(() => Promise.resolve(road.close()))
    url.host = `${address}:${port}`
    return url.href
  }

  /** Keeps so many runs open, answers what they ask, and pauses some. */
  async #torment(operator: Operator, until: number): Promise<void> {
    const dice = this.#dice
    while (Date.now() < until) {
      for (let k = this.#open.size; k < this.#o.runs && Date.now() < until; k++) await this.#start(operator)
      await operator.look()
      if (dice.next() < 0.06 && this.#open.size > 0)
        operator.pause([...this.#open][dice.between(0, this.#open.size - 1)]!)
      await this.#noteEnds(operator)
      await this.#watchStalls()
      await sleep(60)
    }
  }

  /** While the database is down nobody knows. */
  async #watchStalls(): Promise<void> {
    await this.#stalls?.look().catch(() => undefined)
  }

  async #start(operator: Operator): Promise<void> {
    const n = this.#runs.size
    const kind = kinds[n % kinds.length]!
    const run = `c${n}`
    const agent = kind === 'victim' ? 'leader' : kind
    const input: Json = agent === 'clerk' ? { withinMs: clerkMs } : null
    this.#runs.set(run, { agent, expected: (words) => this.#references.of(agent, words) })
    await operator.start(run, agent, input)
    this.#open.add(run)
    if (kind === 'victim') operator.cancelLater(run)
  }

  async #noteEnds(operator: Operator): Promise<void> {
    if (this.#open.size === 0) return
    const open = await operator.ask((engine) =>
      engine.runs({ status: ['running', 'waiting', 'pausing', 'paused', 'stuck'] }),
    )
    const ids = new Set<string>(open.map(({ run }) => run))
    for (const run of this.#open) if (!ids.has(run)) this.#open.delete(run)
  }

  async #untilEnded(operator: Operator, recorder: Recorder, ground: Ground): Promise<void> {
    const until = Date.now() + this.#o.patience * 1_000
    while (this.#open.size > 0 && Date.now() < until) {
      await operator.look()
      await this.#noteEnds(operator)
      await this.#watchStalls()
      await sleep(60)
    }
    await operator.idle()
    for (const run of this.#open) this.#problems.lost.push(await this.#describe(operator, recorder, run as RunId))
    for (;;) {
      const left = await ground.left()
      if (left?.length === 0) return
      await sleep(200)
      if (Date.now() < until) continue
      return void this.#problems.left.push(`${left?.length ?? 'unknown'}: ${left?.slice(0, 12).join(', ') ?? ''}`)
    }
  }

  /** Where a run is that has not ended: what the store says of it, and its last entries. */
  async #describe(operator: Operator, recorder: Recorder, run: RunId): Promise<string> {
    const summary = await operator.ask((engine) => engine.summary(run))
    const open = await recorder.ask(
      'SELECT id, epoch, owner, parked, control, stuck, losses FROM $s.run WHERE id = $1',
      [run],
    )
    const asked = await recorder.ask('SELECT act, address, key, until FROM $s.question WHERE run = $1', [run])
    const mail = await recorder.ask('SELECT act, key, taken, body FROM $s.inbox WHERE run = $1 ORDER BY position', [
      run,
    ])
    const last = await recorder.ask(
      `SELECT e.act, e.seq, left(e.body, 160) AS body, c.epoch, c.who, c.at FROM $s.entry e JOIN $s.chaos_entry c ON c.act = e.act AND c.seq = e.seq
       WHERE e.run = $1 ORDER BY e.position DESC LIMIT 12`,
      [run],
    )
    const lines = [...open, ...asked, ...mail, ...last].map((row) => JSON.stringify(row))
    return `${run} (${summary?.agent}) is ${summary?.status ?? 'unknown'} ${this.#o.patience} s after the last blow\n    ${lines.join('\n    ')}`
  }

  #figures(torture: Torture, operator: Operator, audit: Audit, workers: Workers): readonly string[] {
    const { worker, node, freeze, database, cut, partition } = torture.blows
    const { entries, steps, claims, moved, stalls } = audit.figures
    const { done, refused, frozen } = this.#world
    const repeated = done.length - new Set(done.map(({ key }) => key)).size
    const pids = new Set(done.map(({ pid }) => pid)).size
    const seconds = ((performance.now() - this.#begin) / 1_000).toFixed(0)
    return [
      `kill -9 of ${worker} workers, ${node} nodes, ${database} databases · ${freeze} freezes of ${frozen.size} workers, ${cut} connections cut, ${partition} partitions · ${seconds} s`,
      `${this.#runs.size} runs, ${entries} entries, ${steps} steps · ${operator.words.size} decisions, ${operator.doubts} once in doubt, ${operator.pauses} pauses, ${operator.cancels} cancels`,
      `${done.length} effects, ${repeated} of them repeats of unrecorded ones, ${refused} refused by their epoch · in ${pids} of ${workers.pids.size} processes · ${claims} claims, ${moved} runs moved between processes`,
      ...this.#stallLines(),
      ...(this.#o.keep ? torture.events : []),
      ...(stalls.length === 0 ? ['no stall of a second with a worker and the database up'] : []),
      ...stalls
        .slice(0, this.#o.keep ? 12 : 1)
        .map(
          (stall) =>
            `longest stall with a worker and the database up ${stall.seconds.toFixed(1)} s (${stall.all.toFixed(1)} s in all): ${stall.where}`,
        ),
    ]
  }

  #stallLines(): readonly string[] {
    const { lines = [], mostLateMs = 0, mostFlapping = 0 } = this.#stalls ?? {}
    return [
      `event loops up to ${mostLateMs} ms late, up to ${mostFlapping} runs lost twice or more in a row at a time`,
      ...(lines.length === 0
        ? ['no run without progress for longer than the delay of its holder explains']
        : [`${lines.length} stalls told by the stall detector:`, ...lines.slice(0, 20).map((line) => `  ${line}`)]),
    ]
  }

  /** Ends everything. What was written is kept if something is wrong, or if that was asked for. */
  async dispose(isFine: boolean): Promise<void> {
    for (const end of this.#ends.toReversed()) await end()
    if (isFine && !this.#o.keep) rmSync(this.#dir, { recursive: true, force: true })
    else console.log(`kept: ${this.#dir}`)
  }
}
