/**
 * Capabilities: what an approval permits. One use of one tool in one version with exact arguments, in one call of one
 * agent in one run, for a limited time.
 *
 * Owns: the content of a capability, the check before its use, its signed form. Does not own: approving (approval.ts),
 * where it is checked (agent/approval/tool-gate.ts).
 * Holds: inside one store it needs no signature, because replayed code derives it from the journal and no model output
 * reaches it. For a service that cannot read the store it is signed.
 */
import {
  digestJson,
  failure,
  FailureError,
  isObject,
  present,
  type ActivationId,
  type CapabilityId,
  type Failure,
  type Json,
  type Outcome,
  type RunId,
} from '@reeve/core'
import type { Context } from '@reeve/engine'
import { readSigned, signDocument, type Signer, type Verifier } from '../audit/signer.ts'

/** The permission for one use of an approved call. JSON. */
export interface Capability {
  readonly id: CapabilityId
  readonly run: RunId
  /** The names of the agents from the root to the one that may act. */
  readonly path: readonly string[]
  readonly activation: ActivationId
  /** The call's place in its activation: the prefix of the addresses of its effects. */
  readonly scope: string
  readonly tool: string
  readonly toolVersion: string
  /** SHA-256 of the canonical arguments; the order of members does not matter. */
  readonly inputHash: string
  /** `human`: an approver saw this call; `deadline`: its timeout approved it; `grant`: an earlier grant covers it. */
  readonly by: 'human' | 'deadline' | 'grant'
  /** The names of the approvers, in order. Empty if no name was given, or if a deadline approved. */
  readonly approvers: readonly string[]
  /** The ids of the approvals, in order; for a grant, its id. */
  readonly approvals: readonly string[]
  readonly issuedAt: number
  /** Milliseconds since 1970; invalid after that. */
  readonly expiresAt: number
}

/** A capability in use. `key` is the idempotency key of its one effect, the same for every attempt. */
export interface UsedCapability extends Capability {
  readonly key: string
}

/** How long an approval stays valid: a day, because a run may be paused or without a process meanwhile. */
export const defaultValidForMs = 24 * 3_600_000

/** The use to check. */
export interface CapabilityUse {
  readonly run: string
  readonly path: readonly string[]
  readonly activation: string
  /** The key of the effect or worker. */
  readonly key: string
  /** Where it is: its activation, a colon and its address. Default: `key`, which may be that of an earlier attempt. */
  readonly at?: string
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
  readonly now: number
}

/** The content of a capability, without its place. */
export type Approved = Pick<Capability, 'tool' | 'toolVersion' | 'inputHash' | 'by' | 'approvers' | 'approvals'> & {
  readonly validForMs?: number | undefined
  /** The end of the grant that it comes from. */
  readonly until?: number | undefined
}

/** Creates a capability for this place. Deterministic: the same on every replay. */
export function capabilityFor(
  ctx: Context,
  { validForMs = defaultValidForMs, until = Infinity, ...approved }: Approved,
): Capability {
  const { run, path, activation, scope } = ctx.place
  const issuedAt = ctx.now().getTime()
  const expiresAt = Math.min(issuedAt + validForMs, until)
  return {
    id: ctx.id('cap') as CapabilityId,
    run,
    path: [...path],
    activation,
    scope,
    ...approved,
    issuedAt,
    expiresAt,
  }
}

/** Why a capability does not permit this use; undefined if it does. Pure. `CapabilityHolder` checks repeated use. */
export function capabilityProblem(capability: Capability, use: CapabilityUse): string | undefined {
  const { run, path, activation, scope, tool, toolVersion, inputHash, expiresAt } = capability
  if (run !== use.run) return `it was given in another run ("${run}")`
  if (activation !== use.activation || path.join('\u0000') !== use.path.join('\u0000'))
    return 'it was given to another agent'
  if (!isWithin(use.at ?? use.key, activation, scope)) return 'it was given for another call'
  if (tool !== use.tool) return `it is for "${tool}"`
  if (toolVersion !== use.toolVersion)
    return `it is for version ${toolVersion} of "${tool}", and this is ${use.toolVersion}`
  if (inputHash !== digestJson(use.input)) return 'it is for other arguments'
  return use.now > expiresAt ? `it was good until ${new Date(expiresAt).toISOString()}` : undefined
}

/**
 * Whether an effect belongs to the call. An effect's key is its activation, a colon and its address; a worker's
 * activation has `>` instead. Deeper keys belong to the worker.
 */
function isWithin(key: string, activation: string, scope: string): boolean {
  const begins = [`${activation}:${scope}`, `${activation}>${scope}`].find((each) => key.startsWith(each))
  return begins !== undefined && key.length > begins.length && !/[/>]/u.test(key.slice(begins.length))
}

/**
 * Whether a capability for this very call has lapsed: the tool has another version, which may change its arguments, or
 * the capability expired. Then the approver is asked again. Pure.
 */
function lapsedBy(capability: Capability, use: CapabilityUse): 'version' | 'expired' | undefined {
  const { toolVersion } = use
  const isOther = capability.toolVersion !== toolVersion
  const inputHash = isOther ? digestJson(use.input) : capability.inputHash
  if (capabilityProblem({ ...capability, toolVersion, inputHash, expiresAt: Infinity }, use) !== undefined)
    return undefined
  return isOther ? 'version' : 'expired'
}

