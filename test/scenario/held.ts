/** Work that a test holds and lets go, in every shape in which agents work together. */
import { expect } from 'vitest'
import type { Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import type { PauseOptions, Run } from '@reeve/runtime'
import { modelAgent } from './asking.ts'
import { xfer as hands } from './control.ts'
import { calls, scripted, type Scripted } from './team.ts'

/**
 * Work that begins, hangs until the test lets it end or it is aborted, and says the second time at once what it would
 * have said.
 */
export function hanging<T>(value: T) {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const seen = { times: 0, aborts: 0 }
  const work = (signal: AbortSignal): Promise<T> => {
    if (++seen.times > 1) return Promise.resolve(value)
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => {
        seen.aborts++
        reject(signal.reason as Error)
      })
      end.promise.then(() => resolve(value), reject)
      begun.resolve()
    })
  }
  return { begun: begun.promise, end: end.resolve, seen, work }
}
export type Hanging = ReturnType<typeof hanging<string>>

/** A model agent whose first model call hangs. */
export const slow = (name: string, { work }: Hanging): Agent =>
  modelAgent(
    name,
    scripted(({ signal }) => work(signal)),
  )

export interface Scene {
  readonly root: Agent
  /** Whoever else is asked, each as often as it is without a pause. */
  readonly others: readonly (readonly [Scripted, number])[]
  readonly output: Json
}
export const counted = (others: Scene['others']): readonly number[] => others.map(([{ prompts }]) => prompts.length)

/** Waits until the work that is held is all that is under way. */
export async function heldAlone(run: Run | Run<unknown>, { begun }: Hanging): Promise<void> {
  await begun
  const asked = async () =>
    (await run.view()).activations.flatMap(({ open }) => open.filter(({ kind }) => kind === 'model'))
  await expect.poll(async () => (await asked()).length, { timeout: 10_000 }).toBe(1)
}

/** Asks for a pause and waits until it holds: an operator's word travels like any other. */
export async function pausing(run: Run | Run<unknown>, options: PauseOptions): Promise<void> {
  await run.control.pause(options)
  await expect.poll(async () => (await run.view()).status, { timeout: 10_000 }).toMatch(/^paus(ing|ed)$/)
}

/** The five shapes, and shapes in each other, each with one member whose model hangs. */
export const shapes: readonly (readonly [string, (held: Hanging) => Scene])[] = [
  ['an agent', (held) => ({ root: slow('held', held), others: [], output: 'held answers' })],
  [
    'a sequential',
    (held) => {
      const [a, c] = [scripted('a'), scripted('c')]
      return {
        root: sequential({ name: 'root', agents: [modelAgent('a', a), slow('held', held), modelAgent('c', c)] }),
        others: [
          [a, 1],
          [c, 1],
        ],
        output: 'c',
      }
    },
  ],
  [
    'a loop, the second time round',
    (held) => {
      const a = scripted('a')
      let round = 0
      const second = modelAgent(
        'held',
        scripted(
          (request) => (++round === 1 ? 'not yet' : held.work(request.signal)),
          (request) => held.work(request.signal),
        ),
      )
      return {
        root: loop({ name: 'root', agents: [modelAgent('a', a), second], maxIterations: 2 }),
        others: [[a, 2]],
        output: 'held answers',
      }
    },
  ],
  [
    'a parallel',
    (held) => {
      const asked = Promise.withResolvers<void>()
      const a = scripted(() => (asked.resolve(), 'a'))
      const after = scripted(async ({ signal }) => {
        await asked.promise
        return held.work(signal)
      })
      return {
        root: parallel({ name: 'root', agents: [modelAgent('a', a), modelAgent('held', after)] }),
        others: [[a, 1]],
        output: ['a', 'held answers'],
      }
    },
  ],
  [
    'a router',
    (held) => {
      const lead = scripted(hands('held'), 'final')
      return {
        root: router({ name: 'root', model: lead, workers: [slow('held', held)] }),
        others: [[lead, 2]],
        output: 'final',
      }
    },
  ],
  [
    'a router of routers of a sequential',
    (held) => {
      const [top, mid, a] = [scripted(hands('mid'), 'final'), scripted(hands('line'), 'mid ends'), scripted('a')]
      const line = sequential({ name: 'line', description: 'L', agents: [modelAgent('a', a), slow('held', held)] })
      const inner = router({ name: 'mid', description: 'M', model: mid, workers: [line] })
      return {
        root: router({ name: 'root', model: top, workers: [inner] }),
        others: [
          [top, 2],
          [mid, 2],
          [a, 1],
        ],
        output: 'final',
      }
    },
  ],
  [
    'an agent as a tool of an agent as a tool',
    (held) => {
      const [outer, inner] = [
        scripted(calls(['inner', { request: 'x' }]), 'final'),
        scripted(calls(['held', { request: 'y' }]), 'inner ends'),
      ]
      const middle = modelAgent('inner', inner, { tools: [asTool(slow('held', held))] })
      return {
        root: modelAgent('root', outer, { tools: [asTool(middle)] }),
        others: [
          [outer, 2],
          [inner, 2],
        ],
        output: 'final',
      }
    },
  ],
]
