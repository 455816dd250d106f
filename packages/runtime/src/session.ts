/**
 * Sessions: a conversation that several runs continue, one run at a time.
 *
 * Owns: the layer of a root, the queue of runs of a session, the turns that later runs see, the initial values. Does
 * not own: the FIFO lock (agent/fifo-lock.ts), storing values (the engine, on the session's stream), the use of the
 * history (agents).
 * Holds: it is orchestration around a root agent, so a run that crashes resumes and still holds its session. K1:
 * removing a run changes no session. K4: its names (`session`, `$line`, `$turns`, `$turn.<slot>`) are persistent
 * format. S3: a run leaves the queue however its code ends. S4: if the first run ended without leaving (its code was
 * missing, or the store failed it), a waiting run removes it; waiting runs check when they join and repeatedly. S5:
 * each run that had the session stores one turn, whoever ends it: where it is ended from outside, the compensation does
 * (`$turns.owed`: turns of runs that ended without their code, or in the queue; the next run stores them).
 */
import {
  addExchange,
  countExchanges,
  exchangeMessages,
  exchangeSlots,
  unansweredEnd,
  releaseLock,
  removeFromLock,
  mostExchanges,
  callHook,
  hookNamed,
  newestExchanges,
  recalledMessages,
  recallProblem,
  rememberedAnswer,
  acquireLock,
  passedByIn,
  type LockEntry,
  type Exchange,
  type FifoLock,
  type RecalledMemory,
  type ExchangeKeys,
} from '@reeve/agent'
import {
  copy,
  failed,
  failure,
  isObject,
  runOf,
  handoffOf,
  withoutHandoff,
  type ActivationId,
  type Json,
  type Outcome,
  type WorkDone,
  type RunId,
} from '@reeve/core'
import {
  briefText,
  workText,
  type Edge,
  type EdgeMessage,
  type Layer,
  type Limits,
  type ActivationWork,
} from '@reeve/edge'
import {
  isLeaving,
  rootsInQueue,
  thrownOutcome,
  type Context,
  type Place,
  type RootQueue,
  type SessionValues,
  type StepIO,
} from '@reeve/engine'
import type { Caller } from '@reeve/journal'
import type { Chosen, UnknownVersion } from './versions.ts'

/** What a second run of a busy session does: wait, or end at once with `session.busy`. */
export type BusySession = 'queue' | 'reject'

/** What a run sees of its session: all, nothing, or the selection of the hook of this name. */
export type RootContext = 'conversation' | 'brief' | (string & {})

/** The argument of a context hook. */
export interface SessionShown extends SessionQuery {
  /** The messages of the session, oldest first. */
  readonly messages: readonly EdgeMessage[]
}

/** Selects what a run sees of its session. A step: called once. If it fails, the run sees nothing (`hook.failed`). */
export type ContextHook = (shown: SessionShown, io: StepIO) => RecalledMemory | Promise<RecalledMemory>

/** The fields that the runtime records with a root's edge for its layers. */
export interface RootExtras {
  readonly values?: { readonly [key: string]: Json }
  readonly busySession?: BusySession
  /** The limits on the edge that come from defaults. The same start again means the same. */
  readonly defaults?: Limits
  readonly context?: RootContext
  /** The versions that were chosen: the same start again means the same choice. What they came to is in the edge. */
  readonly chosen?: Chosen
  /** Versions that were asked for and are not there. */
  readonly unknown?: readonly UnknownVersion[]
}

const shelf: ExchangeKeys = { count: '$turns', slot: (nth) => `$turn.${nth % exchangeSlots}` }
/** Turns of runs that did not have the session when they ended: the next run that has it puts them to the others. */
const owedKey = '$turns.owed'
const turnsIn = (value: Json | undefined): readonly Exchange[] =>
  Array.isArray(value) ? (value as readonly unknown[] as readonly Exchange[]) : []
const turnShape = { run: 'kept', agent: 'kept', ended: 'kept', doneCount: 'kept' } as const

/** A run that has ended: with its turn, if it began and its journal is there. Undefined: it has not ended. */
export type EndOf = (run: RunId) => Promise<{ readonly turn?: Exchange } | undefined>

