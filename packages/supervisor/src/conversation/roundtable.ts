/**
 * roundtable(): a conversation with a chair. In each round the chair chooses a member, who sees the conversation and
 * speaks.
 *
 * Owns: the public constructor, its options and their checks. Does not own: the rounds (rounds.ts), which member speaks
 * (speaker-choice.ts, ledger.ts).
 */
import type { StepIO } from '@reeve/engine'
import {
  choice,
  choiceOr,
  either,
  expects,
  flag,
  functionCheck,
  isFunction,
  mustBeOptions,
  optionProblems,
  present,
  required,
  unchecked,
  wholeNumber,
  withoutHandoff,
  type Checks,
  type Json,
  type Rule,
} from '@reeve/core'
import {
  agentsCheck,
  composedChecks,
  dataOf,
  defineAgent,
  factRule,
  isAgent,
  checkTree,
  renamable,
  schemaOf,
  type Agent,
  type AgentKind,
  type AgentParts,
  type Assess,
} from '@reeve/agent'
import { leavesHandoff, type Infer, type Limits, type Oversight, type SchemaLike } from '@reeve/edge'
import { edgesCheck, memberCaps, memberEdgeChecks, MemberList, membersOf, type EdgeOptions } from '@reeve/flow'
import type { ModelRef } from '@reeve/model'
import { Rounds, type RoundRules } from './rounds.ts'
import {
  randomSpeaker,
  modelSpeaker,
  functionSpeaker,
  roundRobinSpeaker,
  type Speaker,
  type SpeakerRule,
  type Table,
} from './speaker-choice.ts'

/** The options of a round table. */
export interface RoundtableOptions<
  Name extends string,
  Agents extends readonly Agent[],
  Out extends SchemaLike | undefined,
> {
  readonly name: Name
  /** What it is good for. Required where it is a worker or a tool. */
  readonly description?: string
  /**
   * Its members: model agents, code, flows, teams. With `round-robin` an agent may be listed more than once. A function
   * may name agents that are defined later; it is called once.
   */
  readonly agents: Agents | (() => Agents)
  /**
   * Which member speaks in each round. `round-robin`: in the order of `agents`. `random`: at random, seeded by the run.
   * `auto`: `model` chooses by the descriptions and the conversation, may add an instruction, and may end the
   * conversation; an invalid choice is corrected up to twice, then the next in order speaks (`fact.noted`,
   * `speaker.fallback`). A function: returns a name or `{ speaker, instruction }`; nothing ends the conversation. A
   * `Speaker`, such as `ledger({ model })`, may ask models itself.
   */
  readonly speaker: 'auto' | 'round-robin' | 'random' | SpeakerRule | Speaker
  /** The model that chooses for the speaker `auto`. */
  readonly model?: ModelRef
  /** With `auto` and `random`: the last speaker may be chosen again. Default false. */
  readonly repeats?: boolean
  /**
   * The largest number of rounds. After that it completes with the last answer, unless its `Speaker` decides otherwise.
   * Default 10, with a ledger 30.
   */
  readonly maxRounds?: number
  /** Called after each round that completed, as a recorded step: true ends the conversation. */
  readonly until?: (table: Table, io: StepIO) => boolean | Promise<boolean>
  /**
   * What happens if a member does not complete. `tell` (default): the others are told and it continues, until as many
   * rounds in a row fail as there are members. `end`: the table ends in the same way.
   */
  readonly onFailure?: 'tell' | 'end'
  /**
   * Makes the answer of the conversation: an agent that sees it, or a function as a recorded step (returning nothing
   * keeps the last answer). Called for every good end but an exit. Default: the last answer is the answer.
   */
  readonly summary?: Agent | ((table: Table, io: StepIO) => Json | Promise<Json>)
  /** What crosses to its members and back. Default: the whole conversation both ways. */
  readonly edge?: EdgeOptions<Agents[number]['name']>
  /** The schema of its answer. An answer that does not fit makes it fail. Default: any answer. */
  readonly output?: Out
  /** Hard limits of it and all agents below it. Default: none of its own. */
  readonly limits?: Limits
  /** How closely humans oversee it and all agents below it. Default: only tools and edges ask. */
  readonly oversight?: Oversight
  /** Assesses its results: a function of the output and the brief. Default: no assessment. */
  readonly assess?: Exclude<Assess, 'report'>
  /** The session value that keeps its output whenever it completes. */
  readonly outputKey?: string
  /** Declared version. Default `1`. */
  readonly version?: string
}

type AnyRoundtableOptions = RoundtableOptions<string, readonly Agent[], SchemaLike | undefined>

const isSpeaker = (given: unknown): given is Speaker =>
  typeof given === 'object' && given !== null && typeof (given as { readonly open?: unknown }).open === 'function'

