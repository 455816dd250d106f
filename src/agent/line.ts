/**
 * Line: whose turn it is at what only one may have at a time. Kept as one session value; whoever wants a turn joins the line and leaves it.
 *
 * Owns: joining, waiting, leaving, telling the next one. Does not own: what there is to have (sessions: runtime, threads of workers: ../supervisor).
 * It is orchestration over the verbs: a crash of whoever has the turn loses nothing, since it resumes and still has it. K4: the names of its steps are persistent format.
 *
 * S1: the first in a lane has the turn, and only the line says so. S2: whoever joins and leaves does so with one compare-and-set each, so whoever leaves sees everybody who
 * waits, and tells the new first one. S3: it is left in every ending of the code that joined it. S4: one that has gone without leaving is taken out by whoever waits: they look by and by.
 * S5: where waits are noted, each is noted before it begins and struck out when it is over, and whoever is noted is in the line: so S4 holds for the notes, too.
 */
import type { ActivationId, Json } from '../core/index.ts'
import { Channel, type Arrival, type Context } from '../engine/index.ts'

/** Somebody in a line. */
export interface InLine {
  readonly id: string
  /** Who is told when it is its turn. */
  readonly at: ActivationId
  /** For what it waits: those in other lanes are nothing to it. */
  readonly lane: string
  /** Lanes of which somebody above it has the turn, and waits for it. */
  readonly above?: readonly string[]
}

/** A line as it is stored. `passedBy` says who took whom out of the head of a lane last, so that a replay knows it too. */
export interface StoredLine {
  readonly all: readonly InLine[]
  readonly passedBy?: string
}

/** Who waits in several lines, where somebody must see all of them at once. */
export interface Waits {
  /** Notes that I wait, before I do. False: I may not, and am not noted. Once I am noted, it changes nothing. */
  note(ctx: Context, me: InLine): Promise<boolean>
  /** Notes that somebody waits no longer: it has its turn, is about to leave, or is gone. */
  strike(ctx: Context, who: InLine): Promise<void>
}

/** A kind of line: where it is kept, and what is special about it. */
export interface Line {
  /** The session value. */
  readonly key: string
  /** The type of the message that tells somebody that it is its turn. */
  readonly word: string
  read(value: Json): StoredLine
  write(line: StoredLine): Json
  /** Whether somebody cannot be there any more, known without asking. Pure. */
  isStale?(other: InLine, me: InLine): boolean
  /** Whether I may wait behind these. Pure. Default: yes. */
  mayWait?(all: readonly InLine[], me: InLine): boolean
  /** Where waits are noted, besides. Default: nowhere. */
  readonly waits?: Waits
  /** Whether the first one is gone; `looks`: how often that was asked before. */
  isGone(ctx: Context, first: InLine, looks: number): Promise<boolean>
}

/** When somebody who waits looks whether the first one is still there. Milliseconds: the first time, and at most. */
const lookAfterMs = 5_000
const longestLookMs = 600_000

const firstOf = ({ lane }: InLine, all: readonly InLine[]): InLine | undefined => all.find((each) => each.lane === lane)
const isIn = (me: InLine, all: readonly InLine[]): boolean => all.some(({ id }) => id === me.id)

/** Somebody's patience: `over`, and it waits no longer; `wake` tells it so. */
export interface Patience {
  over: boolean
  wake?: (() => void) | undefined
}

/** Joins the line and waits until it is my turn. Resolves to who has it: me, unless I may not wait, or do not want to any more. Then I am not in the line. */
export async function takeTurn(ctx: Context, line: Line, me: InLine, patience: Patience = { over: false }): Promise<InLine | undefined> {
  let all = await join(ctx, line, me)
  let isNoted = false
  let lookMs = lookAfterMs
  for (let looks = 0; ; looks++) {
    const first = firstOf(me, all)
    if (first?.id === me.id) {
      if (isNoted) await line.waits?.strike(ctx, me)
      return first
    }
    if (first !== undefined && (await line.isGone(ctx, first, looks))) await takeOut(ctx, line, first, me)
    else if (!isIn(me, all)) return first
    else {
      if (line.waits !== undefined && !isNoted) {
        isNoted = await line.waits.note(ctx, me)
        if (!isNoted) {
          await leaveLine(ctx, line, me, me)
          return first
        }
      }
      // a patience that ended while something was written wakes nobody any more
      if (!patience.over || ctx.wasAsked('wait')) await told(ctx, line, me, lookMs, patience)
      if (patience.over) {
        await takeOut(ctx, line, me, me)
        return undefined
      }
      lookMs = Math.min(lookMs * 2, longestLookMs)
    }
    // who is told may have been told by anybody: the line is what counts (S1)
    all = line.read(await ctx.values.get(line.key)).all
    if (!isIn(me, all)) {
      // whoever took me out has struck out my wait, too
      isNoted = false
      all = await join(ctx, line, me)
    }
  }
}

