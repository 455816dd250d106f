/**
 * The adversarial store: keeps the contract of any store that it is put over, in the worst way. It answers late and in
 * another order, fails before anything was written, loses and doubles news, lets other processes be faster with runs
 * and take them away, and finds that it stood still.
 *
 * Owns: what of the contract (engine/store.ts) may be bad. Does not own: what is kept, and every promise: that is the
 * store's below it.
 * Holds: nothing is written that was reported as failed; commits are applied in the order in which they were given.
 */
import { ReeveError, rootActivation, type ActivationId, type Now, type RunId } from '@reeve/core'
import type {
  AgentVersion,
  Batch,
  BatchResult,
  ClaimCandidate,
  Claimed,
  ClaimFilter,
  Past,
  ReleasedOwners,
  Store,
  StoreContents,
  StoreIndex,
  StoreLease,
  StoreParts,
  StoreQueries,
  StoreReader,
  Unread,
} from '@reeve/engine/storage'
import { badWeather, Draws, turns, type Weather } from './weather.ts'

/** How bad it is. */
interface AdversarialStoreOptions {
  /** Equal seeds give equal weather, as far as equal questions are asked. Default `seed`. */
  readonly seed?: string
  /** Default: all that a team must not notice. */
  readonly weather?: Weather
}

/** So much longer a commit takes that is slow, and so much longer lost news. */
const slower = 10

/**
 * A store under bad weather. One process's: the store below it outlives it, and is not closed with it. Another one over
 * the same store goes on with what this one has left, once this one is closed or dead: until then the two would be
 * taken for one process.
 */
export class AdversarialStore implements Store {
  readonly below: Store
  readonly reader: StoreReader
  readonly queries: StoreQueries
  readonly lease: StoreLease
  readonly parts?: StoreParts
  readonly index?: StoreIndex
  readonly contents?: StoreContents
  /** What was asked that the contract does not allow. */
  readonly faults: string[] = []
  /** How often each kind of bad weather was had. */
  get happened(): ReadonlyMap<string, number> {
    return this.#draws.happened
  }
  readonly #weather: Weather
  readonly #draws: Draws
  /** What an earlier process has left is given back before anything else is asked. */
  readonly #begun: Promise<void>
  /** Runs that another process holds, or has just let go. */
  readonly #theirs = new Map<RunId, 'held' | 'left'>()
  /** Runs whose hint was lost: it is given with later news. */
  readonly #unsaid = new Set<RunId>()
  /** Runs that were begun here since mail was last read. */
  readonly #newcomers = new Set<RunId>()
  #isDead = false
  #isStale = false
  #isAsked = false
  #commits: Promise<unknown> = Promise.resolve()
  #claims: Promise<unknown> = Promise.resolve()
  #news: 'all' | undefined
  #heard: () => void = () => {}

  constructor(below: Store, { seed = 'seed', weather = badWeather }: AdversarialStoreOptions = {}) {
    this.below = below
    this.#weather = weather
    this.#draws = new Draws(seed)
    this.#begun = (async () => below.release())()
    this.#begun.catch(() => undefined)
    this.reader = this.#late(below.reader)
    this.queries = this.#late(below.queries)
    this.lease = this.#doubtfulLease(below.lease)
    if (below.index !== undefined) this.index = this.#late(below.index)
    if (below.contents !== undefined) this.contents = this.#lateContents(below.contents)
    if (below.parts !== undefined) this.parts = this.#lossyParts(below.parts)
  }

