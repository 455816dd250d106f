/**
 * Request bodies: read up to a limit.
 *
 * Owns: how much is read, how deep it may nest. Does not own: what it must hold (the schemas of routes).
 * Holds: of a body that is too large no more is read than the limit, whatever it says of its length.
 */
import { readJson, ReeveError, type Json } from '../../core/index.ts'

/** How large a body may be. */
export interface BodyLimits {
  readonly bytes: number
  readonly depth: number
}

/**
 * The JSON of a request; undefined for an empty body. Throws `input.too-large`, `request.not-json` and `input.invalid`.
 */
export async function jsonBody(request: Request, limits: BodyLimits): Promise<Json | undefined> {
  const type = mediaType(request)
  const said = await textBody(request, limits.bytes)
  if (said === '' && type === undefined) return undefined
  if (type !== 'application/json')
    throw new ReeveError('request.not-json', 'the body is not declared as JSON', {
      hint: 'Send it with Content-Type: application/json. Nothing was done.',
    })
  if (said === '') return undefined
  const encoding = request.headers.get('Content-Encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new ReeveError('request.not-json', `the body is declared as ${JSON.stringify(encoding)}`, {
      hint: 'Send it without a Content-Encoding. Nothing was done.',
    })
  const read = readJson(said, { path: 'body' })
  if (!read.ok) throw invalid(read.none === true ? 'the body is not valid JSON' : read.problem)
  if (nestsDeeper(read.value, limits.depth)) throw invalid(`the body nests deeper than ${limits.depth} levels`)
  return read.value
}

/** The fields of a form. Throws `input.too-large` and `input.invalid`. */
export async function formBody(request: Request, bytes: number): Promise<ReadonlyMap<string, string>> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') throw invalid('the body is not a form')
  return new Map(new URLSearchParams(await textBody(request, bytes)))
}

const mediaType = (request: Request): string | undefined =>
  request.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase()

const invalid = (message: string): ReeveError => new ReeveError('input.invalid', message, { hint: 'Nothing was done.' })

async function textBody(request: Request, most: number): Promise<string> {
  if (Number(request.headers.get('Content-Length') ?? 0) > most) throw tooLarge(most)
  if (request.body === null) return ''
  const reader = (request.body as ReadableStream<Uint8Array>).getReader()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > most) {
      await reader.cancel().catch(() => {})
      throw tooLarge(most)
    }
    pieces.push(value)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces))
  } catch {
    throw invalid('the body is not UTF-8')
  }
}

const tooLarge = (most: number): ReeveError =>
  new ReeveError('input.too-large', `the body is larger than ${most} bytes`, {
    hint: 'Send less, or let the server take larger bodies. Nothing was done.',
  })

function nestsDeeper(value: Json, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most === 0 || Object.values(value).some((each: Json) => nestsDeeper(each, most - 1))
}
