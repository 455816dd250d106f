/**
 * Command groups: in which order and under which headings the help lists the commands.
 *
 * Owns: the table, and what `reeve help <group>` prints. Does not own: the commands (program.ts).
 * Holds: every command stands in one group, or a test says so.
 */
import type { Command } from 'commander'

interface CommandGroup {
  /** As `reeve help <group>` takes it. */
  readonly name: string
  readonly heading: string
  readonly commands: readonly string[]
}

/** The first one is that of the first day. */
export const commandGroups: readonly CommandGroup[] = [
  {
    name: 'start',
    heading: 'The first day',
    commands: ['init', 'dev', 'start', 'runs', 'show', 'approve', 'reject', 'doctor'],
  },
  {
    name: 'questions',
    heading: 'Decide and answer',
    commands: ['questions', 'edit', 'retry', 'answer', 'settle'],
  },
  {
    name: 'control',
    heading: 'Control runs',
    commands: ['resume', 'pause', 'cancel', 'stop', 'batch', 'takeover', 'handback', 'complete', 'finish'],
  },
  { name: 'again', heading: 'Again, from a good point', commands: ['retry-run', 'fork', 'diff'] },
  { name: 'watch', heading: 'Watch and prove', commands: ['watch', 'studio', 'events', 'audit', 'otel', 'trust'] },
  { name: 'teams', heading: 'Planned teams', commands: ['recruit', 'retire', 'post'] },
  { name: 'serve', heading: 'Processes and servers', commands: ['work', 'serve', 'mcp', 'probe', 'restate'] },
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
  for (const command of program.commands)
    command.helpGroup(`${commandGroups.find(({ commands }) => commands.includes(command.name()))?.heading ?? others}:`)
  program.configureHelp({
    visibleCommands: (of) => {
      const commands = of.commands.filter((command) => !('_hidden' in command && command._hidden === true))
      return of === program ? commands.toSorted((a, b) => place(a) - place(b)) : commands
    },
  })
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
