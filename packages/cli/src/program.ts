/**
 * The program: every command with its arguments, options, help and examples.
 *
 * Owns: parsing (commander), and the exit code of a command. Does not own: what commands do (command/), in which order
 * the help lists them (command-groups.ts). Holds: a command is loaded when it is called, so that none waits for the code
 * of the others.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { messageOf, present, ReeveError } from '@reeve/core'
import { addTakeover } from './takeover-commands.ts'
import type { batchCommand } from './command/batch.ts'
import type { answer } from './command/answer.ts'
import type { retry, DecidingOptions } from './command/decide.ts'
import { controlCommands, type ControlCommand } from './command/control.ts'
import type { demo } from './command/demo.ts'
import type { diff } from './command/diff.ts'
import type { doctor } from './command/doctor.ts'
import type { events } from './command/events.ts'
import type { fork } from './command/fork.ts'
import type { init } from './command/init.ts'
import type { post } from './command/post.ts'
import type { recruit } from './command/recruit.ts'
import type { resumeMany } from './command/resume.ts'
import type { restateDev, restateStatus } from './command/restate.ts'
import type { retryRun } from './command/retry-run.ts'
import type { retire } from './command/retire.ts'
import type { questions } from './command/questions.ts'
import type { runs } from './command/runs.ts'
import type { settle } from './command/settle.ts'
import type { OtelOptions } from './command/otel.ts'
import type { DocsOptions } from './command/docs.ts'
import type { McpCommandOptions } from './command/mcp.ts'
import type { ServeOptions } from './command/serve.ts'
import type { show } from './command/show.ts'
import type { start } from './command/start.ts'
import { defaultProbe, probe } from './command/probe.ts'
import type { WorkOptions } from './command/work.ts'
import { groupCommands, groupHelp } from './command-groups.ts'
import { asTyped, reeve } from './invocation.ts'
import type { Execute } from './context.ts'
import { addOversight } from './oversight-commands.ts'
import { exitOfError, exits, type Exit } from './exit.ts'
import { providers, templates } from './project.ts'
import type { StoreOptions } from './store.ts'
import type { Terminal } from './terminal.ts'

/** Parses the arguments and runs the command. Resolves to the exit code; never throws. */
export async function main(
  args: readonly string[],
  world: {
    readonly terminal: Terminal
    readonly cwd: string
    readonly interrupted: AbortSignal
    readonly version: string
    readonly self?: readonly string[]
  },
): Promise<Exit> {
  const { terminal } = world
  let exit: Exit = exits.done
  const program = buildProgram(world.version, terminal, async (work) => {
    exit = await work({
      terminal,
      cwd: world.cwd,
      options: program.opts<StoreOptions>(),
      interrupted: world.interrupted,
      ...present({ self: world.self }),
    })
  })
  try {
    const [first, name = ''] = program.parseOptions([...args]).operands
    const group = first === 'help' && !namesIn(program).includes(name) ? groupHelp(program, name) : undefined
    if (group !== undefined) {
      terminal.raw(asTyped(group, namesIn(program)))
      return exits.done
    }
    await program.parseAsync(args, { from: 'user' })
    return exit
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exits.done : exits.usage
    return printError(error, terminal, namesIn(program))
  }
}

const namesIn = ({ commands }: Command): readonly string[] => commands.map((command) => command.name())

/** Prints an error. `commands`: their names, which its hint may mention. */
function printError(error: unknown, terminal: Terminal, commands: readonly string[]): Exit {
  const isOurs = ReeveError.is(error)
  terminal.note(`${terminal.style('red', 'reeve:')} ${messageOf(error)}`)
  if (isOurs && error.hint !== undefined) terminal.note(`  ${asTyped(error.hint, commands)}`)
  if (!isOurs && error instanceof Error && error.stack !== undefined)
    terminal.note(error.stack.split('\n').slice(1, 6).join('\n'))
  return exitOfError(error)
}

const exitHelp = `
Exit codes: 0 done · 1 failed · 2 wrong usage, nothing changed · 3 waiting for a human (approval, answer, pause) · 4 cancelled · 130 left with Ctrl-C, the run is parked

Examples:
  $ reeve demo .                          survey this folder with a team of rules, no model and no key needed
  $ reeve approve apr_8k2…                approve a pending request
  $ reeve answer int_3vn… '"Riga"'        answer a question of a run
  $ reeve resume run_5fz…                 resume a run that was interrupted, paused or is waiting
  $ reeve work                            drive the runs of your agents (reeve.config.ts) until Ctrl-C
  $ reeve events run_5fz… --json | jq .   the events of a run, as NDJSON`

