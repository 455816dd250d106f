/**
 * Teams under test: a model that follows a script, and a team as a scenario for `simulate`.
 *
 * Owns: `scripted`, `inOrder`, `teamScenario`. Does not own: running a scenario (simulate.ts), time (manual-clock.ts).
 */
import type { Agent } from '@reeve/agent'
import { copy, failure, FailureError, type Json } from '@reeve/core'
import type { Message, ModelAnswerInput, ModelFunction, ModelRequest } from '@reeve/model'
import type { Channel } from '@reeve/oversight'
import {
  createRuntime,
  findHook,
  registerAgents,
  startRequest,
  type Agents,
  type Hooks,
  type Runtime,
  type StartOptions,
} from '@reeve/runtime'
import type { ManualClock } from './manual-clock.ts'
import type { Scenario } from './simulate.ts'

/** One line of a script: an answer, a failure that is not retried, or a function of the request. */
export type ScriptLine =
  | string
  | ModelAnswerInput
  | Error
  | ((request: ModelRequest) => string | ModelAnswerInput | Promise<string | ModelAnswerInput>)

/** Which line of a script is next: by the conversation in the request, or by the number of earlier requests. */
type ScriptPosition = (request: ModelRequest) => number
/** A model that follows a script and records its requests. */
export interface ScriptedModel extends ModelFunction {
  /** Copies of the messages, one list per call, in the order of the calls. */
  readonly prompts: readonly (readonly Message[])[]
}

/**
 * A model that returns the n-th line as the n-th answer of a conversation. It goes by the conversation, not by the
 * number of calls, so it answers the same after a crash, and each delegation begins with the first line. Past the end
 * the call fails. For an agent under a router, which does not always see its earlier turns: `inOrder`.
 */
export const scripted = (...script: readonly ScriptLine[]): ScriptedModel =>
  following(script, ({ messages }) => messages.filter((message) => message.role === 'assistant').length)

/**
 * A model that returns the n-th line for the n-th request, in any conversation: for agents under a router, which do not
 * see their own transfers. The same request (`request.key`) has the same line, so it answers the same after a crash.
 * Past the end the call fails.
 */
export function inOrder(...script: readonly ScriptLine[]): ScriptedModel {
  const asked = new Map<string, number>()
  return following(script, ({ key }) => {
    const place = asked.get(key) ?? asked.size
    asked.set(key, place)
    return place
  })
}

function following(script: readonly ScriptLine[], placeOf: ScriptPosition): ScriptedModel {
  const prompts: (readonly Message[])[] = []
  const rule: ModelFunction = (request) => {
    const place = placeOf(request)
    prompts.push(copy(request.messages as unknown as Json) as unknown as readonly Message[])
    const line = script[place]
    if (line === undefined)
      throw new FailureError(
        failure(
          'model.failed',
          `the script has ${script.length} lines, and answer ${place + 1} was asked for`,
          'internal',
        ),
      )
    if (line instanceof FailureError) throw line
    if (line instanceof Error) throw new FailureError(failure('model.failed', line.message, 'internal'), line)
    return typeof line === 'function' ? line(request) : line
  }
  return Object.assign(rule, { prompts })
}

/** A team to be simulated. */
export interface TeamScenario extends Pick<
  StartOptions,
  | 'limits'
  | 'metadata'
  | 'permissions'
  | 'session'
  | 'user'
  | 'values'
  | 'context'
  | 'delegation'
  | 'onIterationComplete'
  | 'isComplete'
> {
  readonly name?: string
  readonly agents: readonly Agent[]
  /** The root. Default: the first of the agents. */
  readonly agent?: Agent
  readonly input: Json
  /** What the start may name. */
  readonly hooks?: Hooks
  /** The channels that notify people. */
  readonly channels?: readonly Channel[]
  /**
   * Plays people and time: called repeatedly until the run has ended, in every process. Its actions must be idempotent.
   */
  readonly outside?: (runtime: Runtime, clock: ManualClock) => Promise<void>
}

/** A team as a scenario for `simulate`. Throws as `createRuntime` and `start` do. */
export function teamScenario(team: TeamScenario): Scenario {
  const { name = 'team', agents, agent = agents[0]!, input, outside, channels, hooks = {}, ...options } = team
  const named = (each: string): Agent | undefined => registry.named(each)
  const parts = { endOf: () => Promise.resolve(undefined), find: findHook(hooks, named) }
  const registry: Agents = registerAgents(agents, [], 'park', parts, channels)
  return {
    name,
    registry,
    start: startRequest(registry.require(agent), input, { ...options, runId: 'simulated' }, undefined, undefined, {
      hooks,
      find: named,
    }),
    ...(outside === undefined
      ? {}
      : { outside: async (engine, clock) => outside(await createRuntime({ engine, clock, drive: false }), clock) }),
  }
}
