/**
 * `reeve settle`: says what became of an effect in doubt, or of a step that the journal does not have; drives no run.
 *
 * Owns: which options go with which question. The first settlement wins.
 */
import { currentUser, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { continueHint } from '../next-command.ts'
import { withRuns } from '../store.ts'
import { readValue } from './answer.ts'
import { reeve } from '../invocation.ts'

/** The options of the command, as they are typed. */
export interface SettleOptions {
  readonly happened?: 'yes' | 'no'
  readonly value?: string
  readonly map?: string
  readonly execute?: boolean
  readonly drop?: boolean
  readonly by?: string
}

/** Settles a question by its id. */
export function settle(context: CommandContext, id: string, given: SettleOptions): Promise<Exit> {
  const { terminal, options, cwd } = context
  const { happened, value, map, by = currentUser() } = given
  const action = actionOf(given)
  if ((happened === undefined) === (action === undefined))
    throw usage(
      happened === undefined ? 'it is not said what became of it' : 'an effect in doubt is not a diverged step',
      `An effect in doubt: --happened yes|no. A diverged step: --map <address>, --execute or --drop. ${reeve} questions says which it is.`,
    )
  if (value !== undefined && happened !== 'yes')
    throw usage('--value is the result of an effect that has happened', 'Use it with: --happened yes')
  return withRuns(options, cwd, async (runtime, place) => {
    const question = (await runtime.questions()).find((each) => each.id === id)
    if (happened !== undefined)
      await runtime.settleDoubt({
        id,
        happened: happened === 'yes',
        ...(value === undefined ? {} : { value: readValue(value) }),
        by,
      })
    else await runtime.settleDivergence({ id, action: action!, ...(map === undefined ? {} : { to: map }), by })
    terminal.line(`${terminal.style('green', '✓')} Settled ${id}.`)
    if (question !== undefined) terminal.line(await continueHint({ context, runtime, place, run: question.run }))
    return exits.done
  })
}

function actionOf({ map, execute = false, drop = false }: SettleOptions): 'map' | 'execute' | 'drop' | undefined {
  const given = { map: map !== undefined, execute, drop }
  const named = (['map', 'execute', 'drop'] as const).filter((each) => given[each])
  if (named.length > 1) throw usage(`--${named.join(' and --')}: a step is settled in one way`, 'Name one of them.')
  return named[0]
}