const positiveNumber = (text: string): number => {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Expected a whole number of at least 1.')
  return Number(text)
}
const amount = (text: string): number => {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Expected a number of at least 0.')
  return Number(text)
}
const wholeNumber = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a whole number of at least 0.')
  return Number(text)
}

/** The options that choose runs. */
const addRunFilter = (command: Command): Command =>
  command
    .option('--agent <name>', 'the root agent')
    .option('--agent-version <version>', 'its version')
    .option('--text <words>', 'words of the input, output or failure: word* begins one, "two words" stand together')
    .option('--code <code>', 'the code of the failure')
    .option('--cause <cause>', 'why it failed: a cause that `reeve runs --group cause` prints')
    .option('--user <id>', 'the user of the start')
    .option('--session <id>', 'the session of the start')
    .option('--tenant <id>', 'the tenant of the start')
    .option('--meta <key=value...>', 'members of the metadata of the start; a value may be JSON')
    .option('--since <date>', 'begun at this moment or later')
    .option('--before <date>', 'begun before this moment')
    .option('--min-usd <n>', 'that have cost at least so many US dollars, as far as that is known', amount)

/** The statuses that each verb of a batch is for: those of request.ts of the runtime. */
const batchStatuses = {
  retry: ['failed', 'limited', 'timed-out', 'cancelled'],
  cancel: ['running', 'queued', 'waiting', 'pausing', 'paused', 'human_control', 'stuck'],
  pause: ['running', 'queued', 'waiting'],
  resume: ['paused', 'pausing', 'stuck'],
} as const

/** The options by which a command is given to all runs that match. */
const addBatchFilter = (command: Command, verb: keyof typeof batchStatuses): Command =>
  addRunFilter(
    command.addOption(
      new Option('--status <status...>', 'several runs: those with this status').choices(batchStatuses[verb]),
    ),
  )
    .option('--limit <n>', 'the maximum number of runs, newest first (default and most: 10000)', positiveNumber)
    .option('--yes', 'do not ask before several runs are told')

function buildProgram(version: string, terminal: Terminal, execute: Execute): Command {
  // examples and descriptions name commands as `reeve …`
  const typed = (text: string): string => asTyped(text, namesIn(program))
  const program = new Command(reeve)
    .description(
      'Runs supervised teams of AI agents: every run is a journal, humans sit at the top, no finished work is done twice.',
    )
    .version(version, '-V, --version')
    .option(
      '--store <store>',
      'a file, or postgres://user@host/database?schema=… (default: the store of --config, else ./.reeve/reeve.db, else the one store in this folder)',
    )
    .option(
      '--config <file>',
      'a module that exports `agents`, `store` or `engine`, and optional `channels`; it is code: only work, resume, serve, studio, dev, mcp and doctor load ./reeve.config.ts by default',
    )
    .addHelpText('after', exitHelp)
    .showSuggestionAfterError()
    .showHelpAfterError(`(${reeve} --help shows commands and examples)`)
    .configureOutput({
      writeOut: (text) => terminal.raw(typed(text)),
      writeErr: (text) => terminal.note(typed(text.trimEnd())),
    })
    .exitOverride()
  addProject(program, execute)
  addRunCommands(program, execute)
  addInspection(program, execute)
  addForks(program, execute)
  addApprovals(program, execute)
  addMessages(program, execute)
  addMembership(program, execute)
  addOversight(program, execute)
  addTakeover(program, { execute, seconds: positiveNumber, examples })
  addMaintenance(program, execute)
  addRestate(program, execute)
  groupCommands(program)
  for (const command of program.commands) command.exitOverride().copyInheritedSettings(program)
  return program
}

