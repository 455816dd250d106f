/**
 * Earlier attempts: what an activation knows of those that tried the same work before it, and which of their effects
 * are its own (decision 0009). A round of work that an approver has sent back is an attempt, too.
 *
 * Owns: reading from the logs of an attempt what the next one must know, finding the counterparts of an effect and of a
 * worker. Pure. Does not own: what counts as an attempt (the code that starts it says so), asking about a doubt
 * (origin.ts).
 * Holds: K6: a `once` effect of an earlier attempt is not made again without an operator's word; `idempotent` effects
 * have the key that they had in the first attempt that had them.
 *
 * A step of code is the same if it has the same address in the same agent. A call of a tool is the same if tool and
 * arguments are; of equal calls the first is the first, the second the second. Arguments are compared by a digest that
 * is not recorded where redaction is on: there every repeated `once` call of a tool asks.
 */
import {
  andThen,
  childActivation,
  derivedId,
  isObject,
  isToolAgent,
  parentOf,
  present,
  runOf,
  type ActivationId,
  type Json,
  type Now,
  type Outcome,
  type WithWorkDone,
  type WorkDone,
} from '@reeve/core'
import {
  isNotice,
  type DoneEffect,
  type DoneElsewhere,
  type Earlier,
  type EarlierAttempt,
  type EarlierEffect,
  type JournalEvent,
  type StepOpened,
  type ToolCalled,
  type WorkerStarted,
} from '@reeve/journal'
import type { FollowedWork, SentBack, StartWorkerOptions } from '../context.ts'
import { againPath, undoPath, type Operation } from './operation.ts'

/** An entry of a log, as far as it is looked at here. */
export interface Logged {
  readonly activation: ActivationId
  readonly at: number
  readonly event: JournalEvent
}

/** What a log says of one effect. */
interface Trace {
  readonly event: StepOpened
  at: number
  held: boolean
  outcome: Outcome | undefined
  madeBy: ActivationId | undefined
}

/**
 * What a worker is born with. `read`: everything in the logs of a worker and of those below it, in the order of each
 * log.
 */
export function earlierOf(
  op: Pick<Operation, 'earlier'>,
  options: Pick<StartWorkerOptions, 'after' | 'follows' | 'sentBack'>,
  read: (worker: ActivationId) => Iterable<Logged>,
): Earlier | undefined
export function earlierOf(
  op: Pick<Operation, 'earlier'>,
  options: Pick<StartWorkerOptions, 'after' | 'follows' | 'sentBack'>,
  read: (worker: ActivationId) => Now<Iterable<Logged>>,
): Now<Earlier | undefined>
export function earlierOf(
  { earlier }: Pick<Operation, 'earlier'>,
  { after, follows = [], sentBack }: Pick<StartWorkerOptions, 'after' | 'follows' | 'sentBack'>,
  read: (worker: ActivationId) => Now<Iterable<Logged>>,
): Now<Earlier | undefined> {
  if (after !== undefined) return andThen(read(after), (entries) => earlierIn(after, entries, sentBack))
  return follows.reduce<Now<Earlier | undefined>>(
    (before, work) =>
      andThen(before, (known) => andThen(read(work.activation), (entries) => merged(known, followedIn(work, entries)))),
    earlier,
  )
}

/** What was done in work that this may repeat. Code that was given other data has done something else. */
function followedIn({ activation, brief }: FollowedWork, entries: Iterable<Logged>): Earlier {
  const { attempts, effects, workers } = earlierIn(activation, entries)
  if (brief === 'equal') return { attempts, effects, workers }
  return {
    attempts: attempts.map((attempt) => ({ ...attempt, otherBrief: true as const })),
    effects: brief === 'other' ? effects.filter(({ tool }) => tool !== undefined) : effects,
    workers,
  }
}

