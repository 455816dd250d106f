/** Contract: forks. A run that has the beginning of another one goes on by itself; that one is not touched. */
import assert from 'node:assert/strict'
import { completed, ReeveError, rootActivation, runId, type Json, type Outcome, type RunId } from '@reeve/core'
import type { ForkRun } from '@reeve/engine'
import type { Recorded } from '@reeve/journal'
import { ended, gate, question, step, until, type Play, type Stage } from './stage.ts'

/** What was done, without the moment at which it was begun. */
function undated(done: Json): Json {
  const { at, ...rest } = done as { readonly [name: string]: Json }
  assert.equal(typeof at, 'number')
  return rest
}

const fork = async (stage: Stage, request: Omit<ForkRun, 'to'> & { readonly to?: RunId }): Promise<RunId> => {
  const to = request.to ?? runId(`fork_of_${request.run}`)
  assert.deepEqual(await stage.engine.fork({ ...request, to }), { created: true })
  return to
}

/** The first event of a run of which this is true. */
async function find(stage: Stage, run: RunId, is: (recorded: Recorded) => boolean): Promise<Recorded> {
  const found = (await stage.events(run)).find(is)
  assert.ok(found !== undefined)
  return found
}

const endOf = (address: string) => (recorded: Recorded) =>
  (recorded.event.type === 'step.settled' ||
    recorded.event.type === 'worker.settled' ||
    recorded.event.type === 'ask.settled') &&
  recorded.event.address === address

/** The output of a worker that has completed. */
const output = (outcome: Outcome): Json => (outcome.status === 'completed' ? outcome.output : outcome.status)

const refused = (code: 'fork.invalid' | 'run.conflict' | 'run.unknown') => (thrown: unknown) =>
  ReeveError.is(thrown, code)

/** What a run says, without what differs between a run and its fork: positions, moments, ids of runs. */
const comparableEvents = (events: readonly Recorded[]): Json =>
  events.map(({ activation, seq, event }) => [activation, seq, event] as unknown as Json)

