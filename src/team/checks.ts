/**
 * The check of a team's options: everything that is wrong with them, one sentence each. Pure.
 *
 * Owns: the rules for every option, those within options too, and that none is passed over: an option without a rule
 * does not compile. Does not own: what stands behind roles (plan/roles.ts), how an answer is made (result/options.ts),
 * what is learned (learn/learning.ts), whether a plan makes sense: a fixed one is looked at like any other, when it is
 * to be carried out (plan/validate.ts).
 */
import {
  amount,
  described,
  flag,
  fraction,
  functionCheck,
  hasNames,
  knownProblems,
  meantInstead,
  milliseconds,
  number,
  object,
  text,
  unchecked,
  unknownNames,
  wholeNumber,
  word,
  type Check,
  type Checks,
} from '../core/index.ts'
import { factProblems, isAgent, isBlank, retryCheck, capProblem } from '../agent/index.ts'
import { resolveModel, type Model, type ModelRef } from '../model/index.ts'
import type { DependencyPolicy, TeamRoute, TeamStrategy } from '../journal/index.ts'
import { learningProblems } from './learn/learning.ts'
import type { MailboxOptions } from './mail/mailbox.ts'
import { teamNames, type AnyTeamOptions, type DependencyOptions } from './options.ts'
import type { Estimate } from './plan/plan.ts'
import { modelProblem, type RoleBook } from './plan/roles.ts'
import type { RouteHints } from './plan/route.ts'
import { answerProblems } from './result/options.ts'
import type { RecruitOptions } from './staff/recruitment.ts'
import type { BudgetOptions } from './budget/budget.ts'
import { tolerances } from './schedule/failure-budget.ts'

/** What is wrong with the options of a team; empty if nothing. */
export function teamProblems(options: AnyTeamOptions, roles: RoleBook): readonly string[] {
  const where = `team "${options.name}"`
  const { planner, model, fallback, defaultRole } = options
  const names = roles.list.map(({ name }) => name)
  return [
    ...unknownOptions(options, teamNames, where, meantByOptions),
    ...factProblems(options, where),
    ...knownProblems(rules, options, where),
    ...roles.problems,
    ...(isBlank(defaultRole) || roles.problems.length > 0 || roles.find(defaultRole!) !== undefined
      ? []
      : [
          `${where}: defaultRole is ${described(defaultRole)}, and there is no such role${meantInstead(defaultRole!, names, 'there are')}`,
        ]),
    ...answerProblems(options),
    ...learningProblems(options),
    ...(planner === undefined && model === undefined && fallback !== true
      ? [
          `${where} has neither a planner nor a model, so nobody could plan; with \`fallback: true\` the whole question is one task`,
        ]
      : []),
    ...(hasNames(planner) &&
    !isAgent(planner) &&
    !('subtasks' in planner) &&
    !('model' in planner) &&
    model === undefined
      ? [`${where}: planner has no model, and neither has the team`]
      : []),
    ...priceProblems(options, where),
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

/** Names that there are not, with what is meant by them: by a word of another tool, or by a slip. */
function unknownOptions(
  given: object,
  known: Readonly<Record<string, unknown>>,
  where: string,
  meant: Readonly<Record<string, string>>,
): readonly string[] {
  const isMeant = (name: string): boolean => !Object.hasOwn(known, name) && Object.hasOwn(meant, name)
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !isMeant(name)))
  const told = Object.keys(given).filter(isMeant).map((name) => `${where} has no option "${name}": did you mean "${meant[name]}"?`) // prettier-ignore
  return [...told, ...unknownNames(rest, known, where)]
}

/** Models that a team calls itself: for planning and for synthesis. */
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

/**
 * A limit in US dollars needs a price of every model; agents are looked at with their teams, the team's own models are
 * none.
 */
function priceProblems(options: AnyTeamOptions, where: string): readonly string[] {
  const { limits, budget: given } = options
  if ((limits?.usd ?? given?.usd) === undefined) return []
  return modelsBeside(options).flatMap(({ id, price, of }) =>
    price === undefined ? [capProblem(`${where}: limits.usd`, `"${id}" (${of})`)] : [],
  )
}

