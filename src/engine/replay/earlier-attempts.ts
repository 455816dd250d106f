/**
 * Earlier attempts: what an activation knows of those that tried the same work before it, and which of their effects
 * are its own (DESIGN §3.2; decision 0009).
 *
 * Owns: reading from the logs of an attempt what the next one must know, finding the counterparts of an effect and of a
 * worker. Pure. Does not own: what counts as an attempt (the code that starts it says so), asking about a doubt
 * (../fork/origin.ts).
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
  parentOf,
  present,
  runOf,
  type ActivationId,
  type Now,
  type Outcome,
} from '../../core/index.ts'
import {
  isNotice,
  type DoneElsewhere,
  type Earlier,
  type EarlierAttempt,
  type EarlierEffect,
  type JournalEvent,
  type StepOpened,
  type ToolCalled,
  type WorkerStarted,
} from '../../journal/index.ts'
import type { StartWorkerOptions } from '../context.ts'
import { undoPath, type Operation } from './operation.ts'

/** An entry of a log, as far as it is looked at here. */
export interface Logged {
  readonly activation: ActivationId
  readonly event: JournalEvent
}

/** What a log says of one effect. */
interface Trace {
  readonly event: StepOpened
  held: boolean
  outcome: Outcome | undefined
}

/**
 * What a worker is born with. `read`: everything in the logs of a worker and of those below it, in the order of each
 * log.
 */
export function earlierOf(
  op: Pick<Operation, 'earlier'>,
  options: Pick<StartWorkerOptions, 'after'>,
  read: (worker: ActivationId) => Iterable<Logged>,
): Earlier | undefined
export function earlierOf(
  op: Pick<Operation, 'earlier'>,
  options: Pick<StartWorkerOptions, 'after'>,
  read: (worker: ActivationId) => Now<Iterable<Logged>>,
): Now<Earlier | undefined>
export function earlierOf(
  { earlier }: Pick<Operation, 'earlier'>,
  { after }: Pick<StartWorkerOptions, 'after'>,
  read: (worker: ActivationId) => Now<Iterable<Logged>>,
): Now<Earlier | undefined> {
  return after === undefined ? earlier : andThen(read(after), (entries) => earlierIn(after, entries))
}

