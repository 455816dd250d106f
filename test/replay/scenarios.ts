/** Representative runs at the level of the kernel: simulated, replayed, and kept as golden journals. */
import { completed, rootActivation, runId, type ActivationId, type Json, type OpId, type Outcome } from '@reeve/core'
import type { Context, Engine, Orchestration, Ordinals, Registry, StepIO, StepOptions } from '@reeve/engine'
import type { ManualClock, Scenario } from '@reeve/testing'

type Body = (ctx: Context, input: Json) => Promise<Json>

const code = (name: string, body: Body): Orchestration => ({
  name,
  version: '1',
  run: async (ctx, input) => completed(await body(ctx, input)),
})

export const registryOf = (agents: readonly Orchestration[]): Registry => ({
  onMissingVersion: 'move',
  find: (name, version) =>
    agents.find((agent) => agent.name === name && (version === undefined || version === agent.version)),
})

async function end(ctx: Context, id: OpId | ActivationId): Promise<Outcome> {
  return (await ctx.next(id as OpId)).outcome
}
async function step(
  ctx: Context,
  name: string,
  value: Json | ((io: StepIO) => Json | Promise<Json>),
  options?: StepOptions,
): Promise<Json> {
  const outcome = await end(ctx, ctx.begin(name, typeof value === 'function' ? value : () => value, options))
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return outcome.output
}
const model: StepOptions = {
  effect: 'model',
  as: { type: 'model.requested', model: 'scripted/one', messages: 1 },
  reserve: { turns: 1, tokens: 100 },
  // one that died has cost nothing, so a death changes no end
  isFree: true,
  settle: () => ({
    charge: { turns: 1, tokens: 40 },
    usage: { agent: 'x', model: 'scripted/one', used: { input: 30, output: 10 } },
  }),
}
const asks = (id: string) =>
  ({ as: { type: 'interrupt.raised', id, question: { text: 'well?' }, path: ['lead'] } }) as const
const after = (ctx: Context, ms: number): { until: Date } => ({ until: new Date(ctx.now().getTime() + ms) })
const run = runId('run_golden')
const root = rootActivation(run)

/** Answers an open question of this kind, once it is there. */
const answers =
  (value: Json, kind = 'interrupt') =>
  async (engine: Engine): Promise<void> => {
    for (const asked of await engine.questions({ run })) {
      if (asked.kind === kind)
        await engine.post({
          type: 'answer',
          activation: asked.activation,
          address: asked.address,
          outcome: completed(value),
        })
    }
  }
const passTime = async (_engine: Engine, clock: ManualClock): Promise<void> => void clock.advanceToNext()

function scenario(
  name: string,
  agents: readonly Orchestration[],
  outside?: Scenario['outside'],
  limits?: { tokens: number },
): Scenario {
  const start = {
    run,
    agent: 'lead',
    version: '1',
    input: { task: name },
    caller: { user: 'ada' },
    ...(limits === undefined ? {} : { limits }),
  }
  return { name, registry: registryOf(agents), start, ...(outside === undefined ? {} : { outside }) }
}

/** A log that begins anew with a worker and a question open, a message unread, and something spent. */
const begunAnew = scenario(
  'segments that say what was before',
  [
    code('lead', async (ctx) => {
      const turn = ((ctx.carried ?? 0) as number) + 1
      const spent = await step(ctx, 'ask a model', turn, model)
      if (turn === 1) {
        ctx.start('worker', 'slow', { name: 'slow' })
        ctx.start('worker', 'quick', { name: 'quick' })
        ctx.ask('question', asks('int_1'))
        await step(ctx, 'wait for the quick one', 0)
      }
      if (turn < 4) return ctx.restart(turn)
      const heard: Json[] = []
      while (heard.length < 3) {
        const arrival = await ctx.next()
        if ('outcome' in arrival && arrival.outcome.status === 'completed') heard.push(arrival.outcome.output)
      }
      return { spent, heard: heard.map(String).toSorted() }
    }),
    code('worker', async (ctx, input) => {
      if (input === 'slow') for (let i = 0; i < 4; i++) await step(ctx, 'ask a model', i, model)
      return `${input as string} is done`
    }),
  ],
  answers('yes'),
)

/** A leader that hears numbers, answers each, and now and then says what they came to. */
const summedUp = scenario('messages that are summed up', [
  code('lead', async (ctx) => {
    const mail = ctx.scope('mail')
    let [heard, total] = [0, 0]
    const answered = ctx.sums({
      facts: ['fact.noted'],
      entries: 6,
      state: () => ({ heard, total, named: [ctx.ordinals(), mail.ordinals()] }),
      restore: (state) => {
        const { named, ...kept } = state as { heard: number; total: number; named: [Ordinals, Ordinals] }
        ;({ heard, total } = kept)
        ctx.ordinals(named[0])
        mail.ordinals(named[1])
      },
    })
    ctx.start('writer', null)
    for (;;) {
      const arrival = await ctx.next()
      if (arrival.type === 'worker.settled') return { heard, total, said: arrival.outcome as unknown as Json }
      if (arrival.type !== 'message') continue
      total += arrival.body as number
      heard++
      mail.emit({ type: 'fact.noted', name: 'total', data: total })
      if (heard === 8) await step(ctx, 'look', total)
      ctx.send(arrival.from!, total)
      answered(arrival.id)
    }
  }),
  code('writer', async (ctx) => {
    let last: Json = 0
    for (let number = 1; number <= 14; number++) {
      ctx.send(root, number)
      const arrival = await ctx.next()
      last = arrival.type === 'message' ? arrival.body : last
    }
    return last
  }),
])

