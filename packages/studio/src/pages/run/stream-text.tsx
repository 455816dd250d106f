/** Text that a model streams: its last lines, each drawn once; only the line that grows is drawn again. */
import { memo, useSyncExternalStore } from 'react'
import { VisibleText } from '../../ui/visible-text.tsx'
import type { LiveText } from './live-text.ts'
import { useRun } from './run-context.tsx'

const shownLines = 300

/** The streamed texts of an activation, drawn again for each frame in which they grow. */
export function useLiveTexts(activation: string): readonly LiveText[] {
  const { store } = useRun()
  useSyncExternalStore(store.subscribeTexts, store.version)
  return store.texts.of(activation)
}

const Line = memo(function Line({ text }: { readonly text: string }) {
  return (
    <div className="run-stream-line">
      <VisibleText>{text}</VisibleText>
    </div>
  )
})

export function StreamText({ text, hasEnded = false }: { readonly text: LiveText; readonly hasEnded?: boolean }) {
  const from = Math.max(0, text.lines.length - shownLines)
  return (
    <div className={`run-stream ${text.kind}`}>
      {text.missed && <p className="muted">Some of it was missed; the whole text follows when the call has ended.</p>}
      {from > 0 && <p className="muted">{from} lines before; the whole text follows when the call has ended.</p>}
      {text.lines.slice(from).map((line, i) => (
        <Line key={from + i} text={line} />
      ))}
      <div className="run-stream-line">
        <VisibleText>{text.last}</VisibleText>
        {!hasEnded && <span className="run-caret" aria-hidden="true" />}
      </div>
    </div>
  )
}
