/** One long activation: it walks, its process is killed, another one replays it. Meanwhile Restate's journals are looked at. */
import { sleep } from './measure.ts'
import type { Arena, Name } from './restate-place.ts'

export interface Restarted {
  readonly walkMs: number
  readonly resumeMs: number
  /** How many workflows have moved it, one after the other. */
  readonly generations: number
  /** The most that Restate has held for it at one moment. */
  readonly mostEntries: number
  readonly mostBytes: number
}

type Watched = Pick<Restarted, 'generations' | 'mostEntries' | 'mostBytes'>

/** One engine after the other: each has the machine for itself. */
export async function afterKill(arena: Arena, steps: number): Promise<Record<Name, Restarted>> {
  const seen: Partial<Record<Name, Restarted>> = {}
  for (const { name } of arena.contestants) seen[name] = await restarted(arena, name, steps)
  return seen as Record<Name, Restarted>
}

async function restarted(arena: Arena, name: Name, steps: number): Promise<Restarted> {
  const contestant = arena.contestant(name)
  const run = `long-${name}-${Date.now()}`
  const stop = watch(arena, name, run)
  const [walkMs] = await contestant.take({ do: 'walk', steps, run })
  const watched = await stop()
  await contestant.end('kill')
  await sleep(1_000)
  const begun = performance.now()
  await contestant.start()
  await contestant.take({ do: 'let on', run })
  return { walkMs: walkMs!, resumeMs: performance.now() - begun, ...watched }
}

/** Looks at the journals now and then; the returned function ends that and says what was seen. */
function watch(arena: Arena, name: Name, run: string): () => Promise<Watched> {
  if (name === 'embedded') return () => Promise.resolve({ generations: NaN, mostEntries: NaN, mostBytes: NaN })
  const keys = new Set<string>()
  let [mostEntries, mostBytes, over] = [0, 0, false]
  const look = async (): Promise<void> => {
    const found = (await arena.journals(name)).filter(({ key }) => key.includes(run))
    const sum = (of: (one: (typeof found)[number]) => number): number => found.reduce((all, one) => all + of(one), 0)
    for (const { key } of found) keys.add(key)
    mostEntries = Math.max(
      mostEntries,
      sum(({ entries }) => entries),
    )
    mostBytes = Math.max(
      mostBytes,
      sum(({ bytes }) => bytes),
    )
  }
  const looking = (async () => {
    while (!over) {
      await look()
      await sleep(500)
    }
    await look()
  })()
  return async () => {
    over = true
    await looking
    return { generations: Math.max(...[...keys].map((key) => Number(key.split(':')[0]) + 1)), mostEntries, mostBytes }
  }
}
