/**
 * The public kit for tests of agents: a manual clock, scripted models, a process that dies at every point, replay.
 * Contracts of engines and stores: `reeve/testing/contract`.
 */
export { manualClock, manualStart, type ManualClock } from './manual-clock.ts'
export { checkJournal } from './journal-check.ts'
export { verifyJournal, verifyReplay, type ReplayReport } from './replay.ts'
export {
  resume,
  simulate,
  type Played,
  type Scenario,
  type SimulateOptions,
  type SimulationReport,
} from './simulate.ts'
export {
  virtualRuntime,
  type Idle,
  type RunUntilIdleOptions,
  type VirtualRuntime,
  type VirtualRuntimeOptions,
  type WaitingActivation,
  type WaitingRun,
} from './virtual-runtime.ts'
export { watched, type Watcher } from './watch.ts'
export { inOrder, scripted, teamScenario, type ScriptedModel, type ScriptLine, type TeamScenario } from './team.ts'
export { expectEvents, expectNoEvents, type EventPattern } from './expect-events.ts'
export { fingerprints, type Fingerprint } from './fingerprints.ts'
export { workerContract, type WorkerCase, type WorkerContractOptions } from './worker/worker-contract.ts'
export {
  workerClaims,
  type WorkerClaim,
  type WorkerHonours,
  type WorkerResult,
  type WorkerUnderTest,
} from './worker/claims.ts'
export type { MakeWorker } from './worker/stage.ts'
export type { WorkerPart, WorkerToolIO, WorkerTurn } from './worker/part.ts'
export { workerTable } from './worker/table.ts'
export {
  providerRules,
  strictProvider,
  strictProviderNames,
  type FailureKind,
  type ProviderAnswer,
  type ProviderBreak,
  type ProviderCall,
  type ProviderFailure,
  type ProviderName,
  type ProviderPart,
  type ProviderRan,
  type ProviderReply,
  type ProviderRequest,
  type ProviderRule,
  type ProviderUsage,
  type RefusedRequest,
  type StrictProvider,
  type StrictProviderOptions,
} from './providers/index.ts'
