/**
 * Tenants: the runtime as a principal of one tenant has it.
 *
 * Owns: which runs and questions are a tenant's own, and that nothing else is there for it. Every member of the runtime
 * stands here, or the compiler refuses it: a new one is thought about. Does not own: what a principal's role allows.
 * Holds: what is another tenant's is answered as what is not there, by the same words.
 */
import { ReeveError } from '../../core/index.ts'
import { unknownRun, type Run, type Runtime, type StartOptions } from '../../runtime/index.ts'
import type { Principal } from '../wire.ts'

/** How many of the tenant's newest runs are searched for a question that is not open any more. */
const mostSearched = 50

/** The runtime for a principal: the same one, or that of their tenant. */
export const runtimeOf = (runtime: Runtime, { tenant }: Principal): Runtime =>
  tenant === undefined ? runtime : tenantRuntime(runtime, tenant)

/** The run of this id, if it is there for the principal. Rejects with `run.unknown`. */
export async function runOf(runtime: Runtime, { tenant }: Principal, id: string): Promise<Run> {
  const run = runtime.handle(id)
  const { caller } = await run.summary()
  if (tenant === undefined || caller.tenant === tenant) return run
  throw unknownRun(run.id)
}

function tenantRuntime(runtime: Runtime, tenant: string): Runtime {
  const principal = { name: '', roles: [], tenant }
  const own = (id: string): Promise<Run> => runOf(runtime, principal, id)
  /** What a question of the tenant is answered through. Who comes too late is told so by its run, as without tenants. */
  const holderOf = async (
    id: string,
    code: 'approval.unknown' | 'interrupt.unknown',
  ): Promise<Pick<Runtime, 'decide' | 'answer'>> => {
    if ((await runtime.questions({ id, tenant })).length > 0) return runtime
    for (const { run } of await runtime.runs({ tenant, limit: mostSearched })) {
      const handle = runtime.handle(run)
      const { approvals, interrupts } = await handle.view()
      if ([...approvals, ...interrupts].some((each) => each.id === id)) return handle
    }
    throw new ReeveError(code, `no open question has the id ${JSON.stringify(id)}`, {
      hint: 'GET /api/questions lists what is open.',
    })
  }
  const startOptions = (options: StartOptions | undefined): StartOptions => ({ ...options, tenant })
  return {
    run: (agent: never, input: never, options?: StartOptions) => runtime.run(agent, input, startOptions(options)),
    start: (agent: never, input: never, options?: StartOptions) => runtime.start(agent, input, startOptions(options)),
    stream: (agent: never, input: never, options?: StartOptions) => runtime.stream(agent, input, startOptions(options)),
    handle: (id) => runtime.handle(id),
    agents: () => runtime.agents(),
    runs: (filter) => runtime.runs({ ...filter, tenant }),
    approvals: (filter) => runtime.approvals({ ...filter, tenant }),
    questions: (filter) => runtime.questions({ ...filter, tenant }),
    feed() {
      throw notForTenants('the feed of all runs')
    },
    async decide(decision) {
      await (await holderOf(decision.approvalId, 'approval.unknown')).decide(decision)
    },
    async answer(answer) {
      await (await holderOf(answer.interruptId, 'interrupt.unknown')).answer(answer)
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
      await own(options.run)
      return runtime.fork(options)
    },
    async retry(run, options) {
      await own(run)
      return runtime.retry(run, options)
    },
    retryAll: (filter, options) => runtime.retryAll({ ...filter, tenant }, options),
    async remove(run) {
      await own(run)
      await runtime.remove(run)
    },
    system: () => runtime.system({ tenant }),
    get versions() {
      return runtime.versions
    },
    get grants() {
      return runtime.grants
    },
    get trust() {
      return runtime.trust
    },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

const notForTenants = (what: string): ReeveError =>
  new ReeveError('request.forbidden', `${what} is not for a principal of one tenant`, { hint: 'Nothing was done.' })
