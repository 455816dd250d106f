/**
 * Questions in the store: what waits for an answer from outside, or for the clock. Kept in the transactions of the
 * entries that open and end them.
 */
import { present, type ActivationId, type Json, type MessageId } from '@reeve/core'
import { questionShape, type AskOpened } from '@reeve/journal'
import type { Operation, Owner } from '../replay/operation.ts'
import { doneIn, isHeldByTrial } from '../replay/origin.ts'
import { askedQuestion, divergenceQuestion, doubtQuestion, type QuestionRecord } from '../question-record.ts'
import type { EngineState } from './engine-state.ts'
import type { LoadedActivation } from './loaded-run.ts'

function putQuestion(engine: EngineState, owner: Owner, question: QuestionRecord): void {
  const { run } = owner as LoadedActivation
  if (run.isVoid || owner.discarded) return
  if (question.kind !== 'timer') run.questions++
  engine.batch.questions.push({
    ...question,
    act: owner.id,
    at: engine.clock.now(),
    body: engine.options.redact(JSON.stringify(question.body), questionShape),
    ...present({ tenant: run.caller.tenant }),
  })
}

export function putAsk(engine: EngineState, op: Operation, event: AskOpened): void {
  putQuestion(engine, op.owner, askedQuestion(op, event))
}

/** Asks whether a `once` effect has happened. An answer that came before the code got here is taken at once. */
export function putDoubt(engine: EngineState, op: Operation, isNew: boolean): void {
  const { owner, address, rounds: round } = op
  // of a trial the first question is whether it may leave; a later one is the usual one
  const isTrial = round === 1 && !op.isOut && isHeldByTrial(engine.commands, op)
  const question = doubtQuestion(op, isTrial)
  if (isNew) {
    engine.commands.append(
      owner,
      { type: 'effect.in-doubt', address, id: question.id, round, ...doneIn(op), ...(isTrial ? { trial: true } : {}) },
      engine.clock.now(),
    )
    putQuestion(engine, owner, question)
  }
  ;(owner as LoadedActivation).run.doubts.get(`${owner.id}:${question.key}`)?.()
}

/**
 * Asks what became of a recorded effect that the code does not ask for any more. Asked once, however often the run is
 * read again.
 */
export function putDivergence(engine: EngineState, owner: Owner, address: string, unclaimed: readonly string[]): void {
  const question = divergenceQuestion(owner, address, unclaimed)
  if ((owner as LoadedActivation).run.past?.asked(question.id) === true) return
  engine.commands.append(owner, { type: 'replay.diverged', address, unclaimed }, engine.clock.now())
  putQuestion(engine, owner, question)
}

export function dropQuestion(engine: EngineState, op: Operation): void {
  const { run } = op.owner as LoadedActivation
  if (run.isVoid || op.owner.discarded) return
  if (op.type !== 'timer.set') run.questions = Math.max(0, run.questions - 1)
  engine.batch.closed.push({ act: op.owner.id, address: op.address })
  engine.touch(run)
}

/** Puts a message into another activation's inbox, with this activation's next commit. */
export function putMessage(engine: EngineState, from: Owner, to: ActivationId, id: MessageId, body: Json): void {
  // Code whose memory is void may still run: its messages are dropped.
  if (from.discarded) return
  const row = { type: 'message', id, from: from.id, body }
  const text = JSON.stringify(row)
  const sender = { refusalTo: from.id, from: (from as LoadedActivation).run.id }
  engine
    .post({ act: to, target: 'activation', key: id, kinds: undefined, ...sender, body: text })
    .catch(() => undefined)
}
