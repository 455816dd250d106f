/** The client: runs over HTTP, typed. Owns: what `reeve/client` exports. */
export type { Principal, QuestionView, Role, RunHead } from '../server/wire.ts'
