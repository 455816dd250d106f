/**
 * Policy: who may join, leave, write or plan, as code outside of the team decides (spec team R-8).
 *
 * Owns: the question, the answer, and that a missing answer is a no. Does not own: the subject of the question
 * (staff, mail, plan), who is asked where a policy says `ask`.
 * Holds: K6: a policy is a recorded step, asked once for each request: nothing is cached, so no verdict is used for
 * another question. K4: a scope for each question, so several may be open.
 */
import { copy, described, hasNames, messageOf, type Json } from '@reeve/core'
import { step } from '@reeve/agent'
import { isLeaving, type Context, type StepIO } from '@reeve/engine'

/** The question to a policy. */
export interface PolicyQuestion {
  readonly action: 'recruit' | 'retire' | 'message' | 'plan'
  /** A member, `lead` (also for a plan), or the operator's name from outside. */
  readonly actor: string
  readonly role?: string
  readonly description?: string
  readonly run: string
  readonly user?: string
  readonly teamSize: number
  /** All other facts of the request. */
  readonly details?: Json
}

type VerdictWord = 'allow' | 'deny' | 'ask'

/** The decision. `ask`: a human decides. */
export type PolicyVerdict = VerdictWord | { readonly verdict: VerdictWord; readonly reason?: string }

/** Decides on a request. A policy that throws, or returns no valid verdict, denies. */
export type TeamPolicy = (question: PolicyQuestion, io: StepIO) => PolicyVerdict | Promise<PolicyVerdict>

/** The joint verdict of all policies. */
export interface Ruling {
  readonly verdict: VerdictWord
  /** Never absent for a no. */
  readonly reason?: string
}

/**
 * Asks the policies, one after the other; the first that does not allow it decides. Without policies the request is
 * allowed, and nothing is recorded. Rejects only with `Cancelled`.
 */
export async function decide(
  ctx: Context,
  policies: readonly (TeamPolicy | undefined)[],
  question: PolicyQuestion,
): Promise<Ruling> {
  for (const policy of policies) {
    if (policy === undefined) continue
    const ruling = await ask(ctx.scope('policy'), policy, question)
    if (ruling.verdict !== 'allow') return ruling
  }
  return { verdict: 'allow' }
}

async function ask(ctx: Context, policy: TeamPolicy, question: PolicyQuestion): Promise<Ruling> {
  try {
    // each policy has a question of its own: one that writes into it changes nothing for the next
    const shown = copy(question as unknown as Json) as unknown as PolicyQuestion
    const said = await step(ctx, question.action, async (io) => ruled(policy, shown, io), {
      retry: { attempts: 1 },
      isFunction: true,
      holds: 'text',
    })
    return said as unknown as Ruling
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return { verdict: 'deny', reason: `the policy could not be asked: ${messageOf(thrown)}` }
  }
}

/** The verdict of a policy, as it is recorded. Never rejects. */
async function ruled(policy: TeamPolicy, question: PolicyQuestion, io: StepIO): Promise<Json> {
  try {
    const said: unknown = await policy(question, io)
    const { verdict, reason } = hasNames(said)
      ? (said as { verdict?: unknown; reason?: unknown })
      : { verdict: said, reason: undefined }
    if (!isVerdict(verdict))
      return { verdict: 'deny', reason: `the policy said ${described(verdict)}, expected "allow", "deny" or "ask"` }
    if (typeof reason === 'string' && reason.trim() !== '') return { verdict, reason }
    return verdict === 'deny' ? { verdict, reason: 'the policy does not allow it' } : { verdict }
  } catch (thrown) {
    return { verdict: 'deny', reason: `the policy failed: ${messageOf(thrown)}` }
  }
}

const isVerdict = (word: unknown): word is VerdictWord => word === 'allow' || word === 'deny' || word === 'ask'
