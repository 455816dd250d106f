/** Agents made by hand for the tests of the runtime: it knows no more of an agent than this. */
import type { Agent } from '@reeve/agent'
import { completed, type Json, type Outcome } from '@reeve/core'
import { briefValue, compileSchema, type Edge } from '@reeve/edge'
import type { Context, StepIO } from '@reeve/engine'
import { approve } from '@reeve/oversight'

type HandAgent = Agent<string, Json, Json>

/** An agent that does what it is given as a function. */
export function hand(
  name: string,
  work: (ctx: Context, edge: Edge) => Promise<Outcome>,
  more: Partial<HandAgent> = {},
): HandAgent {
  return {
    kind: 'agent',
    name,
    description: name,
    version: '1+hand',
    orchestrate: work,
    related: () => [],
    problems: () => [],
    ...more,
  }
}

/** One recorded effect. */
export async function effect<T extends Json>(
  ctx: Context,
  name: string,
  run: (io: StepIO) => T | Promise<T>,
): Promise<T> {
  const { outcome } = await ctx.next(ctx.begin(name, run, { retry: { attempts: 1 } }))
  if (outcome.status !== 'completed') throw new Error(`${name} ${outcome.status}`)
  return outcome.output as T
}

/** Answers with its brief. */
export const echo = hand('echo', async (ctx, edge) =>
  completed(await effect(ctx, 'echo', () => briefValue(edge.work.brief))),
)

/** Takes `{ n: number }`. */
export const typed = hand('typed', async (_ctx, edge) => completed(briefValue(edge.work.brief)), {
  inputSchema: compileSchema<Json>({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, 'typed'),
})

/** Asks for approval of `pay` with its brief; answers with the verdict. */
export const payer = hand('payer', async (ctx, edge) => {
  const verdict = await approve(ctx, {
    tool: 'pay',
    toolVersion: '1',
    input: briefValue(edge.work.brief),
    reason: 'money',
    risk: 'high',
    timeoutMs: 60_000,
  })
  if (!verdict.approved) return completed(`not paid: ${verdict.how}`)
  return completed(await effect(ctx, 'pay', () => ({ paid: verdict.input, approver: verdict.approver ?? null })))
})

/** Asks what to do; answers with what it was told. */
export const asker = hand('asker', async (ctx) => {
  const id = ctx.ask('interrupt', {
    as: { type: 'interrupt.raised', id: ctx.id('int'), question: 'what?', path: ctx.place.path },
  })
  const { outcome } = await ctx.next(id)
  return outcome
})

/** Works until it is stopped; says so through `onAbort`. */
export const sleeper = (onAbort: () => void = () => {}): HandAgent =>
  hand('sleeper', async (ctx) => {
    await effect(
      ctx,
      'sleep',
      ({ signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            onAbort()
            reject(signal.reason as Error)
          })
        }),
    )
    return completed('slept')
  })
