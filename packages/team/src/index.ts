/**
 * Many model agents led by a plan: decompose, schedule, roles, mailbox, recruits, failure budget, synthesis, advice.
 */
export { team } from './team.ts'
export type { DependencyOptions, TeamOptions } from './options.ts'
export type { Plan, Subtask, Estimate, TaskApproval } from './plan/plan.ts'
export type { PlanEdit } from './plan/edit-check.ts'
export type { PlannerLike, PlanQuestion } from './plan/options.ts'
export type { RoleOptions, Roles } from './plan/roles.ts'
export type { RouteHints } from './plan/route.ts'
export type { MailboxOptions } from './mail/options.ts'
export type { RecruitOptions } from './staff/options.ts'
export type { PolicyQuestion, PolicyVerdict, TeamPolicy } from './policy.ts'
export type { Lead, LeadMoment, LeadRequest } from './staff/lead.ts'
export type { BudgetOptions } from './budget/budget.ts'
export type { EndedTask, UndoTask } from './schedule/rollback.ts'
export type {
  ModelSynthesizer,
  SynthesisInput,
  SynthesisOptions,
  SynthesisResult,
  Synthesizer,
} from './result/options.ts'
export type { Advisor, AdvisorOptions, Recollection, RememberedPlan, StrategyRecord } from './learn/advisor.ts'
export type { Advice } from './plan/plan.ts'
export type { MemoryScope, TeamEnd, TeamMemory } from './learn/memory.ts'
