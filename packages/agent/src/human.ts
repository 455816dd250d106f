/**
 * Human: a person as an agent. Its work is an interrupt: the person sees the brief, and the answer is the output.
 *
 * Owns: the options of every person, the person who works alone. Does not own: how a question is asked and answered
 * (oversight/interrupt.ts), the person who leads (../supervisor/human-leader.ts).
 * Holds: K3: each answer of the person arrives as the end of a question, so it is recorded and asked once.
 */
import type { Context } from '@reeve/engine'
import {
  asText,
  describedContent,
  described,
  expects,
  functionCheck,
  isObject,
  number,
  object,
  optionProblems,
  present,
  unchecked,
  type Checks,
  type HistoryEntry,
  type Json,
  type JsonObject,
  type Rule,
} from '@reeve/core'
import type { Candidate, Checked, Infer, Schema, SchemaLike } from '@reeve/edge'
import { inquire, type Answered } from '@reeve/oversight'
import { runCode } from './agent.ts'
import { defineAgent, type AgentKind, type AgentParts } from './define-agent.ts'
import type { Agent } from './definition.ts'
import { dataOf, factChecks, factRule, schemasOf, type AgentFacts } from './facts.ts'
import { checkOutput } from './output.ts'
import { CodeEnd, answerBy, transferTo, type HandoffContext } from './code/handoff-context.ts'

/** The option checks of every person. */
export interface HumanFacts<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> extends AgentFacts<Name, In, Out> {
  /** The channels of the runtime, by name, that notify the person. Default: those of `oversight.approval.notify`. */
  readonly channel?: string | readonly string[]
  /** Milliseconds for one answer. An invalid answer does not restart the clock. Default: no limit. */
  readonly timeoutMs?: number
  /**
   * What happens when the deadline passes. `fail` (default): the work fails with `effect.timed-out`. `{ answer }`: this
   * answer is used.
   */
  readonly onTimeout?: 'fail' | { readonly answer: Json }
  /** What the person sees as the brief. Pure. Default: the brief as it is. */
  readonly prompt?: (brief: Infer<In>) => Json
}

/** A person who works alone. */
export interface HumanOptions<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> extends HumanFacts<Name, In, Out> {
  readonly workers?: never
}

/** The options of a person, without its type parameters. */
export type AnyHuman = HumanFacts<string, SchemaLike | undefined, SchemaLike | undefined>

/** The option checks of every person. */
export const humanChecks: Checks<AnyHuman> = {
  ...factChecks,
  channel: expects(
    (given) => (Array.isArray(given) ? given : [given]).every((each) => typeof each === 'string' && each !== ''),
    'the name of a channel, or a list of names',
  ),
  timeoutMs: number(Number.isFinite, 'milliseconds'),
  onTimeout: (given, where) =>
    given === 'fail'
      ? []
      : isObject(given) && given['answer'] !== undefined
        ? answerCheck(given, where)
        : [`${where} is ${described(given)}, expected "fail" or { answer }`],
  prompt: functionCheck,
}
const answerCheck = object<{ answer: Json }>({ answer: unchecked })

/** What must hold between them. `output`: what a person answers. */
export const humanRule =
  (output: Schema | undefined): Rule<AnyHuman> =>
  (given, where) => {
    const { timeoutMs, onTimeout } = given
    if (!isObject(onTimeout) || onTimeout['answer'] === undefined) return factRule(given, where)
    const fits = checkOutput(onTimeout['answer'], output)
    return [
      ...factRule(given, where),
      !fits.ok && `${where}: onTimeout.answer does not fit the output: ${fits.problem}`,
      timeoutMs === undefined && `${where}: onTimeout without timeoutMs: there is no deadline`,
    ]
  }

/** The channels that notify a person. */
export const channelsOf = ({ channel = [] }: AnyHuman): readonly string[] =>
  typeof channel === 'string' ? [channel] : channel

/** The options of a person that are data. */
export const humanData = ({ channel, timeoutMs, onTimeout }: AnyHuman): JsonObject => ({
  human: { channel: (channel ?? null) as Json, timeoutMs: timeoutMs ?? null, onTimeout: (onTimeout ?? null) as Json },
})

/** The question to a person. */
export interface HumanPrompt {
  /** `work`: the answer is the output. `lead`: the person leads a team. */
  readonly type: 'work' | 'lead'
  readonly brief: unknown
  readonly handoffContext: HandoffContext
  readonly output: Schema | undefined
  /** Further members of the question. */
  readonly more?: JsonObject
}

