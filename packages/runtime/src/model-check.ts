/**
 * Model check: what the models of agents lack, before any is asked.
 *
 * Owns: which models agents and all agents below them use. Does not own: what a model needs (../model).
 */
import { reachableAgents, type Agent } from '@reeve/agent'
import { failureFrom, type Failure } from '@reeve/core'
import { modelsOf } from '@reeve/model'

/** A model of an agent. */
export interface PreparedModel {
  readonly agent: string
  readonly model: string
  /** With what its first call would fail. Absent: with nothing that is known before. */
  readonly failure?: Failure
}

/** Every model of these agents and of all agents below them, with what it lacks. Sends nothing. */
export function preparedModels(roots: readonly Agent[]): Promise<readonly PreparedModel[]> {
  return Promise.all(
    reachableAgents(roots).flatMap(({ name: agent, model, otherModels = [] }) =>
      [...(model === undefined ? [] : [model]), ...otherModels].flatMap(modelsOf).map(async (used) => {
        try {
          await used.prepare?.()
          return { agent, model: used.id }
        } catch (thrown) {
          return { agent, model: used.id, failure: failureFrom(thrown, 'model.failed') }
        }
      }),
    ),
  )
}