/** Both, each of their parts once. */
function merged(one: Earlier | undefined, other: Earlier): Earlier {
  if (one === undefined) return other
  const once = <T>(parts: readonly T[], idOf: (part: T) => string): readonly T[] =>
    [...new Map(parts.toReversed().map((part) => [idOf(part), part])).values()].toReversed()
  return {
    attempts: once([...one.attempts, ...other.attempts], ({ activation }) => activation),
    effects: once([...one.effects, ...other.effects], keyOf),
    workers: once([...one.workers, ...other.workers], ({ leader, address }) => `${leader}>${address}`),
  }
}

/**
 * What the next attempt has to know of an attempt, and of everything that this one knew of those before it. Also what
 * the next round of an activation has to know of those before it: `attempt` is the activation itself.
 */
export function earlierIn(attempt: ActivationId, entries: Iterable<Logged>, sentBack?: SentBack): Earlier {
  const { logs, undone } = readLogs(attempt, entries)
  const before = logs.get(attempt)?.earlier
  const own = [...logs].filter(([, { agent }]) => !isNotice(agent))
  const effects = [
    ...(before?.effects ?? []),
    ...own.flatMap(([activation, { agent, traces }]) =>
      [...traces.values()].flatMap((trace) => told({ activation, agent }, trace, undone)),
    ),
  ]
  return {
    attempts: [
      ...(before?.attempts ?? []),
      { activation: attempt, agent: logs.get(attempt)?.agent ?? '', ...(sentBack && { sentBack: true }) },
    ],
    effects: sentBack === undefined ? effects : effects.map((effect) => marked(effect, sentBack)),
    workers: [
      ...(before?.workers ?? []),
      ...own.flatMap(([leader, { workers }]) =>
        workers.flatMap(({ address, agent, inputHash, purpose, apart = false }) => {
          if (purpose !== undefined) return []
          const id = childActivation(leader, address, apart)
          const attempts = logs.get(id)?.earlier?.attempts.map(({ activation }) => activation)
          return [
            {
              leader,
              address: id.slice(leader.length + 1),
              agent,
              ...(inputHash === undefined ? {} : { inputHash }),
              ...(attempts === undefined ? {} : { attempts }),
            },
          ]
        }),
      ),
    ],
  }
}

/** Only what this decision names is made once more: what one before it named and the work did not do is not. */
function marked({ repeat: _repeat, ...effect }: EarlierEffect, { repeat }: SentBack): EarlierEffect {
  return repeat.includes(effectIdOf(effect)) ? { ...effect, repeat: true } : effect
}

/** The id by which a decision names an effect. */
const effectIdOf = ({ activation, address }: Pick<EarlierEffect, 'activation' | 'address'>): string =>
  derivedId('eff', activation, address)

/** How much of an effect's arguments is shown, in characters of their JSON. */
const shownInput = 2_000

/**
 * The `once` effects that an attempt and those before it have made, or may have, for an approver: the oldest first.
 * `read`: as for `earlierOf`.
 */
export function doneEffects(
  attempt: ActivationId,
  read: (worker: ActivationId) => Now<Iterable<Logged>>,
): Now<readonly DoneEffect[]> {
  return andThen(read(attempt), (entries) => {
    const { logs, undone } = readLogs(attempt, entries)
    const own = [...logs].flatMap(([activation, { agent, traces, asked }]) =>
      isNotice(agent)
        ? []
        : [...traces.values()].flatMap((trace) =>
            told({ activation, agent }, trace, undone).flatMap((effect) => shown(effect, trace, asked)),
          ),
    )
    const before = logs.get(attempt)?.earlier?.attempts.findLast(({ activation }) => activation !== attempt)
    return before === undefined
      ? own
      : andThen(doneEffects(before.activation, read), (earlier) => [
          ...earlier.filter(({ id }) => !own.some((each) => each.id === id)),
          ...own,
        ])
  })
}

function shown(
  { activation, agent, address, effect, outcome, at, copy }: EarlierEffect,
  { event }: Trace,
  asked: ReadonlyMap<string, Json>,
): readonly DoneEffect[] {
  if (effect !== 'once' || copy === true) return []
  const call = event.type === 'tool.called' ? event : undefined
  const input = call?.input ?? (call?.callId === undefined ? undefined : asked.get(call.callId))
  return [
    {
      id: effectIdOf({ activation, address }),
      name: call?.tool ?? address,
      state: outcome === undefined ? 'in-doubt' : 'done',
      at,
      agent,
      activation,
      ...(input === undefined ? {} : { input: cutValue(input, shownInput) }),
    },
  ]
}

