/**
 * Questions in the store: what waits for an answer from outside, or for the clock. Kept in the transactions of the entries that open and end them.
 */
import { derivedId, runOf, type ActivationId, type Json, type MessageId } from '../../core/index.ts'
import type { AskOpened } from '../../journal/index.ts'
import { Effects } from '../effects.ts'
import type { Operation, Owner } from '../operation.ts'
import { askKey, divergedKey, doubtKey } from './batch.ts'
import type { Desk } from './desk.ts'

interface Question {
  readonly id: string
  readonly address: string
  /** The inbox key under which an answer competes with others. */
  readonly key: string
  readonly kind: 'timer' | 'approval' | 'interrupt' | 'in-doubt' | 'diverged'
  readonly until: number | null
  readonly body: Json
}

function putQuestion(desk: Desk, owner: Owner, question: Question): void {
  const run = desk.runs.get(runOf(owner.id))
  if (run === undefined || owner.discarded) return
  if (question.kind !== 'timer') run.questions++
  desk.batch.questions.push({ ...question, act: owner.id, at: desk.clock.now(), body: desk.options.redact(JSON.stringify(question.body)) })
}

export function putAsk(desk: Desk, op: Operation, event: AskOpened): void {
  const { address } = op
  const kind = event.type === 'timer.set' ? 'timer' : event.type === 'approval.requested' ? 'approval' : 'interrupt'
  const id = event.type === 'timer.set' ? `${op.owner.id}:${address}` : event.id
  putQuestion(desk, op.owner, { id, address, key: askKey + address, kind, until: event.until ?? null, body: event as unknown as Json })
}

/** Asks whether a `once` effect has happened. An answer that came before the code got here is taken at once. */
export function putDoubt(desk: Desk, op: Operation, isNew: boolean): void {
  const { owner, address, rounds: round } = op
  const id = derivedId('int', owner.id, address, String(round))
  const key = `${doubtKey}${address}#${round}`
  if (isNew) {
    desk.keeper.append(owner, { type: 'effect.in-doubt', address, id, round }, desk.clock.now())
    const body = { address, path: owner.birth.path, round, key: Effects.key(op) }
    putQuestion(desk, owner, { id, address, key, kind: 'in-doubt', until: null, body })
  }
  desk.runs.get(runOf(owner.id))?.doubts.get(`${owner.id}:${key}`)?.()
}

/** Asks what became of a recorded effect that the code does not ask for any more. Asked once, however often the run is read again. */
export function putDivergence(desk: Desk, owner: Owner, address: string, unclaimed: readonly string[]): void {
  const id = derivedId('int', owner.id, 'diverged', address, unclaimed.join())
  if (desk.reader.questionExists(id)) return
  desk.keeper.append(owner, { type: 'replay.diverged', address, unclaimed }, desk.clock.now())
  putQuestion(desk, owner, { id, address, key: divergedKey + address, kind: 'diverged', until: null, body: { address, unclaimed } })
}

export function dropQuestion(desk: Desk, op: Operation): void {
  const run = desk.runs.get(runOf(op.owner.id))
  if (run === undefined || op.owner.discarded) return
  if (op.type !== 'timer.set') run.questions = Math.max(0, run.questions - 1)
  desk.batch.closed.push({ act: op.owner.id, address: op.address })
  desk.touch(run)
  desk.schedule()
}

/** Puts a message into another activation's inbox, with this activation's next commit. */
export function putMessage(desk: Desk, from: Owner, to: ActivationId, id: MessageId, body: Json): void {
  // Code whose memory is void may still run: nobody hears it.
  if (from.discarded) return
  const row = { type: 'message', id, from: from.id, body }
  const text = JSON.stringify(row)
  const sender = { refusalTo: from.id, from: runOf(from.id) }
  desk.post({ act: to, target: 'activation', key: id, kinds: undefined, ...sender, body: text }).catch(() => undefined)
}
