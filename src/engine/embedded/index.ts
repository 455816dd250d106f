/** The embedded engine's door. */
export { createEmbeddedEngine, EmbeddedEngine, type EmbeddedOptions } from './engine.ts'
export type { CrashPoint } from './desk.ts'
export { backupStore, compactStore } from './upkeep.ts'