function cutValue(value: Json, most: number): Json {
  const text = JSON.stringify(value)
  return text.length <= most ? value : `${text.slice(0, most)} … (${text.length - most} more characters)`
}

/** How many deeds the end of a worker names. */
const mostDone = 20
/** How much of the result of each is kept, in characters of its JSON. */
const shownOutput = 2_000

/**
 * What an activation and those below it had done when it ended without an answer, for its leader: effects of tools that
 * do more than read, and `once` steps. `entries`: all of their logs.
 */
export function workDoneIn(activation: ActivationId, entries: Iterable<Logged>): WithWorkDone {
  const { logs, undone } = readLogs(activation, entries)
  const done = [...logs].flatMap(([, { agent, traces, asked }]) =>
    isNotice(agent) ? [] : [...traces.values()].flatMap((trace) => deedOf(agent, trace, undone, asked)),
  )
  return done.length > mostDone ? { done: done.slice(-mostDone), doneCount: done.length } : { done }
}

function deedOf(
  agent: string,
  { event, held, outcome }: Trace,
  undone: boolean,
  asked: ReadonlyMap<string, Json>,
): readonly WorkDone[] {
  const call = event.type === 'tool.called' ? event : undefined
  if (held || (call === undefined ? event.effect !== 'once' : event.effect === 'read')) return []
  // what may be done twice, and has no end, is done again by whoever repeats it
  const isOpen = outcome === undefined && event.effect === 'once' && event.refused === undefined
  if (!isOpen && (outcome?.status !== 'completed' || saysError(outcome.output))) return []
  const input = call?.input ?? (call?.callId === undefined ? undefined : asked.get(call.callId))
  return [
    {
      ...placeOf(agent, call?.tool ?? nameOf(event.address)),
      state: outcome === undefined || undone ? 'in-doubt' : 'done',
      ...(input === undefined ? {} : { input: cutValue(input, shownInput) }),
      ...(outcome?.status === 'completed' ? { result: cutValue(outcome.output, shownOutput) } : {}),
    },
  ]
}

/** Whose deed it is, and its name. A tool that is an activation of its own is one of its agent. */
function placeOf(agent: string, name: string): Pick<WorkDone, 'name' | 'agent'> {
  const at = agent.indexOf('.')
  return isToolAgent(agent) && at > 0
    ? { name: `${agent.slice(at + 1)}/${name}`, agent: agent.slice(0, at) }
    : { name, agent }
}

/** Whether a result says of itself that nothing came of it, as those of MCP servers do. */
const saysError = (output: Json): boolean =>
  isObject(output) &&
  (output['isError'] === true || (isObject(output['result']) && output['result']['isError'] === true))

/** The name of a step, from its address. */
const nameOf = (address: string): string => address.slice(address.lastIndexOf('/') + 1)

interface ReadLog {
  readonly agent: string
  readonly earlier?: Earlier
  readonly traces: Map<string, Trace>
  readonly workers: WorkerStarted[]
  /** The arguments of calls, by the model's id of the call: as approved, else as the model gave them. */
  readonly asked: Map<string, Json>
}

/** What the logs of an attempt and of those below it say. `undone`: something in it was undone. */
function readLogs(
  attempt: ActivationId,
  entries: Iterable<Logged>,
): { readonly logs: ReadonlyMap<ActivationId, ReadLog>; readonly undone: boolean } {
  const logs = new Map<ActivationId, ReadLog>()
  let undone = false
  for (const { activation, at, event } of entries) {
    if (activation !== attempt && !activation.startsWith(`${attempt}>`)) continue
    if (event.type === 'activation.started') {
      const { agent, earlier } = event
      const log = { agent, traces: new Map(), workers: [], asked: new Map() }
      logs.set(activation, earlier === undefined ? log : { ...log, earlier })
      continue
    }
    const log = logs.get(activation)
    if (log === undefined || !('address' in event)) continue
    // what undoes an attempt is of that attempt alone
    if (event.address.startsWith(undoPath)) undone ||= 'op' in event && event.op === 'step'
    else if ('op' in event && event.op === 'step')
      log.traces.set(event.address, { event, at, held: false, outcome: undefined, madeBy: undefined })
    else if (event.type === 'worker.started') log.workers.push(event)
    else if (event.type === 'approval.requested' && event.callId !== undefined) log.asked.set(event.callId, event.input)
    else note(log, at, event)
  }
  return { logs, undone }
}

