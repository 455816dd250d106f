/** Toasts: what has just happened, spoken politely and gone after some seconds. Errors stay until they are closed. */
import { createContext, useCallback, useContext, useState, type ReactNode } from 'react'
import { IconButton } from './button.tsx'
import { Icon } from './icon.tsx'
import { sentences } from './states.tsx'

interface Toast {
  readonly id: number
  readonly tone: 'ok' | 'bad' | 'info'
  readonly text: ReactNode
}

export interface Toaster {
  /** Something was done. */
  readonly done: (text: ReactNode) => void
  /** Something happened elsewhere. */
  readonly note: (text: ReactNode) => void
  /** Something failed. */
  readonly failed: (error: unknown) => void
}

const ToastContext = createContext<Toaster>({ done: () => {}, note: () => {}, failed: () => {} })

export const useToast = (): Toaster => useContext(ToastContext)

const shownMs = 6_000
let last = 0

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const close = useCallback((id: number) => setToasts((all) => all.filter((each) => each.id !== id)), [])
  const [toaster] = useState<Toaster>(() => {
    const show = (tone: Toast['tone'], text: ReactNode): void => {
      const id = ++last
      setToasts((all) => [...all.slice(-3), { id, tone, text }])
      if (tone !== 'bad') setTimeout(() => close(id), shownMs)
    }
    return {
      done: (text) => show('ok', text),
      note: (text) => show('info', text),
      failed: (error) => {
        const { message, hint } = sentences(error)
        show(
          'bad',
          <>
            {message}
            {hint !== undefined && <span className="muted"> {hint}</span>}
          </>,
        )
      },
    }
  })
  return (
    <ToastContext value={toaster}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, tone, text }) => (
          <div key={id} className={`notice toast ${tone}`}>
            <Icon name={tone === 'ok' ? 'check' : tone === 'bad' ? 'warn' : 'clock'} />
            <div className="grow">{text}</div>
            <IconButton small icon="cross" label="Dismiss" onClick={() => close(id)} />
          </div>
        ))}
      </div>
    </ToastContext>
  )
}
