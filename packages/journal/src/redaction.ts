/**
 * Redaction shapes: which members of stored values are payload, and which are structure. Redaction changes payload only
 * (K10).
 *
 * Owns: the shapes, as data beside the event union. Does not own: what a shape means, and the rules (core/redact.ts).
 * Names (of agents, tools, steps, tasks, topics), addresses and ids are structure: a changed one would not be found
 * again, or be taken for another.
 */
import { isObject, isReeveMessage, type Shape } from '@reeve/core'
import { isEdge } from './content-key.ts'
import type { JournalEvent } from './events/events.ts'

/** These members in one shape. */
const each = <S extends Shape>(names: string, shape: S): { readonly [member: string]: S } =>
  Object.fromEntries(names.split(' ').map((name) => [name, shape] as const))
const kept = (names: string): { readonly [member: string]: 'kept' } => each(names, 'kept')

// ---- what events have in common

const failure = {
  code: 'kept',
  class: 'kept',
  details: {
    '*': 'payload',
    ...kept('limit activation hook capability lapsed'),
    // Reeve reads them, and users may have members of these names, too
    ...each('agent path middleware threw attempts later byDefault how', 'text'),
  },
} satisfies Shape

const failures = { failures: [{ worker: 'kept', code: 'kept' }], failureCount: 'kept' } satisfies Shape

/** What the row of a run that has ended says of its end. */
export const endReasonShape = { failure, ...failures } satisfies Shape