/** What the next attempt has to know of an attempt, and of everything that this one knew of those before it. */
function earlierIn(attempt: ActivationId, entries: Iterable<Logged>): Earlier {
  const logs = new Map<
    ActivationId,
    { agent: string; earlier?: Earlier; traces: Map<string, Trace>; workers: WorkerStarted[] }
  >()
  let undone = false
  for (const { activation, event } of entries) {
    if (activation !== attempt && !activation.startsWith(`${attempt}>`)) continue
    if (event.type === 'activation.started') {
      const { agent, earlier } = event
      logs.set(activation, { agent, ...(earlier === undefined ? {} : { earlier }), traces: new Map(), workers: [] })
      continue
    }
    const log = logs.get(activation)
    if (log === undefined || !('address' in event)) continue
    // what undoes an attempt is of that attempt alone
    if (event.address.startsWith(undoPath)) undone ||= 'op' in event && event.op === 'step'
    else if ('op' in event && event.op === 'step')
      log.traces.set(event.address, { event, held: false, outcome: undefined })
    else if (event.type === 'worker.started') log.workers.push(event)
    else note(log.traces.get(event.address), event)
  }
  const before = logs.get(attempt)?.earlier
  const own = [...logs].filter(([, { agent }]) => !isNotice(agent))
  return {
    attempts: [...(before?.attempts ?? []), { activation: attempt, agent: logs.get(attempt)?.agent ?? '' }],
    effects: [
      ...(before?.effects ?? []),
      ...own.flatMap(([activation, { agent, traces }]) =>
        [...traces.values()].flatMap((trace) => told({ activation, agent }, trace, undone)),
      ),
    ],
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

function note(trace: Trace | undefined, event: JournalEvent): void {
  if (trace === undefined) return
  if (event.type === 'effect.held' || event.type === 'effect.released') trace.held = event.type === 'effect.held'
  else if (event.type === 'step.settled') trace.outcome = event.outcome
}

/** `undone`: something in that attempt was undone, perhaps this. */
function told(by: EarlierAttempt, { event, held, outcome }: Trace, undone: boolean): readonly EarlierEffect[] {
  const { address, effect } = event
  const call = event.type === 'tool.called' ? present({ tool: event.tool, inputHash: event.inputHash }) : {}
  if (effect === 'idempotent' && 'inputHash' in call) return [{ ...by, address, effect, ...call }]
  if (effect !== 'once' || event.refused !== undefined || held) return []
  // its leave was refused before it did anything
  if (outcome?.status === 'failed' && outcome.failure.code === 'capability.refused') return []
  return [{ ...by, address, effect, ...call, ...(outcome?.status === 'completed' && !undone ? { outcome } : {}) }]
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

const doneBy = ({ activation, outcome }: EarlierEffect): DoneElsewhere => ({
  run: runOf(activation),
  activation,
  ...(outcome === undefined ? {} : { outcome }),
})

/** What one activation knows of earlier attempts, and how far it has come in them. */
export class EarlierWork {
  readonly #agent: string
  readonly #earlier: Earlier
  #counts = new Map<string, number>()

  constructor(agent: string, earlier: Earlier) {
    this.#agent = agent
    this.#earlier = earlier
  }

  /** The log begins a new segment: equal calls are counted from the first again. */
  beginSegment(): void {
    this.#counts = new Map()
  }

  /** How many equal ones were asked for before. */
  #nth(of: string): number {
    const nth = this.#counts.get(of) ?? 0
    this.#counts.set(of, nth + 1)
    return nth
  }

  /**
   * What an effect has of its counterparts. To be asked for every step, in the order in which the code asks for them.
   */
  step(event: StepOpened): Met {
    const { address, effect } = event
    if ((effect !== 'once' && effect !== 'idempotent') || address.startsWith(undoPath)) return {}
    if (event.type === 'tool.called') return this.#call(event, effect)
    const { attempts, effects } = this.#earlier
    const same = attempts.filter(({ agent }) => agent === this.#agent)
    const first = same[0]
    const key = first === undefined ? {} : { key: keyOf({ activation: first.activation, address }) }
    if (effect !== 'once') return key
    const isSame = (each: EarlierEffect): boolean =>
      each.tool === undefined && each.agent === this.#agent && each.address === address
    const own = effects.findLast((each) => isSame(each) && isOf(same, each))
    return { ...key, ...found(own, attempts.length > 0 ? undefined : effects.findLast(isSame)) }
  }

  /** Where the arguments of either are not recorded, it is unknown whether the two are the same. */
  #call({ tool, inputHash, address }: ToolCalled, effect: 'once' | 'idempotent'): Met {
    const { attempts, effects } = this.#earlier
    const calls = effects.filter((each) => each.tool === tool && each.effect === effect)
    if (inputHash === undefined) return effect === 'once' ? found(undefined, calls.at(-1)) : {}
    const unknown = calls.findLast((each) => each.inputHash === undefined)
    const segment = segmentOf(address)
    const nth = this.#nth(`${segment}${tool}/${inputHash}`)
    const equal = calls.filter((each) => each.inputHash === inputHash)
    const own = attempts.flatMap(({ activation }) => {
      const one = equal.filter((each) => each.activation === activation && segmentOf(each.address) === segment)[nth]
      return one === undefined ? [] : [one]
    })
    const first = own[0]
    const key = first === undefined ? {} : { key: keyOf(first) }
    return effect === 'once'
      ? { ...key, ...found(own.at(-1), unknown ?? (attempts.length > 0 ? undefined : equal.at(-1))) }
      : key
  }

  /**
   * What a worker that begins now has to know of earlier attempts; undefined if it has none. To be asked for every
   * worker, in the order in which the code starts them.
   */
  worker({ agent, address, callId, inputHash, purpose }: WorkerStarted): Earlier | undefined {
    if (purpose !== undefined) return undefined
    const { attempts, effects, workers } = this.#earlier
    const nth = inputHash === undefined ? 0 : this.#nth(`worker ${segmentOf(address)}${agent}/${inputHash}`)
    const same = attempts.flatMap(({ activation: leader }) => {
      const of = workers.filter((each) => each.leader === leader && each.agent === agent)
      const first = of.filter(
        (each) =>
          (inputHash === undefined
            ? callId === undefined && addressIn(each.address) === address
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

/** `own`: of an earlier attempt at the same work. `other`: an equal one of a worker that may or may not be the same. */
function found(own: EarlierEffect | undefined, other: EarlierEffect | undefined): Met {
  if (own?.outcome !== undefined) return { made: { by: own.activation, outcome: own.outcome } }
  const open = own ?? other
  return open === undefined ? {} : { done: doneBy(open) }
}
