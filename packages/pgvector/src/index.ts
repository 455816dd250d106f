/** Memory over sessions in PostgreSQL with pgvector: `reeve/pgvector`. */
export type { EmbedFunction, EmbeddingModel } from './embedding.ts'
export type { QueryPool } from './pool.ts'
export type { RememberedTurn } from './recalled.ts'
export {
  pgvectorMemory,
  type ForgetQuery,
  type PgvectorMemory,
  type PgvectorOptions,
  type RecallOptions,
} from './memory.ts'
