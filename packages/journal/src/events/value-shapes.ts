/**
 * Shapes of values: which of their members are payload, and which are structure. Redaction changes payload only (K10).
 *
 * Owns: the shapes of what events and rows of stores are made of: outcomes, messages, edges, callers, plans. Does not
 * own: which of them a member of an event has (its row of the table), what a shape means, and the rules (core/redact.ts).
 * Holds: names (of agents, tools, steps, tasks, topics), addresses and ids are structure: a changed one would not be
 * found again, or be taken for another.
 */
import { isObject, isReeveMessage, type Json, type JsonObject, type Shape } from '@reeve/core'

/** The names in a text, one space apart. */
type Names<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Names<Rest> : Text

const each = <const Text extends string, S extends Shape>(
  names: Text,
  shape: S,
): { readonly [Name in Names<Text>]: S } =>
  Object.fromEntries(names.split(' ').map((name) => [name, shape])) as { readonly [Name in Names<Text>]: S }
/** Members that are structure: their names, one space apart. */
export const kept = <const Text extends string>(names: Text): { readonly [Name in Names<Text>]: 'kept' } =>
  each(names, 'kept')
/** Members that are words: registered values are taken out of them. */
export const texts = <const Text extends string>(names: Text): { readonly [Name in Names<Text>]: 'text' } =>
  each(names, 'text')

export const failure = {
  code: 'kept',
  class: 'kept',
  details: {
    '*': 'payload',
    ...kept('limit activation hook capability lapsed'),
    // Reeve reads them, and users may have members of these names, too
    ...texts('agent path middleware threw attempts later byDefault how'),
  },
} satisfies Shape

export const failures = { failures: [{ worker: 'kept', code: 'kept' }], failureCount: 'kept' } satisfies Shape

/** What the row of a run that has ended says of its end. */
export const endReasonShape = { failure, ...failures } satisfies Shape

export const file = { type: 'kept', mediaType: 'kept', metadata: 'payload' } satisfies Shape
const call = { id: 'kept', name: 'kept', input: 'payload' } satisfies Shape
const reasoning = {
  model: 'kept',
  parts: [{ type: 'kept', callId: 'kept', inText: 'kept', part: 'payload' }],
} satisfies Shape
const ran = { tool: 'kept', input: 'payload', isError: 'kept' } satisfies Shape
const message: Shape = (value) => ({
  role: 'kept',
  callId: 'kept',
  name: 'kept',
  agent: 'kept',
  content: isObject(value) && value['role'] === 'user' ? [file] : 'payload',
  calls: [call],
  files: [file],
  reasoning,
})
const entry = { agent: 'kept', message } satisfies Shape
const trail = {
  said: [entry],
  action: { type: 'kept', to: 'kept', scope: 'kept', callId: 'kept', path: 'kept' },
  breaks: 'kept',
} satisfies Shape
const task = {
  task: 'kept',
  member: 'kept',
  role: 'kept',
  status: 'kept',
  output: 'payload',
  failure,
  usage: 'kept',
} satisfies Shape
const results = { tasks: [task] } satisfies Shape
export const outcomeOf = (output: Shape): Shape => ({
  status: 'kept',
  limit: 'kept',
  account: 'kept',
  output,
  failure,
  trail,
  results,
  reached: 'kept',
  done: [{ name: 'kept', agent: 'kept', state: 'kept', input: 'payload', result: 'payload' }],
  doneCount: 'kept',
  kept: { as: 'kept', why: 'text' },
  reviewed: 'text',
  ...failures,
})

/** What a model answered. */
export const answer = {
  calls: [call],
  files: [file],
  finish: 'kept',
  usage: 'kept',
  model: 'kept',
  reasoning,
  ran: [ran],
  response: 'kept',
  providerMetadata: 'payload',
} satisfies Shape

/** The arguments of Reeve's own verbs, by their names; under any other name they are users'. */
const verbInput = {
  '*': 'payload',
  ...kept('worker workers agent_name to role member mode join topic delegation refs from keep'),
  ...texts('instructions request reason description text question task kind'),
} satisfies Shape

/** What a model answered that was offered verbs of Reeve's own. */
export const answerShape =
  (isVerb: (name: string) => boolean): Shape =>
  () => ({
    ...answer,
    calls: [
      (value) =>
        isObject(value) && typeof value['name'] === 'string' && isVerb(value['name'])
          ? { ...call, input: verbInput }
          : call,
    ],
  })

