/**
 * Client tools: runs the tools that a run leaves to its client, and answers with what came of them.
 *
 * Owns: finding the calls that are open, running each once, what is sent back. Does not own: the questions and who may
 * answer them (the server), the tools themselves.
 * Holds: a tool is found by its own name alone. A page that is closed in the middle leaves its call open, and the next
 * one runs it.
 */
import type { Json, RunId } from '@reeve/core'
import type { Changes, QuestionView } from '@reeve/server/wire'
import type { ClientError } from './client-error.ts'

/** What is known of a call beside its arguments. */
export interface ClientCallInfo {
  readonly tool: string
  /** The model's id of the call. */
  readonly callId: string
  /** Of the question: the same whoever runs the call, so that what was begun before can be found again. */
  readonly id: string
  readonly run: RunId
  /** Agents' names from the root to the one that calls. */
  readonly path: readonly string[]
  /** Aborts when nobody waits for the results any more. */
  readonly signal: AbortSignal
}

/** The tools, by name. What one throws is told to the model as an error; nothing (`undefined`) is sent as `null`. */
export type ClientTools = {
  readonly [tool: string]: (input: never, call: ClientCallInfo) => unknown
}

export interface RunClientToolsOptions {
  /** Leaves; what is being run is still answered. */
  readonly signal?: AbortSignal
}

/** What is needed of a client. */
interface ToolClient {
  readonly questions: {
    pages(query: {
      readonly run: string
      readonly kind: readonly ['interrupt']
      readonly signal: AbortSignal
    }): AsyncIterable<readonly QuestionView[]>
    answer(answer: { readonly interruptId: string; readonly value: Json }): Promise<void>
  }
  live(options: { readonly signal: AbortSignal }): AsyncIterable<Changes>
  run(id: string): { outcome(options: { readonly signal: AbortSignal }): Promise<unknown> }
}

/**
 * Runs these tools for a run until it has ended. Calls of other tools are left to other clients. Resolves when the run
 * has ended, or the signal aborts; rejects with `run.unknown`, and if the server refuses this client.
 */
export async function runClientTools(
  client: ToolClient,
  run: string | { readonly id: string },
  tools: ClientTools,
  { signal }: RunClientToolsOptions = {},
): Promise<void> {
  const id = typeof run === 'string' ? run : run.id
  const left = new AbortController()
  const until = signal ? AbortSignal.any([left.signal, signal]) : left.signal
  const begun = new Map<string, Promise<void>>()
  let refused: unknown
  const end = (thrown?: unknown): void => {
    if (!until.aborted) refused = thrown
    left.abort()
  }
  const ended = client
    .run(id)
    .outcome({ signal: until })
    .then(() => end(), end)
  try {
    // the first of them says how it is now
    for await (const _news of client.live({ signal: until }))
      for await (const page of client.questions.pages({ run: id, kind: ['interrupt'], signal: until }))
        for (const question of page) {
          const tool = question.interrupt?.call?.tool
          if (tool && question.mayAnswer === true && !begun.has(question.id) && Object.hasOwn(tools, tool))
            begun.set(question.id, answerOf(client, question, tools[tool]!, until).catch(end))
        }
  } catch (thrown) {
    end(thrown)
  }
  await Promise.all([ended, ...begun.values()])
  if (refused) throw refused as Error
}

async function answerOf(
  { questions }: ToolClient,
  { id, run, path, interrupt }: QuestionView,
  tool: ClientTools[string],
  signal: AbortSignal,
): Promise<void> {
  const { tool: name, callId, input } = interrupt!.call!
  const answer = (value: Json): Promise<void> => questions.answer({ interruptId: id, value })
  let said: Json
  try {
    said = { output: ((await tool(input as never, { tool: name, callId, id, run, path, signal })) ?? null) as Json }
  } catch (thrown) {
    said = { error: String(thrown) }
  }
  try {
    await answer(said)
  } catch (thrown) {
    const { code, message } = thrown as ClientError
    // it was run: the model is told so, and what of its result the server refused
    if (code === 'interrupt.invalid') await answer({ error: `it ran: ${message}` })
    // another client, or the deadline, was faster
    else if (!code?.startsWith('interrupt.')) throw thrown
  }
}
