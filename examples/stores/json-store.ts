/**
 * A store outside of the packages: all of it in one JSON file, which each commit writes anew. It imports what users
 * import, and nothing behind that.
 *
 * Owns: what the contract of a store asks for, in its plainest form: lists that are searched from the beginning. Does not
 * own: several processes, live parts between them, setting aside a run that ends its process again and again.
 * Holds: K2 (epochs; unique keys name the winner of a post), K5 (a change is on disk before it is seen, or has not
 * happened).
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { ReeveError, type Json, type RunId } from 'reeve'
import {
  askKey,
  deadlineBody,
  decode,
  isEndEvent,
  missingCodeEnding,
  queriesOver,
  refusedBy,
  rootActivation,
  runOf,
  runStream,
  valuesHeard,
  type AccountState,
  type ActivationId,
  type Batch,
  type BatchResult,
  type ClaimCandidate,
  type Claimed,
  type ClaimFilter,
  type Clock,
  type InboxRow,
  type NewQuestion,
  type NewRow,
  type Past,
  type PostResult,
  type ScannedRun,
  type Store,
  type StoredEntry,
  type StoredRun,
  type StoreLease,
  type StoreQueries,
  type StoreReader,
  type SummaryRow,
  type Unread,
  type ValueResult,
  type ValueWrite,
} from 'reeve/engine'

type Open<T> = { -readonly [Name in keyof T]: T[Name] }
interface Entry {
  readonly position: number
  readonly act: ActivationId
  readonly run: RunId
  readonly seq: number
  readonly at: number
  readonly body: string
}
interface Mail extends InboxRow {
  isTaken: boolean
}
type Asked = Open<NewQuestion> & { readonly num: number }
interface Run extends Open<SummaryRow> {
  /** What it has written to streams: the entry, by stream and key. */
  done: Record<string, number>
}
interface Stream {
  values: Record<string, { readonly version: number; readonly body: string }>
  log: { readonly at: number; readonly body: string }[]
}

/** It answers at once. */
interface OwnLease extends StoreLease {
  guard(): void
}

/** All that is kept: plain JSON. */
interface State {
  id: string
  /** The last position, row and question that were given: none is given twice. */
  last: { position: number; row: number; question: number }
  hasOwnClock: boolean
  runs: Record<string, Run>
  acts: Record<string, { summed: { from: number; upTo: number }[]; account?: AccountState }>
  entries: Entry[]
  mail: Mail[]
  questions: Asked[]
  streams: Record<string, Stream>
}

const empty = (): State => ({
  id: `sto_${randomUUID()}`,
  last: { position: 0, row: 0, question: 0 },
  hasOwnClock: false,
  runs: {},
  acts: {},
  entries: [],
  mail: [],
  questions: [],
  streams: {},
})

/** What the file keeps of a store is written whole, under another name first: a crash leaves the one or the other. */
function write(file: string, state: State): void {
  const next = `${file}.next`
  writeFileSync(next, JSON.stringify(state))
  const handle = openSync(next, 'r')
  fsyncSync(handle)
  closeSync(handle)
  renameSync(next, file)
}

/** The store is well, and the content is not. */
class Refused extends Error {}

export interface JsonStoreOptions {
  readonly clock?: Clock
  /** After it stood still for this long the process looks at its runs anew. Milliseconds, default 3,000. */
  readonly leaseMs?: number
}

export class JsonStore implements Store {
  readonly name: string
  readonly kind = 'json'
  readonly isPrivate = true
  readonly commitsFree = false
  readonly queries: StoreQueries
  readonly lease: OwnLease
  readonly reader: StoreReader & Past
  readonly #clock: Clock | undefined
  #state: State | undefined
  /** The last row that was told; runs that were claimed, and have not been asked for since. */
  #told: number
  readonly #claimed = new Set<RunId>()
  /** Runs that have ended since this was last asked. */
  #ended: RunId[] = []