/** The query to a session memory. */
export interface SessionQuery {
  /** The session and the user. Keep the memories of users apart. */
  readonly caller: Caller
  readonly run: RunId
  /** The root agent. */
  readonly agent: string
  /** Its input. */
  readonly prompt: string
}

/** A run of a session that answered: it completed, or a hook or a limit ended it with a partial answer. */
export interface SessionTurn extends SessionQuery {
  /** The agent that answered. */
  readonly answeredBy: string
  readonly answer: string
}

/**
 * A memory that replaces the last 100 turns of a session. Both functions are steps: called once and not retried; after
 * a crash `io.key` is the same. A failure is recorded as `hook.failed` and stops no run.
 */
export interface SessionMemory {
  /** Returns the messages before a run's input; a text becomes a user message. If it fails, the run sees none. */
  recall(query: SessionQuery, io: StepIO): RecalledMemory | Promise<RecalledMemory>
  /** Called when a run has answered. The session stores its turns as well. */
  save?(turn: SessionTurn, io: StepIO): unknown
}

/** The parts of the runtime that sessions use. */
export interface SessionParts {
  readonly endOf: EndOf
  readonly memory?: SessionMemory | undefined
}

/** The session layer: for roots only, not for workers. */
export const sessionLayer =
  (parts: SessionParts, isRoot: (ctx: Context) => boolean): Layer =>
  (next) =>
  (ctx, edge) =>
    isRoot(ctx) ? orchestrateRoot(ctx, edge, next, parts) : next(ctx, edge)

/** Runs a root agent: sets its initial values; in a session, takes the lock, adds the history, releases the lock. */
async function orchestrateRoot(
  ctx: Context,
  recorded: Edge,
  work: ActivationWork,
  { endOf, memory }: SessionParts,
): Promise<Outcome> {
  const { extras: said = {}, ...fixed } = recorded.run
  const extras: RootExtras = said
  const edge = { ...recorded, run: fixed }
  warn(ctx, extras)
  if (ctx.place.caller.session === undefined) {
    await setValues(ctx.scope('start'), extras)
    return work(ctx, edge)
  }
  const inSession = ctx.scope('session')
  const { run } = ctx.place
  const line = lockOf(extras.busySession ?? 'queue', endOf)
  const me = entryOf(ctx.place.activation)
  const query: SessionQuery = {
    caller: ctx.place.caller,
    run,
    agent: ctx.place.agent,
    prompt: briefText(edge.work.brief),
  }
  const mine: OwnTurn = { place: 'queued', count: undefined }
  ctx.onCancel(
    'session',
    async (undo, ended) => {
      const scope = undo.scope('session')
      await endTurn(scope, mine, await turnWithDeeds(scope, workText(edge.work), ended), memory, query)
      await (mine.place === 'queued' ? removeFromLock : releaseLock)(scope, line, me, me)
    },
    { always: true },
  )
  const holder = await acquireLock(inSession, line, me)
  if (holder?.id !== me.id) {
    mine.place = 'refused'
    return busy(ctx.place.caller.session, holder && runOf(holder.at))
  }
  mine.place = 'at work'
  await setValues(inSession, extras)
  const { values } = inSession
  const count = await countTurns(values, mine)
  const all =
    memory === undefined
      ? exchangeMessages(await newestExchanges(values, shelf, count, mostExchanges))
      : await recalled(inSession, memory, query)
  const turns = await shown(inSession, extras.context, { ...query, messages: all })
  const outcome = await settled(() => work(ctx, turns.length === 0 ? edge : withHistory(edge, turns)))
  const ended = 'thrown' in outcome ? thrownOutcome(outcome.thrown) : outcome
  await endTurn(inSession, mine, await turnWithDeeds(inSession, workText(edge.work), ended), memory, query)
  if (!('thrown' in outcome) && outcome.status === 'completed') await keep(ctx, outcome)
  await releaseLock(inSession, line, me, me)
  if ('thrown' in outcome) throw outcome.thrown
  return withoutHandoff(outcome)
}

const withHistory = (edge: Edge, turns: readonly EdgeMessage[]): Edge => ({
  ...edge,
  work: { ...edge.work, history: [...(edge.work.history ?? []), ...turns] },
})

