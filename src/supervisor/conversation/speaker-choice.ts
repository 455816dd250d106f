/**
 * Speaking: who speaks next in a conversation that somebody leads.
 *
 * Owns: what whoever chooses is shown and may answer, and the ready-made ways to choose: in order, by chance, by a
 * model, by a function.
 * Does not own: the rounds (roundtable.ts), choosing by a ledger (ledger.ts).
 * Holds: K3, K10: chance comes from the context, a function is a step, a model is asked in a recorded turn; so the same
 * speak over resume and replay.
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
} from '../../core/index.ts'
import { askSideQuery, modelSetup, type Agent, type ModelAccess } from '../../agent/index.ts'
import { compileSchema, type Edge, type Schema } from '../../edge/index.ts'
import type { Context, StepIO } from '../../engine/index.ts'
import type { ModelRef } from '../../model/index.ts'
import { askHook } from '../delegation/delegation-hooks.ts'

/** A conversation as whoever chooses sees it. */
export interface Table {
  readonly name: string
  /** The round that is to be chosen for, from 1; for `until`, the one that has ended. */
  readonly round: number
  /** JSON cannot hold `Infinity`; where there is no bound this is absent. */
  readonly maxRounds?: number
  readonly members: readonly { readonly name: string; readonly description: string }[]
  /** Everything that was said so far, oldest first; entries without `agent` came from outside. */
  readonly said: readonly HistoryEntry[]
  /** Who spoke last. */
  readonly last?: string
  /** The last answer, as text; empty while nobody has answered. */
  readonly text: string
}

/** Whom a function lets speak, and with which task. Nothing: the conversation is over. */
export type Choice = string | { readonly speaker: string; readonly instruction?: string } | undefined | void

/** Chooses by code. It may wait and be asynchronous: it is a recorded step, asked once per round. */
export type SpeakerRule = (table: Table, io: StepIO) => Choice | Promise<Choice>

/** What a `Speaker` has decided. */
export type SpeakerWord =
  /** `by`: how it was chosen, for the journal. Default: the speaker's name. */
  | { readonly type: 'speaks'; readonly speaker: string; readonly instruction?: string; readonly by?: string }
  /** The conversation is over; `answer` is its output in place of the last words. */
  | { readonly type: 'done'; readonly answer?: Json }
  /** It ends without having come to an end. */
  | { readonly type: 'ends'; readonly outcome: Outcome }

/** What a `Speaker` may do in one conversation. */
export interface Floor {
  /** The name of the conversation, as which it asks models and speaks. */
  readonly name: string
  /** Who may speak, in order. */
  readonly members: readonly Pick<Agent, 'name' | 'description'>[]
  /** What the answer of the conversation must look like. */
  readonly output?: Schema
  /** Tells everybody something, from now on. */
  tell(text: string): void
  /** What was said is not shown any more: to nobody but those outside of the conversation. */
  reset(): void
  /**
   * Asks a model about the conversation as it is shown now. The answer is text, or fits `output`; else why there is
   * none. Needs a scope of its own.
   */
  ask(ctx: Context, model: ModelRef, question: string, options?: AskingOptions): Promise<Outcome>
}

/** How a model is asked by whoever leads. */
export interface AskingOptions {
  /** What the answer must look like. Default: text. */
  readonly output?: Schema
  /**
   * The answer is for everybody: it is streamed, and `run.messages()` has it. Default false: it only decides something.
   */
  readonly aloud?: boolean
}

/** Leads one conversation. */
export interface Chair {
  /**
   * Who speaks in this round. Orchestration: everything uncertain goes through `ctx`, which is a scope of this choice.
   */
  next(ctx: Context, table: Table): Promise<SpeakerWord>
  /** The rounds are used up. Default: it ends well, with the last words. */
  over?(ctx: Context, table: Table): Promise<SpeakerWord>
}

/**
 * A way to choose that may ask models and agents and remember what it likes: what it keeps lives in memory, and replay
 * makes it again.
 */
