/**
 * Ways of working together in which something is done that a human has approved: for the oracle of forks.
 *
 * Owns: the shapes, and the record of what they do. Does not own: how they are played (fork-oracle.test.ts).
 */
import {
  agent,
  asTool,
  loop,
  router,
  sequential,
  step,
  supervisor,
  team,
  tool,
  type Agent,
  type AgentContext,
} from '@reeve/public'
import { teammate } from '@reeve/agent'
import type { ModelFunction } from '@reeve/model'
import type { Oversight } from '@reeve/public/oversight'
import { calls, delegates } from '../scenario/team.ts'

/** What was done, by the idempotency key under which it was. */
export interface Act {
  readonly name: string
  readonly key: string
}

/** One shape. */
export interface Shape {
  readonly name: string
  readonly make: (acts: Act[]) => Agent
  readonly oversight?: Oversight
  /** The first yes is a grant for what is asked later, too. */
  readonly grants?: true
  /** Acts that need no yes of their own: what code does after what was approved. */
  readonly follow?: readonly string[]
}

/** Calls once, and has done when the result is there. */
const once =
  (first: ReturnType<typeof calls>): ModelFunction =>
  ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'done' : first

const does = (acts: Act[], name: string) => (io: { readonly key: string }) => {
  acts.push({ name, key: io.key })
  return `${name} done`
}

const payTool = (acts: Act[]) =>
  tool({
    name: 'pay',
    approval: true,
    effect: 'once',
    input: { type: 'object' },
    execute: (_input, io) => does(acts, 'pay')(io),
  })

const paysByTool = (acts: Act[], name = 'w'): Agent =>
  agent({ name, description: 'Pays.', tools: [payTool(acts)], model: once(calls(['pay', {}])) })

/** Is approved, waits for somebody, and ships. */
const shipsByCode = (acts: Act[]): Agent =>
  agent({
    name: 'w',
    description: 'Ships.',
    run: async (ctx) => {
      const { approved } = await ctx.approve('ship', { input: {} })
      if (!approved) return 'not shipped'
      await ctx.interrupt('now?')
      return step(ctx, 'ship', does(acts, 'ship'), { effect: 'once' })
    },
  })

/** Does what whoever began it has approved: something, then something else after somebody has answered. */
const ships = (acts: Act[], name = 'w'): Agent =>
  agent({
    name,
    description: 'Ships.',
    run: async (ctx) => {
      await ctx.step('look', () => 'looked', { effect: 'read' })
      await step(ctx, 'pack', does(acts, 'pack'), { effect: 'once' })
      await ctx.interrupt('now?')
      return step(ctx, 'ship', does(acts, 'ship'))
    },
  })

/** Does one thing, and asks nobody. */
const packs = (acts: Act[]): Agent =>
  agent({
    name: 'packer',
    description: 'Packs.',
    run: (ctx) => step(ctx, 'wrap', does(acts, 'wrap'), { effect: 'once' }),
  })

type SupervisorMore = Partial<Parameters<typeof supervisor>[0]>
const boss = (worker: Agent, more: object = {}): Agent =>
  supervisor({
    name: 'boss',
    description: 'Leads.',
    workers: [worker],
    model: once(delegates([worker.name, 'go'])),
    ...(more as SupervisorMore),
  } as Parameters<typeof supervisor>[0])

const crew = (worker: Agent, more: object = {}, task: object = {}): Agent =>
  team({
    name: 'crew',
    description: 'Plans.',
    roles: { generalist: worker },
    planner: { subtasks: [{ id: 'x', description: 'x', ...task }] },
    ...more,
  })

const inCommand: Oversight = { mode: 'in-command' }

/** Both are asked about at once. */
const both = (acts: Act[]): Agent =>
  agent({
    name: 'w',
    description: 'Ships twice.',
    run: async (ctx) => {
      const branch = async (name: string): Promise<string> => {
        const own: AgentContext = ctx.scope(name)
        const { approved } = await own.approve(name, { input: {} })
        return approved ? step(own, name, does(acts, name), { effect: 'once' }) : 'no'
      }
      const [left] = await Promise.all([branch('left'), branch('right')])
      await ctx.interrupt('and now?')
      return left
    },
  })

const failsFirst = (acts: Act[]): Agent =>
  agent({
    name: 'w',
    description: 'Is approved, and at first it fails.',
    run: async (ctx) => {
      const { approved } = await ctx.approve('ship', { input: {} })
      if (!approved) return 'not shipped'
      const first = (await ctx.interrupt('is it the first time?')) as unknown
      if (first === 'yes') throw new Error('not yet')
      return step(ctx, 'ship', does(acts, 'ship'), { effect: 'once' })
    },
  })