const portNumber = (text: string): number => {
  if (!/^(0|[1-9]\d{0,4})$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('Expected a port from 0 (any that is free) to 65535.')
  return Number(text)
}
const namespaceName = (text: string): string => {
  if (!/^[A-Za-z][\w-]{0,63}$/.test(text))
    throw new InvalidArgumentError('Expected a letter, then letters, digits, - or _ (64 characters at most).')
  return text
}

const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
const jsonOption = (): Option => new Option('--json', 'events as NDJSON on standard output')

function addProject(program: Command, execute: Execute): void {
  program
    .command('init')
    .description('write a small team with its tests into a folder; overwrites nothing, needs no network')
    .argument('[folder]', 'the folder, which may be new (default: this one; at a terminal you are asked)')
    .option(
      '--template <name>',
      `one of ${Object.keys(templates).join(', ')} (default: chat; at a terminal you are asked)`,
    )
    .option(
      '--model <provider>',
      `whose package is installed: ${Object.keys(providers).join(', ')} (default: none; at a terminal you are asked)`,
    )
    .addHelpText('after', examples('reeve init my-team', 'reeve init . --template approvals --model openai'))
    .action((folder: string | undefined, options: Parameters<typeof init>[2]) =>
      execute(async (context) => (await import('./command/init.ts')).init(context, folder, options)),
    )
  program
    .command('doctor')
    .description('say what is wrong with an installation: Node, packages, config, models, store; it runs the config')
    .addOption(new Option('--json', 'the findings as one JSON document'))
    .addHelpText(
      'after',
      `${examples('reeve doctor', 'reeve doctor --store ./reeve.db', 'reeve doctor --json')}

Exit codes: 0 everything works, maybe with warnings, 1 something does not.`,
    )
    .action((options: Parameters<typeof doctor>[1]) =>
      execute(async (context) => (await import('./command/doctor.ts')).doctor(context, options)),
    )
}

function addRunCommands(program: Command, execute: Execute): void {
  program
    .command('demo')
    .description(
      'survey a folder with a supervised team: parallel workers, a recruited specialist, a report that you approve',
    )
    .argument('[folder]', 'the folder to survey', '.')
    .option('--yes', 'approve the report without asking')
    .option('--model <id>', 'let a model lead instead of rules: ollama/qwen3, anthropic/claude-…, openai/gpt-…')
    .option('--run <id>', 'the id of the run; repeating an id returns the same run')
    .addOption(jsonOption())
    .addHelpText('after', examples('reeve demo .', 'reeve demo ~/src/app --yes', 'reeve demo . --model ollama/qwen3'))
    .action((folder: string, options: Parameters<typeof demo>[2]) =>
      execute(async (context) => (await import('./command/demo.ts')).demo(context, folder, options)),
    )
  program
    .command('start')
    .description(
      'start a run of an agent of the config, drive it and watch it; with an engine, its workers drive it and this command watches',
    )
    .argument('<agent>', 'the name of the agent')
    .argument('<input>', 'its input: JSON if it is valid JSON, else a text')
    .option('--detach', 'do not drive or watch it: a worker does')
    .option('--text', 'the input is a text, whatever it looks like')
    .option('--run <id>', 'the id of the run; repeating an id returns the same run')
    .option('--session <session>', 'the conversation that it continues')
    .option('--user <user>', 'for whom it runs')
    .option('--tenant <tenant>', 'whose run it is')
    .option('--meta <key=value...>', 'metadata by which it is found; a value may be JSON')
    .option('--yes', 'approve every request of the run')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'reeve start editor "A paragraph about ravens."',
        `reeve start refunds '{"order":7}' --user ann --meta customer=acme --detach`,
      ),
    )
    .action((agent: string, input: string, options: Parameters<typeof start>[3]) =>
      execute(async (context) => (await import('./command/start.ts')).start(context, agent, input, options)),
    )
  const resumeCommand = program
    .command('resume')
    .description(
      'resume a run that was interrupted, paused or is waiting; with an engine, its workers resume it and this command watches',
    )
    .argument('[run]', 'the id of the run')
  addBatchFilter(resumeCommand, 'resume')
    .option('--reason <text>', 'several runs: recorded with each')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `${examples('reeve resume run_5fz2…', 'reeve resume run_5fz2… --config ./reeve.config.ts', 'reeve resume --status paused --agent refunds')}

With a run, --yes approves every request of it.`,
    )
    .action((run: string | undefined, options: Parameters<typeof resumeMany>[2]) =>
      execute(async (context) => (await import('./command/resume.ts')).resumeMany(context, run, options)),
    )
  program
    .command('work')
    .description('run a worker process: drive the runs of the agents in a config until Ctrl-C')
    .addHelpText(
      'after',
      `${examples('reeve work', 'reeve work --config ./reeve.config.ts', 'reeve work --probe-port 8081 --probe-host 0.0.0.0')}

When it is stopped, it takes nothing new; model calls and tools that are under way have 25 seconds to end (\`graceMs\` in the config). A second signal ends it at once.
Exit codes: 130 after Ctrl-C, 0 after SIGTERM. Several workers may share a store; one worker at a time drives each run.`,
    )
    .addOption(
      new Option('--probe-port <n>', 'answer probes over HTTP on this port: /live and /ready, 0 for any').argParser(
        portNumber,
      ),
    )
    .addOption(new Option('--probe-host <host>', 'where the probe port listens').default('127.0.0.1'))
    .action((options: WorkOptions) =>
      execute(async (context) => (await import('./command/work.ts')).work(context, options)),
    )
  program
    .command('probe')
    .description('ask a server or a worker whether it is ready; exits with 0 or 1')
    .argument('[address]', 'the address of a probe', defaultProbe)
    .addHelpText('after', examples('reeve probe', 'reeve probe http://127.0.0.1:8081/live'))
    .action((address: string) => execute((context) => probe(context, address)))
  addServers(program, execute)
}

