/** A value of an argument: short in a row of the list, whole where it is decided. */
import type { Json } from '../../data/json.ts'
import { sortedJson } from '../../ui/json-text.ts'
import { VisibleText } from '../../ui/visible-text.tsx'

const shortLength = 80

/** A text that could be read as another value, or whose ends cannot be seen, is shown in quotes. */
const needsQuotes = (text: string): boolean =>
  text === '' || text.trim() !== text || /^(?:-?\d|true$|false$|null$|["[{])/.test(text)

export function FieldValue({ value, short = false }: { readonly value: Json | undefined; readonly short?: boolean }) {
  if (value === undefined) return <span className="muted">not given</span>
  const isPlain = typeof value === 'string' && !needsQuotes(value)
  const text = isPlain ? value : sortedJson(value)
  const shown = short && text.length > shortLength ? `${text.slice(0, shortLength)}…` : text
  if (typeof value === 'number' || typeof value === 'boolean') return shown
  return isPlain ? (
    <VisibleText lines={!short}>{shown}</VisibleText>
  ) : (
    <span className="mono">
      <VisibleText json>{shown}</VisibleText>
    </span>
  )
}
