/** The agents of this installation: what each is for, and talking to it. */
import type { AgentDocument } from '@reeve/server/wire'
import { useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { agentPath, Link } from '../../router.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import './agents.css'

export function AgentsPage() {
  const { data, error, reload } = useAgents()
  return (
    <div className="page">
      <header>
        <h1>Agents</h1>
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="agents" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : data.length === 0 ? (
        <Empty icon="agents" title="No agents here">
          Name a config with agents when the server is started: <code>reeve dev --config reeve.config.ts</code>.
        </Empty>
      ) : (
        <ul className="agent-cards">
          {leadersFirst(data).map((agent) => (
            <AgentCard key={agent.name} agent={agent} />
          ))}
        </ul>
      )}
    </div>
  )
}

export const useAgents = () => useQuery('agents', ['versions'], (signal) => server.agents({ signal }))

/** Those that are sent by name; of those that its model finds by search, which may be very many, their number. */
function toolsText(tools: AgentDocument['tools']): string {
  const sent = tools.flatMap(({ name, searchable }) => (searchable === true ? [] : [name]))
  const found = tools.length - sent.length
  return [...sent, ...(found === 0 ? [] : [`${String(found)} found by search`])].join(', ')
}

function AgentCard({ agent: { name, description, workers, tools } }: { readonly agent: AgentDocument }) {
  return (
    <li className="agent-card">
      <h2>
        <Link to={agentPath(name)}>
          <VisibleText>{name}</VisibleText>
        </Link>
      </h2>
      <p>
        {description === undefined ? (
          <span className="muted">No description.</span>
        ) : (
          <VisibleText>{description}</VisibleText>
        )}
      </p>
      <p className="muted">
        {workers.length > 0 && (
          <>
            leads <VisibleText>{workers.join(', ')}</VisibleText>
            {tools.length > 0 && ' · '}
          </>
        )}
        {tools.length > 0 && (
          <>
            tools: <VisibleText>{toolsText(tools)}</VisibleText>
          </>
        )}
      </p>
      <p className="row wrap">
        <Link className="button small" to={agentPath(name)} aria-label={`Chat with ${name}`}>
          <Icon name="sessions" /> Chat
        </Link>
        <Link className="button small" to={agentPath(name, 'compare')} aria-label={`Compare changes of ${name}`}>
          <Icon name="versions" /> Compare
        </Link>
      </p>
    </li>
  )
}

/** Leaders before those who work for one, then by name. */
function leadersFirst(all: readonly AgentDocument[]): readonly AgentDocument[] {
  const led = new Set(all.flatMap(({ workers }) => workers))
  return all.toSorted((a, b) => Number(led.has(a.name)) - Number(led.has(b.name)) || a.name.localeCompare(b.name))
}
