/**
 * Audit check: verifies an audit document offline, with the reader's trusted keys and, optionally, an earlier head.
 *
 * Owns: finding every problem and naming it. Does not own: creating and signing audits (audit.ts).
 * Holds: a hash chain alone proves only consistency, as an attacker could write another one. The signature of the head
 * proves its origin; an earlier head kept elsewhere proves that no entry was removed since.
 */
import {
  canonical,
  isObject,
  isReeveMessage,
  jsonProblem,
  own,
  Slices,
  present,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { auditBegin, auditType, entryHash, type AuditDocument, type AuditHead } from './audit.ts'
import { readSigned, type Verifier } from './signer.ts'

/** A problem of an audit. */
export interface AuditProblem {
  /**
   * `malformed`: not an audit. `edited`: an entry does not match its hash. `broken`: an entry does not follow the
   * previous one. `truncated`: entries are missing at the end. `added`: more entries than the head counts. `head`: the
   * head does not match the entries. `unsigned`, `unknown-key`, `bad-signature`, `other-head`: the signature fails.
   * `other-run`, `rewritten`: the audit contradicts the earlier head. `unvouched`: the author that the entry names, or
   * the answer before it, is what a caller claimed: Reeve did not record it.
   */
  readonly code:
    | 'malformed'
    | 'edited'
    | 'broken'
    | 'truncated'
    | 'added'
    | 'head'
    | 'unsigned'
    | 'unknown-key'
    | 'bad-signature'
    | 'other-head'
    | 'other-run'
    | 'rewritten'
    | 'unvouched'
  /** The number of the entry. */
  readonly n?: number
  readonly message: string
}

/** The result of the check. */
export interface AuditReport {
  /** No problem was found. The audit may still be incomplete or unsigned: see below. */
  readonly ok: boolean
  readonly problems: readonly AuditProblem[]
  readonly run?: string
  readonly entries: number
  /** The run had ended. False: the audit covers a part of the run. */
  readonly complete: boolean
  /** The key that signed it; absent if it is unsigned, the signature is invalid, or no keys were given. */
  readonly signedBy?: string
}

/** The options of `verifyAudit`. */
export interface AuditCheck {
  /** The trusted keys: one of them must have signed. Without keys, only the chain is checked. */
  readonly keys?: readonly Verifier[]
  /** An earlier audit of the run, or its head: all its entries must still be present. Its signature is checked, too. */
  readonly against?: AuditHead | Pick<AuditDocument, 'head' | 'signature'>
}

/**
 * Verifies an audit. Never throws, whatever the document is. A long one is checked in slices: the event loop goes on
 * meanwhile, so the document may not be changed before the report is there.
 */
export async function verifyAudit(document: unknown, { keys, against }: AuditCheck = {}): Promise<AuditReport> {
  const slices = new Slices()
  const shape = await shapeProblem(document, slices)
  if (shape !== undefined) return { ok: false, problems: [problem('malformed', shape)], entries: 0, complete: false }
  const { head, signature, entries } = document as AuditDocument
  const check = new ChainCheck(head.run)
  for await (const piece of slices.of(entries)) for (const entry of piece) check.take(entry as unknown as JsonObject)
  const problems = [...check.problems(head)]
  const signed = keys === undefined ? undefined : await signatureOf(head, signature, keys)
  problems.push(...(signed?.problems ?? []))
  if (against !== undefined) problems.push(...(await earlierProblems(document as AuditDocument, against, keys)))
  return {
    ok: problems.length === 0,
    problems,
    run: head.run,
    entries: entries.length,
    complete: head.ended,
    ...(signed?.key === undefined ? undefined : { signedBy: signed.key }),
  }
}

const problem = (code: AuditProblem['code'], message: string, n?: number): AuditProblem => ({
  code,
  ...present({ n }),
  message,
})

const headForm = {
  format: 'number',
  run: 'string',
  agent: 'string',
  entries: 'number',
  hash: 'string',
  position: 'number',
  at: 'number',
  ended: 'boolean',
}

/** Refuses unknown fields: a reader would take them for verified. */
async function shapeProblem(document: unknown, slices: Slices): Promise<string | undefined> {
  if (!isObject(document)) return 'not an audit: expected an object'
  const { entries, ...said } = document
  const problem = jsonProblem(said, 'the audit')
  if (problem !== undefined) return problem
  const { head, signature, ...more } = said
  const [other] = Object.keys(more)
  if (other !== undefined) return `not an audit: unknown field "${other}"`
  const wrong = await entriesProblem(entries, slices)
  if (wrong !== undefined) return wrong
  if (signature !== undefined && typeof signature !== 'string') return 'its signature is not a string'
  return headProblem(head)
}

async function entriesProblem(entries: unknown, slices: Slices): Promise<string | undefined> {
  if (!Array.isArray(entries)) return 'it has no array of entries'
  let n = 0
  for await (const piece of slices.of(entries as readonly unknown[]))
    for (const entry of piece) {
      const problem = isObject(entry) ? jsonProblem(entry, `the audit.entries[${n++}]`) : 'it has no array of entries'
      if (problem !== undefined) return problem
    }
  return undefined
}

function headProblem(head: unknown): string | undefined {
  if (!isObject(head)) return 'it has no head'
  const [other] = Object.keys(head).filter((name) => !Object.hasOwn(headForm, name))
  if (other !== undefined) return `its head has an unknown field "${other}"`
  const [wrong] = Object.entries(headForm).filter(([name, type]) => typeof head[name] !== type)
  if (wrong !== undefined) return `its head has no valid ${wrong[0]}`
  return head['format'] === 1 ? undefined : `unknown format ${canonical(head['format'] ?? null)}, expected format 1`
}

/**
 * Checks each entry by itself and against the previous one. Entries after an edited one are still checked against their
 * own hashes. Of misplaced entries, the first is named and the rest are counted.
 */
export class ChainCheck {
  readonly #run: string
  readonly #edited: AuditProblem[] = []
  readonly #unvouched: AuditProblem[] = []
  #firstMisplaced: number | undefined
  #misplaced = 0
  #n = 0
  #prev: unknown

  constructor(run: string) {
    this.#run = run
    this.#prev = auditBegin(run)
  }

  /** Takes in the next entry. */
  take(entry: JsonObject): void {
    const n = this.#n++
    if (entryHash(entry) !== entry['hash'])
      this.#edited.push(problem('edited', `entry ${n} was changed: it does not match its hash`, n))
    if (entry['prev'] !== this.#prev || entry['n'] !== n) {
      this.#firstMisplaced ??= n
      this.#misplaced++
    }
    this.#prev = entry['hash']
    this.#unvouched.push(...authorProblems(entry, n))
  }

  /** What is wrong with the entries, and with the head over them. */
  problems({ entries: count, hash }: Pick<AuditHead, 'entries' | 'hash'>): readonly AuditProblem[] {
    return [...this.#edited, ...this.#brokenChain(), ...this.#headProblems(count, hash), ...this.#unvouched]
  }

  /** What the check says of an audit without a signature. */
  report(head: AuditHead): AuditReport {
    const problems = this.problems(head)
    return { ok: problems.length === 0, problems, run: head.run, entries: this.#n, complete: head.ended }
  }

  #brokenChain(): readonly AuditProblem[] {
    const first = this.#firstMisplaced
    if (first === undefined) return []
    const what =
      first === 0
        ? `entry 0 is not the first of the run "${this.#run}"`
        : `entry ${first} does not follow entry ${first - 1}: something was removed, added or moved`
    const more = this.#misplaced - 1
    const after = more === 0 ? '' : `; ${more} more after it ${more === 1 ? 'is' : 'are'} out of place, too`
    return [problem('broken', `${what}${after}`, first)]
  }

  #headProblems(count: number, hash: string): readonly AuditProblem[] {
    if (this.#n < count)
      return [problem('truncated', `entries are missing at the end: the head counts ${count}, found ${this.#n}`)]
    if (this.#n > count) return [problem('added', `found ${this.#n} entries, the head counts ${count}`)]
    return hash === this.#prev ? [] : [problem('head', 'the head does not match the last entry')]
  }
}

async function signatureOf(
  head: AuditHead,
  signature: string | undefined,
  keys: readonly Verifier[],
): Promise<{ readonly problems: readonly AuditProblem[]; readonly key?: string }> {
  if (signature === undefined) return { problems: [problem('unsigned', 'it is not signed')] }
  const read = await readSigned(keys, auditType, signature)
  if (read.ok && canonical(read.document) === canonical(head as unknown as Json)) return { problems: [], key: read.key }
  if (read.ok) return { problems: [problem('other-head', 'the signature is valid, but belongs to another head')] }
  const told = {
    malformed: problem('bad-signature', 'the signature is not that of an audit'),
    'unknown-key': problem(
      'unknown-key',
      `it is signed with an unknown key; trusted keys: ${keys.map(({ id }) => id).join(', ')}`,
    ),
    'bad-signature': problem(
      'bad-signature',
      'the signature is invalid: the head was changed, or another key signed it',
    ),
  }
  return { problems: [told[read.why]] }
}

async function earlierProblems(
  { head, entries }: AuditDocument,
  given: NonNullable<AuditCheck['against']>,
  keys: readonly Verifier[] | undefined,
): Promise<readonly AuditProblem[]> {
  const { head: earlier, signature } =
    isObject(given) && 'head' in given
      ? (given as Pick<AuditDocument, 'head' | 'signature'>)
      : { head: given as AuditHead, signature: undefined }
  const shape = headProblem(earlier)
  if (shape !== undefined) return [problem('malformed', `the earlier head: ${shape}`)]
  const signed = keys === undefined || signature === undefined ? undefined : await signatureOf(earlier, signature, keys)
  const problems = (signed?.problems ?? []).map(({ code, message }) => problem(code, `the earlier head: ${message}`))
  if (earlier.run !== head.run)
    return [
      ...problems,
      problem('other-run', `this audit is of the run "${head.run}", the earlier head of "${earlier.run}"`),
    ]
  if (entries.length < earlier.entries || head.position < earlier.position || (earlier.ended && !head.ended))
    return [
      ...problems,
      problem(
        'truncated',
        `entries are missing: the earlier audit had ${earlier.entries} (position ${earlier.position}), this one has ${entries.length} (position ${head.position})`,
      ),
    ]
  const same = earlier.entries === 0 ? auditBegin(head.run) : entries[earlier.entries - 1]?.hash
  return same === earlier.hash
    ? problems
    : [...problems, problem('rewritten', `entry ${earlier.entries - 1} differs from the earlier audit`)]
}

/**
 * What is wrong with the author of an entry: nobody vouches for them. Before version 0.2 the sender of a command stood in
 * its body, where any operator could write any name; and a fork could change a person's answer without a trace of who
 * did.
 */
function authorProblems({ what, evidence }: JsonObject, n: number): readonly AuditProblem[] {
  if (!isObject(evidence)) return []
  const claimed = what === 'operator.said' && isReeveMessage(evidence) ? own(evidence, 'by') : undefined
  if (typeof claimed === 'string')
    return [problem('unvouched', `entry ${n}: the message itself names "${claimed}" as its author: not recorded`, n)]
  return what === 'run.forked' && own(evidence, 'answerEdited') === true
    ? [problem('unvouched', `entry ${n}: the fork changed the answer of a person in the entry before it`, n)]
    : []
}