/** The failure of a use that was refused because the capability lapsed; undefined for every other outcome. */
export const lapseIn = (outcome: Outcome): Failure | undefined =>
  outcome.status === 'failed' &&
  outcome.failure.code === 'capability.refused' &&
  outcome.failure.details?.['lapsed'] !== undefined
    ? outcome.failure
    : undefined

/**
 * Allows one use of a capability. Throws a FailureError `capability.refused`, which is not retried, for a second use
 * under another key and for a use that it does not permit.
 */
export class CapabilityHolder {
  readonly #capability: Capability
  #key: string | undefined

  constructor(capability: Capability) {
    this.#capability = capability
  }

  use(use: CapabilityUse): UsedCapability {
    const { id } = this.#capability
    const isUsed = this.#key !== undefined && this.#key !== use.key
    const problem = isUsed ? 'it has been used already' : capabilityProblem(this.#capability, use)
    if (problem !== undefined) {
      const lapsed = isUsed ? undefined : lapsedBy(this.#capability, use)
      throw new FailureError(
        failure(
          'capability.refused',
          `not done: the approval of "${use.tool}" does not hold for this: ${problem}`,
          'rejected',
          {
            hint:
              lapsed === undefined
                ? 'Nothing was done. Calling again asks for a new approval.'
                : 'Nothing was done. It is asked again.',
            details: { capability: id, ...present({ lapsed }) },
          },
        ),
      )
    }
    this.#key = use.key
    return { ...this.#capability, key: use.key }
  }
}

const signedType = 'reeve-capability'

/**
 * Signs a capability for a service that checks it. Call it in a tool's `execute` with `io.capability` and send the text
 * along. The text is a compact JWS, which libraries of every language read. Every attempt of a step has the same `key`.
 */
export const signCapability = (signer: Signer, capability: UsedCapability): Promise<string> =>
  signDocument(signer, signedType, capability as unknown as Json)

/**
 * What a service requires of a capability, besides a valid signature and time. Absent fields are not compared; give at
 * least the tool and the arguments.
 */
export interface CapabilityExpected {
  readonly tool?: string
  readonly toolVersion?: string
  /** The arguments of the request to the service. */
  readonly input?: Json
  readonly run?: string
  readonly path?: readonly string[]
  readonly key?: string
  /** How many different approvers are required. Default 0: a deadline or a grant suffices. */
  readonly approvers?: number
}

/** The result of verifying a signed capability. */
export type CapabilityVerdict =
  | { readonly ok: true; readonly capability: UsedCapability }
  | {
      readonly ok: false
      readonly why:
        'malformed' | 'unknown-key' | 'bad-signature' | 'expired' | 'other-call' | 'too-few-approvers' | 'used'
      readonly problem: string
    }

/** How a capability is verified. */
export interface VerifyOptions {
  /** The trusted keys. */
  readonly keys: readonly Verifier[]
  /** Milliseconds since 1970. */
  readonly now: number
  /**
   * Records the use of a capability for a key and returns the key of an earlier use, if any. Run it in the transaction
   * of the effect. Without it, a second use is not detected. The same key is a retry of the same use.
   */
  readonly used?: (id: string, key: string) => string | undefined | Promise<string | undefined>
}

/** Verifies a signed capability without the store. Never throws for an invalid token. */
export async function verifyCapability(
  token: string,
  expected: CapabilityExpected,
  options: VerifyOptions,
): Promise<CapabilityVerdict> {
  const read = await readSigned(options.keys, signedType, token)
  if (!read.ok) return { ok: false, why: read.why, problem: unread[read.why] }
  const document = isObject(read.document) ? read.document : {}
  const capability = document as unknown as UsedCapability
  if (!Array.isArray(capability.approvers) || !Array.isArray(capability.path))
    return { ok: false, why: 'malformed', problem: unread.malformed }
  const { input, approvers = 0, path, ...same } = expected
  const other = Object.entries(same).find(([name, value]) => value !== undefined && value !== document[name])
  if (other !== undefined) return { ok: false, why: 'other-call', problem: `it has another ${other[0]}` }
  if (path !== undefined && path.join('\u0000') !== capability.path.join('\u0000'))
    return { ok: false, why: 'other-call', problem: 'it has another path' }
  if (input !== undefined && digestJson(input) !== capability.inputHash)
    return { ok: false, why: 'other-call', problem: 'it is for other arguments' }
  if (!(options.now <= capability.expiresAt)) return { ok: false, why: 'expired', problem: 'it has expired' }
  if (new Set(capability.approvers).size < approvers)
    return {
      ok: false,
      why: 'too-few-approvers',
      problem: `expected ${approvers} approvers, it has ${capability.approvers.length}`,
    }
  const before = await options.used?.(capability.id, capability.key)
  if (before !== undefined && before !== capability.key)
    return { ok: false, why: 'used', problem: 'it has been used already' }
  return { ok: true, capability }
}

const unread = {
  malformed: 'not a signed capability',
  'unknown-key': 'it is signed with a key that is not trusted',
  'bad-signature': 'its signature is invalid',
} as const
