/**
 * Mistakes that users make, each a program. What the compiler says of each stands in mistakes.txt.
 *
 * Owns: the programs. Does not own: what is said of them, how they are compiled (mistakes.test.ts).
 */

/** By what is wrong. `reeve`, `reeve/folder` and zod are imported. */
export const mistakes: Readonly<Record<string, string>> = {
  'an agent without a model': `export const a = agent({ name: 'a', description: 'x' })`,
  'a worker without a description': `const w = agent({ name: 'w', model: 'openai/gpt-5-mini' })
export const s = supervisor({ name: 's', model: 'openai/gpt-5-mini', workers: [w] })`,
  'instruction for instructions': `export const a = agent({ name: 'a', model: 'openai/gpt-5-mini', instruction: 'x' })`,
  'a tool that takes its input for something else': `export const t = tool({ name: 't', input: z.object({ n: z.number() }), execute: ({ n }) => n.toUpperCase() })`,
  'an effect that there is not': `export const t = tool({ name: 't', input: z.object({ n: z.number() }), effect: 'idempotant', execute: ({ n }) => n })`,
  'prices given to an agent': `export const a = agent({ name: 'a', output: z.object({ n: z.number() }), model: 'acme/x', prices: { 'acme/x': { input: 1, output: 2 } } })`,
  'the output of a run that may have failed': `const a = agent({ name: 'a', output: z.object({ n: z.number() }), model: 'acme/x' })
const r = await createRuntime({ agents: [a] })
const o = await r.run(a, 'x')
export const n: number = o.output.n`,
  'steps that do not fit': `const a = agent({ name: 'a', output: z.object({ n: z.number() }), run: () => ({ n: 1 }) })
const b = agent({ name: 'b', input: z.object({ s: z.string() }), run: (_c, { s }) => s })
export const p = sequential({ name: 'p', agents: [a, b] })`,
  'a start with another input': `const a = agent({ name: 'a', input: z.object({ n: z.number() }), run: (_c, { n }) => n })
const r = await createRuntime({ agents: [a] })
await r.run(a, 'hello')`,
  'code that returns what its schema does not take': `export const a = agent({ name: 'a', output: z.object({ n: z.number() }), run: () => ({ n: 'x' }) })`,
  'agents as an object': `const a = agent({ name: 'a', model: 'acme/x' })
export const r = await createRuntime({ agents: { a } })`,
  'tools as an object, which is allowed': `const t = tool({ name: 't', execute: () => 1 })
export const a = agent({ name: 'a', model: 'acme/x', tools: { t } })`,
  'both a model and code': `export const a = agent({ name: 'a', model: 'acme/x', run: () => 'x' })`,
  'until on a member that is not there': `const i = agent({ name: 'i', input: z.object({ s: z.number() }), output: z.object({ s: z.number() }), run: (_c, { s }) => ({ s }) })
export const l = loop({ name: 'l', agents: [i], until: ({ score }) => score > 3, maxIterations: 3 })`,
  'a risk that there is not': `export const t = tool({ name: 't', input: z.object({ n: z.number() }), approval: { risk: 'very-high' }, execute: ({ n }) => n })`,
  'a worker by its name': `export const s = supervisor({ name: 's', model: 'acme/x', workers: ['researcher'] })`,
  'a model that takes a text': `export const a = agent({ name: 'a', model: async (prompt: string) => prompt })`,
  'timeout for timeoutMs': `export const t = tool({ name: 't', timeout: 5000, execute: () => 1 })`,
  'a step without ctx': `export const a = agent({ name: 'a', run: async () => step('x', () => 1) })`,
  'a member that a task does not have': `export const t = team({ name: 't', model: 'acme/x', roles: { w: agent({ name: 'w', description: 'x', model: 'acme/x' }) }, planner: { subtasks: [{ id: 'a', roll: 'w', description: 'x' }] } })`,
  'handler for execute': `export const t = tool({ name: 't', effect: 'read', handler: () => 1 })`,
  'schema for input': `export const t = tool({ name: 't', schema: z.object({ n: z.number() }), execute: () => 1 })`,
  'a function for a tool': `export const a = agent({ name: 'a', model: 'acme/x', tools: [() => 1] })`,
  'an agent without a name': `export const a = agent({ model: 'acme/x' })`,
  'a description that is a function': `export const a = agent({ name: 'a', description: async () => 'x', model: 'acme/x' })`,
  'workers as an object': `const w = agent({ name: 'w', description: 'x', model: 'acme/x' })
export const s = supervisor({ name: 's', model: 'acme/x', workers: { w } })`,
  'a loop without a bound': `const w = agent({ name: 'w', run: () => 1 })
export const l = loop({ name: 'l', agents: [w], until: () => true })`,
  'agent for agents': `const w = agent({ name: 'w', run: () => 1 })
export const r = await createRuntime({ agent: w })`,
  'a store that is a number': `export const r = await createRuntime({ store: 5 })`,
  'a limit that there is not': `export const a = agent({ name: 'a', model: 'acme/x', limits: { token: 1 } })`,
  'a limit that is a text': `export const a = agent({ name: 'a', model: 'acme/x', limits: { usd: '5' } })`,
  'an approval that is a text': `export const t = tool({ name: 't', approval: 'yes', execute: () => 1 })`,
  'a run that is not awaited': `const w = agent({ name: 'w', run: () => 1 })
const r = await createRuntime({ agents: [w] })
export const n = unwrap(r.run(w, 'x'))`,
  'a runtime that is not awaited': `const w = agent({ name: 'w', run: () => 1 })
const r = createRuntime({ agents: [w] })
export const o = await r.run(w, 'x')`,
  'tools for code': `const t = tool({ name: 't', execute: () => 1 })
export const a = agent({ name: 'a', tools: [t], run: () => 1 })`,
  'words for a model, and code that leads': `const w = agent({ name: 'w', description: 'x', run: () => 1 })
export const s = supervisor({ name: 's', workers: [w], guidance: 'x', run: () => 1 })`,
  'options for somebody who is no worker': `const w = agent({ name: 'w', description: 'x', run: () => 1 })
export const s = supervisor({ name: 's', model: 'acme/x', workers: [w], delegation: { workers: { v: { timeoutMs: 1 } } } })`,
  'hooks beside delegation': `const w = agent({ name: 'w', description: 'x', run: () => 1 })
export const s = supervisor({ name: 's', model: 'acme/x', workers: [w], hooks: { onStart: () => ({}) } })`,
  'a decision that there is not': `const r = await createRuntime()
await r.decide({ approvalId: 'x', decision: 'approved' })`,
  'a delegation with another input': `const w = agent({ name: 'w', input: z.object({ n: z.number() }), run: (_ctx, { n }) => n })
export const a = agent({ name: 'a', run: (ctx) => delegate(ctx, w, { n: '1' }) })`,
  'code that leads, and returns what its schema does not take': `const w = agent({ name: 'w', description: 'x', run: () => 1 })
export const s = supervisor({ name: 's', workers: [w], output: z.object({ n: z.number() }), run: () => ({ n: 'x' }) })`,
  'a text that is none of the schema': `export const a = agent({ name: 'a', output: z.enum(['yes', 'no']), run: () => 'maybe' })`,
  'an option that the file of an agent does not have': `export default defineAgent({ description: 'x', model: 'acme/x', instruction: 'x' })`,
  'the code of a file that returns what its schema does not take': `export default defineAgent({ description: 'x', output: z.object({ n: z.number() }), run: () => ({ n: 'x' }) })`,
  'an effect that there is not, in a file': `export default defineTool({ input: z.object({ n: z.number() }), effect: 'idempotant', execute: ({ n }) => n.toFixed() })`,
  'an option that the file of a leader does not have': `export default defineLeader({ model: 'acme/x', guidanse: 'x' })`,
}
