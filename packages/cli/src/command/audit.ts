/**
 * `reeve audit`: prints, signs and verifies who decided what in a run; creates keys.
 *
 * Owns: the output, the files of audits and keys. Does not own: the chain and its check (oversight).
 * Holds: a private key is read and never printed; only its user may read the file that `audit key` writes.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { digest, isObject, messageOf, visible, shellWord, argumentsLine } from '@reeve/core'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'
import type { Terminal } from '../terminal.ts'
import {
  ed25519Signer,
  ed25519Verifier,
  newEd25519Key,
  verifyAudit,
  type AuditDocument,
  type AuditEntry,
  type AuditHead,
  type AuditReport,
  type Ed25519Key,
  type Verifier,
} from '@reeve/runtime'
import { reeve } from '../invocation.ts'

/** The options of `reeve audit <run>`. */
export interface AuditCommandOptions {
  readonly json?: boolean
  readonly out?: string
  /** The last one signs. */
  readonly key?: readonly string[]
  readonly against?: string
}

/** Prints the audit of a run or writes it to a file, signed if a key is named. */
export async function audit(
  { terminal, options, cwd }: CommandContext,
  run: string,
  given: AuditCommandOptions,
): Promise<Exit> {
  const { json = false, out, against } = given
  const key = given.key?.at(-1)
  const pair = key === undefined ? undefined : await keyIn(resolve(cwd, key))
  if (pair !== undefined && pair.d === undefined)
    throw usage(`${key} has no private key and cannot sign`, `Create a pair with: ${reeve} audit key <file>`)
  const earlier = against === undefined ? undefined : await earlierIn(resolve(cwd, against))
  const signer = pair === undefined ? undefined : ed25519Signer(pair, keyId(pair))
  return withRuns(options, cwd, async (runtime) => {
    const document = await runtime.audit(run, signer === undefined ? {} : { signer })
    if (out !== undefined) await writeFile(resolve(cwd, out), `${JSON.stringify(document, null, 2)}\n`)
    if (json) terminal.line(JSON.stringify(document))
    else if (out === undefined) for (const line of auditLines(document, terminal)) terminal.line(line)
    if (!document.head.ended)
      terminal.note(`partial: the run has not ended. Repeat after its end: ${reeve} audit ${run}${whereOf(options)}`)
    if (out !== undefined)
      terminal.note(
        `Wrote ${document.head.entries} entries to ${out}. Verify without this store: ${reeve} audit verify ${shellWord(out)}`,
      )
    if (earlier === undefined) return exits.done
    return reported(await verifyAudit(document, { against: earlier }), terminal)
  })
}

/** Verifies an audit file. Opens no store. */
export async function auditVerify(
  { terminal, cwd }: CommandContext,
  file: string,
  {
    key = [],
    against,
    json = false,
  }: { readonly key?: readonly string[]; readonly against?: string; readonly json?: boolean },
): Promise<Exit> {
  const keys: Verifier[] = []
  for (const each of key) {
    const found = await keyIn(resolve(cwd, each))
    keys.push(ed25519Verifier(found, keyId(found)))
  }
  const earlier = against === undefined ? undefined : await earlierIn(resolve(cwd, against))
  const document = await jsonIn(resolve(cwd, file))
  const report = await verifyAudit(document, {
    ...(keys.length === 0 ? undefined : { keys }),
    ...(earlier === undefined ? undefined : { against: earlier }),
  })
  if (json) terminal.line(JSON.stringify(report))
  const exit = json ? exitOfReport(report) : reported(report, terminal)
  if (keys.length === 0 && !json)
    terminal.note(
      'No key given, so only the hash chain was checked: anyone with write access could have forged the file. Name the public key with --key.',
    )
  return exit
}

