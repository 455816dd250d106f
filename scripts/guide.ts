/**
 * Keeps the excerpts in the pages of `docs/` those of files that run: a block after `<!-- example: 02-approval.ts#tool
 * -->` is the region `tool` of `examples/02-approval.ts`, without its indentation; after `<!-- conformance: … -->` one
 * of a test of a client that is no package of ours. `node scripts/guide.ts` writes them,
 * a test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)
/** Pages whose code comes from examples. */
export const pages = [
  'guide.md',
  'engines.md',
  'collaboration.md',
  'delegation.md',
  'teams.md',
  'oversight.md',
  'workers.md',
  'ai-sdk.md',
  'openai.md',
  'mcp.md',
] as const
type Page = (typeof pages)[number]
const pathOf = (page: Page): string => join(root, 'docs', page)
const block = /<!-- (example|conformance): ([\w.-]+)#([\w-]+) -->\n+```tsx?\n[\s\S]*?```/g
/** Where the files of a block are. */
const folders: Readonly<Record<string, string>> = { example: 'examples', conformance: 'conformance' }

/** A region of a file: what stands between `// #region name` and the next `// #endregion`. */
function region(path: string, name: string): string {
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  const begin = lines.findIndex((line) => line.trim() === `// #region ${name}`)
  const end = lines.findIndex((line, i) => i > begin && line.trim() === '// #endregion')
  if (begin < 0 || end < 0) throw new Error(`${path} has no region "${name}"`)
  const inside = lines.slice(begin + 1, end)
  const indent = Math.min(
    ...inside.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length),
  )
  return inside.map((line) => line.slice(indent)).join('\n')
}

/** A page as it is, as it is to be, and every block of code in it that comes from no example. */
export function guideNowAndDue(page: Page = 'guide.md'): {
  readonly now: string
  readonly due: string
  readonly strays: readonly string[]
} {
  const now = readFileSync(pathOf(page), 'utf8')
  const due = now.replace(block, (_, kind: string, file: string, name: string) => {
    const language = file.endsWith('.tsx') ? 'tsx' : 'ts'
    const text = region(`${folders[kind]}/${file}`, name)
    return `<!-- ${kind}: ${file}#${name} -->
\`\`\`${language}
${text}
\`\`\``
  })
  const strays = [...due.replace(block, '').matchAll(/```(?:ts|js|tsx)\n([\s\S]*?)```/g)].map((found) => found[1]!)
  return { now, due, strays }
}

if (import.meta.main) for (const page of pages) writeFileSync(pathOf(page), guideNowAndDue(page).due)
