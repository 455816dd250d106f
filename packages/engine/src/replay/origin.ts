/**
 * Origins: what an activation of a forked run has of the run it was forked from.
 *
 * Owns: the seeds that ids and random numbers derive from, how far deadlines move, what the origin has done already.
 * Does not own: what is copied (fork.ts). K10: what the copied part drew is drawn again, so that recorded arrivals find
 * their receivers. What comes after it is the fork's own.
 *
 * Which of the two it is: code that was resumed by a copied arrival draws as the origin did, code that was resumed by
 * an arrival of the fork's own draws anew. Questions and messages are the exception: one that is asked or sent in the
 * fork has an id of its own wherever the code comes to it, since it is found by it; a copied one keeps its id. And a yes
 * of the fork's own to what had begun in the origin draws as the origin's did: what was recorded of it follows.
 */
import {
  childActivation,
  completed,
  derivedId,
  present,
  type ActivationId,
  type Json,
  type Outcome,
  type RunId,
} from '@reeve/core'
import {
  isNotice,
  type Caller,
  type Copied,
  type DoneElsewhere,
  type JournalEvent,
  type RunForked,
  type StepSettled,
} from '@reeve/journal'
import type { OriginDeed } from '../context.ts'
import { firstAttemptAt, inFirstRound, type AttemptsOf } from './earlier-attempts.ts'
import { nothingUsed, type Birth, type Operation, type Owner } from './operation.ts'
import { isOwnValueStep } from './value-steps.ts'

/** The kinds of ids that questions and messages have. Persistent. */
const recordedIds: ReadonlySet<string> = new Set(['apr', 'int', 'msg'])

/** What the ids of one activation of a forked run derive from. */
export class Seeds {
  readonly #own: ActivationId
  readonly #copied: readonly Copied[]
  readonly #recorded = new Set<string>()
  /** Addresses of questions whose work had begun in the origin, and the part of the log that holds it. */
  readonly #begun = new Map<string, number>()
  /** Addresses of questions that were answered in the copied part. */
  readonly #answered: string[] = []
  /** Addresses of questions to the outside that were put in the copied part. */
  readonly #asked: string[] = []
  /** What it draws belongs to the copied part, and the moment in which it does is the fork's own. */
  #isLate = false
  /** Where the copied part that it is in ends; none: what it does is its own. */
  #at = 0

  constructor(own: ActivationId, copied: readonly Copied[]) {
    this.#own = own
    this.#copied = copied
  }

  /** The code goes on because of the entry at `seq`; undefined: because of something new. */
  move(seq: number | undefined): void {
    const at = seq === undefined ? -1 : this.#copied.findIndex((part) => seq < part.seq)
    this.#at = at < 0 ? this.#copied.length : at
    this.#isLate = false
  }

  /** The code goes on because a question has ended: if its work had begun, with what was recorded of that. */
  answered(address: string): void {
    const at = this.#begun.get(address)
    if (at === undefined) return
    this.#at = at
    this.#isLate = true
  }

