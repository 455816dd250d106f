/** The public kit for tests: time in your hand, models by script, a process that dies wherever it can, and the contract of the Engine port. */
export { manualClock, manualStart, type ManualClock } from './manual-clock.ts'
export { checkJournal } from './journal-check.ts'
export { verifyJournal, verifyReplay, type ReplayReport } from './replay.ts'
export { resume, simulate, type Played, type Scenario, type SimulateOptions, type SimulationReport } from './simulate.ts'
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
export { adversarialEngine, badWeather, storm, type AdversarialEngine, type AdversarialOptions, type Weather } from './adversarial/index.ts'
export { engineContract, type ContractCase } from './contract/engine-contract.ts'
export type { Bench, EngineSubject } from './contract/stage.ts'
export { inOrder, scripted, teamScenario, type ScriptedModel, type ScriptLine, type TeamScenario } from './team.ts'
export { expectEvents, expectNoEvents, type EventPattern } from './expect-events.ts'
export { fingerprints, type Fingerprint } from './fingerprints.ts'
