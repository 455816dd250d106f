/**
 * Model rules: what a runtime says of all models that are asked in it.
 *
 * Owns: where the code of an activation finds them. Does not own: prices (../../model), the options of a runtime
 * (../../runtime).
 * Holds: K3: they decide nothing by themselves that is not recorded: what is set aside for a call, and what it cost,
 * stands in the journal.
 */
import type { Context } from '@reeve/engine'
import type { Layer } from '@reeve/edge'
import type { Prices } from '@reeve/model'

/** What a runtime says of models. */
export interface ModelRules {
  /** Prices by model id, before those of the built-in list. */
  readonly prices?: Prices | undefined
  /** How long a model may send nothing, where its agent says nothing of it. Milliseconds. */
  readonly silenceMs?: number | undefined
}

const none: ModelRules = {}
const held = (): { rules: ModelRules } => ({ rules: none })

/** The rules of this runtime; none where it says nothing. */
export const modelRulesOf = (ctx: Context): ModelRules => ctx.local(held).rules

/** The work inside finds the rules of its runtime. */
export const modelRulesLayer =
  (rules: () => ModelRules): Layer =>
  (next) =>
  (ctx, edge) => {
    ctx.local(held).rules = rules()
    return next(ctx, edge)
  }
