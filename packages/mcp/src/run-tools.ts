/**
 * The tools that Reeve offers over MCP: start a run, look at it, decide and answer what it asks, cancel it.
 *
 * Owns: their names, descriptions, arguments, hints and results. Does not own: the protocol (server-protocol.ts,
 * stdio.ts), who the caller is and what they may do (server), what the methods do (runtime).
 * Holds: the caller is the principal, whatever an argument says; each tool asks for its role before it does anything.
 * A call that is left changes nothing about its run.
 */
import {
  cut,
  inexactPlace,
  isObject,
  present,
  ReeveError,
  runKey,
  systemClock,
  visibleJson,
  visibleLine,
  type Json,
  type JsonObject,
  type RunKey,
} from '@reeve/core'
import { compileSchema, type JsonSchema } from '@reeve/edge'
import { hasEnded, type Decision, type Run, type RunSummary } from '@reeve/runtime'
import type { ProtocolContext, ProtocolVerb } from '@reeve/server'
import { timeOf, toldQuestion } from './open-question.ts'
import { waitForRun } from './run-wait.ts'
import { readsOnly, type OfferedTool, type ToldResult, type ServedCall } from './tool-server.ts'

/** What a call of a tool is made in. */
export interface CallPlace extends ServedCall {
  readonly context: ProtocolContext
}

type ToolVerb = Extract<ProtocolVerb, `mcp ${string}`>
type ToolName = ToolVerb extends `mcp ${infer Name}` ? Name : never

/** A tool as it is offered. */
export interface RunTool extends Omit<OfferedTool, 'answer'> {
  /** With the protocol's name a row of the table of doors. */
  readonly name: ToolName
  readonly call: (given: JsonObject, place: CallPlace) => Promise<JsonObject>
}

/** The longest wait of a call. Seconds. */
const longestWait = 3600
/** How long a start waits for a short run. Seconds. */
const startWait = 20
/** How much of a result is repeated as text. Characters. */
const longestText = 100_000

const writes = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

const text = (description: string): JsonObject => ({ type: 'string', minLength: 1, maxLength: 1_000, description })
const waitSeconds = (most: string): JsonObject => ({
  type: 'integer',
  minimum: 0,
  maximum: longestWait,
  description: most,
})
const runName = {
  run: text('The id of the run.'),
  key: text('Instead of the id: the key that the run was started with.'),
}

/** The tools for this caller: those that their roles allow. `agents`: the names that may be started. */
export function runTools(context: ProtocolContext, agents: readonly string[] | undefined): readonly RunTool[] {
  const startable = context.runtime.agents().filter(({ name }) => agents === undefined || agents.includes(name))
  const tools = [...(startable.length === 0 ? [] : [startRun(startable)]), ...otherTools]
  return tools.filter(({ name }) => isAllowed(context, `mcp ${name}`))
}

function isAllowed(context: ProtocolContext, verb: ToolVerb): boolean {
  try {
    context.mustAllow(verb)
    return true
  } catch (thrown) {
    if (ReeveError.is(thrown, 'request.forbidden')) return false
    throw thrown
  }
}

/** Calls a tool. Never rejects: what goes wrong is told as the result of the call. */
export async function callTool(tool: RunTool, given: unknown, place: CallPlace): Promise<ToldResult> {
  try {
    place.context.mustAllow(`mcp ${tool.name}`)
    // over standard input the protocol's library has read the numbers
    const rounded = inexactPlace((given ?? null) as Json, 'arguments')
    if (rounded !== undefined)
      throw new ReeveError(
        'input.invalid',
        `${cut(rounded, 200)} is a whole number from 2^53 on, and may have been rounded: send it as a text`,
        { hint: 'Nothing was done.' },
      )
    return toolResult(await tool.call(isObject(given) ? given : {}, place))
  } catch (thrown) {
    const { code, message, hint, retryable } = place.context.shown(thrown)
    const error = { code, message, ...present({ hint }), retryable }
    return { ...toolResult({ error }), isError: true }
  }
}

const toolResult = (value: JsonObject): ToldResult => ({
  content: [{ type: 'text', text: cut(visibleJson(value, 1), longestText) }],
  structuredContent: { ...value },
})

type StartableAgent = ReturnType<ProtocolContext['runtime']['agents']>[number]

