/**
 * Known work: what was done before for something that an approver is about to be asked about, in words for the
 * approver, and for the model after a no.
 *
 * Owns: the sentences, and which calls are not asked about because they have completed. Does not own: which effect is
 * the same as an earlier one (../engine), the question (approval, code/code-approval.ts).
 * Holds: what happened, or may have, is never told as not done. It follows from recorded births, so replay finds the
 * same (K3).
 */
import { asText, cut, type Json } from '@reeve/core'
import { formatToolResult } from '@reeve/edge'
import { newestDeeds, toldDeeds, type Context, type KnownEffect } from '@reeve/engine'
import type { DoneElsewhere, EarlierEffect } from '@reeve/journal'
import type { ToolCall } from '@reeve/model'
import { inquiryQuestion } from '@reeve/oversight'

/** What was done before. */
export interface KnownWork {
  /** For the question, as part of its reason. */
  readonly reason: string
  /** For whoever asked, if the answer is no. One sentence. */
  readonly told: string
  /** Of one effect: a yes to the question decides its doubt, too; if edited arguments are approved, only with `any`. */
  readonly decides?: 'exact' | 'any'
  /** The call is not made. */
  readonly release?: () => void
}

/** A tool, as far as it is looked at here. */
interface CalledTool {
  readonly name: string
  readonly work:
    | { readonly kind: 'effect' | 'client'; readonly effect: 'read' | 'idempotent' | 'once' }
    | { readonly kind: 'orchestration' | 'provider' }
    | { readonly kind: 'agent'; readonly agent: { readonly name: string } }
}

const time = (at: number | undefined): string => (at === undefined ? '' : ` at ${new Date(at).toISOString()}`)

/** How much of a result is told again, in characters. */
const toldResult = 2_000

/**
 * What is known of a call that needs an approval. `made`: it has completed; nobody is asked, and it ends as it did.
 * `input`: the arguments that it runs with. Undefined: nothing.
 */
export function knownCall(
  ctx: Context,
  { name, work }: CalledTool,
  agent: string,
  input: Json,
): 'made' | KnownWork | undefined {
  if (work.kind !== 'effect' && work.kind !== 'client')
    return knownWithin(ctx, work.kind === 'agent' ? work.agent.name : agent, name)
  if (work.effect === 'read') return undefined
  // what the client had answered before a fork stands in it: nobody is asked about it
  const asked = work.kind === 'client' ? { asked: inquiryQuestion } : undefined
  const known = ctx.known(name, { tool: name, effect: work.effect, equalBy: input, ...asked })
  return known?.state === 'done' ? knownEffect(name, known) : known?.state
}

function knownEffect(name: string, { done, isExact, release }: Extract<KnownEffect, { state: 'done' }>): KnownWork {
  const what = sentenceOf(name, done, isExact)
  const { outcome } = done
  const result =
    outcome?.status === 'completed'
      ? `, with this result: ${cut(asText(formatToolResult(name, outcome).content), toldResult)}`
      : ''
  return { reason: what, told: `${what}${result}`, decides: isExact ? 'exact' : 'any', release }
}

function sentenceOf(name: string, { run, activation, outcome, at }: DoneElsewhere, isExact: boolean): string {
  const when = time(at)
  if (activation === undefined) {
    const origin = `run ${run}, from which this one was forked,`
    return outcome === undefined
      ? `${origin} had begun "${name}" at this point${when}, and perhaps done it`
      : `${origin} had already done "${name}" at this point${when}`
  }
  const which = isExact ? 'it' : `a call of "${name}" (with which arguments is not recorded)`
  return outcome === undefined
    ? `an earlier attempt (${activation}) began ${which}${when}, and perhaps did it`
    : `an earlier attempt (${activation}) has already done ${which}${when}`
}

/** Work in a worker is done again; its own effects that have completed are not. */
function knownWithin(ctx: Context, agent: string, name: string): KnownWork | undefined {
  const before = ctx.knownBefore(agent)
  if (before.length > 0) return knownEffects(before)
  const deeds = toldDeeds(ctx.deedsOfOrigin(name))
  return deeds === undefined ? undefined : whole(deeds)
}

/** What was done before of the work of an agent that asks for an approval by code: the action may be any of it. */
export function knownHere(ctx: Context): KnownWork | undefined {
  const parts = [knownEffects(ctx.knownBefore())?.told, toldDeeds(ctx.deedsOfOrigin())].filter(
    (each) => each !== undefined,
  )
  return parts.length === 0 ? undefined : whole(parts.join('; '))
}

const whole = (what: string): KnownWork => ({ reason: what, told: what })

/** Effects of earlier attempts. Undefined: there are none. */
function knownEffects(effects: readonly EarlierEffect[]): KnownWork | undefined {
  if (effects.length === 0) return undefined
  const deeds = effects.map(({ tool, address, outcome, at }) =>
    outcome === undefined ? `perhaps "${tool ?? address}" (begun${time(at)})` : `"${tool ?? address}"${time(at)}`,
  )
  return whole(`earlier attempts have already done ${newestDeeds(deeds)}`)
}

/** A refusal of something of which is known what was done before: it is never told as not done. */
export const toldRefusal = (refusal: string, known: KnownWork | undefined): string =>
  known === undefined ? `not done: ${refusal}` : `not repeated: ${refusal}; but ${known.told}`

/**
 * What was done before with the tool of a call that is refused before it reaches its tool: with any arguments, since it
 * is not known which the tool would run with.
 */
export function knownOfTool(ctx: Context, { name, input }: ToolCall): KnownWork | undefined {
  const before = ctx.knownBefore().filter(({ tool }) => tool === name)
  if (before.length > 0) return knownEffects(before)
  const known = ctx.known(name, { tool: name, effect: 'once', equalBy: input })
  known?.release()
  return known?.state === 'done' ? knownEffect(name, known) : undefined
}
