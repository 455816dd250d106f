/**
 * Control commands: each tells a run something, prints a sentence, and is done. The process that drives the run carries
 * it out.
 *
 * Owns: one row for each, with its arguments, its help, what it tells the run and what is printed. Does not own: parsing
 * (program.ts), what the verbs do (runtime).
 */
import { present } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { currentUser, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { continueHint, resumeCommand, type LocatedRun } from '../next-command.ts'
import { withRuns } from '../store.ts'

/** What a person typed after the name of the command and of the run, by the names of `arguments` and `options`. */
interface Typed {
  readonly delegation?: string
  readonly reason?: string
  readonly undo?: boolean
}

/** A control command. */
export interface ControlCommand {
  readonly description: string
  /** Besides the run: the names of arguments that it must be given, each with its help. */
  readonly arguments?: Readonly<Partial<Record<keyof Typed, string>>>
  /** Each with its help. */
  readonly options: Readonly<Record<string, string>>
  readonly examples: readonly string[]
  readonly tell: (run: Run, typed: Typed, by: string) => Promise<void>
  readonly printed: (located: LocatedRun, typed: Typed) => Promise<string> | string
}

export const controlCommands = {
  pause: {
    description: 'pause a run before its next effect (continue it with resume)',
    options: { '--reason <text>': 'recorded with the pause' },
    examples: ['reeve pause run_5fz2…'],
    tell: ({ control }, { reason }, by) => control.pause({ by, ...present({ reason }) }),
    printed: async (located) =>
      `The run ${located.run} pauses before its next effect. Resume it with:\n  ${await resumeCommand(located)}`,
  },
  stop: {
    description: 'stop one delegation; the rest of the run continues',
    arguments: { delegation: 'its label (d1) or activation, as listed by `reeve show`' },
    options: { '--reason <text>': 'sent to its leader' },
    examples: ['reeve stop run_5fz2… d1', 'reeve stop run_5fz2… d1 --reason "takes too long"'],
    tell: ({ control }, { delegation = '', reason }, by) => control.stop({ delegation, by, ...present({ reason }) }),
    printed: ({ run }, { delegation }) => `Asked the leader of ${delegation} to stop it. The run ${run} continues.`,
  },
  cancel: {
    description: 'cancel a run and all its workers (cannot be undone)',
    options: {
      '--reason <text>': 'recorded as the reason',
      '--no-undo': 'keep completed effects: run no compensations',
    },
    examples: ['reeve cancel run_5fz2… --reason "asked for the wrong folder"'],
    tell: ({ control }, { reason, undo }, by) => control.cancel(reason, by, present({ undo })),
    printed: async (located) =>
      `Asked the run ${located.run} to cancel. ${await continueHint(located)}`,
  },
} as const satisfies Readonly<Record<string, ControlCommand>>

/** Tells the run, and prints what becomes of that. */
export function giveCommand(
  context: CommandContext,
  run: string,
  { tell, printed }: ControlCommand,
  typed: Typed,
): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    await tell(runtime.handle(run), typed, currentUser())
    terminal.line(await printed({ context, runtime, place, run }, typed))
    return exits.done
  })
}