  constructor(file: string, { clock, leaseMs = 3_000 }: JsonStoreOptions = {}) {
    this.name = file
    this.#clock = clock
    this.#state = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as State) : empty()
    this.#told = this.#state.last.row
    this.lease = this.#newLease(`prc_${randomUUID()}`, leaseMs)
    this.reader = this.#newReader()
    this.queries = queriesOver({
      runs: (of) =>
        Object.values(this.#open.runs)
          .filter(({ id }) => of === undefined || id === of || id.startsWith(`${of}>`))
          .map((run) => this.#scanned(run)),
      processes: () => [{ id: this.lease.id, isAlive: true, drives: [] }],
    })
  }

  get #open(): State {
    if (this.#state !== undefined) return this.#state
    throw new ReeveError('store.unavailable', `${this.name}: the store was closed`)
  }
  /** All of a change or nothing: what throws has changed nothing. */
  #change<T>(work: (state: State) => T): T {
    const next = structuredClone(this.#open)
    const answer = work(next)
    write(this.name, next)
    this.#state = next
    return answer
  }
  #now(): number {
    return this.#clock?.now() ?? Date.now()
  }

  id(): string {
    return this.#open.id
  }
  commit(batch: Batch): BatchResult {
    const result = this.#change((state) => apply(state, batch))
    this.#ended.push(...batch.ended.flatMap(({ run }) => ((this.#open.runs[run]?.ended ?? null) === null ? [] : [run])))
    return result
  }
  synced(): undefined {
    // a commit is on disk when it returns
  }

  #newLease(id: string, leaseMs: number): OwnLease {
    let until = 0
    let stoodStill = false
    const beat = (): void => {
      void this.#open
      stoodStill ||= until !== 0 && this.#now() >= until
      until = this.#now() + leaseMs
    }
    const isFresh = (): boolean => !stoodStill && this.#now() < until
    const isDue = (): boolean => this.#now() > until - (leaseMs * 2) / 3
    return {
      id,
      get fresh() {
        return isFresh()
      },
      get heartbeatDue() {
        return isDue()
      },
      beat,
      guard: () => (isDue() ? beat() : undefined),
      // no other process asks how this one is
      moved: () => {},
      stretch: () => {},
      reclaim: (runs) => {
        beat()
        stoodStill = false
        return new Set([...runs].flatMap(([run, epoch]) => (this.#isHeld(run, epoch) ? [run] : [])))
      },
      resetLosses: (runs) =>
        this.#change(({ runs: all }) => {
          for (const run of runs) if (all[run]?.owner === id) all[run].losses = 0
        }),
      // whoever held runs before this process is gone: the file is opened by one process alone
      releaseDead: () => {
        const isLost = ({ owner }: Run): boolean => owner !== null && owner !== id
        const owners = new Set(Object.values(this.#open.runs).filter(isLost).map(({ owner }) => owner)) // prettier-ignore
        if (owners.size > 0)
          this.#change(({ runs }) => {
            for (const run of Object.values(runs).filter(isLost)) run.owner = null
          })
        return { owners: owners.size, aside: [] }
      },
      abandon: () => {
        until = 0
      },
    }
  }
  #isHeld(id: RunId, epoch: number): boolean {
    const run = this.#open.runs[id]
    return run?.owner === this.lease.id && run.epoch === epoch
  }

  claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Claimed[] {
    const limit = 'limit' in wanted ? wanted.limit : Infinity
    const admitted = new Map<RunId, ClaimCandidate>()
    for (const run of wantedOf(this.#open, wanted).map(storedRun)) {
      const isOthers = run.owner !== null && run.owner !== this.lease.id
      if (admitted.size >= limit || admitted.has(run.id as RunId) || run.ended !== null || isOthers) continue
      const candidate = { ...run, command: run.stuck === null ? undefined : commandTo(this.#open, run.id) }
      if (admits(candidate)) admitted.set(run.id as RunId, candidate)
    }
    if (admitted.size === 0) return []
    this.lease.guard()
    this.#change(({ runs }) => {
      for (const id of admitted.keys())
        Object.assign(runs[id]!, { owner: this.lease.id, epoch: runs[id]!.epoch + 1, parked: 0 })
    })
    return [...admitted].map(([id, before]) => {
      this.#claimed.add(id)
      return {
        run: before,
        epoch: this.#open.runs[id]!.epoch,
        accounts: accountsOf(this.#open, id),
        questions: askedBy(this.#open, id).length,
        children: Object.values(this.#open.runs).flatMap((run) =>
          run.id.startsWith(`${id}>`) && run.ended === null ? [run.id as RunId] : [],
        ),
        past: this.reader,
        mail: unreadOf(this.#open, id),
      }
    })
  }

  unread(held: ReadonlyMap<RunId, { readonly lastRow: number }>): Unread {
    const rows: InboxRow[] = []
    const others = new Set<RunId>()
    for (const id of this.#claimed) {
      const holder = held.get(id)
      if (holder === undefined) continue
      this.#claimed.delete(id)
      rows.push(...unreadOf(this.#open, id).filter(({ position: at }) => at > holder.lastRow && at <= this.#told))
    }
    for (const row of this.#open.mail.filter(({ position, isTaken }) => position > this.#told && !isTaken)) {
      const holder = held.get(runOf(row.act))
      if (holder === undefined) others.add(runOf(row.act))
      else if (row.position > holder.lastRow) rows.push(row)
    }
    this.#told = this.#open.last.row
    return { rows, others: [...others] }
  }
  letGo(): void {
    // no other process could take them up
  }
  release(): void {
    const id = this.lease.id
    this.#change(({ runs }) => {
      for (const run of Object.values(runs)) if (run.owner === id) Object.assign(run, { owner: null, losses: 0 })
    })
    this.lease.abandon()
  }

  #scanned(run: Run): ScannedRun {
    const state = this.#open
    return {
      ...run,
      asks: askedBy(state, run.id as RunId).map((each) => ({ ...each, answered: isAnswered(state, each) })),
      mail: unreadOf(state, run.id as RunId),
      lastAt: Math.max(run.created, ...state.entries.flatMap((each) => (each.run === run.id ? [each.at] : []))),
    }
  }

  #newReader(): StoreReader & Past {
    const state = (): State => this.#open
    const runs = (fits: (run: Run) => boolean): RunId[] =>
      Object.values(state().runs).flatMap((run) => (fits(run) ? [run.id as RunId] : []))
    const read: StoreReader & Past = {
      *activation(id) {
        let from = 0
        const log = logOf(state(), id)
        for (const part of [...(state().acts[id]?.summed ?? []), { from: Infinity, upTo: 0 }]) {
          yield* log.filter(({ seq }) => seq >= from && seq < part.from).map(stored)
          from = part.upTo
        }
      },
      log: (id) => logOf(state(), id).map(stored),
      lastEvent: (id) => logOf(state(), id).map(stored).at(-1)?.event,
      asked: (id) => state().questions.some((each) => each.id === id),
      birth: (run) => logOf(state(), rootActivation(run)).map(stored)[0]?.event,
      end: (run) => {
        const event = logOf(state(), rootActivation(run)).map(stored).at(-1)?.event
        return event?.type === 'activation.settled' ? { outcome: event.outcome, usage: event.usage ?? [] } : undefined
      },
      ends: (asked) =>
        new Map(
          this.#ended
            .splice(0)
            .filter((id) => asked.has(id))
            .flatMap((id) => {
              const end = read.end(id)
              return end === undefined || end instanceof Promise ? [] : [[id, end] as const]
            }),
        ),
      feed: (run, from, limit = Infinity, length = Infinity) => {
        let left = length
        return state()
          .entries.filter((each) => each.run === run && each.position > from)
          .slice(0, limit)
          .filter(({ body }) => left > 0 && ((left -= body.length), true))
          .map((each) => ({ ...stored(each), position: each.position, run }))
      },
      page: (from, limit) => {
        const top = state().last.position
        if (from === 'now') return { events: [], upTo: top }
        const events = state()
          .entries.filter(({ position }) => position > from)
          .slice(0, limit)
          .map(({ position, run, ...each }) => ({ ...stored({ position, run, ...each }), id: position, position, run }))
        return { events, upTo: events.length === limit ? events.at(-1)!.id : Math.max(top, from) }
      },
      hasNews: (run, from) =>
        state().runs[run]?.ended !== null || state().entries.some((each) => each.run === run && each.position > from),
      below: (id) =>
        state()
          .entries.filter(({ act }) => act === id || act.startsWith(`${id}>`))
          .map(stored),
      run: (id) => {
        const row = state().runs[id]
        return row && storedRun(row)
      },
      origin: (run, at, streamFor, beginning = []) => {
        const [row, rest] = [read.run(run), read.feed(run, beginning.at(-1)?.position ?? 0)]
        if (row === undefined || row instanceof Promise || rest instanceof Promise) return undefined
        const feed = [...beginning, ...rest]
        const stream = state().streams[streamFor(row.caller === null ? {} : (JSON.parse(row.caller) as object))]
        const written = (stream?.log ?? []).map((each) => ({ at: each.at, event: decode(each.body) }))
        const values = valuesHeard({ run, at }, feed, written)
        return { run: row, feed, mail: unreadOf(state(), run), accounts: accountsOf(state(), run), values }
      },
      value: (stream, key) => {
        const { version, body } = state().streams[stream]?.values[key] ?? { version: 0, body: 'null' }
        return { version, value: JSON.parse(body) as Json }
      },
      valueKeys: (stream) => Object.keys(state().streams[stream]?.values ?? {}),
      written: (stream, seq) => {
        const event = decode(state().streams[stream]!.log[seq]!.body)
        return event.type === 'value.updated' ? event.value : null
      },
      nextDeadline: () => {
        const all = state().questions.flatMap(({ until, kind }) =>
          until === null ? [] : [until + (kind === 'timer' ? 0 : 1)],
        )
        return all.length === 0 ? undefined : Math.min(...all)
      },
      due: (now) => {
        const born = Object.keys(state().acts)
        return state()
          .questions.filter(({ until, kind }) => until !== null && until <= now && (until < now || kind === 'timer'))
          .toSorted((a, b) => a.until! - b.until! || born.indexOf(a.act) - born.indexOf(b.act) || a.num - b.num)
          .map(({ act, address, kind, until }) => ({ act, address, kind, until: until! }))
      },
      left: () =>
        runs(
          ({ id, ended, stuck, parked }) =>
            ended === null &&
            (stuck !== null ||
              (parked === 1 && state().mail.some((row) => row.isTaken && isFor(row, id) && row.key === '!cancel'))),
        ),
      withoutCode: () => runs(({ ended, stuck }) => ended === null && stuck?.endsWith(missingCodeEnding) === true),
      withMail: () => runs(({ id, owner }) => owner === null && unreadOf(state(), id as RunId).length > 0),
      ready: (drives, limit) =>
        Object.values(state().runs)
          .filter((run) => isReady(run) && drives(run))
          .toSorted((a, b) => a.created - b.created)
          .slice(0, limit)
          .map(({ id }) => id as RunId),
      endedBefore: (at, limit) =>
        Object.values(state().runs)
          .filter(({ id, ended }) => ended !== null && ended < at && !id.includes('>'))
          .toSorted((a, b) => a.ended! - b.ended!)
          .slice(0, limit)
          .map(({ id }) => id as RunId),
    }
    return read
  }

  moved(): undefined {
    // no other process writes
  }
  listen(): void {}
  errorOf(thrown: unknown): ReeveError {
    if (ReeveError.is(thrown)) return thrown
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    return new ReeveError('store.unavailable', `${this.name}: ${message}`, { retryable: true, cause: thrown })
  }
  isRefusal(thrown: unknown): boolean {
    return thrown instanceof Refused
  }
  refusedBy(thrown: unknown, run: string | undefined): ReeveError {
    return refusedBy(thrown, this.name, run)
  }
  changed(): undefined {}
  mustHaveRules(): void {}
  time(): number {
    return this.#open.hasOwnClock ? this.#now() : Math.max(this.#now(), Date.now())
  }
  useOwnClock(): void {
    this.#change((state) => {
      state.hasOwnClock = true
    })
  }
  remove(run: RunId): void {
    const isOfIt = (id: string): boolean => id === run || id.startsWith(`${run}>`)
    this.#change((state) => {
      for (const id of Object.keys(state.runs).filter(isOfIt)) {
        delete state.runs[id]
        delete state.streams[runStream(id as RunId)]
      }
      for (const id of Object.keys(state.acts)) if (isOfIt(runOf(id as ActivationId))) delete state.acts[id]
      state.entries = state.entries.filter((each) => !isOfIt(each.run))
      state.mail = state.mail.filter(({ act }) => !isOfIt(runOf(act)))
      state.questions = state.questions.filter(({ act }) => !isOfIt(runOf(act)))
    })
  }
  archive(): boolean {
    return false
  }
  shrink(): boolean {
    return false
  }
  leave(): void {}
  async stop(): Promise<void> {}
  close(): void {
    this.#state = undefined
  }
}