const recruits = (acts: Act[]): Agent =>
  agent({
    name: 'w',
    description: 'Recruits one that ships.',
    run: async (ctx: AgentContext, brief: string) => {
      const task = brief.split('\n')[0]
      if (task === 'x') {
        const answer = await teammate(ctx).recruit({ description: 'helps', role: 'scout' })
        return answer.admitted ? 'recruited' : 'alone'
      }
      await ctx.interrupt('now?')
      return step(ctx, 'scout', does(acts, 'scout'), { effect: 'once' })
    },
  })

/** Writes to the other member, who answers, and ships what was approved for it. */
const writes = (acts: Act[]): Agent =>
  agent({
    name: 'w',
    description: 'Writes, and ships.',
    run: async (ctx: AgentContext, brief: string) => {
      const me = teammate(ctx)
      const [own, other] = brief.startsWith('x') ? ['x', 'y'] : ['y', 'x']
      await me.send({ to: `w_${other === 'x' ? 1 : 2}`, content: `from ${own}` })
      await me.inbox()
      await ctx.interrupt('now?')
      await me.send({ to: `w_${other === 'x' ? 1 : 2}`, content: `again from ${own}` })
      await me.inbox()
      return step(ctx, `ship ${own}`, does(acts, `ship ${own}`), { effect: 'once' })
    },
  })

