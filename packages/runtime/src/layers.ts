/**
 * Layers: everything that stands between the engine and the work of an agent, in one list.
 *
 * Owns: which layers there are, their order and why. Does not own: what a layer does (the file it comes from), what a
 * model agent does inside (../agent/model-agent.ts).
 * Holds: K4: the order decides which scopes are opened in which order, so it is part of the journal's format. A layer
 * that an edge does not ask for costs one call.
 */
import { answerLayer, modelRulesLayer, outputKeyLayer, reviewLayer, type Agent, type ModelRules } from '@reeve/agent'
import { parentOf } from '@reeve/core'
import { layered, type Layer, type ActivationWork } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { trustLayer, type TrustPresets } from '@reeve/oversight'
import { hooksLayer, type FindHook } from './hooks.ts'
import { metadataLayer } from './metadata.ts'
import { sessionLayer, type SessionParts } from './session.ts'

/** What a runtime gives to the layers of every agent. */
export interface LayerParts extends SessionParts {
  /** What a start may have named: a hook, or an agent that measures. */
  readonly find?: FindHook
  /** By which rules trust rises. */
  readonly trust?: TrustPresets | undefined
  /** What it says of all models. */
  readonly models?: (() => ModelRules) | undefined
}

/**
 * From the outside in.
 *
 * | layer | does | stands there because |
 * |---|---|---|
 * | hooks | the context finds the hooks that a start has named | every layer further in may ask one |
 * | metadata | the context shows the caller with what leaders have added | the memory of a session and every reviewer see that caller |
 * | trust | fixes the mode by the trust of now; counts the end of a run | whatever ends the run counts, also a busy session |
 * | session | takes the run's turn, shows the history, remembers the answer | a review that repeats the work stays in the same turn |
 * | output key | keeps the output as a session value | only what humans have accepted is kept, and while the session is still held |
 * | review | asks humans before the work and about its result | it repeats the work, so everything it repeats is further in |
 * | answer | leaves an outcome as the agent's answer | each round of a review reads how its outcome came about |
 * | model rules | the work finds the prices and deadlines of its runtime | work that is done again finds them anew |
 */
const layers = (agent: Agent, parts: LayerParts): readonly Layer[] => [
  hooksLayer(parts.find),
  metadataLayer,
  trustLayer((ctx) => (isRoot(ctx) ? (parts.trust ?? {}) : undefined)),
  sessionLayer(parts, isRoot),
  outputKeyLayer(agent),
  reviewLayer(agent),
  answerLayer(agent),
  ...(parts.models === undefined ? [] : [modelRulesLayer(parts.models)]),
]

/** The work of an agent inside its layers. Made once per agent. */
export const workOf = (agent: Agent, parts: LayerParts): ActivationWork =>
  layered(layers(agent, parts), (ctx, edge) => agent.orchestrate(ctx, edge))

const isRoot = ({ place: { activation } }: Context): boolean => parentOf(activation) === undefined