/** Loaded on first use: no other command needs the server. */
function addServers(program: Command, execute: Execute): void {
  const host = (): Option => new Option('--host <host>', 'where to listen').default('127.0.0.1')
  const port = (): Option =>
    new Option('--port <n>', 'the port, 0 for any (default: 4040, or the next free one)').argParser(portNumber)
  const tokenFile = (): Option =>
    new Option('--token-file <file>', 'keep the token in this file, so that a browser stays signed in over a restart')
  program
    .command('dev')
    .description('run the config of this folder with the studio, and again after each change of its code')
    .addOption(port())
    .addOption(tokenFile())
    .addHelpText(
      'after',
      `${examples('reeve dev', 'reeve dev --config ./reeve.config.ts --port 8080')}

Runs are parked before a restart and go on after it. An error in the code is shown, and the next change tried.
Exit codes: 130 after Ctrl-C, 0 after SIGTERM.`,
    )
    .action((options: ServeOptions) =>
      execute(async (context) => (await import('./command/dev.ts')).dev(context, options)),
    )
  program
    .command('studio')
    .description('open a page in which you watch every run and decide what waits')
    .addOption(port())
    .addOption(tokenFile())
    .option('--no-open', 'print the address, open no browser')
    .addHelpText('after', examples('reeve studio', 'reeve studio --store ./reeve.db --no-open'))
    .action((options: ServeOptions) =>
      execute(async (context) => (await import('./command/serve.ts')).studio(context, options)),
    )
  program
    .command('serve')
    .description('serve the runs over HTTP: start, watch, decide, control')
    .addOption(port())
    .addOption(host())
    .addOption(tokenFile())
    .addHelpText(
      'after',
      `${examples('reeve serve', 'reeve serve --config ./reeve.config.ts --host 0.0.0.0 --port 8080')}

Another host than this machine needs authentication: export const server = { auth: …, hosts: […] } in the config.
Exit codes: 130 after Ctrl-C, 0 after SIGTERM.`,
    )
    .action((options: ServeOptions) =>
      execute(async (context) => (await import('./command/serve.ts')).serve(context, options)),
    )
  program
    .command('mcp')
    .description('serve the runs to an MCP client that starts this command: Claude Desktop, an IDE, another agent')
    .option('--decide', 'let the client decide approvals and answer questions in your name, too')
    .option('--agents <names>', 'the agents that it may start, with commas between them (default: all of the config)')
    .addHelpText(
      'after',
      `${examples('reeve mcp', 'reeve mcp --config /home/me/app/reeve.config.ts', 'reeve mcp --agents refunds --decide')}

It speaks MCP on standard input and output, and ends when the client leaves. Needs: npm install @modelcontextprotocol/server@2
With --decide a model of the client can approve what your agents ask you: only for clients that ask you before each call.`,
    )
    .action((options: McpCommandOptions) =>
      execute(async (context) => (await import('./command/mcp.ts')).mcp(context, options)),
    )
  program
    .command('docs')
    .description(
      'the documentation of this version: search it, read a page or an example, or serve it to a coding agent',
    )
    .argument('[words...]', 'words to search for, a page, or the name of an example (default: all pages)')
    .option('--mcp', 'serve it by MCP on standard input and output, as without words for a client that starts it')
    .addHelpText(
      'after',
      `${examples('reeve docs approve many at once', 'reeve docs how-to/tools', 'reeve docs 02-approval', 'reeve docs --mcp')}

By MCP it has three tools: search, page, example. Needs: npm install @modelcontextprotocol/server@2`,
    )
    .action((words: string[], options: DocsOptions) =>
      execute(async (context) => (await import('./command/docs.ts')).docs(context, words, options)),
    )
}

