/**
 * Identifiers: branded strings with a visible prefix, so that one kind is never taken for another.
 *
 * Owns: the id types, how new ones are made, how an activation's id is derived from its place in the run.
 */
import { toBase64url } from './base64url.ts'
import { digest } from './hash.ts'
import { ReeveError } from './errors.ts'
import { described, hasNames } from './names.ts'

declare const brand: unique symbol
type Id<Kind extends string> = string & { readonly [brand]: Kind }

/** One execution of a root agent. Chosen by the caller (then start is idempotent) or made here: `run_…`. */
export type RunId = Id<'run'>
/**
 * One agent at work once inside a run: `act_<run id>` for the root, then `>` and the address of the operation that
 * started it; `>>` and that address if it is placed apart. Then it is the root of a child run, whose id is this one
 * without `act_`.
 */
export type ActivationId = Id<'activation'>
/** An operation inside an activation: its address (scope path, name, ordinal). */
export type OpId = Id<'operation'>
/** A yes/no question to the outside: `apr_…`. */
export type ApprovalId = Id<'approval'>
/** An approved action, for one use: `cap_…`. */
export type CapabilityId = Id<'capability'>
/** A request for a value from the outside: `int_…`. */
export type InterruptId = Id<'interrupt'>
/** A message from one activation to another: `msg_…`. */
export type MessageId = Id<'message'>
/** A conversation that several runs continue: `ses_…`. */
export type SessionId = Id<'session'>

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const pool = new Uint8Array(4096)
let taken = pool.length

/** A new random id with 80 random bits: unguessable enough for names, not a secret. */
export function newId(prefix: string): string {
  if (taken + 16 > pool.length) {
    crypto.getRandomValues(pool)
    taken = 0
  }
  let text = ''
  for (let i = 0; i < 16; i++) text += alphabet[pool[taken++]! & 31]
  return `${prefix}_${text}`
}

/** Random hexadecimal digits, an even number of them; never zeros alone. */
export function randomHex(digits: number): string {
  if (taken + digits / 2 > pool.length) {
    crypto.getRandomValues(pool)
    taken = 0
  }
  let text = ''
  for (let i = 0; i < digits / 2; i++) text += pool[taken++]!.toString(16).padStart(2, '0')
  return /^0+$/.test(text) ? `${text.slice(0, -1)}1` : text
}

/** A new secret with 256 random bits, as 43 characters of base64url. */
export const newSecret = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(32)))

/** An id that is the same every time it is derived from the same parts: used wherever replay must meet it again. */
export function derivedId(prefix: string, ...parts: string[]): string {
  // half a surrogate pair has no UTF-8 of its own: all of them would be one and the same
  const told = parts.map((part) => (part.isWellFormed() ? part : `\u0000${JSON.stringify(part)}`))
  return `${prefix}_${digest(told.join('\u0000')).slice(0, 20)}`
}

/**
 * The id of a run that is named by a key instead: two requests with one key are one run. No caller can name it:
 * `runId()` refuses its `@`. So nobody can begin a run under an id that the key of another caller comes to.
 */
export interface RunKey {
  readonly id: RunId
}

/** The key of these parts. Name the protocol, the tenant and the user among them: each has keys of its own. */
export const runKey = (...parts: readonly string[]): RunKey => ({
  id: `${derivedId('run', ...parts)}${keyMark}` as RunId,
})

const keyMark = '@key'

/** Whether a name has the form of an id that a key comes to. */
export const isKeyed = (name: string): boolean => name.startsWith('run_') && name.endsWith(keyMark)

/** Whether an activation is this one, or works below it. */
export const isWithin = (activation: string, above: ActivationId): boolean =>
  activation === above || activation.startsWith(`${above}>`)

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

/** Checks a run id given by a caller. Throws `run.invalid-id`. */
export function runId(text: string): RunId {
  if (!RUN_ID.test(text)) {
    throw new ReeveError('run.invalid-id', `"${text}" is not a run id`, {
      hint: 'Use 1 to 128 letters, digits, ".", "_", ":" or "-", beginning with a letter or digit.',
    })
  }
  return text as RunId
}

/**
 * Refuses what cannot be the id of anything, before it is looked for. `where`: the call and its argument. Throws
 * `input.invalid`.
 */
export function mustBeId(given: unknown, where: string): asserts given is string {
  if (typeof given === 'string' && given !== '') return
  const hasRun = hasNames(given) && typeof (given as { readonly run?: unknown }).run === 'string'
  throw new ReeveError('input.invalid', `${where} is ${given === '' ? 'empty' : described(given)}, expected an id`, {
    hint: `${hasRun ? 'Pass the `run` of it: the id of a run is the `run` of its summary and outcome' : 'The id of a run is `run.id`, or the `run` of its summary and outcome'}. Nothing was done.`,
  })
}

/** The id of a run's root activation. */
export function rootActivation(run: RunId): ActivationId {
  return `act_${run}` as ActivationId
}

/**
 * The id of the activation that the operation `address` of `parent` starts. `apart`: as the root of a child run. No
 * address begins with `>`, so the two are never the same.
 */
export function childActivation(parent: ActivationId, address: string, apart = false): ActivationId {
  return `${parent}${apart ? '>>' : '>'}${address}` as ActivationId
}

/** The run that an activation belongs to: of one that is placed apart, and of those below it, the child run. */
export function runOf(activation: ActivationId): RunId {
  const apart = activation.lastIndexOf('>>')
  const cut = activation.indexOf('>', apart < 0 ? 0 : apart + 2)
  return (cut < 0 ? activation.slice(4) : activation.slice(4, cut)) as RunId
}

/** The run that was started from outside: of a child run, that of the leader at the top. */
export function rootRun(run: RunId): RunId {
  const cut = run.indexOf('>')
  return (cut < 0 ? run : run.slice(0, cut)) as RunId
}

/** Whether a run is a child run: a worker that is placed apart. */
export const isChildRun = (run: RunId): boolean => run.includes('>')

/**
 * The activation that started this one, the address it used there, and whether this one is placed apart; undefined for
 * the root of a run that was started from outside.
 */
export function parentOf(
  activation: ActivationId,
): { parent: ActivationId; address: OpId; apart: boolean } | undefined {
  const cut = activation.lastIndexOf('>')
  if (cut < 0) return undefined
  const apart = activation.charCodeAt(cut - 1) === 62
  return {
    parent: activation.slice(0, apart ? cut - 1 : cut) as ActivationId,
    address: activation.slice(cut + 1) as OpId,
    apart,
  }
}
