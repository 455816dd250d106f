/**
 * A call of an MCP tool, as orchestration: what is recorded, who is asked.
 *
 * Owns: the steps of a call, the approval of a changed definition, questions of the server to people. Does not own: the
 * connection (connection.ts), the approval of a sensitive tool (agent).
 * Holds: K3: all that it decides by is recorded. A tool whose definition has changed is not called before a person has
 * approved this call with the new one, and is then called once: a trusted hint belongs to its definition.
 */
import { withinBound, type AgentContext } from '@reeve/agent'
import {
  asText,
  beginning,
  failure,
  FailureError,
  isObject,
  isResultWithFiles,
  recordedResult,
  shownParts,
  shownResult,
  visibleLine,
  present,
  withFiles,
  type Json,
  type JsonObject,
  type ResultWithFiles,
} from '@reeve/core'
import { readEdge, type Schema } from '@reeve/edge'
import { reviewNote } from '@reeve/oversight'
import type { AnsweredElicitation, McpConnection, ServerReply } from './connection.ts'
import { answerFrom, answerSchema, elicitationDigest, questionFor } from './elicitation.ts'
import { errorText, resultProblem, shownResult as contentOf } from './result-content.ts'
import { definitionDigest, type McpDefinition } from './tool-definition.ts'

/** A tool of a server, as it is called. */
export interface McpToolParts {
  readonly connection: McpConnection
  /** The name that the model knows. */
  readonly name: string
  /** The definition that was pinned. */
  readonly definition: McpDefinition
  readonly output: Schema | undefined
  readonly effect: 'read' | 'idempotent' | 'once'
  /** Milliseconds for one attempt, without the time in which people are asked. */
  readonly timeoutMs: number
}

/** How often a server may ask in one call. */
const mostRounds = 20
/** How long to wait where a server asks to be called again without a question. Milliseconds. */
const pauseMs = 1_000
const longestError = 20_000

/** Runs a call. Rejects with a FailureError that says what went wrong, for the model. */
export async function callOverMcp(
  ctx: AgentContext,
  given: JsonObject,
  tool: McpToolParts,
): Promise<Json | ResultWithFiles<Json>> {
  const { connection, timeoutMs } = tool
  const limit = readEdge(ctx.input).bounds.limits?.resultTokens
  const notes: string[] = []
  let { args, definition } = await unchanged(ctx, { args: given, definition: tool.definition }, tool, notes)
  const id = ctx.place.activation
  const answers: AnsweredElicitation[] = []
  let reply: ServerReply | undefined
  try {
    for (let round = 0; round <= mostRounds; round++) {
      const asked = reply?.kind === 'asks' ? reply : undefined
      const { keys, state } = asked ?? {}
      // what may be repeated was said of the definition that was pinned, and a person has approved one call of another
      const effect = definition === tool.definition ? tool.effect : 'once'
      const made = await ctx.step<ServerReply | BoundedReply>(
        'call',
        async (io) => {
          const answered = await connection.call(
            {
              id,
              definition,
              args,
              once: effect === 'once',
              answers: [...answers],
              ...present({ keys, state }),
            },
            io.signal,
            (part) => io.emit(part),
          )
          return boundedReply(io, answered, tool, limit)
        },
        { effect, timeoutMs },
      )
      if (made.kind === 'bounded') return notedForm(notes, made.result)
      reply = made
      if (reply.kind === 'result') return noted(notes, resultOf(reply.result, tool))
      if (reply.kind === 'cut') return noted(notes, cutResult(tool, reply))
      if (reply.kind === 'unreadable') return noted(notes, unreadable(tool, reply.why))
      if (reply.kind === 'error') throw refused(tool, reply.message)
      if (reply.kind === 'changed') {
        ;({ args, definition } = await unchanged(ctx, { args, definition }, tool, notes))
        continue
      }
      if (reply.questions.length === 0) await ctx.sleep(pauseMs)
      for (const question of reply.questions) {
        const value = await ctx.interrupt(questionFor(question, connection.server, tool.name), {
          schema: answerSchema(question),
        })
        answers.push({ digest: elicitationDigest(question), answer: answerFrom(value, question) })
      }
    }
    throw refused(tool, `it has asked ${mostRounds} times without an end`)
  } catch (thrown) {
    connection.drop(id)
    throw thrown
  }
}

/** An answer whose result was too large to show, as it is recorded: a reference, and the beginning. */
interface BoundedReply {
  readonly kind: 'bounded'
  readonly result: Json
}

