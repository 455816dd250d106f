/**
 * Audits for operators: read from the feed of a run, and signed if a signer is given.
 *
 * Owns: reading, signing on request. Does not own: the content of an audit (oversight/audit/audit.ts), keys, which the
 * caller keeps outside the store.
 */
import type { RunId } from '../../core/index.ts'
import { unknownRun, type Engine } from '../../engine/index.ts'
import { auditOf, signAudit, type AuditDocument, type Signer } from '../../oversight/index.ts'

/** The options of an audit. */
export interface AuditOptions {
  /** Signs the head. Default: unsigned. */
  readonly signer?: Signer
}

/** Who decided what in a run so far, when, and on what evidence. Rejects with `run.unknown`. */
export async function auditRun(engine: Engine, run: RunId, { signer }: AuditOptions = {}): Promise<AuditDocument> {
  const events = await engine.read(run)
  if (events.length === 0 && (await engine.summary(run)) === undefined) throw unknownRun(run)
  const audit = auditOf(run, events)
  return signer === undefined ? audit : signAudit(audit, signer)
}