/** What the activation knows of its turn in the session. In memory only: a replay makes the same of the same reads. */
interface OwnTurn {
  /** It waits, was not let in, has the session, or has stored its turn. */
  place: 'queued' | 'refused' | 'at work' | 'told'
  /** How many turns were before it, as soon as that is known. */
  count: number | undefined
}

/** Puts the turns that others owe to those that are there. How many there are then. */
async function countTurns(values: SessionValues, mine: OwnTurn): Promise<number> {
  const [before, owed] = await values.getAll([shelf.count, owedKey])
  mine.count = typeof before === 'number' ? before : 0
  const missing = turnsIn(owed)
  if (missing.length === 0) return mine.count
  // one that was put there by a run that then lost its code is not put there again
  const there = new Set((await newestExchanges(values, shelf, mine.count, mostExchanges)).map(({ run }) => run))
  for (const turn of missing) {
    if (there.has(turn.run)) continue
    await addExchange(values, shelf, mine.count, turn)
    mine.count++
  }
  const told = new Set(missing.map(({ run }) => run))
  await values.update(owedKey, (value) => turnsIn(value).filter(({ run }) => !told.has(run)) as unknown as Json)
  return mine.count
}

/** Adds a turn to those that are owed, once. */
const oweTurn = async ({ values }: Context, turn: Exchange): Promise<void> => {
  await values.update(owedKey, (value) => {
    const owed = turnsIn(value)
    return (owed.some(({ run }) => run === turn.run) ? owed : [...owed, turn]) as unknown as Json
  })
}

/**
 * Stores the turn of a run as it ends, whoever ends it. A run whose code has returned and that a human finishes then
 * has one turn: the human's. One that never had the session has a turn only if a human has answered for it.
 */
async function endTurn(
  ctx: Context,
  mine: OwnTurn,
  turn: Exchange,
  memory: SessionMemory | undefined,
  query: SessionQuery,
): Promise<void> {
  const { values } = ctx
  const answers = turn.ended === undefined
  if (mine.place === 'refused' || (mine.place === 'queued' && !answers)) return
  if (mine.place === 'queued') await oweTurn(ctx, turn)
  else if (mine.place === 'told' && mine.count !== undefined)
    await values.update(shelf.slot(mine.count), (value) =>
      isObject(value) && value['run'] === turn.run ? (turn as unknown as Json) : value,
    )
  else {
    mine.count ??= await countExchanges(values, shelf)
    await addExchange(values, shelf, mine.count, turn)
    mine.place = 'told'
  }
  if (answers && memory?.save !== undefined)
    await saved(ctx, memory, { ...query, answeredBy: turn.agent, answer: turn.answer })
}

/** Records that a requested version is missing and the current code is used. */
function warn(ctx: Context, { unknown = [] }: RootExtras): void {
  if (ctx.carried !== undefined || unknown.length === 0) return
  const scope = ctx.scope('versions')
  for (const { agent, asked, known } of unknown)
    scope.emit({
      type: 'fact.noted',
      name: 'version.unknown',
      data: { agent, asked, used: 'the code as it is', known },
    })
}

/** Stores the turn of a completed run in its session. */
async function keep({ values }: Context, outcome: Outcome): Promise<void> {
  const { keep: kept } = handoffOf(outcome)
  if (kept !== undefined) await values.update(kept.key, () => kept.value)
}

/**
 * An error of an agent's code must not keep the session: it is rethrown after the lock is released. Where the engine
 * makes the code leave, its compensation does that.
 */
async function settled(work: () => Promise<Outcome>): Promise<Outcome | { readonly thrown: unknown }> {
  try {
    return await work()
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return { thrown }
  }
}

async function setValues(ctx: Context, extras: RootExtras): Promise<void> {
  if (ctx.carried !== undefined) return
  for (const [key, value] of Object.entries(extras.values ?? {})) await ctx.values.update(key, () => value)
}

/** A run stands in the queue as its root activation: in what a fork copies, that is the fork's own. */
const entryOf = (root: ActivationId): LockEntry => ({ id: root, at: root, lane: '' })

/** The queue of a session: of it a fork has only its own place. Persistent. */
export const sessionQueue: RootQueue = { key: '$line', turn: { type: '$session.your-turn' } }

/** The runs in a stored queue; the first one has the session. */
export const runsInLine = (value: Json): readonly RunId[] => rootsInQueue(value).map(runOf)

