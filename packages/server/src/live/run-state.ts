/**
 * The live state of a run: everything that a `LiveRun` shows, by key, and what of it changed since when.
 *
 * Owns: folding events, which keys an event touches, cutting long values, `limits` and `reserved` of activations,
 * snapshots and patches as JSON text. Does not own: reading the journal and when to look again (watched-run.ts).
 * Holds: K1: a snapshot is a function of the events so far and of the status that the store knows. Patches applied in
 * order to a snapshot give the later snapshot.
 */
import {
  isObject,
  parentOf,
  present,
  type ActivationId,
  type Draft,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'
import { briefValue, readEdge } from '@reeve/edge'
import {
  activationViewOf,
  foldChange,
  foldState,
  foldTimeline,
  headOf,
  isEdge,
  newRunFold,
  newTimelineFold,
  RunIndex,
  teamViewsOf,
  type DoubtView,
  type FoldState,
  type IndexChange,
  type IndexedOperation,
  type Recorded,
  type RunFold,
  type TimelineFold,
} from '@reeve/journal'
import { hasEnded, type Question, type RunSummary } from '@reeve/runtime'
import type { LiveActivation, LiveDoubt, LiveRun, RunHead } from '../wire.ts'
import { cut } from './cut.ts'

/** What the store knows of a run and its journal does not. */
export type StoreStatus = Pick<RunSummary, 'status' | 'reason' | 'failure' | 'queued'>

type Part = Exclude<keyof LiveRun, 'head'>
const parts: readonly Part[] = ['activations', 'approvals', 'interrupts', 'doubts', 'teams']

interface ShownValue {
  readonly json: string
  readonly order: number
}

interface ShownChange {
  readonly version: number
  readonly part: keyof LiveRun
  readonly key: string
}

/** Characters that are shown of the outcome of an activation, and of the texts of the run itself. */
const textOfActivation = 300
const textOfRun = 4_000
/** Questions that are answered: so many of the newest are shown. */
const answeredShown = 200
/** Changes that are remembered: a reader that has seen less than these gets a snapshot. */
const changesKept = 20_000

export class RunState {
  readonly #index = new RunIndex()
  readonly fold: RunFold = newRunFold(this.#index)
  readonly timeline: TimelineFold = newTimelineFold(this.#index)
  /** Grows with every change of what is shown. */
  version = 0
  #events = 0
  /** The position of the last event in the feed of the run itself, without its child runs. */
  #position = 0
  readonly #limits = new Map<ActivationId, NonNullable<LiveActivation['limits']>>()
  /** Arguments of calls that an activation's model asked for and that have not ended, by the id of the call. */
  readonly #calls = new Map<ActivationId, Map<string, Json>>()
  readonly #touched = new Set<ActivationId>()
  readonly #shown: Readonly<Record<Part, Map<string, ShownValue>>> = {
    activations: new Map(),
    approvals: new Map(),
    interrupts: new Map(),
    doubts: new Map(),
    teams: new Map(),
  }
  #head = ''
  #changes: ShownChange[] = []
  #order = 0
  #snapshot: { readonly version: number; readonly json: string } | undefined
  #patch: { readonly from: number; readonly to: number; readonly json: string } | undefined

  /** The index of the run's activations. */
  get index(): RunIndex {
    return this.#index
  }

  /** Takes in the next event. `position`: in the feed of the run itself. */
  take(recorded: Recorded, position: number): void {
    const change = this.#index.take(recorded)
    if (change === undefined) return
    this.#events++
    this.#position = Math.max(this.#position, position)
    foldChange(this.fold, recorded, change)
    foldTimeline(this.timeline, recorded, change)
    this.#note(recorded, change)
  }

  #note({ activation, event }: Recorded, { closed }: IndexChange): void {
    this.#touch(activation)
    switch (event.type) {
      case 'activation.started': {
        const limits = limitsIn(event.input)
        if (limits !== undefined) this.#limits.set(activation, limits)
        return
      }
      case 'task.started':
        this.#touch(event.activation)
        return
      case 'worker.started':
      case 'worker.settled':
        if (event.apart === true) this.#touch(`${activation}>>${event.address}` as ActivationId)
        if (event.type === 'worker.settled') this.#forget(activation, closed)
        return
      case 'step.settled':
        this.#remember(activation, closed[0]?.event, event.outcome)
        this.#forget(activation, closed)
        return
      case 'activation.settled':
        this.#calls.delete(activation)
        return
      default:
    }
  }

  #touch(activation: ActivationId): void {
    for (
      let at: ActivationId | undefined = activation;
      at !== undefined && !this.#touched.has(at);
      at = parentOf(at)?.parent
    )
      this.#touched.add(at)
  }

  #remember(activation: ActivationId, opened: IndexedOperation['event'] | undefined, outcome: Outcome): void {
    if (opened?.type !== 'model.requested' || outcome.status !== 'completed' || !isObject(outcome.output)) return
    const { calls } = outcome.output
    if (!Array.isArray(calls)) return
    const known = this.#calls.get(activation) ?? new Map<string, Json>()
    this.#calls.set(activation, known)
    for (const call of calls as readonly Json[])
      if (isObject(call) && typeof call['id'] === 'string') known.set(call['id'], call['input'] ?? null)
  }

  #forget(activation: ActivationId, closed: IndexChange['closed']): void {
    for (const { event } of closed)
      if ('callId' in event && event.callId !== undefined) this.#calls.get(activation)?.delete(event.callId)
  }

  /** There are doubts, whose questions `show` needs to know. */
  get hasDoubts(): boolean {
    return this.fold.doubts.size > 0
  }

  /** Brings what is shown up to the events taken in. Raises `version` if that changed anything. */
  show(status: StoreStatus | undefined, questions: readonly Question[]): void {
    const before = this.version
    const state = foldState(this.fold)
    const next = before + 1
    const changed = (part: keyof LiveRun, key: string): void => {
      this.version = next
      this.#changes.push({ version: next, part, key })
    }
    this.#showActivations(state, changed)
    this.#showQuestions('approvals', this.fold.approvals, changed)
    this.#showQuestions('interrupts', this.fold.interrupts, changed)
    const doubts = this.#doubts(questions)
    this.#set('doubts', new Map(doubts.map((each) => [each.id, each])), changed)
    if (this.#touched.size > 0 && this.fold.teams.teams.size > 0)
      this.#set(
        'teams',
        new Map(teamViewsOf(this.fold, state).map((each) => [each.activation, cutTeam(each)])),
        changed,
      )
    const head = JSON.stringify(this.#headOf(state, status))
    if (head !== this.#head) {
      this.#head = head
      changed('head', '')
    }
    this.#touched.clear()
    if (this.#changes.length > 2 * changesKept) this.#changes = this.#changes.slice(-changesKept)
  }

  #showActivations(state: FoldState, changed: (part: Part, key: string) => void): void {
    const reserved = this.#reserved()
    for (const id of this.#touched) {
      const view = activationViewOf(this.fold, id, state)
      if (view === undefined) continue
      const limits = this.#limits.get(id)
      const live: LiveActivation = {
        ...view,
        ...cutOutcome(view.outcome, textOfActivation),
        ...(limits === undefined ? {} : { limits, reserved: reserved.get(id) ?? { tokens: 0, usd: 0 } }),
      }
      this.#put('activations', id, live, changed)
    }
  }

  /**
   * What is reserved for calls in flight at and below each activation that has limits. What a worker placed apart may
   * use is reserved above it; what is reserved inside is a part of that.
   */
  #reserved(): ReadonlyMap<ActivationId, { tokens: number; usd: number }> {
    const reserved = new Map<ActivationId, { tokens: number; usd: number }>()
    if (this.#limits.size === 0) return reserved
    for (const { id, open } of this.#index.activations.values()) {
      for (const { event } of open.values()) {
        if (event.op === 'ask' || event.refused !== undefined || event.reserve === undefined) continue
        const { tokens = 0, usd = 0 } = event.reserve
        for (let at: ActivationId | undefined = id; at !== undefined; at = leaderInRun(at)) {
          const sum = reserved.get(at) ?? { tokens: 0, usd: 0 }
          reserved.set(at, { tokens: sum.tokens + tokens, usd: sum.usd + usd })
        }
      }
    }
    return reserved
  }

  #showQuestions<Q extends { readonly open: boolean; readonly activation: ActivationId }>(
    part: 'approvals' | 'interrupts',
    all: ReadonlyMap<string, Q>,
    changed: (part: Part, key: string) => void,
  ): void {
    const answered = [...all.values()].filter(({ open }) => !open).length
    let left = Math.max(0, answered - answeredShown)
    for (const [id, each] of all) {
      if (!each.open && left-- > 0) {
        if (this.#shown[part].delete(id)) changed(part, id)
      } else if (this.#touched.has(each.activation)) this.#put(part, id, cutQuestion(each), changed)
    }
  }

  /** Puts a value in its place; nothing happens if it is what is there. */
  #put(part: Part, key: string, value: unknown, changed: (part: Part, key: string) => void): void {
    const json = JSON.stringify(value)
    const old = this.#shown[part].get(key)
    if (old?.json === json) return
    this.#shown[part].set(key, { json, order: old?.order ?? this.#order++ })
    changed(part, key)
  }

  /** Makes these values all that there is. */
  #set(part: Part, values: ReadonlyMap<string, unknown>, changed: (part: Part, key: string) => void): void {
    for (const key of this.#shown[part].keys()) {
      if (values.has(key)) continue
      this.#shown[part].delete(key)
      changed(part, key)
    }
    for (const [key, value] of values) this.#put(part, key, value, changed)
  }

  #headOf(state: FoldState, store: StoreStatus | undefined): RunHead {
    const { caller, input, outcome, cancel, status, ...head } = headOf(this.fold, state)
    const { user, session, tenant, metadata, trial } = caller
    const isOver = hasEnded(status)
    const known = isOver ? undefined : store
    // why a run is stuck may be what its journal cannot hold; a timer that was called off stands in it as open
    const isStuck = known?.status === 'stuck' || (known?.status === 'waiting' && status === 'running')
    return {
      ...head,
      status: known !== undefined && (isStuck || known.queued !== undefined) ? known.status : status,
      ...cutInput(askedOf(input)),
      ...present({
        user,
        session,
        tenant,
        trial,
        cancel,
        reason: known?.reason,
        failure: known?.failure,
        queued: known?.queued,
      }),
      ...(metadata === undefined ? {} : { metadata: cut(metadata, textOfRun) as JsonObject }),
      ...cutOutcome(outcome, 4 * textOfRun),
      events: this.#events,
      position: this.#position,
    }
  }

  #doubts(questions: readonly Question[]): readonly LiveDoubt[] {
    return [...this.fold.doubts.values()].flatMap((doubt) => {
      const question = questions.find((each) => asks(each, doubt))
      return question === undefined ? [] : [this.#doubt(doubt, question.id)]
    })
  }

  #doubt({ kind, activation, address, since, unclaimed, trial }: DoubtView, id: string): LiveDoubt {
    const event = this.#index.activations.get(activation)?.open.get(address)?.event
    const name =
      event?.type === 'tool.called' ? event.tool : event?.type === 'model.requested' ? event.model : undefined
    const called = event?.type === 'tool.called' ? event : undefined
    const input =
      called?.input ?? (called?.callId === undefined ? undefined : this.#calls.get(activation)?.get(called.callId))
    return {
      id,
      kind,
      activation,
      address,
      since,
      unclaimed,
      ...present({ name, trial }),
      ...(input === undefined ? {} : { input: cut(input, 4 * textOfRun) }),
    }
  }

  /** Everything, as the JSON of a `LiveRun`. */
  snapshot(): string {
    if (this.#snapshot?.version === this.version) return this.#snapshot.json
    const members = parts.map((part) => {
      const values = [...this.#shown[part]].toSorted(([, a], [, b]) => a.order - b.order)
      return `"${part}":{${values.map(([key, { json }]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
    })
    const json = `{"head":${this.#head},${members.join(',')}}`
    this.#snapshot = { version: this.version, json }
    return json
  }

  /**
   * What changed since a version, as the JSON of a `LivePatch`. Undefined: that is too long ago, and a snapshot is
   * shorter.
   */
  patchSince(version: number): string | undefined {
    if (this.#patch?.from === version && this.#patch.to === this.version) return this.#patch.json
    const oldest = this.#changes[0]?.version ?? this.version
    if (version < oldest - 1 && version < this.version) return undefined
    const keys: Draft<Partial<Record<keyof LiveRun, Set<string>>>> = {}
    for (let i = this.#changes.length - 1; i >= 0 && this.#changes[i]!.version > version; i--) {
      const { part, key } = this.#changes[i]!
      ;(keys[part] ??= new Set()).add(key)
    }
    const members = Object.entries(keys).map(([part, changed]) =>
      part === 'head' ? `"head":${this.#head}` : `"${part}":{${this.#members(part as Part, [...changed]).join(',')}}`,
    )
    const json = `{${members.join(',')}}`
    this.#patch = { from: version, to: this.version, json }
    return json
  }

  #members(part: Part, keys: readonly string[]): readonly string[] {
    const shown = this.#shown[part]
    return keys
      .toSorted((a, b) => (shown.get(a)?.order ?? 0) - (shown.get(b)?.order ?? 0))
      .map((key) => `${JSON.stringify(key)}:${shown.get(key)?.json ?? 'null'}`)
  }
}

const asks = ({ kind, activation, address, body }: Question, doubt: DoubtView): boolean =>
  kind === doubt.kind &&
  activation === doubt.activation &&
  (address === doubt.address || (isObject(body) && body['address'] === doubt.address))

/** The leader whose accounts pay for what this activation does: none above a worker that is placed apart. */
function leaderInRun(activation: ActivationId): ActivationId | undefined {
  const place = parentOf(activation)
  return place === undefined || place.apart ? undefined : place.parent
}

/** What an activation was asked, without what else crossed to it. */
export const askedOf = (input: Json): Json => (isEdge(input) ? briefValue(readEdge(input).work.brief) : input)

function limitsIn(input: Json): LiveActivation['limits'] {
  if (!isEdge(input)) return undefined
  const { tokens, usd } = readEdge(input).bounds.limits ?? {}
  return tokens === undefined && usd === undefined ? undefined : present({ tokens, usd })
}

function cutInput(input: Json): Pick<RunHead, 'input' | 'inputCut'> {
  const shown = cut(input, textOfRun)
  return shown === input ? { input } : { input: shown, inputCut: true }
}

function cutOutcome(outcome: Outcome | undefined, most: number): Pick<RunHead, 'outcome' | 'outcomeCut'> {
  if (outcome === undefined) return {}
  const shown = cut(outcome as unknown as Json, most) as unknown as Outcome
  return shown === outcome ? { outcome } : { outcome: shown, outcomeCut: true }
}

/** A question with its long values cut; of an open approval the arguments are whole: they are what is decided. */
function cutQuestion(question: { readonly open: boolean }): unknown {
  const most = question.open ? 64_000 : 1_000
  return Object.fromEntries(
    Object.entries(question).map(([name, value]) => [name, name === 'path' ? value : cut(value as Json, most)]),
  )
}

/** A team with the results, the mail and the reasons in it cut. */
const cutTeam = (team: object): unknown =>
  Object.fromEntries(Object.entries(team).map(([name, value]) => [name, cutTexts(value as Json)]))

/** The value with every text in it of at most so many characters. */
function cutTexts(value: Json): Json {
  if (typeof value === 'string') return cut(value, 2_000)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(cutTexts)
  return Object.fromEntries(Object.entries(value as JsonObject).map(([name, each]) => [name, cutTexts(each)]))
}