const points: readonly Play[] = [
  {
    invariant: 'K10',
    name: 'a fork has what was recorded up to its point, repeats none of it, and leaves the origin alone',
    async play(stage) {
      stage.agent('worker', async (ctx, input) =>
        step(ctx, 'work', stage.does('work', `${input as string}!`), { effect: 'read' }),
      )
      stage.agent('lead', async (ctx) => {
        const first = await step(ctx, 'first', stage.does('first'), { effect: 'model' })
        const told = await ended(ctx, ctx.start('worker', 'a'))
        const next = told.status === 'completed' && told.output === 'b!' ? 'other' : 'last'
        return [first, told as unknown as Json, await step(ctx, next, stage.does(next), { effect: 'read' })]
      })
      await stage.drive()
      const run = await stage.start('lead')
      const before = await stage.outcome(run)
      const events = comparableEvents(await stage.events(run))
      const { position: at } = await find(stage, run, endOf('worker'))
      const other = await fork(stage, { run, at, edit: { type: 'outcome', outcome: completed('b!') } })
      assert.deepEqual(await stage.outcome(other), completed(['first', completed('b!'), 'other']))
      assert.deepEqual(stage.ran, ['first', 'work', 'last', 'other'])
      assert.deepEqual(await stage.outcome(run), before)
      assert.deepEqual(comparableEvents(await stage.events(run)), events)
      const forked = (await stage.all(other, 'run.forked'))[0]!
      assert.deepEqual([forked.run, forked.at], [run, at])
      assert.ok((await stage.events(other)).every(({ activation }) => activation.startsWith(rootActivation(other))))
    },
  },
  {
    invariant: 'K10',
    name: 'ids and random numbers are repeated in a fork’s copied part, and its own afterwards',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const before = [ctx.id('x'), ctx.random()]
        await step(ctx, 's', stage.does('s'), { effect: 'read' })
        const between = [ctx.id('x'), ctx.random()]
        await step(ctx, 't', stage.does('t'), { effect: 'read' })
        return [before, between, [ctx.id('x'), ctx.random()]]
      })
      await stage.drive()
      const run = await stage.start('a')
      const { position: at } = await (await stage.outcome(run), find(stage, run, endOf('s')))
      const other = await fork(stage, { run, at })
      const [old, own] = (await Promise.all([run, other].map((each) => stage.outcome(each)))).map(
        (outcome) => (outcome.status === 'completed' ? outcome.output : []) as readonly Json[],
      )
      assert.deepEqual(own!.slice(0, 2), old!.slice(0, 2))
      assert.notDeepEqual(own![2], old![2])
      // A fork of the fork, after all of it but the end.
      const { position: last } = await find(stage, other, endOf('t'))
      const third = await fork(stage, { run: other, at: last })
      assert.deepEqual(await stage.outcome(third), await stage.outcome(other))
    },
  },
  {
    invariant: 'K2',
    name: 'the same fork again is the same run; another one under its id, or a bad point, is refused',
    async play(stage) {
      stage.agent('a', async (ctx, input) => [input, await step(ctx, 's', stage.does('s'), { effect: 'read' })])
      await stage.drive()
      const run = await stage.start('a', 'x')
      await stage.outcome(run)
      const events = await stage.events(run)
      const first = events[0]!.position
      const other = await fork(stage, { run, at: first, edit: { type: 'input', input: 'y' } })
      assert.deepEqual(await stage.outcome(other), completed(['y', 's']))
      assert.deepEqual(await stage.engine.fork({ run, at: first, to: other, edit: { type: 'input', input: 'y' } }), {
        created: false,
      })
      await assert.rejects(stage.engine.fork({ run, at: first, to: other }), refused('run.conflict'))
      const to = runId('never')
      for (const at of [0, 1_000_000, events.at(-1)!.position])
        await assert.rejects(stage.engine.fork({ run, at, to }), refused('fork.invalid'))
      const edit = { type: 'outcome', outcome: completed(1) } as const
      await assert.rejects(stage.engine.fork({ run, at: first, to, edit }), refused('fork.invalid'))
      await assert.rejects(stage.engine.fork({ run: to, at: first, to: runId('never2') }), refused('run.unknown'))
      assert.equal(await stage.engine.summary(to), undefined)
    },
  },
  {
    invariant: 'K10',
    name: 'a fork of a running run takes nothing from it; a message in flight is in flight in both',
    async play(stage) {
      const held = gate()
      stage.agent('listener', async (ctx) => {
        const arrival = await ctx.next((each) => each.type === 'message')
        return arrival.type === 'message' ? arrival.body : null
      })
      stage.agent('lead', async (ctx) => {
        const listener = ctx.start('listener', null)
        const gated = ctx.begin('gated', held.effect, { effect: 'read' })
        ctx.send(listener, 'hello')
        return [(await ended(ctx, listener)) as unknown as Json, (await ended(ctx, gated)) as unknown as Json]
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is heard', async () => stage.has(run, 'message.received'))
      const { position: at } = await find(stage, run, ({ event }) => event.type === 'message.sent')
      const other = await fork(stage, { run, at })
      await until('both are at the gate', () => held.waiting === 2)
      held.open('go')
      const expected = completed([completed('hello'), completed('go')])
      assert.deepEqual(await stage.outcome(run), expected)
      assert.deepEqual(await stage.outcome(other), expected)
    },
  },
]

const effects: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'an effect the origin has made is asked about; if it happened, it ended as it did there',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const s = await step(ctx, 's', stage.does('s'), { effect: 'read' })
        return [
          s,
          await step(ctx, 'pay', stage.does('pay', 42), { effect: 'once' }),
          await step(ctx, 'mail', stage.does('mail')),
        ]
      })
      await stage.drive()
      const run = await stage.start('a')
      await stage.outcome(run)
      const { position: at } = await find(stage, run, endOf('s'))
      const other = await fork(stage, { run, at })
      const asked = await stage.question(other, 'in-doubt')
      const body = asked.body as { readonly reason: string; readonly done: Json }
      assert.equal(body.reason, `already done in run ${run}`)
      assert.deepEqual(undated(body.done), { run, outcome: completed(42) })
      const settle = { type: 'settle-doubt', activation: asked.activation } as const
      assert.equal(await stage.post({ ...settle, address: 'pay', happened: true }), 'accepted')
      await until('it asks for the next one', async () =>
        (await stage.engine.questions({ run: other })).some(({ address }) => address === 'mail'),
      )
      assert.equal(await stage.post({ ...settle, address: 'mail', happened: false }), 'accepted')
      assert.deepEqual(await stage.outcome(other), completed(['s', 42, 'mail']))
      assert.deepEqual(stage.ran, ['s', 'pay', 'mail', 'mail'])
      assert.deepEqual(
        (await stage.all(other, 'effect.in-doubt')).map(({ doneIn }) => doneIn),
        [run, run],
      )
    },
  },
  {
    invariant: 'K6',
    name: 'what a worker apart has done that had not begun at the fork point is asked about; one that has done nothing is apart',
    restarts: true,
    async play(stage) {
      stage.agent('payer', async (ctx) => step(ctx, 'pay', stage.does('pay', 42), { effect: 'once' }))
      stage.agent('manager', async (ctx) => output(await ended(ctx, ctx.start('payer', null, { place: 'apart' }))))
      stage.agent('idle', () => Promise.resolve('idle'))
      stage.agent('lead', async (ctx) => [
        output(await ended(ctx, ctx.start('manager', null, { place: 'apart' }))),
        output(await ended(ctx, ctx.start('idle', null, { place: 'apart' }))),
      ])
      await stage.drive()
      const run = await stage.start('lead')
      await stage.outcome(run)
      const other = await fork(stage, { run, at: (await stage.events(run))[0]!.position })
      const asked = await stage.question(other, 'in-doubt')
      assert.deepEqual(undated((asked.body as { readonly done: Json }).done), {
        run,
        outcome: completed(42),
      })
      const settle = { type: 'settle-doubt', activation: asked.activation } as const
      assert.equal(await stage.post({ ...settle, address: 'pay', happened: true }), 'accepted')
      assert.deepEqual(await stage.outcome(other), completed([42, 'idle']))
      assert.deepEqual(stage.ran, ['pay'])
      assert.deepEqual(
        (await stage.all(other, 'worker.started')).map(({ agent, apart = false }) => [agent, apart]),
        [
          ['manager', false],
          ['payer', false],
          ['idle', true],
        ],
      )
    },
  },
  {
    invariant: 'K6',
    name: 'an effect in flight in the origin is in doubt in the fork, in its forks and after a restart',
    restarts: true,
    async play(stage) {
      const held = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'pay', held.effect))
      stage.agent('a', async (ctx) => ended(ctx, ctx.start('worker', null)))
      await stage.drive()
      const run = await stage.start('a')
      await until('it pays', () => held.waiting === 1)
      const { position: at } = await find(
        stage,
        run,
        ({ event }) => event.type === 'activation.started' && event.agent === 'worker',
      )
      const other = await fork(stage, { run, at })
      await stage.question(other, 'in-doubt')
      const third = await fork(stage, { run: other, at: (await stage.events(other))[0]!.position, to: runId('third') })
      assert.equal((await stage.question(third, 'in-doubt')).run, third)
      held.open(1)
      await stage.outcome(run)
      await stage.restart('kill')
      const asked = await stage.question(other, 'in-doubt')
      assert.equal((asked.body as { readonly reason: string }).reason, `begun in run ${run}, and perhaps done`)
      assert.equal(
        await stage.post({
          type: 'settle-doubt',
          activation: asked.activation,
          address: 'pay',
          happened: true,
          value: 7,
        }),
        'accepted',
      )
      assert.deepEqual(await stage.outcome(other), completed(7))
      assert.equal(held.attempts.length, 1)
    },
  },
]

