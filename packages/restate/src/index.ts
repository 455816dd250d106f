/**
 * `reeve/restate`: Restate tells the workers which runs to take up. Needs the optional peer `@restatedev/restate-sdk`
 * where agents run, and `pg` for PostgreSQL.
 */
export { restate } from './restate.ts'
export type { RestateOptions } from './options.ts'
