/**
 * Questions as every engine keeps them: what waits for an answer from outside, or for the clock.
 *
 * Owns: the record of each kind and the inbox key that its answers compete for (K2). Does not own: where records are
 * kept (the engines).
 */
import { derivedId, type ActivationId, type Json, type Outcome } from '@reeve/core'
import type { AskOpened } from '@reeve/journal'
import type { Operation, Owner } from './replay/operation.ts'
import { alreadyDone } from './replay/origin.ts'

/** One open question. */
export interface QuestionRecord {
  readonly id: string
  readonly address: string
  /** The inbox key under which an answer competes with others. */
  readonly key: string
  readonly kind: 'timer' | 'approval' | 'interrupt' | 'in-doubt' | 'diverged'
  readonly until: number | null
  readonly body: Json
}

/** Keys are prefixed by their kind, since an address can be any text and messages come under keys of their own. */
export const askKey = 'ask:'
const doubtKey = 'doubt:'
export const divergedKey = '!diverged:'

/** The end of a question that was not answered in time. */
export const unanswered: Outcome = { status: 'timed-out', message: 'nobody answered in time' }

/** Who asks, and where. */
interface AskedBy {
  readonly owner: { readonly id: ActivationId }
  readonly address: string
}

/** What `ask` opens: a timer, an approval or an interrupt. */
export function askedQuestion({ owner, address }: AskedBy, event: AskOpened): QuestionRecord {
  const kind = event.type === 'timer.set' ? 'timer' : event.type === 'approval.requested' ? 'approval' : 'interrupt'
  const id = event.type === 'timer.set' ? `${owner.id}:${address}` : event.id
  return { id, address, key: askKey + address, kind, until: event.until ?? null, body: event as unknown as Json }
}

/**
 * Whether a `once` effect has happened, or (`isTrial`) whether an effect of a trial may leave. Every round of doubt is a
 * question of its own.
 */
export function doubtQuestion(operation: Operation, isTrial = false): QuestionRecord {
  const { owner, address, rounds: round, done, key } = operation
  const id = derivedId('int', owner.id, address, String(round))
  const elsewhere = done === undefined ? {} : { reason: alreadyDone(done), done: done as unknown as Json }
  const trial = isTrial ? heldWork(operation) : {}
  const body = { address, path: owner.birth.path, round, key, ...trial, ...elsewhere }
  return { id, address, key: `${doubtKey}${address}#${round}`, kind: 'in-doubt', until: null, body }
}

/** What a trial holds back, as it would be made: a tool with its arguments, or a step. */
function heldWork({ address, command, options }: Operation): { readonly [name: string]: Json } {
  const name =
    command.type === 'tool.called' ? command.tool : address.slice(address.lastIndexOf('/') + 1).replace(/#\d+$/, '')
  const input = options?.equalBy
  return { reason: 'not made: the run is a trial', trial: true, name, ...(input === undefined ? {} : { input }) }
}

/**
 * What became of a recorded effect that the code does not ask for any more. The same however often the run is read
 * again.
 */
export function divergenceQuestion(owner: Owner, address: string, unclaimed: readonly string[]): QuestionRecord {
  const id = derivedId('int', owner.id, 'diverged', address, unclaimed.join())
  return { id, address, key: divergedKey + address, kind: 'diverged', until: null, body: { address, unclaimed } }
}
