/**
 * Member: one agent's turn in a flow: what crosses to it, and how its end is read.
 *
 * Owns: the policy of the edge between a flow and its members, starting one, labelling its failure. Does not own: who
 * is next (control-loop.ts, fixed-order.ts).
 * Holds: K4 (every member in a scope of its own).
 */
import {
  choice,
  choiceOr,
  failed,
  failure,
  handoffOf,
  hasNames,
  isFunction,
  jsonIn,
  messageOf,
  object,
  own,
  recordOf,
  withHandoff,
  type ActivationId,
  type Check,
  type Checks,
  type Failure,
  type HistoryEntry,
  type Outcome,
} from '@reeve/core'
import { agentsIn, usdCapOf, type Agent, type UsdCap } from '@reeve/agent'
import {
  accountLimits,
  encodeEdge,
  labelled,
  limitsCheck,
  memberEdge,
  oversightCheck,
  permissionsCheck,
  revised,
  tighter,
  type Brief,
  type Candidate,
  type Edge,
  type Limits,
  type Oversight,
  type Permissions,
} from '@reeve/edge'
import { isLeaving, type Context } from '@reeve/engine'
import { afterFailures, failureCounterOf, workerEnd } from '@reeve/oversight'
import type { FlowConversation, HistoryPolicy, Shares } from './conversation.ts'

/** What crosses between a flow and one of its members. */
export interface MemberEdge {
  /** How much of what was said before it is shown. Default `conversation`. */
  readonly context?: HistoryPolicy
  /** How much of what it says others are shown. Default `conversation`. */
  readonly shares?: Shares
  /** Whether it is shown how control was handed on. Default `hidden`: such messages only cost. */
  readonly transfers?: 'shown' | 'hidden'
  /** What it may do. Never more than the flow may. */
  readonly permissions?: Permissions
  /** Hard limits of each time it works here. */
  readonly limits?: Limits
  /** Approvers look more closely at its work here than they would. */
  readonly oversight?: Oversight
}

/**
 * The members of a flow as they were when it was given this work: a later change of its definition changes no run that
 * has begun. Of a member that is gone since, the name stays: what it has begun waits until the agent is registered
 * again, and a new turn of it fails, which is content for a router's lead.
 */
export const membersOf = ({ team: { roster } }: Edge, now: readonly Agent[]): readonly Agent[] =>
  roster === undefined ? now : roster.map((name) => now.find((member) => member.name === name) ?? missingMember(name))

/** A member of which only the name is known. */
export const missingMember = (name: string): Agent => ({
  kind: 'agent',
  name,
  description: '',
  version: '',
  orchestrate: () => Promise.reject(new Error('never')),
  related: () => [],
  problems: () => [],
})

/** The members of a definition. A function is asked once: what was checked is what runs. */
export class MemberList {
  readonly #given: readonly Agent[] | (() => readonly Agent[])
  #list: readonly Agent[] | undefined
  #agents: readonly Agent[] | undefined

  constructor(given: readonly Agent[] | (() => readonly Agent[])) {
    this.#given = given
  }

  /** Whether they are known already, so that they can be checked. */
  get known(): boolean {
    return typeof this.#given !== 'function'
  }

