/**
 * Figures of runs, as programs ask for them.
 *
 * Owns: what may be asked. Does not own: counting (engine/figures).
 */
import { choice, listOf, optionProblems, refuseProblems, string, type Checks } from '@reeve/core'
import {
  mustBeRunFilter,
  type Causes,
  type Engine,
  type FiguresFilter,
  type RunFilter,
  type Totals,
  type TotalsOptions,
} from '@reeve/engine'

const checks: Checks<TotalsOptions> = {
  by: choice('agent', 'version', 'model', 'tenant', 'user', 'session', 'code'),
  bucket: choice('hour', 'day'),
  agents: listOf(string, 'names of agents'),
}

/** What a list alone may be told: figures are of all runs of a filter. */
const ofLists = ['limit', 'after', 'childrenOf'] as const

/** For an engine a queued run is a running one. */
function figuresFilter(filter: FiguresFilter, where: string): FiguresFilter {
  mustBeRunFilter(filter, where)
  const given = ofLists.filter((name) => (filter as RunFilter)[name] !== undefined)
  refuseProblems(
    'input.invalid',
    given.map((name) => `${where}: ${name} is for a list, and figures are of all runs of the filter`),
  )
  const { status } = filter
  return status === undefined
    ? filter
    : { ...filter, status: [...new Set(status.map((each) => (each === 'queued' ? 'running' : each)))] }
}

/** As `Runtime.totals`. */
export async function totalsOf(
  engine: Engine,
  filter: FiguresFilter = {},
  options: TotalsOptions = {},
): Promise<Totals> {
  refuseProblems('input.invalid', optionProblems(checks, options, 'totals()'))
  return engine.totals(figuresFilter(filter, 'totals()'), options)
}

/** As `Runtime.causes`. */
export async function causesOf(
  engine: Engine,
  filter: FiguresFilter = {},
  options: Pick<TotalsOptions, 'agents'> = {},
): Promise<Causes> {
  refuseProblems('input.invalid', optionProblems(checks, options, 'causes()'))
  return engine.causes(figuresFilter(filter, 'causes()'), options)
}
