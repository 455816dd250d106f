/**
 * The suites of test/scenario and packages/runtime/test on another engine than the embedded one: which titles cannot run there,
 * and why. Everything that is not named runs.
 *
 * Owns: what such a list is, and which files there are. Does not own: the lists (restate/suites.ts,
 * postgres/suites.ts), which engine it is (engine-under-test.ts).
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

export interface Exception {
  /** From the root. */
  readonly file: string
  /** How the title begins; absent: the whole file. */
  readonly title?: string
  /** Why it cannot run there. */
  readonly why: string
  /** Where the same is shown for that engine. */
  readonly instead?: string
}

/** Every file of the two suites, from the root. */
export const suiteFiles: readonly string[] = ['packages/runtime/test', 'test/scenario'].flatMap((folder) =>
  readdirSync(join(import.meta.dirname, '..', folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name}`),
)

/** Why a test cannot run; undefined if it can. */
export const exceptionOf = (exceptions: readonly Exception[], file: string, title: string): Exception | undefined =>
  exceptions.find(
    (each) => file.endsWith(`/${each.file}`) && (each.title === undefined || title.startsWith(each.title)),
  )