/** The lock of a session; it stores the roots of its runs. */
const lockOf = (when: BusySession, endOf: EndOf): FifoLock => ({
  key: sessionQueue.key,
  messageType: sessionQueue.turn.type,
  read: (value) => ({ all: rootsInQueue(value).map(entryOf), ...(isObject(value) ? passedByIn(value) : undefined) }),
  write: ({ all, passedBy }) => ({
    roots: all.map(({ id }) => id),
    ...(passedBy === undefined ? undefined : { passedBy }),
  }),
  mayWait: () => when === 'queue',
  /** A recorded read of another run. One that ended without its code has left neither the queue nor a turn. */
  async isGone(ctx, { at }) {
    const look = async (): Promise<Json> => ((await endOf(runOf(at))) ?? null) as unknown as Json
    const { outcome } = await ctx.next(ctx.begin('look', look, { effect: 'read', holds: { turn: turnShape } }))
    if (outcome.status !== 'completed' || !isObject(outcome.output)) return false
    const { turn } = outcome.output
    if (turn !== undefined) await oweTurn(ctx, turn as unknown as Exchange)
    return true
  },
})

const busy = (session: string, holder: string | undefined): Outcome =>
  failed(
    failure('session.busy', `the session "${session}" is taken by the run ${holder ?? '?'}`, 'policy', {
      hint: 'Wait for that run, or start with busySession: "queue".',
    }),
  )

/**
 * The turn of a run that has ended: what it was asked, and its answer, also a partial one, or how it ended without one.
 * Later runs must not read that as an answer.
 */
export function turnOf({ run, agent: root }: Pick<Place, 'run' | 'agent'>, input: string, outcome: Outcome): Exchange {
  const answer = rememberedAnswer(outcome)
  const { answeredBy: agent = root, feedback } = handoffOf(outcome)
  if (answer === undefined) return { run, agent: root, input, answer: '', ended: unansweredEnd(outcome) }
  // after a transfer another agent may have answered: a later run sees its text as its own
  const noted = feedback === undefined ? undefined : { feedback, ...(agent === root ? undefined : { told: root }) }
  return { run, agent, input, answer, ...noted }
}

/** How many deeds a turn keeps. */
const mostDeeds = 20

/**
 * The turn with what work that gave no answer had done: the next run of the session must not do it again for want of
 * knowing.
 */
async function turnWithDeeds(ctx: Context, input: string, outcome: Outcome): Promise<Exchange> {
  const turn = turnOf(ctx.place, input, outcome)
  if (turn.ended === undefined) return turn
  const all = await ctx.scope('done').doneBy()
  if (all.length === 0) return turn
  const done = all.slice(-mostDeeds).map(({ name, agent, state, input: given }): WorkDone => ({
    name,
    agent,
    state,
    ...(given === undefined ? undefined : { input: given }),
  }))
  return { ...turn, done, ...(all.length > done.length ? { doneCount: all.length } : undefined) }
}

async function recalled(ctx: Context, memory: SessionMemory, query: SessionQuery): Promise<readonly EdgeMessage[]> {
  const ask = (io: StepIO): unknown => memory.recall(query, io)
  const { reply } = await callHook<Exclude<RecalledMemory, void>>(ctx, 'memory.recall', ask, recallProblem)
  return recalledMessages(reply)
}

/** The part of the session that the root sees, as the start says. */
async function shown(
  ctx: Context,
  context: RootContext | undefined,
  given: SessionShown,
): Promise<readonly EdgeMessage[]> {
  if (context === undefined || context === 'conversation') return given.messages
  if (context === 'brief') return []
  const hook = hookNamed<ContextHook>(ctx, context)
  const { reply } = await callHook<Exclude<RecalledMemory, void>>(
    ctx,
    'start.context',
    (io) => hook(copy(given as unknown as Json) as never, io),
    recallProblem,
  )
  return recalledMessages(reply)
}

async function saved(ctx: Context, memory: SessionMemory, turn: SessionTurn): Promise<void> {
  const ask = async (io: StepIO): Promise<void> => {
    if (ctx.place.caller.trial !== true) await memory.save?.(turn, io)
  }
  await callHook(ctx, 'memory.save', ask, () => undefined)
}
