/** An amount of which parts may not be known: at least so much, and why. */
import type { PartlyKnown } from './figures.ts'

export function Amount({
  of,
  brief = false,
}: {
  readonly of: PartlyKnown
  /** The note is a tooltip. */ readonly brief?: boolean
}) {
  const { text, note } = of
  if (note === undefined) return <>{text}</>
  return (
    <span title={note}>
      {text}
      <span className={brief ? 'sr-only' : 'part'}> {note}</span>
    </span>
  )
}
