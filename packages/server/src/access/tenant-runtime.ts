/**
 * The runtime as one principal has it: what is theirs, and what they may do with it beyond their role.
 *
 * Owns: which agents, runs, questions and sessions are there for a principal, which versions they may choose, that
 * nothing else is there. Every member of the runtime stands here, or the compiler refuses it: a new one is thought about.
 * Does not own: what a principal's role allows (principal.ts), whose an agent or a session is (../../runtime).
 * Holds: every route and every protocol reaches the runtime through this. What is not the principal's is answered as
 * what is not there, by the same words and as slowly.
 */
import {
  own as ownMember,
  isChildRun,
  isObject,
  present,
  ReeveError,
  refuseProblems,
  rootRun,
  systemClock,
} from '@reeve/core'
import {
  approvalsAmong,
  choicesCheck,
  decideAll,
  isInScope,
  isUsableBy,
  isWithinScope,
  mayContinue,
  mustGoOnPublished,
  notRegistered,
  unknownRun,
  unpublished,
  type BatchHandle,
  type BatchScope,
  type BatchView,
  type OpenFilter,
  type Question,
  type RegisteredAgent,
  type Run,
  type RunFilter,
  type RunSummary,
  type Runtime,
  type SessionAccess,
  type SessionName,
  type StartOptions,
  type TrialChanges,
} from '@reeve/runtime'
import type { Principal } from '../wire.ts'
import { mustBeItsClient } from './client-tools.ts'
import { administers, allows } from './principal.ts'

/** How many of the newest runs are searched for a question that is not open any more. */
const mostSearched = 50

/** How many runs are listed where no limit says otherwise. */
const mostListed = 1_000

/** What a principal is bound to. */
export type Scope = Pick<Principal, 'tenant' | 'agents'>

/** Whether all runs and agents are there for a principal. */
export const seesAll = ({ tenant, agents }: Scope): boolean => tenant === undefined && agents === undefined

/** Whether a principal may start an agent, and see its runs. Who has no role may use what is everybody's. */
const mayUse = (
  { tenant, agents, roles }: Principal,
  { name, tenants }: Pick<RegisteredAgent, 'name' | 'tenants'>,
): boolean =>
  (agents === undefined || agents.includes(name)) &&
  (roles.length === 0 ? tenants === undefined : isUsableBy(tenants, tenant))

/**
 * A refusal takes at least this long, whatever was read for it: its time does not tell a run of another from one that
 * is not there. Milliseconds.
 */
const refusalMs = 10

/** The run of this id, if it is there for the principal. Rejects with `run.unknown`. */
export async function runOf(runtime: Runtime, principal: Principal, id: string): Promise<Run> {
  const run = runtime.handle(id)
  if (seesAll(principal)) {
    await run.summary()
    return run
  }
  const inTime = refusalAfter(refusalMs)
  const summary = await summaryOf(runtime, id)
  if (summary !== undefined && isInScope(principal, summary)) return run
  await inTime()
  throw unknownRun(run.id)
}

/** The summary by which a run is known as someone's: that of its root, if it is there itself. */
async function summaryOf(runtime: Runtime, id: string): Promise<RunSummary | undefined> {
  try {
    const { run } = await runtime.handle(id).summary()
    return await runtime.handle(isChildRun(run) ? rootRun(run) : run).summary()
  } catch (thrown) {
    if (ReeveError.is(thrown, 'run.unknown')) return undefined
    throw thrown
  }
}

/** Begins to measure; what is returned resolves when so much time has passed. */
function refusalAfter(ms: number): () => Promise<void> {
  const at = systemClock.now() + ms
  return () =>
    new Promise((resolve) => {
      systemClock.timer(at, resolve)
    })
}

