/** The embedded engine's door. */
export { createEmbeddedEngine, type EmbeddedEngine, type EmbeddedOptions } from './engine.ts'
export type { CrashPoint } from '@reeve/engine/host'
export { backupStore, compactStore } from './maintenance.ts'
export { isStoreFile } from './schema.ts'
