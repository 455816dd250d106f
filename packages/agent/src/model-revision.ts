/**
 * Model revision: applies a revision to the setup of a model agent.
 *
 * Owns: what a revision changes in a model agent. Does not own: revisions as such (../edge), which one holds in a run
 * (runtime), limits besides turns (they are in the edge). Pure: the revision is in the edge, so replay uses the same
 * one.
 */
import { failure, FailureError, messageOf, present } from '@reeve/core'
import { turnsOf, type Revision } from '@reeve/edge'
import { resolveModel } from '@reeve/model'
import { filteredToolbox, type Opening } from './tool/binding.ts'
import type { ConversationState } from './conversation/conversation-state.ts'
import type { Middleware } from './facts.ts'
import type { ModelSetup } from './loop/turn-loop.ts'

/** The own instructions with those of the middlewares. */
export function withMiddlewareInstructions(
  own: string | undefined,
  middleware: readonly Middleware[],
): string | undefined {
  const added = middleware.flatMap(({ instructions = '' }) => (instructions === '' ? [] : [instructions]))
  return added.length === 0 ? own : [...(own === undefined || own === '' ? [] : [own]), ...added].join('\n\n')
}

/** The setup with the changes of a revision. Throws a FailureError for an invalid model. */
export function revisedSetup(setup: ModelSetup, revision: Revision): ModelSetup {
  const { instructions, model, settings, tools, limits } = revision
  const missing = tools === undefined ? [] : setup.tools.map(({ name }) => name).filter((name) => !tools.includes(name))
  return {
    ...setup,
    ...(instructions === undefined
      ? undefined
      : { instructions: withMiddlewareInstructions(instructions, setup.middleware) }),
    ...(model === undefined ? undefined : { model: modelOf(setup.agent, model) }),
    ...present({ settings }),
    ...(turnsOf(limits) === undefined ? undefined : { maxTurns: turnsOf(limits)! }),
    ...(missing.length === 0 ? undefined : withoutTools(setup, new Set(missing))),
  }
}

function withoutTools(setup: ModelSetup, missing: ReadonlySet<string>): Pick<ModelSetup, 'tools' | 'open'> {
  return {
    tools: setup.tools.filter(({ name }) => !missing.has(name)),
    open: (state: ConversationState, instructions: string | undefined): Opening => {
      const opening = setup.open(state, instructions)
      return { ...opening, toolbox: filteredToolbox(opening.toolbox, missing) }
    },
  }
}

function modelOf(agent: string, id: string): ModelSetup['model'] {
  try {
    return resolveModel(id)
  } catch (thrown) {
    throw new FailureError(
      failure('model.invalid-id', `the revision of "${agent}": ${messageOf(thrown)}`, 'validation'),
    )
  }
}