function addInspection(program: Command, execute: Execute): void {
  const runsCommand = program
    .command('runs')
    .description('list the runs of the store, newest first; with options, those that fit all of them')
    .option('--status <list>', 'one or several of them: waiting,failed')
  addRunFilter(runsCommand)
    .option('--limit <n>', 'the maximum number of runs', positiveNumber, 50)
    .option('--after <cursor>', 'the next page: the cursor that the page before has printed')
    .option('--why', 'what failed and why, or what the run waits for')
    .option('--usd', 'what each run has cost')
    .option(
      '--group <by>',
      'count instead, with cost and durations: agent, version, model, tenant, user, session, code; hour, day; agent,day; or cause',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'reeve runs',
        'reeve runs --status waiting,failed --why --usd',
        'reeve runs --agent clerk --meta customer=acme --since 2026-11-01',
        'reeve runs --min-usd 1 --json',
        'reeve runs --group agent,day',
        'reeve runs --text "refund order*" --status failed',
      ),
    )
    .action((options: Parameters<typeof runs>[1]) =>
      execute(async (context) => (await import('./command/runs.ts')).runs(context, options)),
    )
  program
    .command('questions')
    .description('list everything that is open over all runs, oldest first, with the command that answers it')
    .option('--run <id>', 'only of this run and its child runs')
    .addOption(
      new Option('--kind <kind>', 'only of this kind').choices(['approval', 'interrupt', 'in-doubt', 'diverged']),
    )
    .option('--tenant <id>', 'only of runs of this tenant')
    .option('--limit <n>', 'the maximum number of questions', positiveNumber, 50)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('reeve questions', 'reeve questions --kind approval', 'reeve questions --run run_5fz2…'),
    )
    .action((options: Parameters<typeof questions>[1]) =>
      execute(async (context) => (await import('./command/questions.ts')).questions(context, options)),
    )
  program
    .command('show')
    .description('show a run: its tree, its pending requests, its usage')
    .argument('<run>', 'the id of the run')
    .addOption(new Option('--json', 'the view as one JSON document').conflicts('graph'))
    .addOption(
      new Option('--graph [format]', 'draw the plans of its teams, in the terminal or as Mermaid')
        .choices(['terminal', 'mermaid'])
        .preset('terminal'),
    )
    .addHelpText(
      'after',
      examples(
        'reeve show run_5fz2…',
        'reeve show run_5fz2… --graph',
        'reeve show run_5fz2… --graph mermaid > plan.mmd',
      ),
    )
    .action((run: string, options: Parameters<typeof show>[2]) =>
      execute(async (context) => (await import('./command/show.ts')).show(context, run, options)),
    )
  program
    .command('watch')
    .description('watch a run, or all runs, live; at a terminal, decide with single keys')
    .argument('[run]', 'the id of the run (default: all runs, what waits first)')
    .addHelpText('after', examples('reeve watch', 'reeve watch run_5fz2…'))
    .action((run: string | undefined) =>
      execute(async (context) => (await import('./command/watch.ts')).watch(context, run)),
    )
  program
    .command('events')
    .description('print the events of a run')
    .argument('<run>', 'the id of the run')
    .option('--follow', 'continue until the run has ended')
    .option('--from <n>', 'only events after this position', wholeNumber, 0)
    .addOption(jsonOption())
    .addHelpText('after', examples('reeve events run_5fz2…', 'reeve events run_5fz2… --follow --json'))
    .action((run: string, options: Parameters<typeof events>[2]) =>
      execute(async (context) => (await import('./command/events.ts')).events(context, run, options)),
    )
  program
    .command('content')
    .description('print a large result of a run, by the name in its reference')
    .argument('<run>', 'the id of the run')
    .argument('<name>', 'its name, result-…')
    .addHelpText('after', examples('reeve content run_5fz2… result-9f86d081… > result.json'))
    .action((run: string, name: string) =>
      execute(async (context) => (await import('./command/content.ts')).content(context, run, name)),
    )
  program
    .command('otel')
    .description('export runs as OpenTelemetry traces and metrics (OTLP over HTTP); the same ids however often')
    .argument('[run...]', 'the ids of the runs')
    .option('--since <date>', 'instead: all runs that begun at this moment or later')
    .option(
      '--url <url>',
      'the receiver; /v1/traces is appended (default: OTEL_EXPORTER_OTLP_ENDPOINT, else http://127.0.0.1:4318)',
    )
    .option('--header <name=value...>', 'sent along (default: OTEL_EXPORTER_OTLP_HEADERS)')
    .option('--service <name>', 'the service name (default: OTEL_SERVICE_NAME, else reeve)')
    .option('--content', 'with what models, tools and people wrote')
    .option('--steps', 'with recorded steps of code')
    .option('--unfinished', 'with spans that have not ended')
    .option('--no-metrics', 'spans alone')
    .addHelpText(
      'after',
      examples(
        'reeve otel run_5fz2…',
        'reeve otel --since 2026-11-01 --url https://otel.example.com --header authorization="Bearer …"',
      ),
    )
    .action((runs: readonly string[], options: OtelOptions) =>
      execute(async (context) => (await import('./command/otel.ts')).otel(context, runs, options)),
    )
}

