/**
 * The oversight modes: their names, from the strictest to the loosest, and what each one means.
 *
 * Owns: everything that tells one mode from another. Does not own: how modes combine (edge), which one holds for a run
 * and what is asked besides (oversight). Holds: K4, the names are persistent format.
 */

/**
 * How much is asked. `in-command`: every action. `in-the-loop`: what is sensitive, costs too much or is otherwise
 * escalated. `on-the-loop`: nothing, hits are only noted. What always requires an approval is asked in every mode.
 */
export type OversightMode = 'in-command' | 'in-the-loop' | 'on-the-loop'

/** What a mode means. */
export interface OversightModeRule {
  /** Which subjects an approver is asked about, besides those that always require an approval. */
  readonly asks: 'all' | 'escalated' | 'none'
  /** Told to the approver of a subject that no trigger has escalated. Absent: the mode asks about no such subject. */
  readonly reason?: string
  /** Told to the person who chooses a mode or a level of trust. */
  readonly title: string
}

/** From the strictest to the loosest. */
export const oversightModeRules: Readonly<Record<OversightMode, OversightModeRule>> = {
  'in-command': {
    asks: 'all',
    reason: 'a human is in command: every action is approved',
    title: 'A person approves every action.',
  },
  'in-the-loop': {
    asks: 'escalated',
    title: 'A person approves what is escalated: sensitive, expensive or risky actions.',
  },
  'on-the-loop': { asks: 'none', title: 'A person approves only what always needs an approval.' },
}

/** Undefined for an unknown mode, which a caller without types may have given. */
export const ruleOfMode = (mode: OversightMode): OversightModeRule | undefined =>
  Object.hasOwn(oversightModeRules, mode) ? oversightModeRules[mode] : undefined

/** From the loosest to the strictest. */
export const oversightModes = Object.keys(oversightModeRules).toReversed() as readonly OversightMode[]

/** The mode of oversight that names neither a mode nor trust. */
export const defaultMode: OversightMode = 'in-the-loop'

/** The levels of trust, from the lowest to the highest, and the mode that each sets. */
export const levelModes = {
  novice: 'in-command',
  proficient: 'in-the-loop',
  expert: 'on-the-loop',
} as const satisfies Readonly<Record<string, OversightMode>>

/** How strict a mode is. An unknown one is the strictest. */
const strictness = (mode: OversightMode): number =>
  oversightModes.includes(mode) ? oversightModes.indexOf(mode) : oversightModes.length

/** The stricter of two modes. */
export const stricterMode = (one: OversightMode, other: OversightMode): OversightMode =>
  strictness(one) >= strictness(other) ? one : other
