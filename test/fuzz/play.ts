/**
 * Plays a random tree on a real store: with processes that die at random commits, pauses and takeovers at random
 * moments, and a human who answers whatever is asked; some of them with an archive. Then holds the run against the
 * oracle, and a fork of it at a random position, which dies and is paused as the run was.
 *
 * Owns: playing and comparing. Does not own: trees and the oracle (trees.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, ReeveError, type Run, type Runtime } from 'reeve'
import { checkJournal } from 'reeve/testing'
import { dice } from '../dice.ts'
import { agentOf, decisionOf, expectedOf, humanSays, partsOf, randomTree, type Tree } from './trees.ts'

/** Of a seed, by dice of its own: the tree is the same with and without. */
interface Ways {
  /** Runs are compressed as soon as they have ended: children that are placed apart while the run goes on. */
  readonly archives: boolean
  /** Another process works beside it, which takes up what is placed apart, and dies never. */
  readonly hasSecond: boolean
  /** Of the journal of the run, when it has ended: where it is forked, from 0 to 1. */
  readonly forksAt: number
}

function waysOf(seed: number): Ways {
  const roll = dice(seed * 15_485_863 + 11)
  return { archives: roll() < 0.5, forksAt: roll(), hasSecond: roll() < 0.3 }
}

/** What was played, and everything that is wrong with it. */
export interface Played {
  readonly tree: Tree
  readonly deaths: number
  readonly wrong: readonly string[]
}

/** The outside world: which steps were done, under which keys. */
class World {
  readonly done = new Map<string, Map<string, number>>()

  readonly deed = (label: string, key: string): void => {
    const keys = this.done.get(label) ?? this.done.set(label, new Map()).get(label)!
    keys.set(key, (keys.get(key) ?? 0) + 1)
  }

  /** Whether the step with this key was done, and what it gave. */
  has(key: string): { readonly output: number } | undefined {
    for (const [label, keys] of this.done) if (keys.has(key)) return { output: Number(label.split(' ').at(-1)) }
    return undefined
  }
}

/** How long a run may take that has nothing to wait for. Milliseconds. */
const patienceMs = 20_000

/** What all that is played with one seed has in common. */
interface Stage {
  readonly tree: Tree
  readonly file: string
  readonly root: ReturnType<typeof agentOf>
  readonly world: World
  readonly roll: () => number
  readonly ways: Ways
}

/** How a run begins. Called by each process: the second time it is the same run. */
type Begin = (runtime: Runtime) => Promise<Run<unknown>>

