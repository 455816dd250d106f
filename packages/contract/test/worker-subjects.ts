/**
 * Workers that play a part of the worker contract: an agent by a model, an agent by code, and what is broken in one of
 * them for each claim.
 */
import { agent, step, tool, type AgentContext, type Model } from '@reeve/public'
import type { WorkerClaim, WorkerHonours, WorkerPart, WorkerTurn, WorkerUnderTest } from '@reeve/testing'

export const allHonoured: WorkerHonours = {
  brief: true,
  result: true,
  failure: true,
  cancel: true,
  timeout: true,
  approval: true,
  edits: true,
  reasons: true,
  question: true,
  usage: true,
  streaming: true,
  crash: true,
  finished: true,
}

type Turn = Exclude<WorkerTurn, { readonly fail: string }>

/** A plain agent with a model: the part is its model, the tools are its tools. */
export const modelWorker = (): WorkerUnderTest => ({
  worker: (part) =>
    agent({
      name: 'writer',
      description: 'Plays its part.',
      model: modelOf(part),
      tools: [
        tool({
          name: 'work',
          effect: 'idempotent',
          execute: (input, io) => part.work(input as { item: string }, io),
        }),
        tool({
          name: 'publish',
          effect: 'idempotent',
          approval: true,
          execute: (input, io) => part.publish(input as { text: string }, io),
        }),
        tool({ name: 'ask', run: (ctx, input) => ctx.interrupt(input) }),
      ],
    }),
  honours: allHonoured,
})

const modelOf = (part: WorkerPart): Model => ({
  id: part.usage.model,
  call: async ({ messages, emit }) => {
    const results = messages.filter(({ role }) => role === 'tool').length
    const told = messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    const turn = await part.model(results, told.join('\n'))
    const { model, input, output } = part.usage
    const usage = { input, output }
    if ('say' in turn) {
      for await (const text of part.pieces(turn.say)) emit?.({ type: 'text.delta', id: '0', text })
      return { text: turn.say, calls: [], finish: 'stop', model, usage }
    }
    const [name, args] = 'ask' in turn ? ['ask', { question: turn.ask }] : [turn.call, turn.input]
    return { text: '', calls: [{ id: `call_${results}`, name, input: args }], finish: 'tool-calls', model, usage }
  },
})

/** How one claim is broken. Everything else is as it should be. */
export interface Fault {
  readonly brief?: (brief: string) => string
  readonly answer?: (text: string) => string
  readonly swallows?: true
  readonly deaf?: true
  readonly publishes?: 'before' | 'never asks' | 'anyway' | 'shows less'
  readonly edits?: 'ignored'
  readonly reasons?: 'kept'
  readonly answers?: 'itself'
  readonly usage?: { readonly input?: number; readonly output?: number } | 'unknown'
  readonly streams?: 'at the end'
  readonly keys?: 'fresh' | 'none'
  readonly wholeInOne?: true
}

/** An agent by code that plays the part turn by turn; `fault`: what it does wrong. */
export function codeWorker(fault: Fault = {}, honours: WorkerHonours = allHonoured): WorkerUnderTest {
  return {
    honours,
    worker: (part) =>
      agent({
        name: 'coder',
        description: 'Plays its part.',
        run: async (ctx, brief) => {
          try {
            return await playedBy(ctx, part, brief, fault)
          } catch (thrown) {
            if (fault.swallows === true && !ctx.place.forked && (thrown as Error).name !== 'Cancelled')
              return 'all is well'
            throw thrown
          }
        },
      }),
  }
}

async function playedBy(ctx: AgentContext, part: WorkerPart, brief: string, fault: Fault): Promise<string> {
  const told = [(fault.brief ?? ((same: string) => same))(brief)]
  if (fault.wholeInOne === true) {
    return step(ctx, 'all', async ({ key, signal }) => {
      for (let n = 0; ; n++) {
        const turn = await part.model(n, told.join('\n'))
        if ('say' in turn) return turn.say
        if ('call' in turn && turn.call === 'work') told.push(await part.work(turn.input, { key, signal }))
      }
    })
  }
  for (let n = 0; ; n++) {
    const turn = await thought(ctx, part, n, told.join('\n'), fault)
    if ('say' in turn) return (fault.answer ?? ((same: string) => same))(turn.say)
    told.push(await acted(ctx, part, turn, fault))
  }
}