/** Asks a person until the answer is valid. `late`: turns the default answer into the one used after the deadline. */
export function askHuman(
  ctx: Context,
  options: AnyHuman,
  shown: HumanPrompt,
  check: (answer: Json) => Checked<unknown>,
  late: (answer: Json) => Json = (answer) => answer,
): Promise<Answered> {
  const { channel, timeoutMs, onTimeout } = options
  const { type, output, handoffContext } = shown
  // one who may also hand over answers in other forms, too
  const isOutput = type === 'work' && handoffContext.candidates.length === 0
  return inquire(ctx, humanQuestion(options, shown), {
    check,
    ...(output === undefined || !isOutput ? undefined : { answerSchema: output.json }),
    ...(channel === undefined ? undefined : { notify: channelsOf(options) }),
    ...present({ timeoutMs }),
    ...(typeof onTimeout === 'object' ? { otherwise: late(onTimeout.answer) } : undefined),
  })
}

function humanQuestion({ prompt }: AnyHuman, { type, brief, handoffContext, output, more }: HumanPrompt): JsonObject {
  const history = historyTexts(handoffContext.history, brief as Json)
  const { candidates } = handoffContext
  return {
    type,
    brief: prompt === undefined ? (brief as Json) : prompt(brief),
    ...(history.length === 0 ? undefined : { history }),
    ...more,
    ...(candidates.length === 0
      ? undefined
      : { candidates: candidates.map(({ name, description }) => ({ name, description })) }),
    ...(output === undefined ? undefined : { output: output.json }),
  }
}

/** The history as texts, without the brief itself. */
function historyTexts(history: readonly HistoryEntry[], brief: Json): readonly Json[] {
  const said = history.flatMap(({ agent, message: { role, content } }) =>
    role === 'tool' || role === 'system' ? [] : saidText(agent, describedContent(content)),
  )
  const last = said.at(-1)
  return last !== undefined && !('agent' in last) && last.text === asText(brief) ? said.slice(0, -1) : said
}

const saidText = (agent: string | undefined, text: string): readonly { agent?: string; text: string }[] =>
  text === '' ? [] : [agent === undefined ? { text } : { agent, text }]

/** Reads `{ transfer, task? }`, where control may be handed on. Undefined: the answer is no transfer. */
export function transferAnswer(answer: Json, candidates: readonly Candidate[]): Checked<CodeEnd> | undefined {
  if (candidates.length === 0 || !isObject(answer) || !('transfer' in answer)) return undefined
  const { transfer: to, task, ...others } = answer
  const names = candidates.map(({ name }) => name)
  if (typeof to !== 'string' || !names.includes(to))
    return { ok: false, problem: `"transfer" is ${described(to)}, expected one of ${names.join(', ')}` }
  if (task !== undefined && typeof task !== 'string')
    return { ok: false, problem: `"task" is ${described(task)}, expected a text` }
  const [strange] = Object.keys(others)
  if (strange !== undefined) return { ok: false, problem: `"${strange}" is unknown beside "transfer", expected "task"` }
  return { ok: true, value: transferTo(to, task === undefined ? {} : { task }) }
}

/** A person who works alone. */
export const humanAgent = (options: AnyHuman): Agent =>
  defineAgent(humanKind, { options, ...schemasOf(options, `human "${options.name}"`), parsesInput: true })

const humanKind: AgentKind<AgentParts<AnyHuman>> = {
  data: ({ options }, agent) => ({ ...dataOf(agent), ...humanData(options) }),
  orchestrate: ({ options }, ctx, edge, agent) =>
    runCode(agent, ctx, edge, async (agentCtx, brief, handoffContext) => {
      const output = agent.outputSchema
      const { value, by } = await askHuman(
        agentCtx,
        options,
        { type: 'work', brief, handoffContext, output },
        (answer) => {
          const transfer = transferAnswer(answer, handoffContext.candidates)
          if (transfer !== undefined) return transfer
          const fits = checkOutput(answer, output)
          return fits.ok ? { ok: true, value: answer } : fits // it is parsed once, when it becomes the output
        },
      )
      return value instanceof CodeEnd ? value : answerBy(value as Json, by)
    }),
  problems: ({ options }, { outputSchema }) =>
    optionProblems(humanChecks, options, `human "${options.name}"`, humanRule(outputSchema)),
  more: ({ options }) => ({ channels: channelsOf(options) }),
}