const checks = (members: readonly Agent[]): Checks<AnyRoundtableOptions> => ({
  ...composedChecks,
  agents: required(either(isFunction, agentsCheck)),
  speaker: required(
    choiceOr(
      (given) => typeof given === 'function' || isSpeaker(given),
      'a function or a Speaker such as ledger()',
      'auto',
      'round-robin',
      'random',
    ),
  ),
  model: unchecked,
  repeats: flag,
  maxRounds: either((given) => given === Infinity, wholeNumber(1)),
  until: functionCheck,
  onFailure: choice('tell', 'end'),
  summary: expects((given) => typeof given === 'function' || isAgent(given), 'an agent or a function'),
  edge: edgesCheck(members.filter(isAgent), memberEdgeChecks),
  output: unchecked,
})

/** What must hold between them. */
const tableRule =
  (members: readonly Agent[]): Rule<AnyRoundtableOptions> =>
  (options, where) => {
    const { speaker, model, repeats } = options
    const names = members.map(({ name }) => name)
    return [
      ...factRule(options, where),
      members.length === 0 && `${where} has no agents`,
      speaker === 'auto' && model === undefined && `${where}: speaker "auto" needs a model`,
      speaker !== 'auto' && model !== undefined && `${where}: model is only for speaker "auto"`,
      repeats !== undefined &&
        speaker !== 'auto' &&
        speaker !== 'random' &&
        `${where}: repeats is only for the speakers "auto" and "random"`,
      ...(speaker === 'round-robin'
        ? []
        : [...new Set(names.filter((name, i) => names.indexOf(name) !== i))].map(
            (name) => `${where}: agents lists "${name}" twice, which only "round-robin" allows`,
          )),
    ]
  }

/**
 * Defines a round table. It is an agent, so it may be a worker, a tool, or a member of a flow or of another table. It
 * completes with the last answer when `until` returns true, a member breaks it (`breakLoop`), the speaker is done or
 * the rounds are used up. It ends with the output of a member that exits, or in the same way as a member whose failure
 * ends it. Its journal has `speaker.chosen` for every round, and `fact.noted` `roundtable.ended` with the reason.
 * Throws `team.invalid` with all problems.
 */
export function roundtable<
  const Name extends string,
  const Agents extends readonly Agent[],
  Out extends SchemaLike | undefined = undefined,
>(options: RoundtableOptions<Name, Agents, Out>): Agent<Name, string, [Out] extends [undefined] ? Json : Infer<Out>> {
  mustBeOptions(options, 'roundtable', 'team.invalid')
  type Made = Agent<Name, string, [Out] extends [undefined] ? Json : Infer<Out>>
  const parts = roundtableParts(options)
  const made = defineAgent(roundtableAgent, parts)
  if (parts.members.known) checkTree(made)
  return renamable(made, (name) => roundtable({ ...options, name })) as unknown as Made
}

interface RoundtableParts extends AgentParts<AnyRoundtableOptions> {
  readonly members: MemberList
  readonly rules: RoundRules
}

function roundtableParts(options: AnyRoundtableOptions): RoundtableParts {
  const { output, ...rules } = options
  const members = new MemberList(options.agents)
  const outputSchema = schemaOf(output, `roundtable "${options.name}": output`)
  const speaker = speakerOf(options)
  return {
    options,
    members,
    rules: { ...rules, speaker, ...present({ output: outputSchema }) },
    outputSchema,
    model: speaker.model,
    team: () => members.names,
    reaches: options.agents,
  }
}

const roundtableAgent: AgentKind<RoundtableParts> = {
  data: ({ options: { summary, maxRounds }, members, rules: { speaker } }, agent) => ({
    ...dataOf(agent, { workers: members.names }),
    order: 'roundtable',
    speaker: [speaker.name, speaker.data ?? null],
    bound: String(maxRounds ?? null),
    ...(isAgent(summary) ? { summary: summary.name } : undefined),
  }),
  async orchestrate({ members, rules }, ctx, edge) {
    const ended = await new Rounds(rules, membersOf(edge, members.agents), ctx, edge).hold()
    return leavesHandoff(edge) ? ended : withoutHandoff(ended)
  },
  related: ({ options: { summary, speaker }, members }) => [
    ...members.agents,
    ...(isAgent(summary) ? [summary] : []),
    ...(isSpeaker(speaker) ? (speaker.agents ?? []) : []),
  ],
  problems: ({ options, members: { agents, given } }) =>
    optionProblems(checks(agents), { ...options, agents: given }, `roundtable "${options.name}"`, tableRule(agents)),
  more: ({ options, members }) => ({
    members: () => members.agents,
    usdCaps: () => memberCaps(members.agents, options.edge, 'edge'),
  }),
}

/** The chair. For invalid options it returns one that is never used, because all problems are reported together. */
function speakerOf({ name, speaker, model, repeats = false }: AnyRoundtableOptions): Speaker {
  if (typeof speaker === 'function') return functionSpeaker(speaker)
  if (isSpeaker(speaker)) return speaker
  if (speaker === 'auto' && model !== undefined) return modelSpeaker(name, model, repeats)
  return speaker === 'random' ? randomSpeaker(repeats) : roundRobinSpeaker
}
