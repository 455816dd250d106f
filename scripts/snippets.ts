/**
 * Keeps the code in `README.md` and the pages of `docs/` that of files that run: a block after `<!-- example:
 * 02-approval.ts#tool -->` is the region `tool` of `examples/02-approval.ts`, without its indentation; after `<!--
 * conformance: migration/mastra.before.ts -->` it is a whole file of `conformance/`, whose packages are no packages of
 * ours.
 *
 * Owns: the excerpts, the list of pages. `node scripts/snippets.ts` writes the excerpts, a test compares.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)

/** Every page that has code: the README and all of `docs/`, from the root of the repository. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
]

const excerpt = /<!-- (example|conformance): ([\w./-]+)(?:#([\w-]+))? -->\n+```tsx?\n[\s\S]*?```/g
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

/** A file without its header and without the comments that mark regions. */
function whole(path: string): string {
  const text = readFileSync(join(root, path), 'utf8').replace(/^\/\*\*[\s\S]*?\*\/\n/, '')
  return text.replaceAll(/^\s*\/\/ #(?:end)?region.*\n/gm, '').trim()
}

/** A page as it is, and as it is to be. */
export function excerptsOf(page: string): { readonly now: string; readonly due: string } {
  const now = readFileSync(join(root, page), 'utf8')
  const due = now.replace(excerpt, (_, kind: string, file: string, name: string | undefined) => {
    const path = `${folders[kind]}/${file}`
    const text = name === undefined ? whole(path) : region(path, name)
    const language = file.endsWith('.tsx') ? 'tsx' : 'ts'
    return `<!-- ${kind}: ${file}${name === undefined ? '' : `#${name}`} -->\n\`\`\`${language}\n${text}\n\`\`\``
  })
  return { now, due }
}

if (import.meta.main) for (const page of pages) writeFileSync(join(root, page), excerptsOf(page).due)