function note({ traces, asked }: ReadLog, at: number, event: JournalEvent & { readonly address: string }): void {
  const trace = traces.get(event.address)
  if (trace === undefined) return
  if (event.type === 'effect.held' || event.type === 'effect.released') trace.held = event.type === 'effect.held'
  else if (event.type === 'step.settled') {
    trace.outcome = event.outcome
    trace.madeBy = event.madeBy
    if (event.outcome.status === 'completed') trace.at = at
    if (trace.event.type === 'model.requested') noteCalls(asked, event.outcome)
  }
}

function noteCalls(asked: Map<string, Json>, outcome: Outcome): void {
  const output = outcome.status === 'completed' ? outcome.output : null
  const calls = isObject(output) ? output['calls'] : undefined
  for (const call of Array.isArray(calls) ? (calls as readonly Json[]) : [])
    if (isObject(call) && typeof call['id'] === 'string') asked.set(call['id'], call['input'] ?? null)
}

/** `undone`: something in that attempt was undone, perhaps this. */
function told(
  by: EarlierAttempt,
  { event, at, held, outcome, madeBy }: Trace,
  undone: boolean,
): readonly EarlierEffect[] {
  const { address, effect } = event
  const call = event.type === 'tool.called' ? present({ tool: event.tool, inputHash: event.inputHash }) : {}
  if (effect === 'idempotent' && 'inputHash' in call) return [{ ...by, address, effect, ...call, at }]
  // a refused one was never let out, and may have been settled as made before
  const isRefused = event.refused !== undefined && outcome?.status !== 'completed'
  if (effect !== 'once' || isRefused || held) return []
  // its leave was refused before it did anything
  if (outcome?.status === 'failed' && outcome.failure.code === 'capability.refused') return []
  return [
    {
      ...by,
      address,
      effect,
      ...call,
      ...(outcome?.status === 'completed' && !undone ? { outcome } : {}),
      at,
      ...(madeBy === undefined ? {} : { copy: true }),
    },
  ]
}

/** What an effect has of its counterparts in earlier attempts. */
export interface Met {
  /** The idempotency key that the first of them had. */
  readonly key?: string
  /** It was made, and this is how it ended. */
  readonly made?: { readonly by: ActivationId; readonly outcome: Outcome }
  /** It was made or may have been, so it must not be made (again) without an operator's decision. */
  readonly done?: DoneElsewhere
}

const keyOf = ({ activation, address }: Pick<EarlierEffect, 'activation' | 'address'>): string =>
  `${activation}:${address}`

/** The address of a worker, without what says that it is placed apart: the next attempt may place it elsewhere. */
const addressIn = (address: string): string => (address.startsWith('>') ? address.slice(1) : address)

/** Of a log that was begun anew, addresses are of one segment. */
const segmentOf = (address: string): string => /^@\d+\//.exec(address)?.[0] ?? ''

/** Where in an address a round of work that was sent back begins. */
const roundIn = new RegExp(`^((?:@\\d+/)?)(${againPath}(?:#\\d+)?/)`)
const roundOf = (address: string): string => roundIn.exec(address)?.[2] ?? ''
/** The address that an operation has in the first round. */
export const inFirstRound = (address: string): string => address.replace(roundIn, '$1')

/** The earlier attempts that an activation was born with. */
export type AttemptsOf = (activation: ActivationId) => readonly EarlierAttempt[] | undefined

/**
 * The first attempt at the work of an activation: another attempt, also one in another run, is an attempt at the same
 * work if its first one is the same.
 */
