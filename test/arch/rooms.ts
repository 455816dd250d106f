/**
 * The house as data: what each room under `src/` owns and what it may import. Type imports count. `arch.test.ts` holds
 * the source to this page and `table.ts` prints it into `docs/explanation/architecture.md`; to move a wall, move it here first.
 */

export interface Room {
  owns: string
  /** rooms it may import, through their doors */
  imports: readonly string[]
  /** packages it may import; every other room must do without */
  packages?: readonly string[]
  /** folders inside it that may import `node:*`; `'.'` is the whole room */
  node?: readonly string[]
  /** folders inside it that may read the clock and draw random numbers themselves; `'.'` is the whole room */
  clock?: readonly string[]
  /** files other rooms may import, `index.ts` when it says nothing */
  doors?: readonly string[]
}

const kernel = ['core', 'journal', 'engine', 'edge']
const agentImports = [...kernel, 'model', 'oversight', 'agent']
const teamImports = [...agentImports, 'flow', 'supervisor', 'team']

export const rooms: Readonly<Record<string, Room>> = {
  core: {
    owns: 'the words: ids, errors, failure, JSON, clock, random',
    imports: [],
    packages: ['@noble/hashes'],
    clock: ['.'],
    // the client in a browser reads parts and waits, and needs nothing else
    doors: ['index.ts', 'clock.ts', 'stream-part.ts', 'seen-text.ts'],
  },
  journal: { owns: 'what happened: events, codec and upcasters, the journal port, views', imports: ['core'] },
  engine: {
    owns: 'what happens next: context, step, inbox, timer, replay, lease, park; the embedded engine, and the one on PostgreSQL',
    imports: ['core', 'journal'],
    packages: ['pg'],
    node: ['embedded', 'memory', 'migration', 'postgres'],
    clock: ['embedded', 'host', 'postgres'],
    doors: [
      'index.ts',
      'mover.ts',
      'store.ts',
      'mover.ts',
      'store-name.ts',
      'open-store.ts',
      'host/index.ts',
      'embedded/index.ts',
      'embedded/digests.ts',
      'embedded/store.ts',
      'memory/store.ts',
      'migration/index.ts',
      'postgres/index.ts',
      'postgres/postgres.ts',
    ],
  },
  edge: {
    owns: 'what crosses from leader to worker: brief, context policy, permission, budget, control, result',
    imports: ['core', 'journal', 'engine'],
  },
  model: {
    owns: 'how we speak to a language model: resolver, call, parts, usage, price',
    imports: ['core'],
    packages: [
      '@ai-sdk/provider',
      '@ai-sdk/openai',
      '@ai-sdk/anthropic',
      '@ai-sdk/google',
      '@ai-sdk/openai-compatible',
    ],
  },
  oversight: {
    owns: 'humans at the top: interrupt, approval, escalation, modes, trust, takeover, control commands',
    imports: kernel,
  },
  agent: {
    owns: 'one model agent: agent, tool, turn loop, tool gate, context window',
    imports: [...kernel, 'model', 'oversight'],
  },
  flow: {
    owns: 'many model agents in a fixed order: sequential, parallel, loop, transfer, history, run path, as-tool',
    imports: agentImports,
  },
  supervisor: {
    owns: 'many model agents led by one: delegate, forward, hooks, completion scoring, background, conversation',
    imports: [...agentImports, 'flow'],
  },
  team: {
    owns: 'many model agents led by a plan: decompose, schedule, roles, roster, mailbox, failure budget, synthesise, advise',
    imports: [...agentImports, 'flow', 'supervisor'],
  },
  runtime: {
    owns: 'the composition root: createRuntime, run handle, recovery, sessions, registry of versions',
    imports: teamImports,
    doors: ['index.ts', 'upkeep.ts'],
  },
  server: {
    owns: 'HTTP and SSE over a runtime: routes as data, who may do what, runs folded once for all who look; `wire.ts` is what clients know',
    imports: ['core', 'journal', 'edge', 'runtime'],
    packages: ['hono', '@hono/node-server', 'jose'],
    node: ['.'],
    clock: ['.'],
    // the streams of protocols need nothing else of the server: no Hono
    doors: ['index.ts', 'wire.ts', 'event-stream.ts'],
  },
  client: {
    owns: 'the typed client of the server, for browsers and Node; of the server it knows the types of `wire.ts`',
    imports: ['core', 'server'],
    clock: ['.'],
  },
  cli: {
    owns: 'one file per command: parsing, what is shown, exit codes',
    imports: ['core', 'runtime', 'server', 'adapters', 'demo', 'front door'],
    packages: ['commander'],
    node: ['.'],
    clock: ['.'],
  },
  demo: {
    owns: 'the application behind `reeve demo`, as a user would write it: it imports what the package exports, and nothing behind that',
    imports: ['front door'],
    node: ['.'],
    clock: ['survey'],
  },
  adapters: {
    owns: 'one folder, one port; what each may import besides is in the table below',
    imports: ['core'],
    node: ['.'],
    doors: [],
  },
  testing: {
    owns: 'the public kit for tests of agents: scripted models, manual clock, expectations, crash points',
    imports: [
      'core',
      'journal',
      'engine',
      'edge',
      'model',
      'oversight',
      'agent',
      'flow',
      'supervisor',
      'team',
      'runtime',
      'front door',
    ],
    packages: ['@ai-sdk/provider'],
    node: ['.'],
    clock: ['.'],
  },
  contract: {
    owns: 'the contracts of engines and stores as suites (`reeve/testing/contract`), and the adversarial engine',
    imports: [
      'core',
      'journal',
      'engine',
      'edge',
      'model',
      'oversight',
      'agent',
      'flow',
      'supervisor',
      'team',
      'runtime',
      'testing',
      'front door',
    ],
    node: ['.'],
    clock: ['.'],
  },
}