const model: Check = (given, where) => {
  const problem = modelProblem(given)
  return problem === undefined ? [] : [`${where}: ${problem}`]
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
const dependencyOptions = object<DependencyOptions>({ policy: word(policies), timeoutMs: milliseconds, passAll: flag })
const mailbox = object<MailboxOptions>({
  maxMessages: wholeNumber(1),
  maxPerRecipient: wholeNumber(1),
  overflow: word({ 'keep-newest-half': true, 'drop-oldest': true, 'drop-newest': true }),
  maxBytes: wholeNumber(1),
  quota: wholeNumber(0),
  maxExchanges: wholeNumber(0),
  policy: functionCheck,
})
const recruit = object<RecruitOptions>({
  policy: functionCheck,
  counts: word({ ever: true, active: true }),
  perMember: wholeNumber(0),
  depth: wholeNumber(0),
  countFailures: flag,
})
const budget: Check = (given, where) =>
  typeof given === 'number'
    ? [`${where} is ${given}: say \`budget: { tokens: ${given} }\``]
    : [...budgetOptions(given, where), ...perTaskProblems(given, where)]

/** What no task could ever have. */
function perTaskProblems(given: unknown, where: string): readonly string[] {
  const { perTask, ...whole } = (hasNames(given) ? given : {}) as BudgetOptions
  if (!hasNames(perTask)) return []
  return (['tokens', 'usd'] as const).flatMap((of) => {
    const [each, all] = [perTask[of], whole[of]]
    return typeof each === 'number' && typeof all === 'number' && each > all
      ? [`${where}.perTask.${of} is ${each}, more than the whole budget of ${all}: no task could begin`]
      : []
  })
}

const budgetOptions = object<BudgetOptions>({
  tokens: wholeNumber(0),
  usd: amount,
  mode: word({ hard: true, soft: true }),
  onExhausted: word({ synthesise: true, abort: true, ask: true }),
  perTask: object<Estimate>({ tokens: wholeNumber(0), usd: amount }),
})

const tolerance: Check = (given, where) => {
  if (typeof given === 'string' && /^\s*\d+(?:\.\d+)?\s*%?\s*$/u.test(given))
    return [
      `${where} is ${described(given)}: say a whole number of percent: \`tolerance: ${Math.round(Number.parseFloat(given))}\``,
    ]
  return typeof given === 'string'
    ? word(Object.fromEntries(Object.keys(tolerances).map((name) => [name, true as const])))(given, where)
    : number(
        (percent) => Number.isInteger(percent) && percent >= 0 && percent <= 100,
        'a whole number of percent between 0 and 100, or a preset',
      )(given, where)
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
    const both = Object.keys(plannerRules).filter((name) => name in given)
    return both.length === 0 ? [] : [`${where} has both subtasks and ${both.join(' and ')}, expected ${plannerForms}`]
  }
  return [
    ...unknownOptions(given, plannerRules, where, meantByPlanner),
    ...(Object.keys(given).some((name) => Object.hasOwn(meantByPlanner, name)) ? [`${where} is ${plannerForms}`] : []),
    ...knownProblems(plannerRules, given, where, (at, name) => `${at}.${name}`),
  ]
}
const plannerRules: Checks<{ model: unknown; instructions: unknown; repairs: unknown }> = {
  model,
  instructions: text,
  repairs: wholeNumber(0),
}
const plannerForms = 'a plan { subtasks, … } or { model, instructions, repairs }'

const retry: Check = (given, where) => {
  if (typeof given === 'number') return [`${where} is ${given}: say \`retry: { attempts: ${given} }\``]
  if (typeof given === 'string') return word({ none: true })(given, where)
  return retryCheck(given, where)
}

const rules: Checks<Omit<AnyTeamOptions, 'name' | 'description' | 'limits' | 'oversight' | 'assess' | 'outputKey'>> = {
  model,
  tools: unchecked,
  roles: unchecked,
  defaultRole: text,
  planner,
  fallback: flag,
  route: word(routes),
  routing,
  strategy: word(strategies),
  concurrency: wholeNumber(1),
  maxTeamSize: wholeNumber(0),
  tolerance,
  maxFailures: wholeNumber(1),
  retry,
  timeoutMs: milliseconds,
  dependencies,
  mailbox,
  recruit,
  policy: functionCheck,
  approvePlan: flag,
  undo: functionCheck,
  lead: functionCheck,
  budget,
  synthesize: unchecked,
  synthesis: unchecked,
  memory: unchecked,
  advisor: unchecked,
  output: unchecked,
  version: text,
}
