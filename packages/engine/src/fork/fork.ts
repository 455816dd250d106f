/**
 * Forks: a new run that has the beginning of another one, and goes on by itself.
 *
 * Owns: what a fork begins with, as plain data that an engine writes in one transaction; what is wrong with a fork.
 * Does not own: what is left out (fork-cut.ts), what copied activations draw (origin.ts), storing. Pure. K1: the fork's
 * journal is its own; nothing reads the origin later, which may be removed. K4: addresses are the same, so the code
 * finds what was recorded. K6: no effect of the origin is made again without an operator's decision, and those that are
 * made have idempotency keys of the fork's own, since its activations have ids of their own.
 *
 * The fork has its own values, as those of the run (or of its session) were at the fork point, and a session of its own
 * if the origin had one: it writes to nothing of the origin's. Messages that were under way are under way in it.
 * Charges count as they had been made; working minutes begin anew.
 */
import {
  isWithin,
  canonical,
  childActivation,
  derivedId,
  isObject,
  present,
  ReeveError,
  rootActivation,
  Slices,
  withoutHandoff,
  type ActivationId,
  type Json,
  type JsonObject,
  type Outcome,
  type RunId,
  type SessionId,
  type Shape,
} from '@reeve/core'
import {
  editShape,
  isEdge,
  isNotice,
  type ActivationStarted,
  type ApprovalRequested,
  type AskOpened,
  type Caller,
  type Copied,
  type EarlierAttempt,
  type ForkEdit,
  type JournalEvent,
  type Recorded,
  type RunForked,
  type TrialEdit,
} from '@reeve/journal'
import type { AccountState } from '../replay/account.ts'
import type { AccountLimits } from '../context.ts'
import { firstAttemptAt } from '../replay/earlier-attempts.ts'
import { addressName } from '../replay/operation.ts'
import { isValueStep, valueStep } from '../replay/value-steps.ts'
import { cutLog, type OriginEntry } from './fork-cut.ts'
import { OriginDeeds, toldDeeds } from '../replay/origin.ts'
import { withoutAnswer } from './person-answer.ts'
import { workScopeOf } from './permitted-work.ts'
import { humanWaits } from '../human-waits.ts'
import type { InboxMail } from '../mail.ts'
import { accountsIn, type ForkEntry } from './fork-accounts.ts'
import { rootsInQueue, type ForkRun } from '../port.ts'
import { askedQuestion, type QuestionRecord } from '../question-record.ts'
import { streamOf } from '../streams.ts'

/** What an engine knows of the origin. */
export interface ForkOrigin {
  readonly agent: string
  readonly version: string
  readonly caller: Caller | undefined
  /** All of it. */
  readonly feed: readonly Recorded[]
  /** What is in its inboxes and was not taken. */
  readonly mail: readonly InboxMail[]
  readonly limits: ReadonlyMap<ActivationId, AccountLimits>
  /** What the ids of an activation derive from, where that is not the id it has here. */
  readonly seeds?: ReadonlyMap<ActivationId, ActivationId>
  /** Values of its stream at the fork point, by key. */
  readonly values: ReadonlyMap<string, Json>
}

/** Everything that a fork begins with. */
export interface ForkPlan {
  readonly run: RunId
  /** Its origin. */
  readonly from: RunId
  /** When it was forked. Milliseconds since 1970. */
  readonly at: number
  readonly agent: string
  readonly version: string
  readonly caller: Caller | undefined
  /** In the order of the origin's feed; of every activation from 0 on. */
  readonly entries: readonly ForkEntry[]
  /**
   * Workers that open activations have begun in it, and whose logs began after the fork point, with their first events
   * as they were in the origin (none: their code was missing). For engines whose workers are born with their leaders'
   * commits; elsewhere they are born when their leaders' code asks for them.
   */
  readonly unborn: readonly {
    readonly activation: ActivationId
    readonly agent: string
    readonly first: ActivationStarted | undefined
    readonly limits: AccountLimits | undefined
  }[]
  readonly accounts: readonly { readonly activation: ActivationId; readonly state: AccountState }[]
  readonly questions: readonly {
    readonly activation: ActivationId
    readonly at: number
    readonly record: QuestionRecord
  }[]
  /** Rows for inboxes, with the keys under which they compete. */
  readonly mail: readonly { readonly activation: ActivationId; readonly key: string; readonly body: InboxMail }[]
  readonly stream: string
  readonly values: ReadonlyMap<string, Json>
}

