/**
 * The program: every command with its arguments, options, help and examples.
 *
 * Owns: parsing (commander) and how a command's end becomes an exit code. Does not own: what commands do (command/).
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { messageOf, ReeveError } from '../core/index.ts'
import { addByHand } from './by-hand.ts'
import { answer } from './command/answer.ts'
import { backup, compact } from './command/backup.ts'
import { approve, edit, reject, retry, type DecidingOptions } from './command/decide.ts'
import { cancel, pause, stop } from './command/control.ts'
import { demo } from './command/demo.ts'
import { diff } from './command/diff.ts'
import { events } from './command/events.ts'
import { fork } from './command/fork.ts'
import { migrate } from './command/migrate.ts'
import { post } from './command/post.ts'
import { recruit } from './command/recruit.ts'
import { resume } from './command/resume.ts'
import type { restateDev, restateStatus } from './command/restate.ts'
import { retire } from './command/retire.ts'
import { runs } from './command/runs.ts'
import { show } from './command/show.ts'
import { work } from './command/work.ts'
import type { CommandContext } from './context.ts'
import { addOverseeing } from './overseeing.ts'
import { exitOfError, exits, type Exit } from './exit.ts'
import type { StoreOptions } from './store.ts'
import type { Terminal } from './terminal.ts'

/** Parses the arguments and carries the command out. Never throws. */
export async function main(
  args: readonly string[],
  world: {
    readonly terminal: Terminal
    readonly cwd: string
    readonly interrupted: AbortSignal
    readonly version: string
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
    })
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exit
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exits.done : exits.usage
    return complain(error, terminal)
  }
}

function complain(error: unknown, terminal: Terminal): Exit {
  const isOurs = ReeveError.is(error)
  terminal.note(`${terminal.style('red', 'reeve:')} ${messageOf(error)}`)
  if (isOurs && error.hint !== undefined) terminal.note(`  ${error.hint}`)
  if (!isOurs && error instanceof Error && error.stack !== undefined)
    terminal.note(error.stack.split('\n').slice(1, 6).join('\n'))
  return exitOfError(error)
}

type Carry = (work: (context: CommandContext) => Promise<Exit>) => Promise<void>

const exitHelp = `
Exit codes: 0 done · 1 failed · 2 wrong usage, nothing changed · 3 waits for somebody (approval, answer, pause) · 4 cancelled · 130 left with Ctrl-C, the run is parked

Examples:
  $ reeve demo .                          survey this folder with a team of rules, no model and no key needed
  $ reeve approve apr_8k2…                say yes to what a run asks for
  $ reeve answer int_3vn… '"Riga"'        give the value that a run asks for
  $ reeve resume run_5fz…                 resume a run that was interrupted, paused or is waiting
  $ reeve work                            drive the runs of your agents (reeve.config.ts) until Ctrl-C
  $ reeve events run_5fz… --json | jq .   everything that happened, as NDJSON`

const positiveNumber = (text: string): number => {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It is not a whole number of at least 1.')
  return Number(text)
}
const wholeNumber = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It is not a whole number.')
  return Number(text)
}

function buildProgram(version: string, terminal: Terminal, carry: Carry): Command {
  const program = new Command('reeve')
    .description(
      'Runs supervised teams of AI agents: every run is a journal, humans sit at the top, no finished work is done twice.',
    )
    .version(version, '-V, --version')
    .option(
      '--store <store>',
      'a file, or postgres://user@host/database?schema=… (default: what --config names, else .reeve/reeve.db here)',
    )
    .option(
      '--config <file>',
      'a module that exports `agents`, `store` or `engine`, and `channels` if there are any; it is code: only work and resume take reeve.config.ts unasked',
    )
    .addHelpText('after', exitHelp)
    .showSuggestionAfterError()
    .showHelpAfterError('(reeve --help shows commands and examples)')
    .configureOutput({ writeOut: (text) => terminal.raw(text), writeErr: (text) => terminal.note(text.trimEnd()) })
    .exitOverride()
  addDriving(program, carry)
  addLooking(program, carry)
  addForking(program, carry)
  addDeciding(program, carry)
  addSaying(program, carry)
  addStaffing(program, carry)
  addOverseeing(program, carry)
  addByHand(program, { carry, seconds: positiveNumber, examples })
  addUpkeep(program, carry)
  addRestate(program, carry)
  for (const command of program.commands) command.exitOverride().copyInheritedSettings(program)
  return program
}

