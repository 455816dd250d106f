'use client'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import type { RunMessageData, RunMessageMetadata } from 'reeve/ai-sdk'
import { useMemo, useState, type FormEvent } from 'react'
import { shown } from './shown.ts'

type Message = UIMessage<RunMessageMetadata, RunMessageData>
type Part = Message['parts'][number]

export default function Page() {
  const [token, setToken] = useState('')
  return token === '' ? <SignIn onToken={setToken} /> : <Chat token={token} />
}

function SignIn({ onToken }: { readonly onToken: (token: string) => void }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onToken(textOf(event, 'token'))
      }}
    >
      <input name="token" type="password" placeholder="The token in .token" autoComplete="current-password" required />
      <button>Sign in</button>
    </form>
  )
}

function Chat({ token }: { readonly token: string }) {
  const transport = useMemo(
    () => new DefaultChatTransport<Message>({ api: '/api/chat', headers: { authorization: `Bearer ${token}` } }),
    [token],
  )
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat<Message>({
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const decide = (id: string, approved: boolean) => void addToolApprovalResponse({ id, approved })
  return (
    <main>
      <h1>Refunds</h1>
      {messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, at) => (
            <PartView key={at} part={part} decide={decide} />
          ))}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void sendMessage({ text: textOf(event, 'text') })
          event.currentTarget.reset()
        }}
      >
        <input name="text" placeholder="Order 7 arrived broken." aria-label="Message" required />
        <button disabled={status === 'submitted' || status === 'streaming'}>Send</button>
      </form>
    </main>
  )
}

/** What happens in a run: texts, workers at work, calls of tools, and what a person has to approve. */
function PartView({ part, decide }: { readonly part: Part; readonly decide: (id: string, approved: boolean) => void }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'data-agent')
    return (
      <details>
        <summary>
          {part.data.path.join(' › ')}: {part.data.status}
        </summary>
        <pre>{part.data.text}</pre>
      </details>
    )
  if (part.type !== 'dynamic-tool') return null
  if (part.state !== 'approval-requested')
    return (
      <p>
        {part.toolName}: {part.state}
      </p>
    )
  const { path } = (part.toolMetadata ?? {}) as { readonly path?: readonly string[] }
  return (
    <div className="approval">
      <p>
        <strong>{path?.join(' › ')}</strong> asks to call <strong>{part.toolName}</strong> with exactly this:
      </p>
      <pre>{shown(part.input)}</pre>
      <button onClick={() => decide(part.approval.id, true)}>Approve</button>{' '}
      <button onClick={() => decide(part.approval.id, false)}>Reject</button>
    </div>
  )
}

const textOf = (event: FormEvent<HTMLFormElement>, name: string): string =>
  String(new FormData(event.currentTarget).get(name))
