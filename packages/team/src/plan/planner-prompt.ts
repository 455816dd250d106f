/**
 * Planner prompt: what a planning model or agent is told, and the form of its answer.
 *
 * Owns: these texts, finding the plan in an answer. Does not own: who is asked and how often (planner.ts), what makes a
 * plan impossible (validate.ts). Pure. What the past says is data with a heading of its own, and stands in the
 * question: never in the system text.
 */
import { asText, jsonOf, type Json } from '@reeve/core'
import type { JsonSchema, Schema } from '@reeve/edge'
import type { Advice } from './plan.ts'
import type { PlanQuestion } from './options.ts'
import type { ListedRole } from './roles.ts'

const text = (description: string): JsonSchema => ({ type: 'string', description })
const list = (description: string): JsonSchema => ({ type: 'array', items: { type: 'string' }, description })

const taskFields: Readonly<Record<string, JsonSchema>> = {
  id: text('Short and unique in the plan.'),
  description: text('What is to be done, complete in itself.'),
  role: text('Who is to do it: one of the roles.'),
  dependencies: list('Ids of the tasks whose output it needs.'),
  produces: list('Topics to which it adds something that others need before it has ended.'),
  consumes: list('Topics of which it needs an entry before it begins.'),
  critical: { type: 'boolean', description: 'Without it everything else is worth nothing.' },
  tools: list('Tools that it will need, in all likelihood.'),
  toolParameters: { type: 'object', description: 'What they are to be called with. Not for a task with dependencies.' },
  input: { description: 'For a role that takes a typed input: that input.' },
  estimate: { type: 'object', properties: { tokens: { type: 'number' }, usd: { type: 'number' } } },
}
/** What a task says where the request has files. */
const fileFields: typeof taskFields = { files: list('Handles of the files that its member is to see.') }
const formOf = (fields: typeof taskFields): JsonSchema => ({
  type: 'object',
  properties: {
    complexity: { type: 'number', description: 'From 0 to 1; below 0.3: one person can answer at once.' },
    strategy: text('parallel, sequential or hybrid.'),
    subtasks: { type: 'array', items: { type: 'object', properties: fields, required: ['id', 'description'] } },
  },
  required: ['complexity', 'subtasks'],
})

/** What a plan of a team says besides whose work humans look at. */
const overseenFields: typeof taskFields = {
  action: text(
    'What it does with the world, if anything, as a name: publish_report, send_email, delete_files. Humans look at it by this.',
  ),
  risk: text('medium, high or critical: how bad it is if it should not have been done.'),
  required: { type: 'boolean', description: 'false: if a human does not want it, the others go on without it.' },
  requiresApproval: { type: 'boolean', description: 'A human is to approve of it before it begins, whatever it does.' },
}

/**
 * The form that a model is shown. Whatever is JSON passes: what is wrong with a plan is found all at once, and not
 * here.
 */
export const planSchema: Schema = { json: formOf(taskFields), check: (value) => ({ ok: true, value }) }

/** The same for a team whose work humans look at. */
const overseenPlanSchema: Schema = { ...planSchema, json: formOf({ ...taskFields, ...overseenFields }) }

const planSchemas = [
  planSchema,
  overseenPlanSchema,
  withForm(fileFields),
  withForm({ ...fileFields, ...overseenFields }),
]
function withForm(more: typeof taskFields): Schema {
  return { ...planSchema, json: formOf({ ...taskFields, ...more }) }
}

/** The form of a team whose work humans look at or not, for a request with files or without. */
export const planSchemaFor = (isOverseen: boolean, hasFiles: boolean): Schema =>
  planSchemas[Number(isOverseen) + 2 * Number(hasFiles)]!

/** How plans are made here, and for whom. */
export const planningRules = (
  team: string,
  roles: readonly ListedRole[],
): string => `You plan the work of the team "${team}". You do none of it yourself: you divide a question into tasks for the roles below, and answer with nothing but the plan, as JSON.

How to plan:
- Three to five broad tasks are mostly right. Never make more than eight.
- What one member can answer at once is one task, with a complexity below 0.3. Everything else has a complexity of 0.3 to 1, and more than one task.
- The member with a task sees its description and the results of the tasks it depends on. Write each description so that nothing else is needed.
- A task depends on another only if it needs what that one puts out. Tasks that depend on nothing are worked on at the same time.
- Make no task that only puts together, sums up or presents what the others have found: that is done when all of them have ended.
- Leave out every field about which you have nothing to say.

The roles:
${roles.map(toldRole).join('\n')}`

const toldRole = ({ name, description, input }: ListedRole): string =>
  `- ${name}${description === '' ? '' : `: ${description}`}${input === undefined ? '' : ` Its tasks need an input that fits ${JSON.stringify(input)}`}`

/** The question as the planner reads it. */
export const toldQuestion = ({ question, files, advice }: PlanQuestion): string =>
  [
    asText(question),
    ...(files === undefined ? [] : [toldFiles(files)]),
    ...(advice === undefined ? [] : [toldAdvice(advice)]),
  ].join('\n\n')

const toldFiles = (lines: readonly string[]): string =>
  ['## Files of the question', ...lines, 'A member sees only those that its task names in "files".'].join('\n')

const toldAdvice = ({ strategy, confidence, subtasks = [], source, warnings }: Advice): string =>
  [
    '## What earlier questions have shown: hints, no orders',
    `A ${strategy} order has worked best so far (confidence ${confidence}).`,
    ...(source === undefined ? [] : [`The earlier question that is most like this one: ${source}`]),
    ...(subtasks.length === 0 ? [] : [`Its tasks were: ${JSON.stringify(subtasks)}`]),
    ...warnings.map((warning) => `Mind: ${warning}`),
  ].join('\n')

/** What is told of a plan that cannot be carried out. */
export const toldProblems = (problems: readonly string[]): string =>
  `This plan cannot be carried out:\n${problems.map((problem) => `- ${problem}`).join('\n')}\n\nMake a whole plan that can be, and answer with nothing but it, as JSON.`

/**
 * The plan in what was answered: an object, or a text with one in it, whatever stands around it. Else the answer as it
 * is. A plan that stands in the question may be quoted, and counts only where nothing is beside it.
 */
export function planIn(answer: Json, question: Json): Json {
  if (typeof answer !== 'string') return answer
  const found = jsonOf(answer, { path: 'the plan', inProse: true, quotable: [asText(question)] })
  return found.ok ? found.value : answer
}
