/**
 * Control commands: each tells a run something, prints a sentence, and is done. The process that drives the run carries
 * it out.
 *
 * Owns: one row for each, with its arguments, its help, what it tells the run and what is printed. Does not own: parsing
 * (program.ts), what the verbs do (runtime), many runs at once (batch.ts). Holds: the table alone is read to parse any
 * command, so what opens a store is loaded when it is used.
 */
import { present } from '@reeve/core'
import type { BatchVerb, Run } from '@reeve/runtime'
import { currentUser, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import type { LocatedRun } from '../next-command.ts'
import { reeve } from '../invocation.ts'
import type { BatchFilterOptions } from './batch.ts'

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
  /** It can be given to all runs that match a filter, as a batch of this verb. */
  readonly batch?: BatchVerb
  readonly tell: (run: Run, typed: Typed, by: string) => Promise<void>
  readonly printed: (located: LocatedRun, typed: Typed) => Promise<string> | string
}

const nextCommand = () => import('../next-command.ts')

export const controlCommands = {
  pause: {
    description: 'pause a run before its next effect (continue it with resume)',
    options: { '--reason <text>': 'recorded with the pause' },
    examples: ['reeve pause run_5fz2…', 'reeve pause --agent refunds --reason "the bank is down"'],
    batch: 'pause',
    tell: ({ control }, { reason }, by) => control.pause({ by, ...present({ reason }) }),
    printed: async (located) =>
      `The run ${located.run} pauses before its next effect. Resume it with:\n  ${await (await nextCommand()).resumeCommand(located)}`,
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
    examples: [
      'reeve cancel run_5fz2… --reason "asked for the wrong folder"',
      'reeve cancel --status waiting --agent refunds --before 2026-11-01',
    ],
    batch: 'cancel',
    tell: ({ control }, { reason, undo }, by) => control.cancel(reason, by, present({ undo })),
    printed: async (located) =>
      `Asked the run ${located.run} to cancel. ${await (await nextCommand()).continueHint(located)}`,
  },
} as const satisfies Readonly<Record<string, ControlCommand>>

/** Tells the run, or all that match, and prints what becomes of that. */
export async function giveCommand(
  context: CommandContext,
  run: string | undefined,
  { tell, printed, batch }: ControlCommand,
  typed: Typed & Partial<BatchFilterOptions>,
): Promise<Exit> {
  if (batch !== undefined) {
    const many = await import('./batch.ts')
    const { reason, undo } = typed
    if (many.isChosen(run, typed, batch))
      return many.commandMany(context, batch, typed, present({ reason, undo: undo === false ? undo : undefined }))
  }
  if (run === undefined) throw usage('no run was named', `Name a run, as listed by: ${reeve} runs`)
  const { withRuns } = await import('../store.ts')
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    await tell(runtime.handle(run), typed, currentUser())
    terminal.line(await printed({ context, runtime, place, run }, typed))
    return exits.done
  })
}
