/**
 * Value steps: the names of the steps by which a context reads and writes values of sessions and streams. Persistent.
 *
 * Owns: how these names begin, and the only reading of them. Does not own: the steps (scope.ts). Pure.
 * No field of an event says what the step was for: the name decides.
 */

/** What the names of the steps on the session's values begin with, or of those on a stream. */
export const valueStep = (stream?: string): string => (stream === undefined ? 'value' : `stream.${stream}`)

/** Whether the step at this address reads or writes values. Such a step changes nothing outside. */
export const isValueStep = (address: string): boolean =>
  /^(?:value|stream)\./.test(address.slice(address.lastIndexOf('/') + 1))

/** Whether that step is on the values of the run, or of its session, and not on a stream that outlives it. */
export const isOwnValueStep = (address: string): boolean =>
  address.slice(address.lastIndexOf('/') + 1).startsWith(`${valueStep()}.`)

/** The names of the steps that read what was done before, with its moments. */
export const lookSteps = { done: 'work.done', earlier: 'work.earlier' } as const

/** Whether the step at this address reads what was done before. */
export const isLookStep = (address: string): boolean => /(?:^|\/)work\.(?:done|earlier)(?:#\d+)?$/.test(address)
