/** The door of the migration. */
export { migrateStore, type Migrated } from './migrate.ts'
