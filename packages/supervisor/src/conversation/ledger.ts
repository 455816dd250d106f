/**
 * Ledger: leads a conversation by facts, a plan, and a progress check before every round. When the work makes no
 * progress, facts and plan are renewed.
 *
 * Owns: the questions to its model, the count of stalls and of new plans, the facts that record them. Does not own: the
 * rounds (rounds.ts), what a speaker is asked (speaker-choice.ts).
 * Holds: K3, K4 (a scope for every question). Lives in memory; replay rebuilds it from the recorded answers (K1).
 *
 * The progress check has the form of AutoGen's Magentic teams, which some models know.
 */
import type { Context } from '@reeve/engine'
import {
  mustBeOptions,
  optionProblems,
  present,
  required,
  unchecked,
  wholeNumber,
  type Checks,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'
import { throwTeamProblems } from '@reeve/agent'
import { compileSchema, type Schema } from '@reeve/edge'
import type { Model, ModelRef } from '@reeve/model'
import {
  modelAccess,
  purpose,
  type Chair,
  type Floor,
  type Speaker,
  type SpeakerDecision,
  type Table,
} from './speaker-choice.ts'

/** The options of a ledger. */
export interface LedgerOptions {
  /** The model that collects facts, plans and checks progress. */
  readonly model: ModelRef
  /**
   * A round without progress, or in a loop, adds a stall; a round with progress removes one. At this number there is a
   * new plan. Default 3.
   */
  readonly maxStalls?: number
  /**
   * How many new plans there may be. After that it ends `limited` by `resets`, with the best answer so far. Default 2.
   */
  readonly maxResets?: number
}

const checks: Checks<LedgerOptions> = {
  model: required(unchecked),
  maxStalls: wholeNumber(1),
  maxResets: wholeNumber(0),
}

/**
 * Makes a speaker for `roundtable`. Its model collects facts and makes a plan. Before each round it checks: is the
 * request satisfied, is the work in a loop, is there progress, which member speaks next and with which task. All
 * members see facts and plan; each is recorded as `fact.noted` (`ledger.facts`, `ledger.plan`, `ledger.progress`). When
 * the request is satisfied, the model writes the answer from the conversation. When the rounds (default 30) or the new
 * plans are used up, it ends `limited` with the best answer so far. An invalid progress check is corrected up to twice,
 * then the table fails with `output.invalid`. Throws `team.invalid` for invalid options.
 */
export function ledger(options: LedgerOptions): Speaker {
  mustBeOptions(options, 'ledger', 'team.invalid')
  const { model, maxStalls = 3, maxResets = 2 } = options
  throwTeamProblems(optionProblems(checks, options, 'ledger'))
  const access = modelAccess('ledger', model)
  return {
    name: 'ledger',
    data: { model: access.model.id, maxStalls, maxResets },
    model: access.model,
    rounds: 30,
    open: (floor) => new Ledger(floor, access.model, maxStalls, maxResets),
  }
}

/** One progress check. */
interface LedgerProgress {
  readonly satisfied: boolean
  readonly stalls: boolean
  readonly speaker: string
  readonly instruction: string
}

type LedgerEnd = Extract<SpeakerDecision, { type: 'ends' }>

class Ledger implements Chair {
  readonly #floor: Floor
  readonly #model: Model
  readonly #maxStalls: number
  readonly #maxResets: number
  #facts: string | undefined
  #stalls = 0
  #resets = 0
  /** A member has spoken since the plan was made. */
  #isUnderWay = false

  constructor(floor: Floor, model: Model, maxStalls: number, maxResets: number) {
    this.#floor = floor
    this.#model = model
    this.#maxStalls = maxStalls
    this.#maxResets = maxResets
  }

  async next(ctx: Context, table: Table): Promise<SpeakerDecision> {
    const first = this.#facts === undefined ? await this.#plan(ctx.scope('plan')) : undefined
    if (first !== undefined) return first
    for (;;) {
      const progress = await this.#checkProgress(ctx.scope('progress'), table)
      if ('type' in progress) return progress
      const { satisfied, speaker, instruction } = progress
      if (satisfied) return this.#answer(ctx.scope('answer'))
      if (this.#stalls < this.#maxStalls) {
        this.#isUnderWay = true
        return { type: 'speaks', speaker, ...(instruction === '' ? undefined : { instruction }) }
      }
      if (this.#resets >= this.#maxResets) return this.#standsStill(ctx.scope('answer'))
      this.#resets++
      const failed = await this.#plan(ctx.scope('plan'))
      if (failed !== undefined) return failed
    }
  }

  /** The last message may satisfy the request. */
  async over(ctx: Context, table: Table): Promise<SpeakerDecision> {
    const progress = await this.#checkProgress(ctx.scope('progress'), table)
    if ('type' in progress) return progress
    if (progress.satisfied) return this.#answer(ctx.scope('answer'))
    return this.#unfinished(
      ctx.scope('answer'),
      'rounds',
      `${table.round} rounds are used up, and the request is not satisfied`,
    )
  }

  /**
   * Collects facts and plans. After a new plan, earlier messages are hidden. Returns an end if the model cannot answer.
   */
  async #plan(ctx: Context): Promise<LedgerEnd | undefined> {
    const before = this.#facts
    const facts = await this.#ask(ctx.scope('facts'), before === undefined ? surveyPrompt : newSurveyPrompt(before))
    if (typeof facts !== 'string') return facts
    const plan = await this.#ask(ctx.scope('steps'), planPrompt(this.#floor, facts, before !== undefined))
    if (typeof plan !== 'string') return plan
    const revision = this.#resets
    ctx.emit({ type: 'fact.noted', name: 'ledger.facts', data: { text: facts, revision } })
    ctx.emit({ type: 'fact.noted', name: 'ledger.plan', data: { text: plan, revision } })
    if (before !== undefined) this.#floor.reset()
    this.#floor.tell(`What we know:\n${facts}\n\nOur plan:\n${plan}`)
    this.#facts = facts
    this.#stalls = 0
    this.#isUnderWay = false
    return undefined
  }

  async #checkProgress(ctx: Context, { round }: Table): Promise<LedgerProgress | LedgerEnd> {
    const outcome = await this.#floor.ask(ctx, this.#model, progressPrompt(this.#floor), {
      output: progressSchema(this.#floor),
    })
    if (outcome.status !== 'completed') return { type: 'ends', outcome }
    const progress = progressOf(outcome.output as JsonObject)
    // a plan cannot stall before a member has spoken
    if (this.#isUnderWay && !progress.satisfied)
      this.#stalls = progress.stalls ? this.#stalls + 1 : Math.max(0, this.#stalls - 1)
    const data = { ...(outcome.output as JsonObject), round, stalls: this.#stalls, resets: this.#resets }
    ctx.emit({ type: 'fact.noted', name: 'ledger.progress', data })
    return progress
  }

  async #answer(ctx: Context): Promise<SpeakerDecision> {
    const { output } = this.#floor
    const outcome = await this.#floor.ask(ctx, this.#model, answerPrompt, {
      aloud: true,
      ...present({ output }),
    })
    return outcome.status === 'completed' ? { type: 'done', answer: outcome.output } : { type: 'ends', outcome }
  }

  #standsStill(ctx: Context): Promise<SpeakerDecision> {
    const plans = this.#maxResets === 1 ? 'a new plan' : `${this.#maxResets} new plans`
    return this.#unfinished(
      ctx,
      'resets',
      `the work makes no progress${this.#maxResets === 0 ? '' : `, even after ${plans}`}`,
    )
  }

  async #unfinished(ctx: Context, limit: 'rounds' | 'resets', message: string): Promise<SpeakerDecision> {
    const best = await this.#ask(ctx, bestAnswerPrompt, true)
    const outcome: Outcome = { status: 'limited', limit, message }
    return { type: 'ends', outcome: typeof best === 'string' && best !== '' ? { ...outcome, partial: best } : outcome }
  }

  async #ask(ctx: Context, question: string, aloud = false): Promise<string | LedgerEnd> {
    const outcome = await this.#floor.ask(ctx, this.#model, question, { aloud })
    return outcome.status === 'completed' ? (outcome.output as string) : { type: 'ends', outcome }
  }
}

