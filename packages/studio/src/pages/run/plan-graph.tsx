/** The plan of a team as a graph: tasks in columns by what they depend on, with role and state. */
import { useMemo } from 'react'
import type { LiveRun } from '@reeve/server/wire'
import { StatusBadge } from '../../ui/badge.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { node, planLayout } from './plan-layout.ts'

type Team = LiveRun['teams'][string]

export function PlanGraph(props: {
  readonly team: Team
  readonly chosen: string | undefined
  readonly onChoose: (task: string) => void
}) {
  const { team, chosen, onChoose } = props
  const { tasks } = team.plan
  const shape = tasks
    .map(({ task, dependencies, joined }) => [task, ...dependencies, '', ...joined].join('\n'))
    .join('\n\n')
  const layout = useMemo(
    () => planLayout(tasks),
    // only the shape decides where tasks stand
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [shape],
  )
  const byId = new Map(tasks.map((task) => [task.task, task]))
  return (
    <div className="run-graph" role="region" aria-label="Tasks of the plan" tabIndex={0}>
      <div style={{ width: layout.width + 2, height: layout.height + 2 }}>
        <svg width={layout.width + 2} height={layout.height + 2} aria-hidden="true">
          <defs>
            <marker id="run-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0,0.500L8,4L0,7.500z" />
            </marker>
          </defs>
          {layout.edges.map(({ from, to, path }) => (
            <path
              key={`${from}\n${to}`}
              d={path}
              className={`edge${from === chosen || to === chosen ? ' chosen' : ''}`}
              markerEnd="url(#run-arrow)"
            />
          ))}
        </svg>
        <ul>
          {layout.nodes.map(({ task: id, x, y }) => {
            const task = byId.get(id)!
            const after = [...task.dependencies, ...task.joined]
            return (
              <li key={id}>
                <button
                  type="button"
                  className={`run-task${task.recruit === undefined ? '' : ' recruit'} ${task.status}`}
                  aria-pressed={id === chosen}
                  style={{ left: x, top: y, width: node.width, height: node.height }}
                  onClick={() => onChoose(id)}
                >
                  <span className="truncate">
                    <b>
                      <VisibleText>{id}</VisibleText>
                    </b>
                    {task.critical && <span className="run-mark">critical</span>}
                  </span>
                  <span className="row">
                    <StatusBadge bare status={task.status} />
                    <span className="muted truncate">
                      <VisibleText>{task.role}</VisibleText>
                    </span>
                  </span>
                  {after.length > 0 && (
                    <span className="sr-only">
                      after <VisibleText>{after.join(', ')}</VisibleText>
                    </span>
                  )}
                </button>
              </li>
            )
          })}
        </ul>
      </div>
    </div>
  )
}
