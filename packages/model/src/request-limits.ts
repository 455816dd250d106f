/**
 * Request limits: the settings and files that a provider would refuse, said before anything is sent.
 *
 * Owns: the checks and their texts, ids of calls in the provider's form.
 * Does not own: the limits (provider-limits.ts), tools and output (wire-form.ts).
 */
import { failure, FailureError, RollingHash, typeOfData, type Failure, type FilePart } from '@reeve/core'
import type { ModelSettings, SettingLimits } from './model.ts'
import type { ProviderLimits } from './provider-limits.ts'

/** What a provider would refuse of these settings, one sentence each. */
export function settingProblems(
  settings: ModelSettings | undefined,
  { stops, blankStops = true, leastOutput = 1 }: SettingLimits,
  whose: string,
): readonly string[] {
  const { stop = [], maxOutputTokens, cache = false } = settings ?? {}
  if (!isTexts(stop)) return ['settings.stop: expected a list of texts']
  const problems: string[] = []
  // settings also come from files and over HTTP
  if (![true, false, '5m', '1h'].includes(cache))
    problems.push(`settings.cache: ${JSON.stringify(cache)}, expected true, false, "5m" or "1h"`)
  if (stops !== undefined && stop.length > stops)
    problems.push(
      stops === 0
        ? `settings.stop: ${whose} takes no stop sequences`
        : `settings.stop: ${stop.length} stop sequences, and ${whose} takes at most ${stops}`,
    )
  if (stop.includes('')) problems.push('settings.stop: a stop sequence is empty')
  else if (!blankStops && stop.some((each) => each.trim() === ''))
    problems.push(`settings.stop: ${whose} takes no stop sequence of white space alone`)
  if (maxOutputTokens !== undefined && maxOutputTokens < leastOutput)
    problems.push(
      `settings.maxOutputTokens: ${String(maxOutputTokens)} is too few; ${whose} takes at least ${leastOutput}`,
    )
  return problems
}

const isTexts = (given: unknown): given is readonly string[] =>
  Array.isArray(given) && given.every((each) => typeof each === 'string')

/** Throws a `FailureError` (`model.unsupported`) for settings that the provider would refuse. */
export function mustTakeSettings(settings: ModelSettings | undefined, limits: ProviderLimits, model: string): void {
  const [problem] = settingProblems(settings, limits, `"${model}"`)
  if (problem !== undefined) throw unsupported(problem, 'Change the settings of the agent, or use another model.')
}

/** The file as the provider takes it. Throws a `FailureError` (`model.unsupported`) for one that it would refuse. */
export function sendableFile(part: FilePart, { files }: Pick<ProviderLimits, 'files'>, model: string): FilePart {
  const mediaType = 'data' in part ? (pictureType(part) ?? part.mediaType) : part.mediaType
  const known = mediaType === part.mediaType ? part : { ...part, mediaType }
  if (files === undefined) return known
  if (isTaken(known, files) || ('data' in part && mediaType.endsWith('/*'))) return known
  const where = 'url' in part ? 'by its URL' : 'as data'
  throw unsupported(
    `"${model}" takes no file of the type ${JSON.stringify(mediaType)} ${where}`,
    'url' in part && files.data.test(mediaType)
      ? 'Give the bytes of the file instead of its URL.'
      : 'Convert the file to a type that the model reads, give its content as text, or use another model.',
    { mediaType },
  )
}

/**
 * Whether a file of a result may be sent: nothing of what a tool shows may end the run, so what is not known to be taken
 * is described instead.
 */
export const isTaken = (file: FilePart, types: ProviderLimits['files'], picture = Infinity): boolean =>
  types !== undefined &&
  ('url' in file
    ? types.url.test(file.mediaType)
    : types.data.test(file.mediaType) && (!file.mediaType.startsWith('image/') || file.data.length <= picture))

/** Nothing was sent, so nothing was used. */
const unsupported = (message: string, hint: string, details?: Failure['details']): FailureError =>
  new FailureError(
    failure('model.unsupported', message, 'validation', { hint, ...(details !== undefined && { details }) }),
    undefined,
    'nothing',
  )

/**
 * What a picture is by its first bytes; undefined if that is not known. Anthropic refuses a picture that is not of the
 * type that it is said to be: https://github.com/home-assistant/core/issues/167208.
 */
function pictureType({ mediaType, data }: Extract<FilePart, { readonly data: string }>): string | undefined {
  if (!mediaType.startsWith('image/')) return undefined
  const type = typeOfData(data)
  return type?.startsWith('image/') === true ? type : undefined
}

/** The id of a call as it is sent: the same on the call and on its result, and in every call of the model. */
export function sentCallId(id: string, { callId }: Pick<ProviderLimits, 'callId'>): string {
  if (callId === undefined ? id.length <= 64 : callId.test(id)) return id
  const hash = new RollingHash().add(id).toString()
  const made = `call_${hash}`
  return callId === undefined || callId.test(made) ? made : hash.slice(-9)
}