/** The runtime for a principal. */
export function runtimeOf(runtime: Runtime, principal: Principal): Runtime {
  const { tenant, agents, name } = principal
  const isWhole = seesAll(principal)
  const mayPublish = allows(principal, 'admin') && isWhole
  const own = (id: string): Promise<Run> => runOf(runtime, principal, id)
  const isOwn = async (id: string): Promise<boolean> => {
    const summary = await summaryOf(runtime, id)
    return summary !== undefined && isInScope(principal, summary)
  }

  /** What a question is answered through. Who comes too late is told so by its run, as without tenants. */
  const holderOf = async (
    id: string,
    code: 'approval.unknown' | 'interrupt.unknown',
  ): Promise<Pick<Runtime, 'decide' | 'answer'>> => {
    if (isWhole) return runtime
    const [open] = await runtime.questions({ id, ...inTenant })
    if (open !== undefined && (agents === undefined || (await isOwn(open.run)))) return runtime
    for (const { run } of await runs({ limit: mostSearched })) {
      const handle = runtime.handle(run)
      const { approvals, interrupts } = await handle.view()
      if ([...approvals, ...interrupts].some((each) => each.id === id)) return handle
    }
    throw new ReeveError(code, `no open question has the id ${JSON.stringify(id)}`, {
      hint: 'GET /api/questions lists what is open.',
    })
  }
  const inTenant = tenant === undefined ? {} : { tenant }
  const ofAgents = agents === undefined ? {} : { agents }

  const usable = (): readonly RegisteredAgent[] => {
    const found = runtime.agents().filter((agent) => mayUse(principal, agent))
    // whom else an agent belongs to is nothing to a tenant; prompts are the installation's
    return tenant === undefined
      ? found
      : found.map(({ tenants: _tenants, instructions: _instructions, ...agent }) => agent)
  }
  const mustUse = (agent: unknown): void => {
    if (typeof agent !== 'string' || agents === undefined) return
    const names = usable().map((each) => each.name)
    if (!names.includes(agent)) throw notRegistered(agent, names)
  }

  const runs = async (filter: RunFilter = {}): Promise<readonly RunSummary[]> => {
    const within = { ...filter, ...inTenant }
    if (agents === undefined) return runtime.runs(within)
    const asked = filter.agent === undefined ? agents : agents.filter((each) => each === filter.agent)
    const found = await Promise.all(asked.map((agent) => runtime.runs({ ...within, agent })))
    const newestFirst = (a: RunSummary, b: RunSummary): number =>
      b.createdAt - a.createdAt || (a.run < b.run ? 1 : a.run > b.run ? -1 : 0)
    return found
      .flat()
      .toSorted(newestFirst)
      .slice(0, filter.limit ?? mostListed)
  }
  const questions = async (filter: OpenFilter = {}): Promise<readonly Question[]> => {
    if (agents === undefined) return runtime.questions({ ...filter, ...inTenant })
    const { limit = mostListed } = filter
    const found: Question[] = []
    for (let { after } = filter; ;) {
      const page = await runtime.questions({ ...filter, ...inTenant, limit, ...present({ after }) })
      for (const each of page) if (await isOwn(each.run)) found.push(each)
      if (found.length >= limit || page.length < limit) return found.slice(0, limit)
      after = page.at(-1)!
    }
  }

  const mustBeChoices = (versions: unknown): void =>
    refuseProblems('input.invalid', choicesCheck()(versions, 'start: versions'), 'Nothing was started.')
  /** A principal who publishes no versions runs what is published. */
  const mustBePublished = async ({ versions = {}, defaultStatus }: StartOptions): Promise<void> => {
    if (mayPublish) return
    mustBeChoices(versions)
    if (defaultStatus === 'draft') throw unpublished(name, '*', defaultStatus)
    for (const [agent, choice] of Object.entries(versions)) {
      const asked = typeof choice === 'string' ? choice : 'status' in choice ? undefined : choice.version
      if (asked === undefined) {
        const { status } = choice as { readonly status: string }
        if (status !== 'published') throw unpublished(name, agent, status)
        continue
      }
      const kept = await runtime.versions.revisions({ agent })
      const isOut = kept.some(({ status, revision }) => status === 'published' && revision.version === asked)
      if (!isOut) throw unpublished(name, agent, asked)
    }
  }
  /** As much of a run that is forked or retried, which goes on with the versions that it began with. */
  const goesOnPublished = async (run: Run): Promise<void> => {
    if (!mayPublish) await mustGoOnPublished(runtime.versions, run, name)
  }
  /** Whom a batch reaches that the principal begins: as far as they reach themselves. */
  const batchScope: BatchScope = {
    ...present({ tenant, agents }),
    ...(mayPublish ? undefined : { publishedOnly: true as const }),
  }
  /** A batch that reaches no further than the principal. Rejects with `run.unknown`. */
  const ownBatch = async (id: string): Promise<BatchHandle> => {
    const batch = runtime.batches.of(id)
    if (isWhole) return batch
    const inTime = refusalAfter(refusalMs)
    const view = await batch.view().catch((thrown: unknown) => {
      if (ReeveError.is(thrown, 'run.unknown')) return undefined
      throw thrown
    })
    if (view !== undefined && isWithinScope(view.scope ?? {}, principal)) return batch
    await inTime()
    throw unknownRun(id)
  }
  const visibleBatch = (id: string): BatchHandle => ({
    id: runtime.batches.of(id).id,
    view: async () => (await ownBatch(id)).view(),
    outcome: async () => (await ownBatch(id)).outcome(),
    async *results(options) {
      yield* (await ownBatch(id)).results(options)
      return undefined
    },
    cancel: async (reason, by) => (await ownBatch(id)).cancel(reason, by),
  })

  /** Of a run that is another's, its id is taken: no more is said. */
  const quietly = async <T>(id: string | undefined, begun: Promise<T>): Promise<T> => {
    try {
      return await begun
    } catch (thrown) {
      if (isWhole || id === undefined || !ReeveError.is(thrown, 'run.conflict') || (await isOwn(id))) throw thrown
      throw new ReeveError('run.conflict', `the run id ${JSON.stringify(id)} is taken`, {
        hint: 'Use another run id. Nothing was started.',
      })
    }
  }
  /** The prompts, models and drafts of the installation are not a tenant's to try. What is published is. */
  const mustTry = async (changes: TrialChanges): Promise<void> => {
    if (isWhole) return
    for (const [agent, { version, ...change }] of Object.entries(changes)) {
      if (Object.values(change).some((each) => each !== undefined))
        throw new ReeveError(
          'request.forbidden',
          `${JSON.stringify(name)} may not try another prompt or model of ${JSON.stringify(agent)}`,
          { hint: 'A principal of no tenant, for all agents, may. Try a published version. Nothing was started.' },
        )
      if (version !== undefined) await mustBePublished({ versions: { [agent]: version } })
    }
  }
  const triedIn = (options: StartOptions | undefined): TrialChanges => {
    const given: unknown = options?.trial
    return isObject(given)
      ? (Object.fromEntries(Object.entries(given).filter(([, each]) => isObject(each))) as TrialChanges)
      : {}
  }
  const startOptions = (options: StartOptions | undefined): StartOptions => ({ ...options, ...inTenant })
  /** In another's name a session of that user would be shown to a run that the principal sees, whatever its agents. */
  const mustBeInOwnName = ({ user = name }: StartOptions): void => {
    if (user === name || administers(principal) || !allows(principal, 'admin')) return
    throw new ReeveError('permission.denied', 'a principal of some agents starts runs in their own name', {
      hint: 'Leave user out: it is you. Nothing was started.',
    })
  }
  const mayStart = async (agent: unknown, options: StartOptions | undefined): Promise<void> => {
    mustUse(agent)
    mustBeInOwnName(options ?? {})
    // in a trial of the installation's own people drafts may be chosen, too
    if (options?.trial === undefined || !isWhole) await mustBePublished(options ?? {})
    await mustTry(triedIn(options))
  }

  const inOwnTenant = <Of extends { readonly tenant?: string }>(of: Of): Of => ({ ...of, ...inTenant })
  /** Who may continue a session, for who sees a run of it, or continues it. */
  const sessionAccess = async ({ session, tenant: of }: SessionName): Promise<SessionAccess | undefined> => {
    const access = await runtime.sessions.access({ session, ...present({ tenant: of }) })
    if (agents === undefined || mayContinue(access, name)) return access
    return (await runs({ session, ...present({ tenant: of }), limit: 1 })).length > 0 ? access : undefined
  }
  const mustShare = async ({ session, tenant: of }: SessionName): Promise<void> => {
    if (administers(principal)) return
    const access = await runtime.sessions.access({ session, ...present({ tenant: of }) })
    if (access === undefined || access.owner === name) return
    throw new ReeveError('session.forbidden', `the session ${JSON.stringify(session)} is of another user`, {
      hint: 'Its owner shares it, or an admin. Nothing was changed.',
    })
  }

  return {
    run: async (agent, input, options) => {
      await mayStart(agent, options)
      return quietly(options?.runId, runtime.run(agent, input, startOptions(options)))
    },
    start: async (agent, input, options) => {
      await mayStart(agent, options)
      return quietly(options?.runId, runtime.start(agent, input, startOptions(options)))
    },
    stream(agent, input, options = {}) {
      mustUse(agent)
      if (!mayPublish) mustBeChoices(options.versions ?? {})
      mustBeInOwnName(options)
      if (options.trial !== undefined && !isWhole) throw notShared('a stream of a trial')
      const named = Object.entries(options.versions ?? {}).find(
        ([, choice]) => typeof choice === 'string' || ownMember(choice, 'status') !== 'published',
      )
      if (!mayPublish && named !== undefined) throw unpublished(name, named[0], JSON.stringify(named[1]))
      if (!mayPublish && options.defaultStatus === 'draft') throw unpublished(name, '*', options.defaultStatus)
      return runtime.stream(agent, input, startOptions(options))
    },
    handle: (id) => runtime.handle(id),
    agents: usable,
    runs,
    totals: (filter, options) => runtime.totals({ ...filter, ...inTenant }, { ...options, ...ofAgents }),
    causes: (filter, options) => runtime.causes({ ...filter, ...inTenant }, { ...options, ...ofAgents }),
    counters() {
      if (isWhole) return runtime.counters()
      throw notShared('what was counted of all runs')
    },
    // how far the index is says nothing of any run
    unindexed: (options) => runtime.unindexed({ ...options, ...inTenant }),
    approvals: async (filter) => approvalsAmong(await questions({ ...filter, kind: 'approval' })),
    questions,
    feed(options) {
      if (isWhole) return runtime.feed(options)
      throw notShared('the feed of all runs')
    },
    async decide(decision) {
      await (await holderOf(decision.approvalId, 'approval.unknown')).decide(decision)
    },
    decideAll: (decisions) =>
      decideAll(decisions, async (decision) => {
        await (await holderOf(decision.approvalId, 'approval.unknown')).decide(decision)
      }),
    async answer(answer) {
      const holder = await holderOf(answer.interruptId, 'interrupt.unknown')
      const [open] = await runtime.questions({ id: answer.interruptId, ...inTenant })
      const summary = open === undefined ? undefined : await summaryOf(runtime, open.run)
      if (open !== undefined && summary !== undefined) mustBeItsClient(open, summary, principal)
      await holder.answer(answer)
    },
    async settleDoubt(settlement) {
      await holderOf(settlement.id, 'interrupt.unknown')
      await runtime.settleDoubt(settlement)
    },
    async settleDivergence(settlement) {
      await holderOf(settlement.id, 'interrupt.unknown')
      await runtime.settleDivergence(settlement)
    },
    links: {
      async create(request) {
        await holderOf(request.approvalId, 'approval.unknown')
        return runtime.links.create(request)
      },
      of: (token, audience) => runtime.links.of(token, audience),
      decide: (decision) => runtime.links.decide(decision),
      async list(approvalId) {
        await holderOf(approvalId, 'approval.unknown')
        return runtime.links.list(approvalId)
      },
      async revoke(revocation) {
        await holderOf(revocation.approvalId, 'approval.unknown')
        await runtime.links.revoke(revocation)
      },
    },
    async audit(run, options) {
      await own(run)
      return runtime.audit(run, options)
    },
    async fork(options) {
      const origin = await own(options.run)
      const { edit } = options
      if (edit?.type === 'trial' && isWhole) return quietly(options.runId, runtime.fork(options))
      await goesOnPublished(origin)
      if (edit?.type === 'trial') {
        const { type: _type, call: _call, input: _input, ...change } = edit
        await mustTry({ [origin.id]: change })
      }
      return quietly(options.runId, runtime.fork(options))
    },
    async retry(run, options) {
      await goesOnPublished(await own(run))
      return quietly(options?.runId, runtime.retry(run, options))
    },
    batch: (verb, filter, options = {}) =>
      quietly(options.id, runtime.batch(verb, filter, { ...options, by: name, scope: batchScope })),
    batches: {
      of: visibleBatch,
      async list(options = {}) {
        if (agents === undefined) return runtime.batches.list({ ...options, ...inTenant })
        const { limit = 20 } = options
        const found: BatchView[] = []
        for (let { after } = options; ;) {
          const page = await runtime.batches.list({ ...options, ...inTenant, limit, ...present({ after }) })
          found.push(...page.filter(({ scope = {} }) => isWithinScope(scope, principal)))
          after = page.at(-1)
          if (found.length >= limit || page.length < limit) return found.slice(0, limit)
        }
      },
    },
    async remove(run) {
      await own(run)
      await runtime.remove(run)
    },
    system: async (options) => {
      if (agents !== undefined) return { runs: {} }
      return runtime.system({ ...options, ...inTenant })
    },
    get versions() {
      return runtime.versions
    },
    async trialModels() {
      return isWhole ? runtime.trialModels() : []
    },
    grants: {
      async of(whose) {
        if ('run' in whose) await own(whose.run)
        const found = await runtime.grants.of('run' in whose ? whose : inOwnTenant(whose))
        return agents === undefined ? found : found.filter(({ agent }) => agent !== undefined && agents.includes(agent))
      },
      async revoke(which) {
        if (agents !== undefined) throw notShared('what was granted in a session')
        if ('run' in which) await own(which.run)
        return runtime.grants.revoke('run' in which ? which : inOwnTenant(which))
      },
    },
    sessions: {
      access: (of) => sessionAccess(inOwnTenant(of)),
      async share(of) {
        const within = inOwnTenant(of)
        await mustShare(within)
        return runtime.sessions.share({ ...within, by: name })
      },
      async unshare(of) {
        const within = inOwnTenant(of)
        await mustShare(within)
        return runtime.sessions.unshare(within)
      },
      mustBeOf: (of) => runtime.sessions.mustBeOf(inOwnTenant(of)),
    },
    get trust() {
      return runtime.trust
    },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

const notShared = (what: string): ReeveError =>
  new ReeveError('request.forbidden', `${what} is not for a principal of one tenant, or of some agents`, {
    hint: 'Nothing was done.',
  })
