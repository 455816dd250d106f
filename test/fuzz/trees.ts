/**
 * Random trees of agents, as data; the agents that they describe; and an oracle that says how a run of each must end.
 *
 * Owns: the shape of a tree, making one by seed, its agents, the expected end. The oracle is recursion over the data:
 * it knows nothing of journals, crashes, pauses or the order of concurrent ends, because none of them may change how a
 * run ends. Does not own: playing a tree (play.ts).
 */
import {
  agent,
  asTool,
  interrupt,
  loop,
  parallel,
  router,
  sequential,
  step,
  supervisor,
  team,
  transferTo,
  type Agent,
  type AgentContext,
  type Json,
} from 'reeve'
import { breakLoop, exit, teammate } from 'reeve/team'
import { dice } from '../dice.ts'

/**
 * How a leaf ends. `ask` waits for a human and answers with what the human said. `flaky` fails, and answers when
 * whoever leads it tries again.
 */
type LeafEnd = 'answer' | 'fail' | 'flaky' | 'break' | 'exit' | 'ask'

/** A tree of agents. Names are unique in it. */
export type Tree =
  | {
      readonly type: 'leaf'
      readonly name: string
      readonly steps: number
      readonly effect: 'read' | 'idempotent' | 'once'
      readonly end: LeafEnd
    }
  | {
      readonly type: 'caller'
      readonly name: string
      readonly tools: readonly Tree[]
      /** Whether each call is asked about, and what the human decides. */
      readonly asks: false | 'approve' | 'reject'
    }
  | { readonly type: 'sequential' | 'parallel'; readonly name: string; readonly members: readonly Tree[] }
  | { readonly type: 'loop'; readonly name: string; readonly members: readonly Tree[]; readonly iterations: number }
  | {
      readonly type: 'supervisor'
      readonly name: string
      readonly workers: readonly Tree[]
      readonly brain: 'code' | 'model'
      /** Whether a delegation that fails is tried once more. */
      readonly retries: boolean
      /** Whether its workers remember earlier work: then they work one after the other. */
      readonly memory: boolean
      /** Whether its workers are placed apart, each as a child run. */
      readonly apart: boolean
      /** Whether its workers work in the background, where a model leads them. */
      readonly background: boolean
      /** Whether a slow delegation gets a second worker beside it. */
      readonly hedges: boolean
      /** Who works in which turn, by the place among the workers. */
      readonly turns: readonly (readonly number[])[]
    }
  | { readonly type: 'router'; readonly name: string; readonly workers: readonly Tree[] }
  | {
      readonly type: 'team'
      readonly name: string
      readonly roles: readonly Tree[]
      readonly tasks: readonly (readonly number[])[]
      readonly retries: boolean
      readonly mail: boolean
    }

/** A tree by seed, at most four levels deep. */
export function randomTree(seed: number): Tree {
  const roll = dice(seed * 7_919 + 13)
  // of their own: where workers are placed, and what is asked about, changes no tree
  const place = dice(seed * 6_007 + 5)
  const asking = dice(seed * 9_311 + 3)
  const aside = dice(seed * 4_241 + 9)
  const below = (limit: number): number => Math.floor(roll() * limit)
  const pick = <T>(...list: readonly T[]): T => list[below(list.length)]!
  let made = 0
  const grow = (depth: number, inLoop: boolean): Tree => {
    const some = (count: number, loops = inLoop): Tree[] =>
      Array.from({ length: 1 + below(count) }, () => grow(depth + 1, loops))
    const type =
      depth >= 3 ? 'leaf' : pick('leaf', 'caller', 'sequential', 'parallel', 'loop', 'supervisor', 'router', 'team')
    const name = `${type}_${++made}`
    switch (type) {
      case 'leaf': {
        const ends: readonly LeafEnd[] = [
          'answer',
          'answer',
          'answer',
          'ask',
          'fail',
          'flaky',
          'exit',
          inLoop ? 'break' : 'answer',
        ]
        return { type, name, steps: below(3), effect: pick('read', 'idempotent', 'once'), end: pick(...ends) }
      }
      case 'caller':
        return { type, name, tools: some(3, false), asks: asksOf(asking()) }
      case 'sequential':
      case 'parallel':
        return { type, name, members: some(3) }
      case 'loop':
        return { type, name, members: some(2, true), iterations: 1 + below(3) }
      case 'supervisor': {
        const workers = some(3, false)
        const turns = Array.from({ length: 1 + below(3) }, () =>
          Array.from({ length: 1 + below(3) }, () => below(workers.length)),
        )
        const [brain, retries, memory] = [pick<'code' | 'model'>('code', 'model'), roll() < 0.5, roll() < 0.3]
        return {
          type,
          name,
          workers,
          brain,
          turns,
          retries,
          memory,
          apart: place() < 0.3,
          background: aside() < 0.4,
          hedges: aside() < 0.25 && !memory,
        }
      }
      case 'router':
        return { type, name, workers: some(3) }
      default: {
        const roles = some(2, false)
        const tasks = Array.from({ length: 1 + below(4) }, (_, i) =>
          Array.from({ length: i }, (_each, before) => before).filter(() => roll() < 0.3),
        )
        return {
          type: 'team',
          name,
          roles,
          tasks,
          retries: roll() < 0.5,
          mail: roll() < 0.5 && roles.every((each) => each.type === 'leaf'),
        }
      }
    }
  }
  return grow(0, false)
}