/** A model leader and three model workers in parallel, each with parallel tools. */
const delegation = scenario('delegation', [
  code('worker', async (ctx, input) => {
    const turn = ctx.scope('turn')
    const plan = await step(turn, 'model', `plan ${input as string}`, model)
    const tools = [1, 2].map((n) =>
      turn
        .scope('call')
        .begin('tool', () => `${input as string}${n}`, { as: { type: 'tool.called', tool: 'look' }, effect: 'read' }),
    )
    const results: Json[] = []
    for (const tool of tools)
      results.push(await end(ctx, tool).then((o) => (o.status === 'completed' ? o.output : o.status)))
    return [plan, ...results, await step(ctx.scope('turn'), 'model', 'done', model)]
  }),
  code('lead', async (ctx) => {
    const turn = ctx.scope('turn')
    await step(turn, 'model', 'call three', model)
    const waiting = new Set(
      ['a', 'b', 'c'].map((input) => turn.scope('call').start('worker', input, { callId: `call_${input}` })),
    )
    const outputs: Json[] = []
    while (waiting.size > 0) {
      const arrival = await ctx.next((one) => waiting.has(one.id as ActivationId))
      waiting.delete(arrival.id as ActivationId)
      if (arrival.type === 'worker.settled' && arrival.outcome.status === 'completed')
        outputs.push(arrival.outcome.output)
    }
    ctx.emit({ type: 'fact.noted', name: 'joined', data: outputs.length })
    return [
      outputs.map((output) => JSON.stringify(output)).sort(),
      await step(ctx.scope('turn'), 'model', 'sum', model),
    ]
  }),
])

/** An approval inside a worker, with a deadline that does not pass. */
const approval = scenario(
  'approval',
  [
    code('payer', async (ctx, input) => {
      const gate = ctx.ask('approval', {
        ...after(ctx, 60_000),
        as: {
          type: 'approval.requested',
          id: ctx.id('apr'),
          path: ctx.place.path,
          tool: 'pay',
          toolVersion: '1',
          input,
          inputHash: 'h',
          reason: 'money',
          risk: 'high',
          onTimeout: 'reject',
        },
      })
      const { status } = await end(ctx, gate)
      return status === 'completed' ? await step(ctx, 'pay', 'paid') : 'refused'
    }),
    code('lead', async (ctx) => [
      await step(ctx, 'before', 1),
      (await end(ctx, ctx.start('payer', { amount: 7 }))).status,
      await step(ctx, 'after', 2),
    ]),
  ],
  answers({ decision: 'approve' }, 'approval'),
)

/** A deadline that passes, timers, and a retry with backoff. */
const time = scenario(
  'time',
  [
    code('lead', async (ctx) => {
      const asked = (await end(ctx, ctx.ask('question', { ...asks('int_1'), ...after(ctx, 1_000) }))).status
      await ctx.next(ctx.ask('sleep', after(ctx, 5_000)))
      const flaky = await step(
        ctx,
        'flaky',
        (io) => {
          if (io.attempt < 3) throw new Error('once more')
          return 'third time'
        },
        { retry: { backoffMs: 100, jitter: false } },
      )
      return [asked, flaky]
    }),
  ],
  passTime,
)

/** Cancelled while a worker works: undone from below, last registered first. */
const cancel = scenario(
  'cancel',
  [
    code('worker', async (ctx) => {
      await step(ctx, 'reserve', 'reserved')
      ctx.onCancel('release', async (undo) => void (await step(undo, 'release', 'released')))
      return (await end(ctx, ctx.ask('wait', asks('int_wait')))).status
    }),
    code('lead', async (ctx) => {
      for (const n of [1, 2]) {
        await step(ctx, `do${n}`, n)
        ctx.onCancel(`undo${n}`, async (undo) => void (await step(undo, 'undo', n)))
      }
      return (await end(ctx, ctx.start('worker', null))).status
    }),
  ],
  async (engine) => {
    if ((await engine.questions({ run })).length > 0)
      await engine.post({ type: 'cancel', run, reason: 'enough', by: 'ada' })
  },
)

