/**
 * The commands by which a human goes on by hand: their arguments, options, help. Own: nothing else; what they do is in
 * command/taking-over.ts.
 */
import { Option, type Command } from 'commander'
import { complete, finish, handback, takeover } from './command/taking-over.ts'
import type { CommandContext } from './context.ts'
import type { Exit } from './exit.ts'

/** How a command is carried out, and how a number of seconds and examples are written. */
interface Ways {
  readonly carry: (work: (context: CommandContext) => Promise<Exit>) => Promise<void>
  readonly seconds: (text: string) => number
  readonly examples: (...lines: readonly string[]) => string
}

/** Adds takeover, handback, complete and finish. */
export function addByHand(program: Command, { carry, seconds, examples }: Ways): void {
  const wait = (): Option =>
    new Option('--wait <seconds>', 'how long to wait until whoever drives the run obeys; the command stands after that')
      .argParser(seconds)
      .default(10)
  const by = ['--by <name>', 'who says so (default: the user of this process)'] as const
  const reason = ['--reason <text>', 'recorded with it'] as const
  const text = ['--text', 'take it as a text even if it reads as JSON'] as const
  program
    .command('takeover')
    .description('take a run over: what is in flight ends, nothing new begins; prints what there is to go on with')
    .argument('<run>', 'the id of the run')
    .option('--now', 'stop what is in flight, too; it is repeated after the hand back')
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addOption(new Option('--json', 'the whole document as JSON'))
    .addHelpText('after', examples('reeve takeover run_5fz2… --reason "I know this customer"'))
    .action((run: string, options: Parameters<typeof takeover>[2]) =>
      carry((context) => takeover(context, run, options)),
    )
  program
    .command('handback')
    .description('hand a run back that was taken over, with an edited plan if there is one')
    .argument('<run>', 'the id of the run')
    .option('--plan <file>', 'what is to become of the plan, as JSON: add, replace, remove, results, roles, …')
    .option('--team <team>', 'whose plan, where the run has several teams: its activation, or its agent')
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addHelpText('after', examples('reeve handback run_5fz2…', 'reeve handback run_5fz2… --plan edit.json'))
    .action((run: string, options: Parameters<typeof handback>[2]) =>
      carry((context) => handback(context, run, options)),
    )
  program
    .command('complete')
    .description('finish one step by hand: whoever waits for it goes on with what you give')
    .argument('<run>', 'the id of the run')
    .argument('<step>', 'a task, a delegation (d1), a member, or an activation: what `reeve show` lists')
    .argument('<value>', 'its result: JSON; what does not read as JSON is taken as a text')
    .option(...text)
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addHelpText('after', examples('reeve complete run_5fz2… report "See the attached file."'))
    .action((run: string, step: string, value: string, options: Parameters<typeof complete>[4]) =>
      carry((context) => complete(context, run, step, value, options)),
    )
  program
    .command('finish')
    .description('end a run that was taken over with an output of yours; nothing is undone')
    .argument('<run>', 'the id of the run')
    .argument('<value>', 'the output: JSON; what does not read as JSON is taken as a text')
    .option(...text)
    .option(...by)
    .option(...reason)
    .addOption(wait())
    .addHelpText('after', examples('reeve finish run_5fz2… "Done by phone."'))
    .action((run: string, value: string, options: Parameters<typeof finish>[3]) =>
      carry((context) => finish(context, run, value, options)),
    )
}
