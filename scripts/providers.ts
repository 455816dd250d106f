/**
 * Prints what the strict providers refuse, each rule with its source, and plays random conversations against all of
 * them: `node scripts/providers.ts [--rules] [--count 1000] [--teams 100] [--seed 1]
 * [--preset groq]`. Exits with 1 if a request was refused (Reeve should have sent something else, or have said before the
 * call that it cannot be sent), or if a run failed by a defect.
 */
import { parseArgs } from 'node:util'
import { providerRules, strictProviderNames, type ProviderName } from '../packages/testing/src/providers/index.ts'
import {
  playConversation,
  stageFor,
  type PlayedConversation,
  type Stage,
} from '../packages/model/test/providers/conversations.ts'
import { playTeam } from '../packages/model/test/providers/teams.ts'

const { values } = parseArgs({
  options: {
    rules: { type: 'boolean', default: false },
    count: { type: 'string', default: '1000' },
    teams: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    preset: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
})

const names = strictProviderNames.filter((name) => values.preset === undefined || name === values.preset)
if (names.length === 0) throw new Error(`unknown preset "${values.preset}"; known: ${strictProviderNames.join(', ')}`)

for (const name of names) printRules(name)
if (!values.rules) {
  const messages = await playAll('conversations', Number(values.count), playConversation)
  const teams = await playAll('teams', Number(values.teams), playTeam)
  if (!messages || !teams) process.exitCode = 1
}

function printRules(name: ProviderName): void {
  const rules = providerRules.filter(({ providers }) => providers.includes(name))
  console.log(`\n${name}: ${rules.length} rules`)
  for (const { id, what, source } of rules) console.log(`  ${id.padEnd(36)} ${what}\n${' '.repeat(39)}${source}`)
}

/** Whether nothing was refused, and nothing failed that Reeve is to blame for. */
async function playAll(
  what: string,
  count: number,
  play: (stage: Stage, seed: number) => Promise<PlayedConversation>,
): Promise<boolean> {
  const seed = Number(values.seed)
  let clean = true
  console.log(`\n${count} ${what}, seed ${seed}`)
  for (const [at, name] of names.entries()) {
    const share = Math.floor(count / names.length) + (at < count % names.length ? 1 : 0)
    const stage = await stageFor(name)
    const played: PlayedConversation[] = []
    for (let n = 0; n < share; n++) played.push(await play(stage, seed * 1_000_003 + at * 100_003 + n))
    await stage.provider.close()
    clean = printPlayed(name, played) && clean
  }
  return clean
}

function printPlayed(name: ProviderName, played: readonly PlayedConversation[]): boolean {
  const sum = (of: (one: PlayedConversation) => number): number => played.reduce((total, one) => total + of(one), 0)
  const refused = sum((one) => one.refused.length)
  console.log(
    `${name.padEnd(12)} ${played.length} played, ${sum((one) => one.requests)} requests, ${refused} refused, ` +
      `${sum((one) => one.said.length)} said before the call, ${sum((one) => one.failed.length)} failed otherwise`,
  )
  count(played, ({ refused: list }) => list.map(({ rule, why }) => [rule, why]))
  count(played, ({ said }) => said.map(({ code, message }) => [`said: ${code}`, message]))
  count(played, ({ failed }) => failed.map(({ code, message }) => [`failed: ${code}`, message]))
  return refused === 0 && sum((one) => one.failed.length) === 0
}

/** Prints how often something was, with the first seed and the first words of it. */
function count(
  played: readonly PlayedConversation[],
  found: (one: PlayedConversation) => readonly (readonly [string, string])[],
): void {
  const counts = new Map<string, { times: number; readonly seed: number; readonly words: string }>()
  for (const one of played)
    for (const [what, words] of found(one)) {
      const known = counts.get(what)
      if (known === undefined) counts.set(what, { times: 1, seed: one.seed, words })
      else known.times++
    }
  for (const [what, { times, seed, words }] of [...counts].toSorted(([, a], [, b]) => b.times - a.times))
    console.log(
      `  ${String(times).padStart(5)}  ${what.padEnd(40)} seed ${seed}: ${words.slice(0, values.verbose ? 1000 : 110)}`,
    )
}
