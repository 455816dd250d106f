/**
 * The attacks as a suite: each is tried on a server of its own, over HTTP; a table says which held.
 *
 *   npm run redteam -- [--only word,word] [--quick] [--write] [--list]
 *   npm run redteam -- --fuzz 10000 [--seed text]
 *
 * `--only`: attacks whose id or area contains one of the words. `--quick`: those that need nothing but a server.
 * `--write`: also writes docs/reference/attacks.md. `--fuzz`: so many requests of two tenants over every protocol, instead
 * of the attacks. Exit code 1 if one fell that is not left open, or could not be tried.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { attacks } from './attacks/index.ts'
import { fuzzTenants } from './fuzz.ts'
import { attackTable } from './table.ts'
import { tryAttack, type Result } from './suite.ts'

const { values: args } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    fuzz: { type: 'string', default: '0' },
    seed: { type: 'string', default: 'tenants' },
  },
})

if (Number(args.fuzz) > 0) {
  const { requests, statuses, problems } = await fuzzTenants(Number(args.fuzz), args.seed)
  for (const problem of problems) console.log(problem)
  console.log(
    `${requests} requests: ${Object.entries(statuses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ')}`,
  )
  console.log(`${problems.length} problems`)
  process.exit(problems.length === 0 ? 0 : 1)
}

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
  const said = seenOf(result)
  console.log(`${result.status.padEnd(7)} ${attack.id}${said === '' ? '' : `: ${said}`}`)
}
function seenOf(result: Result): string {
  switch (result.status) {
    case 'held':
      return ''
    case 'fell':
      return result.seen
    case 'skipped':
      return result.why
    case 'broken':
      return result.error instanceof Error ? (result.error.stack ?? result.error.message) : String(result.error)
  }
}

const isOpen = (id: string): boolean => attacks.some((attack) => attack.id === id && attack.leftOpen !== undefined)
const count = (status: Result['status']): number =>
  [...results].filter(([id, result]) => result.status === status && !(status === 'fell' && isOpen(id))).length
const leftOpen = [...results].filter(([id, result]) => result.status === 'fell' && isOpen(id)).length
if (args.write) writeFileSync('docs/reference/attacks.md', attackTable(attacks, results))
if (!args.list)
  console.log(
    `${count('held')} held, ${count('fell')} fell, ${leftOpen} work and are left open, ${count('skipped')} skipped, ${count('broken')} could not be tried`,
  )
process.exit(count('fell') + count('broken') === 0 ? 0 : 1)
