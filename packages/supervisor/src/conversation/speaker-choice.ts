/**
 * Speaker choice: which member speaks next in a conversation with a chair.
 *
 * Owns: what a chair sees and may answer, and the built-in chairs: round-robin, random, a model, a function.
 * Does not own: the rounds (rounds.ts), the ledger (ledger.ts).
 * Holds: K3, K10: randomness comes from the context, a function is a step, a model is asked in a recorded turn. So the
 * same members speak across resume and replay.
 */
import {
  asText,
  copy,
  failed,
  failure,
  isObject,
  type Failure,
  type HistoryEntry,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'
import { askSideQuery, modelSetup, type Agent, type ModelAccess } from '@reeve/agent'
import { compileSchema, type Edge, type Schema } from '@reeve/edge'
import type { Context, StepIO } from '@reeve/engine'
import type { ModelRef } from '@reeve/model'
import { askHook } from '../delegation/delegation-hooks.ts'

/** A conversation as its chair sees it. */
export interface Table {
  readonly name: string
  /** The round to choose for, from 1; for `until`, the finished round. */
  readonly round: number
  /** Absent without a bound, because JSON cannot hold `Infinity`. */
  readonly maxRounds?: number
  readonly members: readonly { readonly name: string; readonly description: string }[]
  /** The conversation so far, oldest first. Entries without `agent` came from outside. */
  readonly said: readonly HistoryEntry[]
  /** The last speaker. */
  readonly last?: string
  /** The last answer, as text; empty before the first answer. */
  readonly text: string
}

/** The choice of a function: a member, and optionally its task. Nothing: the conversation is over. */
export type Choice = string | { readonly speaker: string; readonly instruction?: string } | undefined | void

/** Chooses by code. May be asynchronous: it is a recorded step, called once per round. */
export type SpeakerRule = (table: Table, io: StepIO) => Choice | Promise<Choice>

/** The decision of a `Speaker`. */
export type SpeakerDecision =
  /** `by`: how the member was chosen, for the journal. Default: the speaker's name. */
  | { readonly type: 'speaks'; readonly speaker: string; readonly instruction?: string; readonly by?: string }
  /** The conversation is over. `answer` replaces the last answer as its output. */
  | { readonly type: 'done'; readonly answer?: Json }
  /** The conversation ends without an answer. */
  | { readonly type: 'ends'; readonly outcome: Outcome }

/** What a `Speaker` may do in one conversation. */
export interface Floor {
  /** The name of the conversation, under which it asks models and speaks. */
  readonly name: string
  /** The members, in order. */
  readonly members: readonly Pick<Agent, 'name' | 'description'>[]
  /** The schema of the answer of the conversation. */
  readonly output?: Schema
  /** Tells all members something from now on. */
  tell(text: string): void
  /** Hides everything said so far from members and chair. Only later agents outside the conversation see it. */
  reset(): void
  /**
   * Asks a model about the visible conversation. The answer is text, or fits `output`; otherwise the outcome says why
   * there is none. Needs its own scope.
   */
  ask(ctx: Context, model: ModelRef, question: string, options?: AskingOptions): Promise<Outcome>
}

/** How a chair asks a model. */
export interface AskingOptions {
  /** The schema of the answer. Default: text. */
  readonly output?: Schema
  /**
   * The answer is part of the conversation: it is streamed, and `run.messages()` shows it. Default false: it only
   * decides something.
   */
  readonly aloud?: boolean
}

/** The chair of one conversation. */
export interface Chair {
  /** Decides this round. Orchestration: every effect goes through `ctx`, the scope of this choice. */
  next(ctx: Context, table: Table): Promise<SpeakerDecision>
  /** The rounds are used up. Default: it completes with the last answer. */
  over?(ctx: Context, table: Table): Promise<SpeakerDecision>
}

/** A kind of chair. It may ask models and agents and keep state. Its state lives in memory, and replay rebuilds it. */
export interface Speaker {
  /** For the journal, and part of the version. */
  readonly name: string
  /** Its data, for the version. */
  readonly data?: Json
  /** Its model, if it has one. */
  readonly model?: Agent['model']
  /** The default number of rounds. Default 10. */
  readonly rounds?: number
  /** The agents to register with it. */
  readonly agents?: readonly Agent[]
  /** Called once per conversation. Pure. */
  open(floor: Floor): Chair
}

type TableMembers = Floor['members']

/** In the order of the list. */
export const roundRobinSpeaker: Speaker = {
  name: 'round-robin',
  open: ({ members }) => ({ next: (_ctx, { round }) => speakerDecision(members[(round - 1) % members.length]!.name) }),
}

/**
 * At random, seeded by the run. Not the same member twice in a row, unless there is no other or `repeats` allows it.
 */
export const randomSpeaker = (repeats: boolean): Speaker => ({
  name: 'random',
  data: repeats,
  open: ({ members }) => ({
    next(ctx, { last }) {
      const names = eligibleSpeakers(members, last, repeats)
      return speakerDecision(names[Math.floor(ctx.random() * names.length)]!)
    },
  }),
})

/** By a function. */
export const functionSpeaker = (rule: SpeakerRule): Speaker => ({
  name: 'function',
  open: () => ({
    async next(ctx, table) {
      const { reply, failure: wrong } = await askHook<Exclude<Choice, undefined | void>>(
        ctx,
        { hook: 'speaker' },
        (io) => rule(table, io),
        choiceProblem,
      )
      if (wrong !== undefined) return { type: 'ends', outcome: failed(wrong) }
      if (reply === undefined) return { type: 'done' }
      return typeof reply === 'string' ? { type: 'speaks', speaker: reply } : { type: 'speaks', ...reply }
    },
  }),
})

function choiceProblem(reply: Json): string | undefined {
  if (typeof reply === 'string') return undefined
  const { speaker, instruction } = isObject(reply) ? reply : {}
  if (typeof speaker !== 'string') return 'it returned neither a name nor { speaker, instruction? }'
  return instruction === undefined || typeof instruction === 'string' ? undefined : 'instruction is no string'
}

/**
 * By a model that sees names, descriptions and the conversation. If its choice is invalid, the next in order speaks. It
 * may end the conversation once a member has spoken.
 */
export function modelSpeaker(table: string, ref: ModelRef, repeats: boolean): Speaker {
  const { model } = modelAccess(table, ref)
  return {
    name: 'auto',
    data: { repeats, model: model.id },
    model,
    open: (floor) => ({
      async next(ctx, { last, round }) {
        const names = eligibleSpeakers(floor.members, last, repeats)
        const mayEnd = last !== undefined
        if (names.length === 1 && !mayEnd) return speakerDecision(names[0]!)
        const outcome = await floor.ask(ctx, model, choicePrompt(floor, names, mayEnd), {
          output: choiceSchema(names, mayEnd),
        })
        if (outcome.status === 'completed') {
          const { speaker, instruction, done } = outcome.output as {
            speaker?: string | null
            instruction?: string | null
            done?: boolean | null
          }
          if (done === true) return { type: 'done' }
          const task = typeof instruction === 'string' && instruction.trim() !== '' ? { instruction } : undefined
          return { type: 'speaks', speaker: speaker!, ...task }
        }
        const why = noChoiceReason(outcome)
        if (why === undefined) return { type: 'ends', outcome }
        ctx.emit({ type: 'fact.noted', name: 'speaker.fallback', data: { round, problem: why } })
        return { type: 'speaks', speaker: nextInOrder(floor.members, last), by: 'round-robin' }
      },
    }),
  }
}

/** The access to a model for a conversation. */
export function modelAccess(agent: string, ref: ModelRef): ModelAccess {
  const { model, settings, retry } = modelSetup(agent, { model: ref }, undefined, undefined)
  return { agent, model, settings, retry }
}

/** Why a model that answered made no valid choice; undefined if it could not answer. */
function noChoiceReason(outcome: Outcome): string | undefined {
  if (outcome.status === 'failed' && outcome.failure.code === 'output.invalid') return outcome.failure.message
  return outcome.status === 'limited' && outcome.limit === 'turns' ? outcome.message : undefined
}

const choicePrompt = ({ name, members }: Floor, names: readonly string[], mayEnd: boolean): string =>
  [
    `You lead the conversation "${name}" and do not take part in it. Those who do:`,
    ...members.filter((each) => names.includes(each.name)).map((each) => `- ${each.name}: ${purpose(each)}`),
    'Who should speak next? Answer with a JSON object: "speaker", one of these names; and "instruction", the task of the speaker, if the conversation does not make it clear.',
    ...(mayEnd ? ['If the request is answered and no member has to speak again, answer {"done": true} instead.'] : []),
  ].join('\n')

/** What an agent is good for, as others read it. Never empty. */
export const purpose = ({ name, description }: Pick<Agent, 'name' | 'description'>): string =>
  description.trim() === '' ? `An agent called ${name}.` : description.trim()

function choiceSchema(names: readonly string[], mayEnd: boolean): Schema {
  const properties: JsonObject = {
    speaker: { type: 'string', enum: names },
    instruction: { type: 'string' },
    ...(mayEnd ? { done: { type: 'boolean' } } : undefined),
  }
  const schema = compileSchema({ type: 'object', properties, additionalProperties: false }, 'speaker')
  return {
    json: schema.json,
    check(value) {
      const checked = schema.check(value)
      if (!checked.ok) return checked
      const { speaker, done } = checked.value as JsonObject
      return typeof speaker === 'string' || done === true
        ? checked
        : { ok: false, problem: `"speaker" is missing, expected one of: ${names.join(', ')}` }
    },
  }
}

/** The members that may speak next. */
function eligibleSpeakers(members: TableMembers, last: string | undefined, repeats: boolean): readonly string[] {
  const names = [...new Set(members.map(({ name }) => name))]
  const others = names.filter((name) => name !== last)
  return repeats || others.length === 0 ? names : others
}

/** The next member in order. */
function nextInOrder(members: TableMembers, last: string | undefined): string {
  return members[(members.findIndex(({ name }) => name === last) + 1) % members.length]!.name
}

const speakerDecision = (speaker: string): Promise<SpeakerDecision> => Promise.resolve({ type: 'speaks', speaker })

/** The failure for a speaker that is not a member. */
export const unknownSpeaker = (table: string, speaker: string, members: TableMembers): Failure =>
  failure(
    'delegation.unknown-worker',
    `unknown speaker "${speaker}" in "${table}"; known: ${[...new Set(members.map(({ name }) => name))].join(', ')}`,
    'validation',
  )

/** A conversation for users' code: changes to it have no effect. */
export function tableView(
  facts: Omit<Table, 'said' | 'text'>,
  said: () => readonly HistoryEntry[],
  output: Json | undefined,
): Table {
  return {
    ...facts,
    get said() {
      return copy(said() as unknown as Json) as unknown as readonly HistoryEntry[]
    },
    text: output === undefined || output === null ? '' : asText(output),
  }
}

/** Asks a model about the conversation. */
export const tableAsk =
  (
    name: string,
    edge: Edge,
    said: (ctx: Context) => readonly HistoryEntry[] | Promise<readonly HistoryEntry[]>,
  ): Floor['ask'] =>
  (ctx, model, question, { output, aloud = false } = {}) => {
    const asked = (entries: readonly HistoryEntry[]): ReturnType<typeof askSideQuery> =>
      askSideQuery(modelAccess(name, model), ctx, edge, {
        said: entries,
        question,
        output,
        purpose: aloud ? undefined : 'choice',
      })
    const entries = said(ctx)
    return entries instanceof Promise ? entries.then(asked) : asked(entries)
  }