const none: ReadonlySet<string> = new Set()

const invalid = (message: string, hint: string): ReeveError => new ReeveError('fork.invalid', message, { hint })

/**
 * The same id again: fine if it is the same fork, else the caller has made a mistake (`run.conflict`). What was recorded
 * may be of before these rules of redaction.
 */
export function mustBeSameFork(forked: RunForked | undefined, request: ForkRun, redact: RedactText): void {
  const { run, at, to, edit } = request
  const told = (one: { run: RunId; at: number; edit?: ForkEdit | undefined }): string =>
    canonical([one.run, one.at, (asGiven(redactedEdit(one.edit, redact)) ?? null) as unknown as Json])
  if (forked !== undefined && told(forked) === told({ run, at, edit })) return
  throw new ReeveError('run.conflict', `run ${to} exists already, and is not this fork`, {
    hint: 'Use a new run id, or the handle of the existing run.',
  })
}

/** An edit as its caller gave it: an outcome, without what is shown of it to those who come after. */
const asGiven = (edit: ForkEdit | undefined): ForkEdit | undefined =>
  edit?.type === 'outcome' ? { ...edit, outcome: withoutHandoff(edit.outcome) } : edit

/**
 * Everything that a fork begins with. Gives way to the rest of the process while it works. Rejects with `fork.invalid`.
 * `now`: milliseconds since 1970.
 */
export async function planFork(request: ForkRun, origin: ForkOrigin, now: number): Promise<ForkPlan> {
  const slices = new Slices()
  const prefix: Recorded[] = []
  const attempts = new Map<ActivationId, readonly EarlierAttempt[]>()
  for await (const piece of slices.of(origin.feed))
    for (const recorded of piece) {
      const { activation, event, position } = recorded
      if (position <= request.at) prefix.push(recorded)
      if (event.type === 'activation.started' && event.earlier !== undefined)
        attempts.set(activation, event.earlier.attempts)
    }
  return new Fork(request, origin, { now, slices, prefix, attempts }).plan()
}

class Fork {
  readonly #request: ForkRun
  readonly #origin: ForkOrigin
  readonly #now: number
  readonly #slices: Slices
  readonly #from: ActivationId
  readonly #root: ActivationId
  /** How long the origin had stood still. */
  readonly #shiftMs: number
  readonly #prefix: readonly Recorded[]
  /** The edit is of a person's answer: the fork asks that question itself. */
  #asksAgain = false
  /** The attempts before each activation of the origin. */
  readonly #attempts: ReadonlyMap<ActivationId, readonly EarlierAttempt[]>

  constructor(
    request: ForkRun,
    origin: ForkOrigin,
    {
      now,
      slices,
      prefix,
      attempts,
    }: {
      readonly now: number
      readonly slices: Slices
      /** The feed up to the fork point. */
      readonly prefix: readonly Recorded[]
      readonly attempts: ReadonlyMap<ActivationId, readonly EarlierAttempt[]>
    },
  ) {
    this.#request = request
    this.#origin = origin
    this.#now = now
    this.#slices = slices
    this.#attempts = attempts
    this.#from = rootActivation(request.run)
    this.#root = rootActivation(request.to)
    this.#prefix = this.#edited(prefix)
    this.#shiftMs = Math.max(0, now - this.#prefix.reduce((latest, { at }) => Math.max(latest, at), -Infinity))
  }

