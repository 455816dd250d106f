/**
 * The power fails, and the disk does: at every point at which a scripted team waits for the disk, and at each of its
 * writes and syncs. Nothing that was seen outside is lost, nothing is done twice; at most a model is asked again (K5,
 * K6).
 *
 *   node test/crash/power/main.ts [--seed n] [--sample n] [--only loss|sync|write] [--durability full|strict|relaxed]
 *
 * `--sample`: so many restarts of each kind instead of all; `--only`: power losses, failing syncs or failing writes. With
 * `relaxed` it must fail. Needs gcc and Linux. Prints figures, then a line for
 * each kind, then `N passed, N failed`. Exit code 1 on a failure.
 */
import { execFileSync, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { Durability } from '@reeve/sqlite/store'
import { Dice } from '../kill/random.ts'
import { audit, referenceOf, type Found, type Reference } from './audit.ts'
import type { Part } from './child.ts'
import { Disk, stepsOf, type Step } from './disk.ts'
import { partialKeys, partialStream, seenIn, type Seen } from './script.ts'

const { values: args } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    sample: { type: 'string' },
    only: { type: 'string' },
    durability: { type: 'string', default: 'full' },
  },
})
const seed = Number(args.seed)
const most = args.sample === undefined ? Infinity : Number(args.sample)
const durability = args.durability as Durability

// what is real of the disk makes it slower and nothing else
const memory = '/dev/shm'
const folder = realpathSync(mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'reeve-power-')))
process.env['NODE_COMPILE_CACHE'] ??= join(folder, 'cache')
const shim = join(folder, 'shim.so')
const childFile = fileURLToPath(new URL('./child.ts', import.meta.url))
const partialFile = fileURLToPath(new URL('./partial.ts', import.meta.url))
const shimSource = join(import.meta.dirname, 'shim.c')
execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-o', shim, shimSource, '-ldl', '-lpthread'])

/** What was traced of a process, and where. */
interface Traced {
  readonly steps: Step[]
  readonly kept: string
}

let traces = 0
/** A new traced disk. */
function tracedPlace(): Record<'disk' | 'witness' | 'trace' | 'kept', string> & { readonly env: NodeJS.ProcessEnv } {
  const place = join(folder, `trace${traces++}`)
  const [disk, witness, trace, kept] = ['disk', 'witness', 'trace', 'kept'].map((name) => join(place, name)) as [
    string,
    string,
    string,
    string,
  ]
  mkdirSync(disk, { recursive: true })
  mkdirSync(kept)
  writeFileSync(witness, '')
  const env = {
    ...process.env,
    LD_PRELOAD: shim,
    POWER_DISK: disk,
    POWER_WITNESS: witness,
    POWER_TRACE: trace,
    POWER_SYNC_US: '3000',
  }
  return { disk, witness, trace, kept, env }
}

