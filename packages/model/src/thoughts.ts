/**
 * Thoughts in the text: what models on one's own server write between tags before they answer, where no reasoning parser
 * takes it out.
 *
 * Owns: the tags, where they count, taking them out of a text and of a stream. Does not own: where the thoughts go
 * (answer.ts), that they are not sent again (prompt.ts).
 * Holds: tags count at the beginning of an answer only. A tag that is explained, quoted or in a fence is text.
 */

/**
 * The tags, as the chat templates of these models have them: `think` (DeepSeek R1, Qwen 3, https://qwen.readthedocs.io),
 * `[THINK]` (Magistral), `◁think▷` (Kimi); the others are what models are asked for in prompts.
 */
const tags: readonly (readonly [open: string, close: string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['[think]', '[/think]'],
  ['◁think▷', '◁/think▷'],
]

/** Those whose templates write the first tag themselves: the answer has only the second one. */
const orphans: readonly string[] = ['</think>', '</thinking>', '[/think]', '◁/think▷']

/** Letters of ASCII only: others would change the length. */
const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** A piece of a text: what is meant to be read, or a thought. */
export interface TextPiece {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

/** Divides the text of one answer as it comes. What may be the beginning of a tag is kept back until it is clear. */
export class ThoughtSplitter {
  /** `before`: nothing but white space and thoughts so far. */
  #state: 'before' | 'within' | 'text' = 'before'
  #close = ''
  #kept = ''
  /** White space after a thought is not of the answer. */
  #follows = false

  /** The pieces that are clear now. */
  take(delta: string): readonly TextPiece[] {
    if (this.#state === 'text') return [{ type: 'text', text: delta }]
    this.#kept += delta
    const pieces: TextPiece[] = []
    for (let more = true; more;) more = this.#step(pieces)
    return pieces
  }

  /** What was kept back. */
  rest(): readonly TextPiece[] {
    const text = this.#follows && this.#state === 'before' ? this.#kept.trimStart() : this.#kept
    this.#kept = ''
    return text === '' ? [] : [{ type: this.#state === 'within' ? 'reasoning' : 'text', text }]
  }

  /** Whether another step may follow. */
  #step(pieces: TextPiece[]): boolean {
    if (this.#state === 'within') return this.#within(pieces)
    const text = this.#kept
    const begin = lower(text.trimStart())
    const tag = tags.find(([open]) => begin.startsWith(open))
    if (tag !== undefined) {
      this.#state = 'within'
      this.#close = tag[1]
      this.#kept = text.trimStart().slice(tag[0].length)
      return true
    }
    if (tags.some(([open]) => open.startsWith(begin))) return false
    this.#state = 'text'
    this.#kept = ''
    pieces.push({ type: 'text', text: this.#follows ? text.trimStart() : text })
    return false
  }

  #within(pieces: TextPiece[]): boolean {
    const text = this.#kept
    const end = lower(text).indexOf(this.#close)
    const upTo = end >= 0 ? end : text.length - begunAtEnd(text, this.#close)
    if (upTo > 0) pieces.push({ type: 'reasoning', text: text.slice(0, upTo) })
    this.#kept = end >= 0 ? text.slice(end + this.#close.length) : text.slice(upTo)
    if (end < 0) return false
    this.#state = 'before'
    this.#follows = true
    return this.#kept !== ''
  }
}

/** How many characters at the end of a text may be the beginning of a tag. */
function begunAtEnd(text: string, tag: string): number {
  const end = lower(text.slice(-tag.length))
  for (let length = Math.min(end.length, tag.length - 1); length > 0; length--)
    if (end.endsWith(tag.slice(0, length))) return length
  return 0
}

/**
 * A text whose thoughts end with a tag that no other began; undefined if it has none. A tag in a fence, between
 * backticks, in JSON or in quotation marks is text.
 */
export function orphanThoughts(text: string): { readonly thoughts: string; readonly text: string } | undefined {
  const small = lower(text)
  const found = orphans
    .map((tag) => ({ tag, at: small.indexOf(tag) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)[0]
  if (found === undefined) return undefined
  const { tag, at } = found
  const before = text.slice(0, at)
  const end = at + tag.length
  const open = tag.replace('/', '')
  const isQuoted =
    /^\s*[[{"]/.test(before) ||
    lower(before).includes(open) ||
    (before.match(/`/g)?.length ?? 0) % 2 === 1 ||
    /["'“‘«]$/.test(before) ||
    /^["'”’»]/.test(text.slice(end))
  return isQuoted ? undefined : { thoughts: before, text: text.slice(end).trimStart() }
}

/** The text of a whole answer without its thoughts. */
export function withoutThoughts(text: string): string {
  if (!/[<[◁]/.test(text)) return text
  const splitter = new ThoughtSplitter()
  const pieces = [...splitter.take(text), ...splitter.rest()]
  const said = pieces.reduce((all, piece) => (piece.type === 'text' ? all + piece.text : all), '')
  return orphanThoughts(said)?.text ?? said
}
