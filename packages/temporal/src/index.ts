/**
 * `reeve/temporal`: the same teams, moved by Temporal. Needs the optional peer `@temporalio/client`, and where agents
 * run `@temporalio/worker`, `@temporalio/workflow` and `@temporalio/activity`.
 */
export { temporal } from './temporal.ts'
export type { TemporalOptions, TemporalTls } from './options.ts'
