/** Levels of risk: their names, in their order. Persistent format (K4). */

/** How bad it is if something should not have been done. */
export type RiskLevel = 'low' | 'medium' | 'high' | 'critical'

/** From the least to the worst. */
export const riskLevels: readonly RiskLevel[] = ['low', 'medium', 'high', 'critical']
