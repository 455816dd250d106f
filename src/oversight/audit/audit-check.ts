/**
 * Audit check: whether an audit that somebody hands over is what was handed out. Offline: nothing but the document, the
 * keys that the reader trusts, and an earlier head is needed.
 *
 * Owns: finding what is wrong, and saying exactly what. Does not own: making and signing audits (audit.ts). A chain
 * alone proves only that it fits together: whoever can write all of it can write another. The signature of its head
 * says whose it is, and an earlier head that somebody else keeps says that nothing was left out since.
 */
import { canonical, isObject, jsonProblem, type Json, type JsonObject } from '../../core/index.ts'
import { auditBegin, auditType, entryHash, type AuditDocument, type AuditHead } from './audit.ts'
import { readSigned, type Verifier } from './signer.ts'

/** Something that is wrong with an audit. */
export interface AuditProblem {
  /**
   * `malformed`: it is no audit. `edited`: an entry is not what its hash says. `broken`: an entry does not follow the
   * one before. `truncated`: entries are missing at the end. `added`: there are more than the head says. `head`: the
   * head does not belong to the entries. `unsigned`, `unknown-key`, `bad-signature`, `other-head`: of the signature.
   * `other-run`, `rewritten`: compared with an earlier head.
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
  /** Which entry. */
  readonly n?: number
  readonly message: string
}

/** What came of checking. */
export interface AuditReport {
  /** Nothing is wrong. It may still be a part, or not be signed: see below. */
  readonly ok: boolean
  readonly problems: readonly AuditProblem[]
  readonly run?: string
  readonly entries: number
  /** The run had ended: nothing comes after this. False: a part, and says so. */
  readonly complete: boolean
  /**
   * The key whose signature is right; absent: there is no signature, it is wrong, or no keys were given to check it by.
   */
  readonly signedBy?: string
}

/** By what an audit is checked. */
export interface AuditCheck {
  /** The keys that are trusted. With them it must be signed by one; without them only the chain is checked. */
  readonly keys?: readonly Verifier[]
  /**
   * An earlier audit of the run, or its head: everything that it has must still be there. With a signature and `keys`,
   * that is checked, too.
   */
  readonly against?: AuditHead | Pick<AuditDocument, 'head' | 'signature'>
}

/** Checks an audit. Never throws for what it is given. */
export async function verifyAudit(document: unknown, { keys, against }: AuditCheck = {}): Promise<AuditReport> {
  const shape = shapeProblem(document)
  if (shape !== undefined) return { ok: false, problems: [problem('malformed', shape)], entries: 0, complete: false }
  const { head, signature, entries } = document as AuditDocument
  const problems = [
    ...chainProblems(head.run, entries as unknown as readonly JsonObject[]),
    ...headProblems(head, entries),
  ]
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
  ...(n === undefined ? undefined : { n }),
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

/** Nothing may stand beside what is checked: it would be taken for checked. */
function shapeProblem(document: unknown): string | undefined {
  if (!isObject(document)) return 'it is no audit: expected an object'
  const problem = jsonProblem(document, 'the audit')
  if (problem !== undefined) return problem
  const { head, entries, signature, ...more } = document
  const [other] = Object.keys(more)
  if (other !== undefined) return `this is no audit: it has a field "${other}"`
  if (!Array.isArray(entries) || !entries.every(isObject)) return 'it has no list of entries'
  if (signature !== undefined && typeof signature !== 'string') return 'its signature is no text'
  return headProblem(head)
}

function headProblem(head: unknown): string | undefined {
  if (!isObject(head)) return 'it has no head'
  const [other] = Object.keys(head).filter((name) => !Object.hasOwn(headForm, name))
  if (other !== undefined) return `the head of an audit has no "${other}"`
  const [wrong] = Object.entries(headForm).filter(([name, type]) => typeof head[name] !== type)
  if (wrong !== undefined) return `its head has no ${wrong[0]}`
  return head['format'] === 1
    ? undefined
    : `its format is ${canonical(head['format'] ?? null)}, and this reads format 1`
}

/**
 * Every entry by itself and with the one before: after an edited one, those that follow are still looked at by what
 * they say of themselves. Where one is out of place, those after it are, too: the first is told, and how many follow
 * from it.
 */
function chainProblems(run: string, entries: readonly JsonObject[]): AuditProblem[] {
  const problems: AuditProblem[] = []
  const misplaced: number[] = []
  let prev: unknown = auditBegin(run)
  for (const [n, entry] of entries.entries()) {
    if (entryHash(entry) !== entry['hash'])
      problems.push(problem('edited', `entry ${n} was changed: it is not what its hash says`, n))
    if (entry['prev'] !== prev || entry['n'] !== n) misplaced.push(n)
    prev = entry['hash']
  }
  const [first, ...more] = misplaced
  if (first === undefined) return problems
  const what =
    first === 0
      ? `entry 0 is not the first of the run "${run}"`
      : `entry ${first} does not follow entry ${first - 1}: something was removed, added or moved`
  const after =
    more.length === 0 ? '' : `; ${more.length} more after it ${more.length === 1 ? 'is' : 'are'} out of place, too`
  return [...problems, problem('broken', `${what}${after}`, first)]
}

function headProblems({ run, entries: count, hash }: AuditHead, entries: AuditDocument['entries']): AuditProblem[] {
  if (entries.length < count)
    return [
      problem('truncated', `entries are missing at the end: the head says ${count}, and ${entries.length} are here`),
    ]
  if (entries.length > count)
    return [problem('added', `there are ${entries.length} entries, and the head says ${count}`)]
  return hash === (entries.at(-1)?.hash ?? auditBegin(run))
    ? []
    : [problem('head', 'the head does not belong to the last entry')]
}

async function signatureOf(
  head: AuditHead,
  signature: string | undefined,
  keys: readonly Verifier[],
): Promise<{ readonly problems: readonly AuditProblem[]; readonly key?: string }> {
  if (signature === undefined) return { problems: [problem('unsigned', 'it is not signed')] }
  const read = await readSigned(keys, auditType, signature)
  if (read.ok && canonical(read.document) === canonical(head as unknown as Json)) return { problems: [], key: read.key }
  if (read.ok) return { problems: [problem('other-head', 'the signature is right, and it is that of another head')] }
  const told = {
    malformed: problem('bad-signature', 'the signature is none of an audit'),
    'unknown-key': problem(
      'unknown-key',
      `it is signed with a key that is not among those given (${keys.map(({ id }) => id).join(', ')})`,
    ),
    'bad-signature': problem(
      'bad-signature',
      'the signature is wrong: the head was changed, or somebody else signed it',
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
      problem('other-run', `this is the run "${head.run}", and the earlier head is of "${earlier.run}"`),
    ]
  if (entries.length < earlier.entries || head.position < earlier.position || (earlier.ended && !head.ended))
    return [
      ...problems,
      problem(
        'truncated',
        `entries are missing: there were ${earlier.entries} before (position ${earlier.position}), and ${entries.length} are here (position ${head.position})`,
      ),
    ]
  const same = earlier.entries === 0 ? auditBegin(head.run) : entries[earlier.entries - 1]?.hash
  return same === earlier.hash
    ? problems
    : [...problems, problem('rewritten', `what was there before was changed: entry ${earlier.entries - 1} is another`)]
}
