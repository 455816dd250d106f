/**
 * Read large result: the tool with which a model reads what is kept by reference: parts of it, where a text occurs in it,
 * how many characters and lines it has.
 *
 * Owns: its schema and texts, when it is offered, searching. Does not own: keeping and reading (engine/contents.ts), what
 * is kept (result-bound.ts).
 * Holds: it is offered from the turn on in which the conversation first holds a reference, as the last tool, and then
 * stays: a conversation without one costs nothing. What it answers is within the limit itself, and is recorded. A search
 * holds no more than a few pieces at a time, and leaves the event loop its turn.
 */
import {
  charactersWithin,
  failure,
  FailureError,
  formatToolResult,
  headOf,
  isContentName,
  isObject,
  messageOf,
  nextSlice,
  readTool,
  visibleLine,
  type ContentRef,
  type JsonObject,
} from '@reeve/core'
import type { Context, StepIO } from '@reeve/engine'
import type { ToolCall, ToolSpec } from '@reeve/model'
import type { CallResult } from '../conversation/call-result.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import type { Binding, Toolbox } from './binding.ts'
import { invalidInput } from './refusal.ts'

/** Places of a text that are shown, by default and at most. */
const [placesShown, placesMost] = [10, 50]
/** Characters that are shown before and after a place. */
const around = 80
/** The longest text that is looked for. Characters. */
const longestSearch = 500
/** Tokens that are left for what an answer says of itself. */
const noteTokens = 60

const spec: ToolSpec = {
  name: readTool,
  description:
    'Reads a result that was too large to show, by its name (result-…). Without find: the part from a character on. With find: how often a text occurs, and where. With count: how many characters and lines it has.',
  parameters: {
    type: 'object',
    properties: {
      result: { type: 'string', description: 'The name: result-…' },
      from: { type: ['integer', 'null'], minimum: 0, description: 'The character to begin at. Default 0.' },
      length: { type: ['integer', 'null'], minimum: 1, description: 'How many characters. Default: as many as fit.' },
      find: { type: ['string', 'null'], description: 'A text to look for, in any case of its letters.' },
      limit: {
        type: ['integer', 'null'],
        minimum: 1,
        description: `How many places to show. Default ${placesShown}, at most ${placesMost}.`,
      },
      count: { type: ['boolean', 'null'], description: 'Only count characters and lines.' },
    },
    required: ['result'],
    additionalProperties: false,
  },
}

/** What is asked of a content. */
interface ContentQuestion {
  readonly name: string
  readonly from: number
  readonly length: number
  readonly find: string | undefined
  readonly limit: number
  readonly count: boolean
}

/** The toolbox with this tool, once the conversation holds a reference. `toolsMost`: how many tools the model takes. */
export function readingToolbox(inner: Toolbox, state: ConversationState, toolsMost = Infinity): Toolbox {
  const most = state.edge.bounds.limits?.resultTokens
  // a run from before there was a limit has no references
  return most === undefined ? inner : new ReadingToolbox(inner, state, toolsMost, most)
}

/** A class: one is made for each activation, and an object literal with a getter gets a hidden class of its own each time. */
class ReadingToolbox implements Toolbox {
  readonly #inner: Toolbox
  readonly #state: ConversationState
  readonly #toolsMost: number
  readonly #most: number
  #binding: ReadLargeResult | undefined
  #known: readonly ToolSpec[] | undefined
  #specs: readonly ToolSpec[] = []
  /** Where it stands: at the end when it came, and then there, so that the list only grows at its end. */
  #place: number | undefined

  constructor(inner: Toolbox, state: ConversationState, toolsMost: number, most: number) {
    this.#inner = inner
    this.#state = state
    this.#toolsMost = toolsMost
    this.#most = most
  }