const surveyPrompt = `Before the work begins, survey the request above. Answer with four short lists, from what you are told and what you know. Write all four; write "none" for an empty one:
1. Given: facts that the request states.
2. To look up: what must be found, and where.
3. To derive: what must be worked out.
4. Guesses: what you believe and cannot be sure of.
Only facts. No plan yet.`

const newSurveyPrompt = (
  facts: string,
): string => `The work makes no progress. Update what we know with what was learned since, and write the whole list again: add new facts,
move guesses that were confirmed, and add at least one new guess. The list so far:

${facts}`

const teamLines = ({ members }: Floor): string => members.map((each) => `- ${each.name}: ${purpose(each)}`).join('\n')

const planPrompt = (floor: Floor, facts: string, again: boolean): string =>
  `${again ? 'Say in one sentence what went wrong, and make a new plan that avoids it.' : 'Make a plan for the request.'} A few steps, each with the member who does it; not every member has to take part. The team:
${teamLines(floor)}

What we know:
${facts}

Answer with the plan only.`

const progressPrompt = (floor: Floor): string =>
  `Look at the request, the plan and what was said, and answer with a JSON object that has exactly these members, each {"reason": a short text, "answer": …}:
- is_request_satisfied: true if everything that was asked for is done.
- is_in_loop: true if the same is asked or said repeatedly, or nothing new is added.
- is_progress_being_made: true if the last messages advance the work.
- next_speaker: the member who speaks next, one of: ${floor.members.map(({ name }) => name).join(', ')}.
- instruction_or_question: what you tell or ask that member, complete in itself.

The team:
${teamLines(floor)}`