const storedRun = ({ done: _, usage: _usage, why: _why, ...run }: Run): StoredRun => run
const stored = ({ act, seq, at, body }: Entry): StoredEntry => ({ activation: act, seq, at, event: decode(body) })
const logOf = ({ entries }: State, id: ActivationId): readonly Entry[] =>
  entries.filter(({ act }) => act === id).toSorted((a, b) => a.seq - b.seq)
const unreadOf = ({ mail }: State, run: RunId): readonly Mail[] =>
  mail.filter(({ act, isTaken }) => !isTaken && runOf(act) === run)
const askedBy = ({ questions }: State, run: RunId): readonly Asked[] =>
  questions.filter(({ act, kind }) => kind !== 'timer' && runOf(act) === run)
const isAnswered = ({ mail }: State, asked: Asked): boolean =>
  mail.some(({ act, key }) => act === asked.act && key === asked.key)
const accountsOf = ({ acts }: State, run: RunId): ReadonlyMap<ActivationId, AccountState> =>
  new Map(
    Object.entries(acts).flatMap(([id, { account }]) =>
      account === undefined || runOf(id as ActivationId) !== run ? [] : [[id as ActivationId, account] as const],
    ),
  )
/** Whether a row is for the root of this run. */
const isFor = ({ act }: InboxRow, run: string): boolean => act === rootActivation(run as RunId)
const isReady = ({ ended, parked, owner }: Run): boolean => ended === null && parked === 0 && owner === null
/** Whether an activation has ended; undefined: it has not begun. */
const isOver = (state: State, id: ActivationId): boolean | undefined => {
  const last = logOf(state, id).at(-1)
  return last && isEndEvent(last.body)
}

