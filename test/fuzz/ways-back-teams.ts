/**
 * Random teams whose workers pay, as data, and the agents that they describe.
 *
 * Owns: the shape of such a team, making one by seed, its agents in any version. Does not own: what happens to its runs
 * (ways-back.ts). Every worker pays at most once in a run, so that an oracle can count: its name is the label of its
 * payment, and its answer says whether it has paid.
 */
import { agent, parallel, sequential, step, supervisor, team, tool, type Agent, type AgentContext } from 'reeve'
import { dice } from '../dice.ts'

/** How a payment is permitted: by an approval of the tool, of code, of the worker or its task, or by nobody. */
export type Gate = 'tool' | 'code' | 'command' | 'none'

/** A team that pays. Names are unique in it. */
export type PayingTeam =
  | {
      readonly type: 'payer'
      readonly name: string
      readonly gate: Gate
      /** Fails once after it has paid, so that whoever leads it may try again. */
      readonly isFlaky: boolean
    }
  | { readonly type: 'sequential' | 'parallel'; readonly name: string; readonly members: readonly PayingTeam[] }
  | {
      readonly type: 'supervisor'
      readonly name: string
      readonly workers: readonly PayingTeam[]
      readonly command: boolean
      readonly retries: boolean
      readonly memory: boolean
      readonly apart: boolean
      readonly background: boolean
      readonly timeout: boolean
      readonly hedges: boolean
    }
  | {
      readonly type: 'team'
      readonly name: string
      readonly roles: readonly PayingTeam[]
      readonly command: boolean
      readonly retries: boolean
      /** A person looks at each result, and may send it back. */
      readonly reviews: boolean
    }

/** A team by seed, at most three levels deep. */
export function randomPayingTeam(seed: number): PayingTeam {
  const roll = dice(seed * 12_289 + 31)
  const below = (limit: number): number => Math.floor(roll() * limit)
  const pick = <T>(...list: readonly T[]): T => list[below(list.length)]!
  let made = 0
  const payer = (inCommand: boolean): PayingTeam => ({
    type: 'payer',
    name: `payer_${++made}`,
    gate: inCommand ? 'command' : pick('tool', 'tool', 'code', 'none'),
    isFlaky: roll() < 0.25,
  })
  const grow = (depth: number, inCommand: boolean): PayingTeam => {
    const some = (count: number, command = inCommand): PayingTeam[] =>
      Array.from({ length: 1 + below(count) }, () => grow(depth + 1, command))
    const type =
      depth === 0
        ? pick('supervisor', 'supervisor', 'team', 'team', 'sequential')
        : depth < 2
          ? pick('payer', 'payer', 'payer', 'supervisor', 'team', 'sequential', 'parallel')
          : 'payer'
    if (type === 'payer') return payer(inCommand)
    const name = `${type}_${++made}`
    const payers = (): PayingTeam[] => Array.from({ length: 1 + below(2) }, () => payer(true))
    if (type === 'sequential' || type === 'parallel') return { type, name, members: some(2) }
    // a person in command is asked about whoever works directly below, and about each tool below that
    const command = roll() < 0.3
    const below1 = command ? payers() : some(2, false)
    const retries = roll() < 0.5
    if (type === 'team') return { type, name, roles: below1, command, retries, reviews: !command && roll() < 0.3 }
    const memory = roll() < 0.25
    return {
      type,
      name,
      workers: below1,
      command,
      retries,
      memory,
      apart: !command && roll() < 0.25,
      background: roll() < 0.2,
      timeout: roll() < 0.3,
      hedges: !memory && !command && roll() < 0.15,
    }
  }
  return grow(0, false)
}

/** The team and everybody in it. */
export const everybodyIn = (one: PayingTeam): readonly PayingTeam[] =>
  one.type === 'payer'
    ? [one]
    : [one, ...('members' in one ? one.members : 'workers' in one ? one.workers : one.roles).flatMap(everybodyIn)]

/** The payers below a hedge: two of the same name may work at once. */
export const hedgedIn = (one: PayingTeam): ReadonlySet<string> =>
  new Set(
    everybodyIn(one)
      .flatMap((each) => (each.type === 'supervisor' && each.hedges ? each.workers : []))
      .flatMap(everybodyIn)
      .map(({ name }) => name),
  )

/** The outside: pays, and fails at the right moments. */
export interface Outside {
  /** Pays for this worker. Gives the receipt. */
  pay(label: string, key: string): string
  /** Throws the first time for each run and label. */
  weather(label: string, key: string): string
}

export const receiptOf = (label: string): string => `receipt of ${label}.`
const paidBy = (label: string): string => `paid: ${label}.`
export const unpaidBy = (label: string): string => `unpaid: ${label}.`

/** Whether a text tells that something was done before, or perhaps. */
export const isToldDone = (text: string): boolean =>
  /already done|perhaps did|perhaps done|perhaps "|not repeated/.test(text)

