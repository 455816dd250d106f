/**
 * The commands of oversight that belong to no single run's course: trust, audits.
 *
 * Owns: their arguments, options, help and examples. Does not own: what they do (command/), how a command's end becomes
 * an exit code (program.ts).
 */
import { Option, type Command } from 'commander'
import { audit, auditKey, auditVerify } from './command/audit.ts'
import { trust } from './command/trust.ts'
import type { CommandContext } from './context.ts'
import type { Exit } from './exit.ts'

type Carry = (work: (context: CommandContext) => Promise<Exit>) => Promise<void>

const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`

/** Adds them to the program. */
export function addOverseeing(program: Command, carry: Carry): void {
  addTrust(program, carry)
  addAudit(program, carry)
}

function addTrust(program: Command, carry: Carry): void {
  program
    .command('trust')
    .description('show how much is trusted and why no more; note an incident; set a level')
    .argument('[name]', 'the name under which trust is kept; without one: all of them')
    .argument('[verb]', 'incident or set')
    .option('--serious', 'an incident: back to novice, at once')
    .option('--minor', 'an incident: no rise for a while')
    .option('--to <level>', 'set: novice, proficient or expert')
    .option('--note <text>', 'why; recorded')
    .option('--by <name>', 'who says so (default: the user of this process)')
    .option('--run <run>', 'the run in which the incident happened')
    .option('--id <id>', 'the same id again is the same word')
    .option('--json', 'each as one JSON document')
    .addHelpText(
      'after',
      examples(
        'reeve trust',
        'reeve trust analysts',
        'reeve trust analysts incident --serious --note "sent the draft to a customer" --run run_5fz2…',
        'reeve trust analysts set --to proficient --note "reviewed by hand"',
      ),
    )
    .action((name: string | undefined, verb: string | undefined, options: Parameters<typeof trust>[3]) =>
      carry((context) => trust(context, name, verb, options)),
    )
}

const keyOption = (what: string): Option =>
  new Option('--key <file>', what).argParser((file: string, all: readonly string[] | undefined) => [
    ...(all ?? []),
    file,
  ])
const againstOption = (): Option =>
  new Option('--against <file>', 'an earlier audit, or its head: everything in it must still be there')

function addAudit(program: Command, carry: Carry): void {
  const command = program
    .command('audit')
    .description(
      'show who decided what in a run, when, and on what evidence; hash-chained, and signed with a key of yours',
    )
    .argument('<run>', 'the id of the run')
    .option('--out <file>', 'write the audit to a file')
    .addOption(keyOption('sign its head with this key, which stands outside the store'))
    .addOption(againstOption())
    .option('--json', 'the audit as one JSON document')
    .addHelpText(
      'after',
      `${examples(
        'reeve audit run_5fz2…',
        'reeve audit run_5fz2… --key ~/audit.key --out run_5fz2.audit.json',
        'reeve audit verify run_5fz2.audit.json --key audit.key.pub',
        'reeve audit key ~/audit.key',
      )}

Exit codes: 0 done, nothing is wrong; 1 something is wrong with it, and what.`,
    )
    .action((run: string, options: Parameters<typeof audit>[2]) => carry((context) => audit(context, run, options)))
  command
    .command('verify')
    .description('check an audit that somebody hands over; needs no store')
    .argument('<file>', 'the audit')
    .addOption(keyOption('a public key that is trusted; may be given several times'))
    .addOption(againstOption())
    .option('--json', 'what was found as one JSON document')
    .addHelpText('after', examples('reeve audit verify run_5fz2.audit.json --key audit.key.pub'))
    // what both have, the command above takes
    .action((file: string, _own: unknown, self: Command) =>
      carry((context) => auditVerify(context, file, self.optsWithGlobals())),
    )
  command
    .command('key')
    .description('make a pair of keys: the private one in the file, the public one in <file>.pub')
    .argument('<file>', 'a file that is not there yet')
    .addHelpText('after', examples('reeve audit key ~/audit.key'))
    .action((file: string) => carry((context) => auditKey(context, file)))
}