function wantedOf({ runs }: State, wanted: ClaimFilter): readonly Run[] {
  if (!('drives' in wanted)) return wanted.flatMap((id) => runs[id] ?? [])
  const free = Object.values(runs).filter((run) => isReady(run) && wanted.drives(run))
  const found =
    'lossesFrom' in wanted
      ? free.filter(({ losses }) => losses > 1 && losses >= wanted.lossesFrom).toSorted((a, b) => a.losses - b.losses)
      : free.filter(({ losses }) => losses < wanted.lossesBelow).toSorted((a, b) => a.created - b.created)
  return found.slice(0, wanted.limit)
}

function commandTo(state: State, run: string): 'cancel' | 'resume' | undefined {
  const keys = unreadOf(state, run as RunId).flatMap((row) => (isFor(row, run) ? [row.key] : []))
  if (keys.includes('!cancel')) return 'cancel'
  return keys.some((key) => key.startsWith('!resume')) ? 'resume' : undefined
}

function apply(state: State, batch: Batch): BatchResult {
  const begun = new Set(batch.runs.map(({ id }) => id))
  const fenced = [...batch.epochs].flatMap(([id, epoch]) => {
    const run = state.runs[id]
    return begun.has(id) || (run?.epoch === epoch && run.owner === batch.owner) ? [] : [id]
  })
  for (const { id, from } of batch.runs) if (from !== undefined && fenced.includes(from)) fenced.push(id)
  const existed = batch.runs.flatMap(({ id }, i) =>
    !fenced.includes(id) && (state.runs[id] !== undefined || batch.runs.findIndex((each) => each.id === id) < i)
      ? [id]
      : [],
  )
  const lost = new Set([...fenced, ...existed])
  const isLost = (act: ActivationId): boolean => lost.has(runOf(act))
  const counts = (from: RunId | undefined): boolean => from === undefined || (!lost.has(from) && batch.epochs.has(from))

  for (const run of batch.runs) if (!lost.has(run.id)) state.runs[run.id] = newRun(run)
  for (const id of batch.acts.filter((act) => !isLost(act))) {
    if (state.acts[id] !== undefined) throw new Refused(`the activation "${id}" was begun before`)
    state.acts[id] = { summed: [] }
  }
  let position = 0
  for (const { act, run, seq, at, body } of batch.log) {
    if (lost.has(run)) continue
    if (state.entries.some((each) => each.act === act && each.seq === seq))
      throw new Refused(`entry ${seq} of the activation "${act}" was written before`)
    position = ++state.last.position
    state.entries.push({ position, act, run, seq, at, body })
  }
  for (const { act, from, upTo } of batch.summed) {
    const of = isLost(act) ? undefined : state.acts[act]
    if (of !== undefined) of.summed = [...of.summed.filter((part) => part.from < from), { from, upTo }]
  }
  for (const asked of batch.questions)
    if (!isLost(asked.act) && !state.questions.some(({ id }) => id === asked.id))
      state.questions.push({ ...asked, num: ++state.last.question })
  const isClosed = (question: Asked): boolean =>
    !isLost(question.act) &&
    (batch.closedActs.includes(question.act) ||
      batch.closed.some(({ act, address }) => act === question.act && address === question.address))
  state.questions = state.questions.filter((each) => !isClosed(each))
  const posts = batch.rows.map((row) => (counts(row.from) ? post(state, row) : 'lost'))
  const values = batch.values.map((each): ValueResult =>
    counts(each.by?.run) ? writeValue(state, each) : { status: 'lost' },
  )
  for (const { act, key } of batch.taken)
    for (const row of state.mail) if (!isLost(act) && row.act === act && row.key === key) row.isTaken = true
  for (const { act, run, state: account } of batch.accounts)
    if (!lost.has(run)) state.acts[act] = { summed: [], ...state.acts[act], account }
  const of = (id: RunId): Run | undefined => (lost.has(id) ? undefined : state.runs[id])
  for (const { run, state: control } of batch.control) Object.assign(of(run) ?? {}, { control })
  for (const { run, reason, commands } of batch.stuck) {
    Object.assign(of(run) ?? {}, { stuck: reason })
    if (commands !== undefined && of(run) !== undefined)
      state.mail = state.mail.filter(
        (row) =>
          row.isTaken ||
          !isFor(row, run) ||
          row.position > commands.upTo ||
          !(row.key.startsWith('!resume') || (commands.cancel && row.key === '!cancel')),
      )
  }
  const awake = batch.parked.flatMap(({ run: id, heard, usage }) => {
    const run = of(id)
    if (run === undefined) return []
    if (unreadOf(state, id).some((row) => row.position > heard)) return [id]
    Object.assign(run, { parked: 1, owner: null, losses: 0 })
    if (usage !== undefined) run.usage = JSON.stringify(usage)
    return []
  })
  for (const { run: id, status, at, usage, why = null } of batch.ended) {
    const run = of(id)
    if (run === undefined) continue
    const used = usage === undefined ? null : JSON.stringify(usage)
    Object.assign(run, { status, ended: at, owner: null, control: null, why, usage: used, done: {} })
    state.questions = state.questions.filter(({ act }) => runOf(act) !== id)
    for (const row of state.mail) if (runOf(row.act) === id) row.isTaken = true
  }
  return { moved: false, fenced, existed, awake, posts, values, position }
}

