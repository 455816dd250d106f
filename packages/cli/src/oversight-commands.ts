/**
 * The oversight commands: trust and audit.
 *
 * Owns: their arguments, options, help and examples. Does not own: what they do (command/), exit codes (program.ts).
 */
import { Option, type Command } from 'commander'
import type { audit } from './command/audit.ts'
import type { trust } from './command/trust.ts'
import type { Execute } from './context.ts'

const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`

/** Adds trust and audit. */
export function addOversight(program: Command, execute: Execute): void {
  addTrust(program, execute)
  addAudit(program, execute)
}

function addTrust(program: Command, execute: Execute): void {
  program
    .command('trust')
    .description('show trust levels and what blocks the next one; record an incident; set a level')
    .argument('[name]', 'the name of a trust record (default: all of them)')
    .argument('[verb]', 'incident or set')
    .option('--serious', 'incident: drops the level to novice at once')
    .option('--minor', 'incident: blocks a promotion for a while')
    .option('--to <level>', 'set: novice, proficient or expert')
    .option('--note <text>', 'the reason; recorded')
    .option('--by <name>', 'who gives the command (default: your login name)')
    .option('--run <run>', 'the run in which the incident happened')
    .option('--id <id>', 'makes the command idempotent: repeating an id changes nothing')
    .option('--json', 'each record as one JSON document')
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
      execute(async (context) => (await import('./command/trust.ts')).trust(context, name, verb, options)),
    )
}

const keyOption = (what: string): Option =>
  new Option('--key <file>', what).argParser((file: string, all: readonly string[] | undefined) => [
    ...(all ?? []),
    file,
  ])
const againstOption = (): Option =>
  new Option('--against <file>', 'an earlier audit, or its head: all its entries must still be present')

function addAudit(program: Command, execute: Execute): void {
  const command = program
    .command('audit')
    .description(
      'show who decided what in a run, when, and on what evidence; hash-chained, optionally signed with your key',
    )
    .argument('<run>', 'the id of the run')
    .option('--out <file>', 'write the audit to a file')
    .addOption(keyOption('sign its head with this key, kept outside the store'))
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

Exit codes: 0 done, no problem found; 1 problems found, which are listed.`,
    )
    .action((run: string, options: Parameters<typeof audit>[2]) =>
      execute(async (context) => (await import('./command/audit.ts')).audit(context, run, options)),
    )
  command
    .command('verify')
    .description('verify an audit file; needs no store')
    .argument('<file>', 'the audit')
    .addOption(keyOption('a trusted public key; may be given several times'))
    .addOption(againstOption())
    .option('--json', 'the report as one JSON document')
    .addHelpText('after', examples('reeve audit verify run_5fz2.audit.json --key audit.key.pub'))
    // commander gives options of the same name to the parent command
    .action((file: string, _own: unknown, self: Command) =>
      execute(async (context) =>
        (await import('./command/audit.ts')).auditVerify(context, file, self.optsWithGlobals()),
      ),
    )
  command
    .command('key')
    .description('create a key pair: the private key in the file, the public key in <file>.pub')
    .argument('<file>', 'a new file')
    .addHelpText('after', examples('reeve audit key ~/audit.key'))
    .action((file: string) => execute(async (context) => (await import('./command/audit.ts')).auditKey(context, file)))
}
