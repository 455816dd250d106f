/**
 * Fields: the names that the fields of a plan and of its tasks have, the other ones by which they are understood, and
 * the suggestion for an unknown name.
 *
 * Owns: these tables. Does not own: what stands in a field (plan-parser.ts), whether an unknown one is a problem or a
 * warning (validate.ts). Pure.
 */
import { meantInstead, type JsonObject, type NamesOf } from '@reeve/core'
import type { Plan, Subtask } from './plan.ts'

const planNames: NamesOf<Plan> = {
  subtasks: true,
  agentTypes: true,
  complexity: true,
  strategy: true,
  concurrencyLimit: true,
}
const taskNames: NamesOf<Subtask> = {
  id: true,
  description: true,
  role: true,
  dependencies: true,
  onMissing: true,
  produces: true,
  consumes: true,
  critical: true,
  action: true,
  risk: true,
  required: true,
  requiresApproval: true,
  mode: true,
  review: true,
  approval: true,
  estimate: true,
  tools: true,
  toolParameters: true,
  input: true,
  files: true,
  taskType: true,
}

/** What planners that know Shannon's schema call these fields. */
const otherNames: Readonly<Record<string, string>> = {
  agentTypes: 'agent_types',
  complexity: 'complexity_score',
  strategy: 'execution_strategy',
  concurrencyLimit: 'concurrency_limit',
  tools: 'suggested_tools',
  toolParameters: 'tool_parameters',
  taskType: 'task_type',
  estimate: 'estimated_tokens',
  requiresApproval: 'requires_approval',
  risk: 'risk_level',
}

/** Fields of that schema that say nothing here: plans that were made for it pass. */
const foreign: ReadonlySet<string> = new Set(
  [
    'mode total_estimated_tokens token_estimates cognitive_strategy confidence fallback_strategy', // of a plan
    'parent_area suggested_persona output_format source_guidance search_budget boundaries needs_attachments', // of a task
  ].flatMap((names) => names.split(' ')),
)

/**
 * Names that models sometimes write and that can mean only one thing. In code they are errors with a suggestion.
 */
const slips: Readonly<Record<string, readonly string[]>> = {
  dependencies: ['depends_on', 'dependsOn'],
  role: ['agent'],
}

/** What people who know other tools mean by a name. */
const meantInPlans: Readonly<Record<string, string>> = {
  tasks: 'subtasks',
  steps: 'subtasks',
  roles: 'agentTypes',
  process: 'strategy',
  concurrency: 'concurrencyLimit',
  maxConcurrency: 'concurrencyLimit',
}
const meantInTasks: Readonly<Record<string, string>> = {
  name: 'id',
  title: 'id',
  agent: 'role',
  agentType: 'role',
  agent_type: 'role',
  assignee: 'role',
  worker: 'role',
  dependsOn: 'dependencies',
  depends_on: 'dependencies',
  needs: 'dependencies',
  after: 'dependencies',
  context: 'dependencies',
  goal: 'description',
  instructions: 'description',
  prompt: 'description',
  task: 'description',
  expectedOutput: 'description',
  expected_output: 'description',
  parameters: 'toolParameters',
  args: 'toolParameters',
  type: 'taskType',
  budget: 'estimate',
  riskLevel: 'risk',
  optional: 'required',
  humanInput: 'review',
  human_input: 'review',
  needsApproval: 'requiresApproval',
  needs_approval: 'requiresApproval',
  oversight: 'mode',
  topics: 'produces',
}

/** A field under its name, or under another one. Null is what models write for nothing. */
export function fieldOf(object: JsonObject, name: string): unknown {
  for (const each of [name, otherNames[name], ...(slips[name] ?? [])])
    if (each !== undefined && Object.hasOwn(object, each) && object[each] !== undefined && object[each] !== null)
      return object[each]
  return undefined
}

const isSlip = (name: string): boolean => Object.values(slips).some((names) => names.includes(name))

/** A field that there is not. */
export interface UnknownField {
  readonly sentence: string
  /** It is understood all the same. */
  readonly understood: boolean
}

/**
 * The fields of a plan or a task that there are not, one sentence each. `where` begins it. `hasFiles`: its tasks may name
 * files.
 */
export function unknownFields(
  given: JsonObject,
  of: 'plan' | 'task',
  where: string,
  hasFiles = false,
): readonly UnknownField[] {
  const [known, meant] = of === 'plan' ? [planNames, meantInPlans] : [taskNames, meantInTasks]
  const names = Object.keys(known).filter((name) => name !== 'files' || hasFiles)
  const understood = new Set([...names, ...names.flatMap((name) => otherNames[name] ?? [])])
  return Object.keys(given).flatMap((name) => {
    if (understood.has(name) || foreign.has(name) || given[name] === undefined || given[name] === null) return []
    const own = Object.hasOwn(meant, name) ? meant[name] : undefined
    const instead = own === undefined ? meantInstead(name, names, 'there are') : `: did you mean "${own}"?`
    return [{ sentence: `${where} has no field "${name}"${instead}`, understood: of === 'task' && isSlip(name) }]
  })
}
