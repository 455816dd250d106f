/**
 * The official JSON Schema Test Suite, required cases of drafts 4 to 2020-12: a group of cases a line, as published at
 * https://github.com/json-schema-org/JSON-Schema-Test-Suite (commit 44401e0c046704b476ec9d2e2fccdaee618f259d; MIT, see
 * LICENSE), without what is optional and without the documents that it serves over HTTP.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json, JsonObject } from '@reeve/core'
import { CompiledJsonSchema, type Draft } from '../../src/json-schema.ts'

interface Group {
  readonly file: string
  readonly description: string
  readonly schema: JsonObject | boolean
  readonly tests: readonly { readonly description: string; readonly data: Json; readonly valid: boolean }[]
}

/** What came of the cases of one draft. */
export interface SuiteResult {
  readonly name: string
  readonly cases: number
  /** Cases with the right verdict, of schemas that are not refused. */
  readonly right: number
  readonly wrong: readonly string[]
  /** Cases by file whose schemas are refused when they are defined. */
  readonly refused: ReadonlyMap<string, number>
  /** Why schemas are refused: problems without the texts in quotation marks. */
  readonly reasons: ReadonlySet<string>
}

const files: readonly (readonly [name: string, draft: Draft])[] = [
  ['draft4', 4],
  ['draft6', 6],
  ['draft7', 7],
  ['draft2019-09', 2019],
  ['draft2020-12', 2020],
]

export const runSuite = (): readonly SuiteResult[] =>
  files.map(([name, draft]) => {
    const groups = readFileSync(join(import.meta.dirname, `${name}.jsonl`), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Group)
    let [cases, right] = [0, 0]
    const wrong: string[] = []
    const refused = new Map<string, number>()
    const reasons = new Set<string>()
    for (const { file, description, schema, tests } of groups) {
      cases += tests.length
      const compiled = new CompiledJsonSchema(schema, { draft })
      if (compiled.problems.length > 0) {
        refused.set(file, (refused.get(file) ?? 0) + tests.length)
        for (const { problem } of compiled.problems) reasons.add(problem.replaceAll(/"[^"]*"/g, '"…"'))
        continue
      }
      for (const each of tests) {
        if ((compiled.problem(each.data) === undefined) === each.valid) right += 1
        else wrong.push(`${file}: ${description}: ${each.description}`)
      }
    }
    return { name, cases, right, wrong, refused, reasons }
  })