const portNumber = (text: string): number => {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It is not a port (1 to 65535).')
  return Number(text)
}
const namespaceName = (text: string): string => {
  if (!/^[A-Za-z][\w-]{0,63}$/.test(text))
    throw new InvalidArgumentError('It begins with a letter; letters, digits, - and _ may follow.')
  return text
}

const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
const jsonOption = (): Option => new Option('--json', 'events as NDJSON on standard output')

function addDriving(program: Command, carry: Carry): void {
  program
    .command('demo')
    .description(
      'survey a folder with a supervised team: parallel workers, a recruited specialist, a report that you approve',
    )
    .argument('[folder]', 'the folder to survey', '.')
    .option('--yes', 'approve the report without asking')
    .option('--model <id>', 'let a model lead instead of rules: ollama/qwen3, anthropic/claude-…, openai/gpt-…')
    .option('--run <id>', 'the id of the run; the same id again is the same run')
    .addOption(jsonOption())
    .addHelpText('after', examples('reeve demo .', 'reeve demo ~/src/app --yes', 'reeve demo . --model ollama/qwen3'))
    .action((folder: string, options: Parameters<typeof demo>[2]) => carry((context) => demo(context, folder, options)))
  program
    .command('resume')
    .description(
      'resume a run that was interrupted, paused or is waiting; with an engine: tell its workers to resume it, and watch',
    )
    .argument('<run>', 'the id of the run')
    .option('--yes', 'approve whatever it asks for')
    .addOption(jsonOption())
    .addHelpText('after', examples('reeve resume run_5fz2…', 'reeve resume run_5fz2… --config ./reeve.config.ts'))
    .action((run: string, options: Parameters<typeof resume>[2]) => carry((context) => resume(context, run, options)))
  program
    .command('work')
    .description('drive the runs of the agents of a config until Ctrl-C: a worker process')
    .addHelpText(
      'after',
      `${examples('reeve work', 'reeve work --config ./reeve.config.ts')}

Exit codes: 130 after Ctrl-C, 0 after SIGTERM. With a store and several workers, each run is driven by one of them.`,
    )
    .action(() => carry(work))
}

