/** The host's door: what moves runs, over whatever store it is given. */
export type { CrashPoint } from './engine-state.ts'
export { defaultLossLimit, HostEngine, hostChecks, type HostOptions } from './engine.ts'
export { warning } from '../warning.ts'
export { steadyMs } from './crash-loop-guard.ts'
