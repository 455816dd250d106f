/**
 * The words of mail between a member and its leader, with a leader by hand: what a member makes of late, doubled and
 * hopeless replies; and who waits, as the leader's post room tells it.
 */
import { afterEach, expect, test } from 'vitest'
import { agent, replyToCommand, startWorker, teammate, commandIn, type Agent, type ReceivedCommand } from '@reeve/agent'
import type { ActivationId, FailureError, Json, JsonObject, MessageId } from '@reeve/core'
import { briefOf, readEdge } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { PostRoom } from '../src/mail/message-router.ts'
import { RoleBook } from '../src/plan/roles.ts'
import { Directory } from '../src/state/directory.ts'
import { newEntry, type Entry } from '../src/state/task-graph.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

/** A member and whoever replies to its words, in the order in which they come. */
async function answered(
  member: (ctx: Context) => Promise<Json>,
  replies: (heard: ReceivedCommand, reply: (to: ReceivedCommand, what: JsonObject) => void) => void,
): Promise<Json> {
  const worker: Agent = agent({ name: 'worker', description: 'Works.', run: member })
  const leader = agent({
    name: 'leader',
    run: async (ctx: Context) => {
      const assignment = {
        leader: ctx.place.activation,
        member: 'worker_1',
        role: 'worker',
        task: 't',
        description: 't',
        question: 'Go',
        attempt: 1,
        inputs: {},
        verbs: [],
      }
      const id = startWorker(ctx, readEdge(ctx.input), worker, briefOf('Go'), { assignment }) as ActivationId
      for (;;) {
        const arrival = await ctx.next((each) => each.id === id || commandIn(each) !== undefined)
        if (arrival.type === 'worker.settled') return arrival.outcome as unknown as Json
        replies(commandIn(arrival)!, (to, what) => replyToCommand(ctx, to, what))
      }
    },
  })
  const runtime = await createRuntime({ strict: true, agents: [leader, worker] })
  open.push(runtime)
  return ((await runtime.run(leader, 'Go')) as { readonly output: Json }).output
}
const mail = (seq: number): JsonObject => ({ seq, from: 'a', to: 'b', content: seq, at: 0 })
const seqs = (all: readonly { readonly seq: number }[]): Json => all.map(({ seq }) => seq)

test('a wait that can never end rejects with team.deadlock, and the member may go on', async () => {
  const output = await answered(
    async (ctx) => {
      const why = await teammate(ctx)
        .nextMail({ from: 'b_1' })
        .catch((thrown: unknown) => (thrown as FailureError).failure)
      return why as unknown as Json
    },
    (heard, reply) => reply(heard, { mail: [], unread: 0, deadlock: 'worker > b > worker', cycle: ['worker', 'b'] }),
  )
  expect(output).toMatchObject({
    status: 'completed',
    output: {
      code: 'team.deadlock',
      message: 'worker > b > worker',
      retryable: false,
      details: { cycle: ['worker', 'b'] },
    },
  })
})

test.each([
  ['in order', (early: () => void, late: () => void) => (early(), late())],
  ['the other way round', (early: () => void, late: () => void) => (late(), early())],
] as const)('mail that was given out just before a wait was called off is had, replies %s', async (_, order) => {
  let asked: ReceivedCommand | undefined
  const output = await answered(
    async (ctx) => seqs(await teammate(ctx).nextMail({ withinMs: 5 })),
    (heard, reply) => {
      if (asked === undefined) return void (asked = heard)
      const first = asked
      expect(heard.word).toMatchObject({ do: 'inbox', wait: false, instead: first.id })
      order(
        () => reply(first, { mail: [mail(1)], unread: 1 }),
        () => reply(heard, { mail: [mail(2)], unread: 0, calledOff: false }),
      )
    },
  )
  expect(output).toMatchObject({ status: 'completed', output: [1, 2] })
})

test('an option of a wait that there is not is refused: it would wait for ever', async () => {
  const output = await answered(
    async (ctx) => {
      const me = teammate(ctx)
      const refusals = [{ timeoutMs: 5 }, { withinMS: 5 }, null].map((wait) =>
        me.nextMail(wait as never).then(
          () => 'it waited',
          ({ code, message }: { readonly code: string; readonly message: string }) => `${code}: ${message}`,
        ),
      )
      return Promise.all(refusals)
    },
    () => undefined,
  )
  expect(output).toMatchObject({
    output: [
      'input.invalid: nextMail has no option "timeoutMs"; it has from, withinMs',
      'input.invalid: nextMail has no option "withinMS": did you mean "withinMs"?',
      'input.invalid: nextMail is null, expected an object',
    ],
  })
})

test('a wait that was called off in time ends with what there is', async () => {
  let asked = 0
  const output = await answered(
    async (ctx) => seqs(await teammate(ctx).nextMail({ withinMs: 5 })),
    (heard, reply) => {
      if (++asked === 2) reply(heard, { mail: [mail(7)], unread: 0, calledOff: true })
    },
  )
  expect(output).toMatchObject({ status: 'completed', output: [7] })
})

test('a wait is told once, for any sender where several are awaited, and as bounded where one times out', () => {
  const sent: Json[] = []
  const ctx = {
    scope: () => ctx,
    emit: () => undefined,
    now: () => new Date(0),
    send: (_to: ActivationId, body: Json) => void sent.push(body),
  } as unknown as Context
  const waits: [string, boolean][] = []
  const directory = new Directory()
  const post = new PostRoom({
    ctx,
    options: {},
    policy: undefined,
    directory,
    waitForMail: ({ member }, isWaiting) => void waits.push([member, isWaiting]),
    waitForHuman: (_member, ask) => ask(() => {}),
    toldAt: () => undefined,
    leave: () => undefined,
  })
  const role = new RoleBook('t', undefined, () => 'x', undefined).find('generalist')!
  const entryOf = (id: string): Entry => {
    directory.join({ member: id, role: 'r', task: id, recruited: false })
    return newEntry({ id, description: id }, role, id)
  }
  const [a, b] = [entryOf('a'), entryOf('b')]
  const asks = (entry: Entry, id: string, word: object): unknown =>
    post.inbox(
      { do: 'inbox', wait: true, ...word },
      { entry, name: entry.member },
      { id: id as MessageId, from: 'act_x' as ActivationId, word: { do: 'team' } },
    )
  expect(asks(a, 'm1', { from: 'b' })).toBeUndefined()
  expect(asks(b, 'm2', {})).toBeUndefined()
  expect(post.waiting()).toEqual([{ entry: a, from: 'b' }, { entry: b }])
  asks(a, 'm3', { from: 'c', bounded: true })
  expect(post.waiting()).toEqual([{ entry: a, bounded: true }, { entry: b }])
  expect(asks(a, 'm4', { wait: false, instead: 'm3' })).toEqual({ mail: [], unread: 0, calledOff: true })
  expect(asks(a, 'm5', { wait: false, instead: 'm3' })).toEqual({ mail: [], unread: 0, calledOff: false })
  expect(post.waiting()).toEqual([{ entry: a, from: 'b' }, { entry: b }])
  post.failWait(a, 'why', ['a', 'b'])
  expect(post.waiting()).toEqual([{ entry: b }])
  post.left('b')
  expect(post.waiting()).toEqual([])
  expect(sent).toEqual([
    { type: '$team.reply', to: 'm1', reply: { mail: [], unread: 0, deadlock: 'why', cycle: ['a', 'b'] } },
  ])
  expect(waits.filter(([member]) => member === 'a').at(-1)).toEqual(['a', false])
})
