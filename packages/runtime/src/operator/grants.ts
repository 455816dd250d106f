/**
 * Grants for operators: listing and revoking the grants of a session, or of a run without a session.
 *
 * Owns: finding the grants of a session or run. Does not own: the content and validity of a grant
 * (oversight/approval/grants.ts).
 * Holds: K2: any process may revoke; a revoked grant covers no call that is checked later.
 */
import {
  expects,
  optionProblems,
  present,
  refuseProblems,
  type Checks,
  type Clock,
  type Json,
  type RunId,
  type SessionId,
} from '@reeve/core'
import { streamOf, type Engine, type StreamValues } from '@reeve/engine'
import { grantsKey, readGrants, type ApprovalGrant } from '@reeve/oversight'

/** The session or run of the grants. */
type GrantsOf = { readonly session: string; readonly tenant?: string } | { readonly run: string }

/** Lists and revokes grants. */
export interface RuntimeGrants {
  /** What was granted for a session, or for a run that belongs to none, and still holds. */
  of(whose: GrantsOf): Promise<readonly ApprovalGrant[]>
  /**
   * Takes back a grant, or all of them: the next call is asked for again, in running runs, too. Returns how many were
   * taken back.
   */
  revoke(which: GrantsOf & { readonly grant?: string }): Promise<number>
}

/** The grants of one runtime. */
export function runtimeGrants(engine: Engine, clock: Clock): RuntimeGrants {
  return {
    of: (whose) => grantsOf(engine, whose, clock.now()),
    revoke: (which) => revokeGrants(engine, which),
  }
}

/** Those that hold. */
async function grantsOf(engine: Engine, of: GrantsOf, now: number): Promise<readonly ApprovalGrant[]> {
  const all = readGrants(await streamFor(engine, of, 'grants.of()').get(grantsKey))
  return all.filter(({ until }) => until === undefined || now < until)
}

/** Takes one back, or all. Returns how many. */
async function revokeGrants(engine: Engine, given: GrantsOf & { readonly grant?: string }): Promise<number> {
  const values = streamFor(engine, given, 'grants.revoke()', revoked)
  const { grant } = given
  let taken = 0
  await values.update(grantsKey, (value) => {
    const all = readGrants(value)
    const left = grant === undefined ? [] : all.filter(({ id }) => id !== grant)
    taken = all.length - left.length
    return left as unknown as Json
  })
  return taken
}

const id = expects((given) => typeof given === 'string' && given !== '', 'an id')
type Whose = { readonly session?: string; readonly tenant?: string; readonly run?: string }
const whose: Checks<Whose> = { session: id, tenant: id, run: id }
const revoked: Checks<Whose & { readonly grant?: string }> = {
  ...whose,
  grant: expects((given) => typeof given === 'string', 'the id of a grant'),
}

function streamFor(engine: Engine, of: GrantsOf, where: string, checks: Checks<Whose> = whose): StreamValues {
  const problems = optionProblems<Whose>(checks, of, where, ({ session, run, tenant, ...others }) => [
    Object.keys(others).every((name) => Object.hasOwn(checks, name)) && // else one of them was meant
      (session === undefined) === (run === undefined) &&
      `${where}: expected { session } or { run }, and was given ${session === undefined ? 'neither' : 'both'}`,
    tenant !== undefined && session === undefined && `${where}: tenant says whose session, and none is given`,
  ])
  refuseProblems('input.invalid', problems, 'Nothing was changed.')
  const { session, tenant, run } = of as {
    readonly session?: SessionId
    readonly tenant?: string
    readonly run?: RunId
  }
  return engine.stream(streamOf(present({ session, tenant }), run ?? ('' as RunId)))
}
