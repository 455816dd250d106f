/** The approvals inbox over all runs. */
import { readQuestions } from '../../data/api.ts'
import { useQuery } from '../../data/queries.ts'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

export function InboxPage() {
  const { data, error, reload } = useQuery('questions', ['questions'], (signal) => readQuestions(signal))
  return (
    <div className="page">
      <header>
        <h1>Inbox</h1>
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="questions" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : data.items.length === 0 ? (
        <Empty title="Nothing waits for a person." />
      ) : (
        <ul>
          {data.items.map(({ id, path, approval, kind }) => (
            <li key={id}>
              <VisibleText>{`${path.join(' › ')}: ${approval?.tool ?? kind}`}</VisibleText>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
