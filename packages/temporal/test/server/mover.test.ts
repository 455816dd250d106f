/**
 * The mover on a real Temporal server, with moves that the test answers: what the server keeps of a run, in events, and
 * what happens when somebody is away, wrong or twice.
 */
import { ApplicationFailure } from '@temporalio/activity'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { workflowIdOf, workflowType } from '../../src/names.ts'
import {
  makeNamespace,
  temporalServer,
  whyNoTemporal,
  type TemporalTestServer,
} from '../../../../test/servers/temporal.ts'
import { Looking, openMover, run, serverAt, store } from './hand.ts'

/** What a run without a park leaves in the server. */
const whole = [
  'WorkflowExecutionStarted',
  'WorkflowExecutionSignaled',
  'WorkflowTaskScheduled',
  'WorkflowTaskStarted',
  'WorkflowTaskCompleted',
  'ActivityTaskScheduled',
  'ActivityTaskStarted',
  'ActivityTaskCompleted',
  'WorkflowTaskScheduled',
  'WorkflowTaskStarted',
  'WorkflowTaskCompleted',
  'WorkflowExecutionCompleted',
]

describe.skipIf(whyNoTemporal() !== undefined)('the mover on Temporal', () => {
  let server: TemporalTestServer
  let looking: Looking
  let queues = 0
  const queue = (): string => `q${++queues}`
  const becomes = async (id: string, status: string): Promise<void> => {
    await expect.poll(() => looking.status(id), { timeout: 20_000 }).toBe(status)
  }

  beforeAll(async () => {
    server = await temporalServer()
    looking = new Looking(server)
  })
  afterAll(async () => {
    await looking?.[Symbol.asyncDispose]()
    await server?.dispose()
  })

  test('a run without a park is 12 events; a park with its answer 12 more, with the workflow open meanwhile', async () => {
    await using one = await openMover(serverAt(server, { taskQueue: queue() }))
    one.mover.wake([run('short')])
    ;(await one.workerProcess.next()).end('ended')
    await becomes('short', 'COMPLETED')
    expect(await looking.events('short')).toEqual(whole)

    one.mover.wake([run('asks')])
    ;(await one.workerProcess.next()).end('parked')
    await expect.poll(async () => (await looking.events('asks')).at(-1)).toBe('TimerStarted')
    expect(await looking.status('asks')).toBe('RUNNING')
    one.mover.wake([run('asks')])
    ;(await one.workerProcess.next()).end('ended')
    await becomes('asks', 'COMPLETED')
    expect(await looking.events('asks')).toHaveLength(24)
  })

  test('nothing but ids is sent', async () => {
    await using one = await openMover(serverAt(server, { taskQueue: queue() }))
    one.mover.wake([run('ids')])
    ;(await one.workerProcess.next()).end('ended')
    await becomes('ids', 'COMPLETED')
    const { events = [] } = await looking.handle('ids').fetchHistory()
    const payloads = (events ?? []).flatMap((event) => [
      ...(event.workflowExecutionStartedEventAttributes?.input?.payloads ?? []),
      ...(event.workflowExecutionSignaledEventAttributes?.input?.payloads ?? []),
      ...(event.activityTaskScheduledEventAttributes?.input?.payloads ?? []),
      ...(event.activityTaskCompletedEventAttributes?.result?.payloads ?? []),
    ])
    const place = { store, run: 'ids' }
    expect(payloads.map(({ data }) => JSON.parse(new TextDecoder().decode(data)) as unknown)).toEqual([
      place,
      place,
      'ended',
    ])
  })

  test('a run that is woken while it moves is moved once more', async () => {
    await using one = await openMover(serverAt(server, { taskQueue: queue() }))
    one.mover.wake([run('busy')])
    const move = await one.workerProcess.next()
    one.mover.wake([run('busy')])
    await expect
      .poll(async () => (await looking.events('busy')).filter((event) => event === 'WorkflowExecutionSignaled').length)
      .toBe(2)
    move.end('parked')
    ;(await one.workerProcess.next()).end('ended')
    await becomes('busy', 'COMPLETED')
  })

  test('a run that is somewhere else is asked for again, elsewhere too, and leaves no event', async () => {
    const at = serverAt(server, { taskQueue: queue() })
    await using one = await openMover(at, {}, 'elsewhere')
    one.mover.wake([run('held')])
    await expect.poll(() => one.workerProcess.moves.length, { timeout: 20_000 }).toBeGreaterThan(1)
    // which of two workers is asked is the server's choice, so the first one leaves
    await one[Symbol.asyncDispose]()
    await using two = await openMover(at, {}, 'ended')
    await becomes('held', 'COMPLETED')
    expect(await looking.events('held')).toEqual(whole)
    expect(two.workerProcess.moves).toHaveLength(1)
  })

  const sampled = process.env['REEVE_TEST_SAMPLE'] !== undefined
  test(`a long history is continued, with ${sampled ? 300 : 2_500} wake-ups from before any worker`, async () => {
    await using alone = await temporalServer(...(sampled ? ['limit.historyCount.suggestContinueAsNew=200'] : []))
    await using looking = new Looking(alone)
    const at = serverAt(alone)
    const place = { store, run: 'many' }
    const handle = await looking.client.workflow.start(workflowType, {
      workflowId: workflowIdOf(place),
      taskQueue: at.taskQueue,
      args: [place],
    })
    const first = (await handle.describe()).runId
    for (let i = 0; i < (sampled ? 6 : 50); i++)
      await Promise.all(Array.from({ length: 50 }, () => handle.signal('wake')))
    await using one = await openMover(at)
    let move = await one.workerProcess.next()
    await expect.poll(async () => (await looking.handle('many').describe()).runId, { timeout: 20_000 }).not.toBe(first)
    expect((await looking.events('many', first)).at(-1)).toBe('WorkflowExecutionContinuedAsNew')
    // the move of the first one may be the one that was taken
    if (move.signal?.aborted === true || one.workerProcess.moves.length > 1) move = await one.workerProcess.next()
    for (const each of one.workerProcess.moves) each.end('ended')
    await expect.poll(() => looking.status('many'), { timeout: 20_000 }).toBe('COMPLETED')
    expect(await looking.events('many')).toHaveLength(11)
  }, 120_000)

  test('what is no run, and what is another store’s, is not moved', async () => {
    const warnings: string[] = []
    const at = serverAt(server, { taskQueue: queue() })
    await using one = await openMover(at, { warn: (code, message) => warnings.push(`${code} ${message}`) })
    const { workflow } = looking.client
    const failing = async (name: string, arg: unknown): Promise<unknown> => {
      const options = { workflowId: `by hand ${name}`, taskQueue: at.taskQueue, args: [arg] }
      return workflow.execute(workflowType, options).catch((thrown: unknown) => thrown)
    }
    const junk = [
      null,
      'run_1',
      [],
      { store },
      { store, run: 7 },
      { store, run: '../x' },
      { store, run: '' },
      { __proto__: { store, run: 'r' } },
    ]
    for (const [i, each] of junk.entries()) {
      const error = (await failing(`${i}`, each)) as Error & { cause?: Error & { cause?: Error } }
      expect(error.cause?.cause).toBeInstanceOf(ApplicationFailure)
      expect(error.cause?.cause?.message).toMatch(/not the place of a run/)
    }
    expect(one.workerProcess.moves).toEqual([])

    // an unknown signal, and one with anything in it, are no harm
    one.mover.wake([run('probed')])
    const move = await one.workerProcess.next()
    await looking.handle('probed').signal('no-such-signal', { much: 'x'.repeat(1000) })
    await looking.handle('probed').signal('wake', { __proto__: null }, 1, [2])
    move.end('parked')
    ;(await one.workerProcess.next()).end('ended')
    await becomes('probed', 'COMPLETED')

    const other = { store: 'sto_other', run: 'stranger' }
    const handle = await workflow.start(workflowType, {
      workflowId: workflowIdOf(other),
      taskQueue: at.taskQueue,
      args: [other],
    })
    await expect
      .poll(() => warnings)
      .toEqual([expect.stringMatching(/^engine\.worker-refused .* runs of another store/)])
    expect(one.workerProcess.moves.map((each) => each.run)).not.toContain('stranger')
    await handle.terminate()
  })

  test('K2: two stores on one task queue keep runs of one id apart', async () => {
    const at = serverAt(server, { taskQueue: queue() })
    await using one = await openMover(at)
    await using two = await openMover(at, { store: () => 'sto_two' })
    await using theirs = new Looking(server, 'default', 'sto_two')
    one.mover.wake([run('same')])
    two.mover.wake([run('same')])
    const [mine, other] = await Promise.all([one.workerProcess.next(), two.workerProcess.next()])
    mine.end('ended')
    await becomes('same', 'COMPLETED')
    expect(await theirs.status('same')).toBe('RUNNING')
    other.end('ended')
    await expect.poll(() => theirs.status('same')).toBe('COMPLETED')
  })

  test('namespaces are kept apart; one that is not there is refused', async () => {
    makeNamespace(server, 'other')
    const taskQueue = queue()
    await expect(openMover(serverAt(server, { namespace: 'nowhere', taskQueue }))).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('there is no namespace "nowhere"') as string,
    })
    await using one = await openMover(serverAt(server, { taskQueue }))
    const namespaced = serverAt(server, { namespace: 'other', taskQueue })
    const opened = async (): Promise<Awaited<ReturnType<typeof openMover>>> => openMover(namespaced)
    // the namespace is known to the server's parts one after the other
    let two = await opened().catch(() => undefined)
    await expect
      .poll(async () => (two ??= await opened().catch(() => undefined)), { timeout: 20_000, interval: 500 })
      .toBeDefined()
    await using other = two!
    await using there = new Looking(server, 'other')
    other.mover.wake([run('apart')])
    ;(await other.workerProcess.next()).end('ended')
    await expect.poll(() => there.status('apart'), { timeout: 20_000 }).toBe('COMPLETED')
    expect(await looking.status('apart')).toBeUndefined()
    expect(one.workerProcess.moves).toEqual([])
  })

  test('a workflow that is terminated leaves the run alone, and the next wake-up begins another', async () => {
    await using one = await openMover(serverAt(server, { taskQueue: queue() }))
    one.mover.wake([run('shot')])
    const move = await one.workerProcess.next()
    await looking.handle('shot').terminate()
    await expect.poll(() => move.signal?.aborted, { timeout: 20_000 }).toBe(true)
    one.mover.wake([run('shot')])
    ;(await one.workerProcess.next()).end('ended')
    await becomes('shot', 'COMPLETED')
  })

  test('a worker that is closed in the middle of a move gives it back: another one is asked', async () => {
    const at = serverAt(server, { taskQueue: queue() })
    const one = await openMover(at)
    one.mover.wake([run('given')])
    await one.workerProcess.next()
    await using two = await openMover(at)
    await one.mover.close([])
    ;(await two.workerProcess.next()).end('ended')
    await becomes('given', 'COMPLETED')
    expect(await looking.events('given')).toEqual(whole)
  })

  test('closing is bounded while the server says nothing', async () => {
    await using alone = await temporalServer()
    const one = await openMover(serverAt(alone))
    one.mover.wake([run('stands')])
    const move = await one.workerProcess.next()
    alone.freeze()
    try {
      one.mover.wake([run('never')])
      const begun = performance.now()
      move.end('ended')
      await one.mover.close([run('left')])
      expect(performance.now() - begun).toBeLessThan(15_000)
    } finally {
      alone.thaw()
    }
  })

  test('a server that was killed goes on where it was; that it is away, and back, is told once', async () => {
    await using alone = await temporalServer()
    await using there = new Looking(alone)
    const warnings: string[] = []
    await using one = await openMover(serverAt(alone), { warn: (code, message) => warnings.push(`${code} ${message}`) })
    one.mover.wake([run('waits'), run('moves')])
    const moves = [await one.workerProcess.next(), await one.workerProcess.next()]
    moves.find((each) => each.run === 'waits')!.end('parked')
    await expect.poll(async () => (await there.events('waits')).at(-1)).toBe('TimerStarted')

    await alone.kill()
    for (let i = 0; i < 3; i++) one.mover.wake([run('waits')])
    await expect
      .poll(() => warnings, { timeout: 20_000 })
      .toEqual([expect.stringMatching(/^engine\.unreachable .*cannot be reached/)])
    one.mover.wake([run('lost')])
    // its move ends while nobody can be told
    moves.find((each) => each.run === 'moves')!.end('ended')
    await alone.start()

    await expect
      .poll(
        () => {
          one.mover.wake([run('waits')])
          return one.workerProcess.moves.some((each, i) => each.run === 'waits' && i > 1)
        },
        { timeout: 40_000, interval: 500 },
      )
      .toBe(true)
    expect(warnings).toEqual([
      expect.any(String),
      expect.stringMatching(/^engine\.reachable-again .* takes wake-ups again/),
    ])
    // what the server has not heard of it asks for again, and is told again
    for (const id of ['waits', 'moves']) {
      await expect
        .poll(
          async () => {
            for (const each of one.workerProcess.moves) each.end('ended')
            return there.status(id)
          },
          { timeout: 40_000, interval: 250 },
        )
        .toBe('COMPLETED')
    }
  }, 120_000)

  test('a server that is away at the start is waited for', async () => {
    await using alone = await temporalServer()
    await alone.kill()
    const warnings: string[] = []
    await using one = await openMover(serverAt(alone), { warn: (code) => warnings.push(code) })
    expect(warnings).toEqual(['engine.unreachable'])
    await alone.start()
    await expect
      .poll(
        () => {
          one.mover.wake([run('first')])
          return one.workerProcess.moves.length
        },
        { timeout: 40_000, interval: 500 },
      )
      .toBeGreaterThan(0)
    expect(warnings).toEqual(['engine.unreachable', 'engine.reachable-again'])
  }, 120_000)
})
