/**
 * The packages of the house, read from their manifests: what each may import (`dependencies`), and by which doors
 * (`exports`). Of them, and of what the root exports, everything that needs the same is derived here: the references by
 * which the compiler holds the walls, the paths of `tsconfig.json`, the aliases of the tests.
 *
 * `node scripts/packages.ts` writes the files; with `--check` it writes nothing and fails where one is stale.
 *
 * Owns: what is derived from manifests. Does not own: the walls (the manifests), what a wall cannot say
 * (test/arch/rules.ts).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const scope = '@reeve/'

export interface Package {
  /** Its folder below `packages/`, and its name without the scope. */
  readonly name: string
  /** What it owns, in one line. */
  readonly description: string
  /** Packages of the house that it may import. */
  readonly imports: readonly string[]
  /** Packages of others that it may import; the versions are the root's. */
  readonly others: readonly string[]
  /** Its doors: what others write, and the file that it is, from the root. */
  readonly doors: Readonly<Record<string, string>>
}

interface Manifest {
  readonly name: string
  readonly description: string
  readonly exports?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): unknown => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

/** Every package, by its name. */
export const packages: readonly Package[] = readdirSync(join(root, 'packages'))
  .filter((name) => existsSync(join(root, 'packages', name, 'package.json')))
  .toSorted()
  .map((name) => {
    const manifest = manifestOf(`packages/${name}`) as Manifest
    const doors = Object.entries(manifest.exports ?? {}).map(([door, file]) => [
      manifest.name + door.slice(1),
      join('packages', name, file),
    ])
    return {
      name,
      description: manifest.description,
      imports: Object.keys(manifest.dependencies ?? {}).map((each) => each.slice(scope.length)),
      others: Object.keys(manifest.peerDependencies ?? {}),
      doors: Object.fromEntries(doors) as Record<string, string>,
    }
  })

/** What a user imports, and the source of it, from the root: `reeve/team`, `packages/public/src/team.ts`. */
export const publicDoors: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(
    (manifestOf('.') as { readonly exports: Record<string, string | { readonly default: string }> }).exports,
  )
    .filter((entry): entry is [string, { readonly default: string }] => typeof entry[1] !== 'string')
    .map(([door, { default: built }]) => [`reeve${door.slice(1)}`, sourceOf(built)]),
)

/** The source of a built file: `./dist/cli/src/main.js`, `packages/cli/src/main.ts`. */
export function sourceOf(built: string): string {
  return built.replace(/^(\.\/)?dist\//, 'packages/').replace(/\.js$/, '.ts')
}

/**
 * The public doors as aliases of the tests, which may write what a user writes and get the source. The longer path
 * first: an alias is the beginning of what it replaces.
 */
export const aliases: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(publicDoors)
    .toSorted(([a], [b]) => b.length - a.length)
    .map(([door, file]) => [door, join(root, file)]),
)

/** What a change of these packages can touch: they, and all that import them, however far away. */
export function touchedBy(names: Iterable<string>): ReadonlySet<string> {
  const touched = new Set(names)
  for (const name of touched) for (const each of packages) if (each.imports.includes(name)) touched.add(each.name)
  return touched
}

const asPaths = (doors: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(doors).map(([door, file]) => [door, [`./${file}`]]))

/** The derived files, with what stands in them. Only the members that are derived are replaced. */
function derived(): ReadonlyMap<string, object> {
  const files = new Map<string, object>()
  const changed = (file: string, change: (now: Record<string, object>) => object): void => {
    const now = JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<string, object>
    files.set(file, { ...now, ...change(now) })
  }
  changed('tsconfig.json', ({ compilerOptions }) => ({
    compilerOptions: { ...compilerOptions, paths: asPaths(publicDoors) },
  }))
  changed('tsconfig.package.json', ({ compilerOptions }) => ({
    compilerOptions: { ...compilerOptions, paths: Object.assign({}, ...packages.map(({ doors }) => asPaths(doors))) },
  }))
  changed('tsconfig.build.json', () => ({ references: packages.map(({ name }) => ({ path: `packages/${name}` })) }))
  for (const { name, imports } of packages)
    changed(`packages/${name}/tsconfig.json`, () => ({ references: imports.map((each) => ({ path: `../${each}` })) }))
  return files
}

/** As `npm run format` leaves it. */
async function written(file: string, content: object): Promise<string> {
  const { format, resolveConfig } = await import('prettier')
  const path = join(root, file)
  return format(JSON.stringify(content, null, 2), { ...(await resolveConfig(path)), filepath: path })
}

if (process.argv[1] === import.meta.filename)
  for (const [file, content] of derived()) {
    if (!process.argv.includes('--check')) writeFileSync(join(root, file), await written(file, content))
    else if (JSON.stringify(JSON.parse(readFileSync(join(root, file), 'utf8'))) !== JSON.stringify(content)) {
      console.error(`packages: ${file} is not what the manifests say. Run \`npm run packages\`.`)
      process.exitCode = 1
    }
  }