function addLooking(program: Command, carry: Carry): void {
  program
    .command('runs')
    .description('list the runs of the store, newest first')
    .option('--limit <n>', 'at most so many', positiveNumber, 50)
    .addOption(jsonOption())
    .addHelpText('after', examples('reeve runs', 'reeve runs --json'))
    .action((options: Parameters<typeof runs>[1]) => carry((context) => runs(context, options)))
  program
    .command('show')
    .description('show a run: its tree, what it waits for, what it used')
    .argument('<run>', 'the id of the run')
    .addOption(new Option('--json', 'the view as one JSON document').conflicts('graph'))
    .addOption(
      new Option('--graph [format]', 'the plans of its teams as pictures, here or for pages that read Mermaid')
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
    .action((run: string, options: Parameters<typeof show>[2]) => carry((context) => show(context, run, options)))
  program
    .command('events')
    .description('print what happened in a run')
    .argument('<run>', 'the id of the run')
    .option('--follow', 'go on until the run has ended')
    .option('--from <n>', 'only events after this position', wholeNumber, 0)
    .addOption(jsonOption())
    .addHelpText('after', examples('reeve events run_5fz2…', 'reeve events run_5fz2… --follow --json'))
    .action((run: string, options: Parameters<typeof events>[2]) => carry((context) => events(context, run, options)))
}

function addForking(program: Command, carry: Carry): void {
  program
    .command('fork')
    .description('start a new run from a position in the journal of another run, which is not changed')
    .argument('<run>', 'the id of the run')
    .option('--at <n>', 'a position of `reeve events --json` (default: all that there is)', positiveNumber)
    .option('--run <id>', 'the id of the fork; the same id again is the same fork')
    .addOption(
      new Option('--output <value>', 'what ended at that position gave this instead: JSON, or a text').conflicts(
        'input',
      ),
    )
    .option('--input <value>', 'the run begins with this: JSON, or a text')
    .option('--reason <text>', 'recorded with it')
    .addHelpText(
      'after',
      examples(
        'reeve fork run_5fz2… --at 42',
        'reeve fork run_5fz2… --at 42 --output \'{"price": 9}\'',
        'reeve fork run_5fz2… --input "the other folder"',
      ),
    )
    .action((run: string, options: Parameters<typeof fork>[2]) => carry((context) => fork(context, run, options)))
  program
    .command('diff')
    .description('show where two runs diverge, and how')
    .argument('<run>', 'the id of a run')
    .argument('<other>', 'the id of another run, such as a fork of it')
    .option('--limit <n>', 'at most so many differences', positiveNumber, 20)
    .addOption(new Option('--json', 'all of it as one JSON document'))
    .addHelpText('after', examples('reeve diff run_5fz2… run_8ab1…'))
    .action((one: string, other: string, options: Parameters<typeof diff>[3]) =>
      carry((context) => diff(context, one, other, options)),
    )
}

function addDeciding(program: Command, carry: Carry): void {
  const approver = [
    '--approver <name>',
    'who decides (default: whoever is logged in here, by the name of the operating system)',
  ] as const
  const by = ['--by <name>', 'the same as --approver'] as const
  program
    .command('approve')
    .description('approve a pending request (the first decision wins)')
    .argument('<approval>', 'the id of the approval')
    .option('--comment <text>', 'recorded with the decision')
    .option(...approver)
    .option(...by)
    .addHelpText('after', examples('reeve approve apr_8k2…', 'reeve approve apr_8k2… --comment "looks right"'))
    .action((id: string, options: DecidingOptions) => carry((context) => approve(context, id, options)))
  program
    .command('reject')
    .description('reject a pending request; the agent is told the reason')
    .argument('<approval>', 'the id of the approval')
    .option('--reason <text>', 'told to the agent')
    .option(...approver)
    .option(...by)
    .addHelpText('after', examples('reeve reject apr_8k2… --reason "not on a Friday"'))
    .action((id: string, options: DecidingOptions) => carry((context) => reject(context, id, options)))
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
      carry((context) => edit(context, id, given, options)),
    )
  program
    .command('retry')
    .description('send a pending request back: the agent is told to change it and try again')
    .argument('<approval>', 'the id of the approval')
    .option('--comment <text>', 'told to the agent')
    .option(...approver)
    .option(...by)
    .addHelpText('after', examples('reeve retry apr_8k2… --comment "less, and in two steps"'))
    .action((id: string, options: DecidingOptions) => carry((context) => retry(context, id, options)))
}

