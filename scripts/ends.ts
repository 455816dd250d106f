/**
 * Writes `docs/reference/model-ends.md`: every way a model can stop, in the words of each provider, and what Reeve does.
 * All of it is played against the strict providers; nothing is written by hand but the titles. `node scripts/ends.ts`
 * writes the page, a test compares.
 *
 * Owns: the page. Does not own: the ends and how they are played (packages/model/test/providers/ends.ts).
 */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { strictProviderNames } from '@reeve/testing'
import { modelEnds, seeAllEnds, type ModelEnd, type SeenEnd } from '../packages/model/test/providers/ends.ts'

const page = join(dirname(import.meta.dirname), 'docs', 'reference', 'model-ends.md')

const code = (text: string | undefined): string => (text === undefined ? '' : `\`${text}\``)
/** As the headings of a page are linked. */
const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
const cell = (text: string): string => text.replaceAll('|', '\\|')

/** What stands in the usage of the agent for the calls that ended so. */
function countedOf({ calls, unknown, requests }: SeenEnd): string {
  if (calls === 0) return 'nothing'
  if (unknown === calls) return 'as unknown'
  return unknown === 0 && calls === requests ? 'as the provider says' : `${calls} of ${requests}, ${unknown} as unknown`
}

function firstOf({ follows, waitMs }: SeenEnd): string {
  return waitMs === undefined || waitMs < 10_000 ? follows : `${follows}, ${waitMs / 1_000} seconds later`
}

function thenOf(seen: SeenEnd): string {
  if (seen.code === undefined) return ''
  const times = seen.requests === 1 ? '' : ` after ${seen.requests} requests`
  return `${code(seen.code)} (${seen.class})${times}`
}

/** Words of a provider with one result are one row, and so are providers with one row. */
function tableOf(list: readonly SeenEnd[]): string {
  const words = new Map<string, { readonly provider: string; readonly result: string; readonly words: string[] }>()
  for (const seen of list) {
    const { code: failed, provider, word, hasPartial } = seen
    const ends = failed === undefined ? ['', ''] : [hasPartial ? 'kept' : 'none', countedOf(seen)]
    const result = [firstOf(seen), thenOf(seen), ...ends].map(cell).join(' | ')
    const key = `${provider} ${result}`
    words.set(key, { provider, result, words: [...(words.get(key)?.words ?? []), cell(word)] })
  }
  const rows = new Map<string, string[]>()
  for (const { provider, result, words: said } of words.values()) {
    const row = `${said.join('; ')} | ${result}`
    rows.set(row, [...(rows.get(row) ?? []), provider])
  }
  const isAll = (names: readonly string[]): boolean => names.length === strictProviderNames.length
  return [
    '| provider | says | Reeve | if it stops so again and again | partial answer | counted |',
    '|---|---|---|---|---|---|',
    ...[...rows].map(([row, names]) => `| ${isAll(names) ? 'all' : names.join(', ')} | ${row} |`),
  ].join('\n')
}

const overview = (seen: ReadonlyMap<string, readonly SeenEnd[]>): string =>
  [
    '| the model stopped | Reeve | else |',
    '|---|---|---|',
    ...modelEnds.map((end) => {
      const [codes, follows] = (['code', 'follows'] as const).map((of) => [
        ...new Set(seen.get(end.id)!.flatMap((one) => one[of] ?? [])),
      ])
      return `| [${end.title}](#${anchor(end.title)}) | ${follows!.join(', ')} | ${codes!.map(code).join(', ')} |`
    }),
  ].join('\n')

const sectionOf = (end: ModelEnd, list: readonly SeenEnd[]): string =>
  [`### ${end.title}`, ...(end.about === undefined ? [] : [end.about]), tableOf(list)].join('\n\n')

/** The page, from what was seen. */
export function endsPage(seen: ReadonlyMap<string, readonly SeenEnd[]>): string {
  const count = [...seen.values()].reduce((total, list) => total + list.length, 0)
  return `<!-- written by \`npm run docs:ends\`, do not edit -->

# Why a model stopped, and what Reeve does

${count} ends of ${strictProviderNames.length} providers, each played against its strict provider (\`strictProvider\` of \`reeve/testing\`): once with a good answer after it, and again and again. The agent has two attempts for a step
(\`retry: { attempts: 2 }\`), one tool, and no chain of models.

- **goes on with the text**: the next request holds what was said, and the pieces are one answer.
- **asks again**: the step is tried again, as \`retry\` says. Nothing of the answer is kept.
- **partial answer**: \`details.partial\` of the failure holds what was said.
- **counted**: how the calls stand in the usage of the agent. An attempt whose answer did not arrive whole counts as unknown; a provider that refused a call has charged nothing.

What follows from such a failure for leaders, chains and budgets: [models in production](../how-to/models-in-production.md).

${overview(seen)}

${modelEnds.map((end) => sectionOf(end, seen.get(end.id)!)).join('\n\n')}
`
}

if (import.meta.main) writeFileSync(page, endsPage(await seeAllEnds()))