function thought(ctx: AgentContext, part: WorkerPart, n: number, shownText: string, fault: Fault): Promise<Turn> {
  const { model, input, output } = part.usage
  const used = fault.usage === 'unknown' ? undefined : { input, output, ...fault.usage }
  return ctx.step(
    'think',
    async (io) => {
      const turn = await part.model(n, shownText)
      if ('say' in turn) {
        if (fault.streams === undefined)
          for await (const text of part.pieces(turn.say)) io.emit({ type: 'text.delta', text })
        else {
          for await (const _piece of part.pieces(turn.say));
          io.emit({ type: 'text.delta', text: turn.say })
        }
      }
      return turn
    },
    { retry: { attempts: 1 }, settle: () => ({ usage: { agent: ctx.place.agent, model, used } }) },
  )
}

async function acted(
  ctx: AgentContext,
  part: WorkerPart,
  turn: Exclude<Turn, { readonly say: string }>,
  fault: Fault,
): Promise<string> {
  if ('ask' in turn) {
    if (fault.answers === 'itself') return 'Oslo'
    return (await ctx.interrupt({ question: turn.ask })) as string
  }
  if (turn.call === 'work')
    return ctx.step('work', ({ key, signal }) => part.work(turn.input, io(fault, key, signal)), {
      retry: { attempts: 1 },
    })
  const publish = (input: { readonly text: string }): Promise<string> =>
    ctx.step('publish', ({ key, signal }) => part.publish(input, { key, signal }))
  if (fault.publishes === 'never asks') return publish(turn.input)
  if (fault.publishes === 'before') await publish(turn.input)
  const input = fault.publishes === 'shows less' ? { text: `${turn.input.text.slice(0, 5)}…` } : turn.input
  const answer = await ctx.approve('publish', { input })
  if (fault.publishes === 'shows less' && answer.approved) return publish(turn.input)
  if (answer.approved) return publish(fault.edits === 'ignored' ? turn.input : (answer.input as { text: string }))
  if (fault.publishes === 'anyway') return publish(turn.input)
  return fault.reasons === 'kept' ? 'no' : answer.feedback
}

const io = (fault: Fault, key: string, signal: AbortSignal): { key?: string; signal?: AbortSignal } => ({
  ...(fault.keys === 'none' ? undefined : { key: fault.keys === 'fresh' ? crypto.randomUUID() : key }),
  ...(fault.deaf === true ? undefined : { signal }),
})

/** For each claim: workers that make it and do not honour it, and what the kit says of them. */
export const broken: { readonly [Claim in WorkerClaim]: readonly (readonly [fault: Fault, said: RegExp])[] } = {
  brief: [[{ brief: (text) => text.trim().replaceAll('\n', ' ') }, /shown the brief as it is/]],
  result: [
    [{ answer: (text) => text.replaceAll('"', "'") }, /Line one 'quoted'/],
    [{ answer: () => '' }, /''/],
  ],
  failure: [[{ swallows: true }, /'failed'/]],
  cancel: [[{ deaf: true }, /in vain until the work in flight has seen its signal/]],
  timeout: [[{ deaf: true }, /in vain until the work in flight has seen its signal/]],
  approval: [
    [{ publishes: 'before' }, /nothing is done before the decision/],
    [{ publishes: 'never asks' }, /in vain until there is an open question \(approval\)/],
    [{ publishes: 'anyway' }, /what was rejected is not done/],
    [{ publishes: 'shows less' }, /shown the exact arguments/],
  ],
  edits: [[{ edits: 'ignored' }, /what is done is what was approved/]],
  reasons: [[{ reasons: 'kept' }, /told the reason/]],
  question: [[{ answers: 'itself' }, /in vain until there is an open question \(interrupt\)/]],
  usage: [
    [{ usage: { input: 12 } }, /24/],
    [{ usage: 'unknown' }, /deep/],
  ],
  streaming: [[{ streams: 'at the end' }, /in vain until the first piece is shown/]],
  crash: [
    [{ keys: 'fresh' }, /repeated with another key/],
    [{ keys: 'none' }, /repeated without a key/],
  ],
  finished: [[{ wholeInOne: true }, /had ended is not made again/]],
}