const file = { type: 'kept', mediaType: 'kept', metadata: 'payload' } satisfies Shape
const call = { id: 'kept', name: 'kept', input: 'payload' } satisfies Shape
const reasoning = { model: 'kept', parts: [{ type: 'kept', callId: 'kept', inText: 'kept' }] } satisfies Shape
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
const outcomeOf = (output: Shape): Shape => ({
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
const answer = {
  calls: [call],
  files: [file],
  finish: 'kept',
  usage: 'kept',
  model: 'kept',
  reasoning,
  response: 'kept',
  providerMetadata: 'payload',
} satisfies Shape

/** The arguments of Reeve's own verbs, by their names; under any other name they are users'. */
const verbInput = {
  '*': 'payload',
  ...kept('worker workers agent_name to role member mode join topic delegation refs from keep'),
  ...each('instructions request reason description text question task kind', 'text'),
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
const answered: Shape = (value) =>
  isObject(value) && isObject(value['on']) && typeof value['on']['inputHash'] === 'string'
    ? { decision: 'kept', on: 'kept', repeat: 'kept', input: 'payload', grant: { input: 'payload', '*': 'kept' } }
    : 'payload'

const edgeMessage = { role: 'kept', agent: 'kept' } satisfies Shape
const inputShape: Shape = (value) => (isEdge(value) ? edge : 'payload')
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
  messages: [message],
  entries: [entry],
  flow: { '*': 'kept', task: 'text', to: [{ name: 'kept' }] },
  versions: { '*': { '*': 'kept', instructions: 'text' } },
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
const body: Shape = (value) => (isReeveMessage(value) ? word : 'payload')
const word = {
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
  metadata: 'payload',
} satisfies Shape

const planned = {
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

// ---- events

/** Members that are structure in every event that has them. */
const structure = kept(
  [
    'type v op address agent version id path from to run activation tool toolVersion callId inputHash contentKey capability repeat worker delegation effect reserve charge usage lost',
    'model purpose onTimeout risk kind options approvers excludes follows tier open copied limit at command key name mode again strategy route subject status',
    'madeBy retryOf toldBy resolution scope rule kept stopped task member role recipients seqs topic request parent join move of spent reserved trust level hook speaker channel',
    'dependencies produces consumes missing used removed settled cycle action unclaimed resolved wanted team segment under',
  ].join(' '),
)

/** Members that are payload, or have structure of their own, in every event that has them. */
const common = {
  ...structure,
  failure,
  refused: failure,
  fallback: failure,
  caller: callerShape,
  input: 'payload',
  content: 'payload',
  body,
} satisfies Shape

/** An event inside another one. */
function recordedEvent(value: unknown): Shape {
  return isObject(value) ? eventShape(value) : 'payload'
}

/** What differs in some events. */
const shapes: { readonly [Type in JournalEvent['type']]?: { readonly [member: string]: Shape } } = {
  'activation.started': { input: inputShape, earlier: earlierShape },
  'activation.restarted': {
    state: 'payload',
    unread: [recordedEvent],
    before: { usage: 'kept', version: 'kept', ...failures, begun: [recordedEvent] },
  },
  'activation.summed': { from: 'kept', state: 'payload' },
  'activation.settled': { outcome: outcomeOf('payload') },
  'worker.settled': { outcome: outcomeOf('payload') },
  'ask.settled': { outcome: outcomeOf(answered) },
  'cancel.received': { outcome: outcomeOf('payload') },
  // its input may hold it, too, under the same name
  'approval.requested': {
    description: 'named',
    context: 'payload',
    hits: [{ code: 'kept', priority: 'kept' }],
    done: doneShape,
  },
  'interrupt.raised': { question: 'payload', schema: 'payload' },
  'message.refused': { reason: 'kept' },
  'mail.refused': { reason: 'kept' },
  'topic.refused': { reason: 'kept' },
  'recruit.decided': { reason: 'kept' },
  'retire.refused': { reason: 'kept' },
  'plan.aborted': { reason: 'kept', failures: [{ task: 'kept', failure }] },
  'plan.created': { tasks: [planned] },
  'plan.revised': { added: [planned] },
  'plan.edited': { added: [planned], replaced: [planned] },
  'task.settled': { output: 'payload' },
  'results.synthesised': { dropped: [{ task: 'kept' }], by: 'kept' },
  'completion.scored': { results: [{ scorer: 'kept' }], strategy: 'kept' },
  'escalation.raised': { hits: [{ code: 'kept', priority: 'kept' }] },
  'result.assessed': { proposedAction: { name: 'kept', input: 'payload' } },
  'agent.transferred': { by: 'kept', task: 'text' },
  'fact.noted': { data: 'payload' },
  'mail.accepted': { kind: 'text', message: 'kept' },
  'run.forked': {
    edit: 'text',
    done: [{ activation: 'kept', address: 'kept', work: 'kept', run: 'kept', outcome: outcomeOf('payload') }],
  },
}

const complete = new Map<string, Shape>(
  Object.entries(shapes).map(([type, members]) => [type, { ...common, ...members }]),
)

/** Of an event: `result` says what the result of the operation holds that has ended; default: payload. */
export function eventShape(event: { readonly type?: unknown }, result: Shape = 'payload'): Shape {
  // made only where something is taken out
  if (event.type === 'step.settled') return () => ({ ...common, outcome: outcomeOf(result) })
  return (typeof event.type === 'string' ? complete.get(event.type) : undefined) ?? common
}

/** Of the edit of a fork. */
export const editShape = {
  type: 'kept',
  to: 'kept',
  input: inputShape,
  body,
  outcome: outcomeOf((value) =>
    isObject(value) && Array.isArray(value['calls']) && typeof value['finish'] === 'string' ? answer : 'payload',
  ),
} satisfies Shape

/** The result of an operation: `stated` by the code that began it, else given by the event that opened it. */
export const resultShape = (opened: JournalEvent['type'] | undefined, stated: Shape | undefined): Shape =>
  stated ?? (opened === 'model.requested' ? answer : 'payload')

/**
 * The result of an operation in a log that is copied, where the code that began it does not say what it holds. Whether a
 * call is one of Reeve's own verbs is not known: their arguments keep their names. What a step of code returned may be
 * structure of Reeve's own, so members do not go by their names in it.
 */
export const copiedResultShape = (opened: JournalEvent['type'] | undefined): Shape =>
  opened === 'model.requested' ? answerShape(() => true) : opened === 'tool.called' ? 'payload' : 'text'

/** Of a row in an inbox: what was posted, or what an activation sent. */
export const mailShape: Shape = (value) => {
  const type = isObject(value) ? value['type'] : undefined
  return {
    ...structure,
    reason: type === 'refused' ? 'kept' : 'text',
    body,
    outcome: outcomeOf(type === 'answer' ? answered : 'payload'),
  }
}

/** Of an open question: the event that asked, or what is in doubt. */
export const questionShape: Shape = (value) =>
  isObject(value) && typeof value['type'] === 'string'
    ? eventShape(value)
    : { ...structure, done: { '*': 'kept', outcome: outcomeOf('payload') } }

/** Of a value: those of users are payload. Reeve's own have keys that begin with `$`, or streams that outlive runs. */
export function valueShape(stream: string | undefined, key: string): Shape {
  if (key === '$line' || key === '$owner' || key.startsWith('$thread') || key.startsWith('$active.')) return 'kept'
  if (key === '$grants') return (value) => (Array.isArray(value) ? [grant] : { '*': grant })
  if (key === '$turns.owed') return [exchange]
  if (key.startsWith('$')) return exchange
  return stream !== undefined && /^(?:reg|trust|mem)_/.test(stream) ? 'text' : 'payload'
}
/** An exchange of a session or a thread: a question and its answer. */
const exchange = { run: 'kept', agent: 'kept', ended: 'kept' } satisfies Shape
const grant = { '*': 'kept', by: 'text', input: 'payload' } satisfies Shape

/** The result of reading several values at once. */
export const valuesShape = (stream: string | undefined, keys: readonly string[]): Shape =>
  keys.every((key) => valueShape(stream, key) !== 'payload')
    ? [(value) => (Array.isArray(value) ? [exchange] : exchange)]
    : 'payload'
