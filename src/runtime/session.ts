/**
 * Sessions: a conversation that several runs continue, one run at a time.
 *
 * Owns: the layer of a root, the line of runs on a session, the turns that later runs are shown, the values a run
 * begins with. Does not own: how a FIFO lock works (agent/fifo-lock.ts), where values are kept (the engine: on the
 * session's stream), what agents do with the history. It is orchestration over the verbs, a layer around a root agent:
 * a crash of the run that holds the session loses nothing, since it resumes and still holds it. K1: deleting a run
 * changes no session. K4: its names (`session`, `$line`, `$turns`, `$turn.<slot>`) are persistent format.
 *
 * S3: a run leaves the line in every ending of its code. S4: a head whose run has ended all the same (its code was
 * gone, the store failed it) is taken out by whoever waits: they look when they join, and by and by. S5: a turn is
 * stored once; what grows with every run is one turn, not all of them.
 */
import {
  addExchange,
  countExchanges,
  exchangeMessages,
  exchangeSlots,
  releaseLock,
  mostExchanges,
  callHook,
  hookNamed,
  newestExchanges,
  recalledMessages,
  recallProblem,
  rememberedAnswer,
  acquireLock,
  type LockEntry,
  type Exchange,
  type FifoLock,
  type RecalledMemory,
  type ExchangeKeys,
} from '../agent/index.ts'
import {
  copy,
  failed,
  failure,
  isObject,
  rootActivation,
  trailOf,
  withoutTrail,
  type Json,
  type Outcome,
  type RunId,
} from '../core/index.ts'
import { briefText, type Edge, type EdgeMessage, type Layer, type Limits, type Work } from '../edge/index.ts'
import type { Context, StepIO } from '../engine/index.ts'
import type { Caller } from '../journal/index.ts'
import type { Chosen, UnknownVersion } from './versions.ts'

/** What a second run on a busy session does: wait its turn, or end at once with `session.busy`. */
export type BusySession = 'queue' | 'reject'

/** What a run is shown of its session: all of it, nothing, or what the hook of this name lets through. */
export type RootContext = 'conversation' | 'brief' | (string & {})

/** What is asked for what a run is shown of its session, where a start names it as `context`. */
export interface SessionShown extends SessionQuery {
  /** What it would be shown, oldest first. */
  readonly messages: readonly EdgeMessage[]
}

/**
 * Says what a run is shown of its session. A step: asked once. If it fails, nothing is shown, and the journal has
 * `hook.failed`.
 */
export type ContextHook = (shown: SessionShown, io: StepIO) => RecalledMemory | Promise<RecalledMemory>

/** What the runtime records with a root's edge for its layers. */
export interface RootExtras {
  readonly values?: { readonly [key: string]: Json }
  readonly busySession?: BusySession
  /**
   * What of the limits on the edge nobody has asked for. The same start again means the same. Absent in journals older
   * than the defaults.
   */
  readonly defaults?: Limits
  readonly context?: RootContext
  /** The versions that were chosen: the same start again means the same choice. What they came to is in the edge. */
  readonly chosen?: Chosen
  /** Versions that were asked for and are not there. */
  readonly unknown?: readonly UnknownVersion[]
}

const shelf: ExchangeKeys = { count: '$turns', slot: (nth) => `$turn.${nth % exchangeSlots}` }

/** Whether a run has ended, or is not there any more. */
export type HasEnded = (run: RunId) => Promise<boolean>

/** What a memory of sessions is asked by. */
export interface SessionQuery {
  /** Says which session and which user it is. Keep them apart. */
  readonly caller: Caller
  readonly run: RunId
  /** The root agent. */
  readonly agent: string
  /** What it is asked. */
  readonly prompt: string
}

/** A run of a session that has answered: it completed, or a hook or a limit ended it with what there was. */
export interface SessionTurn extends SessionQuery {
  /** Who answered. */
  readonly answeredBy: string
  readonly answer: string
}

