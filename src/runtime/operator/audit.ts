/**
 * Audits as operators ask for them: read from a run's feed, and signed if somebody gives a key.
 *
 * Owns: reading, signing on request. Does not own: what is in an audit (oversight/audit/audit.ts), keys: they stand
 * outside the store, and nothing here keeps them.
 */
import type { RunId } from '../../core/index.ts'
import { unknownRun, type Engine } from '../../engine/index.ts'
import { auditOf, signAudit, type AuditDocument, type Signer } from '../../oversight/index.ts'

/** How an audit is made. */
export interface AuditOptions {
  /** Signs the head. Default: it is not signed. */
  readonly signer?: Signer
}

/** Who decided what in a run so far, when, and on what evidence. Rejects with `run.unknown`. */
export async function auditRun(engine: Engine, run: RunId, { signer }: AuditOptions = {}): Promise<AuditDocument> {
  const events = await engine.read(run)
  if (events.length === 0 && (await engine.summary(run)) === undefined) throw unknownRun(run)
  const audit = auditOf(run, events)
  return signer === undefined ? audit : signAudit(audit, signer)
}
