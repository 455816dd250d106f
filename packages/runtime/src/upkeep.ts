/**
 * Upkeep of stores: telling one by its file, copies, compaction. Owns: nothing; a door to what the engines do.
 * A door of its own, so that a program that runs agents loads no engine but the one it uses.
 */
export { backupStore, compactStore, isStoreFile } from '@reeve/sqlite'
