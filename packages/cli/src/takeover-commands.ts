/**
 * The takeover commands: takeover, handback, complete, finish.
 *
 * Owns: their arguments, options and help. Does not own: what they do (command/takeover.ts).
 */
import { Option, type Command } from 'commander'
import type { complete, finish, handback, takeover } from './command/takeover.ts'
import type { Execute } from './context.ts'

/** The program's helpers: runs a command, parses seconds, formats examples. */
interface CommandHelpers {
  readonly execute: Execute
  readonly seconds: (text: string) => number
  readonly examples: (...lines: readonly string[]) => string
}

/** Adds takeover, handback, complete and finish. */
export function addTakeover(program: Command, { execute, seconds, examples }: CommandHelpers): void {
  const wait = (): Option =>
    new Option('--wait <seconds>', 'how long to wait for a worker to act; the command stays valid after that')
      .argParser(seconds)
      .default(10)
  const by = ['--by <name>', 'who gives the command (default: your login name)'] as const
  const reason = ['--reason <text>', 'recorded with the command'] as const
  const text = ['--text', 'send valid JSON as text, too'] as const
  program
    .command('takeover')
    .description('take a run over: steps in flight finish, no step begins; prints the state to continue from')
    .argument('<run>', 'the id of the run')
    .option('--now', 'stop steps in flight, too; they are repeated after the hand back')
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addOption(new Option('--json', 'the whole document as JSON'))
    .addHelpText('after', examples('reeve takeover run_5fz2… --reason "I know this customer"'))
    .action((run: string, options: Parameters<typeof takeover>[2]) =>
      execute(async (context) => (await import('./command/takeover.ts')).takeover(context, run, options)),
    )
  program
    .command('handback')
    .description('hand back a run that was taken over, optionally with an edited plan')
    .argument('<run>', 'the id of the run')
    .option('--plan <file>', 'the edit of the plan, as JSON: add, replace, remove, results, roles, …')
    .option('--team <team>', 'the activation or agent of the team; required if the run has several teams')
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addHelpText('after', examples('reeve handback run_5fz2…', 'reeve handback run_5fz2… --plan edit.json'))
    .action((run: string, options: Parameters<typeof handback>[2]) =>
      execute(async (context) => (await import('./command/takeover.ts')).handback(context, run, options)),
    )
  program
    .command('complete')
    .description('finish one step by hand: its dependents continue with the value you give')
    .argument('<run>', 'the id of the run')
    .argument('<step>', 'a task, delegation (d1), member or activation, as listed by `reeve show`')
    .argument('<value>', 'its result: JSON; invalid JSON is sent as text')
    .option(...text)
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addHelpText('after', examples('reeve complete run_5fz2… report "See the attached file."'))
    .action((run: string, step: string, value: string, options: Parameters<typeof complete>[4]) =>
      execute(async (context) => (await import('./command/takeover.ts')).complete(context, run, step, value, options)),
    )
  program
    .command('finish')
    .description('end a run that was taken over, with your output; nothing is undone')
    .argument('<run>', 'the id of the run')
    .argument('<value>', 'the output: JSON; invalid JSON is sent as text')
    .option(...text)
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addHelpText('after', examples('reeve finish run_5fz2… "Done by phone."'))
    .action((run: string, value: string, options: Parameters<typeof finish>[3]) =>
      execute(async (context) => (await import('./command/takeover.ts')).finish(context, run, value, options)),
    )
}