function startRun(agents: readonly StartableAgent[]): RunTool {
  const names = agents.map(({ name }) => name)
  const [only] = names
  const list = agents.map(({ name, description = '', inputSchema }) => {
    const wants = inputSchema === undefined ? 'a text' : `JSON that fits ${visibleJson(inputSchema)}`
    return `- ${name}: ${visibleLine(description)} Its input is ${cut(wants, 2_000)}.`
  })
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      agent: { type: 'string', enum: names, description: 'The agent that works.' },
      input: { description: 'What it is asked: a text, or what its input schema says.' },
      key: text(
        'Names this piece of work, in your words. The same key with the same input is the same run: a call that is repeated starts nothing again.',
      ),
      session: text('The conversation that this run continues.'),
      wait_seconds: waitSeconds(`How long to wait for its end. Default ${startWait}.`),
    },
    required: [...(names.length === 1 ? [] : ['agent']), 'input'],
    additionalProperties: false,
  }
  return {
    name: 'start_run',
    title: 'Start a run',
    description: `Starts an agent, and waits a while for its end. A run that takes longer goes on by itself: ask run_result for it. Agents:\n${list.join('\n')}`,
    input: compileSchema(schema, 'start_run'),
    hints: { ...writes, destructiveHint: false },
    async call({ agent = only!, input, key, session, wait_seconds }, { context, ...waiting }) {
      const now = systemClock.now()
      const run = await context.start(agent as string, input as Json, {
        ...present({ session: session as string | undefined }),
        ...(key === undefined ? undefined : { key: keyOf(context, key as string) }),
      })
      const { created = true } = run
      const ms = 1_000 * ((wait_seconds as number | undefined) ?? startWait)
      await waitForRun(run, { ...waiting, ms, since: created ? 0 : now })
      return { created, ...(await reportOf(context, run)) }
    },
  }
}

/** Another caller's key is another run. */
const keyOf = ({ principal }: ProtocolContext, key: string): RunKey =>
  runKey('mcp', principal.tenant ?? '', principal.name, key)

/** The run that the arguments name. */
async function namedRun(context: ProtocolContext, { run, key }: JsonObject): Promise<Run> {
  if ((run === undefined) === (key === undefined))
    throw new ReeveError('input.invalid', 'give the run, or the key that it was started with', {
      hint: 'run_status without arguments lists your newest runs.',
    })
  if (key === undefined) return context.run(run as string)
  const named = keyOf(context, key as string)
  return (await context.keyed(named)) ?? context.run(named.id)
}

const objectOf = (
  properties: { readonly [name: string]: JsonObject },
  required: readonly string[] = [],
): JsonSchema => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
})