  async plan(): Promise<ForkPlan> {
    const { to: run } = this.#request
    const { agent, version, caller } = this.#origin
    const kept = await this.#kept()
    const done = await this.#done(kept)
    const deeds = new OriginDeeds({ done })
    const entries: ForkEntry[] = []
    const lengths = new Map<ActivationId, number>()
    const counts = new Map<string, number>()
    for (const { activation } of kept) counts.set(activation, (counts.get(activation) ?? 0) + 1)
    for await (const piece of this.#slices.of(kept))
      for (const { activation: old, at, event } of piece) {
        const activation = this.#moved(old) as ActivationId
        const seq = lengths.get(activation) ?? 0
        lengths.set(activation, seq + 1)
        const told = this.#moved(event as unknown as Json) as unknown as JournalEvent
        entries.push({
          activation,
          seq,
          at,
          event:
            event.type === 'activation.started'
              ? this.#started(event, told, old, counts.get(old)!)
              : told.type === 'approval.requested' && told.begun === true
                ? this.#withEarlierWork(told, old, deeds)
                : told,
        })
      }
    entries.push({ activation: this.#root, seq: lengths.get(this.#root)!, at: this.#now, event: this.#forked(done) })
    const own = this.#callerOf(caller)
    const limits = new Map([...this.#origin.limits].map(([id, each]) => [this.#moved(id) as ActivationId, each]))
    await this.#slices.giveWay()
    const unborn = await this.#unborn(entries)
    const accounts = accountsIn(entries, limits)
    const questions = await this.#questions(entries)
    const mail = await this.#mail(entries)
    return {
      run,
      from: this.#request.run,
      at: this.#now,
      agent,
      version,
      caller: own,
      entries,
      unborn,
      accounts,
      questions,
      mail: [...mail, ...this.#turn(entries)],
      stream: streamOf(own ?? {}, run),
      values: this.#values(),
    }
  }

  /** The prefix with the edit of it. Throws what is wrong with the fork point. */
  #edited(prefix: readonly Recorded[]): readonly Recorded[] {
    const { run, at, edit, by } = this.#request
    const last = prefix.at(-1)
    if (last?.position !== at)
      throw invalid(`run ${run} has no event at position ${at}`, `List them: reeve events ${run} --json`)
    if (prefix.some(({ activation, event }) => event.type === 'activation.settled' && activation === this.#from))
      throw invalid(
        `run ${run} has ended at position ${at}: nothing would go on there`,
        `Name an earlier position: reeve events ${run}`,
      )
    if (edit === undefined || edit.type === 'message') return prefix
    if (edit.type === 'trial') return this.#tried(prefix, edit)
    const { event } = last
    if (edit.type === 'input') {
      if (prefix.length > 1)
        throw invalid(
          'a new input is possible only for a fork at the first event of a run',
          `Its position is ${prefix[0]!.position}.`,
        )
      return [{ ...last, event: { ...event, input: edit.input } as JournalEvent }]
    }
    if (!isEnd(event))
      throw invalid(
        `the event at position ${at} is "${event.type}", which has no outcome`,
        'A new outcome is for the end of a step, a worker or a question: step.settled, worker.settled, ask.settled.',
      )
    const unanswered = withoutAnswer(prefix)
    if (unanswered !== undefined) {
      this.#asksAgain = true
      return unanswered
    }
    return [...prefix.slice(0, -1), { ...last, event: { ...event, outcome: givenBy(edit.outcome, by) } }]
  }

  /** The prefix, in which every activation works by the versions of the trial. */
  #tried(prefix: readonly Recorded[], { to, versions, brief }: TrialEdit): readonly Recorded[] {
    const ended = (activation: ActivationId): boolean =>
      prefix.some((each) => each.activation === activation && each.event.type === 'activation.settled')
    if (!prefix.some(({ activation }) => activation === to) || ended(to))
      throw invalid(
        `no activation ${to} is open at position ${this.#request.at}`,
        'A trial begins before a model call of an activation that is at work.',
      )
    return prefix.map((recorded) => {
      const { activation, event } = recorded
      if (event.type !== 'activation.started') return recorded
      const asked = activation === to ? brief : undefined
      return { ...recorded, event: { ...event, input: triedInput(event.input, versions, asked) } }
    })
  }

  /** What is copied, in order. */
  async #kept(): Promise<readonly Recorded[]> {
    const logs = new Map<ActivationId, (OriginEntry & { readonly recorded: Recorded })[]>()
    for await (const piece of this.#slices.of(this.#prefix))
      for (const recorded of piece) {
        const log = logs.get(recorded.activation)
        const entry = { position: recorded.position, at: recorded.at, event: recorded.event, recorded }
        if (log === undefined) logs.set(recorded.activation, [entry])
        else log.push(entry)
      }
    const outcomeOf = (id: ActivationId): Outcome | undefined => {
      const last = logs.get(id)?.at(-1)?.event
      return last?.type === 'activation.settled' ? last.outcome : undefined
    }
    const kept: Recorded[] = []
    const without: string[] = []
    for (const [activation, log] of logs) {
      await this.#slices.giveWay()
      const ended = log.at(-1)!.event.type === 'activation.settled'
      const cut = ended
        ? { kept: log, carried: none, begun: none, without: [] }
        : await cutLog(log, (address) => outcomeOf(childActivation(activation, address)), this.#slices)
      for (const address of cut.without) without.push(`${activation}>${address}`)
      for await (const piece of this.#slices.of(cut.kept))
        for (const { position, at, event } of piece) {
          const isCarried = 'op' in event && event.op === 'ask' && cut.carried.has(event.address)
          const isBegun = event.type === 'approval.requested' && cut.begun.has(event.address)
          const still = isBegun
            ? this.#askedAgain(activation, event, at)
            : isCarried
              ? this.#reopened(activation, event)
              : event
          kept.push({ position, run: this.#request.run, activation, seq: 0, at, event: still })
        }
    }
    await this.#slices.giveWay()
    const isOut = (id: string): boolean => without.some((gone) => isWithin(id, gone as ActivationId))
    return kept.filter(({ activation }) => !isOut(activation)).sort((a, b) => a.position - b.position)
  }

  /** A question that stays open: under an id of its own, with the time that was left. */
  #reopened(activation: ActivationId, event: AskOpened): AskOpened {
    const until = event.until === undefined ? {} : { until: event.until + this.#shiftMs }
    if (event.type === 'timer.set') return { ...event, ...until }
    const kind = event.type === 'approval.requested' ? 'apr' : 'int'
    return { ...event, ...until, id: derivedId(kind, this.#moved(activation) as string, event.address) }
  }

  /** A question that was answered with a yes: it stays open as it stands, with all of its time. */
  #askedAgain(activation: ActivationId, event: ApprovalRequested, at: number): ApprovalRequested {
    const until = event.until === undefined ? {} : { until: this.#now + event.until - at }
    const id = derivedId('apr', this.#moved(activation) as string, event.address)
    return { ...event, ...until, id, options: ['approve', 'reject'], begun: true }
  }

  /** A question that stays open as it stands says what the origin has made of what it is about. */
  #withEarlierWork(asked: ApprovalRequested, old: ActivationId, deeds: OriginDeeds): ApprovalRequested {
    const scope = workScopeOf(asked)
    if (scope === undefined) return asked
    const told = toldDeeds(deeds.within(this.#moved(this.#workOf(old)) as ActivationId, scope))
    if (told === undefined || asked.reason.includes(told)) return asked
    const { contentKey: _contentKey, ...rest } = asked
    return { ...rest, reason: `${asked.reason}; ${told}` }
  }

  /** The first attempt at the work of an activation of the origin. */
  #workOf(old: ActivationId): ActivationId {
    return firstAttemptAt(old, (id) => this.#attempts.get(id))
  }

  /** With a session of the fork's own. Another input is that of whoever forks, and not of who began the origin. */
  #callerOf(caller: Caller | undefined): Caller | undefined {
    const { to, by, edit } = this.#request
    const isInput = edit?.type === 'input' && by !== undefined
    const trial = present({ trial: edit?.type === 'trial' ? (true as const) : undefined })
    if (caller === undefined) return isInput ? { by } : edit?.type === 'trial' ? trial : undefined
    const { by: before, ...rest } = caller
    const session = caller.session === undefined ? undefined : (to as string as SessionId)
    const starter = isInput ? by : before
    return { ...rest, ...present({ session, by: starter === caller.user ? undefined : starter }), ...trial }
  }

  #started(
    event: JournalEvent & { type: 'activation.started' },
    told: JournalEvent,
    old: ActivationId,
    length: number,
  ): JournalEvent {
    // only a root has a caller
    const isRoot = old === this.#from
    const caller = present({ caller: isRoot || event.caller !== undefined ? this.#callerOf(event.caller) : undefined })
    const { copied: _copied, ...rest } = told as typeof event
    if (this.#request.edit?.type === 'input') return { ...rest, ...caller, copied: [] }
    const copied: Copied[] = []
    for (const part of [
      ...(event.copied ?? []),
      { seed: this.#origin.seeds?.get(old) ?? old, seq: length, shiftMs: 0 },
    ]) {
      if ((copied.at(-1)?.seq ?? -1) >= length) break
      copied.push({ ...part, seq: Math.min(part.seq, length) })
    }
    const last = copied.pop()!
    return { ...rest, ...caller, copied: [...copied, { ...last, seq: length, shiftMs: last.shiftMs + this.#shiftMs }] }
  }

  #forked(done: RunForked['done']): RunForked {
    const { run, at, reason, by } = this.#request
    const edit = asGiven(this.#request.edit)
    return {
      type: 'run.forked',
      run,
      at,
      ...(edit === undefined ? {} : { edit }),
      ...(this.#asksAgain ? { asksAgain: true as const } : {}),
      done,
      ...(reason === undefined ? {} : { reason }),
      ...(by === undefined ? {} : { by }),
    }
  }

  /** Effects of the origin that the fork does not have as ended, and that may have happened. */
  async #done(kept: readonly Recorded[]): Promise<RunForked['done']> {
    const has = new Set<string>()
    for await (const piece of this.#slices.of(kept))
      for (const { activation, event } of piece)
        if (event.type === 'step.settled') has.add(`${activation} ${event.address}`)
    const found = new Map<string, RunForked['done'][number]>()
    const held = new Set<string>()
    for await (const piece of this.#slices.of(this.#origin.feed))
      for (const { activation, at, event } of piece) {
        if (event.type === 'run.forked')
          for (const one of event.done) {
            const key = `${one.activation} ${one.address}`
            // that it was held is of the copied part; its origin let it out
            held.delete(key)
            found.set(key, {
              ...one,
              activation: this.#moved(one.activation) as ActivationId,
              ...(one.work === undefined ? {} : { work: this.#moved(one.work) as ActivationId }),
            })
          }
        if (!('address' in event) || isNotice(nameOf(activation))) continue
        const key = `${activation} ${event.address}`
        const work = this.#workOf(activation)
        const own = {
          activation: this.#moved(activation) as ActivationId,
          ...(work === activation ? {} : { work: this.#moved(work) as ActivationId }),
          address: event.address,
          run: this.#request.run,
          at,
        }
        if (event.type === 'effect.held') held.add(key)
        else if (event.type === 'effect.released') held.delete(key)
        else if (event.type === 'effect.cleared') found.set(key, own)
        else if (
          'op' in event &&
          event.op === 'step' &&
          outside(event.effect) &&
          event.refused === undefined &&
          !isValueStep(event.address) &&
          !found.has(key) // what a run before has made is not made here without a word, which clears it
        )
          found.set(key, own)
        else if (event.type === 'step.settled') {
          // what was held and has completed was done: a person said so
          if (event.outcome.status === 'completed') held.delete(key)
          if (found.get(key)?.run !== this.#request.run) continue
          if (event.outcome.status === 'failed') found.delete(key)
          else if (event.outcome.status === 'completed')
            found.set(key, {
              ...found.get(key)!,
              at,
              outcome: this.#moved(event.outcome as unknown as Json) as unknown as typeof event.outcome,
            })
        }
      }
    const done: RunForked['done'][number][] = []
    for await (const piece of this.#slices.of([...found]))
      for (const [key, one] of piece) if (!has.has(key) && !held.has(key)) done.push(one)
    return done
  }

  async #unborn(entries: readonly ForkEntry[]): Promise<ForkPlan['unborn']> {
    const begun = new Map<ActivationId, string>()
    for await (const piece of this.#slices.of(entries))
      for (const { activation, event } of piece) {
        if (event.type === 'worker.started') begun.set(childActivation(activation, event.address), event.agent)
        else if (event.type === 'worker.settled') begun.delete(childActivation(activation, event.address))
        else if (event.type === 'activation.started') begun.delete(activation)
        else if (event.type === 'activation.settled')
          for (const id of begun.keys()) if (id.startsWith(`${activation}>`)) begun.delete(id)
      }
    return [...begun].map(([activation, agent]) => {
      const old = (this.#from + activation.slice(this.#root.length)) as ActivationId
      const event = this.#origin.feed.find((each) => each.activation === old)?.event
      const limits = this.#origin.limits.get(old)
      if (event?.type !== 'activation.started') return { activation, agent, first: undefined, limits }
      const { copied: _copied, ...born } = this.#moved(event as unknown as Json) as unknown as ActivationStarted
      const { edit } = this.#request
      const first = edit?.type === 'trial' ? { ...born, input: triedInput(born.input, edit.versions) } : born
      return { activation, agent, first, limits }
    })
  }

  /** Those that are copied and open: the code does not put them again. */
  async #questions(entries: readonly ForkEntry[]): Promise<ForkPlan['questions']> {
    const open = new Map<ActivationId, Map<string, ForkPlan['questions'][number]>>()
    for await (const piece of this.#slices.of(entries))
      for (const { activation, at, event } of piece) {
        const asked = open.get(activation) ?? new Map<string, ForkPlan['questions'][number]>()
        open.set(activation, asked)
        if ('op' in event && event.op === 'ask')
          asked.set(event.address, {
            activation,
            at,
            record: askedQuestion({ owner: { id: activation }, address: event.address }, event),
          })
        else if (event.type === 'ask.settled') asked.delete(event.address)
        else if (event.type === 'activation.restarted') {
          const still = new Set(event.open.map(({ address }) => address))
          for (const address of asked.keys()) if (!still.has(address)) asked.delete(address)
        } else if (event.type === 'activation.settled') asked.clear()
      }
    return [...open.values()].flatMap((asked) => [...asked.values()])
  }

  /** Messages that were sent and not received, refusals that were not heard, and the message of the edit. */
  async #mail(all: readonly ForkEntry[]): Promise<ForkPlan['mail']> {
    const entries: ForkEntry[] = []
    for await (const piece of this.#slices.of(all))
      for (const entry of piece) if (aboutMail.has(entry.event.type)) entries.push(entry)
    const over = new Set(
      entries.flatMap(({ activation, event }) => (event.type === 'activation.settled' ? [activation] : [])),
    )
    const heard = new Set(
      entries.flatMap(({ event }) =>
        event.type === 'message.received' || event.type === 'message.refused' ? [event.id as string] : [],
      ),
    )
    const later = await this.#later()
    const mail = entries.flatMap(({ activation, event }): ForkPlan['mail'][number][] => {
      if (event.type !== 'message.sent' || heard.has(event.id) || over.has(activation)) return []
      const body = later.get(event.id)
      if (body === undefined) return []
      if (body.type !== 'message') return [{ activation, key: `refused:${event.id}`, body }]
      return over.has(event.to) ? [] : [{ activation: event.to, key: event.id, body: { ...body, from: activation } }]
    })
    mail.push(...this.#waits(entries).filter(({ activation }) => !over.has(activation)))
    const { edit, to, by } = this.#request
    if (edit?.type !== 'message') return mail
    const target = this.#moved(edit.to) as ActivationId
    if (over.has(target) || !all.some(({ activation }) => activation === target))
      throw invalid(
        `no activation ${edit.to} is open at position ${this.#request.at}`,
        'A message is for an activation that has begun and has not ended.',
      )
    return [
      ...mail,
      {
        activation: target,
        key: `msg_${to}.edit`,
        body: { type: 'message', id: `msg_${to}.edit`, ...present({ by }), body: edit.body },
      },
    ]
  }

  /**
   * What workers have told their leaders of waiting for a human, and will tell them anew: what is left of it is taken
   * back.
   */
  #waits(entries: readonly ForkEntry[]): ForkPlan['mail'] {
    const sent = new Set(entries.flatMap(({ event }) => (event.type === 'message.sent' ? [event.id as string] : [])))
    const left = new Map<string, { activation: ActivationId; from: ActivationId; waiting: number }>()
    for (const { activation, event } of entries) {
      if (event.type !== 'message.received' || event.from === undefined || sent.has(event.id)) continue
      if (!humanWaits.claims(event.body)) continue
      const pair = `${activation} ${event.from}`
      const one = left.get(pair) ?? { activation, from: event.from, waiting: 0 }
      left.set(pair, { ...one, waiting: one.waiting + (event.body['waits'] === true ? 1 : -1) })
    }
    return [...left.values()].flatMap(({ activation, from, waiting }, pair) =>
      Array.from({ length: Math.abs(waiting) }, (_, i) => {
        const id = `msg_${this.#request.to}.waits.${pair}.${i}`
        return {
          activation,
          key: id,
          body: { type: 'message' as const, id, from, body: humanWaits.message({ waits: waiting < 0 }) },
        }
      }),
    )
  }

  /** What became of messages, by their ids: of those that were received it counts that they are to be received again. */
  async #later(): Promise<ReadonlyMap<string, Extract<InboxMail, { type: 'message' | 'refused' }>>> {
    const later = new Map<string, Extract<InboxMail, { type: 'message' | 'refused' }>>()
    for (const mail of this.#origin.mail)
      if (mail.type === 'message' || mail.type === 'refused') later.set(mail.id, this.#mailMoved(mail))
    for await (const piece of this.#slices.of(this.#origin.feed))
      for (const { event } of piece)
        if (event.type === 'message.received')
          later.set(event.id, this.#mailMoved({ type: 'message', id: event.id, body: event.body }))
        else if (event.type === 'message.refused')
          later.set(event.id, { type: 'refused', id: event.id, reason: event.reason })
    return later
  }

  #mailMoved<M extends InboxMail>(mail: M): M {
    return this.#moved(mail as unknown as Json) as unknown as M
  }

  #values(): ReadonlyMap<string, Json> {
    const { forget: without = [], queue } = this.#request
    const forget = new Set(without)
    return new Map(
      [...this.#origin.values].flatMap(([key, value]) => {
        if (forget.has(key)) return []
        const own = this.#moved(value)
        return [[key, key === queue?.key ? { roots: this.#ownIn(own) } : own] as const]
      }),
    )
  }

  /** Of a queue of runs: the fork alone. */
  #ownIn(queue: Json | undefined): Json {
    return rootsInQueue(queue).filter((root) => root === this.#root)
  }

  /**
   * Where its origin waited in the queue of its stream: the fork's turn has come, since it is alone in its own. What
   * counts is the queue as the copied part has heard it.
   */
  #turn(entries: readonly ForkEntry[]): ForkPlan['mail'] {
    const { queue, to } = this.#request
    if (queue === undefined) return []
    const names = ['get', 'update'].map((verb) => addressName(`${valueStep()}.${verb}:${queue.key}`))
    const heard = entries.findLast(
      ({ activation, event }) =>
        activation === this.#root &&
        event.type === 'step.settled' &&
        names.includes(event.address.slice(event.address.lastIndexOf('/') + 1).replace(/#\d+$/, '')),
    )?.event
    if (heard?.type !== 'step.settled' || heard.outcome.status !== 'completed') return []
    const roots = rootsInQueue(heard.outcome.output)
    if (roots[0] === this.#root || !roots.includes(this.#root)) return []
    const id = `msg_${to}.turn`
    return [{ activation: this.#root, key: id, body: { type: 'message', id, body: queue.turn } }]
  }

  /** The same with every activation of the origin as that of the fork. */
  #moved(value: Json): Json {
    const [from, to] = [this.#from, this.#root]
    if (typeof value === 'string')
      return value === from || value.startsWith(`${from}>`) ? to + value.slice(from.length) : value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return (value as readonly Json[]).map((each) => this.#moved(each))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.#moved(each)]))
  }
}

/** The input of an activation with other versions of agents, and with another brief. On a bare engine it is as it was. */
function triedInput(input: Json, versions: JsonObject | undefined, brief?: Json): Json {
  if (!isEdge(input)) return input
  const before = isObject(input['versions']) ? input['versions'] : {}
  return {
    ...input,
    ...(versions === undefined ? undefined : { versions: { ...before, ...versions } }),
    ...present({ brief }),
  }
}

const isEnd = (event: JournalEvent) =>
  event.type === 'step.settled' ||
  event.type === 'worker.settled' ||
  event.type === 'ask.settled' ||
  event.type === 'activation.settled'

/** The events by which it is known what became of messages. */
const aboutMail: ReadonlySet<JournalEvent['type']> = new Set([
  'activation.settled',
  'message.sent',
  'message.received',
  'message.refused',
])

const outside = (effect: string): boolean => effect === 'once' || effect === 'idempotent'

/** Of an activation, the last name in its id. */
const nameOf = (activation: ActivationId): string =>
  activation.slice(Math.max(activation.lastIndexOf('>'), activation.lastIndexOf('/')) + 1)

/** An outcome that whoever forks has given. */
const givenBy = (outcome: Outcome, by: string | undefined): Outcome =>
  outcome.status === 'completed' ? { ...outcome, ...present({ by }) } : outcome

type RedactText = (text: string, shape: Shape) => string

/** A request without what may not be recorded: the edit goes into the fork's log as it stands here. */
export const redactedFork = (request: ForkRun, redact: RedactText): ForkRun => ({
  ...request,
  ...present({ edit: redactedEdit(request.edit, redact) }),
})

const redactedEdit = (edit: ForkEdit | undefined, redact: RedactText): ForkEdit | undefined =>
  edit && (JSON.parse(redact(JSON.stringify(edit), editShape)) as ForkEdit)