export function firstAttemptAt(activation: ActivationId, attemptsOf: AttemptsOf): ActivationId {
  const first = attemptsOf(activation)?.[0]?.activation
  if (first !== undefined) return firstAttemptAt(first, attemptsOf)
  const above = parentOf(activation)
  return above === undefined
    ? activation
    : childActivation(firstAttemptAt(above.parent, attemptsOf), inFirstRound(above.address))
}

const doneBy = ({ activation, outcome, at }: EarlierEffect): DoneElsewhere => ({
  run: runOf(activation),
  activation,
  at,
  ...(outcome === undefined ? {} : { outcome }),
})

/** What one activation knows of earlier attempts, and how far it has come in them. */
export class EarlierWork {
  readonly #agent: string
  readonly #earlier: Earlier
  #counts = new Map<string, number>()
  /** Which of the equal ones was looked at last. */
  #last = 0
  /** Which of the equal ones a call is that was asked about before it is made, by its address. */
  #claims = new Map<string, { readonly of: string; readonly nth: number }>()
  /** Places among equal ones that were asked about and not made. */
  #free = new Map<string, number[]>()

  constructor(agent: string, earlier: Earlier) {
    this.#agent = agent
    this.#earlier = earlier
  }

  /** The log begins a new segment: equal calls are counted from the first again. */
  beginSegment(): void {
    this.#counts = new Map()
    this.#claims = new Map()
    this.#free = new Map()
  }

