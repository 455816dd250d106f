/**
 * The check of a team's options: everything that is wrong with them, one sentence each. Pure.
 *
 * Owns: the rules for every option, those within options too, and that none is passed over: an option without a rule
 * does not compile. Does not own: what stands behind roles (plan/roles.ts), how an answer is made (result/options.ts),
 * what is learned (learn/options.ts), whether a plan makes sense: a fixed one is looked at like any other, when it is
 * to be carried out (plan/validate.ts).
 */
import { learningChecks } from './learn/options.ts'
import { answerChecks } from './result/options.ts'
import {
  amount,
  choice,
  choiceOr,
  described,
  either,
  flag,
  fraction,
  functionCheck,
  hasNames,
  meantInstead,
  milliseconds,
  number,
  object,
  objectOr,
  optionProblems,
  text,
  unchecked,
  wholeNumber,
  choiceIn,
  type Check,
  type Checks,
  type Rule,
} from '@reeve/core'
import { composedChecks, factRule, isAgent, isBlank, retryCheck, type AgentProblem } from '@reeve/agent'
import { modelCheck, modelProblem, resolveModel, type Model, type ModelRef } from '@reeve/model'
import type { DependencyPolicy, TeamRoute, TeamStrategy } from '@reeve/journal'
import type { MailboxOptions } from './mail/options.ts'
import type { AnyTeamOptions, DependencyOptions } from './options.ts'
import type { Estimate } from './plan/plan.ts'
import { type RoleBook } from './plan/roles.ts'
import type { RouteHints } from './plan/route.ts'
import type { RecruitOptions } from './staff/options.ts'
import type { BudgetOptions } from './budget/budget.ts'
import { tolerances } from './schedule/failure-budget.ts'

/** What is wrong with the options of a team; empty if nothing. */
export const teamProblems = (options: AnyTeamOptions, roles: RoleBook): readonly AgentProblem[] => [
  ...optionProblems(teamChecks, options, `team "${options.name}"`, { rule: teamRule(roles), meant: meantByOptions }),
  ...roles.problems,
]

/** What must hold between them. */
const teamRule =
  (roles: RoleBook): Rule<AnyTeamOptions> =>
  (options, where) => {
    const { planner, model, fallback, defaultRole } = options
    const names = roles.list.map(({ name }) => name)
    return [
      ...factRule(options, where),
      !isBlank(defaultRole) &&
        roles.problems.length === 0 &&
        roles.find(defaultRole!) === undefined &&
        `${where}: defaultRole is ${described(defaultRole)}, and there is no such role${meantInstead(defaultRole!, names, 'there are')}`,
      planner === undefined &&
        model === undefined &&
        fallback !== true &&
        `${where} has neither a planner nor a model to make a plan; with \`fallback: true\` the whole question is one task`,
      hasNames(planner) &&
        !isAgent(planner) &&
        !('subtasks' in planner) &&
        !('model' in planner) &&
        model === undefined &&
        `${where}: planner has no model, and neither has the team`,
    ]
  }

/** What people who know other tools mean by an option that there is not. */
const meantByOptions: Readonly<Record<string, string>> = {
  workers: 'roles',
  agents: 'roles',
  members: 'roles',
  plan: 'planner',
  tasks: 'planner.subtasks',
  subtasks: 'planner.subtasks',
  instructions: 'planner.instructions',
  process: 'strategy',
  parallelism: 'concurrency',
  maxConcurrency: 'concurrency',
  dependencyPolicy: 'dependencies.policy',
  dependencyTimeoutMs: 'dependencies.timeoutMs',
  timeout: 'timeoutMs',
  retries: 'retry.attempts',
  maxRetries: 'retry.attempts',
  maxTokens: 'budget.tokens',
  manager: 'lead',
  rollback: 'undo',
  compensate: 'undo',
  synthesizer: 'synthesize',
  summarize: 'synthesize',
}
const meantByPlanner: Readonly<Record<string, string>> = {
  tasks: 'subtasks',
  steps: 'subtasks',
  plan: 'subtasks',
  prompt: 'instructions',
}

/** The models that a team asks itself: its planner and its synthesizer, where those are models. */
export function modelsBeside({
  planner,
  model,
  synthesize,
}: AnyTeamOptions): readonly (Model & { readonly of: string })[] {
  const plans = planner === undefined || (hasNames(planner) && !isAgent(planner) && !('subtasks' in planner))
  const asked = [
    {
      of: 'its planner',
      model: plans ? ((planner as { readonly model?: ModelRef } | undefined)?.model ?? model) : undefined,
    },
    {
      of: 'its synthesizer',
      model:
        hasNames(synthesize) && !isAgent(synthesize) ? (synthesize as { readonly model?: ModelRef }).model : undefined,
    },
  ]
  return asked.flatMap(({ of, model: ref }) =>
    ref === undefined || modelProblem(ref) !== undefined ? [] : [{ ...resolveModel(ref), of }],
  )
}

const policies: Readonly<Record<DependencyPolicy, true>> = { tolerate: true, require: true, fail: true }
const routes: Readonly<Record<TeamRoute, true>> = { simple: true, dag: true, team: true }
const strategies: Readonly<Record<TeamStrategy, true>> = { parallel: true, sequential: true, hybrid: true }

