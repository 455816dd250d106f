/**
 * An open question as a protocol shows it to the person or program that answers.
 *
 * Owns: what is shown: the exact arguments, the schema of what may be sent back, one sentence for people. Does not own:
 * the questions (../../runtime), the form in which a protocol asks for the answer.
 * Holds: what a model or a tool wrote is shown in the sentence with every control character visible; as data it is
 * exactly what will run.
 */
import {
  asText,
  beginning,
  isObject,
  present,
  visibleLine,
  type ActivationId,
  type Json,
  type JsonObject,
} from '@reeve/core'
import {
  approvalsAmong,
  clientCallIn,
  type Approval,
  type ClientCall,
  type Decision,
  type Question,
  type Runtime,
} from '@reeve/runtime'

/** An open question. Times are milliseconds since 1970. */
export interface AskedQuestion {
  readonly id: string
  readonly kind: 'approval' | 'interrupt' | 'in-doubt'
  readonly activation: ActivationId
  /** Agents' names from the root to the one that asks. */
  readonly path: readonly string[]
  /** One sentence for people. */
  readonly prompt: string
  readonly askedAt: number
  readonly until?: number
  /** Of an approval: the exact action. */
  readonly approval?: Pick<
    Approval,
    'tool' | 'callId' | 'input' | 'inputHash' | 'reason' | 'risk' | 'kind' | 'task' | 'context' | 'onTimeout'
  > & {
    readonly options: readonly Decision['decision'][]
    /** JSON Schema of the arguments, where the tool is known here. */
    readonly inputSchema?: JsonObject
  }
  /** Of a call that the client is to run: the tool, the exact arguments, the schema of the output. */
  readonly call?: ClientCall
  /** Of a question: what was asked. */
  readonly question?: Json
  /** Of a question: the JSON Schema of its answer, where it has one. */
  readonly answerSchema?: JsonObject
}

const allDecisions = ['approve', 'reject', 'edit', 'retry'] as const
/** So much of a text is in the sentence for people; the data has all of it. */
const longest = 1_000

/** Open questions as they are shown, in their order. A diverged address is an operator's affair, and left out. */
export const askedQuestions = (questions: readonly Question[], runtime: Runtime): readonly AskedQuestion[] =>
  questions.flatMap((question) => askedQuestion(question, runtime) ?? [])

function askedQuestion(question: Question, runtime: Runtime): AskedQuestion | undefined {
  const { id, activation, askedAt, until, body, kind } = question
  const path = pathIn(body)
  const common = { id, activation, askedAt, path, ...present({ until }) }
  const who = path.join(' > ')
  if (kind === 'in-doubt') {
    const prompt = `${who}: did ${JSON.stringify(question.address)} happen? Its process ended before that was recorded.`
    return { ...common, kind, prompt: shown(prompt) }
  }
  if (kind === 'interrupt') {
    const asked = isObject(body) ? (body['question'] ?? null) : null
    const schema = isObject(body) && isObject(body['schema']) ? body['schema'] : undefined
    const call = clientCallIn(body as Json)
    if (call !== undefined) {
      const prompt = shown(`${who} waits for the client to run ${call.tool}: ${asText(call.input)}`)
      return { ...common, kind, prompt, call, ...present({ answerSchema: schema }) }
    }
    return { ...common, kind, prompt: shown(asText(asked)), question: asked, ...present({ answerSchema: schema }) }
  }
  const [approval] = approvalsAmong([question])
  if (approval === undefined) return undefined
  const { tool, callId, input, inputHash, reason, risk, task, context, onTimeout, options = allDecisions } = approval
  const what = approval.kind === undefined ? `to call ${tool}` : `for approval of its ${approval.kind} (${tool})`
  const inputSchema = schemaFor(approval, runtime)
  return {
    ...common,
    kind: 'approval',
    prompt: shown(`${who} asks ${what}: ${reason}`),
    approval: {
      tool,
      input,
      inputHash,
      reason,
      risk,
      onTimeout,
      options,
      ...present({ callId, kind: approval.kind, task, context, inputSchema }),
    },
  }
}

/** The schema of the tool's arguments, where the agent that asks is registered here. */
function schemaFor({ kind, path, tool }: Approval, runtime: Runtime): JsonObject | undefined {
  if (kind !== undefined) return undefined
  const asking = runtime.agents().find(({ name }) => name === path.at(-1))
  return asking?.tools.find(({ name }) => name === tool)?.inputSchema
}

const shown = (text: string): string => visibleLine(beginning(text, longest))

function pathIn(body: Question['body']): readonly string[] {
  const found = isObject(body) ? body['path'] : undefined
  return Array.isArray(found) ? (found as readonly Json[]).filter((each) => typeof each === 'string') : []
}
