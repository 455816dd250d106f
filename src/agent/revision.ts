/**
 * Revised: a mind as one of its revisions has it.
 *
 * Owns: what of a mind a revision changes. Does not own: revisions as such (../edge), which one holds in a run
 * (runtime), limits besides turns (they are in the edge). Pure: the revision is in the edge, so replay works with the
 * same one.
 */
import { failure, FailureError, messageOf } from '../core/index.ts'
import { turnsOf, type Revision } from '../edge/index.ts'
import { resolveModel, type Prices } from '../model/index.ts'
import { Lessened, type Opening } from './tool/binding.ts'
import type { ConversationState } from './loop/conversation-state.ts'
import type { Middleware } from './facts.ts'
import type { Mind } from './loop/turn-loop.ts'

/** Its own instructions with what middlewares add. */
export function instructed(own: string | undefined, middleware: readonly Middleware[]): string | undefined {
  const added = middleware.flatMap(({ instructions = '' }) => (instructions === '' ? [] : [instructions]))
  return added.length === 0 ? own : [...(own === undefined || own === '' ? [] : [own]), ...added].join('\n\n')
}

/** The mind with what the revision says in its place. Throws a FailureError for a model that is none. */
export function revisedMind(mind: Mind, revision: Revision, prices: Prices | undefined): Mind {
  const { instructions, model, settings, tools, limits } = revision
  const missing = tools === undefined ? [] : mind.tools.map(({ name }) => name).filter((name) => !tools.includes(name))
  return {
    ...mind,
    ...(instructions === undefined ? undefined : { instructions: instructed(instructions, mind.middleware) }),
    ...(model === undefined ? undefined : { model: modelOf(mind.agent, model, prices) }),
    ...(settings === undefined ? undefined : { settings }),
    ...(turnsOf(limits) === undefined ? undefined : { maxTurns: turnsOf(limits)! }),
    ...(missing.length === 0 ? undefined : lessened(mind, new Set(missing))),
  }
}

function lessened(mind: Mind, missing: ReadonlySet<string>): Pick<Mind, 'tools' | 'open'> {
  return {
    tools: mind.tools.filter(({ name }) => !missing.has(name)),
    open: (state: ConversationState, instructions: string | undefined): Opening => {
      const opening = mind.open(state, instructions)
      return { ...opening, toolbox: new Lessened(opening.toolbox, missing) }
    },
  }
}

function modelOf(agent: string, id: string, prices: Prices | undefined): Mind['model'] {
  try {
    return resolveModel(id, prices === undefined ? {} : { prices })
  } catch (thrown) {
    throw new FailureError(
      failure('model.invalid-id', `the revision of "${agent}": ${messageOf(thrown)}`, 'validation'),
    )
  }
}
