/**
 * The oracle of forks: whatever way a yes was given in, a fork at any position does nothing that its own yes has not
 * allowed, asks nobody about what was done before, and loses nothing of it. Cites K1, K4, K6, K7.
 */
import { describe, expect, test } from 'vitest'
import { createRuntime } from '@reeve/public'
import { rootActivation, type RunId } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { registerAgents, type Run, type Runtime, type RunWaiting } from '@reeve/runtime'
import { checkJournal, verifyJournal } from '@reeve/testing'
import { shapes, type Act, type Shape } from './fork-shapes.ts'

type Asked = RunWaiting['waiting'][number]

/** Of the acts of a run: how often each was done. */
function counted(acts: readonly Act[], run: RunId | string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { name, key } of acts)
    if (key.startsWith(`${rootActivation(run as RunId)}>`) || key.startsWith(`${rootActivation(run as RunId)}:`))
      counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Keys of what a fork did although its end is recorded at a position of the origin. */
function repeated(events: readonly Recorded[], at: number, acts: readonly Act[], fork: string): readonly string[] {
  const root = rootActivation(fork as RunId)
  const done = new Set(
    events.flatMap(({ position, activation, event }) =>
      position <= at && event.type === 'step.settled'
        ? [`${root}${activation.slice(rootActivation(events[0]!.run).length).replaceAll('>>', '>')}:${event.address}`]
        : [],
    ),
  )
  return acts.flatMap(({ key }) => (done.has(key) ? [key] : []))
}

const journalOf = async (run: Run<unknown>): Promise<readonly Recorded[]> => run.journal()

/** Who plays the people: what is said to an approval, and whether the operator says anything. */
interface People {
  readonly approve?: (asked: Asked) => Promise<unknown>
  readonly settles?: true
}

/** Goes on with a run as far as these people take it. Where it stops: its end, or what it waits for. */
async function play(runtime: Runtime, run: Run<unknown>, people: People): Promise<RunWaiting | 'ended'> {
  for (let round = 0; round < 60; round++) {
    const state = await run.until('waiting', { signal: AbortSignal.timeout(hangsAfterMs) })
    if (!('questions' in state)) return 'ended'
    if (state.status === 'stuck') throw new Error(`it is stuck: ${state.reason}`)
    let moved = false
    for (const { id, kind, body } of state.questions) {
      if (kind === 'interrupt') {
        const isFirst = JSON.stringify(body).includes('first time') && !firsts.has(run.id) && firsts.add(run.id)
        await runtime.answer({ interruptId: id, value: isFirst ? 'yes' : 'no', by: 'bob' }).catch(() => undefined)
        moved = true
      } else if (kind === 'approval' && people.approve !== undefined) {
        const asked = state.waiting.find((each) => each.id === id)
        if (asked === undefined) continue
        await people.approve(asked)
        moved = true
      } else if (kind === 'in-doubt' && people.settles === true) {
        const { done } = body as { readonly done?: { readonly outcome?: object } }
        await run.control.settleDoubt({ id, happened: done?.outcome !== undefined }).catch(() => undefined)
        moved = true
      }
    }
    if (!moved) return state
  }
  throw new Error('it asks and asks')
}

/** Runs whose worker has heard that it is its first attempt. */
const firsts = new Set<string>()

/** Far more than any of it takes. Milliseconds. */
const hangsAfterMs = 20_000

/** How far the origin comes. */
type Way = 'done' | 'approved'

/** The origin: to its end, or until everything is approved and nothing of it is done. */
async function origin(
  runtime: Runtime,
  shape: Shape,
  root: ReturnType<Shape['make']>,
  way: Way,
): Promise<Run<unknown>> {
  const run = await runtime.start(root, 'go', {
    runId: `origin_${way}`,
    ...(shape.oversight === undefined ? {} : { oversight: shape.oversight }),
  })
  let first = true
  const yes = async ({ id }: Asked): Promise<void> => {
    const grant = first && shape.grants === true ? { grant: 'session' as const } : {}
    first = false
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann', ...grant })
  }
  if (way === 'done') {
    expect(await play(runtime, run, { approve: yes })).toBe('ended')
    return run
  }
  // as far as the first yes, which is held: nothing that it permits has left
  for (let asks = 0; asks < 4; asks++) {
    const state = await run.until('waiting')
    const asked = 'questions' in state ? state.waiting : []
    if (asked.length === 0) break
    const holds = asked.some(({ kind }) => kind === undefined)
    if (holds) await run.control.pause({ by: 'pat' })
    const before = await wholeOf(run)
    for (const each of asked) await yes(each)
    await expect.poll(() => wholeOf(run), { timeout: hangsAfterMs }).not.toBe(before)
    if (holds) {
      await settled(run)
      break
    }
  }
  return run
}

/** What is recorded of a run, with its child runs, in one text. */
const wholeOf = async (run: Run<unknown>): Promise<string> => JSON.stringify(await run.view())

/** Nothing more is recorded. */
async function settled(run: Run<unknown>): Promise<void> {
  let [before, now] = ['', await wholeOf(run)]
  while (before !== now) {
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    ;[before, now] = [now, await wholeOf(run)]
  }
}

const isRecorded = (
  events: readonly Recorded[],
  at: number,
  is: (event: JournalEvent, recorded: Recorded) => boolean,
): boolean => events.some((recorded) => recorded.position <= at && is(recorded.event, recorded))

