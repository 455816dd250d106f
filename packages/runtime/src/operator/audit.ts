/**
 * Audits for operators: read from the feed of a run, and signed if a signer is given.
 *
 * Owns: reading, signing on request. Does not own: the content of an audit (oversight/audit/audit.ts), keys, which the
 * caller keeps outside the store.
 */
import type { RunId } from '@reeve/core'
import { unknownRun, type Engine } from '@reeve/engine'
import { AuditChain, signAudit, type AuditDocument, type AuditEntry, type Signer } from '@reeve/oversight'
import { runPages } from '../feed/whole-feed.ts'

/** The options of an audit. */
export interface AuditOptions {
  /** Signs the head. Default: unsigned. */
  readonly signer?: Signer
}

/** Who decided what in a run so far, when, and on what evidence. Rejects with `run.unknown`. */
export async function auditRun(engine: Engine, run: RunId, { signer }: AuditOptions = {}): Promise<AuditDocument> {
  const chain = new AuditChain(run)
  const entries: AuditEntry[] = []
  for await (const page of runPages(engine, run)) for (const recorded of page) entries.push(...chain.take(recorded))
  if (chain.head.position === 0 && (await engine.summary(run)) === undefined) throw unknownRun(run)
  const audit = { head: chain.head, entries }
  return signer === undefined ? audit : signAudit(audit, signer)
}
