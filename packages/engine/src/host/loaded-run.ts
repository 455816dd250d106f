/**
 * A run in memory: its activations, what of it is out, and what holds it back.
 */
import {
  copy,
  deepFreeze,
  rootActivation,
  stopwatch,
  type ActivationId,
  type Json,
  type RunId,
  ChurnMap,
  ChurnSet,
} from '@reeve/core'
import type { Caller } from '@reeve/journal'
import type { ActivationHost } from '../replay/activation-host.ts'
import type { OriginDeeds } from '../replay/origin.ts'
import type { Account } from '../replay/account.ts'
import { Activation } from '../replay/activation.ts'
import type { Birth, Operation } from '../replay/operation.ts'
import type { InboxRow, Past } from '../store.ts'

/**
 * Where a pause takes hold. `next`: before any new effect. `after-model`: same, a model call in flight may end.
 * `after-tools`: tools may still start. `human`: as `next`, and a human has the run.
 */
export type PausePoint = 'next' | 'now' | 'after-model' | 'after-tools' | 'human'

/**
 * An activation of a run in memory. It knows the run that it was loaded with: where that is void, what the activation
 * asks for has no effect, also if the run has been read again since (K2).
 */
export class LoadedActivation extends Activation {
  readonly run: LoadedRun
  /** The operation of its leader that has started it. Undefined: it is the root. */
  readonly startedBy: Operation | undefined
  /** It is in the list of those that have something to deliver. */
  isReady = false

  constructor(host: ActivationHost, birth: Birth, run: LoadedRun, startedBy: Operation | undefined) {
    super(host, birth)
    this.run = run
    this.startedBy = startedBy
  }
}

/** What one process holds of a run that it drives. */
export class LoadedRun {
  readonly id: RunId
  readonly rootId: ActivationId
  readonly caller: Caller
  epoch: number
  /** It was dropped: what this process knows of the run, if anything, is another one of these. */
  isVoid = false
  readonly activations = new ChurnMap<ActivationId, LoadedActivation>()
  /** Of activations that have not settled. */
  readonly accounts = new ChurnMap<ActivationId, Account>()
  /** Accounts that have changed since they were last written. */
  readonly dirty: Account[] = []
  /** Effects let out or about to be, whose end is not known yet. */
  readonly out = new ChurnSet<Operation>()
  /** Effects held back by a pause. */
  held: Operation[] = []
  pause: { at: PausePoint; reached: boolean; callOff?: () => void } | undefined
  /** What replay reads. Undefined: it began here, and has nothing to replay. */
  readonly past: Past | undefined
  /** Workers whose birth waits for what the store says of an earlier attempt, and what is to be done with them then. */
  readonly unborn = new ChurnMap<ActivationId, (() => void) | undefined>()
  /** Child runs that have not ended. */
  readonly children = new ChurnSet<RunId>()
  /** Inbox rows for activations that are not in memory yet. */
  readonly mail = new ChurnMap<ActivationId, InboxRow[]>()
  /** The last inbox row that was received. */
  lastRow = 0
  /** Open questions to the outside (timers are not counted). */
  questions = 0
  /** Answers to "did this happen?" that came before the code had asked. */
  readonly doubts = new ChurnMap<string, () => void>()
  quietSince: number | undefined
  /** When something was last done for it, by the stopwatch. */
  movedAt = stopwatch()
  stuck: string | undefined
  /** It is stuck because code is missing here. */
  lacksCode = false
  /** It was set aside, and an operator lets it try again, or ends it: that runs none of its code. */
  broughtBack: 'cancel' | 'resume' | undefined
  ended = false
  /** Of a forked run: what its origin has done. */
  origin: OriginDeeds | undefined
  /** Read it again from the store as soon as the current commit is through. */
  reload = false

  constructor(id: RunId, epoch: number, caller: Caller, past?: Past) {
    this.id = id
    this.rootId = rootActivation(id)
    this.past = past
    this.epoch = epoch
    this.caller = deepFreeze(copy(caller as Json)) as Caller
  }

  addAccount(account: Account): void {
    this.accounts.set(account.activation, account)
    const noteDirty = (changed: Account): void => void this.dirty.push(changed)
    account.onChange = noteDirty
    if (account.dirty) this.dirty.push(account)
  }

  get root(): LoadedActivation | undefined {
    return this.activations.get(this.rootId)
  }

  /** Whether this effect has to wait now. */
  holds(op: Operation): boolean {
    return this.pause !== undefined && !(this.pause.at === 'after-tools' && op.effect !== 'model')
  }

  /** Nothing in it moves without the outside or the clock. */
  get quiet(): boolean {
    if (this.out.size > 0 || this.unborn.size > 0 || this.ended) return false
    for (const activation of this.activations.values()) {
      // what has come in for it stays in the store for a process that has its code
      if (this.lacksCode && activation.stuck !== undefined) continue
      if (activation.awaitsForeign || activation.hasLive || activation.replaying) return false
    }
    return true
  }

  /** Makes memory void: whatever its code still does has no effect. */
  discard(): void {
    this.isVoid = true
    for (const activation of this.activations.values()) activation.discarded = true
    for (const account of this.accounts.values()) account.callOff?.()
    this.pause?.callOff?.()
    this.activations.clear()
  }
}
