/**
 * The specialist for workspaces: who depends on whom inside the folder, and where the packages disagree.
 * Owns: the internal graph, its cycles, differing ranges. Does not own: which packages are members (`workspaces.ts`),
 * what is locked.
 */
import type { Manifest } from './manifests.ts'
import { byText, folderOf, listed, openFolder, type Coverage, type Listed, type SurveyOptions } from './walk.ts'
import { membersOf, workspacesOf, type Workspace } from './workspaces.ts'

/** A package of a workspace. `dependsOn` names other packages of the same workspace, peers not counted. */
export interface WorkspacePackage {
  name: string
  folder: string
  manifest: string
  version: string | null
  dependsOn: string[]
}

/** An outside dependency that packages of the workspace declare with different ranges. */
export interface VersionMismatch {
  name: string
  /** Each range with the places that declare it (`file:line`). */
  ranges: { range: string; places: string[] }[]
}

/** What the specialist for workspaces found. */
export interface MonorepoFindings {
  area: 'monorepo'
  coverage: Coverage
  workspaces: Workspace[]
  packages: Listed<WorkspacePackage>
  /** Each cycle once, starting with its first name in order; the last name depends on the first. */
  cycles: string[][]
  mismatches: Listed<VersionMismatch>
  /** Names that more than one package of a workspace bears. */
  duplicateNames: string[]
}

/** Examines the workspaces declared at the root of the folder. Without one, every list is empty. */
export async function surveyMonorepo(root: string, options: SurveyOptions = {}): Promise<MonorepoFindings> {
  const folder = await openFolder(root, options)
  const workspaces = await workspacesOf(folder)
  const manifests = new Map<string, Manifest>()
  for (const workspace of workspaces)
    for (const manifest of await membersOf(folder, workspace)) manifests.set(manifest.file, manifest)
  const members = [...manifests.values()].sort((a, b) => byText(a.file, b.file))
  const packages = members.map((manifest) => packageOf(manifest, members))
  return {
    area: 'monorepo',
    coverage: folder.coverage(),
    workspaces,
    packages: listed(packages, folder.limits),
    cycles: cyclesOf(packages),
    mismatches: listed(mismatchesOf(members), folder.limits),
    duplicateNames: duplicatesOf(packages),
  }
}

function packageOf(manifest: Manifest, members: readonly Manifest[]): WorkspacePackage {
  const own = nameOfPackage(manifest)
  const inside = new Set(members.map(nameOfPackage))
  const names = manifest.declared
    .filter(({ kind, name }) => kind !== 'peer' && inside.has(name) && name !== own)
    .map(({ name }) => name)
  const { file, version } = manifest
  return { name: own, folder: folderOf(file), manifest: file, version, dependsOn: [...new Set(names)].sort(byText) }
}

function nameOfPackage(manifest: Manifest): string {
  return manifest.name ?? folderOf(manifest.file)
}

function duplicatesOf(packages: readonly WorkspacePackage[]): string[] {
  const names = packages.map(({ name }) => name)
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].sort(byText)
}

/** One shortest cycle through the first package of every group that reaches itself. */
function cyclesOf(packages: readonly WorkspacePackage[]): string[][] {
  const edges = new Map(packages.map((item) => [item.name, item.dependsOn]))
  const cycles: string[][] = []
  const done = new Set<string>()
  for (const start of [...edges.keys()].sort(byText)) {
    if (done.has(start)) continue
    const cycle = shortestCycle(start, edges, done)
    if (cycle === null) continue
    cycles.push(cycle)
    for (const name of cycle) done.add(name)
  }
  return cycles
}

function shortestCycle(
  start: string,
  edges: ReadonlyMap<string, readonly string[]>,
  done: ReadonlySet<string>,
): string[] | null {
  const paths: string[][] = [[start]]
  const seen = new Set<string>()
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    for (const next of edges.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return path
      if (seen.has(next) || done.has(next)) continue
      seen.add(next)
      paths.push([...path, next])
    }
  }
  return null
}

function mismatchesOf(members: readonly Manifest[]): VersionMismatch[] {
  const inside = new Set(members.map(nameOfPackage))
  const uses = new Map<string, Map<string, string[]>>()
  for (const { file, declared } of members) {
    for (const { name, range, kind, line } of declared) {
      if (kind === 'peer' || range === '' || inside.has(name) || /^(workspace|catalog|file|link|portal):/.test(range))
        continue
      const ranges = uses.get(name) ?? new Map<string, string[]>()
      uses.set(name, ranges.set(range, [...(ranges.get(range) ?? []), `${file}:${line}`]))
    }
  }
  return [...uses]
    .filter(([, ranges]) => ranges.size > 1)
    .sort(([a], [b]) => byText(a, b))
    .map(([name, ranges]) => ({
      name,
      ranges: [...ranges].sort(([a], [b]) => byText(a, b)).map(([range, places]) => ({ range, places })),
    }))
}
