/**
 * Sessions and their owners: who may continue a conversation, and sharing it.
 *
 * Owns: whose a session is, the check before a run begins in it, sharing. Does not own: what a run sees of its session
 * (../session.ts), who may ask for it over HTTP (../../server).
 * Holds: K1: the owner is on the session's own stream, written once, before its first run begins, from whichever
 * process. K4: `$owner` is persistent format. A session belongs to the user of the start that began it; one that was
 * begun without a user is the application's. Only its owner, and whom it is shared with, continue it. That of a fork is
 * a new one, or there is no fork: its id may name no conversation of anybody.
 */
import {
  expects,
  isKeyed,
  isObject,
  listOf,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  required,
  string,
  underName,
  type Checks,
  type Clock,
  type Json,
  type RunId,
  type SessionId,
} from '@reeve/core'
import { streamOf, type Engine, type ForkRun, type StartRun, type StreamValues } from '@reeve/engine'
import { mustBeSession } from '../start.ts'
import { tenantCheck } from '../tenants.ts'

/** A session of a tenant, or of none. */
export interface SessionName {
  readonly session: string
  readonly tenant?: string
}

/** Someone whom a session is shared with. */
export interface SharedSession {
  readonly user: string
  readonly by?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Who may continue a session. */
export interface SessionAccess extends SessionName {
  /** Absent: the session is the application's; runs without a user continue it. */
  readonly owner?: string
  readonly sharedWith: readonly SharedSession[]
}

/** Who may continue which session. */
export interface RuntimeSessions {
  /** Who may continue a session; undefined if no run has begun in it. Throws `input.invalid`. */
  access(of: SessionName): Promise<SessionAccess | undefined>
  /**
   * Lets these users continue a session as well, 1,000 in all. Throws `session.unknown` for one that no run has begun
   * in, `input.invalid`.
   */
  share(of: SessionName & { readonly with: readonly string[]; readonly by?: string }): Promise<SessionAccess>
  /**
   * Ends that: runs that have begun go on. Names whom it is not shared with are passed over. Throws `session.unknown`,
   * `input.invalid`.
   */
  unshare(of: SessionName & { readonly with: readonly string[] }): Promise<SessionAccess>
  /** Throws `session.forbidden` if a session is of another user. `user`: absent, the application. */
  mustBeOf(of: SessionName & { readonly user?: string }): Promise<void>
}

/** Whether a user may continue a session: it is theirs or shared with them, or no run has begun in it. */
export const mayContinue = (access: SessionAccess | undefined, user: string | undefined): boolean =>
  access === undefined || access.owner === user || access.sharedWith.some((each) => each.user === user)

/** With how many users a session is shared at most: they are read at each start, and written at each change. */
const mostShared = 1_000

/** The key of the owner. */
export const ownerKey = '$owner'

interface StoredOwner {
  readonly user: string | null
  readonly sharedWith: readonly SharedSession[]
  /** Of a session that began with a fork: the origin. */
  readonly fork?: RunId
}

const storedOwner = (value: Json): StoredOwner | undefined =>
  isObject(value) ? (value as unknown as StoredOwner) : undefined

/** The sessions of one runtime. */
export function runtimeSessions(engine: Engine, clock: Clock): RuntimeSessions {
  const change = async (
    of: SessionName,
    edit: (shared: readonly SharedSession[]) => readonly SharedSession[],
  ): Promise<SessionAccess> => {
    const known = await ownerOf(engine, of)
    if (known === undefined)
      throw new ReeveError('session.unknown', `no run has begun in a session ${JSON.stringify(of.session)}`, {
        hint: 'A session begins with its first run. Nothing was changed.',
      })
    const changed = await valuesOf(engine, of).update(ownerKey, (value) => {
      const owner = storedOwner(value) ?? known
      return { ...owner, sharedWith: edit(owner.sharedWith) } as unknown as Json
    })
    return accessOf(of, storedOwner(changed)!)
  }
  return {
    async access(of) {
      mustName('sessions.access()', named, of)
      const owner = await ownerOf(engine, of)
      return owner && accessOf(of, owner)
    },
    async share(of) {
      mustName('sessions.share()', shared, of)
      for (const user of of.with) engine.mustRecord?.({ run: '' as RunId, caller: { user } })
      const { by } = underName(of)
      const at = clock.now()
      return change(of, (others) => {
        const known = new Set(others.map(({ user }) => user))
        const added = [...new Set(of.with)].filter((user) => !known.has(user))
        if (known.size + added.length > mostShared)
          throw new ReeveError('input.invalid', `a session is shared with ${mostShared} users at most`, {
            hint: 'Unshare it with some of them first. Nothing was changed.',
          })
        return [...others, ...added.map((user) => ({ user, at, ...present({ by }) }))]
      })
    },
    async unshare(of) {
      mustName('sessions.unshare()', unshared, of)
      return change(of, (others) => others.filter(({ user }) => !of.with.includes(user)))
    },
    async mustBeOf(of) {
      mustName('sessions.mustBeOf()', used, of)
      const owner = await ownerOf(engine, of)
      if (!mayContinue(owner && accessOf(of, owner), of.user)) throw forbidden(of.session)
    },
  }
}

/**
 * Lets a run into its session, or makes the session its user's if none has begun in it. Throws `session.forbidden` for
 * one of another user.
 */
export async function enterSession(
  engine: Engine,
  { run, caller = {} }: Pick<StartRun, 'run' | 'caller'>,
): Promise<void> {
  const { session, tenant, user = null } = caller
  if (session === undefined) return
  // its name and its owner are recorded before the run is
  engine.mustRecord?.({ run, caller })
  const of: SessionName = { session, ...present({ tenant }) }
  const values = valuesOf(engine, of)
  let owner = storedOwner(await values.get(ownerKey))
  if (owner === undefined) {
    // a conversation that is named as its first run is: nobody else can have that id
    if (String(session) !== String(run) && isKeyed(session)) throw ofRetry(session)
    const first: StoredOwner = { user, sharedWith: [] }
    owner = storedOwner(await values.update(ownerKey, (value) => value ?? (first as unknown as Json)))!
  }
  if (!mayContinue(accessOf(of, owner), caller.user)) throw forbidden(session)
}

/**
 * Makes the session of a fork, which is named as the fork is, that of its origin's owner. Throws `run.conflict` where
 * somebody has a session of this name: the fork would be shown their conversation, and be a turn of it.
 */
export async function beginForkedSession(engine: Engine, { run, to }: Pick<ForkRun, 'run' | 'to'>): Promise<void> {
  const [origin, known] = await Promise.all([engine.summary(run), engine.summary(to)])
  // whether one that exists is this fork says the engine
  if (origin?.caller.session === undefined || known !== undefined) return
  const { session, tenant, user = null } = origin.caller
  const [theirs, own] = [session, to].map((each): SessionName => ({ session: each, ...present({ tenant }) }))
  const others = await ownerOf(engine, own!)
  const { user: owner, sharedWith } = (await ownerOf(engine, theirs!)) ?? { user, sharedWith: [] }
  const begun = others ?? ({ user: owner, sharedWith, fork: run } satisfies StoredOwner)
  const kept = await valuesOf(engine, own!).update(ownerKey, (value) => value ?? (begun as unknown as Json))
  if (storedOwner(kept)?.fork === run) return
  throw new ReeveError('run.conflict', `the run id ${JSON.stringify(to)} is the name of a session`, {
    hint: 'The session of a fork is named as the fork is. Use another run id. Nothing was started.',
  })
}

/** The sessions of retries are named as they are, by ids that anybody can compute. */
const ofRetry = (session: string): ReeveError =>
  new ReeveError('session.invalid', `a session ${JSON.stringify(session)} begins with the run of that id alone`, {
    hint: 'Use another name: ids of this form come from keys. Nothing was started.',
  })

const forbidden = (session: string): ReeveError =>
  new ReeveError('session.forbidden', `the session ${JSON.stringify(session)} is of another user`, {
    hint: 'Use a session of your own, or let its owner share it. Nothing was started.',
  })

const accessOf = ({ session, tenant }: SessionName, { user, sharedWith }: StoredOwner): SessionAccess => ({
  session,
  ...present({ tenant, owner: user ?? undefined }),
  sharedWith,
})

const valuesOf = (engine: Engine, { session, tenant }: SessionName): StreamValues =>
  engine.stream(streamOf({ session: session as SessionId, ...present({ tenant }) }, '' as RunId))

const ownerOf = async (engine: Engine, of: SessionName): Promise<StoredOwner | undefined> =>
  storedOwner(await valuesOf(engine, of).get(ownerKey))

const id = expects((given) => typeof given === 'string' && given !== '', 'an id')
const named: Checks<SessionName> = { session: required(id), tenant: tenantCheck }
const used: Checks<SessionName & { readonly user?: string }> = { ...named, user: string }
const unshared: Checks<SessionName & { readonly with: readonly string[] }> = {
  ...named,
  with: required(listOf(id, 'names of users')),
}
const shared: Checks<SessionName & { readonly with: readonly string[]; readonly by?: string }> = {
  ...unshared,
  by: string,
}

function mustName<Of extends SessionName>(where: string, checks: Checks<Of>, of: Of): void {
  refuseProblems('input.invalid', optionProblems(checks, of, where), 'Nothing was changed.')
  mustBeSession(of.session)
}