/** Every way of working together, each with something that a human approves. */
export const shapes: readonly Shape[] = [
  { name: 'a tool of an agent', make: paysByTool },
  { name: 'a tool of a worker', make: (acts) => boss(paysByTool(acts)) },
  { name: 'a tool in a planned team', make: (acts) => crew(paysByTool(acts)) },
  { name: 'a tool in a team under a supervisor', make: (acts) => boss(crew(paysByTool(acts))) },
  { name: 'code of an agent', make: shipsByCode },
  { name: 'code of a worker', make: (acts) => boss(shipsByCode(acts)) },
  { name: 'code in a planned team', make: (acts) => crew(shipsByCode(acts)) },
  { name: 'a worker in command', make: (acts) => boss(ships(acts)), oversight: inCommand },
  { name: 'a task in command', make: (acts) => crew(ships(acts)), oversight: inCommand },
  {
    name: 'a task that always asks',
    make: (acts) => crew(ships(acts), {}, { requiresApproval: true, action: 'publish' }),
  },
  {
    name: 'tasks beside and after each other in command',
    make: (acts) =>
      team({
        name: 'crew',
        roles: { generalist: ships(acts), payer: paysByTool(acts, 'payer') },
        planner: {
          subtasks: [
            { id: 'x', description: 'x', requiresApproval: true },
            { id: 'y', description: 'y', role: 'payer' },
            { id: 'z', description: 'z', role: 'payer', dependencies: ['x'] },
          ],
        },
      }),
  },
  { name: 'a tool of a worker in command', make: (acts) => boss(paysByTool(acts)), oversight: inCommand },
  { name: 'code of a worker in command', make: (acts) => boss(shipsByCode(acts)), oversight: inCommand },
  { name: 'a worker two levels deep in command', make: (acts) => boss(renamedBoss(ships(acts))), oversight: inCommand },
  { name: 'a tool in a sequence', make: (acts) => sequential({ name: 'line', agents: [paysByTool(acts)] }) },
  {
    name: 'a tool in a loop',
    make: (acts) => loop({ name: 'rounds', maxIterations: 2, agents: [paysByTool(acts)] }),
  },
  {
    name: 'a tool behind a router',
    make: (acts) =>
      router({
        name: 'desk',
        model: ({ messages }) =>
          JSON.stringify(messages).includes('done') ? 'final' : calls(['transfer_to_agent', { agent_name: 'w' }]),
        workers: [paysByTool(acts)],
      }),
  },
  {
    name: 'a tool of a worker apart',
    make: (acts) => boss(paysByTool(acts), { delegation: { workers: { w: { place: 'apart' } } } }),
  },
  {
    name: 'a team apart',
    make: (acts) => boss(crew(paysByTool(acts)), { delegation: { workers: { crew: { place: 'apart' } } } }),
  },
  {
    name: 'a worker apart in command',
    make: (acts) => boss(ships(acts), { delegation: { workers: { w: { place: 'apart' } } } }),
    oversight: inCommand,
  },
  {
    name: 'a tool of a worker with a time limit',
    make: (acts) => boss(paysByTool(acts), { delegation: { timeoutMs: 600_000 } }),
  },
  {
    name: 'a worker with a time limit in command',
    make: (acts) => boss(ships(acts), { delegation: { timeoutMs: 600_000 } }),
    oversight: inCommand,
  },
  {
    name: 'a tool of a worker with a hedge',
    make: (acts) =>
      boss(paysByTool(acts), {
        workers: [paysByTool(acts), agent({ name: 'other', description: 'Waits.', model: () => 'nothing' })],
        delegation: { workers: { w: { hedge: { afterMs: 600_000, with: 'other' } } } },
      }),
  },
  {
    name: 'a tool of a worker in the background',
    make: (acts) => boss(paysByTool(acts), { delegation: { background: { workers: ['w'] } } }),
  },
  { name: 'a plan', make: (acts) => crew(paysByTool(acts), { approvePlan: true }) },
  { name: 'a plan whose tasks nobody is asked about', make: (acts) => crew(ships(acts), { approvePlan: true }) },
  {
    name: 'a plan of tasks after each other',
    make: (acts) =>
      team({
        name: 'crew',
        roles: { generalist: ships(acts), packer: packs(acts) },
        planner: {
          subtasks: [
            { id: 'x', description: 'x', role: 'packer' },
            { id: 'y', description: 'y', dependencies: ['x'] },
          ],
        },
        approvePlan: true,
      }),
  },
  {
    name: 'a plan of which one task is approved on its own',
    make: (acts) =>
      team({
        name: 'crew',
        roles: { generalist: ships(acts), packer: packs(acts) },
        planner: {
          subtasks: [
            { id: 'x', description: 'x', role: 'packer', requiresApproval: true },
            { id: 'y', description: 'y' },
          ],
        },
        approvePlan: true,
      }),
  },
  {
    name: 'two tasks in command that write to each other',
    make: (acts) =>
      team({
        name: 'crew',
        roles: { w: writes(acts) },
        planner: {
          subtasks: [
            { id: 'x', description: 'x', role: 'w' },
            { id: 'y', description: 'y', role: 'w' },
          ],
        },
      }),
    oversight: inCommand,
  },
  { name: 'a recruit', make: (acts) => crew(recruits(acts), { recruit: { policy: () => 'ask' } }) },
  {
    name: 'a recruit in command',
    make: (acts) => crew(recruits(acts)),
    oversight: inCommand,
  },
  { name: 'a recruit under an approved plan', make: (acts) => crew(recruits(acts), { approvePlan: true }) },
  {
    name: 'a standing grant',
    grants: true,
    make: (acts) => {
      const note = tool({
        name: 'note',
        approval: true,
        effect: 'once',
        input: { type: 'object' },
        execute: (_input, io) => does(acts, 'note')(io),
      })
      return agent({
        name: 'w',
        description: 'Notes twice.',
        tools: [note],
        model: ({ messages }) => {
          const done = messages.filter(({ role }) => role === 'tool').length
          return done < 2 ? calls(['note', {}]) : 'done'
        },
      })
    },
  },
  {
    name: 'an approval that two effects follow',
    follow: ['second'],
    make: (acts) =>
      agent({
        name: 'w',
        description: 'Does two things.',
        run: async (ctx) => {
          const { approved } = await ctx.approve('both', { input: {} })
          if (!approved) return 'no'
          await step(ctx, 'first', does(acts, 'first'), { effect: 'once' })
          await ctx.interrupt('now?')
          return step(ctx, 'second', does(acts, 'second'), { effect: 'once' })
        },
      }),
  },
  { name: 'two approvals at once', make: both },
  {
    name: 'a second attempt of a worker',
    make: (acts) => boss(failsFirst(acts), { delegation: { retry: { attempts: 2, backoffMs: 0, when: () => true } } }),
  },
  {
    name: 'an agent as a tool',
    make: (acts) =>
      agent({
        name: 'root',
        description: 'Has it shipped.',
        tools: [asTool(ships(acts), { approval: true })],
        model: once(calls(['w', { request: 'go' }])),
      }),
  },
  {
    name: 'a tool that is code',
    make: (acts) =>
      agent({
        name: 'root',
        description: 'Has it shipped.',
        tools: [
          tool({
            name: 'send',
            approval: true,
            input: { type: 'object' },
            run: async (ctx: AgentContext) => {
              await ctx.interrupt('now?')
              return step(ctx, 'send', does(acts, 'send'), { effect: 'once' })
            },
          }),
        ],
        model: once(calls(['send', {}])),
      }),
  },
]

function renamedBoss(worker: Agent): Agent {
  return supervisor({
    name: 'mid',
    description: 'Leads, too.',
    workers: [worker],
    model: once(delegates([worker.name, 'go'])),
  })
}