/** Creates a key pair: the private key in `file`, the public key in `file.pub`. Never overwrites a file. */
export async function auditKey({ terminal, cwd }: CommandContext, file: string): Promise<Exit> {
  const path = resolve(cwd, file)
  const pair = await newEd25519Key()
  const { d: _private, ...open } = pair
  await written(path, `${JSON.stringify({ ...pair, kid: keyId(pair) })}\n`, 0o600)
  await written(`${path}.pub`, `${JSON.stringify({ ...open, kid: keyId(pair) })}\n`, 0o644)
  terminal.line(
    `Wrote the private key ${keyId(pair)} to ${file}. Keep it outside the store and out of reach of the processes that run agents.`,
  )
  terminal.line(`Verifying an audit needs only ${file}.pub.`)
  return exits.done
}

async function written(path: string, text: string, mode: number): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode })
    await chmod(path, mode)
  } catch (thrown) {
    throw usage(
      `${path} could not be written: ${messageOf(thrown)}`,
      'Existing keys are never overwritten: name a new file.',
    )
  }
}

/** A key's id is derived from its public part, so that no one has to agree on names. */
const keyId = ({ x }: Ed25519Key): string => `ed25519-${digest(x).slice(0, 16)}`

async function keyIn(path: string): Promise<Ed25519Key> {
  const key = await jsonIn(path)
  if (isObject(key) && key['kty'] === 'OKP' && key['crv'] === 'Ed25519' && typeof key['x'] === 'string')
    return key as unknown as Ed25519Key
  throw usage(`${path} contains no Ed25519 key`, `Create a pair with: ${reeve} audit key <file>`)
}

async function earlierIn(path: string): Promise<AuditHead | Pick<AuditDocument, 'head' | 'signature'>> {
  return (await jsonIn(path)) as AuditHead
}

async function jsonIn(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as unknown
  } catch (thrown) {
    throw usage(`${path} could not be read as JSON: ${messageOf(thrown)}`)
  }
}

const exitOfReport = ({ ok }: AuditReport): Exit => (ok ? exits.done : exits.failed)

function reported(report: AuditReport, terminal: Terminal): Exit {
  const { ok, problems, run, entries, complete, signedBy } = report
  for (const { code, message } of problems) terminal.line(`${terminal.style('red', '✗')} ${visible(message)} (${code})`)
  if (ok) {
    const by = signedBy === undefined ? 'signature not checked' : `signed by ${visible(signedBy)}`
    terminal.line(
      `${terminal.style('green', '✓')} ${entries} entries of ${visible(run ?? '?')}, ${complete ? 'complete' : 'incomplete: the run had not ended'}; ${by}`,
    )
  }
  return exitOfReport(report)
}

function auditLines({ head, signature, entries }: AuditDocument, terminal: Terminal): string[] {
  const signed = signature === undefined ? 'not signed' : 'signed'
  return [
    `${terminal.style('bold', visible(head.run))}  ${visible(head.agent)}  ${entries.length} entries, ${signed}`,
    ...entries.map((entry) => entryLine(entry, terminal)),
    terminal.style('dim', `head ${head.hash}`),
  ]
}

/** One line: when, who, what, the subject, and the evidence in short. */
function entryLine({ n, at, by, who, what, subject, evidence }: AuditEntry, terminal: Terminal): string {
  const name = who === undefined ? by : by === 'human' ? who : `${who} (${by})`
  const about = ['resolution', 'status', 'reason', 'comment'].flatMap((each) => {
    const value = evidence[each]
    return typeof value === 'string' && value !== '' && value !== subject ? [value] : []
  })
  const input = evidence['input'] === undefined ? '' : ` ${argumentsLine(evidence['input'])}`
  const hash =
    typeof evidence['inputHash'] === 'string' ? terminal.style('dim', ` #${evidence['inputHash'].slice(0, 12)}`) : ''
  const said = visible(`${name}: ${what} ${subject}${input}`)
  return `${String(n).padStart(4)}  ${new Date(at).toISOString()}  ${said}${hash}${about.length === 0 ? '' : ` (${visible(about.join('; '))})`}`
}
