/**
 * Contents: texts that are too large for an entry, kept beside the journal, within one run and its child runs.
 *
 * Owns: how a text becomes pieces and a manifest, its name, reading it by the piece, redaction before the digest. Does
 * not own: where pieces lie (`StoreContents`, the stores), the form of a reference (core/content-ref.ts), what a model is
 * shown of it (agent/tool).
 * Holds: a piece and a manifest are named by their SHA-256, so the same text is kept once. The manifest is written last:
 * a name that is found has all of its pieces. Each call of the store, and each turn of the event loop, has one piece or a
 * few. Content is written before the step that names it ends, so it is durable no later than the entry with the name.
 */
import {
  contentName,
  delay,
  described,
  isContentName,
  type ContentRef,
  type ContentType,
  ReeveError,
  rootRun,
  type RunId,
  type Sha256,
  type Shape,
  Slices,
} from '@reeve/core'
import type { Contents } from './context.ts'
import type { StoreLog } from './store.ts'

/** So many characters are kept, and read, as one piece: at most. */
export const pieceLength = 262_144
/** So many pieces are written at once. */
const piecesAtOnce = 4
/** How long a store that fails is left alone before it is asked again. Milliseconds. */
const [soonest, latest] = [50, 2_000]

/** What is kept under the name of a content: of each piece, in order, its key and its characters. */
interface ContentManifest extends Pick<ContentRef, 'type' | 'size'> {
  readonly pieces: readonly (readonly [key: string, length: number])[]
}

/** What contents need of an engine. */
export interface ContentsHost {
  readonly store: Pick<StoreLog, 'contents' | 'errorOf' | 'name'>
  readonly sha256: Sha256
  /** Absent: nothing is taken out. */
  readonly redact?: (text: string, shape: Shape) => string
}

/** The contents of one run. `isStopped`: whoever keeps something has been told to stop, and waits for no store. */
export class RunContents implements Contents {
  readonly #host: ContentsHost
  readonly #run: RunId
  readonly #isStopped: () => boolean
  readonly #manifests = new Map<string, ContentManifest>()
  /** All that is done with them gives way: who reads a hundred parts, too. */
  readonly #slices = new Slices()
  /** The piece that was read last: who reads on in small steps reads it once. */
  #last: { readonly key: string; readonly text: string } | undefined

  constructor(host: ContentsHost, run: RunId, isStopped: () => boolean = () => true) {
    this.#host = host
    this.#run = rootRun(run)
    this.#isStopped = isStopped
  }