const answerPrompt =
  'The request is satisfied. Write the answer to the request from the conversation. Write only the answer: its reader has not seen the conversation.'
const bestAnswerPrompt =
  'The work ends here, unfinished. Write the best answer so far, and say plainly what is missing. Its reader has not seen the conversation.'

const withReason = (answer: JsonObject): JsonObject => ({
  type: 'object',
  properties: { reason: { type: 'string' }, answer },
  required: ['reason', 'answer'],
})
const yesOrNo = withReason({ type: 'boolean' })

/** The next speaker must be a member, unless the request is satisfied. */
function progressSchema({ members }: Floor): Schema {
  const people = [...new Set(members.map(({ name }) => name))]
  const form = (speaker: JsonObject): JsonObject => ({
    type: 'object',
    properties: {
      is_request_satisfied: yesOrNo,
      is_in_loop: yesOrNo,
      is_progress_being_made: yesOrNo,
      next_speaker: withReason(speaker),
      instruction_or_question: withReason({ type: 'string' }),
    },
    required: [
      'is_request_satisfied',
      'is_in_loop',
      'is_progress_being_made',
      'next_speaker',
      'instruction_or_question',
    ],
  })
  const schema = compileSchema(form({ type: 'string' }), 'ledger')
  return {
    json: form({ type: 'string', enum: people }),
    check(value) {
      const checked = schema.check(value)
      if (!checked.ok) return checked
      const { satisfied, speaker } = progressOf(checked.value as JsonObject)
      return satisfied || people.includes(speaker)
        ? checked
        : { ok: false, problem: `next_speaker is "${speaker}", expected one of: ${people.join(', ')}` }
    },
  }
}

function progressOf(given: JsonObject): LedgerProgress {
  const answer = (name: string): Json | undefined => (given[name] as JsonObject)['answer']
  return {
    satisfied: answer('is_request_satisfied') === true,
    stalls: answer('is_in_loop') === true || answer('is_progress_being_made') !== true,
    speaker: answer('next_speaker') as string,
    instruction: answer('instruction_or_question') as string,
  }
}