/** Answers and an operator's words. */
function addSaying(program: Command, carry: Carry): void {
  program
    .command('answer')
    .description('answer an interrupt with the value it waits for (the first answer wins)')
    .argument('<interrupt>', 'the id of the interrupt')
    .argument('<value>', 'JSON; what does not read as JSON is taken as a text')
    .option('--text', 'take it as a text even if it reads as JSON')
    .option('--by <name>', 'who answers (default: the user of this process)')
    .addHelpText(
      'after',
      examples(
        'reeve answer int_3vn… 120',
        'reeve answer int_3vn… "as soon as you can"',
        'reeve answer int_3vn… --text 120',
      ),
    )
    .action((id: string, value: string, options: Parameters<typeof answer>[3]) =>
      carry((context) => answer(context, id, value, options)),
    )
  program
    .command('pause')
    .description('pause a run before its next effect (continue it with resume)')
    .argument('<run>', 'the id of the run')
    .option('--reason <text>', 'recorded with the pause')
    .addHelpText('after', examples('reeve pause run_5fz2…'))
    .action((run: string, options: Parameters<typeof pause>[2]) => carry((context) => pause(context, run, options)))
  program
    .command('stop')
    .description('stop one delegation; the rest of the run continues')
    .argument('<run>', 'the id of the run')
    .argument('<delegation>', 'd1, or an activation: what `reeve show` lists')
    .option('--reason <text>', 'told to its leader')
    .addHelpText('after', examples('reeve stop run_5fz2… d1', 'reeve stop run_5fz2… d1 --reason "takes too long"'))
    .action((run: string, delegation: string, options: Parameters<typeof stop>[3]) =>
      carry((context) => stop(context, run, delegation, options)),
    )
  program
    .command('post')
    .description('write to members of a planned team')
    .argument('<run>', 'the id of the run')
    .argument('<to>', 'a member, role:<name>, or * for everybody')
    .argument('<content>', 'JSON; what does not read as JSON is taken as a text')
    .option('--kind <word>', 'what sort of message it is: info, request, …')
    .option('--about <id>', 'what it belongs to: a task, another message')
    .option('--team <team>', 'which team, where the run has several: its activation, or its agent')
    .option('--text', 'take it as a text even if it reads as JSON')
    .addHelpText(
      'after',
      examples(
        'reeve post run_5fz2… analyst_1 "look at the prices, too"',
        'reeve post run_5fz2… role:writer "two pages at most" --kind request',
      ),
    )
    .action((run: string, to: string, content: string, options: Parameters<typeof post>[4]) =>
      carry((context) => post(context, run, to, content, options)),
    )
  program
    .command('cancel')
    .description('cancel a run and all its workers (cannot be undone)')
    .argument('<run>', 'the id of the run')
    .option('--reason <text>', 'recorded as the reason')
    .option('--no-undo', 'what was done stays')
    .addHelpText('after', examples('reeve cancel run_5fz2… --reason "asked for the wrong folder"'))
    .action((run: string, options: Parameters<typeof cancel>[2]) => carry((context) => cancel(context, run, options)))
}

const waitOption = (): Option =>
  new Option('--wait <seconds>', 'how long to wait for the decision; the wish stands after that')
    .argParser(positiveNumber)
    .default(10)

function addStaffing(program: Command, carry: Carry): void {
  program
    .command('recruit')
    .description('ask a planned team for another member')
    .argument('<run>', 'the id of the run')
    .requiredOption('--description <text>', 'what the member is to do')
    .option('--role <name>', "the member's role (default: the team's default role)")
    .option('--parent <task>', 'a task: whatever depends on it waits for the recruit, too')
    .addOption(new Option('--join <who>', 'who waits for the recruit').choices(['parent', 'run', 'none']))
    .option('--team <name>', 'the agent or the activation of the team, where a run has several')
    .option('--request <id>', 'the same id again is the same wish')
    .addOption(waitOption())
    .addHelpText(
      'after',
      `${examples('reeve recruit run_5fz2… --role analyst --description "Compare the prices of all six products"')}

Exit codes: 0 somebody joins, 1 nobody does, 3 nothing was decided yet.`,
    )
    .action((run: string, options: Parameters<typeof recruit>[2]) => carry((context) => recruit(context, run, options)))
  program
    .command('retire')
    .description('ask a planned team to let a member go, after its task')
    .argument('<run>', 'the id of the run')
    .argument('<member>', 'analyst_1: what `reeve show` lists')
    .option('--force', 'now; somebody new of its role begins its task anew, once')
    .option('--no-reassign', 'its unfinished task goes to nobody, and has failed')
    .option('--reason <text>', 'recorded with it')
    .option('--team <name>', 'the agent or the activation of the team, where a run has several')
    .addOption(waitOption())
    .addHelpText(
      'after',
      examples(
        'reeve retire run_5fz2… analyst_1',
        'reeve retire run_5fz2… analyst_1 --force --reason "goes round in circles"',
      ),
    )
    .action((run: string, member: string, options: Parameters<typeof retire>[3]) =>
      carry((context) => retire(context, run, member, options)),
    )
}

