/**
 * The attacks as a suite: each is tried on a server of its own, over HTTP; a table says which held.
 *
 *   npm run redteam -- [--only word,word] [--quick] [--write] [--list]
 *
 * `--only`: attacks whose id or area contains one of the words. `--quick`: those that need nothing but a server.
 * `--write`: also writes docs/reference/attacks.md. Exit code 1 if one fell or could not be tried.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { attacks } from './attacks/index.ts'
import { attackTable } from './table.ts'
import { tryAttack, type Result } from './suite.ts'

const { values: args } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

const words = args.only.split(',').filter((word) => word !== '')
const chosen = attacks.filter(
  ({ id, area, needs }) =>
    (words.length === 0 || words.some((word) => id.includes(word) || area.includes(word))) &&
    !(args.quick && needs !== undefined),
)
const results = new Map<string, Result>()
for (const attack of chosen) {
  if (args.list) {
    console.log(`${attack.id}: ${attack.holds}`)
    continue
  }
  const result = await tryAttack(attack)
  results.set(attack.id, result)
  const said =
    result.status === 'held'
      ? ''
      : result.status === 'fell'
        ? `: ${result.seen}`
        : `: ${result.error instanceof Error ? result.error.stack : String(result.error)}`
  console.log(`${result.status.padEnd(6)} ${attack.id}${said}`)
}
const count = (status: Result['status']): number =>
  [...results.values()].filter((result) => result.status === status).length
if (args.write) writeFileSync('docs/reference/attacks.md', attackTable(attacks, results))
if (!args.list) console.log(`${count('held')} held, ${count('fell')} fell, ${count('broken')} could not be tried`)
process.exit(count('fell') + count('broken') === 0 ? 0 : 1)
