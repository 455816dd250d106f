/** Levels of risk: their names, in their order. Persistent format (K4). */

/** From the least to the worst. */
export const riskLevels = ['low', 'medium', 'high', 'critical'] as const

/** How bad it is if something should not have been done. */
export type RiskLevel = (typeof riskLevels)[number]