/** Whether what a question asks about is recorded as done at a position of the origin. */
function isDone(events: readonly Recorded[], at: number, asked: Asked, fork: string): boolean {
  const { kind, tool, activation } = asked
  const there = activation.replace(rootActivation(fork as RunId), rootActivation(events[0]!.run))
  const hasEnded = (task: string): boolean =>
    isRecorded(events, at, (event) => event.type === 'task.settled' && event.task === task)
  if (kind === 'work')
    return isRecorded(
      events,
      at,
      (event, { activation: id }) => event.type === 'activation.settled' && id.replaceAll('>>', '>') === there,
    )
  if (kind === 'task') return hasEnded(asked.task!)
  if (kind === 'plan' || kind === 'recruit') {
    const joined = events.flatMap(({ event }) =>
      event.type === 'teammate.joined' && (kind === 'plan' || event.recruited === true) ? [event.task] : [],
    )
    return joined.length > 0 && joined.every(hasEnded)
  }
  const ended = (name: string): boolean =>
    isRecorded(
      events,
      at,
      (event, { activation: id }) =>
        id.replaceAll('>>', '>') === there &&
        (event.type === 'step.settled' || event.type === 'worker.settled') &&
        new RegExp(`(^|/)${name}(#\\d+)?$`).test(event.address),
    )
  if (asked.callId === undefined) return ended(tool === 'both' ? 'first' : tool)
  const isThere = ({ activation: id }: Recorded): boolean => id.replaceAll('>>', '>') === there
  const called = events.find(
    (recorded) =>
      isThere(recorded) &&
      (recorded.event.type === 'tool.called' || recorded.event.type === 'worker.started') &&
      recorded.event.callId === asked.callId,
  )?.event as { readonly address: string } | undefined
  return isRecorded(
    events,
    at,
    (end, recorded) =>
      isThere(recorded) &&
      (end.type === 'step.settled' || end.type === 'worker.settled') &&
      end.address === called?.address,
  )
}

async function oracle(
  shape: Shape,
  way: Way,
): Promise<{ readonly positions: number; readonly wrong: readonly string[] }> {
  const acts: Act[] = []
  const root = shape.make(acts)
  await using runtime = await createRuntime({ agents: [root], strict: true, parkAfterMs: 20, pollMs: 5 })
  const registry = registerAgents([root], [], 'move')
  const run = await origin(runtime, shape, root, way)
  const events = await journalOf(run)
  const end = events.findIndex(
    ({ activation, event }) => activation === rootActivation(run.id) && event.type === 'activation.settled',
  )
  const points = end < 0 ? events : events.slice(0, end)
  const wrong: string[] = []
  for (const { position, event } of points) {
    const say = (what: string): void => void wrong.push(`${position} ${event.type}: ${what}`)
    const forkHere = (): Promise<Run<unknown>> => runtime.fork({ run: run.id, at: position })
    const gated = (fork: Run<unknown>): ReadonlyMap<string, number> =>
      new Map([...counted(acts, fork.id)].filter(([name]) => shape.follow?.includes(name) !== true))
    try {
      // nobody approves anything
      const silent = await forkHere()
      await play(runtime, silent, {})
      for (const [name, times] of gated(silent)) say(`does "${name}" ${times} time(s) without a yes`)
      // everybody says no
      const no = async ({ id }: Asked): Promise<unknown> =>
        silent.decide({ approvalId: id, decision: 'reject', approver: 'ann' }).catch(() => undefined)
      if ((await play(runtime, silent, { approve: no, settles: true })) !== 'ended') say('does not end with a no')
      for (const [name, times] of gated(silent)) say(`does "${name}" ${times} time(s) after a no`)
      for (const problem of checkJournal(await journalOf(silent))) say(`after a no: ${problem}`)
      // everybody says yes
      const fork = await forkHere()
      const asked: Asked[] = []
      const yes = async (each: Asked): Promise<unknown> => {
        asked.push(each)
        return fork.decide({ approvalId: each.id, decision: 'approve', approver: 'ann' })
      }
      if ((await play(runtime, fork, { approve: yes, settles: true })) !== 'ended') say('does not end with a yes')
      const outcome = await fork.outcome()
      if (outcome.status !== 'completed') say(`${outcome.status} after a yes: ${JSON.stringify(outcome)}`)
      for (const each of asked)
        if (isDone(events, position, each, fork.id)) say(`asks about ${each.kind ?? each.tool}, which is done`)
      for (const [name, times] of gated(fork)) {
        if (times > Math.max(1, asked.length)) say(`does "${name}" ${times} times with ${asked.length} yes`)
        if (asked.length === 0) say(`does "${name}" with no yes`)
      }
      for (const key of repeated(events, position, acts, fork.id)) say(`does again what is done: ${key}`)
      const { problems } = await verifyJournal(await journalOf(fork), registry)
      for (const problem of problems) say(problem)
      await runtime.remove(silent.id)
      await runtime.remove(fork.id)
    } catch (thrown) {
      say(String(thrown))
    }
  }
  return { positions: points.length, wrong }
}

describe('K6: one yes is one act, in a fork at any position', () => {
  test.each(shapes.flatMap((shape) => (['done', 'approved'] as const).map((way) => [shape.name, way, shape] as const)))(
    '%s, %s in the origin',
    async (_name, way, shape) => {
      const { positions, wrong } = await oracle(shape, way)
      expect(positions).toBeGreaterThan(3)
      expect(wrong).toEqual([])
    },
    120_000,
  )
})
