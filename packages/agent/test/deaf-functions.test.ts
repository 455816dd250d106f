/**
 * Functions of users that never answer: they have a signal and a deadline, and make no cancel, bail or stop
 * ineffective.
 */
import { expect, test } from 'vitest'
import {
  agent,
  createRuntime,
  supervisor,
  team,
  type Agent,
  type Run,
  type Middleware,
  type RuntimeOptions,
} from '@reeve/public'
import type { Delegation } from '@reeve/public/team'
import type { Recorded } from '@reeve/public/views'
import { manualClock, type ManualClock } from '@reeve/testing'

/** Never answers; keeps the signals that it was given. */
function deaf(): { readonly asked: { signal: AbortSignal }[]; readonly never: (...args: unknown[]) => Promise<never> } {
  const asked: { signal: AbortSignal }[] = []
  return {
    asked,
    never: (...args) => {
      asked.push(args.at(-1) as { signal: AbortSignal })
      return new Promise<never>(() => undefined)
    },
  }
}

const answers = (name: string): Agent =>
  agent({
    name,
    description: 'Answers.',
    model: ({ messages }) => `${name} says so of ${JSON.stringify(messages.at(-1))}`,
  })
const delegates = (...workers: string[]) => ({
  model: ({ messages }: { messages: readonly { role: string }[] }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: workers.map((worker) => ({ name: 'delegate', input: { worker, instructions: 'go' } })) },
})
const led = (delegation: Delegation): Agent =>
  supervisor({ name: 'boss', workers: [answers('ann')], delegation, ...delegates('ann') })
const planned = (options: object): Agent =>
  team({
    name: 'crew',
    roles: { generalist: answers('ann') },
    planner: {
      subtasks: [
        { id: 'a', description: 'a' },
        { id: 'b', description: 'b' },
      ],
    },
    ...options,
  })

type Never = ReturnType<typeof deaf>['never']
/** Every way in which Reeve asks a function in a recorded step. */
const functions: readonly (readonly [name: string, root: (never: Never) => Agent])[] = [
  ['onStart', (never) => led({ onStart: never })],
  ['filterMessages', (never) => led({ filterMessages: never })],
  ['onComplete', (never) => led({ onComplete: never })],
  ['onIterationComplete', (never) => agent({ name: 'boss', model: () => 'x', onIterationComplete: never })],
  [
    'score:deaf',
    (never) =>
      agent({
        name: 'boss',
        model: () => 'x',
        isComplete: { scorers: [{ name: 'deaf', score: never }], timeoutMs: 10_000_000 },
      }),
  ],
  ['assess', (never) => agent({ name: 'boss', model: () => 'x', oversight: { mode: 'in-the-loop' }, assess: never })],
  ['lead', (never) => planned({ lead: never })],
  ['plan', (never) => planned({ policy: never })],
  ['plan', (never) => planned({ planner: never })],
  ['synthesize', (never) => planned({ synthesize: never })],
]

async function opened(root: Agent, more: Partial<RuntimeOptions> = {}) {
  const clock: ManualClock = manualClock()
  const runtime = await createRuntime({ agents: [root], clock, onWarning: () => undefined, ...more })
  return { clock, runtime, run: await runtime.start(root, 'go') }
}

/** What is recorded so far. */
async function eventsOf(run: Run<unknown>): Promise<readonly Recorded[]> {
  const found: Recorded[] = []
  const { position } = await run.view()
  for await (const recorded of run.events()) {
    found.push(recorded)
    if (recorded.position >= position) break
  }
  return found
}

for (const [i, [name, root]] of functions.entries()) {
  test(`K8: a cancel ends a run whose "${name}" never answers, and its signal says so (${i})`, async () => {
    const { asked, never } = deaf()
    const { clock, runtime, run } = await opened(root(never))
    await expect.poll(() => asked.length).toBeGreaterThan(0)
    const { signal } = asked[0]!
    expect(signal.aborted).toBe(false)
    await run.control.cancel('enough')
    await expect.poll(() => signal.aborted).toBe(true)
    clock.advance(2_000)
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    await runtime.close()
  })
}

// scorers have the deadline of `isComplete`
for (const [i, [name, root]] of functions.filter(([each]) => each !== 'score:deaf').entries())
  test(`"${name}" has a deadline: what comes of it says which function of which agent gave no answer (${i})`, async () => {
    const { asked, never } = deaf()
    const { runtime, run } = await opened(root(never), { deadlines: { functionMs: 20 } })
    const agentName = i < 5 ? 'boss' : 'crew'
    await expect.poll(() => asked.length).toBeGreaterThan(0)
    const message = `"${name}" of "${agentName}" gave no answer within 20 ms`
    await expect.poll(async () => JSON.stringify(await eventsOf(run))).toContain(JSON.stringify(message).slice(1, -1))
    await runtime.close()
  })

test('a bail ends the leader at once, though a hook of another delegation never answers', async () => {
  for (const hook of ['onStart', 'filterMessages', 'onComplete'] as const) {
    const { asked, never } = deaf()
    const bails = ({ worker }: { worker: string }): { bail: true } | undefined =>
      worker === 'bob' ? { bail: true } : undefined
    const of =
      (mine: Never) =>
      (told: { worker: string }, io: unknown): never =>
        (told.worker === 'ann'
          ? mine(told, io)
          : hook === 'filterMessages'
            ? []
            : hook === 'onComplete'
              ? bails(told)
              : undefined) as never
    // the one whose end bails is slower than the deaf hook is asked
    const bob = agent({
      name: 'bob',
      description: 'Waits for the other.',
      run: async (ctx) =>
        ctx.step('wait', async () => {
          await expect.poll(() => asked.length).toBe(1)
          return 'bob says so'
        }),
    })
    const root = supervisor({
      name: 'boss',
      workers: [answers('ann'), bob],
      delegation: { context: 'conversation', onComplete: bails, [hook]: of(never) },
      ...delegates('ann', 'bob'),
    } as never)
    const { clock, runtime, run } = await opened(root)
    const outcome = run.outcome()
    await expect.poll(() => asked[0]?.signal.aborted).toBe(true)
    clock.advance(2_000)
    expect(await outcome, hook).toMatchObject({ status: 'bailed' })
    await runtime.close()
  }
})

test('K8: a cancel ends code that awaits something foreign for ever: a middleware, or a run of its own', async () => {
  const never = (): Promise<never> => new Promise<never>(() => undefined)
  const middleware: Middleware = { name: 'deaf', before: never }
  const undone: string[] = []
  const roots = [
    agent({ name: 'boss', model: () => 'x', middleware: [middleware] }),
    agent({
      name: 'boss',
      run: async (ctx) => {
        ctx.onCancel('undo', async () => void undone.push('undo'))
        return never()
      },
    }),
  ]
  for (const root of roots) {
    const warned: string[] = []
    const { clock, runtime, run } = await opened(root, { onWarning: (code) => void warned.push(code) })
    await expect.poll(() => warned).toContain('orchestration.foreign-await')
    await run.control.cancel('enough')
    await expect.poll(() => clock.pending).toBeGreaterThan(0)
    clock.advance(2_000)
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    await runtime.close()
  }
  expect(undone).toEqual(['undo'])
})
