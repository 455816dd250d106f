/**
 * A text that somebody wrote, of any length: its beginning, opened in place; of a model as Markdown, or as it was written.
 *
 * Owns: how much is drawn, which of the two forms. Does not own: the forms (markdown.tsx, visible-text.tsx).
 */
import { useState } from 'react'
import { beginning } from '@reeve/core/visible'
import { countText } from './amounts.tsx'
import { Button } from './button.tsx'
import { Markdown, useMarkdown } from './markdown.tsx'
import { VisibleText } from './visible-text.tsx'

/** What is drawn at first: so many lines and characters. Then so many characters more. */
const firstLines = 40
const firstCharacters = 4_000
const moreCharacters = 100_000
/** A rest that is shorter is not worth a press. */
const leastRest = 400

/** The beginning of a text: so many lines, or so many characters, to the end of a line where one is near. */
function partOf(text: string, most: number, lines: number): string {
  let end = 0
  for (let line = 0; line < lines && end < text.length; line += 1) {
    const next = text.indexOf('\n', end)
    const after = next < 0 ? text.length : next + 1
    if (after > most) {
      end = end > most / 2 ? end : most
      break
    }
    end = after
  }
  return text.length - end < leastRest ? text : beginning(text, end)
}

/** `markdown`: its author writes Markdown, with headings below this level. */
export function TextBlock({ text, markdown }: { readonly text: string; readonly markdown?: 2 | 3 | 4 }) {
  const [most, setMost] = useState(0)
  const [isRaw, setRaw] = useState(false)
  const part = most === 0 ? partOf(text, firstCharacters, firstLines) : partOf(text, most, Infinity)
  const blocks = useMarkdown(markdown === undefined ? undefined : part)
  const left = text.length - part.length
  return (
    <div className="text-block">
      {blocks === undefined || isRaw ? (
        <VisibleText lines>{part}</VisibleText>
      ) : (
        <Markdown blocks={blocks} level={markdown ?? 4} />
      )}
      {(left > 0 || most > 0 || blocks !== undefined) && (
        <div className="row wrap text-block-foot">
          {left > 0 && (
            <Button small onClick={() => setMost(part.length + moreCharacters)}>
              {left <= moreCharacters ? 'Show all' : 'Show more'} ({countText(left)} more characters)
            </Button>
          )}
          {most > 0 && (
            <Button small tone="quiet" onClick={() => setMost(0)}>
              Show less
            </Button>
          )}
          {blocks !== undefined && (
            <Button small tone="quiet" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
              {isRaw ? 'Formatted' : 'Raw text'}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}
