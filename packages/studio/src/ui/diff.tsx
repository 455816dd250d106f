/** Differences of texts and of values, line by line; what is equal is folded. */
import { useMemo, useState } from 'react'
import type { Json } from '../data/json.ts'
import { lineDiff, type DiffLine } from './line-diff.ts'
import { sortedJson } from './json-text.ts'
import { VisibleText } from './visible-text.tsx'

const context = 3

type Shown = DiffLine | { readonly kind: 'skip'; readonly from: number; readonly count: number }

/** Long stretches of equal lines are folded into one. */
function folded(lines: readonly DiffLine[], open: ReadonlySet<number>): readonly Shown[] {
  const near = new Set<number>()
  lines.forEach(({ kind }, i) => {
    if (kind !== 'same') for (let j = i - context; j <= i + context; j += 1) near.add(j)
  })
  const shown: Shown[] = []
  for (let i = 0; i < lines.length;) {
    let end = i
    while (end < lines.length && !near.has(end)) end += 1
    if (end - i > 1 && !open.has(i)) {
      shown.push({ kind: 'skip', from: i, count: end - i })
      i = end
    } else if (end > i) {
      shown.push(...lines.slice(i, end))
      i = end
    } else {
      shown.push(lines[i]!)
      i += 1
    }
  }
  return shown
}

const signs = { same: ' ', added: '+', removed: '−' } as const
const labels = { same: '', added: 'added: ', removed: 'removed: ' } as const

export function TextDiff({
  before,
  after,
  label,
}: {
  readonly before: string
  readonly after: string
  readonly label: string
}) {
  const lines = useMemo(() => lineDiff(before, after), [before, after])
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  if (before === after) return <p className="muted">No difference.</p>
  return (
    <div className="diff" role="region" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {folded(lines, open).map((line) =>
            line.kind === 'skip' ? (
              <tr key={`skip-${line.from}`} className="skip">
                <td colSpan={4}>
                  <button
                    type="button"
                    className="button quiet small"
                    onClick={() => setOpen((was) => new Set([...was, line.from]))}
                  >
                    Show {line.count} equal lines
                  </button>
                </td>
              </tr>
            ) : (
              <tr
                key={`${line.kind}-${'before' in line ? line.before : ''}-${'after' in line ? line.after : ''}`}
                className={line.kind}
              >
                <td className="no">{'before' in line ? line.before : ''}</td>
                <td className="no">{'after' in line ? line.after : ''}</td>
                <td className="sign">
                  <span aria-hidden="true">{signs[line.kind]}</span>
                  <span className="sr-only">{labels[line.kind]}</span>
                </td>
                <td>
                  <VisibleText>{line.text}</VisibleText>
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}

/** Two texts are compared as texts; other values as JSON with sorted keys. */
export function ValueDiff({
  before,
  after,
  label,
}: {
  readonly before: Json
  readonly after: Json
  readonly label: string
}) {
  const texts = typeof before === 'string' && typeof after === 'string'
  return (
    <TextDiff
      before={texts ? before : sortedJson(before, 2)}
      after={texts ? after : sortedJson(after, 2)}
      label={label}
    />
  )
}
