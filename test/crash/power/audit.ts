/**
 * After the power has failed: nothing that an outside has seen is missing from the store, and the runs go on to the same
 * ends, with nothing done twice.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { decode } from '@reeve/journal'
import { Player, runs, type Seen } from './script.ts'

/** What an undisturbed play does. */
export interface Reference {
  readonly outcomes: ReadonlyMap<string, string>
  readonly keys: { readonly [kind in 'model' | 'tool' | 'once']: ReadonlySet<string> }
  readonly models: number
}

export interface Found {
  readonly problems: string[]
  /** Models that were asked again, tools that were called again under the same key, `once` in doubt. */
  readonly models: number
  readonly tools: number
  readonly doubts: number
  readonly seen: number
}

type Effect = Extract<Seen, { saw: 'effect' }>
const effectsIn = (seen: readonly Seen[], kind: Effect['kind']): Effect[] =>
  seen.filter((each): each is Effect => each.saw === 'effect' && each.kind === kind)

export function referenceOf(seen: readonly Seen[]): Reference {
  const keys = (kind: Effect['kind']): Set<string> => new Set(effectsIn(seen, kind).map(({ key }) => key))
  return {
    outcomes: new Map(
      seen.flatMap((each) => (each.saw === 'outcome' ? [[each.run, JSON.stringify(each.outcome)]] : [])),
    ),
    keys: { model: keys('model'), tool: keys('tool'), once: keys('once') },
    models: effectsIn(seen, 'model').length,
  }
}

/** `files`: by their paths; `seen`: what the outside had seen when it happened. */
export async function audit(
  folder: string,
  files: ReadonlyMap<string, Buffer>,
  seen: readonly Seen[],
  reference: Reference,
): Promise<Found> {
  const place = mkdtempSync(join(folder, 'after-'))
  for (const [path, bytes] of files) writeFileSync(join(place, basename(path)), bytes)
  const [store, witness] = [join(place, 'store.db'), join(place, 'witness')]
  const problems = lost(store, seen)
  const player = new Player({ store, witness, part: 'after' }, seen)
  // Where an answer was lost its run waits for ever.
  if (problems.length > 0) return { problems, models: 0, tools: 0, doubts: 0, seen: seen.length }
  let late: ReturnType<typeof setTimeout> | undefined
  const never = new Promise<void>((resolve) => {
    late = setTimeout(() => {
      problems.push(`not at an end within 60 s: ${place}`)
      resolve()
    }, 60_000)
  })
  await Promise.race([player.play(), never])
  clearTimeout(late)
  await player.close()
  const all = player.seen
  rmSync(place, { recursive: true, force: true })
  problems.push(...wrong(all, reference))
  return {
    problems,
    models: effectsIn(all, 'model').length - reference.models,
    tools: effectsIn(all, 'tool').length - reference.keys.tool.size,
    doubts: all.filter(({ saw }) => saw === 'settled').length,
    seen: seen.length,
  }
}

/** What was seen and is not there. */
function lost(store: string, seen: readonly Seen[]): string[] {
  const known = seen.filter((each) => each.saw !== 'gave up' && !(each.saw === 'effect' && each.kind === 'model'))
  if (!existsSync(store)) return known.map(({ saw }) => `lost with the store: ${saw}`)
  const db = new DatabaseSync(store)
  try {
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log'").get() === undefined)
      return known.map(({ saw }) => `lost with the tables: ${saw}`)
    const log = db
      .prepare('SELECT log.position, activation.id, seq, body FROM log JOIN activation ON activation.num = log.act')
      .all() as unknown as { position: number; id: string; seq: number; body: string }[]
    const has = (sql: string, ...values: string[]): boolean => db.prepare(sql).get(...values) !== undefined
    const isThere = (each: Seen): boolean => {
      switch (each.saw) {
        case 'started':
          return has('SELECT 1 FROM run WHERE id = ?', each.run)
        case 'effect':
          return log.some(({ id, body }) => `${id}:${addressIn(body)}` === each.key)
        case 'cancelled':
          return has("SELECT 1 FROM inbox WHERE act = ? AND key = '!cancel'", `act_${each.run}`)
        case 'posted':
          return has("SELECT 1 FROM inbox WHERE act = 'act_hearer' AND key = 'msg:m1'")
        case 'decided':
        case 'settled':
          return !has(
            "SELECT 1 FROM question WHERE act || ':' || address = ? AND id NOT IN (SELECT q.id FROM question q JOIN inbox i ON i.act = q.act AND i.key = q.key)",
            each.question,
          )
        case 'value':
          return has(
            "SELECT 1 FROM value WHERE stream = 'ses_outside' AND key = 'count' AND CAST(body AS INTEGER) >= CAST(? AS INTEGER)",
            String(each.value),
          )
        case 'event': {
          const { position, activation, seq, event } = each.event
          const entry = log.find((one) => one.position === position)
          return (
            entry?.id === activation &&
            entry.seq === seq &&
            JSON.stringify(decode(entry.body)) === JSON.stringify(event)
          )
        }
        case 'outcome':
          return has('SELECT 1 FROM run WHERE id = ? AND ended IS NOT NULL', each.run)
        default:
          return true
      }
    }
    return known.filter((each) => !isThere(each)).map((each) => `lost: ${JSON.stringify(each).slice(0, 300)}`)
  } catch (thrown) {
    return [`the store is damaged: ${String(thrown)}`]
  } finally {
    db.close()
  }
}

function addressIn(body: string): string {
  const event = decode(body)
  return 'address' in event ? event.address : ''
}

/** What has come to another end, was done twice or not at all. */
function wrong(all: readonly Seen[], { outcomes, keys }: Reference): string[] {
  const problems: string[] = all.flatMap((each) =>
    each.saw === 'gave up' && each.part === 'after' ? [`gave up after the restart: ${each.code} ${each.message}`] : [],
  )
  for (const run of runs) {
    const ends = all.flatMap((each) =>
      each.saw === 'outcome' && each.run === run ? [JSON.stringify(each.outcome)] : [],
    )
    const others = ends.filter((end) => end !== outcomes.get(run))
    if (ends.length === 0 || others.length > 0) problems.push(`${run} ended with ${others[0] ?? 'nothing'}`)
  }
  for (const kind of ['tool', 'once'] as const) {
    const done = effectsIn(all, kind).map(({ key }) => key)
    for (const key of keys[kind]) {
      const times = done.filter((each) => each === key).length
      if (times === 0) problems.push(`never done: ${key}`)
      if (kind === 'once' && times > 1) problems.push(`done ${times} times: ${key}`)
    }
    for (const key of new Set(done)) if (!keys[kind].has(key)) problems.push(`done under another key: ${key}`)
  }
  return problems
}
