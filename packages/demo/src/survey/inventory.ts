/**
 * The survey of what there is: files, languages, sizes, and the signals that decide which specialists are recruited.
 * Owns: counting and the signals. Does not own: what a specialist makes of them.
 */
import { isTestFile, languageOf } from './languages.ts'
import { ciFilesOf } from './ci.ts'
import { isManifest } from './manifests.ts'
import { many } from './markup.ts'
import { byText, linesOf, openFolder, type Coverage, type SurveyOptions } from './walk.ts'
import { membersOf, workspacesOf, type WorkspaceTool } from './workspaces.ts'

/**
 * A language with what was counted under it. `lines` counts text lines, blank ones included; `bytes` counts every file.
 */
export interface LanguageCount {
  language: string
  files: number
  lines: number
  bytes: number
  /** False for data and prose. */
  code: boolean
}

/** What the folder holds, as far as specialists are concerned. Every list is sorted by path. */
export interface Signals {
  git: boolean
  /** `null` when the folder is no workspace; `members` are the packages beside the root's own. */
  monorepo: { tools: WorkspaceTool[]; members: number } | null
  ci: string[]
  manifests: string[]
  markdown: number
  tests: number
}

/** What the survey of the inventory found. */
export interface InventoryFindings {
  area: 'inventory'
  coverage: Coverage
  /** Of all files, in bytes. */
  bytes: number
  /** Of all text files that were read. */
  lines: number
  /** Most lines first. `other` gathers what no name tells. */
  languages: LanguageCount[]
  /** The ten biggest files. `lines` is `null` for files that are binary or were not read. */
  biggest: { file: string; bytes: number; lines: number | null }[]
  signals: Signals
}

/** Counts what the folder holds. Reads every text file within the limits once. */
export async function surveyInventory(root: string, options: SurveyOptions = {}): Promise<InventoryFindings> {
  const folder = await openFolder(root, options)
  const languages = new Map<string, LanguageCount>()
  const linesByFile = new Map<string, number>()
  for (const { path, size } of folder.files) {
    const text = await folder.text(path)
    const lines = text === null ? 0 : linesOf(text).length
    if (text !== null) linesByFile.set(path, lines)
    const language = languageOf(path)
    const name = language?.name ?? (folder.isBinary(path) === true ? 'Binary' : 'other')
    const count = languages.get(name) ?? {
      language: name,
      files: 0,
      lines: 0,
      bytes: 0,
      code: language?.kind === 'code',
    }
    languages.set(name, { ...count, files: count.files + 1, lines: count.lines + lines, bytes: count.bytes + size })
  }
  const workspaces = await workspacesOf(folder)
  const members = new Set<string>()
  for (const workspace of workspaces) for (const { file } of await membersOf(folder, workspace)) members.add(file)
  const paths = folder.files.map(({ path }) => path)
  const biggest = [...folder.files].sort((a, b) => b.size - a.size || byText(a.path, b.path)).slice(0, 10)
  const coverage = folder.coverage()
  return {
    area: 'inventory',
    coverage,
    bytes: folder.files.reduce((sum, { size }) => sum + size, 0),
    lines: [...linesByFile.values()].reduce((sum, lines) => sum + lines, 0),
    languages: [...languages.values()].sort(
      (a, b) => b.lines - a.lines || b.bytes - a.bytes || byText(a.language, b.language),
    ),
    biggest: biggest.map(({ path, size }) => ({ file: path, bytes: size, lines: linesByFile.get(path) ?? null })),
    signals: {
      git: coverage.source === 'git',
      monorepo: workspaces.length === 0 ? null : { tools: workspaces.map(({ tool }) => tool), members: members.size },
      ci: ciFilesOf(paths),
      manifests: paths.filter(isManifest),
      markdown: paths.filter((path) => languageOf(path)?.name === 'Markdown').length,
      tests: paths.filter(isTestFile).length,
    },
  }
}

/** A specialist worth recruiting, and why, in a sentence that names what was found. */
export interface Recruit {
  readonly specialist: 'monorepo'
  readonly reason: string
}

/** Which specialists the signals call for. */
export function recruitsFor({ monorepo }: Signals): Recruit[] {
  if (monorepo === null) return []
  return [
    {
      specialist: 'monorepo',
      reason: `the folder is a workspace (${monorepo.tools.join(', ')}) with ${many(monorepo.members, 'member')}`,
    },
  ]
}