const routing = object<RouteHints>({
  dynamic: flag,
  communicating: flag,
  simpleBelow: fraction,
  teamAbove: wholeNumber(0),
  dependenciesImplyTeam: flag,
})
const dependencies: Check = (given, where) =>
  typeof given === 'string'
    ? [
        `${where} is ${described(given)}: say \`dependencies: { policy: '${Object.hasOwn(policies, given) ? given : 'require'}' }\``,
      ]
    : dependencyOptions(given, where)
const dependencyOptions = object<DependencyOptions>({
  policy: choiceIn(policies),
  timeoutMs: milliseconds,
  passAll: flag,
})
const mailbox = object<MailboxOptions>({
  maxMessages: wholeNumber(1),
  maxPerRecipient: wholeNumber(1),
  overflow: choice('keep-newest-half', 'drop-oldest', 'drop-newest'),
  maxBytes: wholeNumber(1),
  quota: wholeNumber(0),
  maxExchanges: wholeNumber(0),
  policy: functionCheck,
})
const recruit = object<RecruitOptions>({
  policy: functionCheck,
  counts: choice('ever', 'active'),
  perMember: wholeNumber(0),
  depth: wholeNumber(0),
  countFailures: flag,
})
const budgetOptions = object<BudgetOptions>(
  {
    tokens: wholeNumber(0),
    usd: amount,
    mode: choice('hard', 'soft'),
    onExhausted: choice('synthesise', 'abort', 'ask'),
    perTask: object<Estimate>({ tokens: wholeNumber(0), usd: amount }),
  },
  ({ perTask, ...whole }, where) =>
    (['tokens', 'usd'] as const).map((of) => {
      const [each, all] = [hasNames(perTask) ? perTask[of] : undefined, whole[of]]
      return (
        typeof each === 'number' &&
        typeof all === 'number' &&
        each > all && // what no task could ever have
        `${where}.perTask.${of} is ${each}, more than the whole budget of ${all}: no task could begin`
      )
    }),
)

/** A number where an object is expected is told what to write. */
const numberMeans =
  (option: string, means: string, check: Check): Check =>
  (given, where) =>
    typeof given === 'number'
      ? [`${where} is ${given}: say \`${option}: { ${means}: ${given} }\``]
      : check(given, where)

const percent = number(
  (given) => Number.isInteger(given) && given >= 0 && given <= 100,
  'a whole number of percent between 0 and 100, or a preset',
)
const tolerance: Check = (given, where) => {
  if (typeof given !== 'string') return percent(given, where)
  return /^\s*\d+(?:\.\d+)?\s*%?\s*$/u.test(given)
    ? [
        `${where} is ${described(given)}: say a whole number of percent: \`tolerance: ${Math.round(Number.parseFloat(given))}\``,
      ]
    : choiceIn(tolerances)(given, where)
}

/** A fixed plan, a function, an agent, or a model with what it is told. */
const planner: Check = (given, where) => {
  if (typeof given === 'function' || isAgent(given)) return []
  if (!hasNames(given)) {
    const instead =
      typeof given === 'string' && modelProblem(given) === undefined ? `: say \`planner: { model: '${given}' }\`` : ''
    return [
      `${where} is ${described(given)}${instead === '' ? `, expected a function, an agent or ${plannerForms}` : instead}`,
    ]
  }
  if ('subtasks' in given) {
    const both = Object.keys(plannerChecks).filter((name) => name in given)
    return both.length === 0 ? [] : [`${where} has both subtasks and ${both.join(' and ')}, expected ${plannerForms}`]
  }
  return [
    ...plannerOptions(given, where),
    ...(Object.keys(given).some((name) => Object.hasOwn(meantByPlanner, name)) ? [`${where} is ${plannerForms}`] : []),
  ]
}
const plannerChecks = { model: modelCheck, instructions: text, repairs: wholeNumber(0) }
const plannerOptions = object<{ model: unknown; instructions: unknown; repairs: unknown }>(plannerChecks, {
  meant: meantByPlanner,
})
const plannerForms = 'a plan { subtasks, … } or { model, instructions, repairs }'

const teamChecks: Checks<AnyTeamOptions> = {
  model: modelCheck,
  tools: unchecked, // this one and the next by the roles
  roles: unchecked,
  defaultRole: text,
  planner,
  fallback: flag,
  route: choiceIn(routes),
  routing,
  strategy: choiceIn(strategies),
  concurrency: wholeNumber(1),
  maxTeamSize: wholeNumber(0),
  tolerance,
  maxFailures: wholeNumber(1),
  retry: numberMeans(
    'retry',
    'attempts',
    either(
      (given) => given === 'none',
      objectOr(
        retryCheck,
        choiceOr(() => false, 'an object', 'none'),
      ),
    ),
  ),
  timeoutMs: milliseconds,
  dependencies,
  mailbox,
  recruit,
  policy: functionCheck,
  approvePlan: flag,
  undo: functionCheck,
  lead: functionCheck,
  budget: numberMeans('budget', 'tokens', budgetOptions),
  output: unchecked,
  ...answerChecks,
  ...learningChecks,
  ...composedChecks,
  version: text,
}
