/**
 * The TypeScript in `README.md` and the pages of `docs/`. Every block is one of four kinds, and the line before it says
 * which:
 *
 * - `<!-- example: 02-approval.ts#tool -->`: an excerpt, the region `tool` of `examples/02-approval.ts`; without `#tool`
 *   the whole file. `<!-- conformance: … -->` is one of `conformance/`. Those files are checked and run where they are.
 * - nothing: a complete program. It is type-checked against the built package and run.
 * - `<!-- not run: why -->`: a complete program that is type-checked only.
 * - `<!-- fragment: why -->`: not complete; only its syntax is checked.
 *
 * Owns: the kinds, the excerpts, the check. Does not own: what examples do (`npm run examples`). `node
 * scripts/snippets.ts` writes the excerpts; with `--check` it checks every block and writes nothing.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseSync } from 'oxc-parser'

const root = dirname(import.meta.dirname)

/** Every page that may have code: the README, what coding agents read, all of `docs/`, from the root of the repository. */
export const pages: readonly string[] = [
  'README.md',
  'skills/reeve/SKILL.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
]

/** What a block is, by the line before it; `invalid` with what is wrong. */
export interface Block {
  readonly page: string
  /** Of the fence, from 1. */
  readonly line: number
  readonly language: string
  readonly code: string
  readonly kind: 'excerpt' | 'run' | 'typed' | 'fragment' | 'invalid'
  /** The file of an excerpt; the reason of what is not run or not complete; what is wrong. */
  readonly note: string
}

const marked = /^<!-- (example|conformance|not run|fragment):\s*(.*?)\s*-->$/
/** Each marker, and the kind that it makes of its block. */
const kinds: Readonly<Record<string, Block['kind']>> = {
  example: 'excerpt',
  conformance: 'excerpt',
  'not run': 'typed',
  fragment: 'fragment',
}
const inTypeScript = ['ts', 'tsx', 'mts', 'typescript']
const inJavaScript = ['js', 'jsx', 'mjs', 'javascript']

/** The blocks of TypeScript of a page, and those that should be. */
export function blocksOf(page: string, text: string): readonly Block[] {
  if (text.startsWith('<!-- written by')) return [] // a script writes the page; a test holds it fresh
  const lines = text.split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, fence, language] = /^\s*(`{3,})(\w*)/.exec(lines[at]!) ?? []
    if (fence === undefined || language === undefined) {
      const next = lines.slice(at + 1).find((line) => line.trim() !== '')
      if (marked.test(lines[at]!.trim()) && next?.trimStart().startsWith('```') !== true)
        blocks.push({ page, line: at + 1, language: '', code: '', kind: 'invalid', note: 'no block after the marker' })
      continue
    }
    const close = lines.findIndex((line, i) => i > at && line.trim() === fence)
    const end = close < 0 ? lines.length : close
    const code = lines.slice(at + 1, end).join('\n')
    const [kind, note] = kindOf(language, lines.slice(0, at).findLast((line) => line.trim() !== '') ?? '')
    if ([...inTypeScript, ...inJavaScript].includes(language))
      blocks.push({ page, line: at + 1, language, code, kind, note })
    at = end
  }
  return blocks
}

function kindOf(language: string, before: string): readonly [Block['kind'], string] {
  if (inJavaScript.includes(language)) return ['invalid', 'JavaScript: write it as ```ts, so that it is checked']
  const [, marker, note] = marked.exec(before.trim()) ?? []
  if (marker === undefined) return ['run', '']
  return note === '' ? ['invalid', `the marker "${marker}" gives no reason`] : [kinds[marker]!, note!]
}

const excerpt = /<!-- (example|conformance): ([\w./-]+)(?:#([\w-]+))? -->\n+```tsx?\n[\s\S]*?```/g
/** Where the files of excerpts are. */
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

const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

/** A new folder inside the checkout, where `reeve` is the package that was built last, with its optional peers. */
function project(): string {
  const folder = mkdtempSync(join(root, 'dist.snippets-'))
  // as how-to/install.md says
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable'],
    types: ['node'],
    jsx: 'react-jsx',
    moduleDetection: 'force',
    strict: true,
    exactOptionalPropertyTypes: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', '*.tsx'] }))
  return folder
}

/** Everything that is wrong with these blocks, a line each: `page:line: what`. Empty: nothing. */
export function problemsIn(blocks: readonly Block[]): readonly string[] {
  const problems: string[] = []
  const add = ({ page, line }: Block, what: string): void => void problems.push(`${page}:${line}: ${what.trim()}`)
  for (const block of blocks) {
    if (block.kind === 'invalid') add(block, block.note)
    if (block.kind === 'excerpt' && !/^[\w./-]+(?:#[\w-]+)?$/.test(block.note)) add(block, `no file: ${block.note}`)
    if (block.kind !== 'fragment') continue
    for (const { message } of parseSync(`block.${block.language}`, block.code).errors) add(block, message)
  }
  const programs = blocks.filter(({ kind }) => kind === 'run' || kind === 'typed')
  if (programs.length === 0) return problems
  const folder = project()
  try {
    const files = new Map(
      programs.map((block) => [
        `${block.page.replaceAll(/[^\w]+/g, '-')}-${block.line}.${block.language === 'tsx' ? 'tsx' : 'ts'}`,
        block,
      ]),
    )
    for (const [file, { code }] of files) writeFileSync(join(folder, file), `${code}\n`)
    const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
    })
    const wrong = new Set<Block>()
    for (const [, file, line, message] of stdout.matchAll(/^([\w.-]+)\((\d+),\d+\): error (.*)$/gm)) {
      const block = files.get(file!)!
      wrong.add(block)
      add(block, `its line ${line}: ${message} (a block that is not complete says so: <!-- fragment: why -->)`)
    }
    for (const [file, block] of files)
      if (block.kind === 'run' && !wrong.has(block)) {
        const failure = runs(join(folder, file))
        if (failure !== undefined) add(block, failure)
      }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return problems
}

/** Runs a program in an empty folder, without keys; what it said when it failed. */
function runs(file: string): string | undefined {
  const cwd = mkdtempSync(join(tmpdir(), 'reeve-snippet-'))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$|_BASE_URL$/.test(name)))
  const { status, stderr, error } = spawnSync(process.execPath, ['--no-warnings', file], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  })
  rmSync(cwd, { recursive: true, force: true })
  return status === 0 ? undefined : `run: ${error?.message ?? stderr}`
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(join(root, page), 'utf8')))
    const stale = pages.filter((page) => excerptsOf(page).now !== excerptsOf(page).due)
    const problems = [...stale.map((page) => `${page}: stale, npm run docs:snippets`), ...problemsIn(blocks)]
    for (const problem of problems) console.error(problem)
    const counts = Map.groupBy(blocks, ({ kind }) => kind)
    const of = (kind: Block['kind']): number => counts.get(kind)?.length ?? 0
    console.log(
      `${of('excerpt')} excerpts, ${of('run')} run, ${of('typed')} typed, ${of('fragment')} fragments, ${problems.length} wrong`,
    )
    process.exitCode = problems.length === 0 ? 0 : 1
  } else for (const page of pages) writeFileSync(join(root, page), excerptsOf(page).due)
}