async function exitOf(child: ChildProcess, who: string): Promise<void> {
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${who} has ended with ${code}`)
}

/** A process on the traced disk, and others after it. */
async function traced(
  parts: readonly Part[],
  {
    isWatchedFromElsewhere = false,
    afterwards = [],
  }: { isWatchedFromElsewhere?: boolean; afterwards?: readonly Part[] } = {},
): Promise<Traced> {
  const { disk, witness, trace, kept, env } = tracedPlace()
  const run = (...argv: string[]): ChildProcess =>
    fork(childFile, argv, { env, execArgv: ['--no-warnings'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const watcher = isWatchedFromElsewhere ? run(disk, witness, 'watch', parts[0]!.name) : undefined
  const child = run(disk, witness, JSON.stringify(parts), kept)
  // it may have seen everything, and gone
  const gone = watcher === undefined ? undefined : once(watcher, 'exit')
  const [code] = (await once(child, 'exit')) as [number | null]
  if (watcher !== undefined) {
    watcher.kill('SIGKILL')
    await gone
  }
  if (code !== 0) throw new Error(`a traced process has ended with ${code}`)
  for (const part of afterwards)
    await exitOf(run(disk, witness, JSON.stringify([part]), kept), `a process that goes on with ${part.name}`)
  return { steps: [...stepsOf(readFileSync(trace))], kept }
}

interface Kind {
  readonly name: string
  restarts: number
  seen: number
  models: number
  tools: number
  doubts: number
  readonly problems: string[]
}
let passed = 0
let failed = 0
function tell({ name, restarts, seen, models, tools, doubts, problems }: Kind): void {
  if (problems.length === 0) passed++
  else failed++
  console.log(
    `${problems.length === 0 ? 'ok  ' : 'FAIL'} ${name}: ${restarts} restarts, ${seen} things seen before, lost or doubled ${problems.length}; models asked again ${models}, tools called again with the same key ${tools}, once in doubt ${doubts}`,
  )
  for (const problem of problems.slice(0, 8)) console.log(`  ${problem}`)
}
const kindOf = (name: string): Kind => ({ name, restarts: 0, seen: 0, models: 0, tools: 0, doubts: 0, problems: [] })
function note(kind: Kind, at: string, found: Found): void {
  kind.restarts++
  kind.seen += found.seen
  kind.models += found.models
  kind.tools += found.tools
  kind.doubts += found.doubts
  kind.problems.push(...found.problems.map((problem) => `${at}: ${problem}`))
}

/** So many of a list at most, evenly, the last among them. */
const sampled = <T>(list: readonly T[], count: number): T[] =>
  list.length <= count
    ? [...list]
    : Array.from({ length: count }, (_, i) => list[Math.ceil(((i + 1) * list.length) / count) - 1]!)

const dice = new Dice(seed)

/** The power fails just before and just after each sync, and after each thing that was seen. */
async function powerLoss(name: string, { steps }: Traced, reference: Reference): Promise<number> {
  const seenAt = (upTo: number): Seen[] =>
    seenIn(
      steps
        .slice(0, upTo)
        .flatMap(({ what, bytes }) => (what === 'seen' ? [bytes.toString()] : []))
        .join(''),
    ).filter(({ saw }) => saw !== 'the end')
  const end = steps.findIndex(({ what, bytes }) => what === 'seen' && bytes.includes('"the end"'))
  const moments = steps
    .slice(0, end)
    .flatMap(({ what }, i) => (what === 'synced' ? [i, i + 1] : what === 'seen' ? [i + 1] : []))
  // Of those between two syncs the last leaves the same for certain, and most was seen by then.
  const isLast = (at: number, i: number): boolean =>
    moments[i + 1] === undefined || steps.slice(at, moments[i + 1]).some(({ what }) => what === 'synced')
  for (const [loss, which] of [
    ['none', moments.filter(isLast)],
    ['torn', moments],
  ] as const) {
    const kind = kindOf(
      `${name}, ${loss === 'none' ? 'all that was not synced is gone' : 'some of it is there, torn and out of order'}`,
    )
    const disk = new Disk()
    let done = 0
    for (const at of sampled(which, most)) {
      for (; done < at; done++) disk.apply(steps[done]!)
      note(kind, `step ${at}`, await audit(folder, disk.after(loss, dice), seenAt(at), reference))
    }
    tell(kind)
  }
  return steps.slice(0, end).filter(({ what }) => what === 'synced').length
}

const errnos = { EIO: constants.errno.EIO, ENOSPC: constants.errno.ENOSPC }
const batch = 20
/** Whatever is done about a failed sync fails as well. */
const often = 6

/**
 * One write or sync fails, or several syncs; then the process dies, or the power fails, too; or another process goes on,
 * and then the power fails: the kernel may have had what the disk had not.
 */
async function faults(what: 'write' | 'sync', count: number, reference: Reference): Promise<void> {
  for (const [name, errno] of Object.entries(errnos)) {
    const died = kindOf(`${name} at a ${what}, then the process dies`)
    const cut = kindOf(`${name} at a ${what}, then the power fails`)
    const later = kindOf(`${name} at a ${what}, another process goes on, then the power fails`)
    const codes = new Map<string, number>()
    const nths = sampled(
      Array.from({ length: count }, (_, i) => i + 1),
      most,
    )
    for (let from = 0; from < nths.length; from += batch) {
      const parts = nths.slice(from, from + batch).map((nth, i): Part => {
        const times = what === 'sync' && i % 3 > 0 ? often : 1
        return {
          name: `${what}${nth}`,
          fault: `${what}:${nth}:${errno}:${times}`,
          durability,
          isKilled: i % 2 === 0,
          isRead: i % 4 > 1,
        }
      })
      const afterwards =
        what === 'sync' ? parts.map((part): Part => ({ name: part.name, durability, goesOn: true })) : []
      const { steps, kept } = await traced(parts, { afterwards })
      const disk = new Disk()
      const seen = new Map<string, Seen[]>(parts.map((part) => [part.name, []]))
      const ends: string[] = []
      const over: { kind: Kind; part: string; before: Seen[]; files: Map<string, Buffer> }[] = []
      const left = (kind: Kind, part: string, loss: 'none' | 'torn'): void => {
        const files = [...disk.after(loss, dice)].filter(([path]) => path.includes(`/disk/${part}/`))
        over.push({ kind, part, before: [...seen.get(part)!], files: new Map(files) })
      }
      const moments = momentsAfter(steps, parts.length)
      for (const [i, step] of steps.entries()) {
        const part = afterwards[ends.length - parts.length]?.name
        if (part !== undefined && moments.has(i)) for (const loss of ['none', 'torn'] as const) left(later, part, loss)
        disk.apply(step)
        if (step.what !== 'seen') continue
        for (const each of seenIn(step.bytes.toString())) {
          if (each.saw === 'gave up') {
            codes.set(each.code, (codes.get(each.code) ?? 0) + 1)
            if (!each.code.startsWith('store.'))
              died.problems.push(`${each.part}: no clear error: ${each.code} ${each.message}`)
            if (part !== undefined) later.problems.push(`${part}: ${each.code} ${each.message}`)
          }
          if (each.saw !== 'the end') seen.get(each.part)!.push(each)
          else if (ends.push(each.part) <= parts.length) left(cut, each.part, 'none')
        }
      }
      for (const { part, before, kind, files } of over) {
        if (kind === cut) {
          const now = join(kept, part)
          const live = new Map(readdirSync(now).map((file) => [file, readFileSync(join(now, file))]))
          note(died, part, await audit(folder, live, before, reference))
        }
        note(kind, part, await audit(folder, files, before, reference))
      }
      rmSync(join(kept, '..'), { recursive: true, force: true })
    }
    console.log(
      `${name} at a ${what}: ${nths.length} of ${count}; given up with ${[...codes].map(([code, n]) => `${code} ${n}`).join(', ') || 'nothing'}`,
    )
    tell(died)
    tell(cut)
    if (what === 'sync') tell(later)
  }
}

/**
 * The sync of the store's file fails after a checkpoint that stopped at what a reader saw; then the store is closed and
 * the power fails.
 */
async function afterPartialCheckpoint(): Promise<void> {
  const kind = kindOf('EIO at the sync of the store after a partial checkpoint, then the power fails')
  const { disk, env, trace } = tracedPlace()
  const child = fork(partialFile, [disk, 'partial', `sync:2:${constants.errno.EIO}:1`], {
    env,
    execArgv: ['--no-warnings'],
  })
  await exitOf(child, 'a process with a partial checkpoint')
  const after = new Disk()
  for (const step of stepsOf(readFileSync(trace))) after.apply(step)
  const place = mkdtempSync(join(folder, 'after-'))
  for (const [path, bytes] of after.after('none', dice)) writeFileSync(join(place, basename(path)), bytes)
  const engine = createEmbeddedEngine({ file: join(place, 'store.db'), onWarning: () => undefined })
  const stream = engine.stream(partialStream)
  for (const [first, keys] of Object.entries(partialKeys))
    for (const key of keys) {
      kind.seen++
      const found = await stream.get(key).catch(String)
      if (found !== first.repeat(3_000)) kind.problems.push(`lost: ${key}: ${JSON.stringify(found).slice(0, 100)}`)
    }
  await engine.close()
  kind.restarts++
  tell(kind)
}

/** When the power fails for a process that goes on, after so many have ended: about its first syncs, and at some later ones. */
function momentsAfter(steps: readonly Step[], ended: number): Set<number> {
  const moments = new Set<number>()
  let [ends, of] = [0, [] as number[]]
  for (const [i, { what, bytes }] of steps.entries()) {
    if (what === 'synced') of.push(i, i + 1)
    if (what !== 'seen' || !bytes.includes('"the end"')) continue
    if (++ends > ended) for (const at of [...of.slice(0, 6), ...sampled(of.slice(6), 2)]) moments.add(at)
    of = []
  }
  return moments
}

const began = performance.now()
const undisturbed = await traced([{ name: 'undisturbed', durability }])
const reference = referenceOf(
  seenIn(undisturbed.steps.flatMap(({ what, bytes }) => (what === 'seen' ? [bytes.toString()] : [])).join('')),
)
const wants = (what: string): boolean => args.only === undefined || args.only === what
if (wants('loss')) {
  const watched = await traced([{ name: 'watched', durability, isWatched: true }], { isWatchedFromElsewhere: true })
  const syncs = [
    await powerLoss('power loss, unwatched', undisturbed, reference),
    await powerLoss('power loss, watched', watched, reference),
  ]
  console.log(`power loss before and after each of ${syncs.join(' and ')} syncs, and after each thing that was seen`)
}
const end = undisturbed.steps.findIndex(({ what, bytes }) => what === 'seen' && bytes.includes('"the end"'))
const counted = (...what: Step['what'][]): number =>
  undisturbed.steps.slice(0, end).filter((step) => what.includes(step.what)).length
if (wants('sync')) {
  await faults('sync', counted('synced'), reference)
  await afterPartialCheckpoint()
}
if (wants('write')) await faults('write', counted('write', 'cut'), reference)

console.log(`seed ${seed} · durability ${durability} · ${((performance.now() - began) / 1_000).toFixed(1)} s`)
console.log(`${passed} passed, ${failed} failed`)
if (failed === 0) rmSync(folder, { recursive: true, force: true })
process.exit(failed === 0 ? 0 : 1)
