/**
 * `npm run fuzz -- --from 1 --count 500 --deaths 3`: random trees of agents beside an oracle, with restarts and pauses.
 * `npm run fuzz -- --ways-back --count 500`: random teams that pay, whose runs take every way back.
 * Prints every seed that is wrong, with its tree.
 */
import { parseArgs } from 'node:util'
import { play } from './play.ts'
import { playWaysBack, type WaysBackPlayed } from './ways-back.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    count: { type: 'string' },
    deaths: { type: 'string' },
    'ways-back': { type: 'boolean' },
  },
})
const whole = (text: string | undefined, otherwise: number): number => {
  const number = Number(text ?? otherwise)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`expected a whole number, not ${String(text)}`)
  return number
}
const from = whole(values.from, 1)
const count = whole(values.count, 200)
const deaths = whole(values.deaths, 3)

const end = (failed: number): void => {
  console.log(`${count - failed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

async function trees(): Promise<void> {
  let failed = 0
  let died = 0
  for (let seed = from; seed < from + count; seed++) {
    const played = await play(seed, deaths)
    died += played.deaths
    if (played.wrong.length > 0) {
      failed++
      console.log(`seed ${seed}, ${played.deaths} deaths: ${JSON.stringify(played.tree)}`)
      for (const each of played.wrong) console.log(`  - ${each}`)
    }
    if ((seed - from + 1) % 100 === 0) console.log(`${seed - from + 1} trees, ${died} deaths, ${failed} wrong`)
  }
  console.log(`${count} random trees, ${died} deaths of their processes`)
  end(failed)
}

async function waysBack(): Promise<void> {
  let failed = 0
  const sum: Record<string, number> = { runs: 0, acts: 0, yeses: 0 }
  const add = (name: string, more: number): void => void (sum[name] = (sum[name] ?? 0) + more)
  const told = (): string =>
    JSON.stringify(sum)
      .replaceAll(/[{}"]/g, '')
      .replaceAll(/[:,]/g, (mark) => `${mark} `)
  for (let seed = from; seed < from + count; seed++) {
    const played: WaysBackPlayed = await playWaysBack(seed)
    for (const name of ['runs', 'acts', 'yeses'] as const) add(name, played[name])
    for (const [name, times] of Object.entries(played.moves)) add(name, times)
    if (played.wrong.length > 0) {
      failed++
      console.log(`seed ${seed}: ${JSON.stringify(played.team)}`)
      for (const each of played.wrong) console.log(`  - ${each}`)
    }
    if ((seed - from + 1) % 100 === 0) console.log(`${seed - from + 1} teams, ${failed} wrong; ${told()}`)
  }
  console.log(`${count} random teams that pay; ${told()}`)
  end(failed)
}

await (values['ways-back'] === true ? waysBack() : trees())
