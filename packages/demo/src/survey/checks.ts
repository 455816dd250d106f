/**
 * The survey of tests and CI: is there a way to know that the project works, and does a machine walk it?
 * Owns: what counts as a test set-up and what is missing. Does not own: running anything. It reads; it never starts a
 * test.
 */
import { ciServiceOf, type CiService } from './ci.ts'
import { isTestFile, languageOf } from './languages.ts'
import { isFields, isManifest, jsonObject, readManifest } from './manifests.ts'
import { withoutSecrets } from './masking.ts'
import { folderOf, linesOf, nameOf, openFolder, type Coverage, type Folder, type SurveyOptions } from './walk.ts'

/** A piece that a project with code would be expected to have. */
export type MissingCheck = 'tests' | 'test-command' | 'ci' | 'tests-in-ci' | 'lint' | 'format'

/** A tool, and the file that shows it is used. */
export interface ToolFinding {
  tool: string
  file: string
}

/** What the survey of tests and CI found. */
export interface ChecksFindings {
  area: 'checks'
  coverage: Coverage
  /** Code files that are not tests. */
  sources: number
  /** Test files by name; tests written beside the code in the same file (Rust, doctests) are not seen. */
  testFiles: number
  frameworks: ToolFinding[]
  /** The `test` script of the root package.json, or `null`. npm's "no test specified" stub is none. */
  testScript: { command: string; file: string } | null
  ci: { service: CiService; file: string }[]
  /**
   * The line of a CI file that runs the tests, directly or through package scripts; read from the text, not executed.
   */
  ciTest: { file: string; line: number; command: string } | null
  lint: ToolFinding[]
  format: ToolFinding[]
  /** Empty when nothing is missing or the folder holds no code. */
  missing: MissingCheck[]
}

type Role = 'test' | 'lint' | 'format'

/** Tools by the package that is named after them. */
const byDependency: readonly [tool: string, roles: readonly Role[], name?: string][] = [
  ...['vitest', 'jest', 'mocha', 'ava', 'tap', 'jasmine', 'cypress', 'pytest'].map(
    (tool) => [tool, ['test']] as [string, Role[]],
  ),
  ...['eslint', 'oxlint', 'xo', 'standard', 'flake8', 'pylint'].map((tool) => [tool, ['lint']] as [string, Role[]]),
  ...['prettier', 'dprint', 'black'].map((tool) => [tool, ['format']] as [string, Role[]]),
  ['playwright', ['test'], '@playwright/test'],
  ['biome', ['lint', 'format'], '@biomejs/biome'],
  ['ruff', ['lint', 'format']],
]

const byFile: readonly [tool: string, role: Role, pattern: RegExp][] = [
  ['vitest', 'test', /^vitest\.(config|workspace)\.[cm]?[jt]s$/],
  ['jest', 'test', /^jest\.config\.([cm]?[jt]s|json)$/],
  ['pytest', 'test', /^(pytest\.ini|conftest\.py)$/],
  ['playwright', 'test', /^playwright\.config\.[cm]?[jt]s$/],
  ['cypress', 'test', /^cypress\.config\.[cm]?[jt]s$/],
  ['rspec', 'test', /^\.rspec$/],
  ['phpunit', 'test', /^phpunit\.xml(\.dist)?$/],
  ['eslint', 'lint', /^(eslint\.config\.[cm]?[jt]s|\.eslintrc(\..+)?)$/],
  ['oxlint', 'lint', /^\.?oxlintrc\.jsonc?$/],
  ['biome', 'lint', /^biome\.jsonc?$/],
  ['biome', 'format', /^biome\.jsonc?$/],
  ['prettier', 'format', /^(\.prettierrc(\..+)?|prettier\.config\.[cm]?[jt]s)$/],
  ['dprint', 'format', /^\.?dprint\.jsonc?$/],
  ['ruff', 'lint', /^\.?ruff\.toml$/],
  ['ruff', 'format', /^\.?ruff\.toml$/],
  ['flake8', 'lint', /^\.flake8$/],
  ['pylint', 'lint', /^\.?pylintrc$/],
  ['golangci-lint', 'lint', /^\.golangci\.(ya?ml|toml|json)$/],
  ['clippy', 'lint', /^\.?clippy\.toml$/],
  ['rustfmt', 'format', /^\.?rustfmt\.toml$/],
  ['clang-format', 'format', /^\.clang-format$/],
  ['rubocop', 'lint', /^\.rubocop\.yml$/],
]

type Tools = Record<Role, ToolFinding[]>

/** Looks at tests, CI, linting and formatting. */
export async function surveyChecks(root: string, options: SurveyOptions = {}): Promise<ChecksFindings> {
  const folder = await openFolder(root, options)
  const paths = folder.files.map(({ path }) => path)
  const tools = await toolsOf(folder, paths)
  const testFiles = paths.filter(isTestFile).length
  const sources = paths.filter((path) => languageOf(path)?.kind === 'code' && !isTestFile(path)).length
  const scripts = await scriptsOf(folder)
  const script = scripts.get('test')
  const ci = paths.flatMap((file) => {
    const service = ciServiceOf(file)
    return service === null ? [] : [{ service, file }]
  })
  const ciTest = await testInCi(
    folder,
    ci.map(({ file }) => file),
    scripts,
  )
  const testScript = script === undefined ? null : { command: withoutSecrets(script), file: 'package.json' }
  const findings = {
    sources,
    testFiles,
    frameworks: tools.test,
    testScript,
    ci,
    ciTest,
    lint: tools.lint,
    format: tools.format,
  }
  return {
    area: 'checks',
    coverage: folder.coverage(),
    ...findings,
    missing: sources + testFiles === 0 ? [] : missingOf(findings, paths),
  }
}

