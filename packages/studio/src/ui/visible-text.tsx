/**
 * Text that a model, a tool or a person wrote: everything in it visible, by the one rule of `core/visible.ts`, with its
 * escapes marked.
 *
 * Holds: text only, never markup. What merely looks like an escape, because somebody wrote a backslash, is not marked.
 */
import { useMemo, type ReactNode } from 'react'
import { visible } from '@reeve/core/visible'

/** A piece of shown text; `code`: it is an escape, of this code point. */
export interface VisiblePiece {
  readonly text: string
  readonly code?: number
}

/** A line as pieces. Pure. */
export function visiblePieces(line: string): readonly VisiblePiece[] {
  const shown = visible(line)
  if (shown === line) return [{ text: shown }]
  const pieces: VisiblePiece[] = []
  let [plain, at] = ['', 0]
  for (let i = 0; i < line.length; i += 1) {
    // a backslash is shown as it is: another character in whose place one stands was escaped
    if (shown[at] !== '\\' || line[i] === '\\') {
      plain += shown[at] ?? ''
      at += 1
      continue
    }
    const code = line.codePointAt(i)!
    const units = code > 0xff_ff ? 2 : 1
    const length = shown[at + 1] === 'u' ? 6 * units : 2
    if (plain !== '') pieces.push({ text: plain })
    pieces.push({ text: shown.slice(at, at + length), code })
    plain = ''
    at += length
    i += units - 1
  }
  if (plain !== '') pieces.push({ text: plain })
  return pieces
}

const names: Readonly<Record<number, string>> = {
  0x00: 'null',
  0x07: 'bell',
  0x08: 'backspace',
  0x09: 'tab',
  0x0a: 'line feed',
  0x0d: 'carriage return',
  0x1b: 'escape: begins a command to a terminal',
  0x7f: 'delete',
  0xa0: 'no-break space',
  0xad: 'soft hyphen',
  0x200b: 'zero width space',
  0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of a direction',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override: shows what follows backwards',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of an isolate',
  0xfeff: 'zero width no-break space',
}

/** What a code point is, in words. Pure. */
export function codePointText(code: number): string {
  const char = String.fromCodePoint(code)
  const what =
    names[code] ??
    (/\p{Cc}/u.test(char)
      ? 'control character'
      : /\p{Cf}|\p{Default_Ignorable_Code_Point}/u.test(char)
        ? 'invisible character'
        : /\p{Script=Cyrillic}/u.test(char)
          ? `Cyrillic ${char}, looks like a Latin letter`
          : /\p{Script=Greek}/u.test(char)
            ? `Greek ${char}, looks like a Latin letter`
            : /\p{M}/u.test(char)
              ? 'mark that is drawn over other characters'
              : /\p{Z}/u.test(char)
                ? 'unusual space'
                : /\p{L}|\p{N}|\p{S}|\p{P}/u.test(char)
                  ? `${char}, may pass for another character`
                  : 'character without a meaning of its own')
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}: ${what}`
}

/** The same for JSON text, in which control characters are escaped already: those are marked, too. Pure. */
function jsonPieces(text: string): readonly VisiblePiece[] {
  return visiblePieces(text).flatMap((piece): readonly VisiblePiece[] =>
    piece.code !== undefined
      ? [piece]
      : piece.text
          // a backslash that is escaped itself begins nothing
          .split(/((?<=(?:^|[^\\])(?:\\\\)*)\\u[0-9a-f]{4})/)
          .filter((part) => part !== '')
          .map((part) =>
            /^\\u[0-9a-f]{4}$/.test(part) ? { text: part, code: Number(`0x${part.slice(2)}`) } : { text: part },
          ),
  )
}

/** A character in whose place its escape is shown. */
export function Escape({ code, text }: { readonly code: number; readonly text: string }) {
  return (
    <mark className="escape" title={codePointText(code)}>
      {text}
    </mark>
  )
}

function Pieces({ line, json }: { readonly line: string; readonly json: boolean }): ReactNode {
  return (json ? jsonPieces(line) : visiblePieces(line)).map(({ text, code }, i) =>
    code === undefined ? text : <Escape key={i} code={code} text={text} />,
  )
}

/** `lines`: line breaks break lines; otherwise they are shown as escapes. `json`: it is JSON text. */
export function VisibleText(props: { readonly children: string; readonly lines?: boolean; readonly json?: boolean }) {
  const { children, lines = false, json = false } = props
  const parts = useMemo(() => (lines ? children.split('\n') : [children]), [children, lines])
  return (
    <bdi className={lines ? 'text' : undefined}>
      {parts.map((line, i) => (
        // lines have no identity but their number
        // oxlint-disable-next-line react/no-array-index-key
        <span key={i}>
          {i > 0 && '\n'}
          <Pieces line={line} json={json} />
        </span>
      ))}
    </bdi>
  )
}