function addForks(program: Command, execute: Execute): void {
  program
    .command('fork')
    .description('start a new run from a position in the journal of another run, which is not changed')
    .argument('<run>', 'the id of the run')
    .option('--at <n>', 'a position of `reeve events --json` (default: the last one)', positiveNumber)
    .option('--run <id>', 'the id of the fork; repeating an id returns the same fork')
    .addOption(
      new Option('--output <value>', 'replaces the output of the step that ended at --at: JSON or text').conflicts(
        'input',
      ),
    )
    .option('--input <value>', 'replaces the input of the run: JSON or text')
    .option('--reason <text>', 'recorded with the fork')
    .addHelpText(
      'after',
      examples(
        'reeve fork run_5fz2… --at 42',
        'reeve fork run_5fz2… --at 42 --output \'{"price": 9}\'',
        'reeve fork run_5fz2… --input "the other folder"',
      ),
    )
    .action((run: string, options: Parameters<typeof fork>[2]) =>
      execute(async (context) => (await import('./command/fork.ts')).fork(context, run, options)),
    )
  const retryCommand = program
    .command('retry-run')
    .description(
      'go on with a run that failed, or with those that fit all options: from before what failed, a new run each; finished work is not repeated',
    )
    .argument('[run]', 'the id of the run')
  addBatchFilter(retryCommand, 'retry')
    .option('--again', 'another retry of a run that was retried before')
    .option('--run <id>', 'the id of the retry; repeating an id returns the same one')
    .option('--reason <text>', 'recorded with the retry')
    .addHelpText(
      'after',
      examples(
        'reeve retry-run run_5fz2…',
        'reeve retry-run --status failed --agent refunds --yes',
        'reeve retry-run --since 2026-11-01 --meta customer=acme',
      ),
    )
    .action((run: string | undefined, options: Parameters<typeof retryRun>[2]) =>
      execute(async (context) => (await import('./command/retry-run.ts')).retryRun(context, run, options)),
    )
  program
    .command('diff')
    .description('show where two runs diverge, and how')
    .argument('<run>', 'the id of a run')
    .argument('<other>', 'the id of another run, such as a fork of it')
    .option('--limit <n>', 'the maximum number of differences', positiveNumber, 20)
    .addOption(new Option('--json', 'every difference as one JSON document'))
    .addHelpText('after', examples('reeve diff run_5fz2… run_8ab1…'))
    .action((one: string, other: string, options: Parameters<typeof diff>[3]) =>
      execute(async (context) => (await import('./command/diff.ts')).diff(context, one, other, options)),
    )
}

function addApprovals(program: Command, execute: Execute): void {
  const approver = ['--approver <name>', 'the name of the approver (default: your login name)'] as const
  const by = ['--by <name>', 'the same as --approver'] as const
  program
    .command('approve')
    .description('approve pending requests (the first decision wins)')
    .argument('<approval...>', 'the ids of approvals; several are shown first and decided each by itself')
    .option('--yes', 'several: do not ask before they are decided')
    .option('--comment <text>', 'recorded with the decision')
    .option(...approver)
    .option(...by)
    .addHelpText(
      'after',
      examples('reeve approve apr_8k2…', 'reeve approve apr_8k2… apr_9c4… apr_b71… --comment "looks right"'),
    )
    .action((ids: readonly string[], options: DecidingOptions) =>
      execute(async (context) => (await import('./command/decide.ts')).approve(context, ids, options)),
    )
  program
    .command('reject')
    .description('reject pending requests; the agent receives the reason')
    .argument('<approval...>', 'the ids of approvals; several are shown first and decided each by itself')
    .option('--yes', 'several: do not ask before they are decided')
    .option('--reason <text>', 'sent to the agent')
    .option(...approver)
    .option(...by)
    .addHelpText('after', examples('reeve reject apr_8k2… --reason "not on a Friday"'))
    .action((ids: readonly string[], options: DecidingOptions) =>
      execute(async (context) => (await import('./command/decide.ts')).reject(context, ids, options)),
    )
  program
    .command('edit')
    .description('approve a pending request with edited arguments, which are validated again')
    .argument('<approval>', 'the id of the approval')
    .argument('<json>', 'all the arguments, as JSON')
    .option('--comment <text>', 'recorded with the decision')
    .option(...approver)
    .option(...by)
    .addHelpText('after', examples(`reeve edit apr_8k2… '{"amount": 5}'`))
    .action((id: string, given: string, options: DecidingOptions) =>
      execute(async (context) => (await import('./command/decide.ts')).edit(context, id, given, options)),
    )
  program
    .command('retry')
    .description('send a pending request back: the agent is asked to change it and try again')
    .argument('<approval>', 'the id of the approval')
    .option('--comment <text>', 'sent to the agent')
    .option('--repeat <effect...>', 'ids of completed effects to make once more; without it, none is')
    .option(...approver)
    .option(...by)
    .addHelpText('after', examples('reeve retry apr_8k2… --comment "less, and in two steps"'))
    .action((id: string, options: Parameters<typeof retry>[2]) =>
      execute(async (context) => (await import('./command/decide.ts')).retry(context, id, options)),
    )
}