/**
 * What runs of a session are shown, in place of its last 100 turns. Both are steps: done once, retried never; `io.key`
 * is the same if a crash makes one run again. A failure is `hook.failed`, and stops no run.
 */
export interface SessionMemory {
  /** What a run is shown before its input; a text is shown as a user's. If it fails, nothing is shown. */
  recall(query: SessionQuery, io: StepIO): RecalledMemory | Promise<RecalledMemory>
  /** Called when a run has answered. The session keeps its turns all the same. */
  save?(turn: SessionTurn, io: StepIO): unknown
}

/** What the runtime gives to every session. */
export interface SessionParts {
  readonly hasEnded: HasEnded
  readonly memory?: SessionMemory | undefined
}

/** What the start said besides; on a worker nothing. */
export const extrasIn = ({ extras = {} }: Edge['run']): RootExtras => extras

/** A root has its values and its session around it; a worker neither. */
export const sessionLayer =
  (parts: SessionParts, isRoot: (ctx: Context) => boolean): Layer =>
  (next) =>
  (ctx, edge) =>
    isRoot(ctx) ? orchestrateRoot(ctx, edge, next, parts) : next(ctx, edge)

/**
 * Runs a root agent: sets the values it begins with, and if it belongs to a session waits for its turn, shows it the
 * history, passes the turn on.
 */
async function orchestrateRoot(
  ctx: Context,
  recorded: Edge,
  work: Work,
  { hasEnded, memory }: SessionParts,
): Promise<Outcome> {
  const extras = extrasIn(recorded.run)
  const { extras: _extras, ...fixed } = recorded.run
  const edge = { ...recorded, run: fixed }
  warn(ctx, extras)
  if (ctx.place.caller.session === undefined) {
    await setValues(ctx.scope('start'), extras)
    return work(ctx, edge)
  }
  const inSession = ctx.scope('session')
  const { run } = ctx.place
  const line = lockOf(extras.busySession ?? 'queue', hasEnded)
  const me = entryOfRun(run)
  ctx.onCancel('session', async (undo) => releaseLock(undo.scope('session'), line, me, me), { always: true })
  const holder = await acquireLock(inSession, line, me)
  if (holder?.id !== run) return busy(ctx.place.caller.session, holder?.id)
  await setValues(inSession, extras)
  const { values } = inSession
  const count = await countExchanges(values, shelf)
  const query: SessionQuery = {
    caller: ctx.place.caller,
    run,
    agent: ctx.place.agent,
    prompt: briefText(edge.work.brief),
  }
  const all =
    memory === undefined
      ? exchangeMessages(await newestExchanges(values, shelf, count, mostExchanges))
      : await recalled(inSession, memory, query)
  const turns = await shown(inSession, extras.context, { ...query, messages: all })
  const outcome = await settled(() => work(ctx, turns.length === 0 ? edge : withHistory(edge, turns)))
  const turn = 'thrown' in outcome ? undefined : turnOf(ctx, edge, outcome)
  if (turn !== undefined) {
    await addExchange(values, shelf, count, turn)
    if (memory?.save !== undefined)
      await saved(inSession, memory, { ...query, answeredBy: turn.agent, answer: turn.answer })
  }
  if (!('thrown' in outcome) && outcome.status === 'completed') await keep(ctx, outcome)
  await releaseLock(inSession, line, me, me)
  if ('thrown' in outcome) throw outcome.thrown
  return withoutTrail(outcome)
}

const withHistory = (edge: Edge, turns: readonly EdgeMessage[]): Edge => ({
  ...edge,
  work: { ...edge.work, history: [...(edge.work.history ?? []), ...turns] },
})

/** Where a version that was asked for is not there, the code works as it is, and the journal says so. */
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

/** What of a run is kept in its session because it has completed. */
async function keep({ values }: Context, outcome: Outcome): Promise<void> {
  const { keep: kept } = trailOf(outcome)
  if (kept !== undefined) await values.update(kept.key, () => kept.value)
}

