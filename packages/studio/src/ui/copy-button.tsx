/** Copies a text, as it is, not as it is shown. */
import { useState } from 'react'
import { IconButton } from './button.tsx'

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <IconButton
      small
      icon={copied ? 'check' : 'copy'}
      label={copied ? `Copied ${what}` : `Copy ${what}`}
      onClick={() => void copy().catch(() => setCopied(false))}
    />
  )
}