  /** An entry of the log: a question that was asked, or a message that was sent, under this id. */
  note(event: JournalEvent, seq: number): void {
    const isCopied = seq < (this.#copied.at(-1)?.seq ?? 0)
    if (event.type === 'ask.settled' && isCopied) this.#answered.push(event.address)
    if (event.type === 'interrupt.raised' && isCopied) this.#asked.push(event.address)
    if (event.type !== 'approval.requested' && event.type !== 'interrupt.raised' && event.type !== 'message.sent')
      return
    this.#recorded.add(event.id)
    if (event.type !== 'approval.requested' || event.begun !== true) return
    const part = this.#copied.findIndex((each) => seq < each.seq)
    this.#begun.set(event.address, Math.max(0, part))
  }

  /** Whether a question in this scope was answered in the copied part: what the origin did later was not known then. */
  hasAnswer(scope: string): boolean {
    return this.#answered.some((address) => address.startsWith(scope))
  }

  /** Whether this question was asked in the copied part, and no asking of it was left open there. */
  isAnswered(question: string): boolean {
    const asked = this.#asked.filter((address) => address.startsWith(question))
    return asked.length > 0 && asked.every((address) => this.#answered.includes(address))
  }

  get current(): ActivationId {
    return this.#copied[this.#at]?.seed ?? this.#own
  }

  /** How far a deadline moves that is counted from a moment of the origin. Milliseconds. */
  get shiftMs(): number {
    return this.#isLate ? 0 : this.#copied.slice(this.#at).reduce((sum, { shiftMs }) => sum + shiftMs, 0)
  }

  id(prefix: string, address: string): string {
    if (!recordedIds.has(prefix)) return derivedId(prefix, this.current, address)
    const known = this.#copied.map(({ seed }) => derivedId(prefix, seed, address))
    return known.find((id) => this.#recorded.has(id)) ?? derivedId(prefix, this.#own, address)
  }
}

/** Of an activation of a run that was not forked, or that was born in the fork: none. */
export const seedsOf = ({ id, copied }: Pick<Birth, 'id' | 'copied'>): Seeds | undefined =>
  copied === undefined ? undefined : new Seeds(id, copied)

interface DoubtHost {
  inFlight(op: Operation): boolean
  callerOf(owner: Owner): Pick<Caller, 'trial'>
  doneElsewhere?(op: Operation): DoneElsewhere | undefined
}

/**
 * Whether this effect may not run without a decision: it may have happened, here or in the run that this one was forked
 * from.
 */
export function isInDoubt(host: DoubtHost, op: Operation): boolean {
  if (op.options?.isAnswered === true) return false
  const done = op.done ?? host.doneElsewhere?.(op)
  if (done !== undefined) op.done = done
  const isAsked = op.done !== undefined || isHeldByTrial(host, op)
  if (op.doubt !== undefined || (isAsked && op.rounds === 0)) return true
  return op.effect === 'once' && !op.fresh && !op.held && op.refused === undefined && !host.inFlight(op)
}

/**
 * Whether a person is asked before this effect leaves, because its run is a trial. Of what an outside can see only three
 * things leave unasked: what the run keeps for itself, notices, which say by themselves that they are not sent, and what
 * a person has approved in this run, with these arguments.
 */
export function isHeldByTrial(host: Pick<DoubtHost, 'callerOf'>, op: Operation): boolean {
  if (host.callerOf(op.owner).trial !== true || op.refused !== undefined || op.options?.isAnswered === true)
    return false
  const isOutside = op.effect === 'once' || op.effect === 'idempotent'
  return isOutside && op.options?.isApproved !== true && !isOwnValueStep(op.address) && !isNotice(op.owner.birth.agent)
}

/** Where it was done, as its doubt tells it. */
export const doneIn = ({ done }: Operation): { doneIn?: RunId; madeBy?: ActivationId } => {
  if (done === undefined) return {}
  return done.activation === undefined ? { doneIn: done.run } : { madeBy: done.activation }
}

/** Why it is asked whether an effect has happened that the origin, or an earlier attempt, has made. */
export const alreadyDone = ({ run, activation, outcome }: DoneElsewhere): string => {
  const where = activation === undefined ? `in run ${run}` : `by an earlier attempt (${activation})`
  return outcome === undefined ? `begun ${where}, and perhaps done` : `already done ${where}`
}

/**
 * The outcome of an effect that an operator says has happened: the value they give, else its outcome where it happened.
 */
export function happenedAs(op: Operation, { value, by }: { readonly value?: Json; readonly by?: string }): Outcome {
  const outcome = value === undefined ? (op.done?.outcome ?? completed(null)) : completed(value)
  return outcome.status === 'completed' ? { ...outcome, ...present({ by }) } : outcome
}

/** How an effect ends in this attempt that an earlier one has made: as it ended then. Nothing was used for it. */
export const madeBefore = (
  { address, reserved }: Operation,
  { by, outcome }: NonNullable<Operation['made']>,
): StepSettled => ({
  type: 'step.settled',
  address,
  outcome,
  madeBy: by,
  ...(reserved === undefined ? {} : { charge: nothingUsed }),
})

/** Asks whether it has happened. A new doubt is a round of its own. True: it is new. */
export function raiseDoubt(host: { openDoubt(op: Operation, isNew: boolean): void }, op: Operation): boolean {
  const isNew = op.doubt === undefined
  if (isNew) op.doubt = ++op.rounds
  host.openDoubt(op, isNew)
  return isNew
}

/** What the origin of a run has done, as the run's root says. */
export class OriginDeeds {
  readonly #done: RunForked['done']
  /** Workers of the run that would do some of it, and those above them. */
  readonly #workers = new Set<string>()

  readonly #attemptsOf: AttemptsOf

  constructor({ done }: Pick<RunForked, 'done'>, attemptsOf: AttemptsOf = () => undefined) {
    this.#done = done
    this.#attemptsOf = attemptsOf
    for (const { activation, work = activation } of done)
      for (const id of [activation, work])
        for (let at = id.length; at > 0 && !this.#workers.has(id.slice(0, at)); at = id.lastIndexOf('>', at - 1))
          this.#workers.add(id.slice(0, at))
  }

  /** An effect of another attempt at the same work is the same effect. */
  effect({ owner, address }: Pick<Operation, 'owner' | 'address'>): DoneElsewhere | undefined {
    const work = firstAttemptAt(owner.id, this.#attemptsOf)
    const place = inFirstRound(address)
    const found =
      this.#done.find((each) => each.activation === owner.id && each.address === address) ??
      this.#done.findLast((each) => (each.work ?? each.activation) === work && inFirstRound(each.address) === place)
    return found === undefined ? undefined : deedOf(found)
  }

  /** Whether it has made effects of the worker at this address, or below it. `after`: the attempt that it repeats. */
  isBelow(leader: ActivationId, address: string, after?: ActivationId): boolean {
    return this.#workers.has(firstAttemptAt(after ?? childActivation(leader, address), this.#attemptsOf))
  }

  /** What it has done of the work of an activation, in a scope of it and in the workers that begin there. */
  within(activation: ActivationId, scope = ''): readonly OriginDeed[] {
    const work = firstAttemptAt(activation, this.#attemptsOf)
    const wanted = inFirstRound(scope)
    return this.#done.flatMap((each) => {
      const by = each.work ?? each.activation
      const below = by.startsWith(`${work}>`) ? by.slice(work.length).replace(/^>+/, '').split('>')[0] : undefined
      const place = below ?? (by === work ? inFirstRound(each.address) : undefined)
      if (place === undefined || !place.startsWith(wanted)) return []
      return [{ ...deedOf(each), name: nameAt(each.address), place }]
    })
  }
}

const deedOf = ({ run, outcome, at }: RunForked['done'][number]): DoneElsewhere => ({
  run,
  ...(outcome === undefined ? {} : { outcome }),
  ...(at === undefined ? {} : { at }),
})

const nameAt = (address: string): string => address.slice(address.lastIndexOf('/') + 1).replace(/#\d+$/, '')

/** How many deeds are named in a sentence. */
const namedMost = 10

/** The newest of these deeds, each told in a few words, and how many there were before. */
export function newestDeeds(told: readonly string[]): string {
  const more = told.length - namedMost
  return `${told.slice(-namedMost).join(', ')}${more > 0 ? ` and ${more} more before` : ''}`
}

/** What the origin has done, in words for an approver. Undefined: nothing. */
export function toldDeeds(deeds: readonly OriginDeed[]): string | undefined {
  if (deeds.length === 0) return undefined
  return newestDeeds(
    deeds.map(
      (deed) =>
        `"${deed.name}" was ${alreadyDone(deed)}${deed.at === undefined ? '' : ` at ${new Date(deed.at).toISOString()}`}`,
    ),
  )
}