/**
 * The front doors: explicit named exports, nothing else, and each name in one of them. Server, cli, adapters and
 * testing have doors of their own, so that importing `reeve` does not load them.
 */
export const frontDoor: Room = {
  owns: 'explicit named exports, nothing else; each name in one of them',
  imports: [...teamImports, 'runtime'],
}

/** The files of the front doors, by the path that a user imports. */
export const frontDoors: Readonly<Record<string, string>> = {
  reeve: 'packages/public/src/index.ts',
  'reeve/team': 'packages/public/src/team.ts',
  'reeve/oversight': 'packages/public/src/oversight.ts',
  'reeve/views': 'packages/public/src/views.ts',
  'reeve/engine': 'packages/public/src/engine.ts',
}

/** An adapter: `src/adapters/<name>/` may import its own folder and, besides what its room says, only what is here. */
export interface Adapter {
  /** rooms it may import besides: those of its port */
  imports: readonly string[]
  /** adapters it may import, through their doors */
  adapters?: readonly string[]
  /** packages it may import */
  packages?: readonly string[]
  /** files others may import, `index.ts` when it says nothing */
  doors?: readonly string[]
}

export const adapters: Readonly<Record<string, Adapter>> = {
  restate: {
    imports: ['engine'],
    packages: ['@restatedev/restate-sdk'],
    // the server and its operator need no SDK: `reeve restate` works without that package
    doors: ['index.ts', 'server.ts', 'client.ts'],
  },
  temporal: {
    imports: ['engine'],
    packages: ['@temporalio/activity', '@temporalio/client', '@temporalio/worker', '@temporalio/workflow'],
  },
  'external-agent': { imports: ['agent', 'edge', 'engine', 'model'] },
  'ai-sdk': {
    imports: ['agent', 'engine', 'runtime', 'server'],
    adapters: ['external-agent', 'chat-feed', 'protocol-run'],
    doors: ['index.ts', 'agent.ts'],
  },
  langgraph: { imports: ['agent', 'engine'], adapters: ['external-agent'] },
  'openai-agents': { imports: ['agent', 'engine'], adapters: ['external-agent'] },
  mastra: { imports: ['agent', 'engine'], adapters: ['external-agent'] },
  acp: { imports: ['agent', 'engine'], adapters: ['external-agent'] },
  'chat-feed': { imports: ['journal', 'edge', 'runtime', 'server'], adapters: ['protocol-run'] },
  openai: { imports: ['runtime', 'server'], adapters: ['chat-feed', 'protocol-run'] },
  'protocol-run': { imports: ['runtime', 'server'] },
  'ag-ui': { imports: ['journal', 'runtime', 'server'], adapters: ['protocol-run'] },
  a2a: {
    imports: ['journal', 'edge', 'runtime', 'server', 'agent', 'engine'],
    adapters: ['protocol-run', 'external-agent'],
    doors: ['index.ts', 'worker.ts'],
  },
  mcp: {
    imports: ['engine', 'edge', 'oversight', 'agent', 'runtime', 'server'],
    packages: ['@modelcontextprotocol/client', '@modelcontextprotocol/server'],
  },
  notify: { imports: ['engine', 'oversight'], packages: ['nodemailer'] },
  otel: { imports: ['journal', 'runtime'], packages: ['@opentelemetry/api'] },
}

/** How many folders a path may have under `src/`. */
export const maxDepth = 2

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