/** A command of the table of control commands. */
function addControl(program: Command, execute: Execute, name: keyof typeof controlCommands): void {
  const row: ControlCommand = controlCommands[name]
  const given = Object.entries(row.arguments ?? {})
  const command = program
    .command(name)
    .description(row.description)
    .argument(row.batch === undefined ? '<run>' : '[run]', 'the id of the run')
  for (const [argument, help] of given) command.argument(`<${argument}>`, help)
  for (const [flags, help] of Object.entries(row.options)) command.option(flags, help)
  if (row.batch !== undefined) addBatchFilter(command, row.batch)
  command
    .addHelpText('after', examples(...row.examples))
    .action((run: string | undefined, ...typed: readonly unknown[]) => {
      const named = Object.fromEntries(given.map(([argument], i) => [argument, typed[i]]))
      const options = typed[given.length] as object
      return execute(async (context) =>
        (await import('./command/control.ts')).giveCommand(context, run, row, { ...named, ...options }),
      )
    })
}

/** Answers, control commands and messages. */
function addMessages(program: Command, execute: Execute): void {
  program
    .command('answer')
    .description('answer an interrupt with the value it waits for (the first answer wins)')
    .argument('<interrupt>', 'the id of the interrupt')
    .argument('<value>', 'JSON; invalid JSON is sent as text')
    .option('--text', 'send valid JSON as text, too')
    .option('--by <name>', 'who answers (default: your login name)')
    .addHelpText(
      'after',
      examples(
        'reeve answer int_3vn… 120',
        'reeve answer int_3vn… "as soon as you can"',
        'reeve answer int_3vn… --text 120',
      ),
    )
    .action((id: string, value: string, options: Parameters<typeof answer>[3]) =>
      execute(async (context) => (await import('./command/answer.ts')).answer(context, id, value, options)),
    )
  program
    .command('settle')
    .description('say what became of an effect in doubt, or of a diverged step (the first settlement wins)')
    .argument('<question>', 'the id of the question, as listed by `reeve questions`')
    .addOption(new Option('--happened <answer>', 'an effect in doubt: whether it has happened').choices(['yes', 'no']))
    .option('--value <json>', 'the result of an effect that has happened; invalid JSON is taken as text')
    .option('--map <address>', 'a diverged step: it is the recorded step at this address')
    .option('--execute', 'a diverged step: execute it')
    .option('--drop', 'a diverged step: drop what was recorded')
    .option('--by <name>', 'who settles it (default: your login name)')
    .addHelpText(
      'after',
      examples(
        'reeve settle int_3vn… --happened no',
        'reeve settle int_3vn… --happened yes --value \'{"id": 7}\'',
        'reeve settle int_3vn… --execute',
      ),
    )
    .action((id: string, options: Parameters<typeof settle>[2]) =>
      execute(async (context) => (await import('./command/settle.ts')).settle(context, id, options)),
    )
  addControl(program, execute, 'pause')
  addControl(program, execute, 'stop')
  program
    .command('post')
    .description('send a message to members of a planned team')
    .argument('<run>', 'the id of the run')
    .argument('<to>', 'a member, role:<name>, or * for all members')
    .argument('<content>', 'JSON; invalid JSON is sent as text')
    .option('--kind <kind>', 'the kind of message: info, request, …')
    .option('--about <id>', 'the task or message that it refers to')
    .option('--team <team>', 'the activation or agent of the team; required if the run has several teams')
    .option('--text', 'send valid JSON as text, too')
    .addHelpText(
      'after',
      examples(
        'reeve post run_5fz2… analyst_1 "look at the prices, too"',
        'reeve post run_5fz2… role:writer "two pages at most" --kind request',
      ),
    )
    .action((run: string, to: string, content: string, options: Parameters<typeof post>[4]) =>
      execute(async (context) => (await import('./command/post.ts')).post(context, run, to, content, options)),
    )
  addControl(program, execute, 'cancel')
  program
    .command('batch')
    .description('show a batch (many runs, one command) and go on with it, or list the newest ones')
    .argument('[batch]', 'the id of the batch')
    .option('--stop', 'cancel it: runs that it has not got to stay as they are')
    .option('--limit <n>', 'how many are listed', positiveNumber, 20)
    .addOption(new Option('--json', 'its progress and the causes of refusals, as JSON'))
    .addHelpText('after', examples('reeve batch', 'reeve batch batch_5fz2…', 'reeve batch batch_5fz2… --stop'))
    .action((id: string | undefined, options: Parameters<typeof batchCommand>[2]) =>
      execute(async (context) => (await import('./command/batch.ts')).batchCommand(context, id, options)),
    )
}

