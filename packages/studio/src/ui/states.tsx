/** Empty, loading, failed: what there is to see when there is nothing to see, and what to do. */
import { ClientError } from '@reeve/client'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export function Empty(props: { readonly icon?: IconName; readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="state">
      <Icon name={props.icon ?? 'inbox'} />
      <p className="title">{props.title}</p>
      {props.children && <div className="detail">{props.children}</div>}
    </div>
  )
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="state" role="status">
      <span className="spinner" aria-hidden="true" />
      <p>Loading {what}…</p>
    </div>
  )
}

/** What went wrong, and what to do. `onRetry`: offers to try again. */
export function ErrorState({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const { message, hint } = sentences(error)
  return (
    <div className="state error" role="alert">
      <Icon name="warn" />
      <p className="title">{message}</p>
      {hint !== undefined && <p className="detail">{hint}</p>}
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** A sentence that stays beside what it is about. */
export function Notice(props: { readonly tone?: 'bad' | 'wait' | 'ok'; readonly children: ReactNode }) {
  const icons = { bad: 'warn', wait: 'clock', ok: 'check' } as const
  return (
    <div className={`notice ${props.tone ?? ''}`} role={props.tone === 'bad' ? 'alert' : undefined}>
      <Icon name={props.tone === undefined ? 'doubt' : icons[props.tone]} />
      <div className="grow">{props.children}</div>
    </div>
  )
}

/** The message and hint of whatever was thrown. */
export function sentences(error: unknown): { readonly message: string; readonly hint?: string } {
  if (error instanceof ClientError && Object.hasOwn(away, error.code)) return away[error.code]!(error)
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined
  return hint === undefined ? { message } : { message, hint }
}

const hint = 'It may have stopped. This page tries again by itself.'
/** What a page says where the server gave no answer of its own: its address says nothing to those who look. */
const away: Readonly<Record<string, (error: ClientError) => { readonly message: string; readonly hint: string }>> = {
  'server.unreachable': () => ({ message: 'The server does not answer.', hint }),
  'server.answer-invalid': ({ status }) => ({ message: `The server answered with ${status}.`, hint }),
}
