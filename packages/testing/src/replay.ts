/**
 * Replay of a journal without an engine: the code must ask for every recorded operation in the same order, append no
 * event and call no effect (K10, K3).
 *
 * Owns: a host that only compares. Does not own: the invariants of a journal by itself (journal-check.ts).
 */
import {
  canonical,
  childActivation,
  parentOf,
  runOf,
  type ActivationId,
  type Failure,
  type Json,
  type Outcome,
  type Usage,
} from '@reeve/core'
import { isCommand, RunIndex, type Caller, type JournalEvent, type Recorded } from '@reeve/journal'
import {
  Activation,
  OriginDeeds,
  versionToBegin,
  type Engine,
  type ActivationHost,
  type Operation,
  type OriginDeed,
  type Orchestration,
  type Owner,
  type Registry,
} from '@reeve/engine'
import type { RunId } from '@reeve/core'
import { checkJournal } from './journal-check.ts'
import { watched } from './watch.ts'

/** The result of a replay. */
export interface ReplayReport {
  readonly activations: number
  readonly events: number
  /** The differences from the journal, one sentence each. */
  readonly problems: readonly string[]
}

const drained = (): Promise<void> => new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))

/** Replays every activation of a finished run and compares it with its journal. */
export async function verifyReplay(
  engine: Pick<Engine, 'read'>,
  registry: Registry,
  run: RunId,
): Promise<ReplayReport> {
  return verifyJournal(await engine.read(run), registry)
}

/** The same for a given journal. */
export async function verifyJournal(events: readonly Recorded[], registry: Registry): Promise<ReplayReport> {
  await registry.load?.()
  const problems = checkJournal(events)
  const logs = Map.groupBy(events, ({ activation }) => activation)
  const index = new RunIndex()
  for (const recorded of events) index.take(recorded)
  const caller = events[0]?.event.type === 'activation.started' ? (events[0].event.caller ?? {}) : {}
  for (const [id, log] of logs) {
    for (const segment of segments(log))
      problems.push(
        ...(
          await replay(
            id,
            segment,
            index.activations.get(id)?.path ?? [],
            registry,
            caller,
            originOf(runOf(id), events),
          )
        ).map((problem) => `${id}: ${problem}`),
      )
  }
  return { activations: logs.size, events: events.length, problems }
}

/** What the origin of a run has done, if it was forked. */
function originOf(run: RunId, events: readonly Recorded[]): OriginDeeds | undefined {
  const forked = events.find((each) => each.run === run && each.event.type === 'run.forked')?.event
  if (forked?.type !== 'run.forked') return undefined
  const attempts = new Map(
    events.flatMap(({ activation, event }) =>
      event.type === 'activation.started' ? [[activation, event.earlier?.attempts] as const] : [],
    ),
  )
  return new OriginDeeds(forked, (id) => attempts.get(id))
}

/** A log, cut before each restart: every segment is replayed with what the journal held when it ended. */
function segments(log: readonly Recorded[]): (readonly Recorded[])[] {
  const cuts = log.flatMap(({ event }, i) => (event.type === 'activation.restarted' ? [i] : []))
  return [...cuts.map((cut) => log.slice(0, cut + 1)), log]
}

class ListeningHost implements ActivationHost {
  readonly strict = true
  readonly problems: string[] = []
  ended: { outcome: Outcome; usage: Usage } | undefined
  restarted: JournalEvent | undefined
  readonly #registry: Registry
  readonly #caller: Caller
  readonly #at: number
  readonly #origin: OriginDeeds | undefined

  constructor(registry: Registry, caller: Caller, at: number, origin: OriginDeeds | undefined) {
    this.#origin = origin
    this.#registry = registry
    this.#caller = caller
    this.#at = at
  }

  #not(what: string): void {
    this.problems.push(what)
  }
  now(): number {
    return this.#at
  }
  warn(code: string, message: string): void {
    this.#not(`${code}: ${message}`)
  }
  orchestration({ birth, version }: Owner): Orchestration | undefined {
    const found = this.#registry.find(birth.agent, version) ?? this.#registry.find(birth.agent)
    if (found === undefined) this.#not(`the agent "${birth.agent}" is not registered`)
    return found
  }
  versionOf({ birth, version }: Owner, worker: string, given?: string): string | undefined {
    return versionToBegin(this.#registry, [{ agent: birth.agent, version }], worker, given)
  }
  callerOf(): Caller {
    return this.#caller
  }
  append(activation: Owner, event: JournalEvent): string {
    if (event.type === 'activation.restarted' && this.restarted === undefined) {
      this.restarted = event
      activation.discarded = true
    } else this.#not(`appends ${JSON.stringify(event)}`)
    return JSON.stringify(event)
  }
  ready(): void {}
  useUp(): void {}
  letOut(op: Operation): void {
    // one that the record leaves open is stopped before the end, and would not have been released
    if (!this.open.has(op.address)) this.#not(`lets out ${op.address}`)
  }
  /** Addresses that the journal opens and does not end. */
  open: ReadonlySet<string> = new Set()
  inFlight(): boolean {
    return true
  }
  abort(): void {}
  startWorker(op: Operation): void {
    if (!this.open.has(op.address)) this.#not(`starts the worker ${op.address}`)
  }
  stopWorker(): void {}
  holdsEnd({ id, cancelKnown }: Owner): boolean {
    return cancelKnown && parentOf(id) === undefined
  }
  openQuestion(op: Operation): void {
    this.#not(`asks ${op.address}`)
  }
  closeQuestion(): void {}
  doneElsewhere(op: Operation): ReturnType<OriginDeeds['effect']> {
    return this.#origin?.effect(op)
  }
  isDoneBelow(leader: Owner, address: string, after: ActivationId | undefined): boolean {
    return this.#origin?.isBelow(leader.id, address, after) === true
  }
  deedsOfOrigin(owner: Owner, scope: string): readonly OriginDeed[] {
    return this.#origin?.within(owner.id, scope) ?? []
  }
  openDoubt(op: Operation): void {
    if (!this.open.has(op.address)) this.#not(`doubts ${op.address}`)
  }
  openDivergence(_activation: Owner, address: string, unclaimed: readonly string[]): void {
    this.#not(`asks for the new effect ${address} while ${unclaimed.join(', ')} is not asked for`)
  }
  send(): void {
    this.#not('sends a message')
  }
  reserve(): Failure | undefined {
    this.#not('reserves')
    return undefined
  }
  settle(): void {}
  pauses(): Promise<never> {
    throw new Error('a replay reads no pauses')
  }
  earlierRounds(): Promise<never> {
    throw new Error('a replay reads no earlier rounds')
  }
  doneBy(): Promise<never> {
    throw new Error('a replay reads no effects')
  }
  readValue(): Promise<Json> {
    throw new Error('a replay reads no value')
  }
  valueKeys(): Promise<readonly string[]> {
    throw new Error('a replay reads no keys')
  }
  updateValue(): Promise<Json> {
    throw new Error('a replay writes no value')
  }
  settled(_activation: Owner, outcome: Outcome, usage: Usage): void {
    this.ended = { outcome, usage }
  }
}

