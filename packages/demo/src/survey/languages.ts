/**
 * What kind of file a path is, judged by its name alone.
 * Owns: the table. Does not own: what is read in a file.
 */
import { nameOf } from './walk.ts'

/**
 * A language as the surveys count it. `code` and `settings` have comments, `prose` is text for people, `data` is
 * neither.
 */
export interface Language {
  readonly name: string
  readonly kind: 'code' | 'settings' | 'prose' | 'data'
}

const endings: Readonly<Record<Language['kind'], readonly string[]>> = {
  code: [
    'TypeScript: ts tsx mts cts',
    'JavaScript: js jsx mjs cjs',
    'Python: py pyi pyw',
    'Go: go',
    'Rust: rs',
    'Java: java',
    'Kotlin: kt kts',
    'Scala: scala sc',
    'Groovy: groovy gradle',
    'C: c h',
    'C++: cc cpp cxx hh hpp hxx',
    'C#: cs',
    'F#: fs fsx',
    'Objective-C: m mm',
    'Swift: swift',
    'Dart: dart',
    'PHP: php',
    'Zig: zig',
    'Ruby: rb rake gemspec',
    'Perl: pl pm',
    'R: r',
    'Julia: jl',
    'Elixir: ex exs',
    'Erlang: erl hrl',
    'Clojure: clj cljs cljc edn',
    'Lisp: lisp el scm rkt',
    'Haskell: hs',
    'Lua: lua',
    'Nix: nix',
    'Shell: sh bash zsh fish ksh',
    'PowerShell: ps1 psm1',
    'SQL: sql',
    'Terraform: tf tfvars hcl',
    'Protocol Buffers: proto',
    'GraphQL: graphql gql',
    'CSS: css scss sass less',
    'HTML: html htm xhtml',
    'Vue: vue',
    'Svelte: svelte',
    'Astro: astro',
  ],
  settings: [
    'TeX: tex sty cls',
    'XML: xml xsd xsl plist csproj',
    'YAML: yml yaml',
    'TOML: toml',
    'INI: ini cfg conf properties env editorconfig npmrc',
  ],
  prose: ['Markdown: md markdown mdx', 'reStructuredText: rst', 'AsciiDoc: adoc asciidoc', 'Text: txt text'],
  data: ['SVG: svg', 'JSON: json json5 jsonc jsonl map webmanifest', 'CSV: csv tsv', 'Lock file: lock'],
}
const names: Readonly<Record<string, string>> = {
  makefile: 'Makefile', gnumakefile: 'Makefile', jenkinsfile: 'Groovy', gemfile: 'Ruby', rakefile: 'Ruby', vagrantfile: 'Ruby', justfile: 'Justfile',
  'cmakelists.txt': 'CMake', 'go.mod': 'Go module', 'go.work': 'Go module', 'go.sum': 'Lock file', 'package-lock.json': 'Lock file',
  'npm-shrinkwrap.json': 'Lock file', 'pnpm-lock.yaml': 'Lock file',
} // prettier-ignore

const byEnding = new Map<string, Language>()
for (const kind of ['code', 'settings', 'prose', 'data'] as const)
  for (const row of endings[kind]) {
    const [name = '', list = ''] = row.split(': ')
    for (const ending of list.split(' ')) byEnding.set(ending, { name, kind })
  }

/** The language of a path, or `null` when its name does not tell. */
export function languageOf(path: string): Language | null {
  const name = nameOf(path).toLowerCase()
  const known = Object.hasOwn(names, name) ? names[name] : undefined
  if (known === 'Lock file') return { name: known, kind: 'data' }
  if (known !== undefined) return { name: known, kind: known === 'Go module' ? 'settings' : 'code' }
  if (/^(dockerfile|containerfile)([._-](?!md$|txt$|dockerignore$).+)?$|\.(dockerfile|containerfile)$/.test(name))
    return { name: 'Dockerfile', kind: 'code' }
  if (/^\.(env(\..+)?|[a-z]+ignore|gitattributes|gitmodules|editorconfig|npmrc)$/.test(name))
    return { name: 'INI', kind: 'settings' }
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? null : (byEnding.get(name.slice(dot + 1)) ?? null)
}

/** Whether a path looks like a test by the conventions of its language. */
export function isTestFile(path: string): boolean {
  const language = languageOf(path)
  if (language?.kind !== 'code') return false
  const name = nameOf(path)
  if (/\.(test|spec|e2e|cy)\.[cm]?[jt]sx?$/.test(name)) return true
  if (/^test_.+\.py$|_test\.(py|go|rb|exs|dart|cc|cpp)$|_spec\.rb$/.test(name)) return true
  if (/(Test|Tests|IT|Spec)\.(java|kt|scala|groovy|cs|swift|php)$/.test(name)) return true
  if (/^(test|tst)_.+\.(c|cc|cpp|cxx|lua|jl|r)$/i.test(name)) return true
  if (/[_-](test|tests|unittest|spec)\.\w+$/.test(name)) return true
  return isBelowTests(path)
}

/** Code in a folder for tests, but for what the tests are run on. */
function isBelowTests(path: string): boolean {
  const folders = path.split('/').slice(0, -1)
  const at = folders.findIndex((folder) => /^(__tests__|tests?|specs?|unit-?tests?|e2e)$/i.test(folder))
  return (
    at !== -1 &&
    !folders
      .slice(at)
      .some((folder) =>
        /^(_*fixtures?_*|_*snapshots?_*|_*mocks?_*|testdata|resources|data|input|output)$/i.test(folder),
      )
  )
}