const asksOf = (chance: number): 'approve' | 'reject' | false =>
  chance < 0.25 ? 'approve' : chance < 0.4 ? 'reject' : false

/** What the human decides about a call of this caller. */
export function decisionOf(tree: Tree, caller: string): 'approve' | 'reject' {
  const found = partsOf(tree).find((each) => each.name === caller)
  if (found?.type !== 'caller' || found.asks === false) throw new Error(`${caller} asks for no approval`)
  return found.asks
}

/** A tree and everything in it. */
export function partsOf(tree: Tree): readonly Tree[] {
  if (tree.type === 'leaf') return [tree]
  const parts =
    'members' in tree ? tree.members : 'workers' in tree ? tree.workers : 'tools' in tree ? tree.tools : tree.roles
  return [tree, ...parts.flatMap(partsOf)]
}

/** Does one step of a leaf in the outside world. It must be the same work when it is done again with the same key. */
export type Deed = (label: string, key: string) => void

const saidBy = (name: string): string => `${name} is done`

/** What is said when work in the background has ended. */
const endNote = 'Ended since you were last asked'

/**
 * How often the model has called since its brief, the last message of a user that does not tell the end of work in the
 * background.
 */
function callsSoFar(
  messages: readonly {
    readonly role: string
    readonly content?: unknown
    readonly calls?: readonly unknown[] | undefined
  }[],
): number {
  const brief = messages.findLastIndex(
    ({ role, content }) => role === 'user' && !(typeof content === 'string' && content.startsWith(endNote)),
  )
  return messages.slice(brief + 1).filter(({ role, calls }) => role === 'assistant' && (calls ?? []).length > 0).length
}

/** Where it works, without the run: in a fork it is the same. */
const placeIn = (ctx: AgentContext): string => ctx.place.activation.replace(/^[^>]*/, '')

/**
 * Which of its workers a router has had: counted in the run, so that it survives a crash, and for this activation of
 * the router, of which several may work at once.
 */
async function next(ctx: AgentContext, name: string): Promise<number> {
  // the lead begins in the router's own activation, and goes on in one of its own after every return
  const segments = placeIn(ctx).split('>')
  const own =
    ctx.place.path.length === 1 || ctx.place.path[0] === name
      ? 0
      : segments.findIndex((each) => each.endsWith(`/${name}`))
  const key = `turns of ${segments.slice(0, own + 1).join('>')}`
  const now = ((await ctx.values.get(key)) as number | undefined) ?? 0
  await ctx.values.update(key, () => now + 1)
  return now
}

/**
 * Whether this is the first attempt at the work: counted in the run, so that it survives a crash. Another attempt has
 * the address of the first, with its number.
 */
async function isFirst(ctx: AgentContext): Promise<boolean> {
  const now = await ctx.values.update(`attempts of ${placeIn(ctx).replace(/#\d+$/, '')}`, (n) => Number(n ?? 0) + 1)
  return now === 1
}

const again = { attempts: 2, backoffMs: 1, jitter: false } as const

/** What a leaf of a team does besides: writes to everybody, and reads. */
type Role = { readonly mails: boolean }