/** Whoever is told that it was done before, or perhaps, does not say that it was not. */
const answerTo = (label: string, told: string): string => {
  if (told.includes(receiptOf(label))) return paidBy(label)
  return isToldDone(told) ? `perhaps paid: ${label}.` : unpaidBy(label)
}

const noRetry = { attempts: 1 } as const
const again = { attempts: 2, backoffMs: 1, jitter: false } as const

async function works(ctx: AgentContext, one: PayingTeam & { type: 'payer' }, outside: Outside): Promise<string> {
  const { name, gate, isFlaky } = one
  let told = ''
  const order = ctx.id('order')
  if (gate === 'code') {
    const word = await ctx.approve('pay', { input: { label: name } })
    told = word.approved
      ? await step(ctx, 'pay', ({ key }) => outside.pay(name, key), { effect: 'once', retry: noRetry })
      : word.feedback
  } else told = await step(ctx, 'pay', ({ key }) => outside.pay(name, key), { effect: 'once', retry: noRetry })
  // what is drawn again in a fork is the same, or the address of this step is another
  await step(ctx, `note ${order}`, () => null, { effect: 'read' })
  if (isFlaky) await step(ctx, 'weather', ({ key }) => outside.weather(name, key), { effect: 'read', retry: noRetry })
  return answerTo(name, told)
}

/** The agents of a team, in this version. */
export function payingAgent(one: PayingTeam, outside: Outside, version: string): Agent {
  const { name } = one
  const about = { name, description: `Does the work of ${name}.`, version }
  const made = (list: readonly PayingTeam[]): Agent[] => list.map((each) => payingAgent(each, outside, version))
  const limits = { turns: 10_000 }
  switch (one.type) {
    case 'payer': {
      if (one.gate !== 'tool') return agent({ ...about, run: (ctx) => works(ctx, one, outside) })
      const pay = tool({
        name: 'pay',
        description: 'Pays.',
        approval: true,
        effect: 'once',
        retry: noRetry,
        input: { type: 'object', properties: { label: { type: 'string' } } },
        execute: (_input, { key }) => outside.pay(name, key),
      })
      return agent({
        ...about,
        limits,
        tools: [pay],
        model: ({ messages }) => {
          const brief = messages.findLastIndex(({ role }) => role === 'user')
          const told = messages.slice(brief + 1).filter(({ role }) => role === 'tool')
          if (told.length === 0) return { calls: [{ name: 'pay', input: { label: name } }] }
          if (one.isFlaky) outside.weather(name, '')
          return answerTo(name, JSON.stringify(told))
        },
        retry: noRetry,
      })
    }
    case 'sequential':
      return sequential({ ...about, agents: made(one.members) })
    case 'parallel':
      return parallel({ ...about, agents: made(one.members) })
    case 'supervisor': {
      const workers = made(one.workers)
      const own = {
        ...(one.apart ? { place: 'apart' as const } : undefined),
        ...(one.hedges ? { hedge: { afterMs: 500 } } : undefined),
      }
      return supervisor({
        ...about,
        limits,
        workers,
        ...(one.command ? { oversight: { mode: 'in-command' as const } } : undefined),
        delegation: {
          ...(one.retries ? { retry: { ...again, when: () => true } } : undefined),
          ...(one.memory ? { memory: 'continue' as const } : undefined),
          ...(one.background ? { background: { workers: 'all' as const } } : undefined),
          ...(one.timeout ? { timeoutMs: 3_600_000 } : undefined),
          workers: Object.fromEntries(workers.map((each) => [each.name, own])),
        },
        model: ({ messages }) => {
          const calls = messages.filter((each) => each.role === 'assistant' && (each.calls ?? []).length > 0).length
          const worker = workers[calls]
          if (worker !== undefined)
            return { calls: [{ name: 'delegate', input: { worker: worker.name, instructions: 'Pay.' } }] }
          return `${name} is done`
        },
      })
    }
    default: {
      const roles = Object.fromEntries(one.roles.map((each) => [each.name, payingAgent(each, outside, version)]))
      const names = Object.keys(roles)
      return team({
        ...about,
        roles: {
          generalist: agent({
            name: `${name}_nobody`,
            description: 'Works where no role fits.',
            version,
            run: () => 'unused',
          }),
          ...roles,
        },
        ...(one.command
          ? { oversight: { mode: 'in-command' as const } }
          : one.reviews
            ? { oversight: { mode: 'in-the-loop' as const } }
            : undefined),
        planner: {
          subtasks: names.map((role, i) => ({
            id: role,
            description: `The task of ${role}`,
            role,
            ...(one.reviews ? { review: true } : undefined),
            dependencies: names.slice(0, i),
          })),
        },
        tolerance: 100,
        retry: one.retries ? again : { attempts: 1 },
        synthesize: () => `${name} is done`,
      })
    }
  }
}