const questions: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'an open question is asked anew under another id, with the time left; each run has its own answer',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const asked = ctx.ask('q', { ...question(ctx.id('int')), until: new Date(ctx.now().getTime() + 1_000) })
        return ended(ctx, asked)
      })
      await stage.drive()
      const run = await stage.start('a')
      const old = await stage.question(run)
      stage.clock.advance(900)
      const other = await fork(stage, { run, at: (await stage.events(run)).at(-1)!.position })
      const asked = await stage.question(other)
      assert.notEqual(asked.id, old.id)
      assert.equal(asked.until, stage.clock.now() + 1_000)
      assert.equal(await stage.answer(asked, 'there'), 'accepted')
      assert.deepEqual(await stage.outcome(other), completed('there'))
      assert.equal(await stage.answer(old, 'here'), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed('here'))
      // An answer that was given before the point stays, and keeps the id under which it was asked.
      const { position: at } = await find(stage, run, endOf('q'))
      const third = await fork(stage, { run, at, to: runId('third') })
      assert.deepEqual(await stage.outcome(third), completed('here'))
      assert.deepEqual(
        (await stage.all(third, 'interrupt.raised')).map(({ id }) => id),
        [old.id],
      )
    },
  },
  {
    invariant: 'K1',
    name: 'a question of a former segment stays open under an id of its own; carried workers go on',
    async play(stage) {
      stage.agent('worker', async (ctx) => ended(ctx, ctx.ask('w', question(ctx.id('int')))))
      stage.agent('a', async (ctx) => {
        if (ctx.carried === undefined) {
          ctx.ask('q', question(ctx.id('int')))
          ctx.start('worker', null)
          ctx.restart('on')
        }
        const one = await ctx.next()
        const two = await ctx.next()
        return [one, two].map((each) => ('outcome' in each ? (each.outcome as unknown as Json) : null))
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('both ask', async () => (await stage.engine.questions({ run })).length === 2)
      const other = await fork(stage, { run, at: (await stage.events(run)).at(-1)!.position })
      await until('both ask again', async () => (await stage.engine.questions({ run: other })).length === 2)
      const open = await stage.engine.questions({ run: other })
      const known = (await stage.engine.questions({ run })).map(({ id }) => id)
      assert.ok(open.every(({ id }) => !known.includes(id)))
      assert.equal(
        await stage.answer(
          open.find(({ address }) => address === 'q')!,
          1,
        ),
        'accepted',
      )
      await until('it is heard', async () => stage.has(other, 'ask.settled'))
      assert.equal(
        await stage.answer(
          open.find(({ address }) => address === 'w')!,
          2,
        ),
        'accepted',
      )
      assert.deepEqual(await stage.outcome(other), completed([completed(1), completed(2)]))
      assert.equal((await stage.engine.questions({ run })).length, 2)
    },
  },
]

export const forkCases: readonly Play[] = [...points, ...effects, ...questions]
