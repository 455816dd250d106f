/**
 * Capabilities: what an approval that was given is good for. One use of one tool in one version with exactly these
 * arguments, in one call of one agent in one run, for a while.
 *
 * Owns: what stands in one, whether it is good for what is about to be done, how it is shown to others. Does not own:
 * who approves (approval.ts), where it is looked at (agent/approval/tool-gate.ts). Inside one store it needs no
 * signature: it is made from the journal by code that is replayed, and nothing that a model wrote gets near it. For a
 * service that cannot ask the store it is signed.
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
} from '../../core/index.ts'
import type { Context } from '../../engine/index.ts'
import { readSigned, signDocument, type Signer, type Verifier } from '../audit/signer.ts'

/** One use of what was approved. JSON. */
export interface Capability {
  readonly id: CapabilityId
  readonly run: RunId
  /** Agents' names from the root to the one that may. */
  readonly path: readonly string[]
  readonly activation: ActivationId
  /** Where the call is in its activation: the address of whatever is done with it begins so. */
  readonly scope: string
  readonly tool: string
  readonly toolVersion: string
  /** SHA-256 of the canonical arguments: in which order they stand does not matter. */
  readonly inputHash: string
  /** Who has approved it: humans who saw this very call, a deadline, or a human who has granted calls like it. */
  readonly by: 'human' | 'deadline' | 'grant'
  /** By name, in their order. Empty: nobody gave one, or nobody did. */
  readonly approvers: readonly string[]
  /** The approvals, in their order; of a grant: its id. */
  readonly approvals: readonly string[]
  readonly issuedAt: number
  /** The last moment, in milliseconds since 1970, at which it is good. */
  readonly expiresAt: number
}

/**
 * A capability in use. `key` is the idempotency key of the one effect that it is used for: the same for every try,
 * another for every other effect.
 */
export interface UsedCapability extends Capability {
  readonly key: string
}

/** How long a yes is good for what it approves. A day: a run may be paused in between, or its process be gone. */
export const defaultValidForMs = 24 * 3_600_000

/** What is about to be done. */
export interface CapabilityUse {
  readonly run: string
  readonly path: readonly string[]
  readonly activation: string
  /** Of the effect, or the worker, that it is used for. */
  readonly key: string
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
  readonly now: number
}

/** What a capability is made of, apart from the place. */
export type Approved = Pick<Capability, 'tool' | 'toolVersion' | 'inputHash' | 'by' | 'approvers' | 'approvals'> & {
  readonly validForMs?: number | undefined
  /** The last moment of the grant that it comes from. */
  readonly until?: number | undefined
}

/** Makes one, for this place. The same on every replay. */
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

/**
 * Why a capability is not good for what is about to be done; undefined if it is. Pure. Whether it was used before is
 * for whoever keeps its uses.
 */
export function capabilityProblem(capability: Capability, use: CapabilityUse): string | undefined {
  const { run, path, activation, scope, tool, toolVersion, inputHash, expiresAt } = capability
  if (run !== use.run) return `it was given in another run ("${run}")`
  if (activation !== use.activation || path.join('\u0000') !== use.path.join('\u0000'))
    return 'it was given to another agent'
  if (!isWithin(use.key, activation, scope)) return 'it was given for another call'
  if (tool !== use.tool) return `it is for "${tool}"`
  if (toolVersion !== use.toolVersion)
    return `it is for version ${toolVersion} of "${tool}", and this is ${use.toolVersion}`
  if (inputHash !== digestJson(use.input)) return 'it is for other arguments'
  return use.now > expiresAt ? `it was good until ${new Date(expiresAt).toISOString()}` : undefined
}

/**
 * An effect's key is its activation, a colon and its address; a worker's activation has `>` instead. Nothing deeper is
 * meant: what a worker does is its own.
 */
function isWithin(key: string, activation: string, scope: string): boolean {
  const begins = [`${activation}:${scope}`, `${activation}>${scope}`].find((each) => key.startsWith(each))
  return begins !== undefined && key.length > begins.length && !/[/>]/u.test(key.slice(begins.length))
}

/**
 * Why a capability that is for exactly this is not good any more: what it is for has another version now, which may
 * make other arguments of the same call, or its time is over. Then a human may be asked again. Pure.
 */
function lapsedBy(capability: Capability, use: CapabilityUse): 'version' | 'expired' | undefined {
  const { toolVersion } = use
  const isOther = capability.toolVersion !== toolVersion
  const inputHash = isOther ? digestJson(use.input) : capability.inputHash
  if (capabilityProblem({ ...capability, toolVersion, inputHash, expiresAt: Infinity }, use) !== undefined)
    return undefined
  return isOther ? 'version' : 'expired'
}

/**
 * The failure of a use that was refused because the capability has lapsed; undefined for every other end. Nothing was
 * done then.
 */
export const lapseIn = (outcome: Outcome): Failure | undefined =>
  outcome.status === 'failed' &&
  outcome.failure.code === 'capability.refused' &&
  outcome.failure.details?.['lapsed'] !== undefined
    ? outcome.failure
    : undefined

/**
 * Uses one, once. A second use under another key, or one that it is not good for, throws a FailureError
 * `capability.refused` that is not tried again.
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
 * Signs a capability for a service that is to check it: call it in a tool's `execute` with `io.capability` and send the
 * text along. A compact JWS: other languages read it with a library of theirs. Every try of the same step gives a text
 * for the same `key`.
 */
export const signCapability = (signer: Signer, capability: UsedCapability): Promise<string> =>
  signDocument(signer, signedType, capability as unknown as Json)

/**
 * What a service demands of a capability, beside that it is genuine and in time. What is absent is not compared: say at
 * least the tool and the arguments.
 */
export interface CapabilityExpected {
  readonly tool?: string
  readonly toolVersion?: string
  /** The arguments that the service is asked to act on. */
  readonly input?: Json
  readonly run?: string
  readonly path?: readonly string[]
  readonly key?: string
  /** How many different people must have approved it. Default 0: also a deadline or a grant is good. */
  readonly approvers?: number
}

/** What came of looking at a signed capability. */
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
  /** Keys that are trusted. */
  readonly keys: readonly Verifier[]
  /** Milliseconds since 1970. */
  readonly now: number
  /**
   * Remembers that a capability was used for a key, and says under which key it was used before, if it was: in one
   * transaction with what is done. Without it nobody sees that one is used twice. The same key again is the same use,
   * tried again.
   */
  readonly used?: (id: string, key: string) => string | undefined | Promise<string | undefined>
}

/** Verifies a signed capability, without the store. Never throws for a bad text. */
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
  if (other !== undefined) return { ok: false, why: 'other-call', problem: `its ${other[0]} is another` }
  if (path !== undefined && path.join('\u0000') !== capability.path.join('\u0000'))
    return { ok: false, why: 'other-call', problem: 'its path is another' }
  if (input !== undefined && digestJson(input) !== capability.inputHash)
    return { ok: false, why: 'other-call', problem: 'it is for other arguments' }
  if (!(options.now <= capability.expiresAt)) return { ok: false, why: 'expired', problem: 'it is not good any more' }
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
  malformed: 'it is no signed capability',
  'unknown-key': 'it is signed with a key that is not trusted',
  'bad-signature': 'its signature is wrong',
} as const