  async keep(text: string, type: ContentType): Promise<ContentRef> {
    mustBeText(text, type)
    const { store, sha256 } = this.#host
    const { contents } = store
    if (contents === undefined)
      throw new ReeveError('content.unsupported', `${store.name} keeps no contents beside its journals`, {
        hint: 'A store of your own: give it `contents` (StoreContents).',
      })
    const kept = this.#redacted(text, type)
    const manifest: ContentManifest & { pieces: [string, number][] } = { type, size: kept.length, pieces: [] }
    for (const piece of piecesOf(kept)) {
      manifest.pieces.push([sha256(JSON.stringify(piece)), piece.length])
      await this.#slices.giveWay()
    }
    const body = JSON.stringify(manifest)
    const name = contentName(sha256(body))
    const ref: ContentRef = { $content: name, type, size: kept.length }
    if (this.#manifests.has(name) || (await this.#asked(() => contents.piece(this.#run, name))) !== undefined)
      return ref
    let some = new Map<string, string>()
    const write = async (): Promise<void> => {
      const pieces = some
      some = new Map()
      if (pieces.size > 0) await this.#asked(() => contents.keep(this.#run, pieces))
      await this.#slices.giveWay()
    }
    let i = 0
    for (const piece of piecesOf(kept)) {
      some.set(manifest.pieces[i++]![0], JSON.stringify(piece))
      if (some.size === piecesAtOnce) await write()
    }
    await write()
    some.set(name, body)
    await write()
    this.#manifests.set(name, manifest)
    return ref
  }

  async find(name: string): Promise<ContentRef | undefined> {
    const manifest = await this.#manifest(name)
    return manifest && { $content: name, type: manifest.type, size: manifest.size }
  }

  async slice(name: string, from: number, to: number): Promise<string> {
    const { pieces } = await this.#known(name)
    let [text, begin] = ['', 0]
    for (const [key, length] of pieces) {
      const end = begin + length
      if (end > from && begin < to)
        text += (await this.#piece(name, key)).slice(Math.max(0, from - begin), Math.max(0, to - begin))
      begin = end
      if (begin >= to) break
      await this.#slices.giveWay()
    }
    return text
  }

  async *pieces(name: string): AsyncGenerator<string, undefined> {
    for (const [key] of (await this.#known(name)).pieces) {
      yield this.#piece(name, key)
      await this.#slices.giveWay()
    }
    return undefined
  }

  /** As an entry of the journal with this text, or this value, would be. */
  #redacted(text: string, type: ContentType): string {
    const { redact } = this.#host
    if (redact === undefined) return text
    if (type === 'json')
      try {
        return redact(text, 'payload')
      } catch (thrown) {
        // it is no JSON after all: a text like any other
        if (!(thrown instanceof SyntaxError)) throw thrown
      }
    return JSON.parse(redact(JSON.stringify(text), 'text')) as string
  }

  /** Asks the store. Where it fails for a while, again and again: the end of the step could not be recorded either. */
  async #asked<T>(ask: () => T | PromiseLike<T>): Promise<T> {
    for (let wait = soonest; ; wait = Math.min(latest, wait * 2))
      try {
        return await ask()
      } catch (thrown) {
        const error = this.#host.store.errorOf(thrown)
        if (!error.retryable || this.#isStopped()) throw error
        await delay(wait)
      }
  }

  async #manifest(name: string): Promise<ContentManifest | undefined> {
    const known = this.#manifests.get(name)
    const { contents } = this.#host.store
    if (known !== undefined || contents === undefined || !isContentName(name)) return known
    const body = await this.#asked(() => contents.piece(this.#run, name))
    if (body === undefined) return undefined
    const read = JSON.parse(body) as ContentManifest
    this.#manifests.set(name, read)
    return read
  }

  async #known(name: string): Promise<ContentManifest> {
    const manifest = await this.#manifest(name)
    if (manifest === undefined) throw unknownContent(this.#run, name)
    return manifest
  }

  async #piece(name: string, key: string): Promise<string> {
    if (this.#last?.key === key) return this.#last.text
    const body = await this.#asked(() => this.#host.store.contents?.piece(this.#run, key))
    // the run was removed in the meantime
    if (body === undefined) throw unknownContent(this.#run, name)
    const text = JSON.parse(body) as string
    this.#last = { key, text }
    return text
  }
}

/** Throws for what is no text, which would be kept as nothing, and for a type that nobody reads. */
function mustBeText(text: unknown, type: unknown): void {
  const problem =
    typeof text !== 'string'
      ? `the text is ${described(text)}, expected a text`
      : type !== 'text' && type !== 'json'
        ? `the type is ${described(type)}, expected "text" or "json"`
        : undefined
  if (problem !== undefined)
    throw new ReeveError('input.invalid', `contents.keep(): ${problem}`, {
      hint: "Keep a value as its text of JSON, of the type 'json', and bytes as a text of yours, such as base64.",
    })
}

/** The error for a name that a run does not have: of another run's content it says the same. */
export const unknownContent = (run: RunId, name: string): ReeveError =>
  new ReeveError(
    'content.unknown',
    `the run ${run} has no content ${isContentName(name) ? `"${name}"` : 'of that name'}`,
    {
      hint: 'Take the name from a result of this run: result- and 32 digits. Content is read in the run that kept it, in its child runs and in its forks.',
    },
  )

/** The pieces of a text, in order: as long as may be, and none ends between the two halves of a character. */
function* piecesOf(text: string): Generator<string, undefined> {
  for (let from = 0; from < text.length;) {
    const end = from + pieceLength
    const last = text.charCodeAt(end - 1)
    const isHalf = end < text.length && last >= 0xd800 && last < 0xdc00
    const to = isHalf ? end - 1 : end
    yield text.slice(from, to)
    from = to
  }
  return undefined
}

const nameInText = /result-[0-9a-f]{32}/g

/** The keys under which a run keeps what these texts name: of each name that it has, the manifest and its pieces. */
export async function keysOfNamed(
  store: Pick<StoreLog, 'contents' | 'errorOf'>,
  run: RunId,
  texts: Iterable<string>,
): Promise<readonly string[]> {
  const { contents } = store
  if (contents === undefined) return []
  const slices = new Slices()
  const names = new Set<string>()
  for (const text of texts) {
    for (const [name] of text.matchAll(nameInText)) names.add(name)
    await slices.giveWay()
  }
  const keys = new Set<string>()
  for (const name of names) {
    const body = await contents.piece(rootRun(run), name)
    if (body === undefined) continue
    keys.add(name)
    for (const [key] of (JSON.parse(body) as ContentManifest).pieces) keys.add(key)
  }
  return [...keys]
}