/** The answer; where its result is too large to show, it is kept by reference in the same step. */
async function boundedReply(
  io: Parameters<typeof withinBound>[0],
  reply: ServerReply,
  tool: McpToolParts,
  limit: number | undefined,
): Promise<ServerReply | BoundedReply> {
  if (reply.kind !== 'result' || reply.result['isError'] === true) return reply
  const shown = recordedResult(resultOf(reply.result, tool)) as Json
  const recorded = await withinBound(io, { tool: tool.name, limit, isWhole: false }, shown)
  return recorded === shown ? reply : { kind: 'bounded', result: recorded }
}

/** What a call is made with. */
interface AcceptedCall {
  readonly args: JsonObject
  readonly definition: McpDefinition
}

/** The call, if the server still defines the tool so; else as a person has approved it. */
async function unchanged(
  ctx: AgentContext,
  given: AcceptedCall,
  { connection, name }: McpToolParts,
  notes: string[],
): Promise<AcceptedCall> {
  let { args, definition: holds } = given
  for (;;) {
    const accepted = definitionDigest(holds)
    const now = await ctx.step<JsonObject>(
      'definition',
      async () => {
        const found = await connection.definition(given.definition.name)
        if (found === undefined) return { gone: true }
        return found.digest === accepted ? {} : { changed: found.definition as unknown as Json }
      },
      { effect: 'read' },
    )
    if (now['gone'] === true)
      throw new FailureError(
        failure('tool.failed', `MCP server "${connection.server}" has no tool "${name}" any more`, 'policy'),
      )
    if (!isObject(now['changed'])) return { args, definition: holds }
    const changed = now['changed'] as unknown as McpDefinition
    const answer = await ctx.approve(name, {
      input: args,
      sensitive: true,
      reason: `MCP server "${visibleLine(connection.server)}" has changed the definition of "${name}" since it was pinned: it may do something else now`,
      description: changed.description,
      context: { preview: { before: holds as unknown as Json, after: changed as unknown as Json } },
    })
    if (!answer.approved)
      throw new FailureError(failure('tool.failed', `"${name}" was not called: ${answer.feedback}`, 'rejected'))
    if (!isObject(answer.input))
      throw new FailureError(
        failure('tool.failed', `"${name}" was not called: a person has changed its arguments to no object`, 'rejected'),
      )
    args = answer.input
    const note = reviewNote({ what: 'this call', ran: args }, answer)
    if (note !== undefined) notes.push(note)
    holds = changed
  }
}

function resultOf(result: JsonObject, tool: McpToolParts): Json | ResultWithFiles<Json> {
  if (result['isError'] === true) throw refused(tool, errorText(result))
  // the server has done its work, whatever it promised to say of it
  return contentOf(result, resultProblem(result, tool.output))
}

/** A result after what people have changed of the call, or said of it. */
function noted(notes: readonly string[], given: Json | ResultWithFiles<Json>): Json | ResultWithFiles<Json> {
  if (notes.length === 0) return given
  return isResultWithFiles(given) ? withFiles(withNotes(notes, given.result), given.files) : withNotes(notes, given)
}

const withNotes = (notes: readonly string[], result: Json): Json =>
  notes.length === 0 ? result : `${notes.map((note) => `[${note}]\n`).join('')}${asText(result)}`

/** The same for one that is recorded with what the model is shown of it. */
function notedForm(notes: readonly string[], recorded: Json): Json {
  const parts = shownParts(recorded)
  return parts === undefined
    ? recorded
    : shownResult(parts.output, { ...parts.shown, content: withNotes(notes, parts.shown.content) })
}

const unreadable = ({ connection }: McpToolParts, why: string): string =>
  `[MCP server "${connection.server}" was called and has answered: the tool is done. Its result cannot be shown: ${why}. Find out what it did before you call it again.]`

const cutResult = (
  { connection }: McpToolParts,
  { size, beginning: kept }: Extract<ServerReply, { kind: 'cut' }>,
): string =>
  `[the tool is done. Its result has ${size} bytes; MCP server "${connection.server}" is read up to ${connection.maxResultBytes}. It begins:]\n${kept}`

/** The server has answered, and it was no success. */
const refused = ({ connection }: McpToolParts, message: string): FailureError =>
  new FailureError(
    failure('tool.failed', `MCP server "${connection.server}": ${beginning(message, longestError)}`, 'rejected'),
  )