const otherTools: readonly RunTool[] = [
  {
    name: 'run_status',
    title: 'Look at a run',
    description:
      'Says how a run is: its status, what it has used, and what it asks people. Without arguments: your newest runs.',
    input: compileSchema(objectOf(runName), 'run_status'),
    hints: readsOnly,
    async call(given, { context }) {
      if (given['run'] === undefined && given['key'] === undefined) return ownRuns(context)
      const run = await namedRun(context, given)
      return { ...statusOf(await run.summary()), ...(await questionsOf(context, run)) }
    },
  },
  {
    name: 'run_result',
    title: 'The result of a run',
    description:
      'Says how a run ended, with its output. Waits for the end; returns earlier when it asks people something new.',
    input: compileSchema(
      objectOf({ ...runName, wait_seconds: waitSeconds('How long to wait for the end. Default 0.') }),
      'run_result',
    ),
    hints: readsOnly,
    async call({ wait_seconds = 0, ...given }, { context, ...waiting }) {
      const run = await namedRun(context, given)
      const since = systemClock.now()
      const { status } = await run.summary()
      if (!hasEnded(status)) await waitForRun(run, { ...waiting, since, ms: 1_000 * (wait_seconds as number) })
      return reportOf(context, run)
    },
  },
  {
    name: 'list_questions',
    title: 'What waits for people',
    description:
      'Lists what runs ask people: approvals (answer with decide) and questions (answer with answer), oldest first.',
    input: compileSchema(
      objectOf({
        run: text('Of this run alone. Default: of all runs.'),
        limit: { type: 'integer', minimum: 1, maximum: 200, description: 'Default 50.' },
        after: text('The id of the last question of the page before.'),
      }),
      'list_questions',
    ),
    hints: readsOnly,
    async call({ run, limit = 50, after }, { context }) {
      if (run !== undefined) await (await context.run(run as string)).summary()
      const most = limit as number
      const open = await context.runtime.questions(present({ run: run as string | undefined }))
      const from = after === undefined ? 0 : open.findIndex(({ id }) => id === after) + 1
      const questions = open.slice(from, from + most).map(toldQuestion)
      return { questions, ...(open.length > from + most ? { next: open[from + most - 1]!.id } : undefined) }
    },
  },
  {
    name: 'decide',
    title: 'Decide an approval',
    description:
      'Decides an approval in your name; the first decision wins and cannot be taken back. Ask the person whom you work for before you call this: it is their decision.',
    input: compileSchema(
      objectOf(
        {
          approval: text('The id of the approval, from list_questions.'),
          decision: {
            type: 'string',
            enum: ['approve', 'reject', 'edit', 'retry'],
            description:
              'approve: exactly what is shown. reject. edit: approve with another input. retry: send it back with a comment.',
          },
          input: { description: 'Of edit: the whole input with which it runs instead.' },
          comment: { type: 'string', maxLength: 10_000, description: 'Recorded; the agent is told it.' },
        },
        ['approval', 'decision'],
      ),
      'decide',
    ),
    hints: writes,
    async call({ approval, decision, input, comment }, { context: { runtime, principal } }) {
      const made = { approvalId: approval, decision, ...present({ input, comment }), approver: principal.name }
      await runtime.decide(made as unknown as Decision)
      return { approval: approval!, decision: decision!, by: principal.name }
    },
  },
  {
    name: 'answer',
    title: 'Answer a question',
    description:
      'Answers a question of a run in your name; the first answer wins. Ask the person whom you work for, where they are meant.',
    input: compileSchema(
      objectOf(
        {
          question: text('The id of the question, from list_questions.'),
          value: { description: 'The answer: JSON that fits the schema of the question, if it has one.' },
        },
        ['question', 'value'],
      ),
      'answer',
    ),
    hints: { ...writes, destructiveHint: false },
    async call({ question, value }, { context: { runtime, principal } }) {
      await runtime.answer({ interruptId: question as string, value: value!, by: principal.name })
      return { question: question!, by: principal.name }
    },
  },
  {
    name: 'cancel',
    title: 'Cancel a run',
    description: 'Cancels a run and all its workers. This cannot be undone.',
    input: compileSchema(objectOf({ ...runName, reason: text('Recorded as the reason.') }), 'cancel'),
    hints: { ...writes, idempotentHint: true },
    async call({ reason, ...given }, { context }) {
      const run = await namedRun(context, given)
      await run.summary()
      await run.control.cancel(reason as string | undefined, context.principal.name)
      return { run: run.id, cancelled: true }
    },
  },
]

async function ownRuns({ runtime, principal }: ProtocolContext): Promise<JsonObject> {
  const runs = await runtime.runs({ user: principal.name, limit: 20 })
  return { runs: runs.map(statusOf) }
}

function statusOf({ run, agent, status, createdAt, endedAt, reason, usage }: RunSummary): JsonObject {
  return {
    run,
    agent,
    status,
    startedAt: timeOf(createdAt),
    ...present({ endedAt: endedAt === undefined ? undefined : timeOf(endedAt), reason }),
    ...(usage?.tokens === undefined ? undefined : { tokens: usage.tokens, ...present({ usd: usage.usd }) }),
  }
}

async function questionsOf({ runtime }: ProtocolContext, { id }: Run): Promise<JsonObject> {
  const open = await runtime.questions({ run: id, limit: 20 })
  return open.length === 0 ? {} : { questions: open.map(toldQuestion) }
}

/** A run with how it ended, or how it goes on. */
async function reportOf(context: ProtocolContext, run: Run): Promise<JsonObject> {
  const summary = await run.summary()
  if (!hasEnded(summary.status))
    return {
      ...statusOf(summary),
      ...(await questionsOf(context, run)),
      next: `It goes on. Ask again: run_result with run ${JSON.stringify(run.id)} and wait_seconds.`,
    }
  const { run: _run, usage: _usage, ...outcome } = await run.outcome()
  return { ...statusOf(summary), outcome: outcome as unknown as JsonObject }
}
