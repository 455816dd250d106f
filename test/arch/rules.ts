/**
 * What a wall between packages cannot say: who may import `node:*`, who may read the clock, which folders of a package
 * are strangers to each other. What a package owns, may import and gives stands in its `package.json`; the compiler
 * holds it there (`npm run check:types`).
 */

/** Folders of packages that may import `node:*`; `'.'` is the whole package. Who is not named may not. */
export const node: Readonly<Record<string, readonly string[]>> = {
  engine: ['memory', 'host'],
  runtime: ['team-folder'],
  stores: ['.'],
  sqlite: ['.'],
  postgres: ['.'],
  restate: ['.'],
  temporal: ['.'],
  workers: ['.'],
  protocols: ['.'],
  manual: ['.'],
  mcp: ['.'],
  notify: ['.'],
  otel: ['.'],
  server: ['.'],
  cli: ['.'],
  demo: ['.'],
  testing: ['.'],
  contract: ['.'],
}

/** Folders of packages that may read the clock and draw random numbers themselves; `'.'` is the whole package. */
export const clock: Readonly<Record<string, readonly string[]>> = {
  core: ['.'],
  engine: ['host'],
  sqlite: ['.'],
  postgres: ['.'],
  server: ['.'],
  client: ['.'],
  cli: ['.'],
  demo: ['survey'],
  testing: ['.'],
  contract: ['.'],
}

/**
 * In a package of strangers: the folders that all of them stand on, from the floor up. Any other folder may import
 * these, through their doors, and no stranger.
 */
export const grounds: Readonly<Record<string, readonly string[]>> = {
  protocols: ['protocol-run', 'chat-feed'],
  workers: ['external-agent'],
}

/**
 * Packages whose inner folders (a loose file counts as one) import each other in a circle, with those that do. In all
 * others the folders are floors: no arrow goes back up.
 */
export const circles: Readonly<Record<string, readonly string[]>> = {
  // the console runs commands, and a command opens the console
  cli: ['command', 'console'],
  // a run is made of its operations and its feed, and both speak of the run
  runtime: ['feed', 'operator', 'run-handle.ts', 'session-queue.ts', 'substitute.ts'],
  // a verb says who may call it, and a door is that of a verb
  server: ['access', 'verbs'],
}

/** How many folders a path may have under the `src/` of a package. */
export const maxDepth = 2

/** How many lines a package may have: what one person can own. */
export const maxLines = 20_000

/** Names that say nothing about what is inside. */
export const drawers = [
  'utils',
  'util',
  'common',
  'helpers',
  'helper',
  'misc',
  'shared',
  'types',
  'interfaces',
  'constants',
  'internal',
  'internals',
]