  get specs(): readonly ToolSpec[] {
    const { specs } = this.#inner
    if (!this.#state.hasReference || specs.length >= this.#toolsMost || this.#inner.find(readTool) !== undefined)
      return specs
    if (specs !== this.#known) {
      this.#known = specs
      this.#place ??= specs.length
      this.#specs = [...specs.slice(0, this.#place), spec, ...specs.slice(this.#place)]
    }
    return this.#specs
  }

  find(name: string): Binding | undefined {
    const found = this.#inner.find(name)
    if (found !== undefined || name !== readTool || !this.#state.hasReference) return found
    return (this.#binding ??= new ReadLargeResult(this.#most))
  }
}

class ReadLargeResult implements Binding {
  readonly verb = true
  readonly spec = spec
  readonly #tokens: number

  constructor(most: number) {
    this.#tokens = Math.max(most - noteTokens, Math.floor(most / 2))
  }

  async run(ctx: Context, call: ToolCall): Promise<CallResult> {
    const reading = readingOf(isObject(call.input) ? call.input : {})
    if (typeof reading === 'string') return invalidInput(ctx, call, reading)
    const step = ctx.begin(readTool, (io) => this.#read(io, reading), {
      effect: 'read',
      as: { type: 'tool.called', tool: readTool, callId: call.id },
    })
    const { outcome } = await ctx.next(step)
    return formatToolResult(readTool, outcome)
  }

  async #read({ contents }: StepIO, reading: ContentQuestion): Promise<string> {
    const { name, find, count } = reading
    const ref = await contents.find(name).catch((thrown: unknown) => refuseReading(name, messageOf(thrown)))
    if (ref === undefined)
      return refuseReading(name, 'there is no such result in this run; results of other runs cannot be read')
    if (find !== undefined) return this.#found(await search(contents.pieces(name), reading), ref, find)
    if (!count) return this.#part(await contents.slice(name, ...within(reading, this.#tokens)), ref, reading)
    const { lines } = await search(contents.pieces(name), reading)
    return `[${name}: ${ref.size} characters, ${lines} lines]`
  }

  #part(part: string, { $content: name, size }: ContentRef, { from }: ContentQuestion): string {
    if (from >= size && size > 0) return refuseReading(name, `it has only ${size} characters`)
    const shown = charactersWithin(part, this.#tokens)
    // never half a character
    const text =
      /[\uD800-\uDBFF]$/.test(part.slice(0, shown)) && shown > 1 ? part.slice(0, shown - 1) : part.slice(0, shown)
    const to = from + text.length
    return `${text}\n[characters ${from} to ${to} of ${size} of ${name}${to < size ? `; go on from ${to}` : ''}]`
  }

  #found({ lines, matches, places }: SearchedContent, { $content: name, size }: ContentRef, find: string): string {
    const shown: string[] = []
    let left = this.#tokens
    for (const { at, line, text } of places) {
      const row = `- character ${at}, line ${line}: ${visibleLine(text)}`
      const fits = headOf(row, left)
      if (fits.length < row.length) break
      shown.push(row)
      left -= row.length
      if (left <= 0) break
    }
    const last = places[shown.length - 1]
    const more = matches > shown.length && last !== undefined ? `; find more from ${last.at + 1}` : ''
    const open = `[${JSON.stringify(find)} occurs ${matches} times in ${name} (${size} characters, ${lines} lines); ${shown.length} shown${more}]`
    return [open, ...shown].join('\n')
  }
}

/** How much to read: a little more than is shown, which is cut by its tokens. */
const within = ({ from, length }: ContentQuestion, tokens: number): [from: number, to: number] => [
  from,
  from + Math.min(length, 4 * tokens),
]

function refuseReading(name: string, why: string): never {
  throw new FailureError(failure('tool.failed', `${name} cannot be read: ${why}`, 'validation'))
}

/** What is asked for; a text is the problem with it. Models write null for what they leave out, and numbers as texts. */
function readingOf(input: JsonObject): ContentQuestion | string {
  const { result, find } = input
  const name = typeof result === 'string' ? result.trim().replace(/^\[?(.*?)[\]:]?$/, '$1') : ''
  if (!isContentName(name)) return '"result" must be the name of a result, as it was shown: result-…'
  const from = Number(input['from'] ?? 0)
  if (!Number.isInteger(from) || from < 0) return '"from" must be a whole number of at least 0'
  const length = Number(input['length'] ?? Infinity)
  if (!(length >= 1)) return '"length" must be a whole number of at least 1'
  const limit = Number(input['limit'] ?? placesShown)
  if (!Number.isInteger(limit) || limit < 1) return '"limit" must be a whole number of at least 1'
  if (find !== undefined && find !== null && typeof find !== 'string') return '"find" must be a text'
  if (typeof find === 'string' && find.length > longestSearch)
    return `"find" must have at most ${longestSearch} characters`
  const sought = typeof find === 'string' && find !== '' ? find : undefined
  const count = input['count'] === true && sought === undefined
  return { name, from, length: Math.floor(length), find: sought, limit: Math.min(limit, placesMost), count }
}

interface FoundPlace {
  readonly at: number
  /** From 1. */
  readonly line: number
  readonly text: string
}

interface SearchedContent {
  readonly lines: number
  /** From `from` on. */
  readonly matches: number
  readonly places: readonly FoundPlace[]
}

/** Small letters. The one letter that would become two characters becomes one: places must stay what they are. */
const folded = (text: string): string => text.replaceAll('İ', 'i').toLowerCase()

/** Counts lines, and the places of a text from a character on; the first are returned with what stands around them. */
async function search(pieces: AsyncIterable<string>, { find, from, limit }: ContentQuestion): Promise<SearchedContent> {
  const sought = find === undefined ? '' : folded(find)
  const places: FoundPlace[] = []
  let [matches, lines, size] = [0, 1, 0]
  /** The end of what was read before: a place may begin there. */
  let kept = ''
  for await (const piece of pieces) {
    const text = kept + piece
    const start = size - kept.length
    if (sought !== '') {
      const small = folded(text)
      // one that ends before this piece was counted before
      const least = Math.max(0, kept.length - sought.length + 1, from - start)
      for (let at = small.indexOf(sought, least); at !== -1; at = small.indexOf(sought, at + sought.length)) {
        matches++
        if (places.length === limit) continue
        const line = lines + linesIn(text, kept.length, at)
        const shown = text.slice(Math.max(0, at - around), at + sought.length + around)
        places.push({ at: start + at, line, text: shown })
      }
    }
    lines += linesIn(piece, 0, piece.length)
    size += piece.length
    kept = text.slice(-(sought.length + around))
    await nextSlice()
  }
  return { lines, matches, places }
}

/** Line breaks between two places; below zero where the second is before the first. */
function linesIn(text: string, from: number, to: number): number {
  if (to < from) return -linesIn(text, to, from)
  let count = 0
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
