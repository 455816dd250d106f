/**
 * A text that somebody wrote, of any length: its beginning, opened in place; of a model as Markdown, or as it was written.
 *
 * Owns: how much is drawn, which of the two forms. Does not own: the forms (markdown.tsx, visible-text.tsx).
 */
import { useState } from 'react'
import { beginning as beginningOf } from '@reeve/core/visible'
import { countText } from './amounts.tsx'
import { Button } from './button.tsx'
import { Markdown, useMarkdown } from './markdown.tsx'
import { VisibleText } from './visible-text.tsx'

/** What is drawn at first: so many lines and characters; where it stands before something else, fewer. */
const first = { lines: 40, characters: 4_000 }
const brief = { lines: 10, characters: 900 }
/** Then so many characters more at each press. */
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
  return text.length - end < leastRest ? text : beginningOf(text, end)
}

/** `markdown`: its author writes Markdown; the level of its first headings. `isBrief`: less of it is drawn at first. */
export function TextBlock(props: {
  readonly text: string
  readonly markdown?: 2 | 3 | 4
  readonly isBrief?: boolean
  /** Reads the rest of a text of which only the beginning is given. */
  readonly onWhole?: () => void
}) {
  const { text, markdown, isBrief = false, onWhole } = props
  const beginning = isBrief ? brief : first
  const [most, setMost] = useState(0)
  const [isRaw, setRaw] = useState(false)
  const part = most === 0 ? partOf(text, beginning.characters, beginning.lines) : partOf(text, most, Infinity)
  const blocks = useMarkdown(markdown === undefined ? undefined : part)
  const left = text.length - part.length
  return (
    <div className="text-block">
      {blocks === undefined || isRaw ? (
        <VisibleText lines>{part}</VisibleText>
      ) : (
        <Markdown blocks={blocks} level={markdown ?? 4} />
      )}
      {(left > 0 || most > 0 || onWhole !== undefined || blocks !== undefined) && (
        <div className="row wrap text-block-foot">
          {(left > 0 || onWhole !== undefined) && (
            <Button
              small
              onClick={() => {
                onWhole?.()
                setMost(part.length + moreCharacters)
              }}
            >
              {onWhole !== undefined
                ? 'Show all'
                : `${left <= moreCharacters ? 'Show all' : 'Show more'} (${countText(left)} more characters)`}
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
