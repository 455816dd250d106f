/** The public kit for tests: time in your hand, models by script, a process that dies wherever it can, and the contract of the Engine port. */
export { manualClock, manualStart, type ManualClock } from './manual-clock.ts'
export { checkJournal } from './journal-check.ts'
export { verifyJournal, verifyReplay, type ReplayReport } from './replay.ts'
export { simulate, type Scenario, type SimulateOptions, type SimulationReport } from './simulate.ts'
export { watched, type Watcher } from './watch.ts'
export { engineContract, type ContractCase } from './contract/engine-contract.ts'
export type { Bench, EngineSubject } from './contract/stage.ts'
export { scripted, teamScenario, type ScriptedModel, type ScriptLine, type TeamScenario } from './team.ts'