  /** The list as it was given, whatever is in it. */
  get given(): readonly Agent[] {
    return (this.#list ??= typeof this.#given === 'function' ? this.#given() : this.#given)
  }

  get agents(): readonly Agent[] {
    return (this.#agents ??= Object.freeze([...agentsIn(this.given)]))
  }

  get names(): readonly string[] {
    return this.agents.map(({ name }) => name)
  }
}

/** What crosses to all members, and exceptions by name. */
export type EdgeOptions<Names extends string = string, Own extends MemberEdge = MemberEdge> = Own & {
  readonly agents?: { readonly [Name in Names]?: Own }
}

/** The policy for one member. */
export function edgeOf<Own extends MemberEdge>(options: EdgeOptions<string, Own>, name: string): Own {
  const { agents, ...all } = options
  return { ...all, ...own(agents, name) } as unknown as Own
}

/** One turn at the work. */
export interface MemberTurn {
  readonly path: readonly string[]
  readonly policy: MemberEdge
  readonly conversation: FlowConversation
  /** The agents to which it may hand control. */
  readonly to?: readonly Candidate[]
  readonly hops: number
  readonly task?: string | undefined
  /** What it is asked to do. Default: what the whole flow was asked. */
  readonly brief?: Brief
}

/** The edge of a member's turn; a failure says why there is none. `ctx` is where a rewriter of the history works. */
export async function turnEdge(
  ctx: Context,
  above: Edge,
  member: Pick<Agent, 'name' | 'limits' | 'oversight' | 'team' | 'inputSchema' | 'model' | 'members'>,
  turn: MemberTurn,
  lead = false,
): Promise<Edge | Failure> {
  const { path, policy, conversation, to, hops, task, brief = briefFor(above, member, task) } = turn
  const { context = 'conversation', transfers = 'hidden' } = policy
  try {
    const shown = conversation.for(member.name, { policy: context, transfers, task }, () => ctx.scope('history'))
    const entries = shown instanceof Promise ? await shown : shown
    const edgeWith = (said: readonly HistoryEntry[]): Edge =>
      memberEdge(
        above,
        revised(above.run.versions, member),
        brief,
        said,
        {
          hops,
          ...(to === undefined || to.length === 0 ? undefined : { to }),
          ...(task === undefined || context === 'brief' ? undefined : { task }),
          ...(lead ? { lead } : undefined),
        },
        policy,
      )
    let edge = edgeWith(entries)
    // a flow bounds them for its own members: code among them is given the whole
    if (member.model !== undefined && member.members === undefined) {
      const within = conversation.within(edge.bounds.limits?.resultTokens, member.name, entries, () => ctx)
      if (within !== entries) edge = edgeWith(await within)
    }
    return lead ? edge : afterFailures(ctx, above, edge)
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return failure(
      'transfer.refused',
      `what "${member.name}" may see could not be decided: ${messageOf(thrown)}`,
      'internal',
      {
        details: { agent: member.name, path: [...path] },
      },
    )
  }
}

/**
 * What it is asked to do. For one with an input of its own a task is read as that, where it fits; else it stands beside
 * what the whole flow was asked.
 */
function briefFor(
  { work: { brief } }: Edge,
  { inputSchema }: Pick<Agent, 'inputSchema'>,
  task: string | undefined,
): Brief {
  if (task === undefined) return brief
  if (inputSchema === undefined) return { instructions: task }
  const input = jsonIn(task)
  return input !== undefined && inputSchema.check(input).ok ? { input } : brief
}

/**
 * Starts a member. An agent that works here only as its own router's lead has no account of its own, and goes on in the
 * version that has led so far (`lead`).
 */
export function startMember(
  ctx: Context,
  member: Pick<Agent, 'name' | 'limits'>,
  edge: Edge,
  { path, policy }: MemberTurn,
  lead?: string,
): ActivationId {
  const limits = accountLimits(
    tighter(policy.limits, (lead === undefined ? revised(edge.run.versions, member) : member).limits),
  )
  const version = lead ?? own(edge.run.versions, member.name)?.base
  return ctx.start(member.name, encodeEdge(edge), {
    path,
    ...(limits === undefined ? undefined : { limits }),
    ...(version === undefined ? undefined : { version }),
  })
}

/** Lets a member work once, where no agent hands control on by choice, and waits for its end. */
export async function runMember(ctx: Context, above: Edge, member: Agent, turn: MemberTurn): Promise<Outcome> {
  const edge = await turnEdge(ctx, above, member, turn)
  if ('code' in edge) return failed(edge)
  const outcome = labelled((await workerEnd(ctx, startMember(ctx, member, edge, turn))).outcome, member.name, turn.path)
  failureCounterOf(ctx).note(outcome)
  const { action, ...handoff } = handoffOf(outcome)
  return action?.type === 'transfer'
    ? withHandoff(failed(noTransferTarget(member.name, action.to, turn.path)), handoff)
    : outcome
}

const noTransferTarget = (agent: string, to: string, path: readonly string[]): Failure =>
  failure(
    'transfer.refused',
    `"${agent}" hands over to "${to}", and there is no agent to hand over to here`,
    'validation',
    {
      details: { agent, path: [...path] },
      hint: 'Let it be the lead of a router, and let the router stand in its place.',
    },
  )

/** The checks of what crosses to any member. */
export const memberEdgeChecks: Checks<MemberEdge> = {
  context: choiceOr(isFunction, 'a function', 'brief', 'input', 'answers', 'conversation'),
  shares: choice('conversation', 'answer'),
  transfers: choice('shown', 'hidden'),
  permissions: permissionsCheck,
  limits: limitsCheck,
  oversight: oversightCheck,
}

/** The check of what crosses to members: for all, and exceptions by name. */
export function edgesCheck<T>(members: readonly { readonly name: string }[], checks: Checks<T>): Check {
  const names = members.map(({ name }) => name)
  const agents = recordOf(object(checks), 'exceptions by name', (name, where) =>
    names.includes(name) ? undefined : `${where}: ${unknownAgent(name, names)}`,
  )
  return object({ ...checks, agents } as Checks<T & { agents: unknown }>)
}

/** Caps in US dollars on what members do; `option` is where they stand. */
export function memberCaps(members: readonly Agent[], given: unknown, option: string): readonly UsdCap[] {
  const { all, agents } = edgesOf(given)
  const exceptions = agents.flatMap(
    ([name, edge]) =>
    usdCapOf(edge?.limits, `${option}.agents.${name}.limits`, members.filter((member) => member.name === name)), // prettier-ignore
  )
  return [...usdCapOf(all.limits, `${option}.limits`, members), ...exceptions]
}

/** Options of edges as far as they can be read: for all members, and exceptions by name. */
export function edgesOf<Own extends MemberEdge = MemberEdge>(
  given: unknown,
): { readonly all: Own; readonly agents: readonly (readonly [string, Own | undefined])[] } {
  const all = (hasNames(given) ? given : {}) as Own & { readonly agents?: unknown }
  return {
    all,
    agents: hasNames(all.agents) ? Object.entries(all.agents as { readonly [name: string]: Own | undefined }) : [],
  }
}

/** What is said of a name that no agent here has. */
export const unknownAgent = (name: string, names: readonly string[]): string =>
  `unknown agent "${name}"${names.length === 0 ? '' : `; known: ${[...new Set(names)].join(', ')}`}`
