/** `reeve/restate`: the same teams on a Restate cluster. Needs the optional peer `@restatedev/restate-sdk`, and `pg` for PostgreSQL. */
export { restate, type RestateEngine } from './engine.ts'
export type { RestateOptions } from './options.ts'
