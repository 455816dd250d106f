/**
 * team(): many model agents led by a plan. A question is decomposed, its tasks are carried out by roles, in parallel
 * and within bounds, and one answer is made of what came of them.
 *
 * Owns: the public constructor and what it is as an agent. Does not own: the options (options.ts), their checks
 * (checks.ts), a run of it (run.ts).
 */
import { mustBeOptions, present, type Json } from '@reeve/core'
import {
  dataOf,
  defineAgent,
  isAgent,
  checkTree,
  renamable,
  schemaOf,
  usdCapOf,
  type Agent,
  type AgentKind,
  type AgentParts,
} from '@reeve/agent'
import { tighter, type Infer, type SchemaLike } from '@reeve/edge'
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
  const made = defineAgent(plannedTeam, plannedTeamParts(options as AnyTeamOptions))
  checkTree(made)
  return renamable(made, (name) => team({ ...options, name })) as unknown as Made
}

/** A run of a planned team is most of its code, and only those who run one have it. */
let Run: typeof TeamRun | undefined

interface PlannedTeamParts extends AgentParts<AnyTeamOptions> {
  readonly roles: RoleBook
}

function plannedTeamParts(options: AnyTeamOptions): PlannedTeamParts {
  const { name, roles, model, tools, limits, budget, output } = options
  return {
    options,
    roles: new RoleBook(name, roles, model, tools),
    limits: tighter(limits, treeLimits(budget)),
    outputSchema: schemaOf(output, `team "${name}": output`),
  }
}

const plannedTeam: AgentKind<PlannedTeamParts> = {
  data: ({ options, roles }, agent) => {
    const { strategy, concurrency, tolerance, defaultRole, fallback, route, routing, approvePlan } = options
    const { maxFailures, retry, timeoutMs, budget, dependencies } = options
    return {
      ...dataOf(agent, { workers: roles.agents.map(({ name }) => name) }),
      order: 'plan',
      roles: roles.data,
      planner: plannerData(options),
      answer: answerData(options),
      learning: learningData(options),
      planning: [defaultRole ?? null, fallback ?? null, route ?? null, (routing ?? null) as Json, approvePlan ?? null],
      strategy: strategy ?? null,
      concurrency: concurrency ?? null,
      tolerance: tolerance ?? null,
      failures: [maxFailures ?? null, (retry ?? null) as Json, timeoutMs ?? null],
      budget: (budget ?? null) as unknown as Json,
      ...present({ dependencies: dependencies as unknown as Json | undefined }),
      mailbox: mailboxData(options.mailbox),
      staff: staffData(options),
    }
  },
  orchestrate: ({ options, roles }, ctx, edge, { outputSchema }) =>
    new Run!({ options, roles, outputSchema }, ctx, edge).run(),
  related: ({ options: { planner, synthesize }, roles }) => [
    ...roles.agents,
    ...[planner, synthesize].filter((each) => isAgent(each)),
  ],
  problems: ({ options, roles }) => [...teamProblems(options, roles), ...toolNameProblems(options.name, roles.agents)],
  more: ({ options, roles }, agent) => ({
    otherModels: modelsBeside(options),
    load: async () => {
      Run ??= (await import('./run.ts')).TeamRun
    },
    usdCaps: () => [...usdCapOf(options.budget, 'budget', [agent]), ...roles.usdCaps],
  }),
}
