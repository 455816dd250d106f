/**
 * Sessions: a conversation that several runs continue, one run at a time.
 *
 * Owns: the line of runs on a session, the turns that later runs are shown, the values a run begins with. Does not own: where values are kept
 * (the engine: on the session's stream), what agents do with the history.
 * It is orchestration over the verbs, wrapped around a root agent: a crash of the run that holds the session loses nothing, since it resumes and
 * still holds it. K1: deleting a run changes no session. K4: its names (`session`, `$line`, `$turns`, `$turn.<slot>`) are persistent format.
 *
 * S1: the run at the head of the line has the session, and only the line says so. S2: a run joins and leaves the line with one compare-and-set each,
 * so whoever leaves sees everybody who waits, and tells the new head. S3: it leaves in every ending of its code. S4: a head whose run has ended all
 * the same (its code was gone, the store failed it) is taken out by whoever waits: they look when they join, and by and by.
 * S5: a turn is stored once; what grows with every run is one turn, not all of them.
 */
import {
  asText,
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
import { briefText, type Edge, type EdgeMessage } from '../edge/index.ts'
import type { Arrival, Context } from '../engine/index.ts'

/** What a second run on a busy session does: wait its turn, or end at once with `session.busy`. */
export type BusySession = 'queue' | 'reject'

/** What the runtime records with a root's edge for this wrapper. */
export interface RootExtras {
  readonly values?: { readonly [key: string]: Json }
  readonly busySession?: BusySession
}

/** A finished run of a session, as later ones are shown it. */
interface Turn {
  readonly run: string
  readonly agent: string
  readonly input: string
  readonly answer: string
}

/** How many turns a run is shown. */
const shownTurns = 100
/** One slot more than are shown: the next turn is written before it is counted, and must not overwrite one that counts. */
const slots = shownTurns + 1
/** When a waiting run looks whether the head of the line is still there. Milliseconds: the first time, and at most. */
const lookAfterMs = 5_000
const longestLookMs = 600_000

const lineKey = '$line'
/** How many turns there have been. */
const turnsKey = '$turns'
const turnKey = (nth: number): string => `$turn.${nth % slots}`
const yourTurn = '$session.your-turn'

/** Whether a run has ended, or is not there any more. */
export type HasEnded = (run: RunId) => Promise<boolean>

/** Runs a root agent: sets the values it begins with, and if it belongs to a session waits for its turn, shows it the history, passes the turn on. */
export async function orchestrateRoot(
  ctx: Context,
  recorded: Edge & { readonly root?: RootExtras },
  work: (edge: Edge) => Promise<Outcome>,
  hasEnded: HasEnded,
): Promise<Outcome> {
  const { root: extras = {}, ...edge } = recorded
  if (ctx.place.caller.session === undefined) {
    await setValues(ctx.scope('start'), extras)
    return work(edge)
  }
  const inSession = ctx.scope('session')
  ctx.onCancel('session', async (undo) => leave(undo.scope('session'), ctx.place.run))
  const holder = await takeTurn(inSession, extras.busySession ?? 'queue', hasEnded)
  if (holder !== ctx.place.run) return busy(ctx.place.caller.session, holder)
  await setValues(inSession, extras)
  const count = countOf(await inSession.values.get(turnsKey))
  const turns = await readTurns(inSession, count)
  const outcome = await settled(() =>
    work(turns.length === 0 ? edge : { ...edge, history: [...(edge.history ?? []), ...historyOf(turns)] }),
  )
  if (!('thrown' in outcome)) await addTurn(inSession, count, edge, outcome)
  await leave(inSession, ctx.place.run)
  if ('thrown' in outcome) throw outcome.thrown
  return withoutTrail(outcome)
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

/** The line as it is stored. `passedBy` says who took whom out of its head last, so that a replay knows it too. */
interface Line {
  readonly runs: readonly string[]
  readonly passedBy?: string
}

const readLine = (value: Json): Line => (isObject(value) && Array.isArray(value['runs']) ? (value as unknown as Line) : { runs: [] })
const written = (line: Line): Json => line as unknown as Json

/** Joins the line and waits until this run is its head. Resolves to who has the session: this run, unless it would rather not wait. */
async function takeTurn(ctx: Context, when: BusySession, hasEnded: HasEnded): Promise<string | undefined> {
  const me = ctx.place.run
  let line = await join(ctx, when)
  let lookMs = lookAfterMs
  for (;;) {
    const head = line[0]
    if (head === me) return head
    if (head !== undefined && (await isOver(ctx, head as RunId, hasEnded))) await leave(ctx, head as RunId)
    else if (!line.includes(me)) return head
    else {
      await told(ctx, lookMs)
      lookMs = Math.min(lookMs * 2, longestLookMs)
    }
    // who is told may have been told by anybody: the line is what counts (S1)
    line = readLine(await ctx.values.get(lineKey)).runs
    if (!line.includes(me)) line = await join(ctx, when)
  }
}

async function join(ctx: Context, when: BusySession): Promise<readonly string[]> {
  const me = ctx.place.run
  const joined = await ctx.values.update(lineKey, (value) => {
    const line = readLine(value)
    const stays = line.runs.includes(me) || (when === 'reject' && line.runs.length > 0)
    return stays ? written(line) : written({ ...line, runs: [...line.runs, me] })
  })
  return readLine(joined).runs
}

/** Takes a run out of the line: this one, or one that has ended (S4). Tells the next run if it was the head (S2). */
async function leave(ctx: Context, gone: RunId): Promise<void> {
  const me = ctx.place.run
  const passedBy = `${gone} ${me}`
  const left = readLine(
    await ctx.values.update(lineKey, (value) => {
      const line = readLine(value)
      if (!line.runs.includes(gone)) return written(line)
      const runs = line.runs.filter((each) => each !== gone)
      return line.runs[0] === gone ? written({ runs, passedBy }) : written({ ...line, runs })
    }),
  )
  const next = left.runs[0]
  if (next !== undefined && next !== me && left.passedBy === passedBy) ctx.send(rootActivation(next as RunId), { type: yourTurn })
}

/** A recorded look at another run. */
async function isOver(ctx: Context, run: RunId, hasEnded: HasEnded): Promise<boolean> {
  const { outcome } = await ctx.next(ctx.begin('look', () => hasEnded(run), { effect: 'read' }))
  return outcome.status === 'completed' && outcome.output === true
}

/** Waits until somebody says that it is this run's turn, but no longer than this. */
async function told(ctx: Context, ms: number): Promise<void> {
  const timer = ctx.ask('wait', { until: new Date(ctx.now().getTime() + ms) })
  const arrival = await ctx.next((each) => each.id === timer || isMyTurn(each))
  if (arrival.id !== timer) ctx.stop(timer, 'it is told')
}

function isMyTurn(arrival: Arrival): boolean {
  return arrival.type === 'message' && isObject(arrival.body) && arrival.body['type'] === yourTurn
}

const busy = (session: string, holder: string | undefined): Outcome =>
  failed(
    failure('session.busy', `the session "${session}" is taken by the run ${holder ?? '?'}`, 'policy', {
      hint: 'Wait for that run, or start with busySession: "queue".',
    }),
  )

const countOf = (value: Json): number => (typeof value === 'number' ? value : 0)

/** The newest turns, oldest first. One recorded read: an engine that stores equal texts once has them once, however many runs are shown them. */
async function readTurns(ctx: Context, count: number): Promise<readonly Turn[]> {
  if (count === 0) return []
  const first = Math.max(0, count - shownTurns)
  const values = await ctx.values.getAll(Array.from({ length: count - first }, (_, i) => turnKey(first + i)))
  return values.filter(isObject) as unknown as readonly Turn[]
}

function historyOf(turns: readonly Turn[]): readonly EdgeMessage[] {
  return turns.flatMap(({ input, answer, agent }): EdgeMessage[] => [
    { role: 'user', text: input },
    { role: 'assistant', text: answer, agent },
  ])
}

/** Only a completed run is a turn: what failed has said nothing that a later run should take for an answer. Nobody else counts while this run has the session. */
async function addTurn(ctx: Context, count: number, edge: Edge, outcome: Outcome): Promise<void> {
  if (outcome.status !== 'completed') return
  const { run, agent: root } = ctx.place
  const answer = asText(outcome.output)
  // somebody to whom control was handed may have answered: in a later run those are its own words
  const last = trailOf(outcome).said.findLast((entry) => entry.answer === true)
  const agent = last?.agent !== undefined && last.message.content === answer ? last.agent : root
  const turn: Turn = { run, agent, input: briefText(edge.brief), answer }
  await ctx.values.update(turnKey(count), () => turn as unknown as Json)
  await ctx.values.update(turnsKey, () => count + 1)
}
