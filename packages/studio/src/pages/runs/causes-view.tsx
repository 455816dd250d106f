/** Why runs ended badly: equal failures together, the most frequent first. */
import type { CausesAnswer, FailureGroup } from '@reeve/server/wire'
import { Link, runPath } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { Button } from '../../ui/button.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { runsPath, type RunParams } from './run-filter.ts'

export function CausesView(props: {
  readonly causes: CausesAnswer
  readonly given: RunParams
  /** Absent: they may not. */
  readonly onRetry: ((group: FailureGroup) => void) | undefined
}) {
  const { causes: answer, given, onRetry } = props
  const { causes, more } = answer
  const narrow = useNarrow()
  if (causes.length === 0)
    return (
      <Empty icon="check" title="No failures here">
        Runs that fail, reach a limit or time out are counted here by their cause: the same code, agent and message but
        for numbers and names.
      </Empty>
    )
  const most = causes[0]!.runs
  return (
    <div className="cause-table" role="region" aria-label="Failures by cause" tabIndex={0}>
      <table className={`plain-table${narrow ? ' cards' : ''}`}>
        <thead>
          <tr>
            <th scope="col">What went wrong</th>
            <th scope="col">Agent that failed</th>
            <th scope="col" className="num">
              Runs
            </th>
            <th scope="col">First</th>
            <th scope="col">Newest</th>
            {onRetry !== undefined && (
              <th scope="col">
                <span className="sr-only">What to do</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {causes.map((group) => (
            <tr key={group.cause}>
              <td className="what">
                <CauseLink group={group} given={given} />
              </td>
              <td data-label="Agent">
                <VisibleText>{group.agent}</VisibleText>
              </td>
              <td className="num" data-label="Runs">
                <b>{countText(group.runs)}</b>
                <span className="share-bar" aria-hidden="true">
                  <span style={{ width: `${(group.runs / most) * 100}%` }} />
                </span>
              </td>
              <td className="nowrap" data-label="First">
                <Time at={group.firstAt} />
              </td>
              <td className="nowrap" data-label="Newest">
                <Link to={runPath(group.newest)} title={group.newest}>
                  <Time at={group.lastAt} />
                </Link>
              </td>
              {onRetry !== undefined && (
                <td className="num">
                  <Button small icon="play" onClick={() => onRetry(group)}>
                    Retry {group.runs === 1 ? 'it' : `all ${countText(group.runs)}`}…
                  </Button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {more !== undefined && <p className="muted rest">{countText(more)} rarer causes are left out.</p>}
    </div>
  )
}

/** What went wrong, which leads to the runs of this cause. */
function CauseLink({ group, given }: { readonly group: FailureGroup; readonly given: RunParams }) {
  const { cause, code, message } = group
  return (
    <>
      <Link to={runsPath({ ...given, cause })}>
        <VisibleText>{message === '' ? code : message}</VisibleText>
      </Link>
      <div className="muted mono">
        <VisibleText>{code}</VisibleText>
      </div>
    </>
  )
}