export interface Speaker {
  /** For the journal, and part of the version. */
  readonly name: string
  /** What of it is data: part of the version. */
  readonly data?: Json
  /** What it thinks with, if that is a model. */
  readonly model?: Agent['model']
  /** How many rounds there are if nobody says. Default 10. */
  readonly rounds?: number
  /** Who must be registered along with it. */
  readonly agents?: readonly Agent[]
  /** Called once per conversation. Pure. */
  open(floor: Floor): Chair
}

type TableMembers = Floor['members']

/** One after the other, as they are listed. */
export const roundRobinSpeaker: Speaker = {
  name: 'round-robin',
  open: ({ members }) => ({ next: (_ctx, { round }) => speakerWord(members[(round - 1) % members.length]!.name) }),
}

/** By chance, seeded by the run: nobody twice in a row, unless there is nobody else or `repeats` says so. */
export const randomSpeaker = (repeats: boolean): Speaker => ({
  name: 'random',
  data: repeats,
  open: ({ members }) => ({
    next(ctx, { last }) {
      const names = eligibleSpeakers(members, last, repeats)
      return speakerWord(names[Math.floor(ctx.random() * names.length)]!)
    },
  }),
})

/** By a function. */
export const functionSpeaker = (rule: SpeakerRule): Speaker => ({
  name: 'function',
  open: () => ({
    async next(ctx, table) {
      const { word, failure: wrong } = await askHook<Exclude<Choice, undefined | void>>(
        ctx,
        { hook: 'speaker' },
        (io) => rule(table, io),
        choiceProblem,
      )
      if (wrong !== undefined) return { type: 'ends', outcome: failed(wrong) }
      if (word === undefined) return { type: 'done' }
      return typeof word === 'string' ? { type: 'speaks', speaker: word } : { type: 'speaks', ...word }
    },
  }),
})

function choiceProblem(word: Json): string | undefined {
  if (typeof word === 'string') return undefined
  const { speaker, instruction } = isObject(word) ? word : {}
  if (typeof speaker !== 'string') return 'it returned neither a name nor { speaker, instruction? }'
  return instruction === undefined || typeof instruction === 'string' ? undefined : 'instruction is no string'
}

/**
 * By a model, which sees names, descriptions and what was said. What it cannot choose is chosen in turn; whether it is
 * done, it may say once somebody has spoken.
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
        if (names.length === 1 && !mayEnd) return speakerWord(names[0]!)
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

/** What thinks for a conversation. */
export function modelAccess(agent: string, ref: ModelRef): ModelAccess {
  const { model, settings, retry } = modelSetup(agent, { model: ref }, undefined, undefined)
  return { agent, model, settings, retry }
}

/** Why a model has chosen nobody though it answered; undefined if it could not answer at all. */
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

/** Who may speak after somebody. */
function eligibleSpeakers(members: TableMembers, last: string | undefined, repeats: boolean): readonly string[] {
  const names = [...new Set(members.map(({ name }) => name))]
  const others = names.filter((name) => name !== last)
  return repeats || others.length === 0 ? names : others
}

/** Who is next in the order. */
function nextInOrder(members: TableMembers, last: string | undefined): string {
  return members[(members.findIndex(({ name }) => name === last) + 1) % members.length]!.name
}

const speakerWord = (speaker: string): Promise<SpeakerWord> => Promise.resolve({ type: 'speaks', speaker })

/** Nobody of that name is at the table. */
export const unknownSpeaker = (table: string, speaker: string, members: TableMembers): Failure =>
  failure(
    'delegation.unknown-worker',
    `unknown speaker "${speaker}" in "${table}"; known: ${[...new Set(members.map(({ name }) => name))].join(', ')}`,
    'validation',
  )

/** A conversation for users' code: what it changes in it changes nothing. */
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

/** Asks a model about what was said. */
export const tableAsk =
  (name: string, edge: Edge, said: () => readonly HistoryEntry[]): Floor['ask'] =>
  (ctx, model, question, { output, aloud = false } = {}) =>
    askSideQuery(modelAccess(name, model), ctx, edge, {
      said: said(),
      question,
      output,
      purpose: aloud ? undefined : 'choice',
    })