const newRun = ({ id, agent, version, caller, at, owner, epoch = 1 }: Batch['runs'][number]): Run => ({
  id,
  agent,
  version,
  caller,
  owner,
  epoch,
  created: at,
  status: 'running',
  control: null,
  stuck: null,
  parked: 0,
  ended: null,
  losses: 0,
  usage: null,
  why: null,
  done: {},
})

function post(state: State, row: NewRow): PostResult {
  const { act, key, body } = row
  const put = (to: ActivationId, under: string, text: string): boolean => {
    if (state.mail.some((each) => each.act === to && each.key === under)) return false
    state.mail.push({ position: ++state.last.row, act: to, key: under, body: text, isTaken: false })
    return true
  }
  const over = isOver(state, act)
  switch (row.target) {
    case 'run': {
      const run = state.runs[runOf(act)]
      if (run === undefined) return 'unknown'
      if (run.ended !== null || over === true) return 'closed'
      return put(act, key, body) ? 'accepted' : 'lost'
    }
    case 'activation': {
      if (over === false) {
        put(act, key, body)
        return 'accepted'
      }
      const reason = over === undefined ? 'unknown' : 'closed'
      if (row.refusalTo !== undefined && isOver(state, row.refusalTo) !== true)
        put(row.refusalTo, `refused:${key}`, JSON.stringify({ type: 'refused', id: key, reason }))
      return reason
    }
    case 'question': {
      if (state.acts[act] === undefined) return 'unknown'
      const asked = state.questions.find(
        (each) => each.act === act && each.address === key && (row.kinds?.includes(each.kind) ?? true),
      )
      if (asked === undefined)
        return state.mail.some((each) => each.act === act && each.key === askKey + key) ? 'lost' : 'closed'
      const isLate = asked.until !== null && asked.until < row.at
      const isFirst = put(act, asked.key, isLate ? deadlineBody(key) : body)
      // in any case: a deadline that stayed behind would ring for ever
      asked.until = null
      return !isFirst || (isLate && row.kinds !== undefined) ? 'lost' : 'accepted'
    }
  }
}

function writeValue(state: State, { by, stream: name, key, expected, body, event, at }: ValueWrite): ValueResult {
  const writer = by === undefined ? undefined : state.runs[by.run]
  const once = `${name} ${by?.once ?? ''}`
  if (writer?.done[once] !== undefined) return { status: 'repeated', seq: writer.done[once] }
  const stream = (state.streams[name] ??= { values: {}, log: [] })
  const version = stream.values[key]?.version ?? 0
  if (version !== expected) return { status: 'moved' }
  stream.values[key] = { version: version + 1, body }
  if (writer !== undefined) writer.done[once] = stream.log.length
  stream.log.push({ at, body: event })
  return { status: 'written' }
}
