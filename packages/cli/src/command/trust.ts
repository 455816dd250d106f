/**
 * `reeve trust`: shows trust records, records incidents, sets levels; drives no run.
 *
 * Owns: the output. Incidents and levels take effect in running runs at their next gate.
 */
import { visible } from '@reeve/core'
import { currentUser, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'
import type { Terminal } from '../terminal.ts'
import type { TrustLevel, TrustView } from '@reeve/runtime'
import { reeve } from '../invocation.ts'

/** The options of `reeve trust`. */
export interface TrustOptions {
  readonly json?: boolean
  readonly serious?: boolean
  readonly minor?: boolean
  readonly note?: string
  readonly by?: string
  readonly run?: string
  readonly id?: string
  readonly to?: string
}

/** Shows trust; `incident` records an incident, `set` sets a level. */
export function trust(
  context: CommandContext,
  name: string | undefined,
  verb: string | undefined,
  options: TrustOptions,
): Promise<Exit> {
  if (name === undefined) return list(context, options)
  if (verb === undefined) return show(context, name, options)
  if (verb === 'incident') return incident(context, name, options)
  if (verb === 'set') return set(context, name, options)
  throw usage(`unknown verb "${verb}"`, `Known: ${reeve} trust <name> incident, ${reeve} trust <name> set.`)
}

function list({ terminal, options, cwd }: CommandContext, { json = false }: TrustOptions): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const all = await runtime.trust.all()
    if (json) for (const each of all) terminal.line(JSON.stringify(each))
    else if (all.length === 0)
      terminal.note('No trust records yet. An agent or a run with oversight: { trust: "…" } starts one.')
    else for (const each of all) terminal.line(summary(each, terminal))
    return exits.done
  })
}

function show({ terminal, options, cwd }: CommandContext, name: string, { json = false }: TrustOptions): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => tell(await runtime.trust.of(name), terminal, json))
}

function incident({ terminal, options, cwd }: CommandContext, name: string, given: TrustOptions): Promise<Exit> {
  const { serious = false, minor = false, note, run, id, by = currentUser(), json = false } = given
  if (serious === minor)
    throw usage(
      'an incident needs either --serious or --minor',
      '--serious drops the level to novice and restarts its counts; --minor blocks a promotion for a while.',
    )
  return withRuns(options, cwd, async (runtime) => {
    const word = {
      ...(note === undefined ? {} : { note }),
      ...(run === undefined ? {} : { run }),
      ...(id === undefined ? {} : { id }),
    }
    return tell(
      await runtime.trust.incident({ trust: name, severity: serious ? 'serious' : 'minor', by, ...word }),
      terminal,
      json,
    )
  })
}

const levels: readonly string[] = ['novice', 'proficient', 'expert'] satisfies TrustLevel[]

function set({ terminal, options, cwd }: CommandContext, name: string, given: TrustOptions): Promise<Exit> {
  const { to, note, by = currentUser(), id, json = false } = given
  const problems = [
    ...(to === undefined
      ? ['--to is missing']
      : levels.includes(to)
        ? []
        : [`--to is "${to}", expected ${levels.join(', ')}`]),
    ...(note === undefined ? ['--note is missing'] : []),
  ]
  if (to === undefined || note === undefined || problems.length > 0)
    throw usage(
      `setting a level needs --to and --note: ${problems.join('; ')}`,
      `For example: ${reeve} trust analysts set --to proficient --note "reviewed by hand"`,
    )
  return withRuns(options, cwd, async (runtime) =>
    tell(
      await runtime.trust.set({
        trust: name,
        level: to as TrustLevel,
        reason: note,
        by,
        ...(id === undefined ? {} : { id }),
      }),
      terminal,
      json,
    ),
  )
}

function tell(view: TrustView, terminal: Terminal, json: boolean): Exit {
  if (json) {
    terminal.line(JSON.stringify(view))
    return exits.done
  }
  terminal.line(summary(view, terminal))
  terminal.line(nextLine(view))
  for (const line of historyLines(view)) terminal.line(line)
  return exits.done
}

/** Exact counts, as a rounded rate would hide how many runs are missing. */
const summary = ({ name, level, mode, completed, succeeded }: TrustView, { style }: Terminal): string =>
  `${style('bold', visible(name))}  ${level} (${mode})  ${succeeded} of ${completed} runs succeeded`

const nextLine = ({ next }: TrustView): string =>
  next.ok
    ? `promoted to ${next.target} when the next run has ended`
    : next.target === undefined
      ? visible(next.reason.message)
      : `not yet ${next.target}: ${visible(next.reason.message)}`

const newest = 10

function historyLines({ history }: TrustView): string[] {
  const shown = history.slice(-newest).map(({ at, what, from, to, severity, by, note, run }) => {
    const change = from === undefined || from === to ? to : `${from} > ${to}`
    const who = by ?? run
    const said = `${severity === undefined ? '' : `${severity} `}${what}: ${change}${who === undefined ? '' : ` (${who})`}${note === undefined ? '' : `: ${note}`}`
    return `${new Date(at).toISOString()}  ${visible(said)}`
  })
  return history.length > newest ? [`… and ${history.length - newest} before`, ...shown] : shown
}
