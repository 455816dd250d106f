/**
 * team(): many model agents led by a plan. A question is decomposed, its tasks are carried out by roles, in parallel
 * and within bounds, and one answer is made of what came of them.
 *
 * Owns: the public constructor and what it is as an agent. Does not own: the options (options.ts), their checks
 * (checks.ts), a run of it (run.ts).
 */
import { mustBeOptions, type Json, type Outcome } from '@reeve/core'
import {
  dataOf,
  DefinedAgent,
  isAgent,
  checkTree,
  renamable,
  schemaOf,
  usdCapOf,
  versionOf,
  type Agent,
  type AgentProblem,
  type UsdCap,
} from '@reeve/agent'
import { tighter, type Edge, type Infer, type SchemaLike } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { modelsBeside, teamProblems } from './checks.ts'
import { learningData } from './learn/options.ts'
import { mailboxData } from './mail/options.ts'
import { toolNameProblems } from './mail/tool-names.ts'
import type { AnyTeamOptions, TeamOptions } from './options.ts'
import { RoleBook } from './plan/roles.ts'
import { plannerData } from './plan/options.ts'
import { answerData } from './result/options.ts'
import type { TeamRun } from './run.ts'
import { staffData } from './staff/options.ts'
import { treeLimits } from './budget/budget.ts'

/**
 * Defines a planned team. It is an agent, so it may be a root, a worker, a member of a flow or of another team. It
 * completes with one answer and, in the outcome, `results`: every task, what came of it and how much of the plan
 * succeeded; a partial success says so. Too many failures fail it with `team.too-many-failures`, and `results` has what
 * there was. Throws `team.invalid` with everything that is wrong with it.
 */
export function team<const Name extends string, Out extends SchemaLike | undefined = undefined>(
  options: TeamOptions<Name, Out>,
): Agent<Name, string, [Out] extends [undefined] ? Json : Infer<Out>> {
  mustBeOptions(options, 'team', 'team.invalid')
  type Made = Agent<Name, string, [Out] extends [undefined] ? Json : Infer<Out>>
  return renamable(new PlannedTeam(options as AnyTeamOptions), (name) => team({ ...options, name })) as unknown as Made
}

/** A run of a planned team is most of its code, and only those who run one have it. */
let Run: typeof TeamRun | undefined

class PlannedTeam extends DefinedAgent {
  readonly #options: AnyTeamOptions
  readonly #roles: RoleBook
  readonly otherModels: NonNullable<Agent['otherModels']>

  constructor(options: AnyTeamOptions) {
    const { name, description, outputKey, oversight, assess, budget } = options
    const limits = tighter(options.limits, treeLimits(budget))
    const outputSchema = schemaOf(options.output, `team "${name}": output`)
    super({ name, description, outputSchema, limits, oversight, assess, outputKey })
    this.#options = options
    this.#roles = new RoleBook(name, options.roles, options.model, options.tools)
    this.otherModels = modelsBeside(options)
    checkTree(this)
  }

  protected madeVersion(): string {
    const { version, strategy, concurrency, tolerance, defaultRole, fallback, route, routing, approvePlan } =
      this.#options
    const { maxFailures, retry, timeoutMs, budget, dependencies } = this.#options
    const { limits, oversight, outputKey, outputSchema: output } = this
    return versionOf(version, {
      ...(dataOf({
        limits,
        oversight,
        outputKey,
        output,
        workers: this.#roles.agents.map(({ name }) => name),
      }) as object),
      order: 'plan',
      roles: this.#roles.data,
      planner: plannerData(this.#options),
      answer: answerData(this.#options),
      learning: learningData(this.#options),
      planning: [defaultRole ?? null, fallback ?? null, route ?? null, (routing ?? null) as Json, approvePlan ?? null],
      strategy: strategy ?? null,
      concurrency: concurrency ?? null,
      tolerance: tolerance ?? null,
      failures: [maxFailures ?? null, (retry ?? null) as Json, timeoutMs ?? null],
      budget: (budget ?? null) as unknown as Json,
      ...(dependencies === undefined ? undefined : { dependencies: dependencies as unknown as Json }),
      mailbox: mailboxData(this.#options.mailbox),
      staff: staffData(this.#options),
    })
  }

  async load(): Promise<void> {
    Run ??= (await import('./run.ts')).TeamRun
  }

  orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    return new Run!({ options: this.#options, roles: this.#roles, outputSchema: this.outputSchema }, ctx, edge).run()
  }

  related(): readonly Agent[] {
    const { planner, synthesize } = this.#options
    return [...this.#roles.agents, ...[planner, synthesize].filter((each) => isAgent(each))]
  }

  usdCaps(): readonly UsdCap[] {
    return [...usdCapOf(this.#options.budget, 'budget', [this]), ...this.#roles.usdCaps]
  }

  problems(): readonly AgentProblem[] {
    return [...teamProblems(this.#options, this.#roles), ...toolNameProblems(this.name, this.#roles.agents)]
  }
}