/** The agents of a tree. `role`: it has tasks of a team. */
export function agentOf(tree: Tree, deed: Deed, role?: Role): Agent {
  const { name } = tree
  const description = `Does the work of ${name}.`
  const limits = { turns: 10_000 }
  const made = (list: readonly Tree[]): Agent[] => list.map((each) => agentOf(each, deed))
  switch (tree.type) {
    case 'leaf':
      return agent({
        name,
        description,
        run: async (ctx) => {
          if (role?.mails === true) {
            await teammate(ctx).send({ to: '*', content: name })
            await teammate(ctx).inbox()
          }
          for (let i = 0; i < tree.steps; i++)
            await step(ctx, `deed ${i}`, ({ key }) => (deed(`${name} ${i}`, key), i), { effect: tree.effect })
          if (tree.end === 'fail') throw new Error(`${name} fails`)
          if (tree.end === 'flaky' && (role === undefined ? await isFirst(ctx) : teammate(ctx).attempt === 1))
            throw new Error(`${name} fails`)
          if (tree.end === 'ask') return `${name}: ${(await interrupt(ctx, { question: name })) as string}`
          if (tree.end === 'break') return breakLoop(saidBy(name))
          return tree.end === 'exit' ? exit(saidBy(name)) : saidBy(name)
        },
      })
    case 'caller': {
      const tools = made(tree.tools)
      return agent({
        name,
        description,
        tools: tools.map((each) => asTool(each, { approval: tree.asks !== false })),
        limits,
        model: ({ messages }) =>
          callsSoFar(messages) > 0
            ? saidBy(name)
            : { calls: tools.map((each) => ({ name: each.name, input: { request: 'Go' } })) },
      })
    }
    case 'sequential':
      return sequential({ name, description, agents: made(tree.members) })
    case 'parallel':
      return parallel({ name, description, agents: made(tree.members) })
    case 'loop':
      return loop({ name, description, agents: made(tree.members), maxIterations: tree.iterations })
    case 'supervisor': {
      const workers = made(tree.workers)
      const own = {
        ...(tree.apart ? { place: 'apart' as const } : undefined),
        ...(tree.hedges ? { hedge: { afterMs: 2 } } : undefined),
      }
      const delegation = {
        ...(tree.retries ? { retry: { ...again, when: () => true } } : undefined),
        ...(tree.memory ? { memory: 'continue' as const } : undefined),
        ...(tree.background && tree.brain === 'model' ? { background: { workers: 'all' as const } } : undefined),
        workers: Object.fromEntries(workers.map((each) => [each.name, own])),
      }
      const asked = tree.turns.map((turn) => turn.map((place) => workers[place]!.name))
      if (tree.brain === 'code')
        return supervisor({
          name,
          description,
          limits,
          workers,
          delegation,
          run: async (_ctx, _brief, staff) => {
            for (const turn of asked) await Promise.all(turn.map((worker) => staff.delegate(worker, 'Go')))
            return saidBy(name)
          },
        })
      return supervisor({
        name,
        description,
        limits,
        workers,
        delegation,
        model: ({ messages }) => {
          const turn = asked[callsSoFar(messages)]
          if (turn === undefined) return saidBy(name)
          return { calls: turn.map((worker) => ({ name: 'delegate', input: { worker, instructions: 'Go' } })) }
        },
      })
    }
    case 'router': {
      const workers = made(tree.workers)
      return router({
        name,
        description,
        limits,
        workers,
        run: async (ctx) => {
          const worker = workers[await next(ctx, name)]
          return worker === undefined ? saidBy(name) : transferTo(worker.name)
        },
      })
    }
    default: {
      const roles = Object.fromEntries(tree.roles.map((each) => [each.name, agentOf(each, deed, { mails: tree.mail })]))
      const names = Object.keys(roles)
      const subtasks = tree.tasks.map((dependencies, i) => ({
        id: `t${i}`,
        description: `task ${i}`,
        role: names[i % names.length]!,
        dependencies: dependencies.map((each) => `t${each}`),
      }))
      return team({
        name,
        description,
        roles: {
          generalist: agent({ name: `${name}_nobody`, description: 'Works where no role fits.', run: () => 'unused' }),
          ...roles,
        },
        planner: { subtasks },
        tolerance: 100,
        retry: tree.retries ? again : { attempts: 1 },
        synthesize: () => saidBy(name),
      })
    }
  }
}

/** How a piece of a tree ends. */
export type End =
  | { readonly status: 'completed'; readonly output: Json; readonly exits?: boolean; readonly breaks?: boolean }
  /** `final`: a team does not try such work again. */
  | { readonly status: 'failed'; readonly breaks?: boolean; readonly final?: true }

/** What must be true of every run of a tree. */
export interface Expected {
  readonly end: End
  /** How often each step is done, under as many keys. */
  readonly deeds: ReadonlyMap<string, number>
  /** How much mail is sent; undefined: a hedged worker, which is stopped anywhere, leads a team that writes. */
  readonly mails: number | undefined
  /** The leaves below hedged workers: how often these work depends on who is faster. */
  readonly hedged: ReadonlySet<string>
}

/** What a human answers who is asked by a leaf. */
export const humanSays = 'yes'