function addUpkeep(program: Command, carry: Carry): void {
  program
    .command('backup')
    .description('copy the store into a new file while workers continue')
    .argument('<file>', 'the new file')
    .addHelpText('after', examples('reeve backup reeve-monday.db', 'reeve backup /backup/reeve.db --store ./reeve.db'))
    .action((to: string) => carry((context) => backup(context, to)))
  program
    .command('compact')
    .description('rewrite the store without the free space that removed runs left (workers wait meanwhile)')
    .addHelpText('after', examples('reeve compact', 'reeve compact --store ./reeve.db'))
    .action(() => carry(compact))
  program
    .command('migrate')
    .description("write the runs of an event store that 0.1's Restate engine wrote into a new store")
    .argument('<from>', 'the old event store: a file, or postgres://…?schema=name')
    .argument('<to>', 'the new store: a file, or postgres://…; made if it is not there')
    .option('--check', 'say what would be done, and what cannot be; write nothing')
    .option('--json', 'what was done as one JSON document')
    .addHelpText(
      'after',
      `${examples('reeve migrate events.db reeve.db --check', "reeve migrate 'postgres://db/app?schema=reeve' 'postgres://db/app?schema=reeve2'")}

Stop the old workers first. The old store is only read. The command may be broken off and called again.
Exit codes: 0 everything is there, 1 some runs cannot be migrated.`,
    )
    .action((from: string, to: string, options: Parameters<typeof migrate>[3]) =>
      carry((context) => migrate(context, from, to, options)),
    )
}

/** Loaded only when it is asked for: the other commands need nothing of it. */
function addRestate(program: Command, carry: Carry): void {
  const restate = program
    .command('restate')
    .description('work with the Restate engine: run a server on this machine, show its state')
  restate
    .command('dev')
    .description('start a Restate server for development, and keep it until Ctrl-C')
    .option('--dir <folder>', 'where it keeps its data (default: .reeve/restate here)')
    .option('--ingress-port <n>', 'for calls', portNumber, 8080)
    .option('--admin-port <n>', 'for the operator, and its pages', portNumber, 9070)
    .option('--node-port <n>', 'for other nodes', portNumber, 5122)
    .addHelpText(
      'after',
      examples('reeve restate dev', 'reeve restate dev --dir /tmp/restate --ingress-port 18080 --admin-port 19070'),
    )
    .action((options: Parameters<typeof restateDev>[1]) =>
      carry(async (context) => (await import('./command/restate.ts')).restateDev(context, options)),
    )
  restate
    .command('status')
    .description('show whether a Restate server answers, which workers are registered, and which calls are stuck')
    .option('--ingress <url>', 'its address for calls', 'http://127.0.0.1:8080')
    .option('--admin <url>', 'its address for the operator', 'http://127.0.0.1:9070')
    .option('--namespace <name>', 'with which the names of the services begin', namespaceName, 'reeve')
    .option('--json', 'everything as one JSON document')
    .addHelpText(
      'after',
      `${examples('reeve restate status', 'reeve restate status --admin http://10.0.0.5:9070 --ingress http://10.0.0.5:8080')}

The token in RESTATE_AUTH_TOKEN, if there is one, is sent along.`,
    )
    .action((options: Parameters<typeof restateStatus>[1]) =>
      carry(async (context) => (await import('./command/restate.ts')).restateStatus(context, options)),
    )
}