  async #rest(kind: string, factor = 1): Promise<void> {
    const { late, turns: most } = this.#weather
    if (this.#draws.happens(`late ${kind}`, late)) await turns(this.#draws.upTo(`turns ${kind}`, most) * factor)
    if (this.#isDead) throw new ReeveError('store.unavailable', `${this.name}: the process has died`)
  }

  /** Asks the store below, before or after a while. */
  async #ask<T>(kind: keyof Weather['failing'], what: string, work: () => Now<T>, factor = 1): Promise<T> {
    await this.#begun
    await this.#rest(what, factor)
    if (this.#draws.happens(`failing ${what}`, this.#weather.failing[kind]))
      throw new ReeveError('store.unavailable', `${this.name}: ${what} failed, as it may`, { retryable: true })
    const answer = await work()
    await this.#rest(what, factor)
    return answer
  }

  #late<Reads extends StoreReader | StoreQueries | StoreIndex>(reads: Reads): Reads {
    const ask = (name: string, args: readonly unknown[]): unknown =>
      this.#ask('read', name, async () => {
        const query = Reflect.get(reads, name) as (...args: readonly unknown[]) => Now<unknown>
        const answer = await Reflect.apply(query, reads, args.map(frozen))
        if (name === 'ready')
          return this.#alsoLeft(answer as readonly RunId[], ...(args as Parameters<StoreReader['ready']>))
        return name === 'log' ? [...(answer as Iterable<unknown>)] : answer
      })
    return new Proxy(reads, {
      get:
        (_, name) =>
        (...args: readonly unknown[]) =>
          ask(String(name), args),
    })
  }

  #lateContents(contents: StoreContents): StoreContents {
    return {
      keep: (run, pieces) => this.#ask('commit', 'keep', () => contents.keep(run, new Map(pieces))),
      piece: (run, key) => this.#ask('read', 'piece', () => contents.piece(run, key)),
    }
  }

  /** To the store below, what another process has let go is this one's: it does not name it as ready. */
  async #alsoLeft(
    ready: readonly RunId[],
    drives: (kind: AgentVersion) => boolean,
    limit: number,
  ): Promise<readonly RunId[]> {
    const left = await Promise.all(
      [...this.#theirs].map(async ([run, how]) => (how === 'left' ? this.below.reader.run(run) : undefined)),
    )
    const wanted = left.filter((row) => row !== undefined && row.ended === null && row.parked === 0 && drives(row))
    return [...wanted.map((row) => row!.id as RunId), ...ready].slice(0, limit)
  }

  #doubtfulLease(lease: StoreLease): StoreLease {
    const isFresh = (): boolean => {
      this.#isStale ||= this.#draws.happens('stale', this.#weather.stale)
      return lease.fresh && !this.#isStale
    }
    return {
      id: lease.id,
      get fresh() {
        return isFresh()
      },
      get heartbeatDue() {
        return lease.heartbeatDue
      },
      beat: () => this.#ask('lease', 'beat', () => lease.beat()),
      guard: () => this.#ask('lease', 'guard', () => lease.guard()),
      moved: (delayMs) => lease.moved(delayMs),
      stretch: (losses) => lease.stretch(losses),
      reclaim: (runs) => {
        const held = [...runs]
        return this.#ask('lease', 'reclaim', async () => {
          for (const [run, epoch] of held)
            if (this.#draws.happens('robbed', this.#weather.stolen)) await this.#oneByOne(() => this.#steal(run, epoch))
          const own = await lease.reclaim(held)
          this.#isStale = false
          return own
        })
      },
      resetLosses: (runs) => this.#ask('lease', 'resetLosses', () => lease.resetLosses([...runs])),
      releaseDead: (): Promise<ReleasedOwners> => this.#ask('lease', 'releaseDead', () => lease.releaseDead()),
      ...(lease.report === undefined
        ? {}
        : { report: (text: string) => this.#ask('lease', 'report', () => lease.report!(text)) }),
      abandon: () => {},
    }
  }

  /** Another process takes the run over from the holder of this epoch, and lets it go after a while. */
  async #steal(run: RunId, epoch: number): Promise<void> {
    const isIts = ({ epoch: now }: ClaimCandidate): boolean => now === epoch
    const taken = this.#theirs.has(run) ? [] : await this.below.claim([run], isIts)
    if (taken.length === 0) return
    this.#theirs.set(run, 'held')
    this.#afterwards('theirs', () => {
      if (this.#theirs.get(run) !== 'held') return
      this.#theirs.set(run, 'left')
      this.#tell()
    })
  }

  claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Promise<readonly Claimed[]> {
    const asked = 'drives' in wanted ? wanted : [...wanted]
    return this.#ask('claim', 'claim', async () => {
      const outrun: ClaimCandidate[] = []
      const mayHave = (candidate: ClaimCandidate): boolean => {
        const run = candidate.id as RunId
        if (this.#theirs.get(run) === 'held') return false
        const free = this.#theirs.has(run) ? { ...candidate, owner: null } : candidate
        if (!admits(free)) return false
        if (!this.#draws.happens('outrun', this.#weather.outrun)) return true
        outrun.push(candidate)
        return false
      }
      const claimed = await this.#oneByOne(async () => {
        const taken = await this.#claimBelow(asked, mayHave)
        for (const { id, epoch } of outrun) {
          this.#theirs.delete(id as RunId)
          // What is claimed is told, whatever becomes of the others.
          await this.#steal(id as RunId, epoch).catch(() => undefined)
        }
        return taken
      })
      return Promise.all(claimed.map(async (each) => ({ ...each, past: await this.#pastOf(each) })))
    })
  }

  /** Who takes a run, and what is known of that here, are one. */
  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#claims.then(work)
    this.#claims = done.catch(() => undefined)
    return done
  }

  async #claimBelow(wanted: ClaimFilter, mayHave: (candidate: ClaimCandidate) => boolean): Promise<readonly Claimed[]> {
    const left = [...this.#theirs].flatMap(([run, how]) => (how === 'left' ? [run] : []))
    const taken = (claimed: readonly Claimed[]): readonly Claimed[] => {
      for (const { run } of claimed) this.#theirs.delete(run.id as RunId)
      return claimed
    }
    if (!('drives' in wanted)) return taken(await this.below.claim(wanted, mayHave))
    // To the store below, what another process has let go is this one's: it does not name it as ready.
    let room = wanted.limit
    const isWanted = (run: ClaimCandidate): boolean =>
      room > 0 &&
      wanted.drives(run) &&
      ('lossesBelow' in wanted ? run.losses < wanted.lossesBelow : run.losses >= wanted.lossesFrom)
    const first =
      left.length === 0 ? [] : taken(await this.below.claim(left, (run) => isWanted(run) && mayHave(run) && room-- > 0))
    return room > 0 ? [...first, ...(await this.below.claim({ ...wanted, limit: room }, mayHave))] : first
  }

  /** Everything of a run as it was when it was claimed, and nothing of what was written since. */
  async #pastOf({ run, past }: Claimed): Promise<Past> {
    const { reader, queries } = this.below
    try {
      const everybody = new Set(
        (await reader.below(rootActivation(run.id as RunId))).map(({ activation }) => activation),
      )
      const entries = new Map([...everybody].map((id) => [id, [...past.activation(id)]]))
      const asked = new Set((await queries.questions({ run: run.id as RunId })).map(({ id }) => id))
      return {
        activation: (id: ActivationId) => entries.get(id) ?? [],
        lastEvent: (id: ActivationId) => entries.get(id)?.at(-1)?.event,
        asked: (question) => asked.has(question),
      }
    } catch {
      // It cannot be read: the store says so to its readers.
      return past
    }
  }

  /** It fails never: a process whose store has is over. */
  async synced(): Promise<void> {
    await this.below.synced()
    await this.#rest('synced')
  }

  commit(batch: Batch): Promise<BatchResult> {
    const { slow, stolen, doubled } = this.#weather
    // As a server is sent it: what becomes of the batch in memory does not change it any more.
    const sent = structuredClone(batch)
    const begun = new Set(sent.runs.map(({ id }) => id))
    const done = this.#commits.then(() =>
      this.#ask(
        'commit',
        'commit',
        async () => {
          for (const [run, epoch] of sent.epochs)
            if (!begun.has(run) && this.#draws.happens('stolen', stolen))
              await this.#oneByOne(() => this.#steal(run, epoch))
          const result = await this.below.commit(sent)
          for (const { id, owner } of sent.runs) if (owner === this.lease.id) this.#newcomers.add(id)
          for (const { run } of sent.parked) if (!result.awake.includes(run)) this.#newcomers.delete(run)
          return { ...result, moved: result.moved || this.#draws.happens('doubled commit', doubled) }
        },
        this.#draws.happens('slow', slow) ? slower : 1,
      ),
    )
    this.#commits = done.catch(() => undefined)
    return done
  }

  async unread(held: ReadonlyMap<RunId, { readonly lastRow: number }>): Promise<Unread> {
    if (this.#isAsked) this.faults.push('unread was asked before its last answer')
    this.#isAsked = true
    const given = new Map([...held].map(([run, { lastRow }]) => [run, { lastRow }]))
    try {
      return await this.#ask('read', 'unread', async () => {
        // The store below counts from when it is asked. What has come in since for a run that was begun meanwhile would
        // be told to no process.
        for (const run of this.#newcomers) if (!given.has(run)) given.set(run, { lastRow: 0 })
        this.#newcomers.clear()
        const { rows, others } = await this.below.unread(given)
        const left = [...this.#theirs].flatMap(([run, how]) => (how === 'left' && !given.has(run) ? [run] : []))
        const unsaid = [...this.#unsaid].filter((run) => !given.has(run))
        this.#unsaid.clear()
        const hinted = [...unsaid, ...[...others, ...left].filter((run) => !this.#isLost(run))]
        return {
          rows,
          others: this.#draws.happens('doubled others', this.#weather.doubled) ? [...hinted, ...hinted] : hinted,
        }
      })
    } finally {
      this.#isAsked = false
    }
  }

  #isLost(run: RunId): boolean {
    if (!this.#draws.happens('lost hint', this.#weather.lost)) return false
    this.#unsaid.add(run)
    this.#tellLater()
    return true
  }

  moved(): ReadonlySet<RunId> | 'all' | undefined {
    const told = this.below.moved()
    const news = this.#news
    this.#news = undefined
    if (told === undefined && news === undefined) return undefined
    if (news === undefined && this.#draws.happens('lost', this.#weather.lost)) {
      this.#tellLater()
      return undefined
    }
    if (this.#draws.happens('doubled', this.#weather.doubled)) this.#tellLater()
    return news ?? told
  }

  #tell(): void {
    this.#news = 'all'
    if (!this.#isDead) this.#heard()
  }
  /** What was lost is found by looking at everything, after a while. */
  #tellLater(): void {
    this.#afterwards('later', () => this.#tell())
  }
  /** Much later. */
  #afterwards(kind: string, happens: () => void): void {
    void turns(this.#draws.upTo(kind, this.#weather.turns * slower)).then(happens, happens)
  }

  listen(heard: () => void): void {
    this.#heard = heard
    this.below.listen(heard)
  }

  /** Live parts are lost, and come twice: at once, or late. */
  #lossyParts(parts: StoreParts): StoreParts {
    return {
      publish: (run, part) => parts.publish(run, part),
      overhear: (run, hear) => {
        return parts.overhear(run, (published) => {
          if (this.#draws.happens('lost parts', this.#weather.lost)) return
          hear(published)
          if (this.#draws.happens('doubled parts', this.#weather.doubled)) hear(published)
          if (this.#draws.happens('late parts', this.#weather.doubled))
            this.#afterwards('late parts', () => hear(published))
        })
      },
    }
  }

  get name(): string {
    return this.below.name
  }
  get kind(): Store['kind'] {
    return this.below.kind
  }
  id(): Promise<string> {
    return this.#ask('read', 'id', () => this.below.id())
  }
  /** Others take runs here, whatever the store below is. */
  get isPrivate(): boolean {
    return false
  }
  get commitsFree(): boolean {
    return this.below.commitsFree
  }
  errorOf(thrown: unknown): ReeveError {
    return this.below.errorOf(thrown)
  }
  isRefusal(thrown: unknown): boolean {
    return this.below.isRefusal(thrown)
  }
  refusedBy(thrown: unknown, run: string | undefined): ReeveError {
    return this.below.refusedBy(thrown, run)
  }
  changed(): Promise<ReeveError | undefined> {
    return this.#ask('read', 'changed', () => this.below.changed())
  }
  mustHaveRules(): void {
    this.below.mustHaveRules()
  }
  time(): number {
    return this.below.time()
  }
  useOwnClock(): Promise<void> {
    return this.#ask('read', 'useOwnClock', () => this.below.useOwnClock())
  }
  remove(run: RunId): Promise<void> {
    return this.#ask('read', 'remove', () => this.below.remove(run))
  }
  archive(now: number): Promise<boolean> {
    return this.#ask('read', 'archive', () => this.below.archive(now))
  }
  shrink(): Promise<boolean> {
    return this.#ask('read', 'shrink', () => this.below.shrink())
  }

  /**
   * The process dies: nothing that it has asked is answered, and of what was on its way to the store nothing arrives
   * any more.
   */
  die(): void {
    this.#isDead = true
  }
  leave(): void {
    this.below.leave()
  }
  async stop(): Promise<void> {
    await this.#commits
  }
  letGo(except: readonly RunId[]): Promise<void> {
    return this.#ask('lease', 'letGo', () => this.below.letGo(except))
  }
  async release(): Promise<void> {
    if (!this.#isDead) await this.below.release()
  }
  close(): void {
    this.die()
  }
}

/** What is asked for, as a server is sent it. */
function frozen(asked: unknown): unknown {
  if (asked instanceof Map || asked instanceof Set) return new Set(asked.keys())
  return asked
}