/** Replays one segment: all of the log before it is folded, the rest is what it must do again. */
async function replay(
  id: ActivationId,
  log: readonly Recorded[],
  path: readonly string[],
  registry: Registry,
  caller: Caller,
  origin: OriginDeeds | undefined,
): Promise<string[]> {
  const first = log[0]!.event
  if (first.type !== 'activation.started') return ['does not begin with its beginning']
  const last = log.at(-1)!.event
  const past = last.type === 'activation.restarted' ? log.slice(0, -1) : log
  const asked: string[] = []
  const host = new ListeningHost(
    watched(registry, { asks: (_activation, address) => asked.push(address) }),
    caller,
    log.at(-1)!.at,
    origin,
  )
  host.open = openAddresses(past)
  const { agent, version, input, copied, earlier } = first
  const activation = new Activation(host, {
    id,
    agent,
    version,
    input,
    path,
    accounts: [],
    at: log[0]!.at,
    copied,
    earlier,
  })
  for (const { seq, at, event } of past) activation.restore(seq, at, event)
  while (activation.advance()) {
    await drained()
    if (activation.awaitsForeign) host.problems.push('awaits something that is not of its context')
  }
  // a fork asks anew what was open, so that it stands later in the log than the code comes to it
  const order = copied === undefined ? compareOrder(id, asked, past) : []
  return [...host.problems, ...compare(activation, host, last, past), ...order]
}

function compare(activation: Activation, host: ListeningHost, last: JournalEvent, past: readonly Recorded[]): string[] {
  const problems: string[] = []
  const same = (what: string, mine: unknown, recorded: unknown): void => {
    const [a, b] = [canonical((mine ?? null) as Json), canonical((recorded ?? null) as Json)]
    if (a !== b) problems.push(`${what} is ${a}, recorded is ${b}`)
  }
  if (last.type === 'activation.restarted') {
    same(
      'the state handed over',
      host.restarted?.type === 'activation.restarted' ? host.restarted.state : undefined,
      last.state,
    )
  } else if (last.type === 'activation.settled') {
    same('the outcome', activation.outcome, last.outcome)
    // what stopped workers used stands only in the last word
    if (last.open === undefined) same('the usage', host.ended?.usage ?? [], last.usage ?? [])
  } else problems.push('has not ended')
  const moved = past.some(({ event }) => event.type === 'agent.moved' || event.type === 'replay.resolved')
  if (!moved && activation.unclaimed.length > 0) problems.push(`never asks for ${activation.unclaimed.join(', ')}`)
  return problems
}

function openAddresses(past: readonly Recorded[]): Set<string> {
  const open = new Set<string>()
  for (const { event } of past) {
    if (isCommand(event)) open.add(event.address)
    else if (event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled')
      open.delete(event.address)
  }
  return open
}

/** Compares the operations that the code asks for with the recorded ones of this segment, in order. */
function compareOrder(id: ActivationId, asked: readonly string[], past: readonly Recorded[]): string[] {
  const begins = past.findLastIndex(({ event }) => event.type === 'activation.restarted')
  if (past.some(({ event }) => event.type === 'agent.moved' || event.type === 'replay.resolved')) return []
  const recorded = past.slice(begins + 1).flatMap(({ event }) => {
    if (!isCommand(event) || (event.op !== 'step' && event.op !== 'worker' && event.op !== 'ask')) return []
    return [event.op === 'worker' ? childActivation(id, event.address, event.apart) : event.address]
  })
  // what the context asks for by itself: steps of values, pauses and earlier work, deadlines of compensations
  const own = recorded.filter(
    (address) =>
      !/(^|\/)(value|stream\.[^/]+)\.(get:|get-all|update:)|(^|\/)(pauses|work\.done|work\.earlier)(#\d+)?$|^!cancel!\//.test(
        decodeURIComponent(address),
      ),
  )
  const at = own.findIndex((address, i) => asked[i] !== address)
  return at < 0 && asked.length === own.length
    ? []
    : [`asks for ${asked[Math.max(at, 0)] ?? 'nothing'} where ${own[Math.max(at, 0)] ?? 'nothing'} is recorded`]
}