async function toolsOf(folder: Folder, paths: readonly string[]): Promise<Tools> {
  const tools: Tools = { test: [], lint: [], format: [] }
  const add = (role: keyof Tools, tool: string, file: string): void => {
    if (!tools[role].some((known) => known.tool === tool)) tools[role].push({ tool, file })
  }
  for (const file of paths)
    for (const [tool, role, pattern] of byFile) if (pattern.test(nameOf(file))) add(role, tool, file)
  for (const file of paths) {
    const isPython = /^(pyproject\.toml|requirements([-_.][\w.-]+)?\.txt)$/.test(nameOf(file))
    if (!isPython && !isManifest(file)) continue
    const text = (await folder.text(file)) ?? ''
    const names = new Set(isPython ? text.match(/[\w-]+/g) : readManifest(file, text)?.declared.map(({ name }) => name))
    for (const [tool, roles, name = tool] of byDependency)
      if (names.has(name)) for (const role of roles) add(role, tool, file)
    if (/\bnode (--[\w=-]+ )*--test\b/.test(text)) add('test', 'node:test', file)
    if (/"[^"]*\bbun test\b/.test(text)) add('test', 'bun test', file)
  }
  const goTest = paths.find((path) => path.endsWith('_test.go'))
  if (goTest !== undefined) add('test', 'go test', goTest)
  const rustTest = paths.find((path) => /(^|\/)tests\/[^/]+\.rs$/.test(path))
  if (rustTest !== undefined) add('test', 'cargo test', rustTest)
  return tools
}

/** The scripts of the root package.json. */
async function scriptsOf(folder: Folder): Promise<Map<string, string>> {
  const json = jsonObject((await folder.text('package.json')) ?? '')
  const scripts = isFields(json?.['scripts']) ? json['scripts'] : {}
  const stated = Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return new Map(
    stated.filter(
      ([name, command]) => name !== 'test' || (command.trim() !== '' && !/no test specified/.test(command)),
    ),
  )
}

const testCommand =
  /\b(?:vitest|jest|mocha|ava|pytest|tox|nox|rspec|phpunit|playwright test|cypress run|go test|cargo (?:nextest|test)|make (?:-\S+ )*(?:test|check)|(?:mvn|\.\/mvnw|gradle|\.\/gradlew)\b[^\n]*\b(?:test|verify|check|build)|bun test|deno test|dotnet test|mix test|swift test|ctest|bundle exec rake test)\b|\bnode\b[^\n|&;]* --test\b|python3? -m (?:unittest|pytest)\b/
const ownScript =
  /\b(?:npm|pnpm|yarn)(?: (?:-\S+|--\S+))*(?: (?:run|run-script))?(?: (?:-\S+|--\S+))* ([\w:.-]+)|\b(?:node|bun) (?:run|--run) ([\w:.-]+)/g

async function testInCi(
  folder: Folder,
  files: readonly string[],
  scripts: ReadonlyMap<string, string>,
): Promise<ChecksFindings['ciTest']> {
  for (const file of files) {
    const lines = linesOf((await folder.text(file)) ?? '')
    const index = lines.findIndex(
      (line) => !/^\s*(#|\/\/)|^\s*-?\s*name:/.test(line) && runsTests(line, scripts, new Set()),
    )
    if (index !== -1)
      return { file, line: index + 1, command: withoutSecrets((lines[index] ?? '').trim()).slice(0, 160) }
  }
  return null
}

/** Whether a command line runs the tests, following package scripts by name. */
function runsTests(command: string, scripts: ReadonlyMap<string, string>, seen: Set<string>): boolean {
  const called = command.replaceAll(
    /\b(?:npm (?:i|ci|install)|pnpm (?:i|add|install)|yarn add|pip3? install)\b[^&|;]*/g,
    '',
  )
  if (testCommand.test(called)) return true
  for (const match of called.matchAll(ownScript)) {
    const name = match[1] === 't' || match[1] === 'tst' ? 'test' : (match[1] ?? match[2] ?? '')
    const script = scripts.get(name)
    if (name === 'test') return true
    if (script === undefined || seen.has(name)) continue
    seen.add(name)
    if (runsTests(script, scripts, seen)) return true
  }
  return false
}

function missingOf(
  found: Omit<ChecksFindings, 'area' | 'coverage' | 'missing'>,
  paths: readonly string[],
): MissingCheck[] {
  const missing: MissingCheck[] = []
  const npm = paths.some((path) => nameOf(path) === 'package.json' && folderOf(path) === '')
  const formatsItself = paths.some((path) => /\.(go|rs|zig)$/.test(path))
  if (found.testFiles === 0) missing.push('tests')
  if (npm && found.testScript === null) missing.push('test-command')
  if (found.ci.length === 0) missing.push('ci')
  else if (found.ciTest === null) missing.push('tests-in-ci')
  if (found.lint.length === 0) missing.push('lint')
  if (found.format.length === 0 && !formatsItself) missing.push('format')
  return missing
}
