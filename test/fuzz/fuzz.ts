/**
 * `npm run fuzz -- --from 1 --count 500 --deaths 3`: random trees of agents beside an oracle, with restarts and pauses.
 * Prints every seed that is wrong, with its tree.
 */
import { parseArgs } from 'node:util'
import { play } from './play.ts'

const { values } = parseArgs({
  options: { from: { type: 'string' }, count: { type: 'string' }, deaths: { type: 'string' } },
})
const whole = (text: string | undefined, otherwise: number): number => {
  const number = Number(text ?? otherwise)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`expected a whole number, not ${String(text)}`)
  return number
}
const from = whole(values.from, 1)
const count = whole(values.count, 200)
const deaths = whole(values.deaths, 3)

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
console.log(`${count - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
