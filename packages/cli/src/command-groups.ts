/**
 * Command groups: in which order and under which headings the help lists the commands.
 *
 * Owns: the table, and what `reeve help <group>` prints. Does not own: the commands (program.ts).
 * Holds: every command stands in one group, or a test says so.
 */
import { Command } from 'commander'

interface CommandGroup {
  /** As `reeve help <group>` takes it. No command has it. */
  readonly name: string
  readonly heading: string
  readonly commands: readonly string[]
}

/** The first one is that of the first day. */
export const commandGroups: readonly CommandGroup[] = [
  {
    name: 'first',
    heading: 'The first day',
    commands: ['init', 'dev', 'start', 'runs', 'show', 'approve', 'reject', 'doctor'],
  },
  {
    name: 'decide',
    heading: 'Decide and answer',
    commands: ['questions', 'edit', 'retry', 'answer', 'settle'],
  },
  {
    name: 'control',
    heading: 'Control runs',
    commands: ['resume', 'pause', 'cancel', 'stop', 'batch', 'takeover', 'handback', 'complete', 'finish'],
  },
  { name: 'again', heading: 'Again, from a good point', commands: ['retry-run', 'fork', 'diff'] },
  {
    name: 'look',
    heading: 'Look and prove',
    commands: ['watch', 'studio', 'events', 'content', 'audit', 'otel', 'trust'],
  },
  { name: 'teams', heading: 'Planned teams', commands: ['recruit', 'retire', 'post'] },
  { name: 'servers', heading: 'Processes and servers', commands: ['work', 'serve', 'mcp', 'probe', 'restate'] },
  { name: 'store', heading: 'The store', commands: ['backup', 'compact'] },
  { name: 'learn', heading: 'Learn', commands: ['demo', 'docs', 'help'] },
]

/** A command without a group. */
const others = 'More'

/** Puts each command of the program into its group, in the order of the table. */
export function groupCommands(program: Command): void {
  const order = commandGroups.flatMap(({ commands }) => commands)
  const place = (command: Command): number => {
    const at = order.indexOf(command.name())
    return at === -1 ? order.length : at
  }
  const headingOf = (name: string): string =>
    `${commandGroups.find(({ commands }) => commands.includes(name))?.heading ?? others}:`
  for (const command of program.commands) command.helpGroup(headingOf(command.name()))
  // the help lists groups in the order of their first command
  ;(program.commands as Command[]).sort((a, b) => place(a) - place(b))
  const groups = commandGroups.map(({ name }) => name).join(', ')
  program.addHelpCommand(
    new Command('help')
      .argument('[name]', 'a command or a group')
      .description(`show the help of a command, or of a group: ${groups}`)
      .helpGroup(headingOf('help')),
  )
}

/** The help of the group of this name, with the commands of it alone; undefined if there is none. */
export function groupHelp(program: Command, name: string): string | undefined {
  const group = commandGroups.find((each) => each.name === name)
  if (group === undefined) return undefined
  const found = group.commands.flatMap((each) => program.commands.find((command) => command.name() === each) ?? [])
  const widest = Math.max(...found.map((command) => command.name().length))
  const lines = found.map((command) => `  ${command.name().padEnd(widest)}  ${command.description()}`)
  return `${group.heading}:\n${lines.join('\n')}\n\nOf one command: reeve help <command>\n`
}