/** How a run of a tree ends, and what is done in it. */
export function expectedOf(tree: Tree): Expected {
  const deeds = new Map<string, number>()
  let mails = 0
  /**
   * How many of those around it are at another attempt: what is `once` was done in the first, and what is `idempotent`
   * is done again under the same key.
   */
  let repeats = 0
  const line = (members: readonly Tree[], onBreak: 'pass' | 'stop'): End & { readonly stops: boolean } => {
    let last: End = { status: 'completed', output: null }
    let breaks = false
    let stops = false
    for (const member of members) {
      last = end(member)
      breaks ||= last.breaks === true
      stops = last.status !== 'completed' || last.exits === true
      if (stops || (breaks && onBreak === 'stop')) break
    }
    return { ...last, breaks, stops }
  }
  /** No exit and no break leaves a worker. */
  const inside = (each: Tree): End => {
    const { breaks: _breaks, ...ended } = end(each)
    return ended.status === 'completed' ? { status: 'completed', output: ended.output } : ended
  }
  /** What is delegated, or a task: tried once more where it fails. */
  const worked = (each: Tree, retries: 'always' | 'what may pass' | false, mailing = false): End => {
    const sends = mailing && each.type === 'leaf' ? 1 : 0
    mails += sends
    const first = inside(each)
    if (first.status === 'completed' || retries === false || (first.final === true && retries !== 'always'))
      return first
    repeats++
    mails += sends
    const second = inside(each)
    repeats--
    return each.type === 'leaf' && each.end === 'flaky' ? { status: 'completed', output: saidBy(each.name) } : second
  }
  const end = (each: Tree): End => {
    switch (each.type) {
      case 'leaf':
        for (let i = 0; i < each.steps && (repeats === 0 || each.effect === 'read'); i++)
          deeds.set(`${each.name} ${i}`, (deeds.get(`${each.name} ${i}`) ?? 0) + 1)
        if (each.end === 'fail' || each.end === 'flaky') return { status: 'failed' }
        if (each.end === 'ask') return { status: 'completed', output: `${each.name}: ${humanSays}` }
        return {
          status: 'completed',
          output: saidBy(each.name),
          exits: each.end === 'exit',
          breaks: each.end === 'break',
        }
      case 'caller':
        if (each.asks !== 'reject') each.tools.forEach(inside)
        return { status: 'completed', output: saidBy(each.name) }
      case 'sequential': {
        const { stops: _stops, ...ended } = line(each.members, 'pass')
        return ended
      }
      case 'loop': {
        let last: End = { status: 'completed', output: null }
        for (let i = 0; i < each.iterations; i++) {
          const { stops, breaks, ...ended } = line(each.members, 'stop')
          last = ended
          if (stops || breaks === true) break
        }
        return last
      }
      case 'parallel': {
        const ends = each.members.map(end)
        const breaks = ends.some((one) => one.breaks === true)
        const bad = ends.find(({ status }) => status !== 'completed')
        if (bad !== undefined) return { ...bad, breaks }
        const exited = ends.find((one) => one.status === 'completed' && one.exits === true)
        if (exited !== undefined) return { ...exited, breaks }
        return {
          status: 'completed',
          output: ends.map((one) => (one.status === 'completed' ? one.output : null)),
          breaks,
        }
      }
      case 'supervisor':
        for (const turn of each.turns) for (const place of turn) worked(each.workers[place]!, each.retries && 'always')
        return { status: 'completed', output: saidBy(each.name) }
      case 'router': {
        let breaks = false
        for (const worker of each.workers) {
          const ended = end(worker)
          breaks ||= ended.breaks === true
          if (ended.status === 'completed' && ended.exits === true) return { ...ended, breaks }
        }
        return { status: 'completed', output: saidBy(each.name), breaks }
      }
      default: {
        const ends = each.tasks.map((_dependencies, i) =>
          worked(each.roles[i % each.roles.length]!, each.retries && 'what may pass', each.mail),
        )
        const outputs = ends.flatMap((one) => (one.status === 'completed' ? [one.output] : []))
        if (outputs.length === 0) return { status: 'failed', final: true }
        // one result, however often it was given, is the answer as it is where every task has succeeded
        const plain =
          outputs.length === ends.length && outputs.every((one) => one === outputs[0] && typeof one === 'string')
        return { status: 'completed', output: plain ? outputs[0]! : saidBy(each.name) }
      }
    }
  }
  const hedged = partsOf(tree)
    .flatMap((each) => (each.type === 'supervisor' && each.hedges ? each.workers : []))
    .flatMap(partsOf)
  return {
    end: end(tree),
    deeds,
    mails: hedged.some((each) => each.type === 'team' && each.mail) ? undefined : mails,
    hedged: new Set(hedged.map(({ name }) => name)),
  }
}
