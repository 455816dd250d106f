/**
 * What kind of file a path is, judged by its name alone: the language to count it under and how its comments are written.
 * Owns: the table. Does not own: finding comments in a text (`comments.ts`).
 */
import { nameOf } from './walk.ts'

/** How a language writes comments; `none` means it has none, `prose` that the whole text is for people. */
export type CommentStyle = 'script' | 'c' | 'hash' | 'dash' | 'sql' | 'markup' | 'semicolon' | 'percent' | 'prose' | 'none'

/** A language as this survey counts it. `code` is false for data and prose. */
export interface Language {
  readonly name: string
  readonly comments: CommentStyle
  readonly code: boolean
}

const table: readonly [name: string, comments: CommentStyle, code: boolean, endings: string][] = [
  ['TypeScript', 'script', true, 'ts tsx mts cts'],
  ['JavaScript', 'script', true, 'js jsx mjs cjs'],
  ['Python', 'hash', true, 'py pyi pyw'],
  ['Go', 'c', true, 'go'],
  ['Rust', 'c', true, 'rs'],
  ['Java', 'c', true, 'java'],
  ['Kotlin', 'c', true, 'kt kts'],
  ['Scala', 'c', true, 'scala sc'],
  ['Groovy', 'c', true, 'groovy gradle'],
  ['C', 'c', true, 'c h'],
  ['C++', 'c', true, 'cc cpp cxx hh hpp hxx'],
  ['C#', 'c', true, 'cs'],
  ['F#', 'c', true, 'fs fsx'],
  ['Objective-C', 'c', true, 'm mm'],
  ['Swift', 'c', true, 'swift'],
  ['Dart', 'c', true, 'dart'],
  ['PHP', 'c', true, 'php'],
  ['Zig', 'c', true, 'zig'],
  ['Ruby', 'hash', true, 'rb rake gemspec'],
  ['Perl', 'hash', true, 'pl pm'],
  ['R', 'hash', true, 'r'],
  ['Julia', 'hash', true, 'jl'],
  ['Elixir', 'hash', true, 'ex exs'],
  ['Erlang', 'percent', true, 'erl hrl'],
  ['Clojure', 'semicolon', true, 'clj cljs cljc edn'],
  ['Lisp', 'semicolon', true, 'lisp el scm rkt'],
  ['Haskell', 'dash', true, 'hs'],
  ['Lua', 'dash', true, 'lua'],
  ['Nix', 'hash', true, 'nix'],
  ['Shell', 'hash', true, 'sh bash zsh fish ksh'],
  ['PowerShell', 'hash', true, 'ps1 psm1'],
  ['SQL', 'sql', true, 'sql'],
  ['Terraform', 'hash', true, 'tf tfvars hcl'],
  ['Protocol Buffers', 'c', true, 'proto'],
  ['GraphQL', 'hash', true, 'graphql gql'],
  ['CSS', 'c', true, 'css scss sass less'],
  ['HTML', 'markup', true, 'html htm xhtml'],
  ['Vue', 'markup', true, 'vue'],
  ['Svelte', 'markup', true, 'svelte'],
  ['Astro', 'markup', true, 'astro'],
  ['TeX', 'percent', false, 'tex sty cls'],
  ['XML', 'markup', false, 'xml xsd xsl plist csproj'],
  ['SVG', 'none', false, 'svg'],
  ['YAML', 'hash', false, 'yml yaml'],
  ['TOML', 'hash', false, 'toml'],
  ['INI', 'hash', false, 'ini cfg conf properties env editorconfig npmrc'],
  ['JSON', 'none', false, 'json json5 jsonc jsonl map webmanifest'],
  ['CSV', 'none', false, 'csv tsv'],
  ['Markdown', 'prose', false, 'md markdown mdx'],
  ['reStructuredText', 'prose', false, 'rst'],
  ['AsciiDoc', 'prose', false, 'adoc asciidoc'],
  ['Text', 'prose', false, 'txt text'],
  ['Lock file', 'none', false, 'lock'],
]

const byName: Readonly<Record<string, Language>> = {
  makefile: { name: 'Makefile', comments: 'hash', code: true },
  gnumakefile: { name: 'Makefile', comments: 'hash', code: true },
  jenkinsfile: { name: 'Groovy', comments: 'c', code: true },
  gemfile: { name: 'Ruby', comments: 'hash', code: true },
  rakefile: { name: 'Ruby', comments: 'hash', code: true },
  vagrantfile: { name: 'Ruby', comments: 'hash', code: true },
  justfile: { name: 'Justfile', comments: 'hash', code: true },
  'cmakelists.txt': { name: 'CMake', comments: 'hash', code: true },
  'go.mod': { name: 'Go module', comments: 'c', code: false },
  'go.work': { name: 'Go module', comments: 'c', code: false },
  'go.sum': { name: 'Lock file', comments: 'none', code: false },
  'package-lock.json': { name: 'Lock file', comments: 'none', code: false },
  'npm-shrinkwrap.json': { name: 'Lock file', comments: 'none', code: false },
  'pnpm-lock.yaml': { name: 'Lock file', comments: 'none', code: false },
}

const byEnding = new Map(
  table.flatMap(([name, comments, code, endings]) => endings.split(' ').map((ending) => [ending, { name, comments, code }] as const)),
)
const docker: Language = { name: 'Dockerfile', comments: 'hash', code: true }
const settingsFile: Language = { name: 'INI', comments: 'hash', code: false }

/** Whether a path is a Dockerfile (or Containerfile) by its name. */
export function isDockerfile(path: string): boolean {
  const name = nameOf(path).toLowerCase()
  if (/\.(md|txt|dockerignore)$/.test(name)) return false
  return /^(dockerfile|containerfile)([._-].+)?$/.test(name) || /\.(dockerfile|containerfile)$/.test(name)
}

/** The language of a path, or `null` when its name does not tell. */
export function languageOf(path: string): Language | null {
  const name = nameOf(path).toLowerCase()
  const named = Object.hasOwn(byName, name) ? byName[name] : undefined
  if (named !== undefined) return named
  if (isDockerfile(path)) return docker
  if (/^\.(env(\..+)?|[a-z]+ignore|gitattributes|gitmodules|editorconfig|npmrc)$/.test(name)) return settingsFile
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? null : (byEnding.get(name.slice(dot + 1)) ?? null)
}

/** Whether a path is a lock file a tool wrote. */
export function isLockFile(path: string): boolean {
  return languageOf(path)?.name === 'Lock file'
}

/** Whether a path looks like a test by the conventions of its language. */
export function isTestFile(path: string): boolean {
  const language = languageOf(path)
  if (language === null || !language.code) return false
  const name = nameOf(path)
  if (/\.(test|spec|e2e|cy)\.[cm]?[jt]sx?$/.test(name)) return true
  if (/^test_.+\.py$|_test\.(py|go|rb|exs|dart|cc|cpp)$|_spec\.rb$/.test(name)) return true
  if (/(Test|Tests|IT|Spec)\.(java|kt|scala|groovy|cs|swift|php)$/.test(name)) return true
  if (/(^|\/)__tests__\//.test(path) && /\.[cm]?[jt]sx?$/.test(name)) return true
  return /(^|\/)tests\/[^/]+\.rs$/.test(path)
}
