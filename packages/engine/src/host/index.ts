/** The host's door: what moves runs, over whatever store it is given. */
export type { CrashPoint } from './engine-state.ts'
export { createEngine, defaultGraceMs, defaultLossLimit, HostEngine, hostChecks, type HostOptions } from './engine.ts'
export { warning } from '../warning.ts'
export { steadyMs } from './crash-loop-guard.ts'
export { digestsOf, sha256 } from './digests.ts'
export { graceFor, leaseFor, SchedulingDelay } from './scheduling-delay.ts'
export { stopThread } from './stop-thread.ts'
