/** The door of the engine on PostgreSQL. */
export { createPostgresEngine, type PostgresEngine, type PostgresEngineOptions } from './engine.ts'
export { PostgresStore, type PostgresOptions } from './store.ts'
