/**
 * Plays a random tree on a real store: with processes that die at random commits, pauses at random moments, and a human
 * who answers whatever is asked. Then holds the run against the oracle.
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
import { agentOf, expectedOf, humanSays, randomTree, type Tree } from './trees.ts'

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

/** Plays the tree of a seed. `deaths`: how often its process dies at most. */
export async function play(seed: number, deaths = 3): Promise<Played> {
  const tree = randomTree(seed)
  const roll = dice(seed * 104_729 + 7)
  const folder = mkdtempSync(join(tmpdir(), 'reeve-fuzz-'))
  const file = join(folder, 'store.db')
  const world = new World()
  const root = agentOf(tree, world.deed)
  let died = 0
  try {
    for (;;) {
      const dies = died < deaths ? 1 + Math.floor(roll() * 30) : Infinity
      if (await lives(seed, file, root, world, roll, dies)) break
      died++
      const db = new DatabaseSync(file)
      db.exec('DELETE FROM process') // the dead process is this one, which lives
      db.close()
    }
    return { tree, deaths: died, wrong: await faults(seed, file, root, tree, world) }
  } catch (thrown) {
    return { tree, deaths: died, wrong: [String(thrown instanceof Error ? thrown.stack : thrown)] }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** One process: until the run ends (true), or until it dies at this commit (false). */
async function lives(
  seed: number,
  file: string,
  root: ReturnType<typeof agentOf>,
  world: World,
  roll: () => number,
  dies: number,
): Promise<boolean> {
  let commits = 0
  let dead = false
  const crash = (point: string): boolean => (dead ||= point.startsWith('commit') && ++commits >= dies)
  const runtime = await createRuntime({
    store: file,
    agents: [root],
    crash,
    strict: true,
    onWarning: () => {},
  })
  const began = performance.now()
  let ended = false
  let wrong: Error | undefined
  try {
    const run = await orDead(runtime.start(root, 'Go', { runId: `run_${seed}` }), () => dead)
    if (run === undefined) return false
    void run.outcome().then(
      () => (ended = true),
      (thrown: unknown) => (wrong = dead ? undefined : new Error('the run has no outcome', { cause: thrown })),
    )
    while (!dead && !ended) {
      if (wrong !== undefined) throw wrong
      if (performance.now() - began > patienceMs)
        throw new Error(`no end after ${patienceMs} ms: ${JSON.stringify(await run.view())}`)
      await orDead(outside(runtime, run, world, roll), () => dead)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return !dead
  } finally {
    await runtime.close()
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

/** What people do: answer what is asked, tell what they know of effects in doubt, and sometimes pause. */
async function outside(runtime: Runtime, run: Run<unknown>, world: World, roll: () => number): Promise<void> {
  for (const question of await runtime.questions()) {
    if (question.kind === 'in-doubt') {
      const known = world.has((question.body as { key: string }).key)
      await runtime.settleDoubt(
        known === undefined
          ? { id: question.id, happened: false }
          : { id: question.id, happened: true, value: known.output },
      )
    } else await runtime.answer({ interruptId: question.id, value: humanSays })
  }
  if (roll() < 0.02) {
    try {
      await run.control.pause()
      await run.control.resume()
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'run.ended')) throw thrown // it may have ended meanwhile
    }
  }
}

async function faults(
  seed: number,
  file: string,
  root: ReturnType<typeof agentOf>,
  tree: Tree,
  world: World,
): Promise<string[]> {
  const { end, deeds, mails } = expectedOf(tree)
  const wrong: string[] = []
  const runtime = await createRuntime({ store: file, agents: [root], drive: false, onWarning: () => {} })
  try {
    const run = runtime.handle(`run_${seed}`)
    const outcome = await run.outcome()
    if (outcome.status !== end.status)
      wrong.push(`ends ${outcome.status} (${JSON.stringify(outcome)}), expected ${end.status}`)
    else if (
      outcome.status === 'completed' &&
      end.status === 'completed' &&
      JSON.stringify(outcome.output) !== JSON.stringify(end.output)
    )
      wrong.push(`answers ${JSON.stringify(outcome.output)}, expected ${JSON.stringify(end.output)}`)
    for (const label of new Set([...deeds.keys(), ...world.done.keys()])) {
      const keys = world.done.get(label)?.size ?? 0
      if (keys !== (deeds.get(label) ?? 0))
        wrong.push(`${label} is done under ${keys} keys, expected ${deeds.get(label) ?? 0}`)
    }
    const once = onceIn(tree)
    for (const [label, keys] of world.done)
      for (const [key, times] of keys)
        if (times > 1 && once.has(label.split(' ')[0]!))
          wrong.push(`${label} is \`once\` and was done ${times} times under ${key}`)
    const events = []
    for (const each of [run.id, ...(await runtime.runs({ childrenOf: run.id })).map((child) => child.run)]) {
      const own = []
      for await (const event of runtime.handle(each).events()) own.push(event)
      wrong.push(...checkJournal(own))
      events.push(...own)
    }
    const sent = events.filter(({ event }) => event.type === 'mail.accepted' || event.type === 'mail.refused').length
    if (sent !== mails) wrong.push(`${sent} mails were sent, expected ${mails}`)
    const { status } = await run.view()
    if (status !== outcome.status) wrong.push(`the view says ${status}, the outcome ${outcome.status}`)
  } finally {
    await runtime.close()
  }
  return wrong
}

/** The leaves whose steps must never be done twice. */
function onceIn(tree: Tree): ReadonlySet<string> {
  if (tree.type === 'leaf') return new Set(tree.effect === 'once' ? [tree.name] : [])
  const parts =
    'members' in tree ? tree.members : 'workers' in tree ? tree.workers : 'tools' in tree ? tree.tools : tree.roles
  return new Set(parts.flatMap((part) => [...onceIn(part)]))
}
