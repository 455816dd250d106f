/**
 * Transfer tool: the tool by which a model agent hands control to another agent, where its flow allows it.
 *
 * Owns: its schema and texts, the list of agents for the model, the check of its arguments. Does not own: which agents
 * are offered and where control goes (../../flow), how a transfer appears in a history (../../edge/history.ts).
 */
import { completed, failure, isObject, present, transferred, transferTool } from '@reeve/core'
import type { Candidate } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall, ToolSpec } from '@reeve/model'
import { mergedToolbox, withoutAction, type Binding, type Opening } from './binding.ts'
import { refuse } from './refusal.ts'
import type { CallResult } from '../conversation/call-result.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'

/** Adds the tool and the list of agents to the opening. Without candidates the opening stays as it is. */
export function withTransfer(opening: Opening, candidates: readonly Candidate[]): Opening {
  if (candidates.length === 0) return opening
  const { system, toolbox } = opening
  const others = candidatesText(candidates)
  return {
    ...opening,
    system: system === undefined || system === '' ? others : `${system}\n\n${others}`,
    toolbox: mergedToolbox(toolbox, [new TransferBinding(candidates)]),
  }
}

/**
 * The list has the form of the spec (collaboration 1.3), which some models were trained on. Braces in descriptions are
 * plain text.
 */
function candidatesText(candidates: readonly Candidate[]): string {
  const list = candidates
    .map(({ name, description }) => `\n- Agent name: ${name}\n  Agent description: ${description}`)
    .join('')
  return `Available other agents: ${list}

Decide by these descriptions:
- If you are the best fit for what is asked, answer it yourself.
- If one of the others is a better fit, call '${transferTool}' with that agent's name.

When transferring: OUTPUT ONLY THE FUNCTION CALL`
}

/** The tool `transfer_to_agent`. */
class TransferBinding implements Binding {
  readonly verb = true
  readonly spec: ToolSpec
  readonly #names: readonly string[]

  constructor(candidates: readonly Candidate[]) {
    this.#names = candidates.map(({ name }) => name)
    this.spec = {
      name: transferTool,
      description: 'Transfer the question to another agent.',
      parameters: {
        type: 'object',
        properties: {
          agent_name: { type: 'string', enum: this.#names, description: 'The agent that takes over.' },
          task: { type: 'string', description: 'Its task, if the conversation does not make it clear.' },
        },
        required: ['agent_name'],
        additionalProperties: false,
      },
    }
  }

  run(ctx: Context, call: ToolCall, _state: ConversationState): Promise<CallResult> {
    const { agent_name: to, task } = isObject(call.input) ? call.input : {}
    const problem =
      typeof to !== 'string' || to === ''
        ? '"agent_name" is missing'
        : !this.#names.includes(to)
          ? `unknown agent "${to}"`
          : task !== undefined && task !== null && typeof task !== 'string'
            ? '"task" must be a text'
            : undefined
    if (problem !== undefined) {
      const what = failure('transfer.refused', `${problem}. Agents are: ${this.#names.join(', ')}.`, 'validation')
      return Promise.resolve(refuse(ctx, call, what, `[not transferred: ${what.message}]`))
    }
    return Promise.resolve(
      transferResult(to as string, ctx, call, typeof task === 'string' && task.trim() !== '' ? task : undefined),
    )
  }
}

/** The result of a call that hands control on. */
export function transferResult(
  to: string,
  ctx: Context,
  { id: callId }: ToolCall,
  task: string | undefined,
): CallResult {
  return {
    content: transferred(to),
    finish: {
      outcome: completed(''),
      action: { type: 'transfer', to, callId, path: ctx.place.path, ...present({ task }) },
    },
  }
}

/**
 * The result of a transfer that a later call of the same turn overrides. A tool that did more than transfer keeps its
 * result.
 */
export function supersededTransfer(result: CallResult, ctx: Context, call: ToolCall): CallResult {
  const action = result.finish?.action
  if (action?.type !== 'transfer') return result
  const what = failure(
    'transfer.refused',
    `a later call of this turn decides, so "${action.to}" does not take over`,
    'policy',
  )
  const why = `not transferred: ${what.message}`
  return call.name === transferTool ? refuse(ctx, call, what, `[${why}]`) : withoutAction(ctx, call, result, what, why)
}
