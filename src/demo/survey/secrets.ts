/**
 * The survey of secrets: keys and passwords written into files, and `.env` files that are (or would be) committed.
 * Owns: which files are searched and what a finding says. Does not own: what a secret looks like (`secret-rules.ts`).
 *
 * S1: no value it finds leaves this module unmasked. S2: a file it could not read is named in the coverage.
 */
import { openRepository } from './git.ts'
import { isDockerfile, isLockFile, languageOf } from './languages.ts'
import { secretsIn, type SecretConfidence, type SecretKind } from './secret-rules.ts'
import { byText, linesOf, listed, nameOf, openFolder, type Coverage, type Folder, type Listed, type SurveyOptions } from './walk.ts'

/** A secret found in a file. `masked` shows at most the first four characters and the length; it is `null` for private keys. */
export interface SecretFinding {
  file: string
  line: number
  kind: SecretKind
  confidence: SecretConfidence
  masked: string | null
  /** Whether git tracks the file; `null` when the folder is no repository. */
  tracked: boolean | null
}

/** A file of environment variables that holds values and is no template. */
export interface EnvFile {
  file: string
  /** How many variables have a value. */
  assignments: number
  /** `committed`: git tracks it. `not-ignored`: the next `git add .` would commit it. `unknown`: the folder is no repository. */
  state: 'committed' | 'not-ignored' | 'unknown'
}

/** What the survey of secrets found. Values are masked. */
export interface SecretsFindings {
  area: 'secrets'
  coverage: Coverage
  secrets: Listed<SecretFinding>
  envFiles: EnvFile[]
}

/** Searches every text file for secrets. Finds only what has a known shape; a clean result is no proof. */
export async function surveySecrets(root: string, options: SurveyOptions = {}): Promise<SecretsFindings> {
  const folder = await openFolder(root, options)
  await using git = await openRepository(folder.root, options)
  const tracked = (await git?.tracked()) ?? null
  const secrets: SecretFinding[] = []
  const envFiles: EnvFile[] = []
  for (const { path } of folder.files) {
    const text = await folder.text(path)
    if (text === null) continue
    const isTracked = tracked === null ? null : tracked.has(path)
    secrets.push(...inFile(path, text, isTracked))
    const assignments = isEnvFile(path) ? assignmentsIn(text) : 0
    if (assignments > 0) envFiles.push({ file: path, assignments, state: stateOf(folder, isTracked) })
  }
  secrets.sort(order)
  return { area: 'secrets', coverage: folder.coverage(), secrets: listed(secrets, folder.limits), envFiles }
}

function stateOf(folder: Folder, tracked: boolean | null): EnvFile['state'] {
  if (tracked === true) return 'committed'
  return folder.coverage().source === 'git' ? 'not-ignored' : 'unknown'
}

function order(a: SecretFinding, b: SecretFinding): number {
  return byText(a.confidence, b.confidence) || byText(a.file, b.file) || a.line - b.line
}

function inFile(path: string, text: string, tracked: boolean | null): SecretFinding[] {
  const lines = linesOf(text)
  const language = languageOf(path)
  const bare = language !== null && (['YAML', 'TOML', 'INI'].includes(language.name) || isDockerfile(path))
  const found: SecretFinding[] = []
  lines.forEach((line, index) => {
    if (line.length > 20_000 && isLockFile(path)) return
    for (const { kind, confidence, masked } of secretsIn(line, lines.slice(index + 1, index + 8).join('\n'), bare)) {
      if (kind === 'assigned-secret' && isLockFile(path)) continue
      found.push({ file: path, line: index + 1, kind, confidence, masked, tracked })
    }
  })
  return found
}

function isEnvFile(path: string): boolean {
  const name = nameOf(path).toLowerCase()
  return /^\.env(\.[\w.-]+)?$/.test(name) && !/\b(example|sample|template|dist|defaults?|schema|vault)\b/.test(name)
}

function assignmentsIn(text: string): number {
  return linesOf(text).filter((line) => /^\s*(?:export\s+)?[A-Za-z_][\w.]*\s*=\s*(?!["']{2}\s*$)[^\s#]/.test(line)).length
}
