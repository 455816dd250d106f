/**
 * Pause, resume and cancel at the level of teams: spec collaboration 109 to 114 ("cancel that can be resumed" is pause
 * here) and spec team C65 to C74. A gate in the test's hand says when work in flight ends, so nothing depends on how
 * fast anything is.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, step, tool } from '@reeve/agent'
import { FailureError, failure } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'

/** A door that work waits at, and that the test opens. */
function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => (open = resolve))
  return { passed, open }
}

const worker = (name: string, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })

/** A team whose worker's first model call hangs until it is aborted; asked again it answers. */
function hangingTeam() {
  const begun = gate()
  const aborts: string[] = []
  const hanging = scripted(
    ({ signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborts.push('model')
          reject(signal.reason as Error)
        })
        begun.open()
      }),
    'worked',
  )
  const lead = scripted(delegates(['w1', 'go']), 'final')
  return {
    begun,
    aborts,
    hanging,
    lead,
    boss: supervisor({ name: 'boss', model: lead, workers: [worker('w1', hanging)] }),
  }
}

const typesOf = (events: readonly { readonly type: string }[], ...wanted: string[]): string[] =>
  events.map(({ type }) => type).filter((type) => wanted.includes(type))

describe('pause', () => {
  test('collaboration 109: a model call in flight stops at once, and the run finishes after resume', async () => {
    const { begun, aborts, hanging, boss } = hangingTeam()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    await begun.passed
    await run.control.pause({ at: 'now', reason: 'stop', by: 'ann' })
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect(aborts).toEqual(['model'])
    expect(hanging.prompts).toHaveLength(1)
    expect((await run.view()).pause).toMatchObject({ at: 'now', reason: 'stop', by: 'ann' })
    await run.control.resume('ann')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect(hanging.prompts).toHaveLength(2)
    expect(hanging.prompts[1]).toEqual(hanging.prompts[0])
    const events = await eventsOf(run)
    expect(typesOf(events, 'run.pausing', 'run.paused', 'run.resumed')).toEqual([
      'run.pausing',
      'run.paused',
      'run.resumed',
    ])
    expect(events.filter((event) => event.type === 'step.attempt-failed')).toEqual([]) // a pause costs no attempt
  })

  test('collaboration 109: a paused run can be resumed by another process', async () => {
    const { begun, hanging, boss } = hangingTeam()
    const before = await runtimeOf([boss], { store: store() })
    const run = await before.start(boss, 'please', { runId: 'r1' })
    await begun.passed
    await run.control.pause({ at: 'now' })
    await run.until('waiting')
    await before.close()
    const after = await runtimeOf([boss], { store: store() })
    expect((await after.handle('r1').view()).status).toBe('paused')
    expect(hanging.prompts).toHaveLength(1)
    await after.handle('r1').control.resume()
    expect(await after.handle('r1').outcome()).toMatchObject({ status: 'completed', output: 'final' })
  })

  test.each(['agent', 'code', 'supervisor'] as const)(
    'collaboration 111: paused before it begins, nothing of it is done, and it can be resumed: %s',
    async (kind) => {
      const model = scripted(kind === 'supervisor' ? delegates(['w1', 'go']) : 'final', 'final')
      let steps = 0
      const root = {
        agent: agent({ name: 'root', model }),
        code: agent({ name: 'root', run: (ctx) => step(ctx, 'work', () => (steps++, 'final')) }),
        supervisor: supervisor({ name: 'root', model, workers: [worker('w1')] }),
      }[kind]
      const clerk = await runtimeOf([root], { store: store(), drive: false })
      const run = await clerk.start('root', 'go', { runId: 'r1' })
      await run.control.pause()
      const runtime = await runtimeOf([root], { store: store() })
      const driven = runtime.handle('r1')
      expect(await driven.until('waiting')).toMatchObject({ status: 'paused' })
      expect([model.prompts.length, steps]).toEqual([0, 0])
      await driven.control.resume()
      expect(await driven.outcome()).toMatchObject({ status: 'completed', output: 'final' })
      expect(
        typesOf(await eventsOf(driven), 'run.paused', 'activation.settled').filter((type) => type === 'run.paused'),
      ).toEqual(['run.paused'])
    },
  )

  test('collaboration 112: an ended run cannot be paused, resumed or cancelled, and records nothing', async () => {
    const boss = supervisor({ name: 'boss', model: scripted('final'), workers: [worker('w1')] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    const outcome = await run.outcome()
    const before = (await eventsOf(run)).length
    for (const command of [() => run.control.pause(), () => run.control.resume(), () => run.control.cancel('late')])
      await expect(command()).rejects.toMatchObject({ code: 'run.ended' })
    expect(await run.outcome()).toEqual(outcome)
    expect(await eventsOf(run)).toHaveLength(before)
  })

  test('collaboration 113: after-model, within 50 ms: a slower tool is stopped and runs again after resume', async () => {
    let attempts = 0
    let aborts = 0
    const slow = tool({
      name: 'slow',
      effect: 'read',
      execute: (_input, { signal }) =>
        ++attempts > 1
          ? 'done'
          : new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => {
                aborts++
                reject(signal.reason as Error)
              })
              begun.open()
            }),
    })
    const begun = gate()
    const model = scripted(calls(['slow', {}]), 'final')
    const root = agent({ name: 'root', model, tools: [slow] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await begun.passed
    const asked = Date.now()
    await run.control.pause({ at: 'after-model', within: 50 })
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect(Date.now() - asked).toBeGreaterThanOrEqual(45)
    expect([attempts, aborts]).toEqual([1, 1])
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['done'])
    expect([attempts, aborts]).toEqual([2, 1])
    const said = (await eventsOf(run)).filter((event) => event.type === 'run.pausing')
    expect(said).toMatchObject([{ at: 'after-model' }, { at: 'now', escalated: true }])
  })

  test('collaboration 114: an interrupt and a pause at once: one end, and it is still asked after resume', async () => {
    const begun = gate()
    const end = gate()
    const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
    const payer = scripted(async () => {
      begun.open()
      await end.passed
      return calls(['pay', {}])
    }, 'it is paid')
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['payer', 'pay']), 'final'),
      workers: [agent({ name: 'payer', description: 'Pays.', model: payer, tools: [pay] })],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    await begun.passed
    end.open()
    await run.control.pause()
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    await run.control.resume()
    const { waiting: open } = await waiting(run)
    expect(open).toMatchObject([{ tool: 'pay', path: ['boss', 'payer'] }])
    await run.decide({ approvalId: open[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    const events = await eventsOf(run)
    expect(events.filter((event) => event.type === 'approval.requested')).toHaveLength(1)
    expect(events.filter((event) => event.type === 'activation.settled')).toHaveLength(2) // one for each activation
  })

  test('team C65: tasks in flight end, the next waits for resume; the first reason stays', async () => {
    const [begun, end] = [gate(), gate()]
    const first = scripted(async () => {
      begun.open()
      await end.passed
      return 'one'
    })
    const second = scripted('two')
    const [w1, w2] = [worker('w1', first), worker('w2', second)]
    const boss = agent({
      name: 'boss',
      workers: [w1, w2],
      run: async (ctx) =>
        [await delegate(ctx, w1, 'a'), await delegate(ctx, w2, 'b')].map((outcome) =>
          outcome.status === 'completed' ? outcome.output : outcome.status,
        ),
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await begun.passed
    await run.control.pause({ reason: 'lunch', by: 'ann' })
    await run.control.pause({ reason: 'another', by: 'bob' })
    await expect.poll(async () => (await run.view()).status).toBe('pausing')
    end.open()
    await run.until('waiting')
    expect((await run.view()).pause).toMatchObject({ reason: 'lunch', by: 'ann' })
    expect(second.prompts).toHaveLength(0)
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: ['one', 'two'] })
    const events = await eventsOf(run)
    expect(typesOf(events, 'run.pausing', 'run.paused', 'run.resumed')).toEqual([
      'run.pausing',
      'run.paused',
      'run.resumed',
    ])
  })

  test('team C65: resume of a run that is not paused changes nothing, and is reported', async () => {
    const [begun, end] = [gate(), gate()]
    const root = agent({ name: 'root', model: scripted(async () => (begun.open(), await end.passed, 'done')) })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await begun.passed
    await run.control.resume('ann')
    await expect.poll(async () => (await run.view()).position).toBeGreaterThan(2) // it has been heard
    end.open()
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    const events = await eventsOf(run)
    expect(typesOf(events, 'run.pausing', 'run.paused', 'run.resumed')).toEqual([])
    expect(events.filter((event) => event.type === 'control.ignored')).toEqual([
      { type: 'control.ignored', command: 'resume', why: 'it is not paused', by: 'ann' },
    ])
  })

  test('resume of a waiting run records nothing and says what it waits for; an unread pause comes first', async () => {
    const root = agent({ name: 'root', run: async (ctx) => (await interrupt(ctx, 'well?')) as string })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const state = await run.until('waiting')
    if (!('waiting' in state)) throw new Error('it has ended')
    const [question] = state.questions
    const { position } = await run.view()
    await expect(run.control.resume('ann')).rejects.toMatchObject({
      code: 'run.not-paused',
      message: `the run "${run.id}" is not paused: it waits for an answer (${question!.id})`,
    })
    await run.control.pause({ by: 'ann' })
    await run.control.resume({ by: 'ben', id: 'go' })
    await expect.poll(async () => (await run.control.state()).ops.length).toBe(2)
    expect((await run.control.state()).ops.map(({ op, accepted, by }) => [op, accepted, by])).toEqual([
      ['pause', true, 'ann'],
      ['resume', true, 'ben'],
    ])
    expect((await run.view()).position).toBeGreaterThan(position)
    await run.until('waiting')
    await run.control.resume({ by: 'ben', id: 'go' }) // the same command again
    expect((await run.control.state()).ops.length).toBe(2)
    await run.answer({ interruptId: question!.id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ output: 'yes' })
  })

  test('team C66: workers that queue for a permit do not begin during a pause', async () => {
    const [begun, end] = [gate(), gate()]
    const first = scripted(async () => {
      begun.open()
      await end.passed
      return 'one'
    })
    const queued = [scripted('two'), scripted('three')]
    const boss = supervisor({
      name: 'boss',
      concurrency: 1,
      model: scripted(delegates(['w1', 'a'], ['w2', 'b'], ['w3', 'c']), 'final'),
      workers: [worker('w1', first), worker('w2', queued[0]), worker('w3', queued[1])],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await begun.passed
    await run.control.pause()
    end.open()
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect(queued.map(({ prompts }) => prompts.length)).toEqual([0, 0])
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(queued.map(({ prompts }) => prompts.length)).toEqual([1, 1])
  })

  test.each(['the pause', 'the end of the task'])(
    'team C70: a pause and the end of a task in one tick, %s first: the next task does not begin',
    async (which) => {
      const [begun, end] = [gate(), gate()]
      const done: string[] = []
      const root = agent({
        name: 'root',
        run: async (ctx) => {
          await step(ctx, 'first', async () => {
            begun.open()
            await end.passed
            done.push('first')
          })
          await step(ctx, 'second', () => void done.push('second'))
          return done.join()
        },
      })
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await begun.passed
      if (which === 'the pause') {
        const paused = run.control.pause()
        end.open()
        await paused
      } else {
        end.open()
        await run.control.pause()
      }
      expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
      expect(done).toEqual(['first'])
      await run.control.resume()
      expect(await run.outcome()).toMatchObject({ output: 'first,second' })
    },
  )
})

describe('cancel', () => {
  test('team C69: twice is once, with the first reason; again after that end it changes nothing', async () => {
    const { begun, boss } = hangingTeam()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    await begun.passed
    await run.control.cancel('first', 'ann')
    await run.control.cancel('second', 'bob') // it may have ended by now
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'first' })
    const events = await eventsOf(run)
    expect(events.filter((event) => event.type === 'cancel.received' && event.by !== undefined)).toMatchObject([
      { reason: 'first', by: 'ann' },
    ])
    await run.control.cancel('third')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'first' })
    expect(await eventsOf(run)).toHaveLength(events.length)
  })

  /** Books three things one after the other, each with what undoes it, then waits to be cancelled. */
  function booking(undone: string[], booked: () => void) {
    return agent({
      name: 'booking',
      run: async (ctx) => {
        for (const what of ['flight', 'hotel', 'car']) {
          await step(ctx.scope(what), 'book', () => what)
          ctx.onCancel(what, async (undo) => step(undo, 'undo', () => void undone.push(what), { effect: 'once' }))
        }
        await step(ctx, 'wait', ({ signal }) => {
          booked()
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () =>
              reject(new FailureError(failure('tool.failed', 'stopped', 'rejected'))),
            )
          })
        })
      },
    })
  }

  test('team C74: what was done is undone, last first, each once', async () => {
    const undone: string[] = []
    const ready = gate()
    const root = booking(undone, ready.open)
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await ready.passed
    await run.control.cancel('no travel', 'ann')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'no travel' })
    expect(undone).toEqual(['car', 'hotel', 'flight'])
  })

  test.each([1, 2])(
    'team C74: a crash after %d of three compensations: the others follow, and none is done twice',
    async (count) => {
      const undone: string[] = []
      const ready = gate()
      const died = gate()
      const crash = (point: string): boolean => {
        if (point !== 'commit.after' || undone.length < count) return false
        died.open()
        return true
      }
      const before = await runtimeOf([booking(undone, ready.open)], { store: store(), crash, leaseMs: 100 })
      const run = await before.start('booking', 'go', { runId: 'r1' })
      await ready.passed
      await run.control.cancel('no travel')
      await died.passed
      expect(undone).toHaveLength(count)
      await before.close()
      const after = await runtimeOf([booking(undone, () => {})], { store: store() })
      const again = after.handle('r1')
      const state = await again.until('waiting')
      // what was about to be let out is in doubt, because nobody can tell that it was not: the operator looks
      if ('waiting' in state)
        for (const { id } of state.questions) await again.control.settleDoubt({ id, happened: false })
      expect(await again.outcome()).toMatchObject({ status: 'cancelled', reason: 'no travel' })
      expect(undone).toEqual(['car', 'hotel', 'flight'])
    },
  )
})
