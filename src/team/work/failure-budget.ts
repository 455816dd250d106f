/**
 * The failure budget: how many tasks of a plan may fail before it is given up (spec team R-10). Integers only: 0.29 of a hundred is 28.999… for a computer.
 */

/** Percent of the tasks that may fail, by what is at stake. */
export const tolerances = { research: 50, data_analysis: 20, critical: 0 } as const

/** How much may fail: percent, or a preset. */
export type Tolerance = number | keyof typeof tolerances

export const percentOf = (tolerance: Tolerance): number => (typeof tolerance === 'number' ? tolerance : tolerances[tolerance])

/** At so many failed tasks of `planned` it is given up. `percent`: a whole number, 0 to 100. */
export const maxFailuresOf = (planned: number, percent: number): number => Math.floor((planned * percent) / 100) + 1
