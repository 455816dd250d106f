/**
 * Files: what a model made besides text, from a provider's form to ours.
 *
 * Owns: the forms a payload may have (base64, bytes, a URL, tagged or not), what is not a file of the answer (no
 * payload, a thought), the check of a function's files.
 * Does not own: where in the answer they stand (answer.ts), how they are shown to a model again (prompt.ts).
 */
import { base64Of, base64Problem, fileSource, isObject, type FilePart, type JsonObject } from '@reeve/core'
import { jsonObject } from './messages.ts'
import type { SpecPart } from './spec.ts'

type Payload = { readonly data: string } | { readonly url: string }

/** A provider's file as ours; undefined if it has no payload, or belongs to the model's thoughts. */
export function fileOf(part: SpecPart): FilePart | undefined {
  const { mediaType, filename } = part
  const payload = payloadOf(part.data)
  const metadata = jsonObject(part.providerMetadata)
  if (payload === undefined || isThought(metadata)) return undefined
  return {
    type: 'file',
    mediaType: typeof mediaType === 'string' && mediaType !== '' ? mediaType : 'application/octet-stream',
    ...(typeof filename === 'string' && { filename }),
    ...payload,
    ...(metadata !== undefined && { metadata }),
  }
}

/** v4 tags what it gives, v2 and v3 do not. */
function payloadOf(given: unknown): Payload | undefined {
  if (!isObject(given)) return dataOf(given)
  return given.type === 'url' ? urlOf(given.url) : given.type === 'data' ? dataOf(given.data) : undefined
}

/** A text that is no base64 is no payload: sent back to a provider, it could be taken for an address. */
function dataOf(data: unknown): Payload | undefined {
  const text = data instanceof Uint8Array ? base64Of(data) : data
  return typeof text === 'string' && base64Problem(text) === undefined ? { data: text } : undefined
}

/** What a model names is sent back to a provider, which fetches it: no address of a private network. */
function urlOf(given: unknown): Payload | undefined {
  const url = given instanceof URL ? given.href : given
  const source = typeof url === 'string' ? fileSource(url) : undefined
  return source === undefined || 'problem' in source ? undefined : 'url' in source ? source : { data: source.data }
}

/** v4 has a type of its own for the files of thoughts. Before it, Google's package marked them so. */
const isThought = (metadata: JsonObject | undefined): boolean =>
  Object.values(metadata ?? {}).some((own) => isObject(own) && own.thought === true)

/** Says what is wrong with the files that a model function returned; undefined if nothing is. */
export function filesProblem(files: unknown): string | undefined {
  if (files === undefined) return undefined
  if (!Array.isArray(files)) return 'answer.files is not a list'
  for (let i = 0; i < files.length; i++) {
    const problem = fileProblem(files[i])
    if (problem !== undefined) return `answer.files[${i}] ${problem}`
  }
  return undefined
}

function fileProblem(file: unknown): string | undefined {
  if (!isObject(file) || file.type !== 'file') return 'is not an object of type "file"'
  if (typeof file.mediaType !== 'string' || file.mediaType === '') return 'has no mediaType'
  if (file.filename !== undefined && typeof file.filename !== 'string') return 'has a filename that is not a text'
  if (file.metadata !== undefined && !isObject(file.metadata)) return 'has metadata that is not an object'
  if ('url' in file) {
    const source = typeof file.url === 'string' ? fileSource(file.url) : { problem: 'is not a text' }
    return 'problem' in source ? `has a url that ${source.problem}` : undefined
  }
  if (typeof file.data !== 'string') return 'has neither data nor a url'
  // of an empty one nothing is shown
  const problem = file.data === '' ? undefined : base64Problem(file.data)
  return problem === undefined ? undefined : `has data that ${problem}`
}
