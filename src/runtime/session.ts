/**
 * Sessions: a conversation that several runs continue, one run at a time.
 *
 * Owns: the line of runs on a session, the turns that later runs are shown, the values a run begins with. Does not own: where values are kept
 * (the engine: on the session's stream), what agents do with the history.
 * It is orchestration over the verbs, wrapped around a root agent: a crash of the run that holds the session loses nothing, since it resumes and
 * still holds it. K1: deleting a run changes no session. K4: its names (`session`, `$line`, `$turns`) are persistent format.
 *
 * S1: the run at the head of the line has the session. S2: a run joins and leaves the line with one compare-and-set each, so whoever leaves sees
 * everybody who waits, and tells the new head. S3: it leaves in every ending.
 */
import { copy, failed, failure, isObject, rootActivation, type Json, type Outcome, type RunId } from '../core/index.ts'
import { briefText, type Edge, type EdgeMessage } from '../edge/index.ts'
import type { Arrival, Context, SessionValues } from '../engine/index.ts'

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

/** How many turns a session keeps. */
const keptTurns = 100

const lineKey = '$line'
const turnsKey = '$turns'
const yourTurn = '$session.your-turn'

/** Runs a root agent: sets the values it begins with, and if it belongs to a session waits for its turn, shows it the history, passes the turn on. */
export async function orchestrateRoot(
  ctx: Context,
  recorded: Edge & { readonly root?: RootExtras },
  work: (edge: Edge) => Promise<Outcome>,
): Promise<Outcome> {
  const { root: extras = {}, ...edge } = recorded
  if (ctx.place.caller.session === undefined) {
    await setValues(ctx.scope('start'), extras)
    return work(edge)
  }
  const inSession = ctx.scope('session')
  ctx.onCancel('session', async (undo) => leave(undo.scope('session'), ctx.place.run))
  const line = await join(inSession, ctx.place.run, extras.busySession ?? 'queue')
  if (!line.includes(ctx.place.run)) return busy(ctx.place.caller.session, line[0])
  if (line[0] !== ctx.place.run) await inSession.next(isMyTurn)
  await setValues(inSession, extras)
  const turns = readTurns(await inSession.values.get(turnsKey))
  const outcome = await settled(() =>
    work(turns.length === 0 ? edge : { ...edge, history: [...(edge.history ?? []), ...historyOf(turns)] }),
  )
  if (!('thrown' in outcome)) await addTurn(inSession.values, ctx, edge, outcome)
  await leave(inSession, ctx.place.run)
  if ('thrown' in outcome) throw outcome.thrown
  return outcome
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

/** The line as it is stored. `passedBy` says who left its head last, so that a replay knows it too. */
interface Line {
  readonly runs: readonly string[]
  readonly passedBy?: string
}

const readLine = (value: Json): Line => (isObject(value) && Array.isArray(value['runs']) ? (value as unknown as Line) : { runs: [] })
const written = (line: Line): Json => line as unknown as Json

async function join(ctx: Context, run: RunId, when: BusySession): Promise<readonly string[]> {
  const joined = await ctx.values.update(lineKey, (value) => {
    const line = readLine(value)
    const stays = line.runs.includes(run) || (when === 'reject' && line.runs.length > 0)
    return stays ? written(line) : written({ ...line, runs: [...line.runs, run] })
  })
  return readLine(joined).runs
}

/** Leaves the line, and tells the next run if this one was at its head (S2). */
async function leave(ctx: Context, run: RunId): Promise<void> {
  const left = readLine(
    await ctx.values.update(lineKey, (value) => {
      const line = readLine(value)
      const runs = line.runs.filter((each) => each !== run)
      return line.runs[0] === run ? written({ runs, passedBy: run }) : written({ ...line, runs })
    }),
  )
  const next = left.runs[0]
  if (next !== undefined && left.passedBy === run) ctx.send(rootActivation(next as RunId), { type: yourTurn })
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

const readTurns = (value: Json): readonly Turn[] => (Array.isArray(value) ? (value as readonly Turn[]) : [])

function historyOf(turns: readonly Turn[]): readonly EdgeMessage[] {
  return turns.flatMap(({ input, answer, agent }): EdgeMessage[] => [
    { role: 'user', text: input },
    { role: 'assistant', text: answer, agent },
  ])
}

/** Only a completed run is a turn: what failed has said nothing that a later run should take for an answer. */
async function addTurn(values: SessionValues, ctx: Context, edge: Edge, outcome: Outcome): Promise<void> {
  if (outcome.status !== 'completed') return
  const answer = typeof outcome.output === 'string' ? outcome.output : JSON.stringify(outcome.output)
  const turn: Turn = { run: ctx.place.run, agent: ctx.place.agent, input: briefText(edge.brief), answer }
  await values.update(turnsKey, (value) =>
    copy([...readTurns(value).filter((each) => each.run !== turn.run), turn].slice(-keptTurns) as unknown as Json),
  )
}