  /** How many equal ones were asked for before. */
  #nth(of: string, address: string): number {
    const claim = this.#claims.get(address)
    if (claim?.of === of) {
      this.#claims.delete(address)
      return claim.nth
    }
    this.release(address)
    const free = this.#free.get(of)?.shift()
    if (free !== undefined) return free
    const nth = this.#counts.get(of) ?? 0
    this.#counts.set(of, nth + 1)
    return nth
  }

  /** What the next effect at this address has of its counterparts, before it is known whether it is made. */
  foresee(event: ToolCalled): Met {
    const { inputHash, tool, address } = event
    const met = this.step(event)
    if (inputHash !== undefined) {
      const of = equalCalls(address, tool, inputHash)
      this.#claims.set(address, { of, nth: this.#last })
    }
    return met
  }

  /** The effect that was foreseen at this address is not made: the next equal one has its place. */
  release(address: string): void {
    const claim = this.#claims.get(address)
    if (claim === undefined) return
    this.#claims.delete(address)
    this.#free.set(
      claim.of,
      [...(this.#free.get(claim.of) ?? []), claim.nth].sort((one, other) => one - other),
    )
  }

  /** The `once` effects of earlier attempts at the work of this activation, or of its workers by this name. */
  before(worker?: string): readonly EarlierEffect[] {
    const { attempts, effects, workers } = this.#earlier
    const within = attempts.flatMap(({ activation }) =>
      worker === undefined
        ? [activation]
        : workers.flatMap(({ leader, address, agent }) =>
            leader === activation && agent === worker ? [`${leader}>${address}` as ActivationId] : [],
          ),
    )
    return effects.filter(
      ({ activation, effect, copy }) =>
        effect === 'once' &&
        copy !== true &&
        within.some((each) => activation === each || activation.startsWith(`${each}>`)),
    )
  }

  /**
   * What an effect has of its counterparts. To be asked for every step, in the order in which the code asks for them.
   */
  step(event: StepOpened): Met {
    const { address, effect } = event
    if ((effect !== 'once' && effect !== 'idempotent') || address.startsWith(undoPath)) return {}
    if (event.type === 'tool.called') return this.#call(event, effect)
    const { attempts, effects } = this.#earlier
    const same = attempts.filter(({ agent, otherBrief }) => agent === this.#agent && otherBrief !== true)
    const isKnown = attempts.some(({ otherBrief }) => otherBrief !== true)
    const base = inFirstRound(address)
    // whoever sends work back wants another answer than the one that a key of before would bring
    const first = same.slice(same.findLastIndex(({ sentBack }) => sentBack === true) + 1)[0]
    const key = first === undefined ? {} : { key: keyOf({ activation: first.activation, address: base }) }
    if (effect !== 'once') return key
    const isSame = (each: EarlierEffect): boolean =>
      each.tool === undefined && each.agent === this.#agent && inFirstRound(each.address) === base
    const own = effects.filter((each) => isSame(each) && isOf(same, each))
    return { ...key, ...found(own, isKnown ? undefined : effects.findLast(isSame)) }
  }

  /** Where the arguments of either are not recorded, it is unknown whether the two are the same. */
  #call({ tool, inputHash, address }: ToolCalled, effect: 'once' | 'idempotent'): Met {
    const { attempts, effects } = this.#earlier
    const calls = effects.filter((each) => each.tool === tool && each.effect === effect && each.copy !== true)
    if (inputHash === undefined) return effect === 'once' ? found([], calls.at(-1)) : {}
    const unknown = calls.findLast((each) => each.inputHash === undefined && each.repeat !== true)
    const segment = segmentOf(address)
    const nth = (this.#last = this.#nth(equalCalls(address, tool, inputHash), address))
    const equal = effects.filter((each) => each.tool === tool && each.effect === effect && each.inputHash === inputHash)
    const own = attempts.flatMap(({ activation }) => {
      const of = equal.filter((each) => each.activation === activation && segmentOf(each.address) === segment)
      return [...Map.groupBy(of, (each) => roundOf(each.address)).values()].flatMap((round) => round[nth] ?? [])
    })
    const made = own.filter(({ copy }) => copy !== true)
    const first = made[made.findLastIndex(({ repeat }) => repeat === true) + 1]
    const key = first === undefined ? {} : { key: keyOf(first) }
    return effect === 'once'
      ? {
          ...key,
          ...found(own, unknown ?? (attempts.length > 0 ? undefined : equal.findLast(({ copy }) => copy !== true))),
        }
      : key
  }

  /**
   * What a worker that begins now has to know of earlier attempts; undefined if it has none. To be asked for every
   * worker, in the order in which the code starts them.
   */
  worker({ agent, address, callId, inputHash, purpose }: WorkerStarted): Earlier | undefined {
    if (purpose !== undefined) return undefined
    const { attempts, effects, workers } = this.#earlier
    const nth = inputHash === undefined ? 0 : this.#nth(`worker ${segmentOf(address)}${agent}/${inputHash}`, address)
    const same = attempts.flatMap(({ activation: leader, otherBrief }) => {
      const of = workers.filter((each) => each.leader === leader && each.agent === agent)
      const first = of.filter(
        (each) =>
          (inputHash === undefined
            ? callId === undefined &&
              otherBrief !== true &&
              inFirstRound(addressIn(each.address)) === inFirstRound(address)
            : each.inputHash === inputHash) &&
          each.attempts?.some((before) => parentOf(before)?.parent === leader) !== true,
      )[nth]
      if (first === undefined) return []
      const id = `${leader}>${first.address}` as ActivationId
      return [
        id,
        ...of.filter((each) => each.attempts?.includes(id)).map((each) => `${leader}>${each.address}` as ActivationId),
      ]
    })
    return { attempts: [...new Set(same)].map((activation) => ({ activation, agent })), effects, workers }
  }
}

const isOf = (attempts: readonly EarlierAttempt[], { activation }: EarlierEffect): boolean =>
  attempts.some((each) => each.activation === activation)

/** Calls that are equal are counted together. */
const equalCalls = (address: string, tool: string, inputHash: string): string =>
  `${segmentOf(address)}${tool}/${inputHash}`

/**
 * `own`: of earlier attempts at the same work, the oldest first. `other`: an equal one of a worker that may or may not
 * be the same.
 */
function found(own: readonly EarlierEffect[], other: EarlierEffect | undefined): Met {
  const last = own.findLast(({ copy }) => copy !== true)
  if (last?.repeat === true) return {}
  if (last?.outcome !== undefined) return { made: { by: last.activation, outcome: last.outcome } }
  const open = last ?? other
  return open === undefined ? {} : { done: doneBy(open) }
}