/** A defect in an agent's code must not keep the session: it is thrown again when the session has been passed on. */
async function settled(work: () => Promise<Outcome>): Promise<Outcome | { readonly thrown: unknown }> {
  try {
    return await work()
  } catch (thrown) {
    return { thrown }
  }
}

async function setValues(ctx: Context, extras: RootExtras): Promise<void> {
  if (ctx.carried !== undefined) return
  for (const [key, value] of Object.entries(extras.values ?? {})) await ctx.values.update(key, () => value)
}

const entryOfRun = (run: string): LockEntry => ({ id: run, at: rootActivation(run as RunId), lane: '' })

/** Where the line is kept. A fork does not take it over. Persistent. */
export const lineKey = '$line'

/** The runs in a line as it is stored; the first has the session. */
export const runsInLine = (value: Json): readonly RunId[] =>
  isObject(value) && Array.isArray(value['runs']) ? (value['runs'] as readonly RunId[]) : []

/** The line of the runs of a session: of each only its id is stored. */
const lockOf = (when: BusySession, hasEnded: HasEnded): FifoLock => ({
  key: lineKey,
  word: '$session.your-turn',
  read: (value) => {
    const passedBy = isObject(value) ? value['passedBy'] : undefined
    return { all: runsInLine(value).map(entryOfRun), ...(typeof passedBy === 'string' ? { passedBy } : undefined) }
  },
  write: ({ all, passedBy }) => ({
    runs: all.map(({ id }) => id),
    ...(passedBy === undefined ? undefined : { passedBy }),
  }),
  mayWait: () => when === 'queue',
  /** A recorded look at another run. */
  async isGone(ctx, { id }) {
    const { outcome } = await ctx.next(ctx.begin('look', () => hasEnded(id as RunId), { effect: 'read' }))
    return outcome.status === 'completed' && outcome.output === true
  },
})

const busy = (session: string, holder: string | undefined): Outcome =>
  failed(
    failure('session.busy', `the session "${session}" is taken by the run ${holder ?? '?'}`, 'policy', {
      hint: 'Wait for that run, or start with busySession: "queue".',
    }),
  )

/**
 * Only a run that has answered is a turn, also where a hook or a limit has ended it with what there was: what failed
 * has said nothing that a later run should take for an answer.
 */
function turnOf(ctx: Context, edge: Edge, outcome: Outcome): Exchange | undefined {
  const { run, agent: root } = ctx.place
  const answer = rememberedAnswer(outcome)
  const { answeredBy: agent = root, feedback } = trailOf(outcome)
  if (answer === undefined) return undefined
  // somebody to whom control was handed may have answered: in a later run those are its own words
  const noted = feedback === undefined ? undefined : { feedback, ...(agent === root ? undefined : { told: root }) }
  return { run, agent, input: briefText(edge.work.brief), answer, ...noted }
}

async function recalled(ctx: Context, memory: SessionMemory, query: SessionQuery): Promise<readonly EdgeMessage[]> {
  const ask = (io: StepIO): unknown => memory.recall(query, io)
  const { word } = await callHook<Exclude<RecalledMemory, void>>(ctx, 'memory.recall', ask, recallProblem)
  return recalledMessages(word)
}

/** What of the session crosses to the root, as the start says. */
async function shown(
  ctx: Context,
  context: RootContext | undefined,
  given: SessionShown,
): Promise<readonly EdgeMessage[]> {
  if (context === undefined || context === 'conversation') return given.messages
  if (context === 'brief') return []
  const hook = hookNamed<ContextHook>(ctx, context)!
  const { word } = await callHook<Exclude<RecalledMemory, void>>(
    ctx,
    'start.context',
    (io) => hook(copy(given as unknown as Json) as never, io),
    recallProblem,
  )
  return recalledMessages(word)
}

async function saved(ctx: Context, memory: SessionMemory, turn: SessionTurn): Promise<void> {
  const ask = async (io: StepIO): Promise<void> => {
    await memory.save?.(turn, io)
  }
  await callHook(ctx, 'memory.save', ask, () => undefined)
}
