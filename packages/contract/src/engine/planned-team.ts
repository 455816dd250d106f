/**
 * Contract: what a planned team needs of an engine (K3, K6, K8): workers that begin when others have ended, words
 * between members and their leader, a stop for all; with a kill in the middle nothing is done twice, and the team tells
 * the same of itself.
 */
import assert from 'node:assert/strict'
import { agent, teammate, type Agent } from '@reeve/agent'
import { failure, FailureError, type Json, type Outcome, type RunId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { begin } from './begin.ts'
import { gate, question, step, until, type Play, type Stage } from './stage.ts'

type Behavior = (ctx: Context) => Promise<Json>

/** A team whose members do what their task's name says. */
const teamOf = (
  subtasks: readonly Subtask[],
  doings: Readonly<Record<string, Behavior>>,
  options: Partial<TeamOptions<string>> = {},
): Agent =>
  team({
    name: 'analysts',
    roles: {
      generalist: agent({
        name: 'member',
        description: 'Does what the task says.',
        run: async (ctx: Context, brief: string) => doings[brief.split('\n')[0]!]!(ctx),
      }),
    },
    planner: { subtasks },
    retry: { attempts: 1 },
    ...options,
  })
const task = (id: string, ...dependencies: string[]): Subtask => ({ id, description: id, dependencies })

const hopeless: Behavior = (ctx) =>
  step(ctx, 'hopeless', () => {
    throw new FailureError(failure('model.bad-request', 'no luck', 'validation'))
  })

/** How each task has ended, in the order of the plan; recruits last. */
const taskResults = (outcome: Outcome): readonly string[] =>
  outcome.status === 'completed' || outcome.status === 'failed'
    ? (outcome.results?.tasks ?? []).map(
        ({ task: id, status, output }) => `${id} ${status}${output === undefined ? '' : `: ${output as string}`}`,
      )
    : []

/** How often each fact of a team is there. */
async function facts(stage: Stage, run: RunId): Promise<Readonly<Record<string, number>>> {
  const types = [
    'plan.created',
    'teammate.joined',
    'task.started',
    'task.settled',
    'plan.aborted',
    'recruit.decided',
    'mail.accepted',
    'mail.delivered',
  ]
  const events = (await stage.events(run)).map(({ event }) => event.type as string)
  const counts = new Map(types.map((type) => [type, events.filter((each) => each === type).length]))
  return Object.fromEntries([...counts].filter(([, count]) => count !== 0))
}

export const plannedCases: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'planned: tasks follow their dependencies, a failure is tolerated, and a kill repeats nothing',
    restarts: true,
    async play(stage) {
      const given: string[][] = []
      const root = teamOf([task('d', 'a', 'b', 'c'), task('a'), task('b'), task('c', 'a'), task('e', 'd')], {
        a: (ctx) => step(ctx, 'a', stage.does('a')),
        b: hopeless,
        c: async (ctx) => {
          await ctx.next(ctx.ask('q', question('int_1')))
          return step(ctx, 'c', stage.does('c'))
        },
        d: async (ctx) => {
          given.push(Object.entries(teammate(ctx).inputs).map(([id, { status }]) => `${id} ${status}`))
          return step(ctx, 'd', stage.does('d'))
        },
        e: (ctx) => step(ctx, 'e', stage.does('e')),
      })
      const run = await begin(stage, root)
      await stage.question(run)
      await until('b has failed', async () => (await stage.all(run, 'task.settled')).length === 2)
      await stage.fence()
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      const outcome = await stage.outcome(run)
      assert.equal(outcome.status, 'completed')
      assert.deepEqual(taskResults(outcome), [
        'd succeeded: d',
        'a succeeded: a',
        'b failed',
        'c succeeded: c',
        'e succeeded: e',
      ])
      assert.deepEqual(given.at(-1), ['a succeeded', 'b missing', 'c succeeded'])
      for (const name of ['a', 'c', 'd', 'e']) assert.equal(stage.count(name), 1, name)
      assert.deepEqual(await facts(stage, run), {
        'plan.created': 1,
        'teammate.joined': 5,
        'task.started': 5,
        'task.settled': 5,
      })
    },
  },
  {
    invariant: 'K8',
    name: 'planned: at the give-up workers stop by signal, pending tasks never begin, results come with it',
    async play(stage) {
      const open = gate()
      const root = teamOf(
        [task('a'), task('slow'), task('b'), task('c', 'slow')],
        {
          a: (ctx) => step(ctx, 'a', stage.does('a')),
          slow: (ctx) => step(ctx, 'slow', open.effect),
          b: async (ctx) => {
            await ctx.next(ctx.ask('q', question('int_1')))
            return hopeless(ctx)
          },
          c: (ctx) => step(ctx, 'c', stage.does('c')),
        },
        { tolerance: 'critical' },
      )
      const run = await begin(stage, root)
      await until('slow is at work', () => open.waiting === 1)
      await until('a has ended', async () => (await stage.all(run, 'task.settled')).length === 1)
      await stage.answer(await stage.question(run), 'go on')
      const outcome = await stage.outcome(run)
      assert.equal(outcome.status === 'failed' && outcome.failure.code, 'team.too-many-failures')
      assert.deepEqual(taskResults(outcome), ['a succeeded: a', 'slow cancelled', 'b failed', 'c cancelled'])
      assert.equal(open.aborted, 1)
      assert.equal(stage.count('c'), 0)
      assert.deepEqual(await facts(stage, run), {
        'plan.created': 1,
        'teammate.joined': 4,
        'task.started': 3,
        'task.settled': 4,
        'plan.aborted': 1,
      })
    },
  },
  {
    invariant: 'K3',
    name: 'planned: a recruit that the next task waits for, and mail to a pending member, over a kill',
    restarts: true,
    async play(stage) {
      const read: Json[] = []
      const root = teamOf([task('a'), task('e', 'a')], {
        a: async (ctx) => {
          const mate = teammate(ctx)
          await mate.recruit({ description: 'help' })
          await mate.send({ to: 'generalist_2', content: 'look at prices' })
          await ctx.next(ctx.ask('q', question('int_1')))
          return step(ctx, 'a', stage.does('a'))
        },
        help: (ctx) => step(ctx, 'help', stage.does('help')),
        e: async (ctx) => {
          const mail = await teammate(ctx).inbox()
          read.push(...mail.map(({ from, content }) => `${from}: ${content as string}`))
          return step(ctx, 'e', stage.does('e', Object.keys(teammate(ctx).inputs).join(' ')))
        },
      })
      const run = await begin(stage, root)
      await stage.question(run)
      await until('the recruit has ended', async () => (await stage.all(run, 'task.settled')).length === 1)
      await stage.fence()
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      const outcome = await stage.outcome(run)
      const recruit = 'dynamic_generalist_1'
      assert.deepEqual(taskResults(outcome), [
        'a succeeded: a',
        `e succeeded: a ${recruit}`,
        `${recruit} succeeded: help`,
      ])
      assert.equal(read.at(-1), 'generalist_1: look at prices')
      for (const name of ['a', 'help', 'e']) assert.equal(stage.count(name), 1, name)
      assert.deepEqual(await facts(stage, run), {
        'plan.created': 1,
        'teammate.joined': 3,
        'task.started': 3,
        'task.settled': 3,
        'recruit.decided': 1,
        'mail.accepted': 1,
        'mail.delivered': 1,
      })
    },
  },
]