/**
 * The answer to a question: a decision on an approval names what it is about, anything else is the value that was
 * given.
 */
export const answered: Shape = (value) =>
  isObject(value) && isObject(value['on']) && typeof value['on']['inputHash'] === 'string'
    ? { decision: 'kept', on: 'kept', repeat: 'kept', input: 'payload', grant: { input: 'payload', '*': 'kept' } }
    : 'payload'

const edgeMessage = { role: 'kept', agent: 'kept', files: [file] } satisfies Shape
/** Whether the input of an activation is an edge. On a bare engine it may be any value. */
export const isEdge = (value: Json): value is JsonObject =>
  isObject(value) &&
  isObject(value['brief']) &&
  typeof value['depth'] === 'number' &&
  typeof value['maxDepth'] === 'number'

/** Versions of agents, by name. */
export const revisionsShape = { '*': { '*': 'kept', instructions: 'text' } } satisfies Shape

export const inputShape: Shape = (value) => (isEdge(value) ? edge : 'payload')
const edge = {
  ...kept(
    'depth maxDepth permissions limits oversight failures admitted turns report delegation team permit asks threads hooks',
  ),
  /** What a start gives besides: see RootExtras. */
  root: { '*': 'kept', values: 'payload' },
  brief: { input: 'payload' },
  added: 'text',
  metadata: 'payload',
  history: [edgeMessage],
  context: [edgeMessage],
  files: [file],
  messages: [message],
  entries: [entry],
  flow: { '*': 'kept', task: 'text', to: [{ name: 'kept' }] },
  versions: revisionsShape,
  assignment: {
    '*': 'kept',
    description: 'text',
    feedback: 'text',
    question: 'payload',
    inputs: { '*': { status: 'kept', output: 'payload', failure, usage: 'kept' } },
    toolParameters: 'payload',
  },
} satisfies Shape

/** A message between activations: Reeve's own words have a type that begins with `$`, anything else is users'. */
export const body: Shape = (value) => (isReeveMessage(value) ? reeveMessageShape : 'payload')
const reeveMessageShape = {
  type: 'kept',
  do: 'kept',
  id: 'kept',
  to: 'kept',
  mail: { to: 'kept', from: 'kept', content: 'payload' },
  outcome: outcomeOf('payload'),
  output: 'payload',
  content: 'payload',
  entry: 'payload',
  topic: 'kept',
  task: 'kept',
  delegation: 'kept',
  wish: { role: 'kept', input: 'payload' },
  reply: {
    '*': 'kept',
    message: 'text',
    mail: [{ '*': 'kept', content: 'payload' }],
    entries: [{ '*': 'kept', entry: 'payload' }],
    entry: 'payload',
    content: 'payload',
  },
} satisfies Shape

/** What earlier attempts did. */
export const earlierShape = {
  attempts: 'kept',
  effects: [{ '*': 'kept', outcome: outcomeOf('payload') }],
  workers: 'kept',
} satisfies Shape

/** Effects that were made, as an approver is shown them. */
export const doneShape = [{ '*': 'kept', input: 'payload' }] satisfies Shape

/** The caller of a run. The user and the session are identities: two must never become one. */
export const callerShape = {
  user: 'kept',
  session: 'kept',
  tenant: 'kept',
  traceparent: 'kept',
  trial: 'kept',
  metadata: 'payload',
} satisfies Shape

export const planned = {
  task: 'kept',
  member: 'kept',
  role: 'kept',
  dependencies: 'kept',
  produces: 'kept',
  consumes: 'kept',
  action: 'kept',
  risk: 'kept',
  mode: 'kept',
} satisfies Shape

const writtenTask = {
  '*': 'kept',
  description: 'text',
  reason: 'text',
  input: 'payload',
  toolParameters: 'payload',
  tool_parameters: 'payload',
} satisfies Shape
/** A plan written by code: names of tasks and roles are structure. */
export const writtenPlan = {
  strategy: 'kept',
  agentTypes: 'kept',
  agent_types: 'kept',
  subtasks: [writtenTask],
  tasks: [writtenTask],
} satisfies Shape