/** Messages both ways, one that nobody takes, and one from outside. */
const mailbox = scenario(
  'mailbox',
  [
    code('worker', async (ctx, leader) => {
      const got: Json[] = []
      for (let n = 0; n < 3; n++) {
        const message = await ctx.next((one) => one.type === 'message')
        if (message.type === 'message') got.push(message.body)
        ctx.send(leader as ActivationId, { got: got.length })
      }
      return got
    }),
    code('lead', async (ctx) => {
      const worker = ctx.start('worker', ctx.place.activation)
      for (const n of [1, 2, 3]) ctx.send(worker, n)
      const replies: Json[] = []
      while (replies.length < 4) {
        const message = await ctx.next((one) => one.type === 'message')
        if (message.type === 'message') replies.push(message.body)
      }
      const lost = ctx.send('act_nobody' as ActivationId, 'hello?')
      await step(ctx, 'meanwhile', 1)
      const refusal = await ctx.next(lost)
      return [replies.length, (await end(ctx, worker)).status, refusal.type]
    }),
  ],
  async (engine) => {
    await engine.post({ type: 'message', activation: root, id: 'msg_out', body: 'from outside' })
  },
)

/** A limit on the tree: some steps do not fit. */
const budget = scenario(
  'budget',
  [
    code(
      'worker',
      async (ctx) =>
        (
          await end(
            ctx,
            ctx.begin('model', () => 'x', model),
          )
        ).status,
    ),
    code('lead', async (ctx) => {
      const words: Json[] = []
      for (let n = 0; n < 5; n++)
        words.push(
          await end(ctx, ctx.scope('call').start('worker', n)).then((o) =>
            o.status === 'completed' ? o.output : o.status,
          ),
        )
      return words
    }),
  ],
  undefined,
  { tokens: 200 },
)

/** Three segments, with a worker and a question open over the cuts. */
const segments = scenario(
  'segments',
  [
    code('worker', async (ctx) => [await step(ctx, 'one', 1), await step(ctx, 'two', 2)]),
    code('lead', async (ctx) => {
      const n = (ctx.carried ?? 0) as number
      await step(ctx, 'work', n)
      if (n === 0) {
        ctx.start('worker', null)
        ctx.ask('question', asks('int_1'))
      }
      if (n < 2) return ctx.restart(n + 1)
      const ends: string[] = []
      for (let k = 0; k < 2; k++) ends.push((await ctx.next()).type)
      return ends.sort((a, b) => (a < b ? -1 : 1))
    }),
  ],
  answers('yes'),
)

/** Values of a session, a fact, a stop of a sibling, and a leader that leaves while a worker waits. */
const leaving = scenario('leaving', [
  code('idle', async (ctx) => {
    ctx.onCancel('tidy', async (undo) => void (await step(undo, 'tidy', 'tidied')))
    await step(ctx, 'begin', 1)
    return (await end(ctx, ctx.ask('wait', asks('int_idle')))).status
  }),
  code('lead', async (ctx) => {
    const idle = ctx.start('idle', null)
    const stopped = ctx.scope('second').start('idle', null)
    const n = await ctx.values.update('n', (value) => ((value as number | null) ?? 0) + 1)
    ctx.stop(stopped, 'not needed')
    const how = (await end(ctx, stopped)).status
    ctx.emit({ type: 'fact.noted', name: 'left', data: idle })
    return [n, await ctx.values.get('n'), how]
  }),
])

/** Paused and resumed in the middle. */
const pause = scenario(
  'pause',
  [
    code('worker', async (ctx, n) => step(ctx, 'work', n)),
    code('lead', async (ctx) => {
      const asked = (await end(ctx, ctx.ask('question', asks('int_1')))).status
      const got: Json[] = []
      for (let n = 0; n < 3; n++) got.push((await end(ctx, ctx.scope('call').start('worker', n))).status)
      return [asked, ...got]
    }),
  ],
  async (engine) => {
    const status = (await engine.summary(run))?.status
    const log = await engine.read(run)
    const paused = log.some(({ event }) => event.type === 'run.pausing')
    if (!paused && status === 'waiting') await engine.post({ type: 'pause', run, at: 'next' })
    else if (paused && log.some(({ event }) => event.type === 'ask.settled') && status === 'paused')
      await engine.post({ type: 'resume', run })
    else if (paused) await answers('go')(engine)
  },
)

/** A payment that must not be repeated; in doubt, somebody says that it happened. */
const once = scenario(
  'once',
  [
    code('lead', async (ctx) => [
      await step(ctx, 'before', 1),
      (
        await end(
          ctx,
          ctx.begin('pay', () => 'paid', { effect: 'once' }),
        )
      ).status,
      await step(ctx, 'after', 2),
    ]),
  ],
  async (engine) => {
    for (const asked of await engine.questions({ run })) {
      if (asked.kind === 'in-doubt')
        await engine.post({
          type: 'settle-doubt',
          activation: asked.activation,
          address: asked.address,
          happened: true,
          value: 'paid',
        })
    }
  },
)

export const scenarios: readonly Scenario[] = [
  delegation,
  approval,
  time,
  cancel,
  mailbox,
  budget,
  segments,
  begunAnew,
  summedUp,
  leaving,
  pause,
  once,
]
