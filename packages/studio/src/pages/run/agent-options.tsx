/** Agents of a run to choose from in a list: of thousands, those around the chosen one; the tree of the overview has all. */
import { visible } from '@reeve/core/visible'
import { rowsAround, type AgentRow } from './agent-tree.ts'

export function AgentOptions({ agents, at }: { readonly agents: readonly AgentRow[]; readonly at: number }) {
  const { rows, before, after } = rowsAround(agents, at)
  return (
    <>
      {before > 0 && <option disabled>{before} more before these: choose in the overview</option>}
      {rows.map(({ view, level }) => (
        <option key={view.activation} value={view.activation}>
          {`${'\u00a0'.repeat((level - 1) * 3)}${visible(view.agent)}${view.task === undefined ? '' : ` (${visible(view.task)})`}`}
        </option>
      ))}
      {after > 0 && <option disabled>{after} more after these: choose in the overview</option>}
    </>
  )
}
