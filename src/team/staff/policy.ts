/**
 * Policy: who may join, leave, write or plan, as somebody outside of the team sees it (spec team R-8).
 *
 * Owns: the question, the answer, and that an answer which does not come is no. Does not own: what is asked about (recruiting.ts, ../mail, ../plan).
 * Holds: K6: a policy is a recorded step, asked once for each request: nothing is cached, so no verdict is used for another question.
 */
import type { Json } from '../../core/index.ts'

/** What is to be decided. */
export interface PolicyQuestion {
  readonly action: 'recruit' | 'retire' | 'message' | 'plan'
  /** A member, `lead`, or whoever asks from outside. */
  readonly actor: string
  readonly role?: string
  readonly description?: string
  readonly run: string
  readonly user?: string
  readonly teamSize: number
  /** Everything else there is to know of it. */
  readonly details?: Json
}

/** What was decided. `ask`: a human is to say so. */
export type PolicyVerdict = 'allow' | 'deny' | 'ask' | { readonly verdict: 'allow' | 'deny' | 'ask'; readonly reason?: string }

/** Decides. One that throws has said no. */
export type TeamPolicy = (question: PolicyQuestion) => PolicyVerdict | Promise<PolicyVerdict>