async function join(ctx: Context, line: Line, me: InLine): Promise<readonly InLine[]> {
  const joined = await ctx.values.update(line.key, (value) => {
    const { all, ...rest } = line.read(value)
    const there = all.filter((each) => line.isStale?.(each, me) !== true)
    const stays = isIn(me, there) || (firstOf(me, there) !== undefined && line.mayWait?.(there, me) === false)
    return line.write({ ...rest, all: stays ? there : [...there, me] })
  })
  return line.read(joined).all
}

/** Takes somebody out of the line who may be noted as waiting: me, before I have the turn, or one that has gone (S4). */
export async function takeOut(ctx: Context, line: Line, gone: InLine, me: InLine): Promise<void> {
  await line.waits?.strike(ctx, gone)
  await leaveLine(ctx, line, gone, me)
}

/** Takes somebody out of the line who is not noted as waiting. Tells the next one if it was the first (S2). */
export async function leaveLine(ctx: Context, line: Line, gone: InLine, me: InLine): Promise<void> {
  const passedBy = `${gone.id} ${me.id}`
  const left = line.read(
    await ctx.values.update(line.key, (value) => {
      const before = line.read(value)
      if (!isIn(gone, before.all)) return line.write(before)
      const all = before.all.filter(({ id }) => id !== gone.id)
      return line.write(firstOf(gone, before.all)?.id === gone.id ? { all, passedBy } : { ...before, all })
    }),
  )
  const next = firstOf(gone, left.all)
  if (next !== undefined && next.id !== me.id && left.passedBy === passedBy) turnsIn(line).send(ctx, next.at, { id: next.id })
}

/** That it is somebody's turn. */
interface Turn {
  readonly id: Json | undefined
}

/** By which those in a line are told that it is their turn. */
const turnsIn = ({ word }: Line): Channel<Turn> => new Channel(word, (member) => ({ id: member('id') }))

/** Waits until somebody says that it is my turn, but no longer than this, and no longer than it is wanted. */
async function told(ctx: Context, line: Line, me: InLine, ms: number, patience: Patience): Promise<void> {
  const timer = ctx.ask('wait', { until: new Date(ctx.now().getTime() + ms) })
  const turns = turnsIn(line)
  const heard = await new Promise<Arrival | undefined>((resolve, reject) => {
    patience.wake = () => resolve(undefined)
    ctx.next((each) => each.id === timer || isMyTurn(turns.in(each)?.body, me)).then(resolve, reject)
  })
  patience.wake = undefined
  if (heard?.id !== timer) ctx.stop(timer, 'it is told')
}

/** Without an id it is for whoever is at that address. */
const isMyTurn = (turn: Turn | undefined, me: InLine): boolean => turn !== undefined && (turn.id === undefined || turn.id === me.id)

/** How long the refusal of a message may take. Milliseconds. */
const refusalMs = 1_000

/** No activation looks at these: what counts is whether they are refused. */
const looks = new Channel<object>('$line.look', () => ({}))

/** Whether an activation has ended: then it takes no messages any more, and whoever sends one hears so. One that is there never looks at it. */
export async function isOver(ctx: Context, activation: ActivationId): Promise<boolean> {
  const sent = looks.send(ctx, activation, {})
  const timer = ctx.ask('look', { until: new Date(ctx.now().getTime() + refusalMs) })
  const arrival = await ctx.next((each) => each.id === timer || (each.type === 'message.refused' && each.id === sent))
  if (arrival.id === timer) return false
  ctx.stop(timer, 'it is told')
  return true
}
