/** A dialog: the browser's own, which keeps the focus inside, gives it back, and closes on Escape. */
import { useEffect, useId, useRef, type ReactNode } from 'react'
import { IconButton } from './button.tsx'

/** Shown while it is mounted. */
export function Dialog(props: {
  readonly title: ReactNode
  readonly onClose: () => void
  readonly wide?: boolean
  readonly footer?: ReactNode
  readonly children: ReactNode
}) {
  const { title, onClose, wide, footer, children } = props
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    if (element !== null && !element.open) element.showModal()
    const first =
      element?.querySelector<HTMLElement>('[data-autofocus]') ??
      element?.querySelector<HTMLElement>('.body :is(input:not([type=checkbox]), textarea, select)')
    first?.focus()
    return () => {
      element?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      className={`dialog${wide ? ' wide' : ''}`}
      aria-labelledby={id}
      ref={dialog}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton icon="cross" label="Close" onClick={onClose} />
      </header>
      <div className="body">{children}</div>
      {footer && <footer>{footer}</footer>}
    </dialog>
  )
}
