/**
 * Writes `llms.txt`: the pages of the documentation as a model reads a site, grouped as in docs/README.md. With `--full`
 * it writes `llms-full.txt`, which is all of them; the build does so, and it is in the package, not in the repository.
 *
 * Owns: the form of `llms.txt`. Does not own: which pages there are and what each is for (docs/README.md), the whole text
 * (manual).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fullText, readManual } from '../packages/manual/src/index.ts'
import { root } from './house.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const file = 'llms.txt'
/** A link of the index as a path from the root of the repository. */
const fromRoot = (link: string): string => join('docs', link.replace(/#.*$/, ''))
/** Markdown as text. */
const plain = (text: string): string => text.replaceAll(/\*\*|`/g, '').replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')

/** The heading of a page; of a folder, or what is no page, its name. */
const titleOf = (path: string): string =>
  (path.endsWith('.md') && existsSync(join(root, path)) ? /^# (.+)$/m.exec(read(path))?.[1] : undefined) ?? path

/** The file for an index of pages: its rows are `| what for | [page](link), … |`, its groups `| **name** | |`. Pure but for headings. */
export function llmsText(index: string, about: string): string {
  const lines = index.split('\n').flatMap((line) => {
    const [, what = '', where = ''] = /^\| (.+?) \| ?(.*?) ?\|$/.exec(line) ?? []
    const group = where === '' ? /^\*\*(.+)\*\*$/.exec(what)?.[1] : undefined
    if (group !== undefined) return ['', `## ${group}`, '']
    return [...where.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => {
      const path = fromRoot(link!)
      return `- [${plain(titleOf(path))}](${path}): ${plain(what)}`
    })
  })
  return `# Reeve\n\n> ${about}\n${lines.join('\n')}\n`
}

/** The file as it is, and as it is to be. */
export function llmsNowAndDue(): { readonly now: string; readonly due: string } {
  return { now: existsSync(join(root, file)) ? read(file) : '', due: llmsText(read('docs/README.md'), about()) }
}

const about = (): string => (JSON.parse(read('package.json')) as { readonly description: string }).description

if (import.meta.main) {
  if (process.argv.includes('--full')) writeFileSync(join(root, 'llms-full.txt'), fullText(readManual(root), about()))
  else writeFileSync(join(root, file), llmsNowAndDue().due)
}