const waitOption = (): Option =>
  new Option('--wait <seconds>', 'how long to wait for the decision; the request stays open after that')
    .argParser(positiveNumber)
    .default(10)

function addMembership(program: Command, execute: Execute): void {
  program
    .command('recruit')
    .description('ask a planned team to add a member')
    .argument('<run>', 'the id of the run')
    .requiredOption('--description <text>', "the new member's task")
    .option('--role <name>', "the member's role (default: the team's default role)")
    .option('--parent <task>', 'a task; its dependents wait for the recruit, too')
    .addOption(new Option('--join <who>', 'who waits for the recruit').choices(['parent', 'run', 'none']))
    .option('--team <team>', 'the activation or agent of the team; required if the run has several teams')
    .option('--request <id>', 'makes the request idempotent: repeating an id adds no second member')
    .addOption(waitOption())
    .addHelpText(
      'after',
      `${examples('reeve recruit run_5fz2… --role analyst --description "Compare the prices of all six products"')}

Exit codes: 0 a member joins, 1 the team refuses, 3 not decided yet.`,
    )
    .action((run: string, options: Parameters<typeof recruit>[2]) =>
      execute(async (context) => (await import('./command/recruit.ts')).recruit(context, run, options)),
    )
  program
    .command('retire')
    .description('ask a planned team to retire a member after its task')
    .argument('<run>', 'the id of the run')
    .argument('<member>', 'its name, as listed by `reeve show`: analyst_1')
    .option('--force', 'retire now; a new member of the same role restarts the task once')
    .option('--no-reassign', 'fail its unfinished task instead of reassigning it')
    .option('--reason <text>', 'recorded with the request')
    .option('--team <team>', 'the activation or agent of the team; required if the run has several teams')
    .addOption(waitOption())
    .addHelpText(
      'after',
      examples(
        'reeve retire run_5fz2… analyst_1',
        'reeve retire run_5fz2… analyst_1 --force --reason "goes round in circles"',
      ),
    )
    .action((run: string, member: string, options: Parameters<typeof retire>[3]) =>
      execute(async (context) => (await import('./command/retire.ts')).retire(context, run, member, options)),
    )
}

function addMaintenance(program: Command, execute: Execute): void {
  program
    .command('backup')
    .description('copy the store into a new file while workers continue')
    .argument('<file>', 'the new file')
    .addHelpText('after', examples('reeve backup reeve-monday.db', 'reeve backup /backup/reeve.db --store ./reeve.db'))
    .action((to: string) => execute(async (context) => (await import('./command/backup.ts')).backup(context, to)))
  program
    .command('compact')
    .description('rewrite the store without the free space of removed runs (workers wait meanwhile)')
    .addHelpText('after', examples('reeve compact', 'reeve compact --store ./reeve.db'))
    .action(() => execute(async (context) => (await import('./command/backup.ts')).compact(context)))
}

/** Loaded on first use: no other command needs the Restate client. */
function addRestate(program: Command, execute: Execute): void {
  const restate = program
    .command('restate')
    .description('work with the Restate engine: run a server on this machine, show its state')
  restate
    .command('dev')
    .description('run a Restate server for development until Ctrl-C')
    .option('--dir <folder>', 'the data folder (default: ./.reeve/restate)')
    .option('--ingress-port <n>', 'the port for calls', portNumber, 8080)
    .option('--admin-port <n>', 'the port of the admin API and its web pages', portNumber, 9070)
    .option('--node-port <n>', 'the port for other nodes', portNumber, 5122)
    .addHelpText(
      'after',
      examples('reeve restate dev', 'reeve restate dev --dir /tmp/restate --ingress-port 18080 --admin-port 19070'),
    )
    .action((options: Parameters<typeof restateDev>[1]) =>
      execute(async (context) => (await import('./command/restate.ts')).restateDev(context, options)),
    )
  restate
    .command('status')
    .description('show whether a Restate server answers, which workers are registered, and which calls are stuck')
    .option('--ingress <url>', 'the address for calls', 'http://127.0.0.1:8080')
    .option('--admin <url>', 'the address of the admin API', 'http://127.0.0.1:9070')
    .option('--namespace <name>', 'the prefix of the service names', namespaceName, 'reeve')
    .option('--json', 'the status as one JSON document')
    .addHelpText(
      'after',
      `${examples('reeve restate status', 'reeve restate status --admin http://10.0.0.5:9070 --ingress http://10.0.0.5:8080')}

If RESTATE_AUTH_TOKEN is set, requests execute that token.`,
    )
    .action((options: Parameters<typeof restateStatus>[1]) =>
      execute(async (context) => (await import('./command/restate.ts')).restateStatus(context, options)),
    )
}
