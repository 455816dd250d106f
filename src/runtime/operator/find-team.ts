/**
 * Which planned team of a run somebody outside means, who would post, recruit or retire.
 *
 * Owns: finding it, waiting until there is one, the error where several are meant. Does not own: what is said to it
 * (team-staff.ts, run-handle.ts).
 * K1: the journal alone knows: a team is an activation that has made a plan, so this works in any process, with or
 * without the user's code.
 */
import { ReeveError, rootActivation, type ActivationId, type RunId } from '../../core/index.ts'
import { unknownRun, type Engine } from '../../engine/index.ts'
import type { Recorded } from '../../journal/index.ts'
import { hasEnded } from '../feed/run-feed.ts'

/** A planned team of a run. */
export interface TeamAt {
  readonly activation: ActivationId
  readonly agent: string
  readonly ended: boolean
}

/** The teams that have made a plan, in the order in which they did. Pure. */
function teamsIn(events: readonly Recorded[]): readonly TeamAt[] {
  const agents = new Map<ActivationId, string>()
  const teams = new Set<ActivationId>()
  const ended = new Set<ActivationId>()
  for (const { activation, event } of events) {
    if (event.type === 'activation.started') agents.set(activation, event.agent)
    else if (event.type === 'plan.created') teams.add(activation)
    else if (event.type === 'activation.settled') ended.add(activation)
  }
  return [...teams].map((activation) => ({
    activation,
    agent: agents.get(activation) ?? '',
    ended: ended.has(activation),
  }))
}

/**
 * The team of a run that is meant: the named one (by its activation, or by its agent), else the root, else the only one
 * that goes on, else the only one there was. Waits while the run goes on and has no team yet. Undefined: the run has
 * ended without one. Throws `run.unknown`, and `input.invalid` with the teams there are where it must be named, is
 * none, or the run waits for somebody before it has one. `mustBeThere`: there will be none before whoever asks goes on,
 * so nothing is waited for.
 */
export async function teamOf(
  engine: Engine,
  run: RunId,
  named?: string,
  signal?: AbortSignal,
  { mustBeThere = false } = {},
): Promise<TeamAt | undefined> {
  const events: Recorded[] = []
  for (;;) {
    signal?.throwIfAborted()
    const summary = await engine.summary(run)
    if (summary === undefined) throw unknownRun(run)
    events.push(...(await engine.read(run, events.at(-1)?.position)))
    const teams = teamsIn(events)
    const found = meant(teams, rootActivation(run), named)
    if (found !== undefined) return found
    if (teams.length > 0 && named !== undefined)
      throw notNamed(`there is no team "${named}" in the run "${run}"`, teams)
    if (teams.length > 1) throw notNamed(`the run "${run}" has several teams`, teams)
    if (hasEnded(summary.status)) return undefined
    if (mustBeThere)
      throw new ReeveError('input.invalid', `the run "${run}" has no planned team`, {
        hint: 'Without a team there is no plan to edit: hand it back without `plan`. Nothing was changed.',
      })
    if (summary.status === 'waiting' || summary.status === 'stuck')
      throw new ReeveError('input.invalid', `the run "${run}" has no planned team so far`, {
        hint: 'It waits for somebody: reeve show <run>. Nothing was changed.',
      })
    await engine.changed(run, events.at(-1)?.position ?? 0, signal)
  }
}

function meant(teams: readonly TeamAt[], root: ActivationId, named: string | undefined): TeamAt | undefined {
  if (named !== undefined)
    return teams.find(({ activation }) => activation === named) ?? theOnly(teams.filter(({ agent }) => agent === named))
  return teams.find(({ activation }) => activation === root) ?? theOnly(teams)
}

const theOnly = (teams: readonly TeamAt[]): TeamAt | undefined => {
  const open = teams.filter(({ ended }) => !ended)
  const [only, ...others] = open.length > 0 ? open : teams.slice(-1)
  return others.length === 0 ? only : undefined
}

const notNamed = (problem: string, teams: readonly TeamAt[]): ReeveError =>
  new ReeveError(
    'input.invalid',
    `${problem}: ${teams.map(({ activation, agent, ended }) => `${activation} ("${agent}"${ended ? ', ended' : ''})`).join(', ')}`,
    { hint: 'Name one of them by its activation. Nothing was changed.' },
  )
