/** Which runs a query chooses. Owns: its schemas, and how metadata are read. */
import type { JsonObject } from '@reeve/core'
import { metadataValue, runStatuses, type RunFilter, type RunStatus } from '@reeve/runtime'
import { amount, choice, jsonObject, list, name, optional, text, whole } from './wire-schema.ts'

/** Which runs; all given conditions must hold. */
export interface RunsFilter {
  readonly status?: readonly RunStatus[]
  readonly agent?: string
  readonly version?: string
  readonly user?: string
  readonly session?: string
  readonly text?: string
  readonly code?: string
  readonly cause?: string
  readonly metadata?: JsonObject
  readonly since?: number
  readonly before?: number
  readonly usdFrom?: number
  readonly limit?: number
}

/** The schemas of `RunsFilter`. */
export const runsFilter = {
  status: optional(list(choice(runStatuses))),
  agent: optional(name()),
  version: optional(name({ description: 'The version of its agent.' })),
  user: optional(name()),
  session: optional(name()),
  text: optional(
    text({
      maxLength: 1_000,
      description: 'Words of its input, output or failure; word* is the beginning of one, "two words" stand together.',
    }),
  ),
  code: optional(name({ description: 'The code of its failure.' })),
  cause: optional(name({ description: 'Why it ended badly: a cause of GET /causes.' })),
  metadata: optional(jsonObject({ description: 'metadata.<key>=<value>: equal to this value, read as JSON.' })),
  since: optional(amount({ description: 'Begun at this time or later, in milliseconds since 1970.' })),
  before: optional(amount({ description: 'Begun before this time.' })),
  usdFrom: optional(amount({ minimum: 0, description: 'Has cost so many US dollars or more.' })),
  limit: optional(whole({ minimum: 1, maximum: 1_000 })),
}

/** Metadata as a filter has it: values of a query are texts. */
export const equalTo = (metadata: JsonObject | undefined): RunFilter['metadata'] =>
  metadata && Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, metadataValue(value as string)]))