/** Plays the tree of a seed. `deaths`: how often the process of its run dies at most, and that of the fork. */
export async function play(seed: number, deaths = 3): Promise<Played> {
  const tree = randomTree(seed)
  const folder = mkdtempSync(join(tmpdir(), 'reeve-fuzz-'))
  const world = new World()
  const roll = dice(seed * 104_729 + 7)
  const root = agentOf(tree, world.deed)
  const stage: Stage = { tree, file: join(folder, 'store.db'), root, world, roll, ways: waysOf(seed) }
  let died = 0
  try {
    const id = `run_${seed}`
    died += await untilEnded(stage, deaths, (runtime) => runtime.start(root, 'Go', { runId: id }))
    const wrong = await faults(stage, id)
    const at = await forkPlace(stage, id)
    const fork = `fork_${seed}`
    died += await untilEnded(stage, deaths, (runtime) => runtime.fork({ run: id, at, runId: fork }))
    const differs = await faults(stage, fork, true)
    return { tree, deaths: died, wrong: [...wrong, ...differs.map((each) => `forked at ${at}: ${each}`)] }
  } catch (thrown) {
    return { tree, deaths: died, wrong: [String(thrown instanceof Error ? thrown.stack : thrown)] }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Processes one after the other, until the run has ended. Returns how many of them have died. */
async function untilEnded(stage: Stage, deaths: number, begin: Begin): Promise<number> {
  for (let died = 0; ; died++) {
    const dies = died < deaths ? 1 + Math.floor(stage.roll() * 30) : Infinity
    if (await lives(stage, begin, dies)) return died
    const db = new DatabaseSync(stage.file)
    db.exec('DELETE FROM process') // the dead process is this one, which lives
    db.close()
  }
}

/** A position of the run's own journal. */
async function forkPlace({ file, root, ways }: Stage, id: string): Promise<number> {
  const runtime = await createRuntime({ store: file, agents: [root], drive: false, onWarning: () => {} })
  const positions: number[] = []
  for await (const { position } of runtime.handle(id).events()) positions.push(position)
  await runtime.close()
  // nothing goes on after the last one
  return positions[Math.floor(ways.forksAt * (positions.length - 1))]!
}

/** One process: until the run ends (true), or until it dies at this commit (false). */
async function lives(stage: Stage, begin: Begin, dies: number): Promise<boolean> {
  const { file, root, ways } = stage
  let commits = 0
  let dead = false
  const crash = (point: string): boolean => (dead ||= point.startsWith('commit') && ++commits >= dies)
  const options = {
    store: file,
    agents: [root],
    strict: true,
    onWarning: () => {},
    ...(ways.archives ? { archiveAfterMs: 0 } : {}),
  }
  const runtime = await createRuntime({ ...options, crash })
  const second = ways.hasSecond ? await createRuntime(options) : undefined
  const began = performance.now()
  let ended = false
  let wrong: Error | undefined
  try {
    const run = await orDead(begin(runtime), () => dead)
    if (run === undefined) return false
    void run.outcome().then(
      () => (ended = true),
      (thrown: unknown) => (wrong = dead ? undefined : new Error('the run has no outcome', { cause: thrown })),
    )
    while (!dead && !ended) {
      if (wrong !== undefined) throw wrong
      if (performance.now() - began > patienceMs)
        throw new Error(`no end after ${patienceMs} ms: ${JSON.stringify(await run.view())}`)
      await orDead(outside(stage, runtime, run), () => dead)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return !dead
  } finally {
    await runtime.close()
    await second?.close()
  }
}

/** What it resolves to; nothing once the process is dead, whose promises may never settle. */
async function orDead<T>(work: Promise<T>, isDead: () => boolean): Promise<T | undefined> {
  let settled = false
  const noted = work.then(
    (value) => ((settled = true), { value }),
    (thrown: unknown) => ((settled = true), { thrown }),
  )
  while (!settled && !isDead()) await new Promise((resolve) => setImmediate(resolve))
  if (!settled) return undefined
  const end = await noted
  if ('value' in end) return end.value
  if (isDead()) return undefined
  throw end.thrown
}

const isLate: ReadonlySet<string> = new Set([
  'interrupt.already-answered',
  'interrupt.expired',
  'interrupt.unknown',
  'approval.already-decided',
  'approval.expired',
])

type Asked = Awaited<ReturnType<Runtime['questions']>>[number]

/** Answers what is asked, and tells what is known of effects in doubt. */
async function reply(tree: Tree, world: World, runtime: Runtime, question: Asked): Promise<void> {
  if (question.kind === 'in-doubt') {
    const { key, done } = question.body as { key: string; done?: { outcome?: { output: number } } }
    // what the origin of a fork has done is asked about under the key that it would have in the fork
    const known = world.has(key) ?? done?.outcome
    await runtime.settleDoubt(
      known === undefined
        ? { id: question.id, happened: false }
        : { id: question.id, happened: true, value: known.output },
    )
  } else if (question.kind === 'approval') {
    const decision = decisionOf(tree, (question.body as { path: readonly string[] }).path.at(-1)!)
    await runtime.decide({ approvalId: question.id, decision, approver: 'ann' })
  } else await runtime.answer({ interruptId: question.id, value: humanSays })
}

/** What people do: answer what is asked, tell what they know of effects in doubt, sometimes pause or take over. */
async function outside({ tree, world, roll }: Stage, runtime: Runtime, run: Run<unknown>): Promise<void> {
  for (const question of await runtime.questions()) {
    try {
      await reply(tree, world, runtime, question)
    } catch (thrown) {
      // who asked was stopped meanwhile: another worker was faster
      if (expectedOf(tree).hedged.size === 0 || !ReeveError.is(thrown) || !isLate.has(thrown.code)) throw thrown
    }
  }
  const chance = roll()
  if (chance < 0.04) {
    try {
      if (chance < 0.02) {
        await run.control.pause()
        await run.control.resume()
      } else {
        await run.control.takeOver({ by: 'ann' })
        await run.control.handBack({ by: 'ann' })
      }
    } catch (thrown) {
      // it may have ended meanwhile, or its process died before it was handed back
      if (!ReeveError.is(thrown, 'run.ended') && !ReeveError.is(thrown, 'run.taken-over')) throw thrown
    }
  }
}

async function faults({ tree, file, root, world }: Stage, id: string, isFork = false): Promise<string[]> {
  const { end, deeds, mails, hedged } = expectedOf(tree)
  const wrong: string[] = []
  const runtime = await createRuntime({ store: file, agents: [root], drive: false, onWarning: () => {} })
  try {
    const run = runtime.handle(id)
    const outcome = await run.outcome()
    if (outcome.status !== end.status)
      wrong.push(`ends ${outcome.status} (${JSON.stringify(outcome)}), expected ${end.status}`)
    else if (
      outcome.status === 'completed' &&
      end.status === 'completed' &&
      JSON.stringify(outcome.output) !== JSON.stringify(end.output)
    )
      wrong.push(`answers ${JSON.stringify(outcome.output)}, expected ${JSON.stringify(end.output)}`)
    const reads = leavesOf(tree, 'read')
    for (const label of new Set([...deeds.keys(), ...world.done.keys()])) {
      // a fork reads again what its origin has read after the place where they part
      if (hedged.has(nameIn(label)) || (isFork && reads.has(nameIn(label)))) continue
      const keys = world.done.get(label)?.size ?? 0
      if (keys !== (deeds.get(label) ?? 0))
        wrong.push(`${label} is done under ${keys} keys, expected ${deeds.get(label) ?? 0}`)
    }
    const once = leavesOf(tree, 'once')
    for (const [label, keys] of world.done)
      for (const [key, times] of keys)
        // of a hedged worker, which is begun beside a slow one, it may be
        if (times > 1 && once.has(nameIn(label)) && !hedged.has(nameIn(label)))
          wrong.push(`${label} is \`once\` and was done ${times} times under ${key}`)
    const events = []
    for (const each of [run.id, ...(await runtime.runs({ childrenOf: run.id })).map((child) => child.run)]) {
      const own = []
      for await (const event of runtime.handle(each).events()) own.push(event)
      wrong.push(...checkJournal(own))
      events.push(...own)
    }
    const sent = events.filter(({ event }) => event.type === 'mail.accepted' || event.type === 'mail.refused').length
    if (mails !== undefined && sent !== mails) wrong.push(`${sent} mails were sent, expected ${mails}`)
    const { status } = await run.view()
    if (status !== outcome.status) wrong.push(`the view says ${status}, the outcome ${outcome.status}`)
  } finally {
    await runtime.close()
  }
  return wrong
}

/** The leaf that a label of a step is of. */
const nameIn = (label: string): string => label.split(' ')[0]!

/** The leaves whose steps have this effect. */
const leavesOf = (tree: Tree, effect: 'read' | 'once'): ReadonlySet<string> =>
  new Set(partsOf(tree).flatMap((each) => (each.type === 'leaf' && each.effect === effect ? [each.name] : [])))
